//! Tasks of children: their ids as clients know them, and the members of messages that say what became of one. Both
//! forms that the protocol has given them: 2025-11-25, basic/utilities/tasks, and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28.
//!
//! A task is known by the id of its server, a colon, and the child's own id. So no two servers can meet in one, the way
//! back needs no table, and a client that keeps an id may come back with it after a restart of ours.

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::Value;
use serde_json::value::RawValue;

mod told;

pub(super) use told::{Lasting, made_of, seen, sorted, wished_for};
pub use told::{Status, Told, completed};

/// The extension of 2026-07-28.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Where the id stands in what tells of a task.
pub const ID: &[&str] = &["taskId"];
/// In the answer of the handshake era to the call that has made it.
pub const MADE: &[&str] = &["task", "taskId"];
/// In any message that belongs to a task (2025-11-25, Related Task Metadata).
pub const RELATED: &[&str] = &["_meta", "io.modelcontextprotocol/related-task", "taskId"];

/// A word of [`RELATED`]: what does not have it need not be read.
const RELATED_MARK: &[u8] = b"related-task";
/// Bytes of an id that is remembered. One of more is passed on all the same.
pub const MAX_ID: usize = 1 << 10;

/// How clients know task `own` of server `id`.
pub fn exposed(id: &str, own: &str) -> String {
    format!("{id}:{own}")
}

/// The server's id and the child's own, if `exposed` has the form of an id that we gave.
pub fn parse(exposed: &str) -> Option<(&str, &str)> {
    exposed.split_once(':')
}

/// `json` with another text where `path` leads, if `map` has one for what stands there. The bytes of all other values
/// stay. `None`: nothing is to be changed.
pub fn mapped(json: &str, path: &[&str], map: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some((key, rest)) = path.split_first() else {
        let own: String = serde_json::from_str(json).ok()?;
        return Some(Value::from(map(&own)?).to_string());
    };
    let mut members = Members::parse(json).ok()?;
    let new: Vec<Option<Box<RawValue>>> = members
        .0
        .iter()
        .map(|(name, value)| {
            let new = if name == key { mapped(value.get(), rest, map) } else { None };
            RawValue::from_string(new?).ok()
        })
        .collect();
    if new.iter().all(Option::is_none) {
        return None;
    }
    for ((_, value), new) in members.0.iter_mut().zip(&new) {
        *value = new.as_deref().unwrap_or(value);
    }
    Some(members.to_json())
}

/// What server `id` says, with its task's id where `path` leads as clients know it.
pub fn outward(id: &str, said: Bytes, path: &[&str]) -> Bytes {
    let new = std::str::from_utf8(&said).ok().and_then(|text| mapped(text, path, &|own| Some(exposed(id, own))));
    new.map_or(said, Bytes::from)
}

/// The same where a message belongs to a task.
pub fn related_outward(id: &str, said: Bytes) -> Bytes {
    if is_related(&said) { outward(id, said, RELATED) } else { said }
}

/// What a client says to server `id`, with the server's own id of the task that it belongs to.
pub(super) fn related_inward(id: &str, said: Bytes) -> Bytes {
    if !is_related(&said) {
        return said;
    }
    let own = |exposed: &str| parse(exposed).filter(|(server, _)| *server == id).map(|(_, own)| own.to_owned());
    let new = std::str::from_utf8(&said).ok().and_then(|text| mapped(text, RELATED, &own));
    new.map_or(said, Bytes::from)
}

/// Whether a message may belong to a task.
pub(super) fn is_related(said: &[u8]) -> bool {
    memchr::memmem::find(said, RELATED_MARK).is_some()
}

/// A result without what says that it belongs to a task, for who knows of none.
pub fn unrelated(result: Bytes) -> Bytes {
    let strip = || {
        let mut members = Members::parse(std::str::from_utf8(&result).ok()?).ok()?;
        let mut meta = Members::parse(members.last("_meta")?.get()).ok()?;
        meta.0.retain(|(key, _)| key != RELATED[1]);
        let rest = RawValue::from_string(meta.to_json()).ok()?;
        members.0.retain(|(key, _)| key != "_meta" || !meta.0.is_empty());
        for (_, value) in members.0.iter_mut().filter(|(key, _)| key == "_meta") {
            *value = &rest;
        }
        Some(members.to_json())
    };
    let stripped = if is_related(&result) { strip() } else { None };
    stripped.map_or(result, Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_back_and_no_two_servers_meet() {
        for (server, own) in [("a", "1"), ("a", "b:1"), ("a_b", ""), ("a-b", "é \"x\"")] {
            assert_eq!(parse(&exposed(server, own)), Some((server, own)));
        }
        assert_eq!(parse("786512e2"), None);
    }

    #[test]
    fn only_the_id_is_mapped() {
        for (path, said, expected) in [
            (
                ID,
                r#"{"z":1.10,"taskId":"\u0031","task":{"taskId":"2"}}"#,
                r#"{"z":1.10,"taskId":"s:1","task":{"taskId":"2"}}"#,
            ),
            (
                MADE,
                r#"{"task":{"ttl": 9007199254740993,"taskId":"1"},"taskId":"2"}"#,
                r#"{"task":{"ttl":9007199254740993,"taskId":"s:1"},"taskId":"2"}"#,
            ),
            (
                RELATED,
                r#"{"content":[{"taskId":"1"}],"_meta":{"a": 1.0,"io.modelcontextprotocol/related-task":{"taskId":"1","x":[ ]}}}"#,
                r#"{"content":[{"taskId":"1"}],"_meta":{"a":1.0,"io.modelcontextprotocol/related-task":{"taskId":"s:1","x":[ ]}}}"#,
            ),
            (ID, r#"{"taskId": 7}"#, r#"{"taskId": 7}"#),
            (ID, "[7]", "[7]"),
        ] {
            assert_eq!(outward("s", Bytes::from(said), path), expected);
        }
        let answer = r#"{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"s:1"}}}"#;
        let own = r#"{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}"#;
        assert_eq!(related_inward("s", Bytes::from(answer)), own);
        assert_eq!(related_inward("t", Bytes::from(answer)), answer, "that of another server is not touched");
    }

    #[test]
    fn a_result_is_taken_out_of_its_task() {
        for (result, expected) in [
            (r#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}"#, r#"{"content":[]}"#),
            (
                r#"{"_meta":{"io.modelcontextprotocol/related-task":{},"b": 1},"content":[ ]}"#,
                r#"{"_meta":{"b":1},"content":[ ]}"#,
            ),
            (r#"{ "content":["related-task"]}"#, r#"{ "content":["related-task"]}"#),
        ] {
            assert_eq!(unrelated(Bytes::from(result)), expected);
        }
    }
}
