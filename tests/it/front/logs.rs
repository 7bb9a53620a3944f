//! Log messages of child servers, and who gets which.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{Sandbox, Session, eventually};

fn message(level: &str, data: &str) -> Value {
    json!({"level": level, "data": data})
}

/// Has the child log, waits for its answer, and gives back what came before it and what came after it.
fn logged(session: &mut Session, arguments: Value) -> (Vec<Value>, Vec<Value>) {
    let id = session.request("tools/call", json!({"name": "fs_log", "arguments": arguments}));
    session.answer_to(id);
    (std::mem::take(&mut session.notes), session.notes(Duration::from_millis(50)))
}

fn data(notes: &[Value]) -> Vec<&str> {
    let messages = notes.iter().filter(|note| note["method"] == "notifications/message");
    messages.map(|note| note["params"]["data"].as_str().unwrap()).collect()
}

#[test]
fn a_client_gets_messages_from_the_level_on_that_it_has_set() {
    let mut sandbox = Sandbox::new("logs-level");
    if !sandbox.with_fs_server_that(&["logs"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    session.notes(Duration::from_millis(400));
    let all = ["debug", "info", "warning", "emergency"].map(|level| message(level, level));
    let (before, after) = logged(&mut session, json!({"messages": all}));
    assert_eq!((data(&before), after), (vec!["info", "warning", "emergency"], vec![]));
    assert!(before.iter().all(|note| note["params"]["logger"] == "fs"), "{before:?}");
    for (level, expected) in
        [("warning", vec!["warning", "emergency"]), ("debug", vec!["debug", "info", "warning", "emergency"])]
    {
        assert_eq!(session.ask("logging/setLevel", json!({"level": level})), json!({}));
        eventually("the child hears of the level", || {
            session.wait_for_child()["client"]["heard"].as_array().unwrap().contains(&level.into())
        });
        assert_eq!(data(&logged(&mut session, json!({"messages": all})).0), expected);
    }
    for params in [json!({"level": "loud"}), json!({})] {
        assert_eq!(session.answer("logging/setLevel", params)["error"]["code"], -32602);
    }
    let named = json!({"level": "error", "logger": "db", "data": {"x": 1.5}});
    let (before, _) = logged(&mut session, json!({"messages": [named]}));
    assert_eq!(before[0]["params"], json!({"level": "error", "logger": "fs/db", "data": {"x": 1.5}}));
}

#[test]
fn a_level_reaches_late_children_and_bothers_none_that_does_not_log() {
    for (habit, heard) in [("logs", true), ("more", false)] {
        let mut sandbox = Sandbox::new(&format!("logs-late-{habit}"));
        let gate = sandbox.path("work/gate");
        if !sandbox.with_fs_server_that(&[habit, &format!("late={}", gate.display())]) {
            return;
        }
        let mut session = Session::greeted(&sandbox);
        assert_eq!(session.ask("logging/setLevel", json!({"level": "error"})), json!({}));
        std::fs::write(&gate, "").unwrap();
        let mut has_heard =
            || session.wait_for_child()["client"]["heard"].as_array().unwrap().contains(&"error".into());
        if !heard {
            assert!(!has_heard());
            continue;
        }
        eventually("the child hears of the level", &mut has_heard);
        // So does the one that takes its place.
        let id = session.wait_for_child()["pid"].as_u64().unwrap();
        kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), Signal::KILL).unwrap();
        // A call that the death meets would rest for a while.
        eventually("the next one is up", || {
            let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
            let server = &status["structuredContent"]["servers"][0];
            server["restarts"] == 1 && server["status"] == "connected"
        });
        eventually("it hears of the level, too", || {
            session.wait_for_child()["client"]["heard"].as_array().unwrap().contains(&"error".into())
        });
    }
}

#[test]
fn a_flood_of_messages_is_cut_and_counted_and_delays_no_answer() {
    let mut sandbox = Sandbox::new("logs-flood");
    if !sandbox.with_fs_server_that(&["logs"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let (before, after) = logged(&mut session, json!({"messages": [message("error", "x")], "times": 20_000}));
    let passed = data(&before).len() + data(&after).len();
    assert!((1..2000).contains(&passed), "{passed}");
    let status = session.call("proxy_server_status", json!({"server_id": "fs"}));
    let dropped = status["structuredContent"]["servers"][0]["droppedLogMessages"].as_u64().unwrap();
    assert_eq!(dropped + passed as u64, 20_000);
}
