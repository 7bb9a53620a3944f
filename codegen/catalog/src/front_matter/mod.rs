//! A `SKILL.md`: YAML between two fences, then Markdown. One reader for the compiler and for `refresh_skills`.
//!
//! It takes what authors really write: byte-order marks, CRLF, blanks after a fence, a colon in a plain description,
//! several spellings of the same list. What it cannot take it refuses with line, column and a hint; nothing is lost in
//! silence, and nothing in the text can make it run long.

mod fields;
mod repair;
#[cfg(test)]
mod tests;
mod value;

pub use value::Value;

use crate::finding::Finding;

/// Longest front matter that is read, in bytes.
pub const MAX_FRONT_MATTER: usize = 64 * 1024;

/// Longest description that the Agent Skills format allows, in characters.
pub const MAX_DESCRIPTION: usize = 1024;

/// What a `SKILL.md` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// `name`, trimmed; `None` when absent or empty.
    pub name: Option<String>,
    /// `description`, white space folded to single blanks; `None` when absent or empty.
    pub description: Option<String>,
    /// `version` or `metadata.version` as written.
    pub version: Option<String>,
    /// `category`.
    pub category: Option<String>,
    /// `tags` and `metadata.tags`, each once.
    pub tags: Vec<String>,
    /// `alias`, `aliases` and the same below `metadata`, lower case, each once.
    pub aliases: Vec<String>,
    /// `resolutionHints`: sentences that say when the skill fits.
    pub hints: Vec<String>,
    /// `requires` as `name` or `name@constraint`.
    pub requires: Vec<String>,
    /// `conflicts`: names.
    pub conflicts: Vec<String>,
    /// `allowed-tools`, one tool each.
    pub allowed_tools: Vec<String>,
    /// The whole front matter in the order of the text.
    pub front: Vec<(String, Value)>,
    /// Markdown after the front matter, line ends `\n`, trimmed.
    pub body: String,
    /// Line of the file on which `body` starts, from 1.
    pub body_line: u32,
    /// What was taken leniently.
    pub notes: Vec<Finding>,
    /// Top-level keys with the line and the column of their values.
    places: Vec<(String, u32, u32)>,
}

impl SkillFile {
    /// Line and column, from 1, of the value of top-level `key`; of the opening fence when it is not there.
    pub fn place(&self, key: &str) -> (u32, u32) {
        place(&self.places, key)
    }
}

/// Reads a `SKILL.md`.
///
/// # Errors
/// The file has no front matter (weight `Noted`: it may well be no skill), or it is broken (`Refused`).
pub fn parse(bytes: &[u8]) -> Result<SkillFile, Finding> {
    let text = decode(bytes)?.replace("\r\n", "\n").replace('\r', "\n");
    let parts = split(&text)?;
    let mut notes = parts.notes;
    let front = read_yaml(parts.yaml, parts.yaml_line, &mut notes)?;
    let places = places(parts.yaml, parts.yaml_line);
    for (index, (key, _)) in front.iter().enumerate() {
        if front[..index].iter().any(|(earlier, _)| earlier == key) {
            let (line, column) = place(&places, key);
            let message = format!("`{key}` stands twice; the last one counts");
            notes.push(Finding::noted(line, column, message, "keep one of them"));
        }
    }
    let body = parts.body.trim_start();
    let skipped = parts.body[..parts.body.len() - body.len()].matches('\n').count();
    let mut file = fill(front);
    file.body_line = parts.body_line + count(skipped);
    file.body = body.trim_end().to_owned();
    file.places = places;
    file.notes = notes;
    Ok(file)
}

