//! Tools that look like, or speak of, the tools of another server.

use std::collections::BTreeMap;

use super::letters::skeleton;
use super::{Finding, Level, excerpt, visible};

/// Letters of a name that is no common word.
const DISTINCT: usize = 8;

/// A tool of any server.
#[derive(Debug, Clone, Copy)]
pub struct Neighbour<'a> {
    /// Server id.
    pub server: &'a str,
    /// The server's own name for the tool.
    pub name: &'a str,
}

/// The tools of all servers, to hold one server's against.
#[derive(Debug, Default)]
pub struct Neighbours<'a> {
    by_glance: BTreeMap<String, Vec<Neighbour<'a>>>,
    by_name: BTreeMap<&'a str, &'a str>,
}

impl<'a> Neighbours<'a> {
    /// From the tools of all servers, those that are judged among them or not.
    pub fn new(tools: impl IntoIterator<Item = Neighbour<'a>>) -> Neighbours<'a> {
        let mut neighbours = Neighbours::default();
        for tool in tools {
            neighbours.by_glance.entry(skeleton(tool.name)).or_default().push(tool);
            neighbours.by_name.entry(tool.name).or_insert(tool.server);
        }
        neighbours
    }

    /// What a tool of `server` takes from others: a name that looks like theirs, or a word about one of theirs in its
    /// description, other than the names in `own`.
    pub fn shadowed(&self, server: &str, name: &str, description: &str, own: &dyn Fn(&str) -> bool) -> Vec<Finding> {
        let finding = |level, place: &str, text: &str, offset, what: String| Finding {
            level,
            tool: visible(name),
            place: place.to_owned(),
            offset,
            what,
            excerpt: excerpt(text, offset),
        };
        let mut found = Vec::new();
        let alike = self.by_glance.get(&skeleton(name)).into_iter().flatten().find(|other| other.server != server);
        if let Some(other) = alike {
            let is_lure = other.name != name && !(name.is_ascii() && other.name.is_ascii());
            let level = if is_lure { Level::Danger } else { Level::Notice };
            let what = format!("looks like `{}` of server `{}`", visible(other.name), other.server);
            found.push(finding(level, "name", name, 0, what));
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let mut at = 0;
        for word in description.split(|c: char| !is_part(c)) {
            let offset = at;
            at += word.len() + description[at + word.len()..].chars().next().map_or(0, char::len_utf8);
            let is_distinct = word.len() >= DISTINCT && word.contains(['_', '-']);
            let Some(other) = self.by_name.get(word).filter(|other| is_distinct && **other != server && !own(word))
            else {
                continue;
            };
            let what = format!("speaks of a tool of server `{other}`");
            found.push(finding(Level::Warn, "description", description, offset, what));
            break;
        }
        found
    }
}
