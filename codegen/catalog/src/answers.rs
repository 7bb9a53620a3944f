//! The texts in which tools are found and described, as a model reads them: the runtime answers with them, and the
//! build counts what they cost.

use std::fmt::Write as _;

use serde_json::Value;

/// How many tools an answer of `discover_tools` holds when the call does not say.
pub const DEFAULT_LIMIT: usize = 8;

/// Characters of a description in the text of an answer.
const BRIEF: usize = 160;

/// How an answer of `discover_tools` ends when some of what it found is not in the list.
pub const HOW_TO_CALL: &str = "\nCall any of them by name, or through call_tool; describe_tool gives their schemas.";

/// How an answer that found `count` tools, above 0, begins; `activated` of them joined the list by it.
pub fn found_head(count: usize, activated: usize) -> String {
    let mut text = if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") };
    match activated {
        0 => {}
        1 => text.push_str(", 1 added to your list"),
        n => _ = write!(text, ", {n} added to your list"),
    }
    text
}

/// The line of one found tool, with the line break before it.
pub fn found_line(name: &str, server: &str, description: &str) -> String {
    format!("\n{name} [{server}]: {}", brief(description))
}

/// The first sentence of a description, at most [`BRIEF`] characters, on one line.
fn brief(description: &str) -> String {
    let line: Vec<&str> = description.split_whitespace().collect();
    let line = line.join(" ");
    let sentence = line.find(". ").map_or(line.as_str(), |end| &line[..=end]);
    match sentence.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

/// The answer of `describe_tool`: complete definitions, as JSON each, and the names that nobody has.
pub fn described(definitions: &[&str], unknown: &[&str]) -> String {
    format!("{{\"schemas\":[{}],\"unknown\":{}}}", definitions.join(","), Value::from(unknown.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short() {
        let long = format!("Reads\n a  file{}. And more.", " more".repeat(40));
        for (description, line) in [
            ("Reads a file. Fails if there is none.", "\nfs_read [fs]: Reads a file."),
            ("", "\nfs_read [fs]: "),
            ("Version 1.5 reads", "\nfs_read [fs]: Version 1.5 reads"),
        ] {
            assert_eq!(found_line("fs_read", "fs", description), line);
        }
        let line = found_line("fs_read", "fs", &long);
        assert!(line.starts_with("\nfs_read [fs]: Reads a file more more") && line.ends_with('…'), "{line}");
        assert_eq!(line.chars().count(), "\nfs_read [fs]: ".len() + BRIEF + 1);
    }

    #[test]
    fn heads_count() {
        for (count, activated, head) in [
            (1, 0, "1 tool"),
            (8, 0, "8 tools"),
            (2, 1, "2 tools, 1 added to your list"),
            (3, 2, "3 tools, 2 added to your list"),
        ] {
            assert_eq!(found_head(count, activated), head);
        }
    }

    #[test]
    fn definitions_stay_as_they_are() {
        assert_eq!(described(&[r#"{"a":1.0}"#], &["x\"y"]), r#"{"schemas":[{"a":1.0}],"unknown":["x\"y"]}"#);
        assert_eq!(described(&[], &[]), r#"{"schemas":[],"unknown":[]}"#);
    }
}
