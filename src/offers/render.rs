//! The entries of a child's lists as they are offered: the bytes that came, under another address. What would cost a
//! strict client the whole list is left out, member by member.

use std::borrow::Cow;

use bytes::Bytes;
use evokore_catalog::members::Members;
use evokore_catalog::name;
use serde_json::Value;
use serde_json::value::RawValue;

use super::address;
use crate::catalog::CATALOG;
use crate::child::ChildEntry;
use crate::prompts;

/// One resource, template or prompt of a child.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The child's own URI, template or name.
    pub own: Box<str>,
    /// The address or name under which it is offered.
    pub exposed: Box<str>,
    /// What stands in the list.
    pub json: Bytes,
    /// The same under the child's own URI, where that is [fixed](address::is_fixed).
    pub fixed: Option<Bytes>,
}

/// The members that the protocol knows, and the first byte of their values; one with another value is left out.
const SHAPES: [(&str, &[u8]); 9] = [
    ("name", b"\""),
    ("title", b"\""),
    ("description", b"\""),
    ("mimeType", b"\""),
    ("size", b"-0123456789"),
    ("annotations", b"{"),
    ("_meta", b"{"),
    ("icons", b"["),
    ("arguments", b"["),
];

/// Renders a resource (`key` is `uri`) or a template (`uriTemplate`) of server `id`; notes tell what was mended.
pub(super) fn resource(id: &str, key: &str, entry: &ChildEntry, notes: &mut Vec<String>) -> Option<Entry> {
    let exposed = address::exposed(id, &entry.name);
    let members = readable(&entry.name, entry, notes)?;
    // Every entry must have a name; the address is the next best.
    let name = text(&entry.name)?;
    let under = |address: &str| -> Option<Bytes> {
        let address = text(address)?;
        let mut members = members.clone();
        for (_, value) in members.0.iter_mut().filter(|(member, _)| *member == key) {
            *value = &address;
        }
        if members.get("name").is_none() {
            members.0.push((Cow::Borrowed("name"), &name));
        }
        Some(members.to_json().into())
    };
    let fixed = if address::is_fixed(&entry.name) { Some(under(&entry.name)?) } else { None };
    Some(Entry { json: under(&exposed)?, fixed, own: entry.name.as_str().into(), exposed: exposed.into() })
}

/// Renders a prompt of server `id`.
pub(super) fn prompt(id: &str, entry: &ChildEntry, notes: &mut Vec<String>) -> Option<Entry> {
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let exposed = name::exposed_name(id, &entry.name, &ids, prompts::is_own);
    let name = text(&exposed)?;
    let mut members = readable(&entry.name, entry, notes)?;
    let arguments = members.get("arguments").and_then(|raw| named(raw, &entry.name, notes));
    for (member, value) in &mut members.0 {
        match (&**member, &arguments) {
            ("name", _) => *value = &name,
            ("arguments", Some(arguments)) => *value = arguments,
            _ => {}
        }
    }
    Some(Entry {
        own: entry.name.as_str().into(),
        json: members.to_json().into(),
        exposed: exposed.into(),
        fixed: None,
    })
}

/// The members of an entry without those that a strict client could not read.
fn readable<'a>(called: &str, entry: &'a ChildEntry, notes: &mut Vec<String>) -> Option<Members<'a>> {
    let mut members = Members::parse(entry.raw.get()).ok()?.unique();
    members.0.retain(|(key, value)| {
        let known = SHAPES.iter().find(|(member, _)| member == key);
        let fits =
            known.is_none_or(|(_, first)| value.get().as_bytes().first().is_some_and(|byte| first.contains(byte)));
        if !fits {
            notes.push(format!("`{}` is listed without its `{key}`, which is malformed", short(called)));
        }
        fits
    });
    Some(members)
}

/// The arguments of a prompt that have a name, if there are others.
fn named(arguments: &RawValue, called: &str, notes: &mut Vec<String>) -> Option<Box<RawValue>> {
    let all: Vec<&RawValue> = serde_json::from_str(arguments.get()).ok()?;
    let has_name = |raw: &&RawValue| {
        Members::parse(raw.get())
            .is_ok_and(|members| members.last("name").is_some_and(|name| name.get().starts_with('"')))
    };
    let kept: Vec<&RawValue> = all.iter().copied().filter(has_name).collect();
    if kept.len() == all.len() {
        return None;
    }
    notes.push(format!("`{}` is listed without its arguments that have no name", short(called)));
    let kept: Vec<&str> = kept.into_iter().map(RawValue::get).collect();
    RawValue::from_string(format!("[{}]", kept.join(","))).ok()
}

fn text(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(Value::from(text).to_string()).ok()
}

fn short(name: &str) -> String {
    name.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, raw: &str) -> ChildEntry {
        ChildEntry { name: name.to_owned(), raw: RawValue::from_string(raw.to_owned()).expect("it is JSON") }
    }

    fn shown(entry: Option<Entry>) -> String {
        String::from_utf8(entry.expect("it can be offered").json.to_vec()).expect("it is text")
    }

    #[test]
    fn all_but_the_address_stays_what_it_was() {
        let mut notes = Vec::new();
        for (raw, expected) in [
            (
                r#"{"zeta":1.10,"uri":"x://a","name":"A","size": 9007199254740993,"_meta":{"b": 1.0}}"#,
                r#"{"zeta":1.10,"uri":"evokore://child/s/x://a","name":"A","size":9007199254740993,"_meta":{"b": 1.0}}"#,
            ),
            (r#"{"uri":"x://a"}"#, r#"{"uri":"evokore://child/s/x://a","name":"x://a"}"#),
            (r#"{"uri":"no","name":"n","uri":"x://a"}"#, r#"{"uri":"evokore://child/s/x://a","name":"n"}"#),
        ] {
            assert_eq!(shown(resource("s", "uri", &entry("x://a", raw), &mut notes)), expected);
        }
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn what_would_cost_a_whole_list_is_left_out() {
        let mut notes = Vec::new();
        let raw = r#"{"uri":"x://a","name":7,"title":null,"size":"big","icons":{},"other":null}"#;
        let expected = r#"{"uri":"evokore://child/s/x://a","other":null,"name":"x://a"}"#;
        assert_eq!(shown(resource("s", "uri", &entry("x://a", raw), &mut notes)), expected);
        assert_eq!(notes.len(), 4, "{notes:?}");
        let raw = r#"{"name":"p","arguments":[{"name":"a","x":1.0},{"title":"b"},7],"description":[]}"#;
        let id = CATALOG.servers[0].id;
        let expected = format!(r#"{{"name":"{id}_p","arguments":[{{"name":"a","x":1.0}}]}}"#);
        assert_eq!(shown(prompt(id, &entry("p", raw), &mut notes)), expected);
        assert_eq!(notes.len(), 6, "{notes:?}");
    }

    #[test]
    fn an_interface_keeps_its_own_address_as_well() {
        let found = resource("s", "uri", &entry("ui://x", r#"{"uri":"ui://x","name":"n"}"#), &mut Vec::new());
        let found = found.expect("it can be offered");
        assert_eq!(found.fixed.as_deref(), Some(&br#"{"uri":"ui://x","name":"n"}"#[..]));
        assert_eq!(&*found.exposed, "evokore://child/s/ui://x");
    }
}
