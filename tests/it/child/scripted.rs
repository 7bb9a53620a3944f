//! Child servers that a test plays itself, in process, with the clock paused.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use evokore::child::{
    ChildCall, ChildError, ChildReply, ChildSettings, ChildSink, ChildTool, Children, Connection, Group, LaunchError,
    Launched, Launcher, Patience, SkippedTool, Stats, Taken, Wires,
};
use evokore_catalog::server::{ServerSpec, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};

/// The child's end of a connection.
pub(super) struct Child {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
}

impl Child {
    /// A child, and the streams to talk to it.
    pub(super) fn new() -> (Child, DuplexStream) {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (reader, out) = tokio::io::split(far);
        (Child { lines: BufReader::new(reader).lines(), out }, near)
    }

    /// The next message as text; `None` when stdin is closed.
    pub(super) async fn line(&mut self) -> Option<String> {
        self.lines.next_line().await.expect("readable")
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Value {
        let line = self.line().await.expect("a message");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next message, which must be of this method; its id.
    pub(super) async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        message["id"].clone()
    }

    /// Says something; a line end is added.
    pub(super) async fn say(&mut self, text: impl AsRef<[u8]>) {
        self.write(text).await;
        self.write("\n").await;
    }

    /// Writes bytes. Once the other side is gone, nobody listens.
    pub(super) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.out.write_all(bytes.as_ref()).await;
    }

