//! The end: whatever ends it, the process goes and nothing that it started is left. How soon is for clocks that can be
//! stopped to say, and for one look at the limits, since on a loaded machine everything takes long.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{LONG, Sandbox, Session, Streams, eventually};

#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Input,
    Signal(Signal),
}

const ENDS: [End; 3] = [End::Input, End::Signal(Signal::TERM), End::Signal(Signal::INT)];

/// Ends the session and waits for the process. Gives back what still came.
pub(super) fn end(mut session: Session, end: End) -> Vec<Value> {
    match end {
        End::Input => drop(session.to.take()),
        End::Signal(signal) => send(session.process.id(), signal),
    }
    let mut status = None;
    eventually("it ends", || {
        status = session.process.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.is_some_and(|status| status.success()), "{end:?}: {status:?} {}", session.said());
    std::iter::from_fn(|| session.next(LONG)).collect()
}

/// Sends a signal once the server listens for it, which it does when its client is quiet.
pub(super) fn send(id: u32, signal: Signal) {
    listens(id, signal);
    kill_process(pid(id), signal).unwrap();
}

/// Waits until the server listens for this signal.
pub(super) fn listens(id: u32, signal: Signal) {
    eventually("signals are listened for", || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        caught & (1 << (signal.as_raw() - 1)) != 0
    });
}

pub(super) fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
}

/// A process that is neither gone nor a zombie.
pub(super) fn lives(id: &Value) -> bool {
    let status = std::fs::read_to_string(Path::new("/proc").join(id.to_string()).join("status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// A client or a user may expect it within a second; starting and ending a process takes some of that.
#[test]
fn a_second_is_enough() {
    assert!(evokore::server::DRAIN < evokore::server::LEAVE);
    assert!(evokore::server::LEAVE <= Duration::from_millis(900));
}

#[test]
fn a_server_without_a_child_ends() {
    let sandbox = Sandbox::new("end-alone");
    for streams in [Streams::Pipes, Streams::Sockets] {
        for how in ENDS {
            let mut session = Session::start(&sandbox, streams);
            session.greet();
            assert_eq!(end(session, how), Vec::<Value>::new());
        }
    }
}

#[test]
fn a_stubborn_child_and_its_child_go_too_at_the_end_of_the_input() {
    end_of_the_stubborn("input", End::Input);
}

#[test]
fn a_stubborn_child_and_its_child_go_too_on_sigterm() {
    end_of_the_stubborn("term", End::Signal(Signal::TERM));
}

#[test]
fn a_stubborn_child_and_its_child_go_too_on_sigint() {
    end_of_the_stubborn("int", End::Signal(Signal::INT));
}

fn end_of_the_stubborn(name: &str, how: End) {
    for streams in [Streams::Pipes, Streams::Sockets] {
        let mut sandbox = Sandbox::new(&format!("end-stubborn-{name}-{streams:?}"));
        if !sandbox.with_fs_server_that(&["deaf", "orphan"]) {
            return;
        }
        let mut session = Session::start(&sandbox, streams);
        session.greet();
        let about = session.wait_for_child();
        assert!(lives(&about["pid"]) && lives(&about["grandchild"]));
        end(session, how);
        eventually("both are gone", || !lives(&about["pid"]) && !lives(&about["grandchild"]));
    }
}

#[test]
fn a_child_that_still_boots_is_no_reason_to_stay() {
    for (n, how) in ENDS.into_iter().enumerate() {
        let mut sandbox = Sandbox::new(&format!("end-booting-{n}"));
        if !sandbox.with_fs_server_that(&["deaf", "late=never"]) {
            return;
        }
        let mut session = Session::greeted(&sandbox);
        eventually("it is being started", || session.said().contains("fs"));
        session.ask("ping", json!({}));
        end(session, how);
        let script = sandbox.path("bin/npx");
        eventually("it is gone", || !runs(&script));
    }
}

/// Whether a process was started by this script, which hands its argument `late=never` on.
fn runs(script: &Path) -> bool {
    let sandbox = script.parent().unwrap().parent().unwrap().join("work");
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == sandbox)
            && std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.ends_with(b"late=never\0"))
    })
}

