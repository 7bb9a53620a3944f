//! What a server's death costs a caller: nothing for a harmless call, a rest for any other.

use serde_json::json;

use super::{Sandbox, Session, eventually, text};

/// A session whose server `fs` has these habits; the first run of one that crashes `once` is remembered.
fn session(name: &str, habits: &[&str], variables: &[(&str, &str)]) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(habits) {
        return None;
    }
    let state = format!("export STATE='{}'\nexec ", sandbox.path("work/state").display());
    let script = sandbox.read("bin/npx").replace("exec ", &state);
    sandbox.write("bin/npx", script);
    variables.iter().for_each(|(name, value)| sandbox.set(name, value));
    let session = Session::greeted(&sandbox);
    Some((sandbox, session))
}

/// Waits until `fs` is up, and gives back its status.
fn up(session: &mut Session) -> serde_json::Value {
    let mut status = json!(null);
    eventually("it is up", || {
        status =
            session.call("proxy_server_status", json!({"server_id": "fs"}))["structuredContent"]["servers"][0].clone();
        status["status"] == "connected"
    });
    status
}

#[test]
fn a_harmless_call_is_answered_by_the_next_run() {
    let Some((_sandbox, mut session)) = session("failures-harmless", &["crash", "once", "harmless"], &[]) else {
        return;
    };
    up(&mut session);
    assert_eq!(text(&session.call("fs_echo", json!({"a": 1}))), "{\"a\": 1}");
    let status = up(&mut session);
    assert_eq!((&status["restarts"], &status["coolingCalls"]), (&json!(1), &json!(null)), "{status}");
}

#[test]
fn any_other_call_rests_and_only_that() {
    let Some((_sandbox, mut session)) = session("failures-rest", &["crash", "once"], &[]) else { return };
    up(&mut session);
    let failed = session.call("fs_echo", json!({"a": 1, "b": {"c": 2, "d": 3}}));
    assert!(failed["isError"] == true && text(&failed).contains("exited with code 3"), "{failed}");
    let same = json!({"b": {"d": 3, "c": 2}, "a": 1});
    let resting = session.call("fs_echo", same.clone());
    assert!(
        resting["isError"] == true && text(&resting).starts_with("[EVOKORE COOLDOWN] child server `fs`"),
        "{resting}"
    );
    let through = session.call("call_tool", json!({"name": "fs_echo", "arguments": same}));
    assert!(text(&through).starts_with("[EVOKORE COOLDOWN]"), "{through}");
    let status = up(&mut session);
    assert_eq!(status["coolingCalls"], 1, "{status}");
    assert!(status["cooldownReason"].as_str().unwrap().contains("out of luck"), "{status}");
    // Neither other arguments, nor another session (requests of 2026-07-28 share one), nor an ordinary answer rest.
    for _ in 0..2 {
        assert_eq!(text(&session.call("fs_echo", json!({}))), "{}");
    }
    let modern = session
        .ask("tools/call", super::modern(json!({"name": "fs_echo", "arguments": {"a": 1, "b": {"c": 2, "d": 3}}})));
    assert!(text(&modern).contains("\"d\": 3"), "{modern}");
}
