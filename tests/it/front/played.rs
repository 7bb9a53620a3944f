//! What depends on the configuration: names that clash, sleep, turns, clients that list once. The executable is the one
//! of `tests/pinned`, whose configuration has servers that a test plays.

#![cfg(target_os = "linux")]

use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::end::pid;
use super::{Sandbox, Session, Streams, eventually, hello, modern, text};
use crate::pinned::binary;

/// A sandbox in which these servers are configured, with these habits; every tool is listed.
fn with(name: &str, servers: &[(&str, &[&str])]) -> Option<Sandbox> {
    let mut sandbox = Sandbox::new(&format!("played-{name}"));
    sandbox.set_binary(binary()?);
    for (server, habits) in servers {
        let script = format!("bin/{server}");
        if !sandbox.play(&script, habits) {
            return None;
        }
        let path = sandbox.path(&script);
        sandbox.set(&format!("PLAY_{}", server.to_uppercase()), path.to_str().unwrap());
    }
    sandbox.set("EVOKORE_TOOL_DISCOVERY_MODE", "legacy");
    Some(sandbox)
}

fn status(session: &mut Session, server: &str) -> Value {
    let status = session.call("proxy_server_status", json!({ "server_id": server }));
    status["structuredContent"]["servers"][0].clone()
}

fn wait_until(session: &mut Session, server: &str, expected: &str) {
    eventually(&format!("{server} is {expected}"), || status(session, server)["status"] == expected);
}

#[test]
fn names_that_clash_keep_their_servers_whoever_boots_first() {
    let mut lists = Vec::new();
    for (n, late) in ["a", "a_b"].into_iter().enumerate() {
        let name = format!("names-{n}");
        let gate = format!("late={}", Sandbox::new(&format!("played-{name}")).path("work/gate").display());
        let gate = |server| if server == late { gate.as_str() } else { "secret=none" };
        let (a, a_b): (&[&str], &[&str]) = (&[gate("a"), "tool=b_c", "is=a"], &[gate("a_b"), "tool=c", "is=a_b"]);
        let Some(sandbox) = with(&name, &[("a", a), ("a_b", a_b), ("discover", &["tool=tools", "is=discover"])]) else {
            return;
        };
        let mut session = Session::greeted(&sandbox);
        wait_until(&mut session, if late == "a" { "a_b" } else { "a" }, "connected");
        sandbox.write("work/gate", "");
        for server in ["a", "a_b", "discover"] {
            wait_until(&mut session, server, "connected");
        }
        let names = session.listed();
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
        for (server, tool) in [("a", "b_c"), ("a_b", "c"), ("discover", "tools")] {
            let is_it = |name: &&String| {
                let answer = session.call(name, json!({}))["structuredContent"].clone();
                answer["tool"] == tool && answer["habits"].as_array().unwrap().contains(&format!("is={server}").into())
            };
            let start = format!("{server}_{tool}");
            let found: Vec<String> = names.iter().filter(|name| name.starts_with(&start)).cloned().collect();
            assert_eq!(found.iter().filter(is_it).count(), 1, "{server} {tool}: {found:?}");
        }
        let native = session.call("discover_tools", json!({"query": "skills"}));
        assert!(native["structuredContent"]["matches"].is_array(), "a native tool keeps its name: {native}");
        lists.push(names);
    }
    assert_eq!(lists[0], lists[1]);
}

