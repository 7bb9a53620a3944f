//! Child servers over HTTP: a real server, real sockets. Needs `python3`.

#![cfg(unix)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use evokore::child::{ChildCall, ChildReply};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::far::{LONG, Near, Server, count};
use super::scripted::to;

#[tokio::test]
async fn posts_and_is_answered_in_json_or_as_a_stream() {
    for habits in [&[][..], &["sse"]] {
        let Some(server) = Server::start(habits) else { return };
        let near = Near::to(&server.url());
        let arguments = json!({"text": "é✓", "number": 1.5});
        assert_eq!(near.call("echo", arguments.clone()).await.unwrap(), arguments);
        let status = near.status();
        assert_eq!((status.registered_tools, status.protocol.as_str()), (5, "2025-11-25"), "{status:?}");

        let requests = near.requests().await;
        let posts: Vec<&Value> = requests.iter().filter(|request| request["verb"] == "POST").collect();
        let methods: Vec<&str> = posts.iter().map(|post| post["method"].as_str().unwrap()).collect();
        let expected = ["initialize", "notifications/initialized", "tools/list", "tools/call", "tools/call"];
        assert_eq!(methods, expected);
        for (n, post) in posts.iter().enumerate() {
            let header = |name: &str| post["headers"][name].as_str();
            assert_eq!(header("accept"), Some("application/json, text/event-stream"));
            assert_eq!(header("content-type"), Some("application/json"));
            let agreed = (header("mcp-session-id"), header("mcp-protocol-version"));
            assert_eq!(agreed, if n == 0 { (None, None) } else { (Some("s1"), Some("2025-11-25")) });
        }
    }
}

