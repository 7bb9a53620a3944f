//! Servers of 2024-11-05: answers come on the stream that is opened first. Needs `python3`.

use evokore::child::{ChildCall, ChildError};
use evokore_catalog::server::{Dialect, ServerSpec, Transport};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::far::{Near, Server, count};
use super::scripted::{spec, to};

fn near(server: &Server, dialect: Dialect) -> Near {
    let url = format!("http://127.0.0.1:{}/sse", server.port).leak();
    let headers: &[_] = &[("Authorization", "Bearer s3cret")];
    Near::by(ServerSpec { transport: Transport::Http { url, headers, dialect }, ..spec("far") }, &[])
}

#[tokio::test]
async fn answers_come_on_the_stream() {
    for (dialect, refused) in [(Dialect::Sse, 0), (Dialect::Either, 1)] {
        let Some(server) = Server::start(&["old", "auth=Bearer s3cret"]) else { return };
        let near = near(&server, dialect);
        for n in 0..3 {
            assert_eq!(near.call("echo", json!({"n": n})).await.unwrap(), json!({"n": n}), "{dialect:?}");
        }
        let requests = near.requests().await;
        let (tried, rest) = requests.split_at(refused);
        assert_eq!(count(tried, "POST", Some("initialize")), refused, "{dialect:?}");
        assert_eq!((&rest[0]["verb"], &rest[0]["path"]), (&json!("GET"), &json!("/sse")));
        assert_eq!(rest[0]["headers"]["accept"], "text/event-stream");
        let methods: Vec<_> = rest[1..].iter().map(|request| request["method"].as_str().unwrap()).collect();
        let calls = ["tools/call"; 4];
        assert_eq!(methods, [&["initialize", "notifications/initialized", "tools/list"][..], &calls].concat());
        for request in &rest[1..] {
            assert_eq!(request["path"], "/messages?session=7");
            assert_eq!(request["headers"]["authorization"], "Bearer s3cret");
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_told() {
    let Some(server) = Server::start(&["old", "auth=Bearer s3cret"]) else { return };
    let near = near(&server, Dialect::Sse);
    let cancelled = CancellationToken::new();
    let call = near.make(ChildCall { cancelled: cancelled.clone(), ..to("wait") });
    let cancel = async {
        near.asked(|all| all.iter().any(|request| request["params"]["name"] == "wait")).await;
        cancelled.cancel();
    };
    let (outcome, ()) = tokio::join!(call, cancel);
    assert!(matches!(outcome, Err(ChildError::Cancelled { .. })), "{outcome:?}");
    near.asked(|all| count(all, "POST", Some("notifications/cancelled")) == 1).await;
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_connection() {
    let Some(server) = Server::start(&["old", "auth=Bearer s3cret"]) else { return };
    let near = near(&server, Dialect::Sse);
    let error = near.call("hangup", json!({})).await.expect_err("it hangs up");
    assert!(matches!(error, ChildError::Exited { .. }), "{error}");
    near.hears("child server `far` ended its stream; it starts again in").await;
    assert_eq!(near.call("echo", json!({"n": 1})).await.unwrap(), json!({"n": 1}));
    assert_eq!(count(&near.requests().await, "GET", None), 2);
}

#[tokio::test]
async fn what_is_no_such_server_is_told() {
    let Some(other) = Server::start(&[]) else { return };
    let elsewhere = format!("old=http://127.0.0.1:{}/mcp", other.port);
    let mut table = String::new();
    for (habits, dialect) in [
        (&[&*elsewhere, "auth=Bearer s3cret"][..], Dialect::Sse),
        (&["old=http://", "auth=Bearer s3cret"], Dialect::Sse),
        (&["auth=another"], Dialect::Sse),
        (&["refuse=404"], Dialect::Sse),
        (&["boot=404", "refuse=405"], Dialect::Either),
        (&["old", "auth=Bearer s3cret"], Dialect::Streamable),
    ] {
        let server = Server::start(habits).unwrap();
        let near = near(&server, dialect);
        let said = near.hears("failed to boot").await;
        let line = said.lines().find(|line| line.contains("failed to boot")).unwrap();
        let (reason, _) = line.split_once("; it starts again in").unwrap_or((line, ""));
        table += &format!("{dialect:?}: {}\n", reason.replace(&other.port.to_string(), "PORT"));
    }
    expect_test::expect![[r#"
        Sse: child server `far` failed to boot: it wants its messages at http://127.0.0.1:PORT, another origin, where its credentials do not belong
        Sse: child server `far` failed to boot: it names a place for messages that is no URL
        Sse: child server `far` failed to boot: it does not accept its credentials (HTTP 401): {"error":"invalid_token"}
        Sse: child server `far` failed to boot: it knows nothing at its `url` (HTTP 404 Not Found): no
        Either: child server `far` failed to boot: it knows nothing at its `url` (HTTP 404 Not Found)
        Streamable: child server `far` failed to boot: it answered with an error (HTTP 405 Method Not Allowed)
    "#]].assert_eq(&table);
    let requests = Near::to(&other.url()).requests().await;
    let strangers = requests.iter().filter(|request| request["headers"].get("authorization").is_some()).count();
    assert_eq!(strangers, 0, "credentials go nowhere else");
}
