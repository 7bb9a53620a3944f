//! A small MCP client, for `evokore try`: starts a server as a child process and asks it, as a client program would.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::Failure;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the server may take to end once its input is closed.
const GRACE: Duration = Duration::from_secs(3);

/// Lines of its stderr that are kept.
const KEPT_LINES: usize = 20;

/// A server that runs as our child.
#[derive(Debug)]
pub(crate) struct Client {
    process: Child,
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    last_id: u64,
    /// When the process was started.
    pub(crate) started: Instant,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The `result` member.
    pub(crate) result: Value,
    /// Bytes of the whole line.
    pub(crate) bytes: usize,
    /// From the request to here.
    pub(crate) took: Duration,
}

impl Client {
    /// Starts `executable serve` with `env` added to the environment.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(executable: &Path, env: &[(&str, &str)]) -> Result<Client, Failure> {
        let started = Instant::now();
        let mut process = Command::new(executable)
            .arg("serve")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::runtime(format!("cannot start `{}`: {error}", executable.display())))?;
        let (sender, lines) = channel();
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stdout) = process.stdout.take() {
            std::thread::spawn(move || each_line(stdout, |line| sender.send(line).is_ok()));
        }
        if let Some(output) = process.stderr.take() {
            let kept = stderr.clone();
            std::thread::spawn(move || {
                each_line(output, |line| {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.push_back(line);
                    if kept.len() > KEPT_LINES {
                        kept.pop_front();
                    }
                    true
                });
            });
        }
        let input = process.stdin.take();
        Ok(Client { process, input, lines, stderr, last_id: 0, started })
    }

    /// Shakes hands.
    ///
    /// # Errors
    /// The server ends, answers with an error or not at all.
    pub(crate) fn initialize(&mut self) -> Result<Answer, Failure> {
        let answer = self.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": { "name": "evokore-try", "version": super::version::VERSION },
            }),
        )?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(answer)
    }

    /// Sends a request and waits for its answer; what else comes meanwhile is dropped.
    ///
    /// # Errors
    /// The server ends, answers with an error or not at all.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Answer, Failure> {
        self.last_id += 1;
        let asked = Instant::now();
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }))?;
        loop {
            let line = match self.lines.recv_timeout(PATIENCE.saturating_sub(asked.elapsed())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let limit = PATIENCE.as_secs();
                    return Err(self.failure(&format!("the server did not answer `{method}` within {limit} s")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(method)),
            };
            let Ok(Value::Object(mut message)) = serde_json::from_str::<Value>(&line) else { continue };
            if message.get("id") != Some(&json!(self.last_id)) || message.contains_key("method") {
                continue;
            }
            if let Some(error) = message.get("error") {
                let text = error.get("message").and_then(Value::as_str).unwrap_or("no message");
                return Err(self.failure(&format!("the server refused `{method}`: {text}")));
            }
            let result = message.remove("result").unwrap_or_default();
            return Ok(Answer { result, bytes: line.len(), took: asked.elapsed() });
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// As [`Client::request`]; a result with `isError` is an answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, Failure> {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Closes its input and waits until it has ended; gives the time that took.
    ///
    /// # Errors
    /// It has to be killed.
    pub(crate) fn stop(mut self) -> Result<Duration, Failure> {
        let asked = Instant::now();
        self.input = None;
        // Its stdout ends with it, so waiting for lines is waiting for the end.
        while asked.elapsed() < GRACE {
            match self.lines.recv_timeout(GRACE.saturating_sub(asked.elapsed())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = self.process.wait();
                    return Ok(asked.elapsed());
                }
            }
        }
        Err(self.failure(&format!("the server did not end within {} s of its input", GRACE.as_secs())))
    }

    fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let sent = match &mut self.input {
            Some(input) => input.write_all(format!("{message}\n").as_bytes()).and_then(|()| input.flush()),
            None => return Ok(()),
        };
        sent.map_err(|_| self.ended("what was sent"))
    }

    fn ended(&mut self, method: &str) -> Failure {
        let code = match self.process.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        self.failure(&format!("the server ended before it answered `{method}`: {code}"))
    }

    /// A failure that quotes the end of the server's stderr.
    fn failure(&self, what: &str) -> Failure {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let said: String = kept.iter().map(|line| format!("\n  | {}", super::output::one_line(line, 400))).collect();
        let said = if said.is_empty() { said } else { format!("\nit said:{said}") };
        Failure::runtime(format!("{what}{said}")).hint("`evokore doctor` checks the configuration")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Already gone after `stop`; otherwise it must not outlive us.
        if let Ok(None) = self.process.try_wait() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// Hands each line to `take` until it says no or the stream ends.
fn each_line(stream: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if !take(text) {
            return;
        }
    }
}
