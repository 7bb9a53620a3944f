//! How long a client waits for evokore, against an empty program: spawn → answer to `initialize` → answer to
//! `tools/list` of 120 tools, with four child servers configured.
//!
//! The baseline is a static C program whose `main` returns at once, from spawn to its end. Both are started by the same
//! code with the same streams, environment and folder, in turn, on one core; medians are compared.
//!
//! `cargo bench --bench startup` prints the figures, `-- --check` also fails beyond the targets, `-- --quick` takes
//! fewer samples. Only a start that does not work fails the last, so it can run on a busy machine.

use std::error::Error;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Most that the medians may be of the baseline's, and most kilobytes.
const TARGETS: Targets = Targets { greeting: 1.6, list: 1.8, memory: 5120.0 };
/// Tools that the measured profile must list.
const TOOLS: usize = 120;
/// Samples before the first one that counts, so that both programs are in memory.
const WARM_UP: usize = 10;

struct Targets {
    greeting: f64,
    list: f64,
    memory: f64,
}

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let (evokore, empty) = (build_evokore()?, build_empty()?);
    pin();
    let mut rows = CONVERSATIONS.map(|conversation| Row { conversation, samples: Vec::new() });
    let mut answers = Answers::default();
    for n in 0..WARM_UP + if has("--quick") { 40 } else { 1000 } {
        for row in &mut rows {
            let sample = row.conversation.sample(&empty, &evokore, &mut answers)?;
            if n < WARM_UP {
                answers.check()?;
            } else {
                row.samples.push(sample);
            }
        }
    }
    let met = report(&rows);
    if has("--check") && !met { Err("beyond the targets".into()) } else { Ok(()) }
}

/// Keeps this process and all it starts on one core, where the system can: moving between cores costs more than what
/// is measured, and falls on one program or the other by chance.
fn pin() {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
        let mut one = CpuSet::new();
        last.into_iter().for_each(|cpu| one.set(cpu));
        // Without it the figures are noisier, not wrong.
        let _ = sched_setaffinity(None, &one);
    }
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
        let memory = resident(&started.child)?;
        drop(started.to);
        started.child.wait()?;
        Ok(Sample { empty, greeting, list, memory })
    }

    /// Starts a program. The requests lie in its stream before it runs, as a client that does not wait would have it.
    fn start(&self, program: &Path) -> Fallible<Started> {
        let ((mut to, stdin), (stdout, from)) = (self.streams.pair()?, self.streams.pair()?);
        let (stdin, stdout) = match self.streams {
            Streams::Sockets => (stdin, stdout),
            Streams::Pipes => (stdin, stdout),
        };
        to.write_all(self.requests.as_bytes())?;
        let mut command = Command::new(program);
        command.stdin(stdin).stdout(stdout).stderr(Stdio::null()).env_clear().env("HOME", "/nonexistent");
        let at = Instant::now();
        let child = command.spawn()?;
        // `command` goes, and with it the program's ends of the streams, which are the child's alone from here on.
        Ok(Started { at, child, to, from })
    }
}
