//! Large results: how much memory they take on their way, and what happens to those that are too large.

use serde_json::{Value, json};

use super::{LONG, Sandbox, Session, modern, text};

/// The most memory that a process has had since it was started, in kB.
#[cfg(target_os = "linux")]
fn peak(session: &Session) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_large_result_is_held_once() {
    for (name, is_modern) in [("results-peak", false), ("results-peak-modern", true)] {
        let mut sandbox = Sandbox::new(name);
        if !sandbox.with_fs_server() {
            return;
        }
        let mut session = Session::greeted(&sandbox);
        session.wait_for_child();
        let params = json!({"name": "fs_huge", "arguments": {"megabytes": 48}});
        let before = peak(&session);
        session.request("tools/call", if is_modern { modern(params) } else { params });
        let line = std::iter::from_fn(|| session.lines.recv_timeout(LONG).ok()).find(|line| line.len() > 1 << 20);
        let size = line.unwrap().len() / 1024;
        let grown = peak(&session) - before;
        assert!(size > 46_000 && grown < size * 3 / 2, "{size} kB took {grown} kB");
    }
}

#[test]
fn a_result_over_the_limit_is_an_error_at_once_and_costs_nothing_else() {
    let mut sandbox = Sandbox::new("results-limit");
    if !sandbox.with_fs_server() {
        return;
    }
    sandbox.set("EVOKORE_MAX_RESULT_BYTES", "1000000");
    let mut session = Session::greeted(&sandbox);
    let pid = session.wait_for_child()["pid"].clone();
    for (megabytes, size) in [(1.1, "it has 110"), (12.0, "bytes had come when it was cut off"), (60.0, "cut off")] {
        let result = session.call("fs_huge", json!({"megabytes": megabytes}));
        let told = text(&result);
        assert_eq!(result["isError"], true, "{told}");
        for part in ["`fs`", size, "the limit is 1000000 bytes", "`maxResultBytes`", "EVOKORE_MAX_RESULT_BYTES"] {
            assert!(told.contains(part), "{told}");
        }
    }
    assert_eq!(text(&session.call("fs_huge", json!({"megabytes": 0.5}))).len(), 500_000);
    assert_eq!(session.wait_for_child()["pid"], pid, "it is the same child");
}

#[test]
fn a_result_that_is_too_long_is_read_on_by_resource_or_by_call() {
    let mut sandbox = Sandbox::new("results-pages");
    if !sandbox.with_fs_server() {
        return;
    }
    sandbox.set("EVOKORE_MAX_RESULT_TOKENS", "1000");
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let lines: Vec<String> = (0..1000).map(|n| format!("line {n} ≤ 日本")).collect();
    let arguments = json!({ "lines": lines });
    for is_modern in [false, true] {
        let with = |params: Value| if is_modern { modern(params) } else { params };
        let result = session.ask("tools/call", with(json!({"name": "fs_echo", "arguments": arguments})));
        let blocks = result["content"].as_array().unwrap();
        assert_eq!((blocks.len(), &blocks[2]["type"]), (3, &json!("resource_link")), "{result}");
        assert!(result.to_string().len() < 4000, "{result}");
        let said = blocks[1]["text"].as_str().unwrap();
        let uri = blocks[2]["uri"].as_str().unwrap().to_owned();
        assert!(said.contains(&format!("{uri}?page=2")) && said.contains("call_tool"), "{said}");
        let (mut read, mut called, mut number) = (String::new(), String::new(), 1);
        let mut next = json!(format!("{uri}?page=1"));
        while let Some(page) = next.as_str().map(str::to_owned) {
            assert_eq!(page, format!("{uri}?page={number}"));
            let answer = session.ask("resources/read", with(json!({ "uri": page })));
            let content = &answer["contents"][0];
            read += content["text"].as_str().unwrap();
            let answer = session.ask("tools/call", with(json!({"name": "call_tool", "arguments": {"name": page}})));
            called += text(&answer);
            next = content["_meta"]["evokore/next"].clone();
            let place = answer["content"][1]["text"].as_str().unwrap();
            assert_eq!(place.contains(&format!("?page={}", number + 1)), next.is_string(), "{place}");
            number += 1;
        }
        assert!(number > 5 && read == called && read.starts_with(text(&result)), "{read}");
        assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), arguments);

        let past = format!("{uri}?page={number}");
        let refused = session.answer("resources/read", with(json!({ "uri": past })));
        assert!(refused["error"]["message"].as_str().unwrap().contains("call the tool again"), "{refused}");
        let refused = session.ask("tools/call", with(json!({"name": "call_tool", "arguments": {"name": past}})));
        assert_eq!(refused["isError"], true, "{refused}");
    }
    let short = session.call("fs_echo", json!({"lines": ["short"]}));
    assert_eq!(short["content"].as_array().unwrap().len(), 1);
    // A command has nobody who reads on.
    let ran = sandbox.run(&["call", "fs_echo", &arguments.to_string()]);
    assert!(ran.stdout.contains("line 999") && !ran.stdout.contains("evokore://"), "{ran:?}");
}
