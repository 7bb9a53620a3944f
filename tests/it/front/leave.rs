//! Ends that find the server busy, its client deaf, or its terminal gone.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::end::{End, end, listens, lives, pid, send, settle, ticks};
use super::{Sandbox, Session, Streams, eventually};

#[test]
fn a_full_house_ends_with_its_client_and_everyone_is_told() {
    let mut sandbox = Sandbox::new("end-full");
    if !sandbox.with_fs_server_that(&["more"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    session.wait_for_child();
    let params = json!({"name": "fs_wait", "arguments": {"file": sandbox.path("work/file")}});
    // More than are served at once: further lines wait, and the end of the client's stream behind them.
    let ids: Vec<u64> = (0..1100).map(|_| session.request("tools/call", params.clone())).collect();
    let rest = end(session, End::Input);
    let refused = |id: &u64| rest.iter().filter(|message| message["id"] == *id && message["error"].is_object()).count();
    assert!(ids[..1024].iter().all(|id| refused(id) == 1), "{}", rest.len());
}

#[test]
fn a_client_that_reads_nothing_may_leave_as_well() {
    let sandbox = Sandbox::new("end-deaf-client");
    for how in [End::Input, End::Signal(Signal::TERM)] {
        let mut command = sandbox.command(&["serve"]);
        let (stdin, mut to) = std::io::pipe().unwrap();
        let (_from, stdout) = std::io::pipe().unwrap();
        let mut process = command.stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn().unwrap();
        drop(command);
        // Megabytes of answers; the requests themselves fit into a pipe.
        for id in 0..1000 {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
            std::io::Write::write_all(&mut to, line.as_bytes()).unwrap();
        }
        settle(process.id());
        match how {
            End::Input => drop(to),
            End::Signal(signal) => send(process.id(), signal),
        }
        eventually("it ends", || process.try_wait().unwrap().is_some());
    }
}

#[test]
fn a_closed_terminal_ends_it_unless_hangups_are_off() {
    let mut sandbox = Sandbox::new("end-hangup");
    if !sandbox.with_fs_server_that(&["deaf", "orphan"]) {
        return;
    }
    let mut session = Session::greeted(&sandbox);
    let about = session.wait_for_child();
    end(session, End::Signal(Signal::HUP));
    eventually("both are gone", || !lives(&about["pid"]) && !lives(&about["grandchild"]));

    let serve = sandbox.command(&["serve"]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" serve"]).arg(serve.get_program());
    for (name, value) in serve.get_envs() {
        shell.env(name, value.unwrap());
    }
    let mut session = Session::spawn(&mut shell, Streams::Pipes);
    session.greet();
    listens(session.process.id(), Signal::TERM);
    kill_process(pid(session.process.id()), Signal::HUP).unwrap();
    assert_eq!(session.ask("ping", json!({})), json!({}));
    session.close();
}

/// A tenth of a second of processor time, most of which starting costs.
const LITTLE: u64 = 10;

/// The end is waited for, not looked for.
#[test]
fn a_client_that_is_gone_costs_next_to_nothing() {
    for (n, streams) in [Streams::Pipes, Streams::Sockets].into_iter().enumerate() {
        let mut sandbox = Sandbox::new(&format!("end-gone-{n}"));
        if !sandbox.with_fs_server_that(&["deaf"]) {
            return;
        }
        // Both ends at once, as those of a client that is killed.
        let mut session = Session::start(&sandbox, streams);
        session.greet();
        session.wait_for_child();
        let id = session.process.id();
        let before = ticks(id);
        let (_, nothing) = std::sync::mpsc::channel();
        drop((session.to.take(), std::mem::replace(&mut session.lines, nothing)));
        // A process that has ended keeps its figures until it is asked for its status.
        eventually("it ends", || !lives(&json!(id)));
        assert!(ticks(id) - before < LITTLE, "{} ticks", ticks(id) - before);

        // Only what it writes to.
        let mut session = Session::start(&sandbox, streams);
        session.greet();
        session.wait_for_child();
        let id = session.process.id();
        let before = ticks(id);
        let (_, nothing) = std::sync::mpsc::channel();
        drop(std::mem::replace(&mut session.lines, nothing));
        // The reader's thread ends with the next line, and closes the client's end.
        session.request("ping", json!({}));
        settle(id);
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(ticks(id) - before < LITTLE, "{} ticks while it waits", ticks(id) - before);
        eventually("it ends", || {
            let _ = std::io::Write::write_all(
                session.to.as_mut().unwrap(),
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
            );
            !lives(&json!(id))
        });
        assert!(ticks(id) - before < LITTLE, "{} ticks", ticks(id) - before);
    }
}
