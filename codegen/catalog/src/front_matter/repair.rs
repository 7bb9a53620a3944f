//! The lenient second try: a value that YAML refuses, most often because it is a sentence with a colon, is taken as
//! the text its author meant.

use crate::finding::Finding;

use super::value;

/// Maps nested deeper than this are left as they are.
const MAX_DEPTH: usize = 6;

/// `yaml` with every `key: value` that does not parse by itself turned into quoted text, line for line, and one
/// finding for each; lines are counted from `first_line`. `None` when there was nothing to repair.
pub(super) fn repair(yaml: &str, first_line: u32) -> Option<(String, Vec<Finding>)> {
    let lines: Vec<&str> = yaml.lines().collect();
    let mut out = Vec::with_capacity(lines.len());
    let mut notes = Vec::new();
    repair_level(&lines, first_line, 0, &mut out, &mut notes);
    (!notes.is_empty()).then(|| (out.join("\n") + "\n", notes))
}

fn repair_level(lines: &[&str], first_line: u32, depth: usize, out: &mut Vec<String>, notes: &mut Vec<Finding>) {
    let Some(indent) = lines.iter().find(|line| !line.trim().is_empty()).map(|line| indent_of(line)) else {
        out.extend(lines.iter().map(|line| (*line).to_owned()));
        return;
    };
    let mut at = 0;
    while at < lines.len() {
        let end = at + 1 + lines[at + 1..].iter().take_while(|line| belongs(line, indent)).count();
        let chunk = &lines[at..end];
        let line = first_line.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        at = end;
        let Some((key, text)) = split_key(chunk[0]).filter(|_| value::read(&chunk.join("\n")).is_err()) else {
            out.extend(chunk.iter().map(|line| (*line).to_owned()));
            continue;
        };
        if text.is_empty() && depth < MAX_DEPTH {
            out.push(chunk[0].to_owned());
            repair_level(&chunk[1..], line + 1, depth + 1, out, notes);
        } else if text.is_empty() || text.starts_with(['|', '>', '\'', '"']) {
            out.extend(chunk.iter().map(|line| (*line).to_owned()));
        } else {
            let whole: Vec<&str> = std::iter::once(text).chain(chunk[1..].iter().map(|line| line.trim())).collect();
            let whole = whole.join(" ");
            out.push(format!("{}{key}: {}", &chunk[0][..indent], quoted(whole.trim_end())));
            out.extend(chunk[1..].iter().map(|_| String::new()));
            let column = chunk[0][..chunk[0].len() - text.len()].chars().count() + 1;
            notes.push(Finding::noted(
                line,
                u32::try_from(column).unwrap_or(u32::MAX),
                format!("`{key}` is not YAML as it stands, most likely for a colon in it; the rest of the line was taken as its text"),
                format!("put the text in quotes, or write `{key}: >-` and the text indented on the next line"),
            ));
        }
    }
}

/// Whether `line` continues an entry whose key stands at `indent`: deeper, blank, or a list item right below its key.
fn belongs(line: &str, indent: usize) -> bool {
    line.trim().is_empty()
        || indent_of(line) > indent
        || (indent_of(line) == indent && line[indent..].starts_with("- "))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Key and rest of the line, when the line is `key: rest` or `key:`. The rest is a suffix of the line.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    let entry = line.trim_start();
    let end = entry.find(':')?;
    let key = &entry[..end];
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    let rest = &entry[end + 1..];
    (plain && !key.starts_with("- ") && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then(|| (key, rest.trim_start()))
}

/// `text` as a double-quoted YAML scalar; JSON's escapes are a part of YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}