    /// Answers request `id`.
    pub(super) async fn answer(&mut self, id: &Value, result: &str) {
        self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    /// Plays the handshake and lists tools of these names.
    pub(super) async fn boot(&mut self, tools: &[&str]) {
        let id = self.expect("initialize").await;
        self.answer(&id, r#"{"protocolVersion":"2025-06-18","serverInfo":{"name":"played","version":"1"}}"#).await;
        self.expect("notifications/initialized").await;
        self.list(tools).await;
    }

    /// Answers `tools/list`.
    pub(super) async fn list(&mut self, tools: &[&str]) {
        let id = self.expect("tools/list").await;
        self.answer(&id, &listing(tools)).await;
    }
}

/// A `tools/list` result.
pub(super) fn listing(tools: &[&str]) -> String {
    let tools: Vec<_> = tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    json!({"tools": tools}).to_string()
}

/// A connection with a line limit, and its child.
pub(super) fn connect(max_line: usize) -> (Connection, Child, Arc<Stats>) {
    let (child, near) = Child::new();
    let (reader, writer) = tokio::io::split(near);
    let stats = Arc::new(Stats::default());
    (Connection::open("s", reader, writer, max_line, stats.clone(), no_sink()), child, stats)
}

/// A call of `tool` without arguments.
pub(super) fn to(tool: &str) -> ChildCall {
    ChildCall { tool: tool.to_owned(), ..ChildCall::default() }
}

/// Starts a call in the background.
pub(super) fn spawn(
    connection: &Connection,
    call: ChildCall,
) -> tokio::task::JoinHandle<Result<ChildReply, ChildError>> {
    let connection = connection.clone();
    let patience = Patience { idle: Duration::from_secs(60), total: Duration::from_secs(600) };
    tokio::spawn(async move { connection.call(call, patience).await })
}

/// The result that `text` is.
pub(super) fn result(text: &str) -> Result<ChildReply, ChildError> {
    Ok(ChildReply::Result(Bytes::from(text.to_owned())))
}

/// A spec of a scripted server.
pub(super) fn spec(id: &'static str) -> ServerSpec {
    ServerSpec {
        id,
        transport: Transport::Stdio { command: "played", args: &[], env: &[], cwd: None },
        ..ServerSpec::ABSENT
    }
}

/// One start of a scripted server.
pub(super) struct Run {
    pub(super) id: &'static str,
    pub(super) child: Child,
    pub(super) stderr: DuplexStream,
    /// Sending ends the process.
    pub(super) exit: oneshot::Sender<String>,
    /// Signals its group got.
    pub(super) signals: Arc<Mutex<Vec<&'static str>>>,
}

/// Hands each start to the test.
struct Stage {
    runs: mpsc::UnboundedSender<Run>,
    refuse: Option<LaunchError>,
}

struct PlayedGroup(Arc<Mutex<Vec<&'static str>>>);

impl Group for PlayedGroup {
    fn terminate(&self) {
        self.0.lock().unwrap().push("TERM");
    }
    fn kill(&self) {
        self.0.lock().unwrap().push("KILL");
    }
    fn is_empty(&self) -> bool {
        true
    }
}

impl Launcher for Stage {
    fn launch(&self, spec: &ServerSpec) -> Result<Launched, LaunchError> {
        if let Some(error) = &self.refuse {
            return Err(error.clone());
        }
        let (child, near) = Child::new();
        let (stdout, stdin) = tokio::io::split(near);
        let (stderr, near_stderr) = tokio::io::duplex(64 << 10);
        let (exit, ended) = oneshot::channel();
        let signals = Arc::<Mutex<Vec<_>>>::default();
        let group = Box::new(PlayedGroup(signals.clone()));
        let _ = self.runs.send(Run { id: spec.id, child, stderr, exit, signals });
        Ok(Launched {
            wires: Wires::Streams { stdin: Box::new(stdin), stdout: Box::new(stdout) },
            stderr: Some(Box::new(near_stderr)),
            exit: Box::pin(async move {
                match ended.await {
                    Ok(how) => how,
                    Err(_) => std::future::pending().await,
                }
            }),
            group,
        })
    }
}

/// Servers on a stage, and everything they tell us.
pub(super) struct Theatre {
    pub(super) children: Children,
    runs: mpsc::UnboundedReceiver<Run>,
    sink: Arc<Recorder>,
    events: mpsc::UnboundedReceiver<String>,
    said: Arc<Mutex<Vec<String>>>,
}

struct Recorder {
    events: mpsc::UnboundedSender<String>,
    unusable: Mutex<Vec<&'static str>>,
}

impl ChildSink for Recorder {
    fn tools(&self, server: u16, tools: Vec<ChildTool>) -> Taken {
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let _ = self.events.send(format!("{server}: {}", names.join(" ")));
        let unusable = self.unusable.lock().unwrap();
        let bad = unusable.iter().filter(|bad| names.contains(bad));
        let skipped = bad.map(|name| SkippedTool { name: (*name).to_owned(), reason: "unusable".to_owned() });
        Taken { skipped: skipped.collect(), ..Taken::default() }
    }
    fn gone(&self, server: u16) {
        let _ = self.events.send(format!("{server}: gone"));
    }
}

impl Theatre {
    /// Starts the servers; boot time-out 30 s, call time-out 60 s.
    pub(super) fn open(specs: Vec<ServerSpec>) -> Theatre {
        Theatre::with(specs, None, |_| ())
    }

    /// The same with other settings.
    pub(super) fn set(specs: Vec<ServerSpec>, change: impl FnOnce(&mut ChildSettings)) -> Theatre {
        Theatre::with(specs, None, change)
    }

    /// Starts servers that the launcher refuses to start.
    pub(super) fn refusing(specs: Vec<ServerSpec>, error: LaunchError) -> Theatre {
        Theatre::with(specs, Some(error), |_| ())
    }

    fn with(specs: Vec<ServerSpec>, refuse: Option<LaunchError>, change: impl FnOnce(&mut ChildSettings)) -> Theatre {
        let (sender, runs) = mpsc::unbounded_channel();
        let (events_out, events) = mpsc::unbounded_channel();
        let said = Arc::<Mutex<Vec<_>>>::default();
        let log = said.clone();
        let say = Arc::new(move |line: &str| log.lock().unwrap().push(line.to_owned()));
        let mut settings = ChildSettings::new(Arc::new(|_: &str| None), say);
        change(&mut settings);
        let sink = Arc::new(Recorder { events: events_out, unusable: Mutex::default() });
        let stage = Arc::new(Stage { runs: sender, refuse });
        let children = Children::start_with(specs.leak(), settings, sink.clone(), stage);
        Theatre { children, runs, sink, events, said }
    }

    /// From now on the merge cannot use tools of this name.
    pub(super) fn reject(&self, name: &'static str) {
        self.sink.unusable.lock().unwrap().push(name);
    }

    /// The next start of a server.
    pub(super) async fn run(&mut self) -> Run {
        self.runs.recv().await.expect("a start")
    }

    /// The next change the sink was told of.
    pub(super) async fn event(&mut self) -> String {
        self.events.recv().await.expect("an event")
    }

    /// Changes the sink was told of that nobody has asked for yet.
    pub(super) fn events(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// What was said so far, as lines.
    pub(super) fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }

    /// Calls a tool of server `server` in the background.
    pub(super) fn call(&self, server: u16, tool: &str) -> tokio::task::JoinHandle<Result<ChildReply, ChildError>> {
        self.make(server, to(tool))
    }

    /// Makes a call to server `server` in the background.
    pub(super) fn make(&self, server: u16, call: ChildCall) -> tokio::task::JoinHandle<Result<ChildReply, ChildError>> {
        let children = self.children.clone();
        tokio::spawn(async move { children.call(server, call).await })
    }
}

/// A sink that takes everything and tells nobody.
pub(super) fn no_sink() -> Arc<dyn ChildSink> {
    let (events, _) = mpsc::unbounded_channel();
    Arc::new(Recorder { events, unusable: Mutex::default() })
}
