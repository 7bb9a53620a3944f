//! Calls that talk on: progress, cancellation, death; and the status of every server.

use std::time::Duration;

use evokore::catalog::CATALOG;
use serde_json::{Value, json};

use super::{Sandbox, Session, eventually};

fn with_child(name: &str, habits: &[&str]) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(habits) {
        return None;
    }
    let mut session = Session::greeted(&sandbox);
    // A child that dies of the first call is waited for by it instead.
    if !habits.contains(&"crash") {
        session.wait_for_child();
    }
    Some((sandbox, session))
}

#[test]
fn progress_comes_under_the_callers_token_and_before_the_answer() {
    let Some((_sandbox, mut session)) = with_child("calls-progress", &["more"]) else { return };
    session.notes(Duration::from_millis(500));
    for token in [json!("mine"), json!(0), json!(9_007_199_254_740_993_u64)] {
        let id = session
            .request("tools/call", json!({"name": "fs_progress", "arguments": {}, "_meta": {"progressToken": token}}));
        session.answer_to(id);
        let notes = session.notes(Duration::ZERO);
        let steps: Vec<(&Value, &Value)> =
            notes.iter().map(|note| (&note["params"]["progressToken"], &note["params"]["progress"])).collect();
        assert_eq!(steps, [(&token, &json!(0)), (&token, &json!(1)), (&token, &json!(2))]);
        assert_eq!(notes[0]["params"]["message"], "step 0");
        assert_eq!(session.notes(Duration::from_millis(100)), Vec::<Value>::new(), "nothing after the answer");
    }
    let id = session.request("tools/call", json!({"name": "fs_progress", "arguments": {}}));
    session.answer_to(id);
    assert_eq!(session.notes(Duration::ZERO), Vec::<Value>::new(), "nobody asked");
}

#[test]
fn a_cancellation_reaches_the_child_and_ends_the_matter() {
    let Some((sandbox, mut session)) = with_child("calls-cancel", &["more"]) else { return };
    let file = sandbox.path("work/cancelled");
    let id = session.request("tools/call", json!({"name": "fs_wait", "arguments": {"file": file}}));
    session.ask("ping", json!({}));
    session.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    eventually("the child hears of it", || file.exists());
    let notes = session.notes(Duration::from_millis(300));
    assert!(!notes.iter().any(|message| message["id"] == id), "{notes:?}");
    session.wait_for_child();
    // Of no request, of an answered one, without one: nothing happens.
    for params in [json!({"requestId": 999}), json!({"requestId": 1}), json!({}), json!({"requestId": null})] {
        session.notify("notifications/cancelled", params);
    }
    session.ask("ping", json!({}));
}

/// As many as are served at once, none of which ends by itself.
#[test]
fn too_many_open_calls_are_refused_until_one_is_cancelled() {
    let Some((sandbox, mut session)) = with_child("calls-many", &["more"]) else { return };
    let wait = json!({"name": "fs_wait", "arguments": {"file": sandbox.path("work/file")}});
    let ids: Vec<u64> = (0..1024).map(|_| session.request("tools/call", wait.clone())).collect();
    for _ in 0..2 {
        let refused = session.answer("tools/call", wait.clone());
        assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains("1024")), "{refused}");
    }
    session.notify("notifications/cancelled", json!({"requestId": ids[500]}));
    assert_eq!(session.ask("ping", json!({})), json!({}));
    session.request("tools/call", wait.clone());
    session.request("tools/call", wait);
    let (rest, _) = session.close();
    assert_eq!(rest.iter().filter(|message| message["error"].is_object()).count(), 1025);
}

#[test]
fn a_child_that_dies_of_a_call_is_an_error_for_the_caller_alone() {
    let Some((_sandbox, mut session)) = with_child("calls-death", &["crash"]) else { return };
    let failed = session.call("fs_echo", json!({}));
    assert_eq!(failed["isError"], true, "{failed}");
    assert!(super::text(&failed).contains("fs"), "{failed}");
    assert_eq!(session.ask("ping", json!({})), json!({}));
    assert_eq!(session.call("search_skills", json!({"query": "review"})).get("isError"), None);
    let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
    let server = &status["structuredContent"]["servers"][0];
    assert!(server["errorCount"].as_u64() > Some(0) || server["restarts"].as_u64() > Some(0), "{status}");
}

#[test]
fn the_status_names_every_server_from_the_first_moment() {
    let sandbox = Sandbox::new("calls-status");
    let mut session = Session::greeted(&sandbox);
    let status = session.call("proxy_server_status", json!({}));
    let servers = status["structuredContent"]["servers"].as_array().unwrap().clone();
    let ids: Vec<&str> = servers.iter().map(|server| server["id"].as_str().unwrap()).collect();
    let mut configured: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    configured.sort_unstable();
    assert_eq!(ids, configured);
    for server in &servers {
        if ["elevenlabs", "github", "supabase"].contains(&server["id"].as_str().unwrap()) {
            assert_eq!(server["status"], "waiting", "{server}");
            assert!(server["reason"].as_str().unwrap().contains("which is not set"), "{server}");
        }
    }
    // There is no `npx` here.
    eventually("fs fails", || {
        let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
        let server = &status["structuredContent"]["servers"][0];
        server["status"] != "booting" && server["reason"].as_str().is_some_and(|reason| reason.contains("npx"))
    });
    eventually("the bootstrap is over", || session.said().contains("Proxy bootstrap complete"));
    let said = session.said();
    let waiting: Vec<&str> = said.lines().filter(|line| line.contains("ELEVENLABS")).collect();
    assert!(waiting.len() == 1 && waiting[0].contains("waits"), "one calm line: {said}");
}

#[test]
fn what_is_given_up_before_its_server_is_up_is_never_called() {
    let mut sandbox = Sandbox::new("calls-early");
    let gate = sandbox.path("work/gate");
    if !sandbox.with_fs_server_that(&["more", &format!("late={}", gate.display())]) {
        return;
    }
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let mut session = Session::greeted(&sandbox);
    let id = session.request("tools/call", json!({"name": "fs_grow", "arguments": {}}));
    session.ask("ping", json!({}));
    session.notify("notifications/cancelled", json!({"requestId": id}));
    std::fs::write(&gate, "").unwrap();
    session.wait_for_child();
    let notes = session.notes(Duration::from_millis(600));
    assert!(!notes.iter().any(|message| message["id"] == id), "{notes:?}");
    let listed = session.listed();
    assert!(
        listed.iter().any(|name| name == "fs_grow") && !listed.iter().any(|name| name == "fs_grown0"),
        "{listed:?}"
    );
}

#[test]
fn a_call_that_finishes_soon_after_the_end_is_answered() {
    let Some((_sandbox, mut session)) = with_child("calls-soon", &["more"]) else { return };
    let id = session.request("tools/call", json!({"name": "fs_nap", "arguments": {"ms": 100}}));
    let (rest, _) = session.close();
    assert!(rest.iter().any(|message| message["id"] == id && message["result"].is_object()), "{rest:?}");
}
