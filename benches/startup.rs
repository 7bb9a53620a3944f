//! How long a client waits for evokore, against an empty program: spawn → answer to `initialize` → answer to
//! `tools/list` of 120 tools, with four child servers configured.
//!
//! The baseline is a static C program whose `main` returns at once, from spawn to its end. Both are started by the same
//! code from fresh copies, with the same streams, environment and folder, in turn, on one core; medians are compared.
//!
//! `cargo bench --bench startup` prints the figures, `-- --check` also fails beyond the targets, `-- --quick` takes
//! fewer samples. Only a start that does not work fails the last, so it can run on a busy machine.

mod support;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::peer::resident;
use support::{Fallible, OneCore, build_evokore, has, install, median};

/// Most that the medians may be of the baseline's, and most kilobytes.
const TARGETS: Targets = Targets { greeting: 1.6, list: 1.8, memory: 5120.0 };
/// Tools that the measured profile must list.
const TOOLS: usize = 120;
/// Samples before the first one that counts, so that both programs are in memory.
const WARM_UP: usize = 10;
/// Before each start.
const PAUSE: Duration = Duration::from_millis(1);

struct Targets {
    greeting: f64,
    list: f64,
    memory: f64,
}

fn main() -> Fallible<()> {
    let (evokore, empty) = (install(&build_evokore()?)?, install(&build_empty()?)?);
    let _core = OneCore::pin();
    let mut rows = CONVERSATIONS.map(|conversation| Row { conversation, samples: Vec::new() });
    let mut answers = Answers::new();
    for n in 0..WARM_UP + if has("--quick") { 40 } else { 1000 } {
        // A busy machine interrupts at regular times: let that not be the same row's turn each time.
        rows.rotate_left(1);
        for row in &mut rows {
            let sample = row.conversation.sample(&empty, &evokore, &mut answers)?;
            if n < WARM_UP {
                answers.check()?;
            } else {
                row.samples.push(sample);
            }
        }
    }
    rows.sort_by_key(|row| row.conversation.name);
    let met = report(&rows);
    if has("--check") && !met { Err("beyond the targets".into()) } else { Ok(()) }
}

#[derive(Clone, Copy)]
struct Conversation {
    name: &'static str,
    requests: &'static str,
    streams: Streams,
}

/// What the client connects to the program. Node makes sockets, Python pipes.
#[derive(Clone, Copy)]
enum Streams {
    Sockets,
    Pipes,
}

const CONVERSATIONS: [Conversation; 4] = [
    Conversation { name: "2025-11-25, sockets", requests: HANDSHAKE, streams: Streams::Sockets },
    Conversation { name: "2025-11-25, pipes", requests: HANDSHAKE, streams: Streams::Pipes },
    Conversation { name: "2026-07-28, sockets", requests: MODERN, streams: Streams::Sockets },
    Conversation { name: "2026-07-28, pipes", requests: MODERN, streams: Streams::Pipes },
];

const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
    "\n"
);

const MODERN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    "\n"
);

/// Microseconds from the spawn, and resident kilobytes once both answers are there.
struct Sample {
    empty: f64,
    greeting: f64,
    list: f64,
    memory: f64,
}

impl Conversation {
    fn sample(&self, empty: &Path, evokore: &Path, answers: &mut Answers) -> Fallible<Sample> {
        let mut started = self.start(empty)?;
        started.child.wait()?;
        let empty = started.elapsed();

        let mut started = self.start(evokore)?;
        let [greeting, list] = answers.read(&mut started)?;
        let memory = resident(started.child.id())?;
        drop(started.to);
        started.child.wait()?;
        Ok(Sample { empty, greeting, list, memory })
    }

