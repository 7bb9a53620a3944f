//! What happens on the way to a server over HTTP: streams that break, redirects, TLS, pauses. Needs `python3`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::disallowed_methods, reason = "a variable of the test run, which evokore itself never reads")]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

use evokore::child::{ChildCall, ChildError, Status};
use evokore_catalog::server::{Dialect, Limits, ServerSpec, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::far::{LONG, Near, Server, count};
use super::scripted::{spec, to};

/// How often tool `echo` has been called.
fn echoes(requests: &[Value]) -> usize {
    requests.iter().filter(|request| request["params"]["name"] == "echo").count()
}

#[tokio::test]
async fn a_broken_stream_is_resumed_after_its_last_event() {
    let Some(server) = Server::start(&["break"]) else { return };
    let near = Near::to(&server.url());
    assert_eq!(near.call("echo", json!({"n": 1})).await.unwrap(), json!({"n": 1}));
    let requests = near.requests().await;
    let resumed: Vec<_> = requests.iter().filter(|request| request["headers"]["last-event-id"] == "41").collect();
    assert_eq!((resumed.len(), echoes(&requests)), (1, 1), "asked for the rest, not for the call again");
    assert_eq!((&resumed[0]["verb"], &resumed[0]["headers"]["mcp-session-id"]), (&json!("GET"), &json!("s1")));
}

#[tokio::test]
async fn a_cancelled_call_is_told_and_its_stream_closed() {
    let Some(server) = Server::start(&[]) else { return };
    let near = Near::to(&server.url());
    let cancelled = CancellationToken::new();
    let call = near.make(ChildCall { cancelled: cancelled.clone(), ..to("wait") });
    let cancel = async {
        near.asked(|all| all.iter().any(|request| request["params"]["name"] == "wait")).await;
        cancelled.cancel();
    };
    let (outcome, ()) = tokio::join!(call, cancel);
    assert!(matches!(outcome, Err(ChildError::Cancelled { .. })), "{outcome:?}");
    near.asked(|all| count(all, "closed", None) == 1 && count(all, "POST", Some("notifications/cancelled")) == 1).await;
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_at_its_limit_and_costs_nothing_else() {
    for habits in [&[][..], &["stateless"]] {
        let Some(server) = Server::start(habits) else { return };
        let transport = Transport::Http { url: server.url().leak(), headers: &[], dialect: Dialect::Either };
        let limits = Limits { call_timeout_ms: Some(400), ..Limits::ABSENT };
        let near = Near::by(ServerSpec { transport, limits, ..spec("far") }, &[]);
        near.settled().await;
        let error = near.make(to("wait")).await.expect_err("no answer").to_string();
        assert!(error.contains("did not answer `wait` within"), "{error}");
        // Who asks how it went has more time.
        let told = usize::from(habits.is_empty());
        Near::to(&server.url())
            .asked(|all| {
                let cancelled = count(all, "POST", Some("notifications/cancelled"));
                (count(all, "closed", None), cancelled) == (1, told)
            })
            .await;
        // A machine that is busy may take longer than this limit, too.
        let start = std::time::Instant::now();
        while near.call("echo", json!({"n": 1})).await != Ok(json!({"n": 1})) {
            assert!(start.elapsed() < LONG, "{:?}", near.status());
        }
        assert_eq!(near.status().restarts, 0);
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin() {
    for status in ["301", "302", "307", "308"] {
        let Some(server) = Server::start(&["from=/old", &format!("with={status}"), "auth=Bearer s3cret"]) else {
            return;
        };
        let url = format!("http://127.0.0.1:{}/old", server.port);
        let near = Near::with(&url, &[("Authorization", "Bearer s3cret")], &[]);
        assert_eq!(near.call("echo", json!({"n": 1})).await.unwrap(), json!({"n": 1}), "{status}");
    }

    let Some(other) = Server::start(&[]) else { return };
    let server = Server::start(&[&format!("to={}", other.url())]).unwrap();
    let near = Near::with(&server.url(), &[("Authorization", "Bearer s3cret")], &[]);
    let said = near.hears("redirects to").await;
    let expected =
        format!("redirects to http://127.0.0.1:{}, another origin, where its credentials do not belong", other.port);
    assert!(said.contains(&expected), "{said}");
    let requests = Near::to(&other.url()).requests().await;
    assert_eq!(count(&requests, "POST", Some("initialize")), 1, "only the one who asks here: {requests:?}");

    let circle = Server::start(&["to=/mcp"]).unwrap();
    Near::to(&circle.url()).hears("redirects more than 5 times").await;
}

/// A folder with a certificate for this machine that it has signed itself, and its key; `None`, said loudly, where
/// there is no OpenSSL. As an authority it may sign others, and is not to be presented by a server.
fn certificate(name: &str, is_authority: bool) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let constraints = format!("basicConstraints=critical,CA:{}", if is_authority { "TRUE" } else { "FALSE" });
    let made = Command::new("openssl")
        .current_dir(&folder)
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=evokore test", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:far.example"])
        .args(["-addext", &constraints, "-keyout", "key.pem", "-out", "cert.pem"])
        .output();
    if made.is_ok_and(|output| output.status.success()) {
        return Some(folder);
    }
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!ci, "openssl is missing, and in CI nothing may be skipped");
    let _ = writeln!(std::io::stderr(), "skipped: TLS needs `openssl`, which is not installed");
    None
}

