//! A server over HTTP that listens on a real socket, and what speaks to it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use evokore::child::{ChildCall, ChildError, ChildReply, ChildSettings, ChildStatus, Children, Status};
use evokore_catalog::server::{Dialect, ServerSpec, Transport};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::process::has_python;
use super::scripted::{no_sink, spec, to};

/// Long enough for a loaded machine.
pub(super) const LONG: Duration = Duration::from_secs(30);

/// The server of `tests/it/support/remote.py`, until it is dropped.
pub(crate) struct Server {
    process: Child,
    pub(super) port: u16,
}

impl Server {
    /// Starts it with these habits; `None`, said loudly, where there is no Python.
    pub(crate) fn start(habits: &[&str]) -> Option<Server> {
        if !has_python() {
            return None;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/remote.py");
        let mut process = Command::new("python3")
            .arg(script)
            .args(habits)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Server { process, port: line.trim().parse().unwrap() })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// evokore's side.
pub(super) struct Near {
    pub(super) children: Children,
    pub(super) said: Arc<Mutex<Vec<String>>>,
}

impl Near {
    pub(super) fn to(url: &str) -> Near {
        Near::with(url, &[], &[])
    }

    pub(super) fn with(
        url: &str,
        headers: &'static [(&'static str, &'static str)],
        variables: &[(&str, &str)],
    ) -> Near {
        let transport = Transport::Http { url: url.to_owned().leak(), headers, dialect: Dialect::Either };
        Near::by(ServerSpec { transport, ..spec("far") }, variables)
    }

    /// Speaks to the server of `spec`.
    pub(super) fn by(spec: ServerSpec, variables: &[(&str, &str)]) -> Near {
        let specs = vec![spec].leak();
        let said = Arc::<Mutex<Vec<_>>>::default();
        let log = said.clone();
        let own: Vec<_> = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let lookup = move |name: &str| own.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let say = move |line: &str| log.lock().unwrap().push(line.to_owned());
        let mut settings = ChildSettings::new(Arc::new(lookup), Arc::new(say));
        settings.call_timeout = Duration::from_secs(20);
        Near { children: Children::start(specs, settings, no_sink()), said }
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ChildError> {
        self.make(ChildCall { arguments: Some(Bytes::from(arguments.to_string())), ..to(tool) }).await
    }

    /// Makes a call that must not be answered with an error of the protocol; its structured result.
    pub(super) async fn make(&self, call: ChildCall) -> Result<Value, ChildError> {
        match timeout(LONG, self.children.call(0, call)).await.expect("an answer")? {
            ChildReply::Result(bytes) => {
                Ok(serde_json::from_slice::<Value>(&bytes).unwrap()["structuredContent"].clone())
            }
            ChildReply::InputRequired(bytes) | ChildReply::Task(bytes) | ChildReply::Error(bytes) => {
                panic!("{bytes:?}")
            }
        }
    }

    /// Why a call fails.
    pub(super) async fn failure(&self) -> String {
        self.call("echo", json!({})).await.expect_err("it fails").to_string()
    }

    /// What the server has been asked, so far.
    pub(super) async fn requests(&self) -> Vec<Value> {
        self.call("requests", json!({})).await.unwrap()["requests"].as_array().unwrap().clone()
    }

    pub(super) fn status(&self) -> ChildStatus {
        self.children.status().remove(0)
    }

    /// Waits until the server is not booting any more; its status.
    pub(super) async fn settled(&self) -> ChildStatus {
        let start = Instant::now();
        while matches!(self.status().status, Status::Booting) {
            assert!(start.elapsed() < LONG, "{:?}", self.said.lock().unwrap());
            sleep(Duration::from_millis(5)).await;
        }
        self.status()
    }

    /// Waits until the server has been asked for what `is_there` looks for; everything it has been asked.
    pub(super) async fn asked(&self, is_there: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let start = Instant::now();
        loop {
            let requests = self.requests().await;
            if is_there(&requests) {
                return requests;
            }
            assert!(start.elapsed() < LONG, "{requests:#?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until this has been said; everything that has.
    pub(super) async fn hears(&self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let said = self.said.lock().unwrap().join("\n");
            if said.contains(text) {
                return said;
            }
            assert!(start.elapsed() < LONG, "`{text}` is not in: {said}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

pub(super) fn count(requests: &[Value], verb: &str, method: Option<&str>) -> usize {
    let is_it = |request: &&Value| request["verb"] == verb && method.is_none_or(|method| request["method"] == method);
    requests.iter().filter(is_it).count()
}
