//! Making a lock from a recorded answer to `tools/list`.

use std::collections::{BTreeMap, BTreeSet};

use evokore_catalog::canonical::canonical_sha256;
use evokore_catalog::name::exposed_name;
use evokore_catalog::render::{Definition, minify};
use evokore_catalog::server::LockKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::lock::FORMAT;
use crate::pretty::pretty;
use crate::tokens::{Counter, Counts, Encoding};
use crate::tools;

/// What to lock.
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    /// Server id.
    pub server: &'a str,
    /// The recorded answer: `{"tools": […]}`, alone or as the `result` of a response, or the bare list.
    pub list: &'a str,
    /// The server's name and version as `initialize` gave them, where they are not part of the recording.
    pub server_info: Option<(String, String)>,
    /// `Full` or `Digest`.
    pub kind: LockKind,
}

/// A lock, and what had to be left out of it.
#[derive(Debug, Clone)]
pub struct Written {
    /// The text of the file.
    pub text: String,
    /// How many tools it holds.
    pub tools: usize,
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
}

#[derive(Deserialize)]
struct ServerInfo {
    name: String,
    version: String,
}

/// Makes the lock. `natives` are the names that a child's tool must not take.
///
/// # Errors
/// The recording holds no list of tools.
pub fn make(recording: &Recording<'_>, natives: &BTreeSet<String>) -> Result<Written, String> {
    let (entries, info) = entries(recording.list)?;
    let info = recording.server_info.clone().or(info.map(|info| (info.name, info.version)));
    let mut skipped = Vec::new();
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate() {
        match Definition::parse(entry.get()) {
            Err(error) => skipped.push(format!("entry {}: {error}", at + 1)),
            Ok(definition) if lines.contains_key(definition.name()) => {
                skipped.push(format!("entry {}: `{}` stands twice, the first counts", at + 1, definition.name()));
            }
            Ok(definition) => {
                let line = match recording.kind {
                    LockKind::Full => full(&definition, entry.get()),
                    LockKind::Digest | LockKind::None => digest(&definition, entry.get(), recording.server, natives),
                };
                lines.insert(definition.name().to_owned(), line);
            }
        }
    }
    let kind = if recording.kind == LockKind::Full { "full" } else { "digest" };
    let info = info.map_or(Value::Null, |(name, version)| json!({ "name": name, "version": version }));
    let head = format!(
        "\"_\":\"made by `cargo codegen lock`; not meant to be edited\",\"lock\":{FORMAT},\"kind\":\"{kind}\",\
         \"server\":{},\"serverInfo\":{info}",
        Value::from(recording.server)
    );
    let tools: Vec<&str> = lines.values().map(String::as_str).collect();
    let text = pretty(&format!("{{{head},\"tools\":[{}]}}", tools.join(","))) + "\n";
    Ok(Written { text, tools: lines.len(), skipped })
}

fn entries(list: &str) -> Result<(Vec<&RawValue>, Option<ServerInfo>), String> {
    let list = list.trim_start_matches('\u{feff}').trim();
    if list.starts_with('[') {
        return serde_json::from_str(list).map(|tools| (tools, None)).map_err(|error| error.to_string());
    }
    let answer: Answer<'_> = serde_json::from_str(list).map_err(|error| error.to_string())?;
    match (answer.tools, answer.result) {
        (Some(tools), _) => Ok((tools, answer.server_info)),
        (None, Some(result)) => {
            let inner: Answer<'_> = serde_json::from_str(result.get()).map_err(|error| error.to_string())?;
            let tools = inner.tools.ok_or("the result holds no `tools`")?;
            Ok((tools, answer.server_info.or(inner.server_info)))
        }
        (None, None) => Err("it holds neither `tools` nor `result`".to_owned()),
    }
}

fn full(definition: &Definition<'_>, json: &str) -> String {
    format!(
        "{{\"name\":{},\"sha256\":\"{}\",\"definition\":{}}}",
        Value::from(definition.name()),
        canonical_sha256(json),
        minify(json)
    )
}

