//! How long a client waits for evokore, against an empty program: spawn → answer to `initialize` → answer to
//! `tools/list` of 120 tools, with four child servers configured.
//!
//! The baseline is a static C program whose `main` returns at once, from spawn to its end, started in turn with evokore
//! in the same run. `cargo bench --bench startup` prints medians and ratios; `-- --check` fails beyond the targets;
//! `-- --quick` takes fewer runs. Runs pin themselves to one core where `taskset` exists.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Most that the medians may be of the baseline's, and most kilobytes.
const TARGETS: Targets = Targets { greeting: 1.6, list: 1.8, memory: 5120 };
/// Tools that the measured profile must list.
const TOOLS: usize = 120;

struct Targets {
    greeting: f64,
    list: f64,
    memory: u64,
}

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--pinned") || !pinned(&arguments) {
        run(if has("--quick") { 25 } else { 100 }, has("--check"))
    } else {
        Ok(())
    }
}

/// Runs this program again on one core; false when that is not possible here.
fn pinned(arguments: &[String]) -> bool {
    let mut again = Command::new("taskset");
    again.args(["-c", "0"]).args(arguments).arg("--pinned");
    match again.status() {
        Ok(status) if status.success() => true,
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(_) => false,
    }
}

fn run(runs: usize, check: bool) -> Fallible<()> {
    let program = build_evokore()?;
    let empty = build_empty()?;
    // Where no configuration and no `.env` lies.
    std::env::set_current_dir("/")?;
    let mut table = Vec::new();
    for (name, requests, sockets) in [
        ("handshake, sockets", HANDSHAKE, true),
        ("handshake, pipes", HANDSHAKE, false),
        ("2026-07-28, sockets", MODERN, true),
        ("2026-07-28, pipes", MODERN, false),
    ] {
        let mut row = Row { name, ..Row::default() };
        for n in 0..runs + runs / 10 {
            let baseline = time_empty(&empty, sockets)?;
            let sample = time_evokore(&program, requests, sockets)?;
            if n >= runs / 10 {
                row.baseline.push(baseline);
                row.greeting.push(sample.greeting);
                row.list.push(sample.list);
                row.memory.push(sample.memory as f64);
            }
        }
        table.push(row);
    }
    let met = table.iter_mut().map(Row::print).collect::<Vec<_>>();
    if check && met.contains(&false) {
        return Err("beyond the targets".into());
    }
    Ok(())
}

#[derive(Default)]
struct Row {
    name: &'static str,
    baseline: Vec<f64>,
    greeting: Vec<f64>,
    list: Vec<f64>,
    memory: Vec<f64>,
}

impl Row {
    /// Prints the row and tells whether it is within the targets.
    #[expect(clippy::print_stdout, reason = "a bench talks to a person")]
    fn print(&mut self) -> bool {
        let [baseline, greeting, list, memory] =
            [&mut self.baseline, &mut self.greeting, &mut self.list, &mut self.memory].map(|values| median(values));
        let (greeting_ratio, list_ratio) = (greeting / baseline, list / baseline);
        println!(
            "{:<20} empty program {baseline:>4.0} µs | greeting {greeting:>4.0} µs = {greeting_ratio:.2} × (≤ {}) | \
             tools/list {list:>4.0} µs = {list_ratio:.2} × (≤ {}) | {memory:.0} kB (≤ {})",
            self.name, TARGETS.greeting, TARGETS.list, TARGETS.memory
        );
        greeting_ratio <= TARGETS.greeting && list_ratio <= TARGETS.list && memory <= TARGETS.memory as f64
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Sample {
    /// Microseconds from spawn to the complete answer.
    greeting: f64,
    list: f64,
    /// Resident kilobytes once both are there.
    memory: u64,
}

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

/// The far ends of a client's streams, for the program.
struct Far {
    stdin: OwnedFd,
    stdout: OwnedFd,
}

type Near = (Box<dyn std::io::Write>, Box<dyn std::io::Read>);

fn streams(sockets: bool) -> Fallible<(Near, Far)> {
    if sockets {
        let ((to, stdin), (from, stdout)) = (UnixStream::pair()?, UnixStream::pair()?);
        Ok(((Box::new(to), Box::new(from)), Far { stdin: stdin.into(), stdout: stdout.into() }))
    } else {
        let ((stdin, to), (from, stdout)) = (std::io::pipe()?, std::io::pipe()?);
        Ok(((Box::new(to), Box::new(from)), Far { stdin: stdin.into(), stdout: stdout.into() }))
    }
}

/// Starts either program, in the same way: no folder and no variable is changed for it, which would fork this process
/// instead of spawning.
fn spawn(program: &Path, far: Far) -> Fallible<Child> {
    Ok(Command::new(program).stdin(far.stdin).stdout(far.stdout).stderr(Stdio::null()).spawn()?)
}

/// The requests are in the streams before the program starts, as a client that does not wait would have it.
fn time_evokore(program: &Path, requests: &str, sockets: bool) -> Fallible<Sample> {
    let ((mut to, mut from), far) = streams(sockets)?;
    to.write_all(requests.as_bytes())?;
    let start = Instant::now();
    let mut child = spawn(program, far)?;
    let mut answers = Vec::with_capacity(1 << 20);
    let mut chunk = vec![0; 1 << 18];
    let mut ends = Vec::new();
    while ends.len() < 2 {
        let n = from.read(&mut chunk)?;
        if n == 0 {
            return Err("evokore ended without its answers".into());
        }
        let now = start.elapsed().as_secs_f64() * 1e6;
        let lines = chunk[..n].iter().filter(|byte| **byte == b'\n').count();
        ends.extend(std::iter::repeat_n(now, lines));
        answers.extend_from_slice(&chunk[..n]);
    }
    let memory = resident(&child)?;
    drop(to);
    child.wait()?;
    check_answers(&answers)?;
    Ok(Sample { greeting: ends[0], list: ends[1], memory })
}

fn check_answers(answers: &[u8]) -> Fallible<()> {
    let lines: Vec<serde_json::Value> =
        answers.split(|byte| *byte == b'\n').take(2).map(serde_json::from_slice).collect::<Result<_, _>>()?;
    let tools = lines[1]["result"]["tools"].as_array().ok_or("the second answer is no list")?;
    if lines[0]["id"] != 1 || lines[0]["result"].is_null() || tools.len() < TOOLS {
        return Err(format!("wrong answers: {} tools, first {}", tools.len(), lines[0]).into());
    }
    Ok(())
}

fn resident(child: &Child) -> Fallible<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn time_empty(program: &Path, sockets: bool) -> Fallible<f64> {
    let (_near, far) = streams(sockets)?;
    let start = Instant::now();
    spawn(program, far)?.wait()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// The static executable with the configuration of this bench.
fn build_evokore() -> Fallible<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target/startup");
    let status = Command::new(env!("CARGO"))
        .args(["static", "--quiet", "--target-dir"])
        .arg(&target)
        .env("EVOKORE_CONFIG_DIR", "benches/startup-config")
        .env_remove("RUSTFLAGS")
        .current_dir(root)
        .status()?;
    if !status.success() {
        return Err("`cargo static` failed".into());
    }
    Ok(target.join("x86_64-unknown-linux-gnu/release/evokore"))
}

fn build_empty() -> Fallible<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n")?;
    let status = Command::new("gcc").args(["-O2", "-static", "-o"]).arg(&program).arg(&source).status()?;
    if status.success() { Ok(program) } else { Err("gcc failed".into()) }
}
