//! A server over HTTP behind the real executable: calls, and logins as a person makes them. The executable is the one of
//! `tests/children`, whose configuration has such a server.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::json;

use super::{LONG, Sandbox, Session, eventually};
use crate::child::far::Server;
use crate::child::login::{Far, browse};
use crate::clients::equipment::Equipment;

/// A sandbox whose server `remote` is at `url`.
fn sandbox(name: &str, url: &str) -> Option<Sandbox> {
    let mut sandbox = Sandbox::new(name);
    sandbox.set_binary(Equipment::binary()?);
    sandbox.set("EVOKORE_IT_URL", url);
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    Some(sandbox)
}

#[test]
fn it_is_listed_and_called_byte_for_byte() {
    for (name, habits) in
        [("remote-json", &["raw"][..]), ("remote-sse", &["raw", "sse"]), ("remote-new", &["raw", "stateless"])]
    {
        let Some(server) = Server::start(habits) else { return };
        let Some(sandbox) = sandbox(name, &server.url()) else { return };
        let mut session = Session::greeted(&sandbox);
        eventually("it is listed", || session.listed().contains(&"remote_raw".to_owned()));
        let mut line = |id: &str, method: &str, params: &str| {
            session.raw(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#) + "\n");
            let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
            let lines = std::iter::from_fn(|| session.lines.recv_timeout(LONG).ok());
            lines.into_iter().find(|line| line.starts_with(&start)).expect("an answer")
        };
        let list = line("\"l\"", "tools/list", "{}");
        let tool = r#"{"name":"remote_raw","inputSchema":{"type":"object","z":1.10,"a":9007199254740993},"x/odd":[1e2,"\u00e9"]}"#;
        assert!(list.contains(tool), "{list}");

        let arguments = r#"{"z":1.10,"a":9007199254740993,"b":"\u00e9é","b":1E+2}"#;
        let call = line("\"c\"", "tools/call", &format!(r#"{{"name":"remote_raw","arguments":{arguments}}}"#));
        let result = r#""result":{"z":1.10, "content":[{"type":"x/unknown","n":9007199254740993}],"_meta":{"b":1E+2,"a":"\u00e9é"}}"#;
        assert!(call.contains(result), "{call}");
        let heard = session.call("remote_requests", json!({}));
        let heard = heard["structuredContent"]["requests"].as_array().unwrap().iter();
        let bodies: Vec<_> = heard.filter(|request| request["params"]["name"] == "raw").collect();
        assert!(bodies.len() == 1 && bodies[0]["body"].as_str().unwrap().contains(arguments), "{bodies:?}");
    }
}

#[test]
fn who_knows_no_handshake_is_asked_for_none_by_the_next_process() {
    let Some(server) = Server::start(&["stateless"]) else { return };
    let Some(sandbox) = sandbox("remote-eras", &server.url()) else { return };
    let file = sandbox.path("home/.evokore/eras.json");
    let methods: Vec<Vec<String>> = (0..2)
        .map(|_| {
            let mut session = Session::greeted(&sandbox);
            eventually("it is listed", || session.listed().contains(&"remote_requests".to_owned()));
            eventually("it is remembered", || file.exists());
            let heard = session.call("remote_requests", json!({}));
            let heard = heard["structuredContent"]["requests"].as_array().unwrap().iter();
            heard.map(|request| request["method"].as_str().unwrap_or_default().to_owned()).collect()
        })
        .collect();
    let (first, both) = (&methods[0], &methods[1]);
    assert!(first.starts_with(&["initialize", "server/discover"].map(str::to_owned)), "{first:?}");
    assert_eq!(both[first.len()], "server/discover", "{both:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

/// What `evokore login remote` says in the end, with the test in the browser's place.
fn login(sandbox: &Sandbox) -> String {
    let mut command = sandbox.command(&["login", "remote"]);
    let mut process =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let said = BufReader::new(process.stderr.take().unwrap());
    let url = said.lines().map_while(Result::ok).find(|line| line.trim().starts_with("http")).expect("an address");
    browse(url.trim());
    let mut text = String::new();
    process.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(process.wait().unwrap().success(), "{text}");
    text
}

#[test]
fn a_person_logs_in_calls_and_logs_out() {
    for (name, habits) in [("remote-login", &["back", "expires=3600"][..]), ("remote-login-old", &["back", "stream"])] {
        let Some(far) = Far::start(habits) else { return };
        let Some(sandbox) = sandbox(name, &far.url()) else { return };
        let call = || sandbox.run(&["call", "remote_echo", r#"{"n":1}"#, "--json"]);
        let doctor = sandbox.run(&["doctor"]);
        let told = doctor.stdout.lines().find(|line| line.contains(" remote ")).expect("a finding");
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.starts_with("problem remote needs login: run evokore login remote (HTTP 401)"), "{told}");
        assert_eq!(doctor.code, 1);
        assert_ne!(call().code, 0);

        let issuer = format!("http://127.0.0.1:{}/tenant", far.port);
        assert_eq!(login(&sandbox), format!("logged in to `remote` through {issuer}\n"));
        assert_eq!(call().json()["structuredContent"]["n"], 1);
        far.revoke();
        assert_eq!(call().json()["structuredContent"]["n"], 1, "the token has been renewed");
        assert_eq!(far.log("/token").len(), 2);
        assert!(sandbox.run(&["doctor"]).stdout.contains("connected, 1 tool, far 1"));

        let logout = || sandbox.run(&["logout", "remote"]).content();
        assert_eq!(logout(), format!("logged out of `remote`; {issuer} takes the tokens no more\n"));
        assert_eq!(far.log("/back").len(), 2);
        assert_eq!(logout(), "nobody was logged in to `remote`\n");
        assert_ne!(call().code, 0);
    }
}
