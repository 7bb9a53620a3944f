//! The audit log, from calls of a client to what `evokore audit` says of them.

use serde_json::{Value, json};

use super::approval::handed_out;
use super::lists::with_child;
use super::{Sandbox, Session, eventually, text};

/// The events that have been written by now. The line of a call that was quick tells of its end, too, and is taken for both.
fn events(sandbox: &Sandbox) -> Vec<Value> {
    let lines = sandbox.run(&["audit", "--json", "--limit", "100000"]).content();
    let mut events = Vec::new();
    for line in lines.lines() {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let end = event.get("end").cloned();
        let mut ended = event.clone();
        if let Some(end) = end {
            (ended["event"], ended["outcome"]) = ("call_end".into(), end);
            event["reason"] = Value::Null;
            events.extend([event, ended]);
        } else {
            events.push(event);
        }
    }
    events
}

/// Whether `event` has these members.
fn has(event: &Value, members: &Value) -> bool {
    members.as_object().unwrap().iter().all(|(key, value)| event[key] == *value)
}

/// Waits until an event with these members has been written.
fn noted(sandbox: &Sandbox, members: &Value) -> Value {
    let mut found = Value::Null;
    eventually(&format!("{members} is noted"), || {
        found = events(sandbox).into_iter().find(|event| has(event, members)).unwrap_or_default();
        found != Value::Null
    });
    found
}

/// What the check says of a log that is in order.
fn checked(sandbox: &Sandbox) -> Value {
    let ran = sandbox.run(&["audit", "verify", "--json"]);
    let report = ran.json();
    assert_eq!(report["ok"], true, "{report}");
    report
}

