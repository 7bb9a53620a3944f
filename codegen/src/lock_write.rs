//! Making a lock from a recorded answer to `tools/list`.

use std::collections::BTreeSet;

use evokore_catalog::canonical::canonical_sha256;
use evokore_catalog::lock::diff::{self, Change, Difference, Side};
use evokore_catalog::lock::file::{self, Entry, LockFile, ServerInfo};
use evokore_catalog::lock::recording::Recording;
use evokore_catalog::name::exposed_name;
use evokore_catalog::render::Definition;
use evokore_catalog::server::LockKind;
use serde_json::{Value, json};

use crate::tokens::{Counter, Counts, Encoding};
use crate::tools;

/// What to lock.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Server id.
    pub server: &'a str,
    /// What was recorded, in one of the shapes that [`Recording::parse`] reads.
    pub list: &'a str,
    /// The server's name and version as `initialize` gave them, where they are not part of the recording.
    pub server_info: Option<ServerInfo>,
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

/// The command whose locks these are.
const MAKER: &str = "cargo codegen lock";

/// Makes the lock. `natives` are the names that a child's tool must not take.
///
/// # Errors
/// The recording holds no list of tools.
pub fn make(request: &Request<'_>, natives: &BTreeSet<String>) -> Result<Written, String> {
    let mut recording = Recording::parse(request.list)?;
    if let Some(info) = &request.server_info {
        recording.server_info = Some(info.clone());
    }
    let text = if request.kind == LockKind::Full {
        recording.full_lock(MAKER, request.server)
    } else {
        let entry = |json: &&str| Some(digest(&Definition::parse(json).ok()?, json, request.server, natives));
        let entries: Vec<String> = recording.tools.values().filter_map(entry).collect();
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        file::text(MAKER, LockKind::Digest, request.server, recording.server_info.as_ref(), &entries)
    };
    Ok(Written { text, tools: recording.tools.len(), skipped: recording.skipped })
}

/// What is different from the lock `before` (if there was a readable one), with what each tool costs in a list, in the
/// encoding `cl100k_base`.
pub fn report(before: Option<&str>, after: &str, natives: &BTreeSet<String>) -> String {
    let read = |text| LockFile::parse(text).ok();
    let (Some(before), Some(after)) = (before.and_then(read), read(after)) else { return String::new() };
    let server = after.server.clone();
    let tokens = |lock: &LockFile<'_>, name: &str| -> Option<u32> {
        let entry = lock.tools.iter().find(|tool| tool.name == name)?;
        let Some(definition) = entry.definition else { return entry.tokens.map(|it| it.cl100k_base.full) };
        let exposed = exposed_name(&server, name, &[&server], |name| natives.contains(name));
        let definition = Definition::parse(definition.get()).ok()?;
        let mut counter = Counter::new(&[Encoding::Cl100k], crate::tokens::Known::default());
        Some(tools::count(&mut counter, "", tools::render(&definition, &exposed, true)).full.of(Encoding::Cl100k))
    };
    let cost = |difference: &Difference| {
        let former = if let Change::Renamed { from } = &difference.change { from } else { &difference.name };
        match (tokens(&before, former), tokens(&after, &difference.name)) {
            (Some(before), Some(after)) => Some(format!("{before} -> {after} tokens")),
            (Some(tokens), None) | (None, Some(tokens)) => Some(format!("{tokens} tokens")),
            (None, None) => None,
        }
    };
    diff::as_text(&diff::diff(&sides(&before), &sides(&after)), "", cost)
}

fn sides<'a>(lock: &'a LockFile<'_>) -> Vec<Side<'a>> {
    let side = |tool: &'a Entry<'_>| Side {
        name: &tool.name,
        sha256: &tool.sha256,
        definition: tool.definition.map(|raw| raw.get()),
    };
    lock.tools.iter().map(side).collect()
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
        let server_info = Some(ServerInfo { name: "some-server".to_owned(), version: "1.2.3".to_owned() });
        make(&Request { server: "s", list: LIST, server_info, kind }, &BTreeSet::new()).unwrap()
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
    fn what_is_different_is_told_with_its_cost() {
        let list = LIST.replace("\"B\"", "\"Writes a B\"").replace("\"a\"", "\"c\"");
        let request = Request { server: "s", list: &list, server_info: None, kind: LockKind::Full };
        let after = make(&request, &BTreeSet::new()).unwrap().text;
        expect![[r#"
              ~ b: has changed (30 -> 32 tokens)
                  description: {+Writes a+} B
              > c: was called `a`, and is the same otherwise (13 -> 13 tokens)
        "#]]
        .assert_eq(&report(Some(&made(LockKind::Full).text), &after, &BTreeSet::new()));
        let after = make(&Request { kind: LockKind::Digest, ..request }, &BTreeSet::new()).unwrap().text;
        expect![[r#"
              - a: is gone (13 tokens)
              ~ b: has changed; the lock holds a digest, so it cannot be said what (30 -> 32 tokens)
              + c: is new (13 tokens)
        "#]]
        .assert_eq(&report(Some(&made(LockKind::Digest).text), &after, &BTreeSet::new()));
        for before in [None, Some(""), Some(after.as_str())] {
            assert_eq!(report(before, &after, &BTreeSet::new()), "");
        }
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
}