#[test]
fn a_server_that_is_gone_takes_only_its_own_tools_along() {
    let name = "gone";
    let gate = Sandbox::new("played-gone").path("work/gate");
    let late = format!("late={}", gate.display());
    let Some(sandbox) = with(name, &[("a", &[&late]), ("a_b", &[])]) else { return };
    sandbox.write("work/gate", "");
    let mut session = Session::greeted(&sandbox);
    wait_until(&mut session, "a", "connected");
    wait_until(&mut session, "a_b", "connected");
    let of_a_b = |names: Vec<String>| names.into_iter().filter(|name| name.starts_with("a_b_")).collect::<Vec<_>>();
    let before = of_a_b(session.listed());
    let about = session.call("a_about", json!({}));
    // It does not come back.
    std::fs::remove_file(gate).unwrap();
    let id = about["structuredContent"]["pid"].as_u64().unwrap();
    kill_process(pid(u32::try_from(id).unwrap()), Signal::KILL).unwrap();
    eventually("its tools are gone", || !session.listed().iter().any(|name| name == "a_about"));
    assert_eq!((of_a_b(session.listed()), before.len()), (before, 3));
    assert_ne!(status(&mut session, "a")["status"], "connected");
    assert_eq!(text(&session.call("a_b_echo", json!({}))), "{}");
}

#[test]
fn a_resource_that_two_servers_have_is_that_of_the_first_in_the_configuration() {
    let gate = Sandbox::new("played-resources").path("work/gate");
    let late = format!("late={}", gate.display());
    let (a, a_b): (&[&str], &[&str]) = (&["library", &late, "secret=a"], &["library", "secret=a_b"]);
    let Some(sandbox) = with("resources", &[("a", a), ("a_b", a_b)]) else { return };
    let mut session = Session::greeted(&sandbox);
    let read = |session: &mut Session, uri: &str| {
        session.answer("resources/read", json!({ "uri": uri }))["result"]["contents"][0]["text"].clone()
    };
    eventually("the second is read", || read(&mut session, "ui://panel/main") == "secret=a_b");
    sandbox.write("work/gate", "");
    eventually("the first is read", || read(&mut session, "ui://panel/main") == "secret=a");
    let list = session.ask("resources/list", json!({}));
    let listed = |uri: &str| list["resources"].as_array().unwrap().iter().filter(|it| it["uri"] == uri).count();
    assert_eq!((listed("ui://panel/main"), listed("evokore://child/a_b/ui://panel/main")), (1, 1), "{list}");
    assert_eq!(read(&mut session, "evokore://child/a_b/ui://panel/main"), "secret=a_b");
    assert_eq!(read(&mut session, "evokore://child/a/ui://panel/main"), "secret=a");
}

#[test]
fn an_idle_server_sleeps_stays_listed_and_wakes() {
    let Some(sandbox) = with("sleep", &[("sleepy", &[])]) else { return };
    let mut session = Session::greeted(&sandbox);
    let mut pids = Vec::new();
    for _ in 0..3 {
        let about = session.call("sleepy_about", json!({}));
        pids.push(about["structuredContent"]["pid"].as_u64().unwrap());
        wait_until(&mut session, "sleepy", "idle");
        let id = json!(pids.last());
        eventually("its process ends", || !super::end::lives(&id));
        assert!(session.listed().iter().any(|name| name == "sleepy_about"));
    }
    pids.dedup();
    assert_eq!(pids.len(), 3, "a start for each call");
    let status = status(&mut session, "sleepy");
    assert_eq!((&status["restarts"], &status["errorCount"]), (&json!(0), &json!(0)), "{status}");
}

#[test]
fn boots_take_turns() {
    let folder = Sandbox::new("played-boots").path("work");
    let late = ["a", "a_b", "discover"].map(|server| format!("late={}/{server}", folder.display()));
    let habits = late.each_ref().map(|late| [late.as_str()]);
    let servers = [("a", &habits[0][..]), ("a_b", &habits[1][..]), ("discover", &habits[2][..])];
    let Some(sandbox) = with("boots", &servers) else { return };
    let mut session = Session::greeted(&sandbox);
    let runs = |server: &str| {
        let habit = format!("late={}/{server}\0", folder.display());
        std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .any(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.ends_with(habit.as_bytes())))
    };
    eventually("two are started", || runs("a") && runs("a_b"));
    let waiting = status(&mut session, "discover");
    let reason = waiting["reason"].as_str().unwrap_or_default();
    assert!(waiting["status"] == "booting" && reason.contains("`maxConcurrentBoots`"), "{waiting}");
    assert!(!runs("discover"));
    sandbox.write("work/a_b", "");
    wait_until(&mut session, "a_b", "connected");
    eventually("the third is started", || runs("discover"));
    sandbox.write("work/discover", "");
    wait_until(&mut session, "discover", "connected");
    assert_eq!(status(&mut session, "a")["status"], "booting", "nobody waits for the first");
}