    /// Starts a program. The requests lie in its stream before it runs, as a client that does not wait would have it.
    fn start(&self, program: &Path) -> Fallible<Started> {
        let ((stdin, mut to), (from, stdout)) = (self.streams.pair()?, self.streams.pair()?);
        to.write_all(self.requests.as_bytes())?;
        let mut command = Command::new(program);
        command.stdin(stdin).stdout(stdout).stderr(Stdio::null()).env_clear().env("HOME", "/nonexistent");
        command.env("EVOKORE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
        // Who has just slept is not interrupted for others that want the core.
        std::thread::sleep(PAUSE);
        let at = Instant::now();
        let child = command.spawn()?;
        // With `command` go the child's ends of the streams: from here on they are its own.
        Ok(Started { at, child, to, from })
    }
}

impl Streams {
    /// The end to read from and the end to write to.
    fn pair(self) -> std::io::Result<(File, File)> {
        match self {
            Streams::Sockets => UnixStream::pair().map(|(read, write)| (open(read), open(write))),
            Streams::Pipes => std::io::pipe().map(|(read, write)| (open(read), open(write))),
        }
    }
}

fn open(end: impl Into<OwnedFd>) -> File {
    File::from(end.into())
}

/// A program that runs.
struct Started {
    at: Instant,
    child: Child,
    to: File,
    from: File,
}

impl Started {
    fn elapsed(&self) -> f64 {
        self.at.elapsed().as_secs_f64() * 1e6
    }
}

/// What a program answers. One buffer for all samples: the pages of a fresh one would come in while the clock runs.
struct Answers {
    buffer: Vec<u8>,
    len: usize,
}

impl Answers {
    fn new() -> Answers {
        // Not zeros: those would be pages that are not there yet.
        Answers { buffer: vec![b'\n'; 4 << 20], len: 0 }
    }

    /// Reads two answers and tells when each was complete.
    fn read(&mut self, started: &mut Started) -> Fallible<[f64; 2]> {
        self.len = 0;
        let mut ends = Vec::with_capacity(2);
        while ends.len() < 2 {
            let n = started.from.read(&mut self.buffer[self.len..])?;
            if n == 0 {
                return Err("evokore ended without its answers".into());
            }
            let now = started.elapsed();
            let lines = memchr::memchr_iter(b'\n', &self.buffer[self.len..self.len + n]).count();
            ends.extend(std::iter::repeat_n(now, lines));
            self.len += n;
        }
        Ok([ends[0], ends[1]])
    }

    fn check(&self) -> Fallible<()> {
        let lines = self.buffer[..self.len].split(|byte| *byte == b'\n').take(2);
        let lines: Vec<Value> = lines.map(serde_json::from_slice).collect::<Result<_, _>>()?;
        let [first, second] = &lines[..] else { return Err("not two answers".into()) };
        let tools = second["result"]["tools"].as_array().map_or(0, Vec::len);
        if first["id"] != 1 || first["result"].is_null() || second["id"] != 2 || tools < TOOLS {
            return Err(format!("wrong answers: {tools} tools, and first {first}").into());
        }
        Ok(())
    }
}

struct Row {
    conversation: Conversation,
    samples: Vec<Sample>,
}

/// Prints the table and tells whether every row is within the targets.
#[expect(clippy::print_stdout, reason = "a bench talks to a person")]
fn report(rows: &[Row]) -> bool {
    let empty = median(rows.iter().flat_map(|row| &row.samples).map(|sample| sample.empty));
    println!("empty: a static C program that returns at once, spawn to end, {empty:.0} µs\n");
    println!("                      first answer          tools/list            memory");
    let mut met = true;
    for Row { conversation, samples } in rows {
        let greeting = median(samples.iter().map(|sample| sample.greeting));
        let list = median(samples.iter().map(|sample| sample.list));
        let memory = median(samples.iter().map(|sample| sample.memory));
        println!(
            "{:<20}  {greeting:>4.0} µs = {:.2} × empty  {list:>4.0} µs = {:.2} × empty  {memory:.0} kB",
            conversation.name,
            greeting / empty,
            list / empty,
        );
        met &= greeting <= TARGETS.greeting * empty && list <= TARGETS.list * empty && memory <= TARGETS.memory;
    }
    let Targets { greeting, list, memory } = TARGETS;
    println!("targets               ≤ {greeting} ×               ≤ {list} ×               ≤ {memory:.0} kB");
    met
}

fn build_empty() -> Fallible<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n")?;
    let status = Command::new("gcc").args(["-O2", "-static", "-o"]).arg(&program).arg(&source).status()?;
    if status.success() { Ok(program) } else { Err("gcc failed".into()) }
}