/// Numbers about a definition, without its texts.
fn digest(definition: &Definition<'_>, json: &str, server: &str, natives: &BTreeSet<String>) -> String {
    let exposed = exposed_name(server, definition.name(), &[server], |name| natives.contains(name));
    let mut counter = Counter::new(&Encoding::ALL, crate::tokens::Known::default());
    let counts = tools::count(&mut counter, "", tools::render(definition, &exposed, true));
    let found = tools::count_found(&mut counter, definition, &exposed, server);
    let modes = |encoding: Encoding| {
        let of = |counts: Counts| counts.of(encoding);
        let (full, deferred, visible) = (of(counts.full), of(counts.deferred), of(counts.visible));
        json!({ "full": full, "deferred": deferred, "visible": visible, "found": of(found) })
    };
    let hints = definition.annotations();
    let hints: serde_json::Map<String, Value> = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ]
    .into_iter()
    .filter_map(|(key, hint)| Some((key.to_owned(), Value::from(hint?))))
    .collect();
    let mut entry = json!({ "name": definition.name(), "sha256": canonical_sha256(json) });
    if !hints.is_empty() {
        entry["annotations"] = Value::from(hints);
    }
    entry["tokens"] = json!({ "cl100k_base": modes(Encoding::Cl100k), "o200k_base": modes(Encoding::O200k) });
    entry.to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::lock;
    use crate::source::Source;

    const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[
        {"name":"b","description":"B","inputSchema":{"type":"object","x":1.50},"annotations":{"readOnlyHint":true}},
        {"name":"a","inputSchema":{"type":"object"}}, {"name":"b"}, 7]}}"#;

    fn made(kind: LockKind) -> Written {
        let server_info = Some(("some-server".to_owned(), "1.2.3".to_owned()));
        make(&Recording { server: "s", list: LIST, server_info, kind }, &BTreeSet::new()).unwrap()
    }

    fn read_back(text: &str) -> (Vec<lock::Lock>, Vec<crate::problem::Problem>) {
        let source = Source::from_bytes("locks/s.json", text.as_bytes()).unwrap();
        let mut problems = Vec::new();
        (lock::read(&[source], &mut problems), problems)
    }

    #[test]
    fn full() {
        let written = made(LockKind::Full);
        expect![[r#"
            {
              "_": "made by `cargo codegen lock`; not meant to be edited",
              "lock": 1,
              "kind": "full",
              "server": "s",
              "serverInfo": { "name": "some-server", "version": "1.2.3" },
              "tools": [
                {
                  "name": "a",
                  "sha256": "60d4353e9a5499b483d09f13d9e28060e70f34edf787bb7040ba30bd390f85af",
                  "definition": {
                    "name": "a",
                    "inputSchema": { "type": "object" }
                  }
                },
                {
                  "name": "b",
                  "sha256": "483f67be9138edfca2271a057152562bb56284fba63c5c0cbc82a08c01adca3a",
                  "definition": {
                    "name": "b",
                    "description": "B",
                    "inputSchema": { "type": "object", "x": 1.50 },
                    "annotations": { "readOnlyHint": true }
                  }
                }
              ]
            }
        "#]]
        .assert_eq(&written.text);
        expect![[r#"
            entry 3: `b` stands twice, the first counts
            entry 4: invalid type: integer `7`, expected a JSON object at line 1 column 1"#]]
        .assert_eq(&written.skipped.join("\n"));
        let (locks, problems) = read_back(&written.text);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(locks[0].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let (_, problems) = read_back(&written.text.replace("\"B\"", "\"C\""));
        expect![[r#"
            error: the lock of `s`: tool `b` has a definition that does not fit its digest
              --> locks/s.json
            hint: make the lock anew; it is not meant to be edited"#]]
        .assert_eq(&problems[0].to_string());
    }

    #[test]
    fn digest_keeps_no_text() {
        let written = made(LockKind::Digest);
        expect![[r#"
            {
              "_": "made by `cargo codegen lock`; not meant to be edited",
              "lock": 1,
              "kind": "digest",
              "server": "s",
              "serverInfo": { "name": "some-server", "version": "1.2.3" },
              "tools": [
                {
                  "name": "a",
                  "sha256": "60d4353e9a5499b483d09f13d9e28060e70f34edf787bb7040ba30bd390f85af",
                  "tokens": {
                    "cl100k_base": { "full": 13, "deferred": 38, "visible": 13, "found": 7 },
                    "o200k_base": { "full": 13, "deferred": 37, "visible": 13, "found": 7 }
                  }
                },
                {
                  "name": "b",
                  "sha256": "483f67be9138edfca2271a057152562bb56284fba63c5c0cbc82a08c01adca3a",
                  "annotations": { "readOnlyHint": true },
                  "tokens": {
                    "cl100k_base": { "full": 30, "deferred": 49, "visible": 23, "found": 7 },
                    "o200k_base": { "full": 31, "deferred": 49, "visible": 23, "found": 7 }
                  }
                }
              ]
            }
        "#]]
        .assert_eq(&written.text);
        let (locks, problems) = read_back(&written.text);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(locks[0].tools[1].annotations.read_only, Some(true));
    }

    #[test]
    fn other_recordings() {
        for (list, tools) in [(r#"[{"name":"a"}]"#, Some(1)), (r#"{"tools":[]}"#, Some(0)), ("{}", None), ("", None)] {
            let recording = Recording { server: "s", list, server_info: None, kind: LockKind::Full };
            assert_eq!(make(&recording, &BTreeSet::new()).map(|it| it.tools).ok(), tools, "{list}");
        }
    }
}
