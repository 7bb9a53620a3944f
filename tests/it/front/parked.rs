//! Clients of 2026-07-28, which take no requests, and children of the handshake era that ask while they work.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, Streams, eventually, modern, text};

/// A session of a client that offers everything in each request, with a child that asks.
fn with_child(name: &str, habits: &[&str]) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(habits) {
        return None;
    }
    let mut session = Session::start(&sandbox, Streams::Pipes);
    session.ask("server/discover", offering(json!({})));
    about(&mut session);
    session.notes(Duration::ZERO);
    Some((sandbox, session))
}

/// `params` of a client that offers everything.
fn offering(params: Value) -> Value {
    with(params, json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}))
}

fn with(params: Value, capabilities: Value) -> Value {
    let mut params = modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}

fn about(session: &mut Session) -> Value {
    let about = session.ask("tools/call", offering(json!({"name": "fs_about"})));
    assert!(about["structuredContent"]["pid"].is_u64(), "{about} {}", session.said());
    about["structuredContent"].clone()
}

fn form(message: &str) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "x": 1.50}})
}

fn asking(arguments: Value) -> Value {
    json!({"name": "fs_ask", "arguments": arguments})
}

/// The request that goes on with `call`, which came to `needs`.
fn again(call: &Value, needs: &Value, responses: Value) -> Value {
    let mut again = call.clone();
    again["requestState"] = needs["requestState"].clone();
    again["inputResponses"] = responses;
    offering(again)
}

fn needs(result: &Value) -> &Value {
    assert_eq!(result["resultType"], "input_required", "{result}");
    assert!(result["requestState"].is_string(), "{result}");
    &result["inputRequests"]
}

#[test]
fn what_the_child_asks_is_in_the_result_and_the_answer_in_the_next_request() {
    let Some((_sandbox, mut session)) = with_child("parked-all", &["asks"]) else { return };
    let capabilities = about(&mut session)["client"]["capabilities"].clone();
    assert!(capabilities["sampling"].is_object() && capabilities["elicitation"]["url"].is_object(), "{capabilities}");
    let url = json!({"mode": "url", "message": "m", "url": "https://x.example", "elicitationId": "e"});
    for (method, params) in [
        ("elicitation/create", Some(form("name?"))),
        ("elicitation/create", Some(url)),
        ("sampling/createMessage", Some(json!({"messages": [], "maxTokens": 9}))),
        ("roots/list", Some(json!({}))),
        ("roots/list", None),
    ] {
        let mut arguments = json!({ "method": method });
        let mut request = arguments.clone();
        if let Some(params) = params {
            arguments["params"] = params.clone();
            request["params"] = params;
        }
        let call = asking(arguments);
        let asked = session.ask("tools/call", offering(call.clone()));
        assert_eq!(needs(&asked), &json!({ "question-1": request }), "as it came");
        // Others of this and of other servers go on meanwhile.
        assert!(session.ask("tools/list", offering(json!({})))["tools"].is_array());
        let answer = json!({"z": 1, "a": [1.50], "action": "accept"});
        let done = session.ask("tools/call", again(&call, &asked, json!({"question-1": answer, "unasked": 7})));
        assert_eq!(done["resultType"], "complete", "{done}");
        assert_eq!(done["structuredContent"]["answer"]["result"], answer, "{done}");
    }
    assert_eq!(session.notes(Duration::from_millis(50)), Vec::<Value>::new(), "it is sent no request");
}

#[test]
fn rounds_follow_each_other_until_the_call_is_done() {
    let Some((_sandbox, mut session)) = with_child("parked-rounds", &["asks"]) else { return };
    let question = |message: &str| json!({"method": "elicitation/create", "params": form(message)});
    let mut arguments = question("a");
    arguments["also"] = json!([question("b")]);
    arguments["then"] = json!([question("c")]);
    // The tool that calls others takes part in it.
    let call = json!({"name": "call_tool", "arguments": {"name": "fs_ask", "arguments": arguments}});
    let mut result = session.ask("tools/call", offering(call.clone()));
    let mut states = Vec::new();
    let mut seen = Vec::new();
    while result["resultType"] == "input_required" {
        let (key, request) = needs(&result).as_object().unwrap().iter().next().unwrap();
        seen.push(request["params"]["message"].as_str().unwrap().to_owned());
        states.push(result["requestState"].clone());
        // One at a time: what is left out is asked again.
        let responses = json!({ key: {"action": "accept", "content": {"for": request["params"]["message"]}} });
        result = session.ask("tools/call", again(&call, &result, responses));
    }
    assert_eq!(seen, ["a", "b", "c"]);
    let answers: Vec<_> = result["structuredContent"]["answers"].as_array().unwrap().iter().collect();
    let given: Vec<_> = answers.iter().map(|answer| &answer["result"]["content"]["for"]).collect();
    assert_eq!(given, ["a", "b", "c"], "each has its own");
    states.dedup();
    assert_eq!(states.len(), 3, "no state serves twice");
}

