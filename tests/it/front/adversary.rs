//! A model that wants what it may not have, with nothing but what a model can send: every way ends at the same door.

use serde_json::{Value, json};

use super::approval::handed_out;
use super::lists::with_child;
use super::{Sandbox, Session, modern, text};

/// A child with a tool that the role may read with, and one that it is denied; it writes down what it hears.
fn with_readonly(name: &str) -> Option<(Sandbox, Session)> {
    let script = std::env::temp_dir().join(format!("evokore-{name}-{}.replay", std::process::id()));
    std::fs::write(&script, "").unwrap();
    let replay = format!("replay={}", script.display());
    let habits = ["tool=read_file", "tool=write_file", "library", replay.as_str()];
    with_child(name, &[("EVOKORE_ROLE", "readonly")], &habits)
}

/// Names that somebody might take for `fs_write_file`, and itself.
const NAMES: [&str; 22] = [
    "fs_write_file",
    "FS_WRITE_FILE",
    "Fs_write_file",
    " fs_write_file",
    "fs_write_file ",
    "fs_write_file\n",
    "fs_write_file\u{0}",
    "fs_write_file\u{200b}",
    "\u{feff}fs_write_file",
    "fs_write\u{ad}_file",
    "fs_wr\u{456}te_file",
    "\u{ff46}s_write_file",
    "write_file",
    "fs__write_file",
    "fs.write_file",
    "fs/write_file",
    "fs:write_file",
    "fs_fs_write_file",
    "fs_write_file#1",
    "fs_write_file/../fs_read_file",
    "fs_write_fil",
    "fs_write_file_",
];

/// A request by the name of a tool: its method and `params`.
type Way = fn(&str) -> (&'static str, Value);

/// What `answer` says, without the name that was asked for.
fn shape(answer: &Value, name: &str) -> String {
    let name = serde_json::to_string(name).unwrap();
    answer.to_string().replace(name.trim_matches('"'), "NAME")
}

#[test]
fn no_name_leads_to_a_denied_tool() {
    let Some((sandbox, mut session)) = with_readonly("adversary-names") else { return };
    let answered = |session: &mut Session, method: &str, params: Value| {
        let mut answer = session.answer(method, params);
        answer.as_object_mut().unwrap().remove("id");
        answer
    };
    let ways: [Way; 5] = [
        |name| ("tools/call", json!({"name": name, "arguments": {}})),
        |name| ("tools/call", modern(json!({"name": name, "arguments": {}}))),
        |name| ("tools/call", json!({"name": "call_tool", "arguments": {"name": name, "arguments": {}}})),
        |name| {
            (
                "tools/call",
                json!({"name": "call_tool", "arguments": {"name": "call_tool", "arguments": {"name": name}}}),
            )
        },
        |name| ("tools/call", json!({"name": "describe_tool", "arguments": {"name": name}})),
    ];
    for way in ways {
        let (method, params) = way("fs_no_such_tool");
        let unknown = shape(&answered(&mut session, method, params), "fs_no_such_tool");
        for name in NAMES {
            let (method, params) = way(name);
            let answer = answered(&mut session, method, params);
            let denied = answer["error"].is_object() || answer["result"]["isError"] == true;
            assert!(denied, "{name:?}: {answer}");
            assert!(!answer.to_string().contains("\"fs_write_file\\"), "nothing is told of it: {answer}");
            if name == "fs_write_file" {
                assert_eq!(shape(&answer, name), unknown, "it is as if there were no such tool");
            }
        }
    }
    // Spelt with escapes, named twice, beside the name of a tool that may be called.
    for line in [
        r#"{"name":"\u0066s_write_file"}"#,
        r#"{"name":"fs_read_file","name":"fs_write_file"}"#,
        r#"{"name":"call_tool","arguments":{"name":"fs_read_file","name":"fs_write_file","arguments":{}}}"#,
        r#"{"name":"fs_read_file","arguments":{},"tool":"write_file","params":{"name":"write_file"}}"#,
    ] {
        session.last_id += 1;
        let id = session.last_id;
        session.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{line}}}\n"));
        session.answer_to(id);
    }
    assert_eq!(session.call("fs_read_file", json!({}))["structuredContent"]["tool"], "read_file", "the child is there");
    assert!(!heard(&sandbox, "adversary-names").iter().any(|call| call == "write_file"));
}

