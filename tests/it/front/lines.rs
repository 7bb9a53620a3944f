//! Lines that no client should send, and odd ones that it may.

use serde_json::{Value, json};

use super::{LONG, Sandbox, Session, Streams};

/// What a line is answered with, before the answer to a ping that follows it.
pub(super) fn told(session: &mut Session, line: &[u8]) -> Vec<Value> {
    session.raw(line);
    session.raw("\n{\"jsonrpc\":\"2.0\",\"id\":\"after\",\"method\":\"ping\"}\n");
    let mut told = Vec::new();
    loop {
        let message = session
            .next(LONG)
            .unwrap_or_else(|| panic!("no ping after {}", String::from_utf8_lossy(&line[..line.len().min(80)])));
        if message["id"] == "after" {
            assert_eq!(message["result"], json!({}));
            return told;
        }
        told.push(message);
    }
}

#[test]
fn blank_lines_marks_and_carriage_returns_do_no_harm() {
    let sandbox = Sandbox::new("lines-blank");
    let mut session = Session::start(&sandbox, Streams::Sockets);
    for line in [&b""[..], b"\r", b"   ", b"\t\r"] {
        assert_eq!(told(&mut session, line), Vec::<Value>::new(), "{line:?}");
    }
    for line in [
        &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r"[..],
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    ] {
        assert_eq!(told(&mut session, line), [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
    }
    // What goes to rmcp is freed of the mark as well.
    assert!(told(&mut session, b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}\r").len() <= 1);
    assert!(session.ask("prompts/list", json!({}))["prompts"].is_array());
}

#[test]
fn what_is_no_request_is_refused_and_the_next_is_answered() {
    let sandbox = Sandbox::new("lines-hostile");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let deep = "[".repeat(100_000);
    let deep_objects = "{\"a\":".repeat(100_000);
    for (line, code) in [
        (&b"nonsense"[..], -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", -32700),
        (b"\xff\xfe\x00", -32700),
        (b"\0", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
        (deep.as_bytes(), -32700),
        (deep_objects.as_bytes(), -32700),
        (b"[]", -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        (b"\"text\"", -32600),
        (b"5", -32600),
        (b"null", -32600),
        (b"{}", -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
    ] {
        let answers = told(&mut session, line);
        let start = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        assert_eq!(answers.len(), 1, "{start}: {answers:?}");
        assert_eq!(answers[0]["error"]["code"], code, "{start}: {answers:?}");
        assert_eq!(answers[0]["id"], Value::Null, "{start}: {answers:?}");
    }
    // Answers to requests that were never sent.
    assert!(told(&mut session, br#"{"jsonrpc":"2.0","id":7,"result":{}}"#).is_empty());
    assert!(told(&mut session, br#"{"jsonrpc":"2.0","id":7,"error":{}}"#).is_empty());
}

#[test]
fn an_invalid_request_is_refused_under_its_id() {
    let sandbox = Sandbox::new("lines-invalid");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    for (message, code) in [
        (json!({"method": "ping"}), -32600),
        (json!({"jsonrpc": "2.0", "method": 5}), -32600),
        (json!({"jsonrpc": "2.0", "method": "no/such"}), -32601),
        (json!({"jsonrpc": "2.0", "method": "tools/list", "params": []}), -32600),
        (json!({"jsonrpc": "2.0", "method": "tools/list", "params": {"cursor": 5}}), -32602),
        (json!({"jsonrpc": "2.0", "method": "tools/list", "params": {"_meta": 5}}), -32602),
        (json!({"jsonrpc": "2.0", "method": "tools/call"}), -32602),
        (json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": 5}}), -32602),
        (json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "no_such_tool"}}), -32602),
        (
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "search_skills", "arguments": []}}),
            -32602,
        ),
        (json!({"jsonrpc": "2.0", "method": "prompts/get", "params": {"name": "skill-help"}}), -32602),
        (json!({"jsonrpc": "2.0", "method": "resources/read", "params": {"uri": "skill://a/../../etc"}}), -32002),
        (json!({"jsonrpc": "2.0", "method": "logging/setLevel", "params": {"level": "loud"}}), -32602),
    ] {
        session.last_id += 1;
        let (id, mut request) = (session.last_id, message);
        request["id"] = id.into();
        session.send(&request);
        let answer = session.answer_to(id);
        assert_eq!(answer["error"]["code"], code, "{request} → {answer}");
    }
}

#[test]
fn null_stands_for_what_is_not_given() {
    let sandbox = Sandbox::new("lines-null");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let whole = session.ask("tools/list", json!({}));
    for params in [Value::Null, json!({"cursor": null}), json!({"_meta": null})] {
        assert_eq!(session.ask("tools/list", params), whole);
    }
    session.ask("prompts/list", Value::Null);
    session.ask("ping", Value::Null);
    let status = json!({"name": "proxy_server_status", "arguments": null, "_meta": null});
    assert!(session.ask("tools/call", status)["structuredContent"].is_object());
}

#[test]
fn a_call_that_wants_no_answer_is_not_made() {
    let mut sandbox = Sandbox::new("lines-notified");
    if !sandbox.with_fs_server_that(&["crash"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.notify("tools/call", json!({"name": "fs_echo", "arguments": {}}));
    session.notify("tools/list", json!({}));
    session.notify("prompts/list", json!({}));
    session.notify("initialize", super::hello("2025-11-25"));
    super::eventually("the child is up", || {
        let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
        status["structuredContent"]["servers"][0]["status"] == "connected"
    });
    // It would have died of the call.
    let notes = session.notes(std::time::Duration::from_millis(300));
    assert_eq!(notes, Vec::<Value>::new());
    let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
    assert_eq!(status["structuredContent"]["servers"][0]["status"], "connected", "{status}");
}

#[test]
fn methods_of_neither_era_are_not_found_in_either() {
    let sandbox = Sandbox::new("lines-methods");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    session.greet();
    for method in ["no/such", "roots/list", "sampling/createMessage", "", "tasks/nothing"] {
        let answer = session.answer(method, json!({"uri": "evokore://server/status"}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        let answer = session.answer(method, super::modern(json!({"uri": "evokore://server/status"})));
        assert_eq!(answer["error"]["code"], -32601, "{method} of 2026-07-28: {answer}");
    }
    // What 2026-07-28 has done away with.
    let uri = json!({"uri": "evokore://server/status"});
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "info"})),
        ("tasks/list", json!({})),
        ("tasks/result", json!({"taskId": "fs:1"})),
        ("resources/subscribe", uri.clone()),
        ("resources/unsubscribe", uri),
    ] {
        let answer = session.answer(method, super::modern(params));
        assert_eq!(answer["error"]["code"], -32601, "{method} of 2026-07-28: {answer}");
    }
    let gone = session.answer("resources/read", super::modern(json!({"uri": "skill://no/such"})));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    let wrong = session.answer("resources/read", json!({}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn ids_come_back_as_they_were() {
    let sandbox = Sandbox::new("lines-ids");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    for id in [r#""a""#, r#""\u0061\"\\""#, r#""""#, "0", "-1", "9007199254740993", "-99999999999999999999", r#""7""#] {
        // Answered from what is known, on a task of its own, from lists.
        for method in ["ping", "tools/call", "prompts/list"] {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"search_skills","arguments":{{"query":"x"}}}}}}"#
            );
            session.raw(format!("{request}\n"));
            let answer = session.next(LONG).unwrap();
            assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap(), "{method} {answer}");
            assert!(answer["result"].is_object(), "{method}: {answer}");
        }
    }
}

#[test]
fn an_id_is_taken_until_it_is_answered() {
    let mut sandbox = Sandbox::new("lines-twice");
    if !sandbox.with_fs_server_that(&["more"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let file = sandbox.path("work/cancelled");
    let id = session.request("tools/call", json!({"name": "fs_wait", "arguments": {"file": file}}));
    session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    let refusal = session.answer_to(id);
    assert_eq!(refusal["error"]["code"], -32600, "{refusal}");
    session.notify("notifications/cancelled", json!({"requestId": id}));
    super::eventually("the child hears of it", || file.exists());
    session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    assert_eq!(session.answer_to(id)["result"], json!({}), "a cancelled request gets no answer, and its id is free");
}

#[test]
fn an_overlong_line_is_refused_under_its_id() {
    let sandbox = Sandbox::new("lines-overlong");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    let filler = "x".repeat(evokore::server::MAX_LINE);
    for (line, id) in [
        (filler.clone(), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"x":"{filler}"}}}}"#), json!(3)),
        (format!(r#"{{"method":"tools/call","params":{{"x":"{filler}"}},"jsonrpc":"2.0","id":"z"}}"#), json!("z")),
    ] {
        // Ends with a letter more than the limit even without the frame around it.
        let answers = told(&mut session, format!("{line} ").as_bytes());
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!((&answers[0]["error"]["code"], &answers[0]["id"]), (&json!(-32600), &id));
    }
}

#[test]
fn a_large_call_passes() {
    let mut sandbox = Sandbox::new("lines-large");
    if !sandbox.with_fs_server() {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let value = "é".repeat(5_000_000);
    let echo = session.call("fs_echo", json!({ "value": value }));
    assert_eq!(serde_json::from_str::<Value>(super::text(&echo)).unwrap()["value"], value);
}