#[test]
fn an_approved_call_is_noted_from_the_question_to_the_answer() {
    let variables = [("EVOKORE_ROLE", "developer")];
    let Some((sandbox, mut session)) = with_child("audit-approval", &variables, &["more"]) else { return };
    let arguments = json!({"a": "plain", "password": "hunter2"});
    let (id, token) = handed_out(&session.call("fs_echo", arguments.clone()));
    noted(&sandbox, &json!({"event": "approval_requested"}));
    sandbox.run(&["approvals", "approve", &id]).content();
    let mut agreed = arguments;
    agreed["_evokore_approval_token"] = token.clone().into();
    assert_ne!(session.call("fs_echo", agreed)["isError"], true);
    session.close();

    let events = events(&sandbox);
    let told: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| event["tool"] == "fs_echo" || event["approval"] == id.as_str())
        .map(|event| (event["event"].as_str().unwrap(), event["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("approval_requested", "approval_needed"),
            ("call", "approval_needed"),
            ("approval_granted", "success"),
            ("approval_spent", "success"),
            ("call", "allowed"),
            ("call_end", "success"),
        ]
    );
    let find = |members: Value| events.iter().find(|event| has(event, &members)).unwrap_or_else(|| panic!("{members}"));
    let asked = find(json!({"event": "call", "outcome": "approval_needed"}));
    let allowed = find(json!({"event": "call", "outcome": "allowed", "tool": "fs_echo"}));
    let expected = json!({"role": "developer", "server": "fs", "access": "require_approval"});
    assert!(has(asked, &expected) && has(allowed, &expected), "{asked} {allowed}");
    assert_eq!(
        (&asked["by"], &asked["arguments"]["preview"]),
        (&json!("approval"), &json!(r#"{"a":"plain","password":"***"}"#))
    );
    assert!(asked["rule"].is_string() && asked["session"].is_u64() && asked["utc"].is_string(), "{asked}");
    assert_eq!(asked["arguments"]["sha256"], allowed["arguments"]["sha256"]);
    let start = find(json!({"event": "run_start"}));
    assert!(start["reason"].as_str().unwrap().contains(", inputs ") && start["role"] == "developer", "{start}");
    let last = &events[events.len() - 1]["event"];
    assert_eq!((&events[0]["event"], last), (&json!("run_start"), &json!("run_end")));
    let file = sandbox.read("home/.evokore/audit/audit.jsonl");
    assert!(!file.contains("hunter2") && !file.contains(&token), "no secret is written");
    checked(&sandbox);
}

#[test]
fn refusals_are_noted_with_who_refuses() {
    let Some((sandbox, mut session)) = with_child("audit-denied", &[("EVOKORE_ROLE", "readonly")], &["more"]) else {
        return;
    };
    for name in ["fs_echo", "nothing"] {
        let answer = session.answer("tools/call", json!({"name": name, "arguments": {"a": 1}}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let denied = noted(&sandbox, &json!({"event": "call", "tool": "fs_echo"}));
    let expected = json!({"outcome": "denied", "by": "policy", "access": "deny", "server": "fs", "role": "readonly"});
    assert!(has(&denied, &expected) && denied["arguments"]["preview"] == r#"{"a":1}"#, "{denied}");
    let unknown = noted(&sandbox, &json!({"event": "call", "tool": "nothing"}));
    assert!(has(&unknown, &json!({"outcome": "failure", "by": "nobody"})), "{unknown}");
    let shown = sandbox.run(&["audit", "--since", "1h", "--tool", "fs_echo", "--outcome", "denied"]).content();
    assert!(shown.contains("  call  denied  fs_echo  ") && shown.lines().count() == 1, "{shown}");
}

#[test]
fn a_child_that_dies_is_noted_and_so_is_what_its_death_costs() {
    let Some((sandbox, mut session)) = with_child("audit-crash", &[], &["crash"]) else { return };
    let failed = session.call("fs_echo", json!({}));
    assert!(text(&failed).contains("exited with code 3"), "{failed}");
    let resting = session.call("fs_echo", json!({}));
    assert!(text(&resting).starts_with("[EVOKORE COOLDOWN]"), "{resting}");
    let end = noted(&sandbox, &json!({"event": "call_end", "tool": "fs_echo"}));
    assert!(has(&end, &json!({"outcome": "failure", "reason": "the server went away during the call"})), "{end}");
    noted(&sandbox, &json!({"event": "call", "tool": "fs_echo", "outcome": "denied", "by": "cooldown"}));
    noted(&sandbox, &json!({"event": "child_start", "server": "fs", "restarts": 0}));
    let end = noted(&sandbox, &json!({"event": "child_end", "server": "fs"}));
    assert!(end["reason"].as_str().unwrap().contains("exited with code 3"), "{end}");
    noted(&sandbox, &json!({"event": "child_start", "server": "fs", "restarts": 1}));
    session.close();
    checked(&sandbox);
}

#[test]
fn drift_is_noted_with_the_tools() {
    let Some((sandbox, _session)) = with_child("audit-drift", &[("EVOKORE_LOCK_ON_DRIFT", "block")], &["more"]) else {
        return;
    };
    let drift = noted(&sandbox, &json!({"event": "drift", "server": "fs"}));
    assert!(drift["tools"].as_array().unwrap().contains(&json!("fs_echo")), "{drift}");
    let shown = sandbox.run(&["audit", "--tool", "fs_echo"]).content();
    assert!(shown.contains("  drift  failure  fs  ") && shown.contains("withheld until"), "{shown}");
}

#[test]
fn a_line_that_is_taken_out_is_named() {
    let sandbox = Sandbox::new("audit-verify");
    assert_eq!(sandbox.run(&["audit"]).content(), "no such events\n");
    assert_eq!(sandbox.run(&["audit", "verify"]).content(), "there is no audit log yet\n");
    let mut session = Session::greeted(&sandbox);
    for _ in 0..4 {
        session.call("search_skills", json!({"query": "release"}));
    }
    session.close();
    let ran = sandbox.run(&["audit", "verify"]).content();
    let lines = checked(&sandbox)["lines"].as_u64().unwrap();
    assert!(lines >= 6 && ran.starts_with(&format!("ok: {lines} lines in 1 file, number 1 to {lines}\n")), "{ran}");

    let path = "home/.evokore/audit/audit.jsonl";
    let file = sandbox.read(path);
    let without: String =
        file.split_inclusive('\n').enumerate().filter(|(at, _)| *at != 4).map(|(_, line)| line).collect();
    sandbox.write(path, without);
    let ran = sandbox.run(&["audit", "verify"]);
    let expected = format!("error: <root>/{path}:5: the line before it is missing, number 5\n");
    assert!(ran.code == 1 && ran.stderr.starts_with(&expected), "{ran:?}");
}

#[test]
fn two_servers_write_one_log() {
    let sandbox = Sandbox::new("audit-two");
    let mut sessions = [Session::greeted(&sandbox), Session::greeted(&sandbox)];
    for _ in 0..30 {
        let ids = sessions.each_mut().map(|session| {
            session.request("tools/call", json!({"name": "search_skills", "arguments": {"query": "release"}}))
        });
        for (session, id) in sessions.iter_mut().zip(ids) {
            session.answer_to(id);
        }
    }
    for session in sessions {
        session.close();
    }
    checked(&sandbox);
    let ends: Vec<Value> = events(&sandbox).into_iter().filter(|event| event["event"] == "call_end").collect();
    let runs: std::collections::BTreeSet<&str> = ends.iter().map(|event| event["run"].as_str().unwrap()).collect();
    assert_eq!((ends.len(), runs.len()), (60, 2));
}

#[test]
fn a_server_that_is_killed_leaves_a_log_that_goes_on() {
    let sandbox = Sandbox::new("audit-kill");
    let mut session = Session::greeted(&sandbox);
    session.call("search_skills", json!({"query": "release"}));
    noted(&sandbox, &json!({"event": "call_end"}));
    for _ in 0..50 {
        session.request("tools/call", json!({"name": "search_skills", "arguments": {"query": "release"}}));
    }
    session.process.kill().unwrap();
    session.process.wait().unwrap();
    drop(session);
    let before = checked(&sandbox);
    // And if it was just in the middle of a line:
    let path = sandbox.path("home/.evokore/audit/audit.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"{\"seq\":").unwrap();
    assert_eq!(checked(&sandbox)["torn"].as_u64(), before["torn"].as_u64().map(|torn| torn + 1));
    let mut session = Session::greeted(&sandbox);
    session.call("search_skills", json!({"query": "release"}));
    session.close();
    let after = checked(&sandbox);
    assert!(after["lines"].as_u64() >= before["lines"].as_u64().map(|lines| lines + 4), "{before} {after}");
    noted(&sandbox, &json!({"event": "log_torn"}));
}

#[test]
fn without_a_log_evokore_goes_on() {
    let mut sandbox = Sandbox::new("audit-off");
    sandbox.write("home/.evokore/audit", "in the way");
    let mut session = Session::greeted(&sandbox);
    assert_ne!(session.call("search_skills", json!({"query": "release"}))["isError"], true);
    eventually("it is said", || session.said().contains("cannot be written, and evokore goes on without"));
    session.call("search_skills", json!({"query": "release"}));
    let said = session.stderr.clone();
    session.close();
    assert_eq!(said.lock().unwrap().matches("the audit log in").count(), 1, "told once");

    sandbox.set("EVOKORE_AUDIT_LOG", "false");
    std::fs::remove_file(sandbox.path("home/.evokore/audit")).unwrap();
    let mut session = Session::greeted(&sandbox);
    session.call("search_skills", json!({"query": "release"}));
    session.close();
    assert!(!sandbox.path("home/.evokore/audit").exists());
}
