//! Messages that are well formed and odd: ids and depths that typed readers cannot hold, and what an id makes of a line.

use serde_json::{Value, json};

use super::lines::told;
use super::{LONG, Sandbox, Session, Streams};

#[test]
fn ids_that_rmcp_cannot_hold_are_answered_too() {
    let sandbox = Sandbox::new("lines-odd-ids");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    for (id, code) in [
        ("-0", None),
        ("18446744073709551615", Some(-32600)),
        ("-99999999999999999999", Some(-32600)),
        // Half of a pair: JSON's grammar allows it, and no text has it.
        (r#""\ud800""#, Some(-32600)),
    ] {
        session.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"no/such\"}}\n"));
        let line = session.lines.recv_timeout(LONG).unwrap_or_else(|_| panic!("no answer to {id}"));
        match code {
            None => assert!(line.contains("-32601"), "{id}: {line}"),
            Some(code) => assert!(line.contains(&format!("\"id\":{id},\"error\":{{\"code\":{code}")), "{line}"),
        }
    }
    // What is taken for unanswered is waited for. On a loaded machine an end may take as long without that.
    let took = (0..10).map(|_| {
        let mut session = Session::start(&sandbox, Streams::Pipes);
        session.raw("{\"jsonrpc\":\"2.0\",\"id\":-99999999999999999999,\"method\":\"no/such\"}\n");
        session.next(LONG).unwrap();
        let (rest, took) = session.close();
        assert!(rest.is_empty(), "{rest:?}");
        took
    });
    assert!(took.into_iter().any(|took| took < evokore::server::DRAIN));
}

#[test]
fn depth_is_no_danger_wherever_it_lies() {
    let mut sandbox = Sandbox::new("lines-deep");
    if !sandbox.with_fs_server() {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mut id = 100;
    for depth in [120, 1_000, 100_000] {
        let deep = deep(depth);
        for (method, params) in [
            ("tools/call", format!(r#"{{"name":"search_skills","arguments":{{"query":"x","deep":{deep}}}}}"#)),
            (
                "tools/call",
                format!(
                    r#"{{"name":"call_tool","arguments":{{"name":"search_skills","arguments":{{"query":"x","deep":{deep}}}}}}}"#
                ),
            ),
            ("tools/call", format!(r#"{{"name":"no_such","arguments":{{"deep":{deep}}}}}"#)),
            ("tools/list", format!(r#"{{"_meta":{{"deep":{deep}}}}}"#)),
            ("initialize", format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{{"deep":{deep}}}}}"#)),
            ("prompts/get", format!(r#"{{"name":"server-overview","arguments":{{"deep":{deep}}}}}"#)),
            ("resources/list", format!(r#"{{"_meta":{{"deep":{deep}}}}}"#)),
        ] {
            id += 1;
            session.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"));
            let answer = session.answer_to(id);
            assert!(answer["result"].is_object() || answer["error"].is_object(), "{method} of depth {depth}: {answer}");
        }
    }
    // A child gets it as it came; this one can read so much.
    let echo = format!(r#"{{"name":"fs_echo","arguments":{{"deep":{}}}}}"#, deep(300));
    session.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{echo}}}\n"));
    assert!(super::text(&session.answer_to(1)["result"]).contains(&deep(300)));
}

#[test]
fn a_line_is_one_message_and_a_message_what_its_id_makes_it() {
    let sandbox = Sandbox::new("lines-odd");
    let mut session = Session::start(&sandbox, Streams::Sockets);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let two = told(&mut session, format!("{ping} {ping}").as_bytes());
    assert_eq!((two.len(), &two[0]["error"]["code"]), (1, &json!(-32700)));
    // A request for what is no request, and a request without an id.
    let odd = session.answer("notifications/initialized", json!({}));
    assert_eq!(odd["error"]["code"], -32601, "{odd}");
    session.notify("tools/call", json!({"name": "search_skills", "arguments": {"query": "x"}}));
    session.notify("ping", json!({}));
    session.notify("prompts/list", json!({}));
    // The member that counts is the last, as everywhere.
    session.raw("{\"id\":7,\"id\":8,\"method\":\"prompts/list\",\"method\":\"ping\",\"jsonrpc\":\"2.0\"}\n");
    assert_eq!(session.answer_to(8)["result"], json!({}));
    assert_eq!(session.notes(std::time::Duration::from_millis(100)), Vec::<Value>::new());
}

#[test]
fn ids_that_look_alike_are_told_apart() {
    const IDS: [&str; 18] = [
        "1",
        r#""1""#,
        r#""01""#,
        r#"" 1""#,
        "-1",
        r#""-1""#,
        "0",
        r#""0""#,
        r#""""#,
        "9007199254740993",
        "9007199254740994",
        r#""9007199254740993""#,
        "18446744073709551616",
        "18446744073709551617",
        r#""a""#,
        r#""A""#,
        r#""\u00e9""#,
        r#""e\u0301""#,
    ];
    let mut sandbox = Sandbox::new("lines-alike");
    let gate = sandbox.path("work/gate");
    if !sandbox.with_fs_server_that(&["more", &format!("late={}", gate.display())]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    // All of them wait for the same server, and two are given up.
    let given_up = ["1", r#""-1""#];
    let line = |id: &str, members: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{members}}}\n");
    for (n, id) in IDS.iter().enumerate() {
        session
            .raw(line(id, &format!(r#""method":"tools/call","params":{{"name":"fs_echo","arguments":{{"n":{n}}}}}"#)));
    }
    for id in given_up {
        let params = format!(r#"{{"requestId":{id}}}"#);
        session.raw(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}\n"));
    }
    // Who is still waited for is not served a second time; who is not, is.
    for id in IDS {
        session.raw(line(id, r#""method":"ping""#));
        let answer = session.lines.recv_timeout(LONG).unwrap_or_else(|_| panic!("no answer to {id}"));
        let expected = if given_up.contains(&id) { r#""result":{}"# } else { r#""error":{"code":-32600"# };
        assert!(answer.starts_with(line(id, expected).trim_end_matches("}\n")), "{id}: {answer}");
    }
    sandbox.write("work/gate", "");
    let mut answers = std::collections::BTreeSet::new();
    for _ in given_up.len()..IDS.len() {
        let answer = loop {
            let line = session.lines.recv_timeout(LONG).unwrap_or_else(|_| panic!("only {answers:?}"));
            if line.contains("\"result\"") {
                break line;
            }
        };
        answers.insert(answer);
    }
    let kept = IDS.iter().enumerate().filter(|(_, id)| !given_up.contains(id));
    let expected = kept
        .map(|(n, id)| line(id, &format!(r#""result":{{"content": [{{"type": "text", "text": "{{\"n\": {n}}}"}}]}}"#)));
    assert_eq!(answers, expected.collect());
}
