//! What a lock is made from: an answer to `tools/list`, recorded in one of several shapes, or another full lock.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::{self, ServerInfo};
use crate::render::Definition;
use crate::server::LockKind;

/// A list of tools as it was recorded.
#[derive(Debug, Clone, Default)]
pub struct Recording<'a> {
    /// The definitions as they came, by the server's own names.
    pub tools: BTreeMap<String, &'a str>,
    /// What the server calls itself, if that is part of it.
    pub server_info: Option<ServerInfo>,
    /// One line for each entry that was left out.
    pub skipped: Vec<String>,
}

/// A recorded answer, the response around it, or both.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<Vec<&'a RawValue>>,
    server_info: Option<ServerInfo>,
    kind: Option<String>,
}

/// An entry of a full lock.
#[derive(Deserialize)]
struct Locked<'a> {
    #[serde(borrow)]
    definition: &'a RawValue,
}

impl<'a> Recording<'a> {
    /// Reads `{"tools": […]}`, alone or as the `result` of a response, the bare list, or a full lock.
    ///
    /// # Errors
    /// It holds no list of tools.
    pub fn parse(text: &'a str) -> Result<Recording<'a>, String> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.starts_with('[') {
            let entries: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
            return Ok(Recording::of(entries.into_iter().map(RawValue::get)));
        }
        let answer: Answer<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let (entries, info) = match (answer.tools, answer.result) {
            (Some(tools), _) if answer.kind.as_deref() == Some("full") => {
                let inner = |raw: &'a RawValue| serde_json::from_str::<Locked<'a>>(raw.get()).map(|it| it.definition);
                let tools: Result<Vec<_>, _> = tools.into_iter().map(inner).collect();
                (tools.map_err(|error| error.to_string())?, answer.server_info)
            }
            (Some(_), _) if answer.kind.as_deref() == Some("digest") => {
                return Err("it is a digest lock, which holds no definitions".to_owned());
            }
            (Some(tools), _) => (tools, answer.server_info),
            (None, Some(result)) => {
                let inner: Answer<'_> = serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
                let tools = inner.tools.ok_or("the result holds no `tools`")?;
                (tools, answer.server_info.or(inner.server_info))
            }
            (None, None) => return Err("it holds neither `tools` nor `result`".to_owned()),
        };
        Ok(Recording { server_info: info, ..Recording::of(entries.into_iter().map(RawValue::get)) })
    }

    /// From definitions in the server's order. What is no tool is left out; of a name that stands twice the first
    /// counts, as it does when the server runs.
    pub fn of(entries: impl IntoIterator<Item = &'a str>) -> Recording<'a> {
        let mut recording = Recording::default();
        for (at, entry) in entries.into_iter().enumerate() {
            let place = at + 1;
            match Definition::parse(entry) {
                Err(error) => recording.skipped.push(format!("entry {place}: {error}")),
                Ok(definition) if recording.tools.contains_key(definition.name()) => {
                    let name = definition.name();
                    recording.skipped.push(format!("entry {place}: `{name}` stands twice, the first counts"));
                }
                Ok(definition) => _ = recording.tools.insert(definition.name().to_owned(), entry),
            }
        }
        recording
    }

    /// The text of the full lock of `server` with these tools. `maker` is the command that makes it.
    pub fn full_lock(&self, maker: &str, server: &str) -> String {
        let entry = |json: &&str| Definition::parse(json).ok().map(|definition| file::full_entry(&definition, json));
        let entries: Vec<String> = self.tools.values().filter_map(entry).collect();
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        file::text(maker, LockKind::Full, server, self.server_info.as_ref(), &entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_recordings() {
        for (text, tools) in [
            (r#"[{"name":"a"}]"#, Some(1)),
            (r#"{"tools":[{"name":"a"},{"name":"a"},7]}"#, Some(1)),
            ("\u{feff} {\"result\":{\"tools\":[]}}", Some(0)),
            (r#"{"kind":"digest","tools":[{"name":"a"}]}"#, None),
            (r#"{"result":{}}"#, None),
            ("{}", None),
            ("", None),
        ] {
            assert_eq!(Recording::parse(text).map(|it| it.tools.len()).ok(), tools, "{text}");
        }
    }

    #[test]
    fn a_full_lock_is_a_recording_of_itself() {
        let list = r#"{"tools":[{"name":"b","x":1.50},{"name":"a"}],"serverInfo":{"name":"n","version":"1"}}"#;
        let lock = Recording::parse(list).unwrap().full_lock("a test", "s");
        assert_eq!(Recording::parse(&lock).unwrap().full_lock("a test", "s"), lock);
        let read = file::LockFile::parse(&lock).unwrap();
        assert_eq!((read.kind(), read.server.as_str()), (Ok(LockKind::Full), "s"));
        assert_eq!(
            read.tools.iter().map(|tool| tool.checked().map(|it| it.name().to_owned())).collect::<Vec<_>>(),
            [Ok("a".to_owned()), Ok("b".to_owned())]
        );
    }
}
