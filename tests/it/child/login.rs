//! Logins at child servers over HTTP: a real authorization server, real sockets, the test in the browser's place. Needs
//! `python3`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use evokore::child::{ChildCall, ChildSettings, Children, LoginError, Logout, Status, login, logout};
use evokore_catalog::server::{OAuth, ServerSpec, Transport};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::process::has_python;
use super::scripted::{no_sink, spec, to};

/// Long enough for a loaded machine.
const LONG: Duration = Duration::from_secs(30);

/// The servers of `tests/it/support/authority.py`, and a state folder of evokore's, until they are dropped.
pub(crate) struct Far {
    process: Child,
    pub(crate) port: u16,
    home: PathBuf,
    oauth: OAuth,
}

impl Far {
    pub(crate) fn start(habits: &[&str]) -> Option<Far> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        if !has_python() {
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/authority.py");
        let mut command = Command::new("python3");
        command.arg(script).args(habits).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let name = format!("evokore-login-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let home = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&home);
        Some(Far { process, port: line.trim().parse().unwrap(), home, oauth: OAuth::ABSENT })
    }

    /// Where the server is that wants a login.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn spec(&self) -> ServerSpec {
        let url = self.url().leak();
        ServerSpec {
            transport: Transport::Http { url, headers: &[], dialect: evokore_catalog::server::Dialect::Either },
            oauth: self.oauth,
            ..spec("far")
        }
    }

    fn settings(&self) -> ChildSettings {
        let home = self.home.to_str().unwrap().to_owned();
        let lookup = move |name: &str| match name {
            "EVOKORE_HOME" => Some(home.clone()),
            "SECRET" => Some("s/cret".to_owned()),
            _ => None,
        };
        ChildSettings::new(Arc::new(lookup), Arc::new(|_| {}))
    }

    /// Logs in as a person does: opens what is shown, and goes where that leads.
    async fn login(&self) -> Result<String, LoginError> {
        let show = |url: &str| {
            let url = url.to_owned();
            std::thread::spawn(move || browse(&url));
        };
        timeout(LONG, login(&self.spec(), &self.settings(), show)).await.unwrap()
    }

    async fn logout(&self) -> Logout {
        timeout(LONG, logout(&self.spec(), &self.settings())).await.unwrap().unwrap()
    }

    /// What the last login asked for.
    fn asked_for(&self) -> Value {
        let asked = self.log("/authorize").into_iter().rev().find(|entry| entry["asked"].is_object()).unwrap();
        asked["asked"].clone()
    }

    fn children(&self) -> Children {
        Children::start(vec![self.spec()].leak(), self.settings(), no_sink())
    }

    fn file(&self) -> PathBuf {
        let mut files = std::fs::read_dir(self.home.join("tokens")).unwrap();
        files.next().unwrap().unwrap().path()
    }

