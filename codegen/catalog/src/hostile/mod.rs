//! What a child server's definitions may hold that is not meant for the person who reads them: characters that are
//! not seen, orders to the model, names that look like others. Pure; used when a lock is made, when it is compiled and
//! when a server has booted.
//!
//! A finding is a reason to look, not a proof: whoever writes a lure can write one that is not found.

mod blob;
mod characters;
mod letters;
mod phrases;
mod shadow;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

pub use characters::visible;
pub use shadow::{Neighbour, Neighbours};

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing; many honest tools have it.
    Notice,
    /// Unusual; somebody should read the text.
    Warn,
    /// Hardly ever there by accident. Such a tool is not served where the configuration says so.
    Danger,
}

impl Level {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Notice => "notice",
            Level::Warn => "warn",
            Level::Danger => "danger",
        }
    }
}

/// Something found in one definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub level: Level,
    /// The server's own name for the tool, made [`visible`].
    pub tool: String,
    /// The member that holds it: `description`, `inputSchema.properties.path.description`; `key …` for a member's name.
    pub place: String,
    /// Where in the text of that member, in bytes.
    pub offset: usize,
    /// What it is: lower case, no final stop.
    pub what: String,
    /// A few characters from there on, made [`visible`].
    pub excerpt: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { level, tool, place, offset, what, excerpt } = self;
        write!(f, "{}: tool `{tool}`, {place} at {offset}: {what}: `{excerpt}`", level.name())
    }
}

/// Findings that are kept of one tool.
const MAX_FINDINGS: usize = 16;
/// Characters of an excerpt.
const EXCERPT: usize = 48;
/// Levels of a definition that are looked into; JSON readers stop earlier.
const MAX_DEPTH: usize = 200;

/// A finding in one text: level, place in bytes, what it is.
type Spot = (Level, usize, String);

/// Looks through a whole definition: every name and every text in it. At most 16 findings, the gravest first.
pub fn scan(definition: &str) -> Vec<Finding> {
    let Ok(value) = serde_json::from_str::<Value>(definition) else { return Vec::new() };
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut scan = Scan { tool: visible(name), findings: Vec::new() };
    scan.add("name", name, letters::of_name(name));
    scan.add("name", name, characters::of(name));
    for (key, member) in value.as_object().into_iter().flatten().filter(|(key, _)| *key != "name") {
        scan.key(key);
        scan.value(key, member, 0);
    }
    scan.finish()
}

/// Whether one of them is a danger.
pub fn is_dangerous(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.level == Level::Danger)
}

struct Scan {
    tool: String,
    findings: Vec<Finding>,
}

impl Scan {
    fn value(&mut self, path: &str, value: &Value, depth: usize) {
        match value {
            Value::String(text) => self.text(path, text),
            Value::Array(items) if depth < MAX_DEPTH => {
                for item in items {
                    self.value(path, item, depth + 1);
                }
            }
            Value::Object(members) if depth < MAX_DEPTH => {
                for (key, member) in members {
                    self.key(key);
                    self.value(&format!("{path}.{key}"), member, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, path: &str, text: &str) {
        self.add(path, text, characters::of(text));
        self.add(path, text, letters::of_text(text));
        self.add(path, text, phrases::of(text));
        self.add(path, text, blob::of(text));
    }

    fn key(&mut self, key: &str) {
        let place = format!("key `{key}`");
        self.add(&place, key, letters::of_name(key).into_iter().filter(|(level, ..)| *level > Level::Notice));
        self.add(&place, key, characters::of(key));
        self.add(&place, key, phrases::of(key));
    }

    fn add(&mut self, place: &str, text: &str, spots: impl IntoIterator<Item = Spot>) {
        let found = spots.into_iter().map(|(level, offset, what)| Finding {
            level,
            tool: self.tool.clone(),
            place: visible(place),
            offset,
            what,
            excerpt: excerpt(text, offset),
        });
        self.findings.extend(found);
        if self.findings.len() > 4 * MAX_FINDINGS {
            self.trim();
        }
    }

    /// Keeps the gravest, in the order in which they were found.
    fn trim(&mut self) {
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        self.findings.truncate(MAX_FINDINGS);
    }

    fn finish(mut self) -> Vec<Finding> {
        self.trim();
        self.findings
    }
}

fn excerpt(text: &str, offset: usize) -> String {
    let rest: String = text.get(offset..).unwrap_or_default().chars().take(EXCERPT).collect();
    visible(&rest.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests;