#[tokio::test]
async fn certificates_of_one_s_own_are_trusted_when_they_are_named() {
    let Some(folder) = certificate("server", false) else { return };
    let Some(server) = Server::start(&[&format!("tls={}", folder.display())]) else { return };
    let file = folder.join("cert.pem");
    let file = file.to_str().unwrap();
    for (host, variable) in [("127.0.0.1", "SSL_CERT_FILE"), ("localhost", "NODE_EXTRA_CA_CERTS")] {
        let url = format!("https://{host}:{}/mcp", server.port);
        let near = Near::with(&url, &[], &[(variable, file)]);
        assert_eq!(near.call("echo", json!({"n": 1})).await.unwrap(), json!({"n": 1}), "{host} {variable}");
    }
    let url = format!("https://127.0.0.1:{}/mcp", server.port);
    let stranger = certificate("stranger", false).unwrap();
    let strange = stranger.join("cert.pem");
    for file in [strange.to_str().unwrap(), "/nowhere.pem"] {
        let said = Near::with(&url, &[], &[("SSL_CERT_FILE", file)]).hears("failed to boot").await;
        assert!(said.contains("reached safely"), "{said}");
    }

    let authority = certificate("authority", true).unwrap();
    let server = Server::start(&[&format!("tls={}", authority.display())]).unwrap();
    let file = authority.join("cert.pem");
    let near = Near::with(
        &format!("https://127.0.0.1:{}/mcp", server.port),
        &[],
        &[("SSL_CERT_FILE", file.to_str().unwrap())],
    );
    near.hears("presents the certificate of an authority, which may only sign others").await;
    for folder in [folder, stranger, authority] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// A proxy that leads everyone to `port` of this machine, whatever they ask for; who asks without `credentials` is
/// refused. Its address, and the heads of what it has been asked.
async fn proxy(port: u16, credentials: Option<&'static str>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let log = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let log = log.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    near.read_buf(&mut head).await.unwrap();
                }
                let head = String::from_utf8(head).unwrap();
                let is_known = credentials.is_none_or(|it| head.contains(&format!("Proxy-Authorization: {it}\r\n")));
                log.lock().unwrap().push(head);
                if !is_known {
                    return near.write_all(b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n").await.unwrap();
                }
                let mut far = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                near.write_all(b"HTTP/1.1 200 OK\r\nVia: us\r\n\r\n").await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (place, heads)
}

#[tokio::test]
async fn a_proxy_of_the_environment_leads_to_other_machines() {
    let Some(folder) = certificate("far", false) else { return };
    let Some(server) = Server::start(&[&format!("tls={}", folder.display())]) else { return };
    let file = folder.join("cert.pem");
    let trust = ("SSL_CERT_FILE", file.to_str().unwrap());
    let (place, heads) = proxy(server.port, Some("Basic bWU6cEBzcw==")).await;
    let url = format!("https://far.example:{}/mcp", server.port);

    let near = Near::with(&url, &[], &[trust, ("HTTPS_PROXY", &format!("http://me:p%40ss@{place}"))]);
    assert_eq!(near.call("echo", json!({"n": 1})).await.unwrap(), json!({"n": 1}));
    let asked = heads.lock().unwrap()[0].lines().next().unwrap().to_owned();
    assert_eq!(asked, format!("CONNECT far.example:{} HTTP/1.1", server.port));

    let said = Near::with(&url, &[], &[trust, ("https_proxy", &place)]).hears("failed to boot").await;
    let expected = format!("it could not be reached: the proxy {place} wants to know who asks (407)");
    assert!(said.contains(&expected), "{said}");

    // What needs none: this machine, and what is excepted.
    let before = heads.lock().unwrap().len();
    let near = Near::with(&server.url().replace("http:", "https:"), &[], &[trust, ("https_proxy", &place)]);
    assert_eq!(near.call("echo", json!({"n": 2})).await.unwrap(), json!({"n": 2}));
    let except = [("https_proxy", &*place), ("NO_PROXY", "x, .example")];
    Near::with(&url, &[], &except).hears("the name `far.example` leads nowhere").await;
    assert_eq!(heads.lock().unwrap().len(), before);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn who_cannot_be_reached_is_told_by_name() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let said = Near::to(&format!("http://127.0.0.1:{port}/mcp")).hears("failed to boot").await;
    let expected = format!("it could not be reached at 127.0.0.1:{port}: nothing listens there; it starts again in");
    assert!(said.contains(&expected), "{said}");

    let said = Near::to("https://nobody.invalid/mcp").hears("failed to boot").await;
    assert!(said.contains("it could not be reached: the name `nobody.invalid` leads nowhere ("), "{said}");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_cut_off() {
    for habits in [&[][..], &["sse"]] {
        let Some(server) = Server::start(habits) else { return };
        let transport = Transport::Http { url: server.url().leak(), headers: &[], dialect: Dialect::Either };
        let near = Near::by(ServerSpec { transport, max_result_bytes: Some(100_000), ..spec("far") }, &[]);
        for (bytes, what) in [(200_000, "it has 2000"), (9 << 20, "bytes had come when it was cut off")] {
            let error = near.call("large", json!({"bytes": bytes})).await.expect_err("too large").to_string();
            assert!(error.contains(what) && error.contains("the limit is 100000 bytes"), "{habits:?} {error}");
        }
        assert_eq!(near.call("echo", json!({})).await.unwrap(), json!({}), "the connection goes on");
    }
}

#[tokio::test]
async fn a_pause_that_is_asked_for_at_boot_is_kept() {
    let Some(server) = Server::start(&["boot=503", "after=30"]) else { return };
    let near = Near::to(&server.url());
    let said = near.hears("failed to boot").await;
    assert!(said.contains("is not available (HTTP 503 Service Unavailable); it starts again in 30 s"), "{said}");
    assert!(matches!(near.status().status, Status::Error), "{:?}", near.status());

    let Some(server) = Server::start(&["boot=429", "after=1"]) else { return };
    let near = Near::to(&server.url());
    near.hears("proxied 5 tool(s)").await;
    assert!(!near.said.lock().unwrap().join("\n").contains("failed"), "a short one is waited for");
}

#[tokio::test]
async fn only_a_harmless_call_is_made_once_more_and_only_after_a_fault_on_the_way() {
    for (habit, repeatable, expected) in [
        ("status=0", true, 2),
        ("status=502", true, 2),
        ("status=503", true, 2),
        ("status=504", true, 2),
        ("status=0", false, 1),
        ("status=503", false, 1),
        ("status=400", true, 1),
        ("status=403", true, 1),
        ("status=500", true, 1),
    ] {
        let Some(server) = Server::start(&[habit, "once"]) else { return };
        let near = Near::to(&server.url());
        let outcome = near.make(ChildCall { repeatable, arguments: Some("{}".into()), ..to("echo") }).await;
        let expectation = (outcome.is_ok(), echoes(&near.requests().await));
        assert_eq!(expectation, (expected == 2, expected), "{habit} {repeatable} {outcome:?}");
        if let Err(error) = outcome {
            let is_of_the_way = matches!(habit, "status=0" | "status=503");
            assert_eq!(error.is_of_the_server(), is_of_the_way, "{error}");
        }
    }
}