#[test]
fn callers_of_a_narrow_server_take_turns() {
    let folder = Sandbox::new("played-turns").path("work");
    let replay = format!("replay={}", folder.join("played").display());
    let Some(sandbox) = with("turns", &[("narrow", &["more", &replay])]) else { return };
    sandbox.write("work/played", "");
    let mut session = Session::greeted(&sandbox);
    wait_until(&mut session, "narrow", "connected");
    session.notes(Duration::ZERO);
    let echo = |n: u64| json!({"name": "narrow_echo", "arguments": {"n": n}});
    let file = sandbox.path("work/cancelled");
    let first = session.request("tools/call", json!({"name": "narrow_wait", "arguments": {"file": file}}));
    let own = [session.request("tools/call", echo(2)), session.request("tools/call", echo(3))];
    let others = session.request("tools/call", modern(echo(4)));
    session.ask("ping", json!({}));
    let calls = || sandbox.read("work/played.heard").lines().filter(|line| line.contains("tools/call")).count();
    eventually("the first is made", || calls() == 1);
    assert_eq!(session.notes(Duration::from_millis(200)), Vec::<Value>::new(), "the others wait");
    session.notify("notifications/cancelled", json!({ "requestId": first }));
    let mut order = Vec::new();
    while order.len() < 3 {
        let message = session.next(super::LONG).expect("an answer");
        order.extend(message["id"].as_u64());
    }
    assert_eq!(order, [own[0], others, own[1]], "the other caller is not behind everything that the first has");
    assert_eq!(calls(), 4);
}

#[test]
fn a_client_that_lists_once_is_shown_everything_at_once() {
    let gate = Sandbox::new("played-once").path("work/gate");
    let late = format!("late={}", gate.display());
    let Some(mut sandbox) = with("once", &[("a", &[&late])]) else { return };
    sandbox.unset("EVOKORE_TOOL_DISCOVERY_MODE");
    sandbox.set("EVOKORE_DISCOVERY_PROFILE", "default");
    for (client, lists_once) in [("Test Once", true), ("test", false)] {
        let _ = std::fs::remove_file(&gate);
        let mut session = Session::start(&sandbox, Streams::Pipes);
        let mut params = hello("2025-11-25");
        params["clientInfo"]["name"] = client.into();
        session.ask("initialize", params);
        session.notify("notifications/initialized", json!({}));
        let list = session.request("tools/list", json!({}));
        session.ask("ping", json!({}));
        session.call("search_skills", json!({"query": "review"}));
        let is_answered = session.notes(Duration::from_millis(100)).iter().any(|message| message["id"] == list);
        assert_eq!(is_answered, !lists_once, "{client}");
        std::fs::write(&gate, "").unwrap();
        let names = if lists_once {
            let list = session.answer_to(list);
            list["result"]["tools"].to_string()
        } else {
            wait_until(&mut session, "a", "connected");
            session.listed().join(" ")
        };
        assert_eq!(names.contains("a_echo"), lists_once, "{client}: {names}");
        assert_eq!(text(&session.call("a_echo", json!({}))), "{}", "it can be called all the same");
        let found = session.call("discover_tools", json!({"query": "a_echo", "limit": 1}));
        let found = &found["structuredContent"];
        assert_eq!(
            (&found["activated"], &found["matches"][0]["listed"]),
            (&json!(u8::from(!lists_once)), &json!(true))
        );
        // Without a handshake each request says whose it is.
        let mut params = modern(json!({}));
        params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = client.to_lowercase().into();
        let list = session.ask("tools/list", params)["tools"].to_string();
        assert_eq!(list.contains("a_echo"), lists_once, "{client}: {list}");
    }
}