/// The members of the front matter, read strictly, then leniently.
fn read_yaml(yaml: &str, first_line: u32, notes: &mut Vec<Finding>) -> Result<Vec<(String, Value)>, Finding> {
    let front = match value::read(yaml) {
        Ok(front) => front,
        Err(error) => {
            if let Some((index, line)) = yaml.lines().enumerate().find(|(_, line)| indented_by_tab(line)) {
                let column = line.chars().take_while(|c| *c == ' ').count();
                let message = "a tab indents the front matter, which YAML does not allow";
                return Err(Finding::refused(
                    first_line + count(index),
                    count(column) + 1,
                    message,
                    "indent with blanks",
                ));
            }
            let repaired = if exceeds_a_limit(&error) { None } else { repair::repair(yaml, first_line) };
            let second = repaired.and_then(|(yaml, found)| Some((value::read(&yaml).ok()?, found)));
            let Some((front, found)) = second else { return Err(broken(&error, first_line)) };
            notes.extend(found);
            front
        }
    };
    match front {
        Value::Map(members) => Ok(members),
        Value::Null => Ok(Vec::new()),
        Value::Text(_) | Value::List(_) => {
            let message = "the front matter is no list of `key: value` lines";
            Err(Finding::refused(first_line, 1, message, "start it with `name: …` and `description: …`"))
        }
    }
}