#[test]
fn what_is_unfinished_at_the_end_of_the_input_is_refused() {
    end_of_the_unfinished("input", End::Input);
}

#[test]
fn what_is_unfinished_on_a_signal_is_refused() {
    end_of_the_unfinished("term", End::Signal(Signal::TERM));
}

fn end_of_the_unfinished(name: &str, how: End) {
    let mut sandbox = Sandbox::new(&format!("end-calls-{name}"));
    if !sandbox.with_fs_server_that(&["more", "deaf"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let file = sandbox.path("work/file");
    // More than the way out holds at once.
    let ids: Vec<u64> = (0..400)
        .map(|_| session.request("tools/call", json!({"name": "fs_wait", "arguments": {"file": file}})))
        .collect();
    session.ask("ping", json!({}));
    let rest = end(session, how);
    for id in ids {
        let answers: Vec<&Value> = rest.iter().filter(|message| message["id"] == id).collect();
        assert_eq!(answers.len(), 1, "{how:?}: {id} in {rest:?}");
        assert!(answers[0]["error"]["message"].is_string(), "{answers:?}");
    }
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let sandbox = Sandbox::new("end-answered");
    let mut session = Session::start(&sandbox, Streams::Pipes);
    session.greet();
    let ids: Vec<u64> = (0..200)
        .map(|n| match n % 3 {
            0 => session.request("tools/list", json!({})),
            1 => session.request("tools/call", json!({"name": "search_skills", "arguments": {"query": "review"}})),
            _ => session.request("prompts/list", json!({})),
        })
        .collect();
    let (rest, _) = session.close();
    for id in ids {
        assert!(rest.iter().any(|message| message["id"] == id && message["result"].is_object()), "{id}");
    }
}

#[test]
fn a_client_that_stops_reading_ends_the_server() {
    for (n, streams) in [Streams::Pipes, Streams::Sockets].into_iter().enumerate() {
        let sandbox = Sandbox::new(&format!("end-unread-{n}"));
        let (to, from) = std::io::pipe().unwrap();
        let mut session = Session::start(&sandbox, streams);
        session.greet();
        drop((to, from));
        // The reader's thread ends with its receiver and closes the client's end.
        let (_, nothing) = std::sync::mpsc::channel();
        drop(std::mem::replace(&mut session.lines, nothing));
        eventually("it ends", || {
            // Written until the pipe breaks; the server finds out by its own writing.
            let _ = std::io::Write::write_all(
                session.to.as_mut().unwrap(),
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
            );
            session.process.try_wait().unwrap().is_some()
        });
    }
}

#[test]
fn a_client_that_reads_late_costs_no_memory() {
    let sandbox = Sandbox::new("end-flood");
    let mut command = sandbox.command(&["serve"]);
    let mut process = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut to = process.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        // Each list is some kilobytes: 60 MB of answers in all.
        for id in 0..16_000 {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
            if std::io::Write::write_all(&mut to, line.as_bytes()).is_err() {
                break;
            }
        }
    });
    settle(process.id());
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 40_000, "{kilobytes} kB");
    assert!(!writer.is_finished(), "the client cannot go on sending either");
    let out = process.stdout.take().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(out)).count();
    writer.join().unwrap();
    assert_eq!(lines, 16_000, "and once it reads, it gets everything");
    assert!(process.wait().unwrap().success());
}

/// Waits until a process has done nothing for a while: the flow has come to a halt.
pub(super) fn settle(id: u32) {
    let mut before = u64::MAX;
    eventually("the server waits for its client", || {
        let used = ticks(id);
        let waits = used == before;
        before = used;
        std::thread::sleep(Duration::from_millis(100));
        waits
    });
}

/// Processor time that a process has used, in clock ticks.
pub(super) fn ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