/// The tools that the child was called by.
fn heard(_: &Sandbox, name: &str) -> Vec<String> {
    let file = std::env::temp_dir().join(format!("evokore-{name}-{}.replay.heard", std::process::id()));
    let lines = std::fs::read_to_string(file).unwrap();
    let calls = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    calls
        .filter(|message| message["method"] == "tools/call")
        .map(|message| message["params"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn nothing_tells_of_a_denied_tool() {
    let Some((_sandbox, mut session)) = with_readonly("adversary-told") else { return };
    let mut told = Vec::new();
    for query in ["write_file", "fs_write_file", "fs", "write a file", "*", ""] {
        told.push(session.call("discover_tools", json!({"query": query, "limit": 50})));
    }
    for tool in ["resolve_workflow", "search_skills"] {
        told.push(session.call(tool, json!({"query": "write a file to the disk", "task": "write a file to the disk"})));
    }
    for params in [json!({}), modern(json!({}))] {
        told.push(session.ask("tools/list", params.clone()));
        told.push(session.ask("resources/list", params.clone()));
        told.push(session.ask("prompts/list", params));
    }
    told.push(session.call("proxy_server_status", json!({"server_id": "fs"})));
    let complete =
        json!({"ref": {"type": "ref/prompt", "name": "fs_two words"}, "argument": {"name": "a", "value": "fs_w"}});
    told.push(session.answer("completion/complete", complete));
    for mut said in told {
        // The question may come back with the answer.
        said["structuredContent"]["query"].take();
        let said = said.to_string();
        assert!(!said.contains("fs_write_file"), "{said}");
    }
}

#[test]
fn a_token_is_good_for_nothing_but_its_call() {
    let Some((sandbox, mut session)) = with_child("adversary-token", &[("EVOKORE_ROLE", "developer")], &["more"])
    else {
        return;
    };
    let refused = |session: &mut Session, line: &str| {
        session.last_id += 1;
        let id = session.last_id;
        session.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{line}}}\n"));
        let answer = session.answer_to(id);
        assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{line}: {answer}");
    };
    let key = "_evokore_approval_token";
    // Its own word is none, however it says it.
    for made_up in ["\"\"", "\"approved\"", "true", "null", "[]", "\"00000000000000000000000000000000\""] {
        refused(&mut session, &format!(r#"{{"name":"fs_echo","arguments":{{"{key}":{made_up}}}}}"#));
    }
    let (id, token) = handed_out(&session.call("fs_echo", json!({"path": "good"})));
    refused(&mut session, &format!(r#"{{"name":"fs_echo","arguments":{{"path":"good","{key}":"{token}"}}}}"#));
    refused(&mut session, &format!(r#"{{"name":"fs_echo","arguments":{{"path":"good","{key}":"{id}"}}}}"#));
    sandbox.run(&["approvals", "approve", &id]).content();
    for arguments in [
        format!(r#"{{"path":"evil","{key}":"{token}"}}"#),
        // Some readers take the first of two, some the last.
        format!(r#"{{"path":"evil","path":"good","{key}":"{token}"}}"#),
        format!(r#"{{"path":"good","path":"evil","{key}":"{token}"}}"#),
        format!(r#"{{"path":"good","\u0070ath":"good","{key}":"{token}"}}"#),
        format!(r#"{{"path":"good","more":1,"{key}":"{token}"}}"#),
        format!(r#"{{"Path":"good","{key}":"{token}"}}"#),
        format!(r#"{{"path":"good ","{key}":"{token}"}}"#),
        format!(r#"{{"path":["good"],"{key}":"{token}"}}"#),
        format!(r#"{{"path":"good","{key}":"{}"}}"#, token.to_uppercase()),
        format!(r#"{{"path":"good","{key}":"{token} "}}"#),
        format!(r#"{{"path":"good","{key}":["{token}"]}}"#),
        format!(r#"{{"path":"good","{key}":"wrong","{key}":"{token}"}}"#),
    ] {
        // What fits is used up by the first that does; these do not.
        refused(&mut session, &format!(r#"{{"name":"fs_echo","arguments":{arguments}}}"#));
    }
    refused(&mut session, &format!(r#"{{"name":"fs_huge","arguments":{{"path":"good","{key}":"{token}"}}}}"#));
    refused(
        &mut session,
        &format!(
            r#"{{"name":"fs_echo","arguments":{{"path":"evil","{key}":"{token}"}},"arguments":{{"path":"evil","{key}":"{token}"}}}}"#
        ),
    );
    let good = json!({"path": "good", key: token});
    assert_eq!(text(&session.call("fs_echo", good.clone())), "{\"path\": \"good\"}");
    assert_eq!(session.call("fs_echo", good)["isError"], true, "once");
}

#[test]
fn requests_without_end_leave_a_handful() {
    let Some((sandbox, mut session)) = with_child("adversary-flood", &[("EVOKORE_ROLE", "developer")], &["more"])
    else {
        return;
    };
    const ALL: usize = 10_000;
    for batch in 0..ALL / 500 {
        let ids: Vec<u64> = (0..500)
            .map(|n| session.request("tools/call", json!({"name": "fs_echo", "arguments": {"n": batch * 500 + n}})))
            .collect();
        for id in ids {
            assert_eq!(session.answer_to(id)["result"]["isError"], true);
        }
    }
    let waiting = sandbox.run(&["approvals", "--json"]).json()["pending"].as_array().unwrap().len();
    let files = std::fs::read_dir(sandbox.path("home/.evokore/approvals")).unwrap().count();
    assert!((1..=64).contains(&waiting) && files <= 2 * 64, "{waiting} requests, {files} files");
}

#[test]
fn a_denied_tool_of_a_server_that_does_not_answer_is_as_unknown_as_any_name() {
    let scripts = [("down", "#!/bin/sh\nexit 3\n"), ("booting", "#!/bin/sh\nexec sleep 30\n")];
    for (state, script) in scripts {
        let mut sandbox = Sandbox::new(&format!("adversary-{state}"));
        sandbox.write("bin/npx", script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(sandbox.path("bin/npx"), mode).unwrap();
        sandbox.set("EVOKORE_ROLE", "readonly");
        sandbox.set("EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS", "300");
        let mut session = Session::greeted(&sandbox);
        for way in [
            |name: &str| json!({"name": name, "arguments": {}}),
            |name: &str| json!({"name": "call_tool", "arguments": {"name": name, "arguments": {}}}),
        ] {
            for params in [way, |name: &str| modern(json!({"name": name, "arguments": {}}))] {
                let mut said = |name: &str| {
                    let mut answer = session.answer("tools/call", params(name));
                    answer.as_object_mut().unwrap().remove("id");
                    // What follows is about the server, and changes with it.
                    shape(&answer, name).split_once(": child server `fs`").map(|(said, _)| said.to_owned()).unwrap()
                };
                let unknown = said("fs_no_such_tool");
                assert!(unknown.contains("`NAME` cannot be called now"), "{unknown}");
                assert_eq!(said("fs_write_file"), unknown, "{state}");
            }
        }
    }
}
