//! What a client may use as streams, and how it may cut what it writes.

use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Sandbox, Session, Streams, eventually};

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

#[test]
fn a_line_may_come_in_pieces_and_lines_may_come_together() {
    let sandbox = Sandbox::new("streams-pieces");
    for streams in [Streams::Pipes, Streams::Sockets] {
        let mut session = Session::start(&sandbox, streams);
        for piece in [&PING[..1], &PING[1..20], &PING[20..], "\n"] {
            session.raw(piece);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(session.answer_to(1)["result"], json!({}));
        session.raw(format!("{PING}\n{}\n\n{PING}", PING.replace(":1,", ":2,")));
        assert_eq!(session.answer_to(1)["result"], json!({}));
        assert_eq!(session.answer_to(2)["result"], json!({}));
        // The last line has no end but the stream's.
        let (rest, _) = session.close();
        assert_eq!(rest, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
    }
}

#[test]
fn a_client_that_only_comes_to_leave_is_let_go() {
    let sandbox = Sandbox::new("streams-empty");
    for streams in [Streams::Pipes, Streams::Sockets] {
        let (rest, _) = Session::start(&sandbox, streams).close();
        assert_eq!(rest, Vec::<Value>::new());
    }
}

#[test]
fn files_are_streams_too() {
    let sandbox = Sandbox::new("streams-files");
    let list = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}";
    sandbox.write("work/in", format!("{PING}\n{list}\n"));
    let mut command = sandbox.command(&["serve"]);
    command.stdin(File::open(sandbox.path("work/in")).unwrap());
    command.stdout(File::create(sandbox.path("work/out")).unwrap()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    let ids: Vec<Value> = sandbox
        .read("work/out")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn a_call_under_way_at_the_end_has_time_to_finish() {
    for (n, streams) in [Streams::Pipes, Streams::Sockets].into_iter().enumerate() {
        let mut sandbox = Sandbox::new(&format!("streams-last-{n}"));
        if !sandbox.with_fs_server() {
            return;
        }
        let mut session = Session::start(&sandbox, streams);
        session.greet();
        session.wait_for_child();
        let id = session.request("tools/call", json!({"name": "fs_echo", "arguments": {"last": "words"}}));
        let (rest, _) = session.close();
        let answer = rest.iter().find(|message| message["id"] == id).unwrap();
        assert!(super::text(&answer["result"]).contains("words"), "{answer}");
    }
}

/// The client neither reads nor closes; a signal must do.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_server_whose_client_does_not_read() {
    use rustix::process::Signal;

    for signal in [Signal::TERM, Signal::INT] {
        let sandbox = Sandbox::new(&format!("streams-unread-{}", signal.as_raw()));
        let mut command = sandbox.command(&["serve"]);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut to = process.stdin.take().unwrap();
        let list = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
        let written = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = written.clone();
        let writer = std::thread::spawn(move || {
            while to.write_all(list).is_ok() {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        });
        let mut before = 0;
        eventually("the way out is full", || {
            std::thread::sleep(Duration::from_millis(100));
            let now = written.load(std::sync::atomic::Ordering::Relaxed);
            std::mem::replace(&mut before, now) == now && now > 0
        });
        super::end::send(process.id(), signal);
        let mut status = None;
        eventually("it ends", || {
            status = process.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.is_some_and(|status| status.success()), "{signal:?}: {status:?}");
        writer.join().unwrap();
    }
}