#[test]
fn a_state_goes_on_with_its_call_once_and_no_other() {
    let Some((_sandbox, mut session)) = with_child("parked-states", &["asks"]) else { return };
    let call = asking(json!({"method": "elicitation/create", "params": form("name?")}));
    let asked = session.ask("tools/call", offering(call.clone()));
    let answer = json!({"question-1": {"action": "decline"}});
    let refusal = |session: &mut Session, request: Value| {
        let refusal = session.answer("tools/call", request);
        assert_eq!(refusal["error"]["code"], -32602, "{refusal}");
        refusal["error"]["message"].as_str().unwrap().to_owned()
    };
    // Not with other arguments, for another tool, or bent.
    let other = asking(json!({"method": "elicitation/create", "params": form("nome?")}));
    assert!(refusal(&mut session, again(&other, &asked, answer.clone())).contains("does not belong"));
    let mut echo = call.clone();
    echo["name"] = "fs_echo".into();
    assert!(refusal(&mut session, again(&echo, &asked, answer.clone())).contains("does not belong"));
    let mut bent = asked.clone();
    bent["requestState"] = asked["requestState"].as_str().unwrap().replacen('p', "c", 1).into();
    assert!(refusal(&mut session, again(&call, &bent, answer.clone())).contains("does not belong"));
    // What is malformed leaves the call where it is.
    for malformed in [json!([]), json!({"question-1": "yes"}), json!({"question-1": null})] {
        assert!(refusal(&mut session, again(&call, &asked, malformed)).contains("inputResponses"));
    }
    // Two at the same time: one goes on, the other is told.
    let both = [(); 2].map(|()| session.request("tools/call", again(&call, &asked, answer.clone())));
    let both = both.map(|id| session.answer_to(id));
    let done: Vec<_> = both.iter().filter(|answer| answer.get("result").is_some()).collect();
    assert_eq!(done.len(), 1, "{both:?}");
    assert_eq!(done[0]["result"]["structuredContent"]["answer"]["result"], json!({"action": "decline"}));
    assert!(refusal(&mut session, again(&call, &asked, answer)).contains("used already"));
    assert_eq!(about(&mut session)["client"]["answers"], json!({}), "the child was answered once");
}

