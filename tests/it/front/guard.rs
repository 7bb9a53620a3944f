//! Killed without a chance to clean up, the server leaves nothing behind all the same.

#![cfg(target_os = "linux")]

use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::end::{lives, pid};
use super::{Sandbox, Session, eventually};

/// The processes that `parent` has started as guards.
fn guards(parent: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_one = |id: &u32| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        read("cmdline") == "evokore-guard\0__guard\0" && read("status").contains(&format!("\nPPid:\t{parent}\n"))
    };
    ids.filter(is_one).collect()
}

/// A session whose child and grandchild heed neither SIGTERM nor the end of their stdin, and what `about` says.
fn stubborn(name: &str) -> Option<(Sandbox, Session, Value)> {
    let mut sandbox = Sandbox::new(name);
    if !sandbox.with_fs_server_that(&["deaf", "orphan"]) {
        return None;
    }
    let mut session = Session::greeted(&sandbox);
    let about = session.wait_for_child();
    assert!(lives(&about["pid"]) && lives(&about["grandchild"]));
    Some((sandbox, session, about))
}

#[test]
fn nothing_is_left_of_a_server_that_is_killed() {
    let Some((_sandbox, mut session, about)) = stubborn("guard-kill") else { return };
    let [guard] = guards(session.process.id())[..] else { panic!("one guard") };
    // Whatever asks the server to end may reach the guard as well.
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        kill_process(pid(guard), signal).unwrap();
    }
    session.process.kill().unwrap();
    session.process.wait().unwrap();
    let (mut left, all) = (0, [about["pid"].clone(), about["grandchild"].clone(), json!(guard)]);
    eventually("all are gone", || {
        left = all.iter().filter(|id| lives(id)).count();
        left == 0
    });
    // And it has kept no stream of the client's open.
    while session.next(super::LONG).is_some() {}
    assert!(session.lines.recv_timeout(Duration::ZERO).is_err());
}

#[test]
fn the_guard_ends_with_the_server() {
    let Some((_sandbox, session, _)) = stubborn("guard-end") else { return };
    let [guard] = guards(session.process.id())[..] else { panic!("one guard") };
    session.close();
    eventually("the guard is gone", || !lives(&json!(guard)));
}

#[test]
fn a_guard_that_dies_is_replaced_once() {
    let Some((_sandbox, mut session, about)) = stubborn("guard-dies") else { return };
    let [first] = guards(session.process.id())[..] else { panic!("one guard") };
    kill_process(pid(first), Signal::KILL).unwrap();
    eventually("there is another", || guards(session.process.id()).iter().any(|id| *id != first));
    assert_eq!(session.wait_for_child()["pid"], about["pid"], "the child does not notice");
    let [second] = guards(session.process.id())[..] else { panic!("one guard") };
    kill_process(pid(second), Signal::KILL).unwrap();
    eventually("it is said", || session.said().contains("child servers may stay behind"));
    assert!(guards(session.process.id()).is_empty());
    assert_eq!(session.said().matches("guard process").count(), 2, "{}", session.said());
    assert_eq!(session.wait_for_child()["pid"], about["pid"]);
}

#[test]
fn the_second_guard_knows_the_children_of_the_first() {
    let Some((_sandbox, mut session, about)) = stubborn("guard-second") else { return };
    let [first] = guards(session.process.id())[..] else { panic!("one guard") };
    kill_process(pid(first), Signal::KILL).unwrap();
    eventually("there is another", || guards(session.process.id()).iter().any(|id| *id != first));
    session.process.kill().unwrap();
    eventually("all are gone", || !lives(&about["pid"]) && !lives(&about["grandchild"]));
}
