//! A call that a person must agree to, from the refusal to the answer.

use serde_json::{Value, json};

use super::lists::with_child;
use super::{Sandbox, Session, text};

fn session(name: &str) -> Option<(Sandbox, Session)> {
    with_child(name, &[("EVOKORE_ROLE", "developer")], &["more"])
}

/// What a refusal says: the number for the person, the token for the caller.
pub(super) fn handed_out(refusal: &Value) -> (String, String) {
    assert_eq!(refusal["isError"], true, "{refusal}");
    let after = |start: &str, end: char| {
        let (_, rest) = text(refusal).split_once(start).unwrap_or_else(|| panic!("{refusal}"));
        rest.split(end).next().unwrap().to_owned()
    };
    (after("approvals approve ", '`'), after("\"_evokore_approval_token\": \"", '"'))
}

#[test]
fn an_approval_is_good_for_one_call_with_these_arguments() {
    let Some((sandbox, mut session)) = session("approval-once") else { return };
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 1, "b": [2]})));
    let agreed = json!({"b": [2], "_evokore_approval_token": token, "a": 1});
    let early = session.call("fs_echo", agreed.clone());
    assert!(early["isError"] == true && text(&early).contains("nobody has approved"), "{early}");
    sandbox.run(&["approvals", "approve", &id]).content();
    let other = session.call("fs_echo", json!({"a": 2, "b": [2], "_evokore_approval_token": token}));
    assert!(other["isError"] == true && text(&other).contains("not valid"), "{other}");
    let echo = session.call("fs_echo", agreed.clone());
    assert_eq!(serde_json::from_str::<Value>(text(&echo)).unwrap(), json!({"a": 1, "b": [2]}), "without the token");
    let again = session.call("fs_echo", agreed);
    assert!(again["isError"] == true && text(&again).contains("not valid"), "{again}");
}

#[test]
fn a_way_around_asks_the_same_question() {
    let Some((sandbox, mut session)) = session("approval-through") else { return };
    for arguments in [json!({"name": "fs_echo", "arguments": {"a": 1}}), json!({"name": "fs_echo", "a": 1})] {
        let (id, token) = handed_out(&session.call("call_tool", arguments.clone()));
        sandbox.run(&["approvals", "approve", &id]).content();
        let mut agreed = arguments;
        let place = if agreed["arguments"].is_object() { &mut agreed["arguments"] } else { &mut agreed };
        place["_evokore_approval_token"] = token.into();
        assert_eq!(text(&session.call("call_tool", agreed)), "{\"a\": 1}");
    }
    // A token beside the arguments is for nobody, and not handed on either.
    let (id, token) = handed_out(&session.call("fs_echo", json!({"a": 1})));
    sandbox.run(&["approvals", "approve", &id]).content();
    let beside = json!({"name": "fs_echo", "arguments": {"a": 1}, "_meta": {"_evokore_approval_token": token}});
    assert_eq!(session.ask("tools/call", beside)["isError"], true);
}

#[test]
fn a_denial_is_final() {
    let Some((sandbox, mut session)) = session("approval-denied") else { return };
    let (id, token) = handed_out(&session.call("fs_echo", json!({})));
    sandbox.run(&["approvals", "deny", &id]).content();
    let denied = session.call("fs_echo", json!({"_evokore_approval_token": token}));
    assert!(denied["isError"] == true && text(&denied).contains("has denied"), "{denied}");
    assert_eq!(sandbox.run(&["approvals"]).content(), "nothing waits for approval\n");
}

#[test]
fn a_call_that_rests_spends_no_approval() {
    let Some((sandbox, mut session)) = with_child("approval-rest", &[("EVOKORE_ROLE", "developer")], &["crash"]) else {
        return;
    };
    let agree = |session: &mut Session| {
        let (id, token) = handed_out(&session.call("fs_echo", json!({})));
        sandbox.run(&["approvals", "approve", &id]).content();
        json!({ "_evokore_approval_token": token })
    };
    let (first, second) = (agree(&mut session), agree(&mut session));
    let failed = session.call("fs_echo", first);
    assert!(text(&failed).contains("exited with code 3"), "{failed}");
    for _ in 0..2 {
        let resting = session.call("fs_echo", second.clone());
        assert!(text(&resting).starts_with("[EVOKORE COOLDOWN]"), "{resting}");
    }
}