    fn kept(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.file()).unwrap()).unwrap()
    }

    /// What has been asked at `path`.
    pub(crate) fn log(&self, path: &str) -> Vec<Value> {
        let answer = get(&format!("http://127.0.0.1:{}/log", self.port));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut log: Vec<Value> = serde_json::from_str(body).unwrap();
        log.retain(|entry| entry["path"] == path);
        log
    }

    /// What the server has been told with each message.
    fn tokens(&self) -> Vec<Value> {
        self.log("/mcp")
            .into_iter()
            .filter(|entry| entry["verb"] == "POST")
            .map(|entry| entry["token"].clone())
            .collect()
    }

    /// Ends every access token.
    pub(crate) fn revoke(&self) {
        ask("POST", &format!("http://127.0.0.1:{}/revoke", self.port));
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Does what a browser does with the address that a person is shown.
pub(crate) fn browse(url: &str) {
    let there = get(url);
    let back = there.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap().to_owned();
    // What a browser asks for by itself is no answer.
    let (origin, _) = back.split_once("/callback").unwrap();
    assert!(get(&format!("{origin}/favicon.ico")).starts_with("HTTP/1.1 404"));
    get(&back);
}

fn get(url: &str) -> String {
    ask("GET", url)
}

fn ask(verb: &str, url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "{verb} /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

async fn echo(children: &Children) -> Result<(), String> {
    let call = ChildCall { arguments: Some(Bytes::from_static(b"{}")), ..to("echo") };
    timeout(LONG, children.call(0, call)).await.unwrap().map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_login_is_kept_used_and_forgotten() {
    let Some(far) = Far::start(&[]) else { return };
    assert_eq!(far.login().await.unwrap(), format!("http://127.0.0.1:{}/tenant", far.port));

    let registered = &far.log("/register")[0]["asked"];
    let asked = &far.log("/authorize").into_iter().find(|entry| entry["asked"].is_object()).unwrap()["asked"];
    let granted = &far.log("/token")[0]["asked"];
    let resource = json!(format!("http://127.0.0.1:{}/mcp", far.port));
    assert_eq!(registered["redirect_uris"], json!([asked["redirect_uri"]]));
    assert!(asked["redirect_uri"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!((&asked["audience"], &asked["client_id"]), (&json!("x"), &json!("registered")));
    assert_eq!(
        (&asked["code_challenge_method"], &asked["scope"]),
        (&json!("S256"), &json!("read write offline_access"))
    );
    assert_eq!((&asked["resource"], &granted["resource"]), (&resource, &resource));

    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(far.file()), mode(far.home.join("tokens"))), (0o600, 0o700));
    assert_eq!((&far.kept()["url"], &far.kept()["accessToken"]), (&resource, &json!("access1")));

    let children = far.children();
    echo(&children).await.unwrap();
    // None but the request of the login itself went without it.
    let tokens = far.tokens();
    assert!(tokens[0] == "" && tokens[1..].iter().all(|token| token == "access1"), "{tokens:?}");
    children.shutdown().await;

    let why = format!("http://127.0.0.1:{}/tenant takes no tokens back", far.port);
    assert_eq!(far.logout().await, Logout::Forgotten(why));
    assert_eq!(far.logout().await, Logout::Nobody);
    let children = far.children();
    let error = echo(&children).await.unwrap_err();
    assert!(error.contains("needs login: run evokore login far"), "{error}");
}

#[tokio::test]
async fn a_configured_client_says_who_it_is() {
    let Some(mut far) = Far::start(&["known=me:s/cret", "quiet"]) else { return };
    let error = far.login().await.unwrap_err();
    assert!(error.hint.contains("`clientId`"), "{error:?}");
    // A port that is free: it was a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    far.oauth =
        OAuth { client_id: Some("me"), client_secret: Some("${SECRET}"), scopes: &["read"], redirect_port: Some(port) };
    far.login().await.unwrap();
    let asked = &far.log("/authorize").into_iter().find(|entry| entry["asked"].is_object()).unwrap()["asked"];
    assert_eq!((&asked["scope"], &asked["client_id"]), (&json!("read"), &json!("me")));
    assert_eq!(asked["redirect_uri"], json!(format!("http://127.0.0.1:{port}/callback")));
    assert!(!std::fs::read_to_string(far.file()).unwrap().contains("s/cret"));
    far.revoke();
    echo(&far.children()).await.unwrap();

    // A client is shown to the authorization server that knows it, not to whatever a server names instead.
    let kept =
        far.kept().to_string().replace(&format!("http://127.0.0.1:{}/tenant", far.port), "https://other.example");
    std::fs::write(far.file(), kept).unwrap();
    let asked = far.log("/authorize").len();
    let error = far.login().await.unwrap_err();
    assert!(error.what.ends_with("now and was https://other.example, to which its `clientId` is known"), "{error:?}");
    assert_eq!(far.log("/authorize").len(), asked);
}

#[tokio::test]
async fn a_document_says_who_asks_where_it_is_read() {
    const DOCUMENT: &str = "https://evokore.example/client.json";
    for (habits, client, secret) in [
        (&["documents"][..], DOCUMENT, None),
        (&["documents", "nobody"], DOCUMENT, None),
        (&[], "registered", None),
        // Whoever has a secret is known there: no document is read about that client.
        (&["documents", "known=https://evokore.example/client.json:s/cret"], DOCUMENT, Some("${SECRET}")),
    ] {
        let Some(mut far) = Far::start(habits) else { return };
        far.oauth.client_id = Some(DOCUMENT);
        far.oauth.client_secret = secret;
        far.login().await.unwrap();
        assert_eq!(far.asked_for()["client_id"], client, "{habits:?}");
        assert_eq!(far.log("/register").is_empty(), client == DOCUMENT, "{habits:?}");
        let granted = &far.log("/token")[0]["asked"];
        assert_eq!(granted.get("client_id").is_some(), secret.is_none(), "{habits:?}");
    }

    let Some(mut far) = Far::start(&["nobody"]) else { return };
    let issuer = format!("the authorization server http://127.0.0.1:{}/tenant ", far.port);
    let told = |error: LoginError| error.what.strip_prefix(&issuer).unwrap().to_owned();
    assert_eq!(told(far.login().await.unwrap_err()), "lets nobody register by themselves");
    far.oauth.client_id = Some(DOCUMENT);
    let expected = "reads no documents of clients, such as the one that `clientId` names, and lets nobody register by \
                    themselves";
    assert_eq!(told(far.login().await.unwrap_err()), expected);
}

#[tokio::test]
async fn a_logout_gives_the_tokens_back() {
    let Some(mut far) = Far::start(&["back", "known=me:s/cret"]) else { return };
    far.oauth = OAuth { client_id: Some("me"), client_secret: Some("${SECRET}"), ..OAuth::ABSENT };
    far.login().await.unwrap();
    assert_eq!(far.logout().await, Logout::Revoked(format!("http://127.0.0.1:{}/tenant", far.port)));
    let given: Vec<_> = far.log("/back").into_iter().map(|entry| entry["asked"].clone()).collect();
    let kinds: Vec<_> = given.iter().map(|asked| (&asked["token"], &asked["token_type_hint"])).collect();
    assert_eq!(kinds, [(&json!("refresh1"), &json!("refresh_token")), (&json!("access1"), &json!("access_token"))]);
    assert!(given.iter().all(|asked| asked["authorization"].as_str().unwrap().starts_with("Basic ")), "{given:?}");
    assert_eq!(far.logout().await, Logout::Nobody);

    let Some(far) = Far::start(&["back=503"]) else { return };
    far.login().await.unwrap();
    let Logout::Forgotten(why) = far.logout().await else { panic!() };
    assert!(why.ends_with("/tenant did not take them back: HTTP 503"), "{why}");
    assert_eq!(far.logout().await, Logout::Nobody, "they are forgotten all the same");
}

#[tokio::test]
async fn scopes_that_are_missing_are_told_and_asked_for_by_the_next_login() {
    let Some(mut far) = Far::start(&["wants=write admin"]) else { return };
    far.oauth.scopes = &["read", "write"];
    far.login().await.unwrap();
    let children = far.children();
    for _ in 0..2 {
        let error = echo(&children).await.unwrap_err();
        let expected = "child server `far` wants the scope `admin`, which its login has not (HTTP 403): \
                        {\"error\": \"insufficient_scope\"}\nhint: run `evokore login far`, which asks for that \
                        besides what the login has";
        assert_eq!(error, expected);
    }
    // Renewing gives no more rights, and forgets none that are wanted.
    far.revoke();
    assert!(echo(&children).await.unwrap_err().contains("wants the scope `admin`"));
    let calls = || far.log("/mcp").iter().filter(|entry| entry["method"] == "tools/call").count();
    assert_eq!(calls(), 4, "it is not asked again and again");
    assert_eq!((&far.kept()["scopes"], &far.kept()["wantedScopes"]), (&json!(["read", "write"]), &json!(["admin"])));
    // Someone logs in, in another process.
    far.login().await.unwrap();
    assert_eq!(far.asked_for()["scope"], "read write admin");
    echo(&children).await.unwrap();
    assert_eq!(far.kept()["scopes"], json!(["read", "write", "admin"]));

    // What was asked for and is not granted is not asked for for ever by itself.
    let Some(far) = Far::start(&["wants=admin", "grants=read"]) else { return };
    far.login().await.unwrap();
    let error = echo(&far.children()).await.unwrap_err();
    assert!(error.contains("wants the scope `admin`, which its login has not"), "{error}");
    far.login().await.unwrap();
    assert_eq!(
        (far.asked_for()["scope"].as_str(), far.log("/token").len()),
        (Some("read write admin offline_access"), 2)
    );
    assert!(echo(&far.children()).await.unwrap_err().contains("`admin`"));
}

#[tokio::test]
async fn a_login_is_wanted_for_what_needs_one() {
    let Some(far) = Far::start(&["calls"]) else { return };
    let children = far.children();
    let error = echo(&children).await.unwrap_err();
    assert!(error.starts_with("child server `far` needs login: run evokore login far (HTTP 401)"), "{error}");
    assert!(matches!(children.status()[0].status, Status::Connected));
    // It greets everyone, and describes who gives tokens for it all the same.
    far.login().await.unwrap();
    echo(&children).await.unwrap();
}

#[tokio::test]
async fn a_server_of_2024_11_05_can_want_a_login_too() {
    let Some(far) = Far::start(&["stream"]) else { return };
    let error = echo(&far.children()).await.unwrap_err();
    assert!(error.contains("needs login: run evokore login far (HTTP 401)"), "{error}");
    far.login().await.unwrap();
    let children = far.children();
    echo(&children).await.unwrap();
    assert_eq!(far.kept()["accessToken"], "access1");
}

#[tokio::test]
async fn a_program_is_logged_in_to_by_its_environment() {
    let settings = ChildSettings::new(Arc::new(|_: &str| None), Arc::new(|_| {}));
    for (env, hint) in [
        (
            &[("A", "${TOKEN}"), ("B", "b"), ("C", "${C:-x}")][..],
            "it takes its credentials from its environment: set `TOKEN`",
        ),
        (
            &[],
            "such a program takes credentials from its environment: give them to it in `env` of its entry, as \
             `\"NAME\": \"${NAME}\"`",
        ),
    ] {
        let spec =
            ServerSpec { transport: Transport::Stdio { command: "x", args: &[], env, cwd: None }, ..spec("near") };
        for error in [login(&spec, &settings, |_| panic!()).await.map(drop), logout(&spec, &settings).await.map(drop)] {
            let LoginError { what, hint: told } = error.unwrap_err();
            assert_eq!(what, "it is started by a `command`, so there is nothing to log in to");
            assert_eq!(told, hint);
        }
    }
}

#[tokio::test]
async fn what_looks_wrong_ends_a_login() {
    let mut table = String::new();
    for habits in [
        &["state=other"][..],
        &["iss=https://other.example"],
        &["iss="],
        &["deny"],
        &["plain"],
        &["issuer=https://other.example"],
        &["token=http://other.example/token"],
        &["resource=https://other.example/mcp"],
        &["open"],
    ] {
        let Some(far) = Far::start(habits) else { return };
        let error = far.login().await.unwrap_err();
        let what = error.what.replace(&far.port.to_string(), "PORT");
        table += &format!("{}\n{what}\nhint: {}\n\n", habits.join(" "), error.hint);
        assert!(!far.home.join("tokens").exists() && far.log("/token").is_empty(), "{habits:?}");
    }
    expect_test::expect![[r#"
        state=other
        the browser came back from a login that is not this one (`state` differs)
        hint: run it again; if it happens again, someone may be trying to log you in as somebody else

        iss=https://other.example
        the browser came back from `https://other.example` in place of `http://127.0.0.1:PORT/tenant`
        hint: run it again; if it happens again, someone may be trying to log you in as somebody else

        iss=
        the browser came back without the name of `http://127.0.0.1:PORT/tenant`, which always gives it
        hint: run it again; if it happens again, someone may be trying to log you in as somebody else

        deny
        the login was refused: access_denied: not you
        hint: run it again, as someone who may

        plain
        the authorization server http://127.0.0.1:PORT/tenant does not say that it protects codes (PKCE with `S256`)
        hint: tell whoever runs it, or put a token into the `headers` of the server

        issuer=https://other.example
        the authorization server at `http://127.0.0.1:PORT/tenant` calls itself `https://other.example`, so that one of the two is not who it seems
        hint: tell whoever runs it, or put a token into the `headers` of the server

        token=http://other.example/token
        its token endpoint is at http://other.example, where everyone on the way can read along
        hint: it must have an address with `https`

        resource=https://other.example/mcp
        the server's description as a protected resource is of another one: `https://other.example/mcp` in place of `http://127.0.0.1:PORT/mcp`
        hint: check its `url`

        open
        it asks for no login (it answered with HTTP 200)
        hint: `evokore doctor` says whether it works as it is

    "#]].assert_eq(&table);
}

#[tokio::test]
async fn tokens_are_renewed_before_they_end() {
    // Less than is left to each: every request renews, one at a time.
    let Some(far) = Far::start(&["expires=30"]) else { return };
    far.login().await.unwrap();
    let children = far.children();
    echo(&children).await.unwrap();
    let renewals = far.log("/token");
    assert!(renewals.len() > 1 && renewals[1]["asked"]["refresh_token"] == "refresh1", "{renewals:?}");
    let tokens = far.tokens();
    assert!(tokens[1..].iter().all(|token| token != "access1"), "{tokens:?}");
    assert_ne!(far.kept()["refreshToken"], "refresh1");
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_renewed_once_for_all() {
    let Some(far) = Far::start(&[]) else { return };
    far.login().await.unwrap();
    let children = far.children();
    echo(&children).await.unwrap();
    far.revoke();
    let calls: Vec<_> = (0..10)
        .map(|_| {
            tokio::spawn({
                let children = children.clone();
                async move { echo(&children).await }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(far.log("/token").len(), 2);
    assert_eq!(far.kept()["accessToken"], "access2");
}

#[tokio::test]
async fn where_nothing_helps_a_person_is_asked_and_heard() {
    let Some(far) = Far::start(&["spent"]) else { return };
    far.login().await.unwrap();
    let children = far.children();
    echo(&children).await.unwrap();
    far.revoke();
    for _ in 0..2 {
        let error = echo(&children).await.unwrap_err();
        assert!(error.starts_with("child server `far` needs login: run evokore login far (HTTP 401)"), "{error}");
        assert!(!error.contains("refresh1") && !error.contains("access1"), "{error}");
    }
    // It is not asked again with what it has refused.
    assert_eq!(far.log("/token").len(), 2);
    // Someone logs in, in another process.
    far.login().await.unwrap();
    echo(&children).await.unwrap();
}

#[tokio::test]
async fn the_status_says_that_a_login_is_needed() {
    let Some(far) = Far::start(&[]) else { return };
    let children = far.children();
    let start = Instant::now();
    while matches!(children.status()[0].status, Status::Booting) {
        assert!(start.elapsed() < LONG);
        sleep(Duration::from_millis(5)).await;
    }
    let reason = children.status()[0].reason.clone().unwrap();
    assert!(reason.starts_with("needs login: run evokore login far"), "{reason}");
}
