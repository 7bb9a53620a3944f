//! What child servers ask their clients: elicitation, sampling, roots.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, Streams, hello, text};

const ALL: &str = r#"{"elicitation":{},"sampling":{},"roots":{"listChanged":true},"vendor":{}}"#;

/// A session whose client declares `capabilities`, with a child that asks.
pub(super) fn with_child(name: &str, capabilities: &str, habits: &[&str]) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(habits) {
        return None;
    }
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let mut params = hello("2025-11-25");
    params["capabilities"] = serde_json::from_str(capabilities).unwrap();
    session.ask("initialize", params);
    session.notify("notifications/initialized", json!({}));
    session.wait_for_child();
    session.notes(Duration::ZERO);
    Some((sandbox, session))
}

/// Has the child ask; the id of the call.
fn have_asked(session: &mut Session, arguments: Value) -> u64 {
    session.request("tools/call", json!({"name": "fs_ask", "arguments": arguments}))
}

/// The next request for the client.
pub(super) fn asked(session: &mut Session) -> Value {
    loop {
        let message = session.next(super::LONG).expect("a request");
        if message.get("method").is_some() && message.get("id").is_some() {
            return message;
        }
        session.notes.push(message);
    }
}

#[test]
fn what_a_child_asks_reaches_the_client_and_the_answer_the_child() {
    let Some((_sandbox, mut session)) = with_child("asks-all", ALL, &["asks"]) else { return };
    let told = session.wait_for_child()["client"]["capabilities"].clone();
    assert_eq!(told, json!({"elicitation": {}, "sampling": {}, "roots": {"listChanged": true}}));
    for (method, params) in [
        ("elicitation/create", json!({"message": "name?", "requestedSchema": {"type": "object", "x": 1.5}})),
        ("sampling/createMessage", json!({"messages": [], "maxTokens": 9})),
        ("roots/list", json!({})),
    ] {
        for answer in
            [json!({"result": {"z": 1, "a": [1.5]}}), json!({"error": {"code": -1, "message": "no", "data": 7}})]
        {
            let id = have_asked(&mut session, json!({"method": method, "params": params}));
            let question = asked(&mut session);
            assert_eq!((&question["method"], &question["params"]), (&json!(method), &params));
            // Others go on meanwhile, those of the same child when it reads on.
            session.ask("ping", json!({}));
            let mut message = answer.clone();
            message["jsonrpc"] = "2.0".into();
            message["id"] = question["id"].clone();
            session.send(&message);
            let result = session.answer_to(id)["result"].clone();
            let got = &result["structuredContent"]["answer"];
            assert_eq!((&got["result"], &got["error"]), (&answer["result"], &answer["error"]), "{method}");
        }
    }
    // Answers to what was never asked, and second ones, are nothing.
    for id in [json!("evokore-1"), json!("evokore-99"), json!(1), json!(null)] {
        session.send(&json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
    session.ask("ping", json!({}));
    assert_eq!(session.notes(Duration::from_millis(50)), Vec::<Value>::new());
}

#[test]
fn what_the_client_does_not_offer_is_refused_at_once() {
    let form = json!({"message": "m", "requestedSchema": {"type": "object"}});
    let url = json!({"mode": "url", "message": "m", "url": "https://x.example", "elicitationId": "e"});
    for (declared, method, params, code) in [
        ("{}", "elicitation/create", &form, -32601),
        ("{}", "sampling/createMessage", &json!({}), -32601),
        ("{}", "roots/list", &json!({}), -32601),
        (r#"{"elicitation":{}}"#, "elicitation/create", &url, -32602),
        (ALL, "tools/list", &json!({}), -32601),
    ] {
        let Some((_sandbox, mut session)) = with_child("asks-refused", declared, &["asks"]) else { return };
        let result = session.call("fs_ask", json!({"method": method, "params": params}));
        assert_eq!(result["structuredContent"]["answer"]["error"]["code"], code, "{declared} {method}: {result}");
    }
}

#[test]
fn a_question_ends_with_its_call_and_when_the_child_regrets_it() {
    let Some((_sandbox, mut session)) = with_child("asks-end", ALL, &["asks", "more"]) else { return };
    let question = json!({"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}});
    let taken_back = |session: &mut Session, id: &Value| {
        loop {
            let message = session.next(super::LONG).expect("the question is taken back");
            if message["method"] == "notifications/cancelled" && message["params"]["requestId"] == *id {
                return;
            }
            session.notes.push(message);
        }
    };
    for manner in ["leave", "regret"] {
        let mut arguments = question.clone();
        arguments[manner] = true.into();
        let id = have_asked(&mut session, arguments);
        let asked = asked(&mut session)["id"].clone();
        session.notify("notifications/roots/list_changed", json!({}));
        taken_back(&mut session, &asked);
        session.answer_to(id);
    }
    // The client gives the call up.
    let id = have_asked(&mut session, question);
    let asked = asked(&mut session)["id"].clone();
    session.notify("notifications/cancelled", json!({"requestId": id}));
    taken_back(&mut session, &asked);
    // What it regrets gets no answer; what it leaves does, late, and so does what it waits for, or it would hang.
    let answers = session.wait_for_child()["client"]["answers"].clone();
    let codes: Vec<&Value> = answers.as_object().unwrap().values().map(|answer| &answer["error"]["code"]).collect();
    assert_eq!(codes, [&json!(-32603)], "{answers}");
}

#[test]
fn roots_are_asked_for_outside_of_calls_and_their_changes_passed_on() {
    let mut sandbox = Sandbox::new("asks-roots");
    if !sandbox.with_fs_server_that(&["roots"]) {
        return;
    }
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let mut params = hello("2025-06-18");
    params["capabilities"] = json!({"roots": {"listChanged": true}});
    session.ask("initialize", params);
    std::thread::sleep(Duration::from_millis(200));
    assert!(session.notes(Duration::ZERO).is_empty(), "nothing is asked before the client is ready");
    session.notify("notifications/initialized", json!({}));
    let question = asked(&mut session);
    assert_eq!(question["method"], "roots/list");
    session.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": "file:///x"}]}}));
    session.notify("notifications/roots/list_changed", json!({}));
    let client = session.wait_for_child()["client"].clone();
    assert_eq!(client["answers"]["roots/list 0"]["result"]["roots"][0]["uri"], "file:///x", "{client}");
    assert!(client["heard"].as_array().unwrap().contains(&"notifications/roots/list_changed".into()), "{client}");
}

#[test]
fn a_silent_client_holds_nobody_up() {
    let Some((_sandbox, mut session)) = with_child("asks-silent", ALL, &["asks"]) else { return };
    let id = have_asked(&mut session, json!({"method": "roots/list"}));
    asked(&mut session);
    assert!(text(&session.call("search_skills", json!({"query": "review"}))).len() > 10);
    let result = session.answer_to(id);
    let error = &result["result"]["structuredContent"]["answer"]["error"];
    assert!(error["message"].as_str().is_some_and(|message| message.contains("5 s")), "{result}");
}
