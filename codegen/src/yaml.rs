//! YAML for people who make mistakes. Values come from the YAML reader, as a tree that keeps the order of keys and
//! those that stand twice; places come from a scan of the lines, since the reader forgets where a key stood.

use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserialize, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use crate::problem::Problem;
use crate::source::{Position, Source};

/// A YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is shown.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file, with keys that stand twice.
    Map(Vec<(Node, Node)>),
    /// A value with a tag, such as `!secret x`.
    Tagged(String),
}

impl Node {
    /// What it is, with its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Null => "empty",
            Node::Bool(_) => "a boolean",
            Node::Number(_) => "a number",
            Node::Text(_) => "a string",
            Node::List(_) => "a list",
            Node::Map(_) => "a mapping",
            Node::Tagged(_) => "a tagged value",
        }
    }
}

/// Parses `source`; an empty text is [`Node::Null`]. `None` after a problem.
pub fn parse(source: &Source, problems: &mut Vec<Problem>) -> Option<Node> {
    if let Some(at) = indenting_tab(&source.text) {
        problems.push(
            Problem::error("a tab indents this line, which YAML does not allow")
                .at(source, at..at + 1)
                .hint("use blanks"),
        );
        return None;
    }
    match serde_yaml::from_str(&source.text) {
        Ok(node) => Some(node),
        Err(_) if source.text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) => {
            Some(Node::Null)
        }
        Err(error) => {
            let text = error.to_string();
            let message = format!("no valid YAML: {}", text.split(" at line ").next().unwrap_or(&text));
            problems.push(match error.location() {
                Some(location) => {
                    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
                    let position = Position { line: narrow(location.line()), column: narrow(location.column()) };
                    // An end of text lies behind the last line break, where there is nothing to show.
                    let at = source.offset(position).min(source.text.trim_end().len());
                    let line = source.line(position.line).trim_start();
                    let star = line.starts_with('*').then(|| "what starts with `*` stands in quotes".to_owned());
                    Problem::error(message).at(source, at..at).maybe_hint(star)
                }
                None => Problem::error(message).in_file(&source.path),
            });
            None
        }
    }
}

/// Offset of the first tab in the indentation of a line that holds more than blanks.
fn indenting_tab(text: &str) -> Option<usize> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if !line.trim().is_empty() && line[..indent].contains('\t') {
            return line.find('\t').map(|at| start + at);
        }
        start += line.len();
    }
    None
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value.to_string()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Node::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Map(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Node, A::Error> {
        let (tag, value) = tagged.variant::<String>()?;
        let _: de::IgnoredAny = value.newtype_variant()?;
        Ok(Node::Tagged(tag))
    }
}

/// Where the keys of block mappings stand.
#[derive(Debug, Default)]
pub struct Places(Vec<Place>);

/// Where one key stands.
#[derive(Debug, Clone)]
pub struct Place {
    path: Vec<String>,
    /// Bytes of the key.
    pub key: Range<usize>,
    /// Bytes of the value on the key's line; the key again when there are none.
    pub value: Range<usize>,
}

impl Places {
    /// Finds the keys of `text`. Keys in flow mappings and keys inside block texts are not told apart from others by
    /// more than their indentation, which is enough to point at a line.
    pub fn scan(text: &str) -> Places {
        let mut places = Vec::new();
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let body = line.trim_end();
            let indent = body.len() - body.trim_start().len();
            if let Some((name, key, value)) = key_of(&body[indent..]) {
                open.retain(|(other, _)| *other < indent);
                open.push((indent, name));
                let shift = |range: Range<usize>| start + indent + range.start..start + indent + range.end;
                let key = shift(key);
                let value = value.map_or_else(|| key.clone(), shift);
                places.push(Place { path: open.iter().map(|(_, name)| name.clone()).collect(), key, value });
            }
            start += line.len();
        }
        Places(places)
    }

    /// The `nth` place (from 0) of the key `path`.
    pub fn find(&self, path: &[&str], nth: usize) -> Option<&Place> {
        self.0.iter().filter(|place| place.path.iter().map(String::as_str).eq(path.iter().copied())).nth(nth)
    }
}

/// Name and bytes of the key that `line` starts with, and the bytes of its value.
fn key_of(line: &str) -> Option<(String, Range<usize>, Option<Range<usize>>)> {
    let quote = line.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (name, end) = match quote {
        Some(quote) => {
            let close = line[1..].find(quote)? + 1;
            (&line[1..close], close + 1)
        }
        None if line.starts_with(['#', '-', '{', '[', '?']) => return None,
        None => {
            let colon = line.find(": ").or_else(|| line.strip_suffix(':').map(str::len))?;
            (line[..colon].trim_end(), line[..colon].trim_end().len())
        }
    };
    let rest = line[end..].trim_start().strip_prefix(':')?;
    let value = rest.split(" #").next().unwrap_or("").trim();
    let value_start = line.len() - rest.trim_start().len();
    let value = (!value.is_empty() && !value.starts_with('#')).then(|| value_start..value_start + value.len());
    Some((name.to_owned(), 0..end, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# head\nrules:\n  \"a b\": deny # why\n  c: 'x'\nroles:\n  admin:\n    overrides:\n      c: allow\n";

    #[test]
    fn places() {
        let places = Places::scan(TEXT);
        for (path, key, value) in [
            (&["rules"][..], "rules", "rules"),
            (&["rules", "a b"], "\"a b\"", "deny"),
            (&["rules", "c"], "c", "'x'"),
            (&["roles", "admin", "overrides", "c"], "c", "allow"),
        ] {
            let place = places.find(path, 0).unwrap();
            assert_eq!((&TEXT[place.key.clone()], &TEXT[place.value.clone()]), (key, value));
        }
        assert!(places.find(&["c"], 0).is_none());
    }

    #[test]
    fn trees_keep_what_stands_twice_and_tags() {
        let source = Source::from_bytes("x.yml", b"a: 1\na: !secret s\nb: [~, 1.5, no]\n").unwrap();
        let text = |text: &str| Node::Text(text.to_owned());
        assert_eq!(
            parse(&source, &mut Vec::new()),
            Some(Node::Map(vec![
                (text("a"), Node::Number("1".into())),
                (text("a"), Node::Tagged("secret".into())),
                (text("b"), Node::List(vec![Node::Null, Node::Number("1.5".into()), text("no")])),
            ]))
        );
        let empty = Source::from_bytes("x.yml", b"# nothing\n").unwrap();
        assert_eq!(parse(&empty, &mut Vec::new()), Some(Node::Null));
    }
}