#[test]
fn a_request_is_asked_what_it_offers_itself() {
    let Some((_sandbox, mut session)) = with_child("parked-offers", &["asks"]) else { return };
    let url = json!({"mode": "url", "message": "m", "url": "https://x.example", "elicitationId": "e"});
    for (offers, method, params, code) in [
        (json!({}), "elicitation/create", form("m"), -32601),
        (json!({"roots": {}}), "sampling/createMessage", json!({}), -32601),
        (json!({"elicitation": {}}), "elicitation/create", url, -32602),
    ] {
        let call = asking(json!({"method": method, "params": params}));
        let result = session.ask("tools/call", with(call, offers.clone()));
        assert_eq!(result["structuredContent"]["answer"]["error"]["code"], code, "{offers} {method}: {result}");
    }
    // It may have changed by the next round.
    let question = |topic: &str| json!({"method": topic, "params": form("m")});
    let mut arguments = question("elicitation/create");
    arguments["then"] = json!([question("sampling/createMessage")]);
    let call = asking(arguments);
    let asked = session.ask("tools/call", offering(call.clone()));
    let mut next = again(&call, &asked, json!({"question-1": {}}));
    next["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    let done = session.ask("tools/call", next);
    assert_eq!(done["structuredContent"]["answers"][1]["error"]["code"], -32601, "{done}");
}

#[test]
fn the_end_of_a_child_or_of_the_client_s_patience_is_the_end_of_the_call() {
    let Some((_sandbox, mut session)) = with_child("parked-ends", &["asks"]) else { return };
    let question = json!({"method": "elicitation/create", "params": form("name?")});
    // The client gives up the request that goes on with it: the child is told, and reads on.
    let mut arguments = question.clone();
    arguments["then"] = json!([{"method": "sampling/createMessage", "slow": true, "report": true}]);
    let call = asking(arguments);
    let asked = session.ask("tools/call", offering(call.clone()));
    let mut going_on = again(&call, &asked, json!({"question-1": {}}));
    going_on["_meta"]["progressToken"] = "t".into();
    let id = session.request("tools/call", going_on);
    let report = session.next(super::LONG).expect("it has gone on");
    assert_eq!(report["params"]["progressToken"], "t", "{report}");
    session.notify("notifications/cancelled", json!({ "requestId": id }));
    eventually("the child hears of it", || {
        // One that offers nothing, or it would be asked in place of the one that is gone.
        let about = session.ask("tools/call", modern(json!({"name": "fs_about"})));
        about["structuredContent"]["client"]["heard"].as_array().unwrap().contains(&"notifications/cancelled".into())
    });
    let late = session.answer("tools/call", again(&call, &asked, json!({"question-1": {}})));
    assert_eq!(late["error"]["code"], -32602, "{late}");
    // The child dies while the call is parked.
    let call = asking(question);
    let pid = about(&mut session)["pid"].as_u64().unwrap();
    let asked = session.ask("tools/call", offering(call.clone()));
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    eventually("it is back", || {
        let about = session.ask("tools/call", offering(json!({"name": "fs_about"})));
        about["structuredContent"]["pid"].as_u64().is_some_and(|new| new != pid)
    });
    let over = session.ask("tools/call", again(&call, &asked, json!({"question-1": {}})));
    assert!(over["isError"] == true && text(&over).contains("`fs`"), "{over}");
}

#[test]
fn questions_of_two_calls_are_those_of_the_right_one() {
    let Some((_sandbox, mut session)) = with_child("parked-two", &["asks"]) else { return };
    let question = |message: &str| json!({"method": "elicitation/create", "params": form(message)});
    let mut arguments = question("first");
    arguments["then"] = json!([question("second")]);
    let call = asking(arguments);
    let first = session.ask("tools/call", offering(call.clone()));
    // The child reads this one when it has its answers; it asks on behalf of the other before.
    let other = session.request("tools/call", offering(json!({"name": "fs_echo", "arguments": {"a": 1}})));
    let second = session.ask("tools/call", again(&call, &first, json!({"question-1": {}})));
    assert_eq!(needs(&second)["question-2"]["params"]["message"], "second", "{second}");
    let done = session.ask("tools/call", again(&call, &second, json!({"question-2": {"b": 2}})));
    assert_eq!(done["structuredContent"]["answers"][1]["result"], json!({"b": 2}));
    assert_eq!(text(&session.answer_to(other)["result"]), r#"{"a": 1}"#);
}

#[test]
fn progress_belongs_to_the_request_that_is_in_flight() {
    let Some((_sandbox, mut session)) = with_child("parked-progress", &["asks"]) else { return };
    let call = asking(json!({"method": "elicitation/create", "params": form("name?"), "report": true}));
    let token = |mut params: Value, token: &str| {
        params["_meta"]["progressToken"] = token.into();
        params
    };
    let asked = session.ask("tools/call", token(offering(call.clone()), "one"));
    needs(&asked);
    let before = tokens(&mut session, Duration::ZERO);
    assert!(!before.is_empty() && before.iter().all(|token| token == "one"), "{before:?}");
    assert_eq!(tokens(&mut session, Duration::from_millis(100)), [""; 0], "nothing for a request that has its answer");
    let done = session.ask("tools/call", token(again(&call, &asked, json!({"question-1": {}})), "two"));
    assert_eq!(done["resultType"], "complete");
    assert_eq!(tokens(&mut session, Duration::ZERO), ["two"]);
}

fn tokens(session: &mut Session, patience: Duration) -> Vec<String> {
    let notes = session.notes(patience);
    let progress = notes.iter().filter(|note| note["method"] == "notifications/progress");
    progress.map(|note| note["params"]["progressToken"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_parked_call_holds_up_no_end() {
    let Some((_sandbox, mut session)) = with_child("parked-end", &["asks"]) else { return };
    needs(&session.ask("tools/call", offering(asking(json!({"method": "roots/list"})))));
    let (rest, took) = session.close();
    assert!(rest.is_empty() && took < Duration::from_secs(2), "{rest:?} {took:?}");
}

#[test]
fn resources_and_prompts_are_asked_for_in_rounds_too() {
    for (name, habits, key) in
        [("parked-offers-old", ["library", "asks"], "question-1"), ("parked-offers-new", ["library", "modern"], "name")]
    {
        let Some((_sandbox, mut session)) = with_child(name, &habits) else { return };
        let mut prompt = None;
        eventually("the prompts are listed", || {
            let list = session.ask("prompts/list", offering(json!({})));
            let mut names = list["prompts"].as_array().unwrap().iter().filter_map(|prompt| prompt["name"].as_str());
            prompt = names.find(|name| name.starts_with("fs_two_words")).map(ToOwned::to_owned);
            prompt.is_some()
        });
        for (method, call, path) in [
            ("resources/read", json!({"uri": "evokore://child/fs/note://ask"}), "/odd/params/arguments/who"),
            ("prompts/get", json!({ "name": prompt }), "/messages/0/content/text"),
        ] {
            let asked = session.ask(method, offering(call.clone()));
            assert_eq!(needs(&asked)[key]["params"]["message"], "name?", "{name}");
            assert_eq!(asked.get("ttlMs"), None, "{asked}");
            let answer = json!({ key: {"action": "accept", "content": {"name": "you"}} });
            let mut other = again(&call, &asked, answer.clone());
            match method {
                "prompts/get" => other["arguments"] = json!({"x": "y"}),
                _ => other["uri"] = "evokore://child/fs/note://a".into(),
            }
            assert_eq!(session.answer(method, other)["error"]["code"], -32602, "{name}: it is bound to its request");
            let done = session.ask(method, again(&call, &asked, answer));
            assert_eq!(done["resultType"], "complete");
            assert!(done.pointer(path).unwrap_or(&Value::Null).to_string().contains("you"), "{name} {method}: {done}");
        }
        // Nothing else may be answered so.
        let reference =
            json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": "id", "value": "a"}});
        assert_eq!(session.ask("completion/complete", offering(reference))["resultType"], "complete");
    }
}