#[tokio::test]
async fn a_server_without_handshake_and_sessions_is_told_everything_in_headers() {
    let Some(server) = Server::start(&["stateless"]) else { return };
    let near = Near::to(&server.url());
    assert_eq!(near.call("echo", json!({"n": 1})).await.unwrap(), json!({"n": 1}));
    let status = near.status();
    assert_eq!((status.registered_tools, status.protocol.as_str()), (5, "2026-07-28"), "{status:?}");
    // A call is taken back by the end of its stream, not by a notification.
    let call = ChildCall { cancelled: CancellationToken::new(), ..to("wait") };
    let (children, cancelled) = (near.children.clone(), call.cancelled.clone());
    let waiting = tokio::spawn(async move { children.call(0, call).await });
    while count(&near.requests().await, "POST", Some("tools/call")) < 3 {}
    cancelled.cancel();
    assert!(timeout(LONG, waiting).await.unwrap().unwrap().is_err());
    let requests = loop {
        let requests = near.requests().await;
        if count(&requests, "closed", None) == 1 {
            break requests;
        }
        sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(count(&requests, "POST", Some("notifications/cancelled")), 0);
    assert_eq!(count(&requests, "GET", None) + count(&requests, "DELETE", None), 0);
}

#[tokio::test]
async fn arguments_are_repeated_in_headers_where_a_tool_wants_that() {
    let Some(server) = Server::start(&["stateless", "params"]) else { return };
    let near = Near::to(&server.url());
    for arguments in [
        json!({"region": "é✓ ", "at": {"level": 42}}),
        json!({"region": "us", "other": 1}),
        json!({"region": null, "at": {}}),
        json!({}),
    ] {
        assert_eq!(near.call("annotated", arguments.clone()).await.unwrap(), arguments);
    }
    let status = near.status();
    let skipped: Vec<_> = status.skipped_tools.iter().map(|skip| format!("{}: {}", skip.name, skip.reason)).collect();
    let reason =
        "the `x-mcp-header` of its parameter `n` is that of something else than a string, an integer or a boolean";
    assert_eq!((status.registered_tools, skipped), (6, vec![format!("bad: {reason}")]));

    // The handshake era knows no such headers.
    let Some(server) = Server::start(&["params"]) else { return };
    let near = Near::to(&server.url());
    near.call("annotated", json!({"region": "us"})).await.unwrap();
    let requests = near.requests().await;
    let told =
        |request: &Value| request["headers"].as_object().unwrap().keys().any(|name| name.starts_with("mcp-param"));
    assert!(!requests.iter().any(told), "{requests:?}");
    assert_eq!((near.status().registered_tools, near.status().skipped_tools.len()), (7, 0));
}

#[tokio::test]
async fn a_refusal_of_headers_has_the_list_read_again() {
    for (moves, expected) in [("moves=2", 2), ("moves=0", 1)] {
        let Some(server) = Server::start(&["stateless", "params", moves]) else { return };
        let near = Near::to(&server.url());
        let call = ChildCall { arguments: Some(Bytes::from_static(br#"{"region":"us"}"#)), ..to("annotated") };
        let reply = timeout(LONG, near.children.call(0, call)).await.unwrap().unwrap();
        let is_answered = matches!(reply, ChildReply::Result(_));
        assert_eq!(is_answered, moves == "moves=2", "{reply:?}");
        let requests = near.requests().await;
        let calls = requests.iter().filter(|request| request["params"]["name"] == "annotated").count();
        let lists = count(&requests, "POST", Some("tools/list"));
        assert_eq!((calls, lists), (expected, 2), "a list that says the same is no reason to call again");
    }
}

#[tokio::test]
async fn many_calls_are_under_way_at_once() {
    let Some(server) = Server::start(&[]) else { return };
    let near = Near::to(&server.url());
    let calls = (0..100).map(|n| {
        let (children, arguments) = (near.children.clone(), Bytes::from(format!("{{\"n\":{n}}}")));
        let call = ChildCall { arguments: Some(arguments), ..to("echo") };
        tokio::spawn(async move { children.call(0, call).await })
    });
    for (n, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let ChildReply::Result(bytes) = timeout(LONG, call).await.unwrap().unwrap().unwrap() else { panic!() };
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap()["structuredContent"]["n"], n);
    }
}

#[tokio::test]
async fn progress_comes_before_its_result() {
    let Some(server) = Server::start(&[]) else { return };
    let near = Near::to(&server.url());
    let (sender, mut receiver) = mpsc::channel(8);
    near.children.call(0, ChildCall { progress: Some(sender), ..to("progress") }).await.unwrap();
    let found: Vec<_> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
    assert_eq!(found.len(), 3, "{found:?}");
}

#[tokio::test]
async fn what_it_says_unasked_is_heard_where_it_offers_that() {
    let Some(server) = Server::start(&["get"]) else { return };
    let near = Near::to(&server.url());
    while count(&near.requests().await, "GET", None) == 0 {}
    near.call("grow", json!({})).await.unwrap();
    let start = Instant::now();
    while near.status().registered_tools < 6 {
        assert!(start.elapsed() < LONG);
        sleep(Duration::from_millis(10)).await;
    }

    for status in ["404", "400", "405", "406", "500"] {
        let Some(server) = Server::start(&[&format!("refuse={status}")]) else { return };
        let near = Near::to(&server.url());
        while count(&near.requests().await, "GET", None) == 0 {}
        near.call("echo", json!({})).await.unwrap();
        assert_eq!(near.status().error_count, 0, "{status}");
    }
}

#[tokio::test]
async fn a_session_that_is_gone_is_made_anew_once() {
    for habits in [&["forget=3"][..], &["forget=3", "forget400", "sse"]] {
        let Some(server) = Server::start(habits) else { return };
        let near = Near::to(&server.url());
        near.call("echo", json!({"n": 1})).await.unwrap();
        near.call("echo", json!({"n": 2})).await.unwrap();
        assert_eq!(near.call("echo", json!({"n": 3})).await.unwrap(), json!({"n": 3}), "{habits:?}");
        let start = Instant::now();
        let requests = loop {
            let requests = near.requests().await;
            if count(&requests, "POST", Some("tools/list")) == 2 {
                break requests;
            }
            assert!(start.elapsed() < LONG, "the list is asked for again");
            sleep(Duration::from_millis(20)).await;
        };
        let hellos: Vec<_> = requests.iter().filter(|request| request["method"] == "initialize").collect();
        assert_eq!(hellos.len(), 2);
        assert_eq!(hellos[1]["headers"].get("mcp-session-id"), None);
    }

    let Some(server) = Server::start(&["forgetful"]) else { return };
    let near = Near::to(&server.url());
    expect_test::expect![[r#"
        child server `far` ends every session at once (HTTP 404 right after a new one)
        hint: tell whoever runs it; several instances behind one address may not share their sessions"#]]
    .assert_eq(&near.failure().await);
}

#[tokio::test]
async fn headers_come_from_variables_and_go_with_everything() {
    let farewell = std::env::temp_dir().join(format!("evokore-farewell-{}", std::process::id()));
    let habits = ["auth=Bearer s3cret", "get", &format!("farewell={}", farewell.display())];
    let Some(server) = Server::start(&habits) else { return };
    let headers: &[(&str, &str)] = &[("Authorization", "Bearer ${KEY}"), ("X-Team", "${TEAM:-blue}")];
    let near = Near::with(&server.url(), headers, &[("KEY", "s3cret")]);
    while count(&near.requests().await, "GET", None) == 0 {}
    for request in near.requests().await.iter().filter(|request| request["verb"] != "closed") {
        let carried = (&request["headers"]["authorization"], &request["headers"]["x-team"]);
        assert_eq!(carried, (&json!("Bearer s3cret"), &json!("blue")), "{request}");
    }
    near.children.shutdown().await;
    // It has been told; when it gets round to noting that is its own affair.
    let start = Instant::now();
    while !farewell.exists() && start.elapsed() < LONG {
        sleep(Duration::from_millis(10)).await;
    }
    let goodbye: Value = serde_json::from_str(&std::fs::read_to_string(&farewell).unwrap()).unwrap();
    std::fs::remove_file(&farewell).unwrap();
    assert_eq!((&goodbye["verb"], &goodbye["headers"]["mcp-session-id"]), (&json!("DELETE"), &json!("s1")));
    assert_eq!(goodbye["headers"]["authorization"], "Bearer s3cret");
    assert!(!near.said.lock().unwrap().join("\n").contains("s3cret"));

    let near = Near::with(&server.url(), headers, &[]);
    let error = near.failure().await;
    assert_eq!(error, "child server `far` is not running: `headers.Authorization` needs `KEY`, which is not set");
    let near = Near::with(&server.url(), headers, &[("KEY", "wrong")]);
    near.settled().await;
    let reason = near.status().reason.unwrap();
    assert!(
        reason.starts_with("does not accept its credentials (HTTP 401): {\"error\":\"invalid_token\"}"),
        "{reason}"
    );
}

#[tokio::test]
async fn what_is_no_answer_is_told_at_once() {
    let mut table = String::new();
    for habits in [
        &["status=200", "body={\"Output\":1}", "kind=application/json"][..],
        &["status=200", "body=<html>\n <b>Hello</b></html>"],
        &["status=200", "body="],
        &["status=202"],
        &["status=200", "body=data: x\n\n", "kind=text/event-stream"],
        &["status=403", "body=no entry"],
        &[
            "status=404",
            "body={\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":\"Session not found\"}}",
        ],
        &["status=429", "after=30"],
        &["status=429"],
        &["status=500", "body=boom"],
        &["status=503", "after=Fri, 31 Dec 9999 00:00:00 GMT"],
        &["status=303"],
    ] {
        let Some(server) = Server::start(habits) else { return };
        let near = Near::to(&server.url());
        let start = Instant::now();
        let error = near.failure().await;
        assert!(start.elapsed() < Duration::from_secs(10), "{error}");
        table += &format!("{}\n{error}\n\n", habits.join(" ").replace('\n', "\\n"));
    }
    expect_test::expect![[r#"
        status=200 body={"Output":1} kind=application/json
        child server `far` answered with something else than a message of the protocol (200 OK): {"Output":1}
        hint: check that its `url` is that of an MCP endpoint

        status=200 body=<html>\n <b>Hello</b></html>
        child server `far` answered with something else than a message of the protocol (200 OK): <html> <b>Hello</b></html>
        hint: check that its `url` is that of an MCP endpoint

        status=200 body=
        child server `far` answered with nothing (200 OK)
        hint: check that its `url` is that of an MCP endpoint

        status=202
        child server `far` answered with nothing (202 Accepted)
        hint: check that its `url` is that of an MCP endpoint

        status=200 body=data: x\n\n kind=text/event-stream
        child server `far` ended its stream before the answer
        hint: it may have had the request; look before you ask again

        status=403 body=no entry
        child server `far` refuses this (HTTP 403 Forbidden): no entry
        hint: its credentials do not suffice, or it is not meant for this machine

        status=404 body={"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}
        child server `far` ends every session at once (HTTP 404 right after a new one)
        hint: tell whoever runs it; several instances behind one address may not share their sessions

        status=429 after=30
        child server `far` gets too many requests (HTTP 429 Too Many Requests)
        hint: it asks to wait 30 s; call again then

        status=429
        child server `far` gets too many requests (HTTP 429 Too Many Requests)
        hint: call again in some seconds

        status=500 body=boom
        child server `far` failed (HTTP 500 Internal Server Error): boom
        hint: the fault is on its side; look before you ask again, since it may have done something

        status=503 after=Fri, 31 Dec 9999 00:00:00 GMT
        child server `far` is not available (HTTP 503 Service Unavailable)
        hint: it asks to wait 300 s; call again then

        status=303
        child server `far` refers to another document (HTTP 303)
        hint: check its `url`

    "#]].assert_eq(&table);
}
