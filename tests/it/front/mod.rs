//! The server as its clients meet it: the real executable, real streams, JSON lines.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod adversary;
mod approval;
mod asks;
mod audit;
mod bytes;
mod calls;
mod descriptors;
mod drift;
mod end;
mod environment;
mod eras;
mod failures;
mod gates;
mod guard;
mod leave;
mod library;
mod lines;
mod lists;
mod logs;
mod modes;
mod odd;
mod offers;
mod parked;
mod played;
#[cfg(feature = "http")]
mod remote;
mod results;
mod rounds;
mod servers;
mod streams;
mod subscriptions;
mod tasks;

use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cli::Sandbox;

/// No answer takes so long, on a loaded machine either.
const LONG: Duration = Duration::from_secs(20);

/// What a client hands its server as stdin and stdout.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Streams {
    /// As Python does.
    Pipes,
    /// As Node does.
    Sockets,
}

/// A running server and its client's ends.
pub(crate) struct Session {
    process: Child,
    to: Option<Box<dyn Write>>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    last_id: u64,
    /// What came besides answers.
    notes: Vec<Value>,
}

impl Session {
    /// Starts the server in `sandbox`, over pipes, and shakes hands.
    fn greeted(sandbox: &Sandbox) -> Session {
        let mut session = Session::start(sandbox, Streams::Pipes);
        session.greet();
        session
    }

    /// Starts the server in `sandbox`.
    fn start(sandbox: &Sandbox, streams: Streams) -> Session {
        Session::spawn(&mut sandbox.command(&["serve"]), streams)
    }

    /// Starts what is a server.
    pub(crate) fn spawn(command: &mut Command, streams: Streams) -> Session {
        let (to, from, stdin, stdout): (Box<dyn Write>, Box<dyn Read + Send>, OwnedFd, OwnedFd) = match streams {
            Streams::Pipes => {
                let ((stdin, to), (from, stdout)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
                (Box::new(to), Box::new(from), stdin.into(), stdout.into())
            }
            Streams::Sockets => {
                let ((to, stdin), (from, stdout)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
                (Box::new(to), Box::new(from), stdin.into(), stdout.into())
            }
        };
        let mut process = command.stdin(stdin).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
        // The command holds the server's ends, which would keep the streams open.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = String::new();
            while from.read_line(&mut line).is_ok_and(|n| n > 0) && sender.send(std::mem::take(&mut line)).is_ok() {}
        });
        let (stderr, pipe) = (Arc::<Mutex<String>>::default(), process.stderr.take().unwrap());
        let said = stderr.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut said = said.lock().unwrap();
                said.push_str(&line);
                said.push('\n');
            }
        });
        Session { process, to: Some(to), lines, stderr, last_id: 0, notes: Vec::new() }
    }

    /// Shakes hands in the newest version that has a handshake.
    pub(crate) fn greet(&mut self) -> Value {
        let answer = self.ask("initialize", hello("2025-11-25"));
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Sends bytes as they are.
    fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        let to = self.to.as_mut().unwrap();
        to.write_all(bytes.as_ref()).and_then(|()| to.flush()).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n"));
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request, and gives back its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// Sends a request and waits for its answer: the whole message.
    pub(crate) fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    /// Waits for the answer to request `id`, unless it has come already; keeps what comes before it.
    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.notes.iter().position(is_it) {
            return self.notes.remove(at);
        }
        loop {
            let message = self.next(LONG).unwrap_or_else(|| panic!("no answer to request {id}"));
            if is_it(&message) {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// Sends a request and waits for its result.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    }

    /// Calls a tool and gives back its result.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Names of the listed tools.
    fn listed(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", json!({}));
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The next message, if one comes in time. Every line must be one.
    fn next(&mut self, patience: Duration) -> Option<Value> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"))),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Messages other than answers, those included that come within `patience` from now.
    fn notes(&mut self, patience: Duration) -> Vec<Value> {
        let end = Instant::now() + patience;
        while let Some(message) = self.next(end.saturating_duration_since(Instant::now())) {
            self.notes.push(message);
        }
        std::mem::take(&mut self.notes)
    }

    /// Waits for a message of this method; gives back what has come by then, and what comes until `patience` after it.
    fn told(&mut self, method: &str, patience: Duration) -> Vec<Value> {
        while !self.notes.iter().any(|note| note["method"] == method) {
            let message = self.next(LONG).unwrap_or_else(|| panic!("no {method} in {:?}", self.notes));
            self.notes.push(message);
        }
        self.notes(patience)
    }

    /// Waits until a call to the test server behind `fs` is answered by it.
    fn wait_for_child(&mut self) -> Value {
        let about = self.call("fs_about", json!({}));
        assert!(about["structuredContent"]["pid"].is_u64(), "{about} {}", self.said());
        about["structuredContent"].clone()
    }

    /// Closes the client's end, and reads what still comes. Gives back that, and how long the end took.
    pub(crate) fn close(mut self) -> (Vec<Value>, Duration) {
        let start = Instant::now();
        drop(self.to.take());
        let mut rest = Vec::new();
        while let Some(message) = self.next(LONG) {
            rest.push(message);
        }
        assert!(self.process.wait().unwrap().success());
        (rest, start.elapsed())
    }

    /// What is on stderr by now.
    pub(crate) fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Most tests leave a server that runs. It must end its children, which a killed one cannot.
        drop(self.to.take());
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end && self.process.try_wait().is_ok_and(|status| status.is_none()) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Parameters of `initialize`.
fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// `params` as revision 2026-07-28 wants them.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// The text of a result's first content block.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Waits until `done`, as long as anything may take.
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "{what} never comes true");
        std::thread::sleep(Duration::from_millis(5));
    }
}