/// The text of a file, or which other encoding it is in.
fn decode(bytes: &[u8]) -> Result<&str, Finding> {
    let utf16 = bytes.starts_with(&[0xff, 0xfe])
        || bytes.starts_with(&[0xfe, 0xff])
        || (bytes.len() > 3 && (bytes[0] == 0) != (bytes[1] == 0) && (bytes[2] == 0) == (bytes[0] == 0));
    if utf16 {
        return Err(Finding::refused(1, 1, "the file is UTF-16", "save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let column = std::str::from_utf8(&before[start..]).map_or(0, |text| text.chars().count());
        let byte = bytes[error.valid_up_to()];
        Finding::refused(
            count(line) + 1,
            count(column) + 1,
            format!("byte 0x{byte:02x} is not UTF-8; the file may be Latin-1 or Windows-1252"),
            "save it as UTF-8",
        )
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

struct Parts<'a> {
    yaml: &'a str,
    /// Line of the file on which `yaml` starts.
    yaml_line: u32,
    body: &'a str,
    body_line: u32,
    notes: Vec<Finding>,
}

/// Cuts the text at its fences.
fn split(text: &str) -> Result<Parts<'_>, Finding> {
    let start = text.len() - text.trim_start_matches(['\n', ' ', '\t']).len();
    let first = text[start..].lines().next().unwrap_or("");
    if first.trim_end() != "---" {
        return Err(Finding::noted(
            1,
            1,
            "there is no front matter, so this is no skill",
            "start the file with `---`, `name: …`, `description: …`, `---`",
        ));
    }
    let open_line = count(text[..start].matches('\n').count()) + 1;
    let mut notes = Vec::new();
    if start > 0 {
        notes.push(Finding::noted(open_line, 1, "the front matter does not start on the first line", "move it up"));
    }
    let yaml_start = (start + first.len() + 1).min(text.len());
    let mut at = yaml_start;
    for line in text[yaml_start..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            let yaml = &text[yaml_start..at];
            if yaml.len() > MAX_FRONT_MATTER {
                let message = format!("the front matter has {} bytes; {MAX_FRONT_MATTER} is the limit", yaml.len());
                return Err(Finding::refused(open_line, 1, message, "move long texts below the front matter"));
            }
            let body_line = open_line + 2 + count(yaml.matches('\n').count());
            return Ok(Parts { yaml, yaml_line: open_line + 1, body: &text[at + line.len()..], body_line, notes });
        }
        at += line.len();
    }
    Err(Finding::refused(
        open_line,
        1,
        "the front matter is not closed",
        "add a line `---` between the front matter and the text",
    ))
}

fn indented_by_tab(line: &str) -> bool {
    let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
    indent.contains('\t') && !line.trim().is_empty()
}

fn exceeds_a_limit(error: &serde_yaml::Error) -> bool {
    let text = error.to_string();
    ["repetition limit", "recursion limit", value::TOO_MANY].iter().any(|limit| text.contains(limit))
}

/// What the YAML reader says, in place and in our words.
fn broken(error: &serde_yaml::Error, first_line: u32) -> Finding {
    let (mut line, mut column) = error.location().map_or((1, 1), |at| (at.line().max(1), at.column().max(1)));
    let text = error.to_string();
    let (message, hint) = if text.contains(value::TOO_MANY) || text.contains("repetition limit") {
        ("aliases blow the front matter up beyond what is read".to_owned(), "write the values out, without `*aliases`")
    } else if text.contains("recursion limit") {
        ("the front matter is nested too deeply".to_owned(), "keep to a few levels")
    } else if let Some(start) = text.split("while scanning a quoted scalar at line ").nth(1) {
        // The reader points at the end of the text; the open quote is what has to be mended.
        let numbers: Vec<usize> = start.split(' ').filter_map(|word| word.parse().ok()).collect();
        if let [at_line, at_column, ..] = numbers[..] {
            (line, column) = (at_line, at_column);
        }
        ("a quote is opened and not closed".to_owned(), "close it on the same line")
    } else {
        let reason = text.split(" at line ").next().unwrap_or(&text).trim_end_matches('.');
        (format!("the front matter is not YAML: {reason}"), "put texts with special characters in quotes")
    };
    Finding::refused(first_line.saturating_add(count(line) - 1), count(column), message, hint)
}

fn fill(front: Vec<(String, Value)>) -> SkillFile {
    let front = Value::Map(front);
    let metadata = front.get("metadata");
    let below = |key: &str| metadata.and_then(|metadata| metadata.get(key));
    let text = |value: Option<&Value>| {
        value
            .and_then(Value::as_text)
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|text| !text.is_empty())
    };
    let mut tags = fields::texts(front.get("tags"));
    tags.extend(fields::texts(below("tags")));
    let mut aliases = Vec::new();
    for value in [front.get("alias"), front.get("aliases"), below("alias"), below("aliases"), below("original_command")]
    {
        aliases.extend(fields::texts(value).into_iter().map(|alias| alias.to_lowercase()));
    }
    SkillFile {
        name: text(front.get("name")),
        description: text(front.get("description")),
        version: text(front.get("version")).or_else(|| text(below("version"))),
        category: text(front.get("category")),
        tags: once(tags),
        aliases: once(aliases),
        hints: once(fields::sentences(front.get("resolutionHints"))),
        requires: once(fields::requirements(front.get("requires"))),
        conflicts: once(fields::names(front.get("conflicts"))),
        allowed_tools: fields::tools(front.get("allowed-tools")),
        front: match front {
            Value::Map(members) => members,
            _ => Vec::new(),
        },
        body: String::new(),
        body_line: 0,
        notes: Vec::new(),
        places: Vec::new(),
    }
}

fn once(mut items: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    items.retain(|item| seen.insert(item.clone()));
    items
}

fn place(places: &[(String, u32, u32)], key: &str) -> (u32, u32) {
    places.iter().rfind(|(name, ..)| name == key).map_or((1, 1), |(_, line, column)| (*line, *column))
}

/// Where the values of the top-level keys stand: keys are what starts a line, since everything nested is indented.
fn places(yaml: &str, first_line: u32) -> Vec<(String, u32, u32)> {
    let mut places = Vec::new();
    for (index, line) in yaml.lines().enumerate() {
        let Some((key, rest)) = line.split_once(':').filter(|_| !line.starts_with([' ', '#', '-'])) else { continue };
        let blanks = rest.len() - rest.trim_start().len();
        let column = key.chars().count() + 2 + if rest.trim().is_empty() { 0 } else { blanks };
        places.push((key.trim_matches(['"', '\'']).to_owned(), first_line + count(index), count(column)));
    }
    places
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
