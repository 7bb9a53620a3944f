//! Children that speak nothing but 2026-07-28, behind clients of both eras.

use std::time::Duration;

use serde_json::{Value, json};

use super::asks::{asked, with_child};
use super::{Sandbox, Session, Streams, modern, text};

const FORM: &str = r#"{"elicitation":{},"roots":{}}"#;

#[test]
fn a_child_without_a_handshake_is_understood() {
    let Some((_sandbox, mut session)) = with_child("rounds-boot", FORM, &["modern", "more"]) else { return };
    let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
    let server = &status["structuredContent"]["servers"][0];
    assert_eq!((&server["status"], &server["protocol"]), (&json!("connected"), &json!("2026-07-28")), "{server}");
    assert_eq!(session.wait_for_child()["client"]["capabilities"], json!({"elicitation": {}, "roots": {}}));
    // It tells of its changes in a subscription.
    session.call("fs_grow", json!({}));
    let grown = session.answer("tools/call", json!({"name": "fs_grown0", "arguments": {}}));
    super::eventually("the new tool is known", || {
        grown["result"].is_object() || session.answer("tools/call", json!({"name": "fs_grown0"}))["result"].is_object()
    });
}

#[test]
fn a_client_with_a_handshake_is_asked_what_the_child_needs() {
    let Some((_sandbox, mut session)) = with_child("rounds-handshake", FORM, &["modern"]) else { return };
    for (method, answer) in [
        ("elicitation/create", json!({"action": "accept", "content": {"name": "x", "n": 1.5}})),
        ("roots/list", json!({"roots": []})),
    ] {
        let id = session.request("tools/call", json!({"name": "fs_needs", "arguments": {"method": method}}));
        let question = asked(&mut session);
        assert_eq!((&question["method"], &question["params"]["message"]), (&json!(method), &json!("name?")));
        session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let result = session.answer_to(id)["result"].clone();
        assert_eq!(result["structuredContent"], json!({"answers": {"name": answer}, "state": "st"}));
        assert_eq!(result.get("resultType"), None, "a handshake-era answer has no modern members");
    }
    // What it does not offer, and what it refuses, is told to the model.
    let missing = session.call("fs_needs", json!({"method": "sampling/createMessage"}));
    assert!(missing["isError"] == true && text(&missing).contains("sampling/createMessage"), "{missing}");
    let odd = session.call("fs_needs", json!({"method": "no/such"}));
    assert!(odd["isError"] == true && text(&odd).contains("no/such"), "{odd}");
    let id = session.request("tools/call", json!({"name": "fs_needs", "arguments": {}}));
    let question = asked(&mut session);
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "not now"}}));
    let refused = session.answer_to(id)["result"].clone();
    assert!(refused["isError"] == true && text(&refused).contains("not now"), "{refused}");
}

#[test]
fn a_client_of_the_same_revision_answers_by_calling_again() {
    let mut sandbox = Sandbox::new("rounds-modern");
    if !sandbox.with_fs_server_that(&["modern"]) {
        return;
    }
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let with = |mut params: Value| {
        params = modern(params);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        params
    };
    let call = json!({"name": "fs_needs", "arguments": {}});
    let needs = session.ask("tools/call", with(call.clone()));
    assert_eq!(needs["resultType"], "input_required", "{needs}");
    // The child's own state is neither shown nor taken from the client.
    for (state, arguments) in [(json!("st"), json!({})), (needs["requestState"].clone(), json!({"a": 1}))] {
        let foreign = json!({"name": "fs_needs", "arguments": arguments, "requestState": state});
        let refusal = session.answer("tools/call", with(foreign));
        assert_eq!(refusal["error"]["code"], -32602, "{refusal}");
    }
    let mut again = call;
    again["requestState"] = needs["requestState"].clone();
    again["inputResponses"] = json!({"name": {"action": "decline"}});
    let done = session.ask("tools/call", with(again));
    assert_eq!(done["resultType"], "complete");
    assert_eq!(done["structuredContent"], json!({"answers": {"name": {"action": "decline"}}, "state": "st"}));
    let undeclared = session.answer("tools/call", modern(json!({"name": "fs_needs", "arguments": {}})));
    assert_eq!(undeclared["error"]["code"], -32021, "{undeclared}");
    assert_eq!(undeclared["error"]["data"], json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
    let about = session.ask("tools/call", with(json!({"name": "fs_about"})));
    assert_eq!(about["structuredContent"]["client"]["capabilities"], json!({"elicitation": {"form": {}}}));
    assert_eq!(session.notes(Duration::ZERO), Vec::<Value>::new());
}

#[test]
fn the_next_round_of_an_approved_call_needs_no_second_approval() {
    let mut sandbox = Sandbox::new("rounds-approved");
    if !sandbox.with_fs_server_that(&["modern"]) {
        return;
    }
    sandbox.set("EVOKORE_ROLE", "developer");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let refusal = session.ask("tools/call", modern(json!({"name": "fs_needs", "arguments": {}})));
    let (id, token) = super::approval::handed_out(&refusal);
    sandbox.run(&["approvals", "approve", &id]).content();
    let offering = |params| {
        let mut params = modern(params);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        params
    };
    let agreed = json!({"name": "fs_needs", "arguments": {"_evokore_approval_token": token}});
    let needs = session.ask("tools/call", offering(agreed));
    assert_eq!(needs["resultType"], "input_required", "{needs}");
    let again = json!({
        "name": "fs_needs", "arguments": {}, "requestState": needs["requestState"], "inputResponses": {"name": {}},
    });
    let done = session.ask("tools/call", offering(again.clone()));
    assert_eq!(done["structuredContent"]["state"], "st", "{done}");
    let replayed = session.ask("tools/call", offering(again));
    assert_eq!(
        replayed["inputRequests"]["approval"]["method"], "elicitation/create",
        "a person is asked again: {replayed}"
    );
}
