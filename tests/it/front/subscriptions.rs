//! `subscriptions/listen` of revision 2026-07-28: who is told of what, and how it ends.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, eventually, modern};

/// Longer than the debounce window of changes.
const BURST: Duration = Duration::from_millis(600);

const CHANGED: &str = "notifications/tools/list_changed";

/// A session that lists every tool, and whose child joins when the file is written.
fn before_the_child(name: &str) -> Option<(Sandbox, Session)> {
    let mut sandbox = Sandbox::new(name);
    let late = format!("late={}", sandbox.path("work/gate").display());
    if !sandbox.with_fs_server_that(&[&late]) {
        return None;
    }
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    let mut session = Session::start(&sandbox, super::Streams::Sockets);
    session.ask("server/discover", modern(json!({})));
    Some((sandbox, session))
}

/// Lets the child join.
fn join(sandbox: &Sandbox, session: &mut Session) {
    sandbox.write("work/gate", "");
    eventually("the list has the child's tools", || {
        let list = session.ask("tools/list", modern(json!({})));
        list["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "fs_echo")
    });
}

fn listen(session: &mut Session, wanted: Value) -> u64 {
    let id = session.request("subscriptions/listen", modern(json!({ "notifications": wanted })));
    let acknowledged = session.next(super::LONG).unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    assert_eq!(stream(&acknowledged), id);
    id
}

fn stream(note: &Value) -> u64 {
    note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_u64().unwrap()
}

#[test]
fn each_hears_what_it_wanted_and_the_others_nothing() {
    let Some((sandbox, mut session)) = before_the_child("subscriptions-wanted") else { return };
    let first = listen(&mut session, json!({"toolsListChanged": true}));
    let second = listen(&mut session, json!({"toolsListChanged": true, "resourcesListChanged": true}));
    listen(&mut session, json!({"resourcesListChanged": true}));
    listen(&mut session, json!({}));
    join(&sandbox, &mut session);
    let notes = session.told(CHANGED, BURST);
    assert!(notes.iter().all(|note| note["method"] == CHANGED), "{notes:?}");
    let mut told: Vec<u64> = notes.iter().map(stream).collect();
    told.sort_unstable();
    assert_eq!(told, [first, second], "once each");
}

#[test]
fn who_does_not_subscribe_hears_nothing() {
    let Some((sandbox, mut session)) = before_the_child("subscriptions-none") else { return };
    join(&sandbox, &mut session);
    assert_eq!(session.notes(BURST), Vec::<Value>::new());
}

#[test]
fn a_cancelled_subscription_is_silent_and_its_id_is_free() {
    let Some((sandbox, mut session)) = before_the_child("subscriptions-cancelled") else { return };
    let id = listen(&mut session, json!({"toolsListChanged": true}));
    session.notify("notifications/cancelled", json!({ "requestId": id }));
    join(&sandbox, &mut session);
    let notes = session.notes(BURST);
    assert!(!notes.iter().any(|note| note["method"] == CHANGED), "{notes:?}");
    session.last_id = id - 1;
    assert_eq!(listen(&mut session, json!({"toolsListChanged": true})), id);
    let (rest, _) = session.close();
    assert!(rest.iter().any(|message| message["id"] == id && message["result"].is_object()), "{rest:?}");
}

#[test]
fn too_many_are_refused() {
    let sandbox = Sandbox::new("subscriptions-many");
    let mut session = Session::start(&sandbox, super::Streams::Pipes);
    for _ in 0..64 {
        session.request("subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}})));
    }
    let refused = session.answer("subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}})));
    assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains("too many")), "{refused}");
    assert!(!session.ask("tools/list", modern(json!({})))["tools"].as_array().unwrap().is_empty());
}
