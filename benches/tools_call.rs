//! What evokore adds to a call of a child server's tool, against the same child called directly, over pipes.
//!
//! The child is one that answers at once (`support/echo.rs`). Both ways are taken in turn, in rounds; of each row the
//! quietest round counts, because a busy machine can only make a round slower. Calls one at a time, large results and
//! lists run on one core, where a round trip costs its system calls and no moving between cores; many calls at once run
//! on all of them. `CPU` is what evokore's threads ran, whatever else the machine did.
//!
//! `cargo bench --bench tools_call` prints the figures, `-- --check` also fails beyond the targets, `-- --quick` takes
//! few samples. Only wrong answers fail the last, so it can run on a busy machine.

mod support;

use std::collections::HashSet;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use support::peer::{LIST, Peer};
use support::{Fallible, OneCore, build_evokore, echo, has, install, median, quantile};

/// Most microseconds that evokore adds to the median of a small call, and most that its 99th percentile is of the direct one.
const SMALL: (f64, f64) = (25.0, 3.0);
/// Least requests a second with [`WINDOW`] of them under way.
const RATE: f64 = 100_000.0;
/// Most microseconds that it adds to the median of a large result.
const LARGE: f64 = 1500.0;
/// Most that a call, and the list for each tool, may take of ten children as against one.
const CROWD: f64 = 1.25;
/// Most milliseconds from the start of the process to the answer to a call, while another child still boots.
const FIRST: f64 = 20.0;

/// Requests under way at once.
const WINDOW: u64 = 32;
/// Tools of each child.
const TOOLS: usize = 100;

fn main() -> Fallible<()> {
    if echo::play_if_asked()? {
        return Ok(());
    }
    let quick = has("--quick");
    let bench = Bench {
        evokore: install(&build_evokore()?)?,
        child: std::env::current_exe()?,
        rounds: if quick { 2 } else { 15 },
        calls: if quick { 100 } else { 2_000 },
    };
    print(&["", "direct", "evokore", "", "target"]);
    let mut met = bench.small()?;
    met &= bench.many()?;
    met &= bench.large()?;
    print(&["", "1 child", "10 children", "", ""]);
    met &= bench.crowd()?;
    print(&["", "", "", "", ""]);
    met &= bench.first()?;
    if has("--check") && !met { Err("beyond the targets".into()) } else { Ok(()) }
}

struct Bench {
    evokore: PathBuf,
    child: PathBuf,
    rounds: u64,
    /// Small calls in a round.
    calls: u64,
}

impl Bench {
    /// The child, called directly.
    fn direct(&self) -> Fallible<Peer> {
        let mut peer = Peer::start(&self.child, &["child", "100"], &[])?;
        peer.greet()?;
        peer.lists(TOOLS)?;
        Ok(peer)
    }

    /// evokore with one child or ten of them.
    fn through(&self, children: usize) -> Fallible<Peer> {
        let variables = [("BENCH_CHILD", self.child.as_os_str()), ("BENCH_CHILDREN", self.child.as_os_str())];
        let mut peer = Peer::start(&self.evokore, &[], &variables[..children.min(2)])?;
        peer.greet()?;
        // Before any child is up.
        let own = peer.list()?;
        peer.lists(own + children * TOOLS)?;
        Ok(peer)
    }

    fn small(&self) -> Fallible<bool> {
        let _core = OneCore::pin();
        let (mut direct, mut through) = (self.direct()?, self.through(1)?);
        let [mut one, mut other] = [Best::default(), Best::default()];
        for _ in 0..self.rounds {
            one.round(&mut direct, self.calls, |peer, id| small(peer, "echo0", id))?;
            other.round(&mut through, self.calls, |peer, id| small(peer, "echo_echo0", id))?;
        }
        let (added, ratio) = (other.median - one.median, other.late / one.late);
        print(&["one small call", &micros(one.median), &micros(other.median), &plus(added), &plus(SMALL.0)]);
        print(&["  99th percentile", &micros(one.late), &micros(other.late), &times(ratio), &times(SMALL.1)]);
        print(&["  CPU", &micros(one.cpu), &micros(other.cpu), "", ""]);
        Ok(added <= SMALL.0 && ratio <= SMALL.1)
    }

    fn many(&self) -> Fallible<bool> {
        let (mut direct, mut through) = (self.direct()?, self.through(1)?);
        let calls = self.calls * 10;
        let [mut one, mut other] = [Best::default(), Best::default()];
        for _ in 0..self.rounds {
            one.round(&mut direct, 1, |peer, _| at_once(peer, "echo0", calls))?;
            other.round(&mut through, 1, |peer, _| at_once(peer, "echo_echo0", calls))?;
        }
        let rate = |best: &Best| calls as f64 / best.median * 1e6;
        let ratio = rate(&other) / rate(&one);
        let name = format!("{WINDOW} at once, per second");
        let figures = [rate(&one), rate(&other), RATE].map(|rate| format!("{rate:.0}"));
        print(&[&name, &figures[0], &figures[1], &times(ratio), &figures[2]]);
        print(&["  CPU of one", &micros(one.cpu / calls as f64), &micros(other.cpu / calls as f64), "", ""]);
        Ok(rate(&other) >= RATE)
    }

    fn large(&self) -> Fallible<bool> {
        let _core = OneCore::pin();
        let (mut direct, mut through) = (self.direct()?, self.through(1)?);
        let size = large(&mut direct, "large", 0)?.len();
        let [mut one, mut other] = [Best::default(), Best::default()];
        for _ in 0..self.rounds {
            one.round(&mut direct, 20, |peer, id| large(peer, "large", id).map(drop))?;
            other.round(&mut through, 20, |peer, id| large(peer, "echo_large", id).map(drop))?;
            if large(&mut direct, "large", 0)? != large(&mut through, "echo_large", 0)? {
                return Err("the large result does not come as it was sent".into());
            }
        }
        let added = other.median - one.median;
        let name = format!("one result of {:.2} MB", size as f64 / 1e6);
        print(&[&name, &micros(one.median), &micros(other.median), &plus(added), &plus(LARGE)]);
        print(&["  CPU", &micros(one.cpu), &micros(other.cpu), "", ""]);
        Ok(added <= LARGE)
    }

    /// Ten children instead of one.
    fn crowd(&self) -> Fallible<bool> {
        let _core = OneCore::pin();
        let (mut few, mut many) = (self.through(1)?, self.through(10)?);
        let tools = [few.list()? as f64, many.list()? as f64];
        let [mut one, mut ten, mut short, mut long] = [(); 4].map(|()| Best::default());
        for _ in 0..self.rounds {
            one.round(&mut few, self.calls, |peer, id| small(peer, "echo_echo0", id))?;
            ten.round(&mut many, self.calls, |peer, id| small(peer, "echo9_echo0", id))?;
            short.round(&mut few, 20, |peer, _| list(peer))?;
            long.round(&mut many, 20, |peer, _| list(peer))?;
        }
        let ratio = ten.median / one.median;
        print(&["one small call", &micros(one.median), &micros(ten.median), &times(ratio), &times(CROWD)]);
        let (short, long) = (short.median / tools[0], long.median / tools[1]);
        print(&["the list, each tool", &micros(short), &micros(long), &times(long / short), &times(CROWD)]);
        Ok(ratio <= CROWD && long / short <= CROWD)
    }

    /// A call that comes with the greeting, while another child takes 10 s to boot.
    fn first(&self) -> Fallible<bool> {
        let mut took = Vec::new();
        for _ in 0..self.rounds {
            let start = Instant::now();
            let children = [("BENCH_CHILD", self.child.as_os_str()), ("BENCH_SLOW", self.child.as_os_str())];
            let mut peer = Peer::start(&self.evokore, &[], &children)?;
            peer.greet()?;
            small(&mut peer, "echo_echo0", 0)?;
            took.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let took = median(took);
        print(&["first call, from the start", "", &format!("{took:.1} ms"), "", &format!("{FIRST} ms")]);
        Ok(took <= FIRST)
    }
}

/// The quietest of several rounds: microseconds of the median, of the 99th percentile, and of CPU, for one sample.
struct Best {
    median: f64,
    late: f64,
    cpu: f64,
}

impl Default for Best {
    fn default() -> Best {
        Best { median: f64::INFINITY, late: f64::INFINITY, cpu: f64::INFINITY }
    }
}

impl Best {
    fn round(
        &mut self,
        peer: &mut Peer,
        samples: u64,
        mut sample: impl FnMut(&mut Peer, u64) -> Fallible<()>,
    ) -> Fallible<()> {
        let before = peer.cpu()?;
        let mut took = Vec::new();
        for n in 0..samples {
            let start = Instant::now();
            sample(peer, n)?;
            took.push(start.elapsed().as_secs_f64() * 1e6);
        }
        self.cpu = self.cpu.min((peer.cpu()? - before) / samples as f64 / 1e3);
        self.late = self.late.min(quantile(took.clone(), 0.99));
        self.median = self.median.min(median(took));
        Ok(())
    }
}

/// Makes a small call and checks its answer.
fn small(peer: &mut Peer, tool: &str, id: u64) -> Fallible<()> {
    let mut request = Vec::new();
    put_request(&mut request, tool, id);
    peer.send(&request)?;
    let answer = peer.answer()?;
    if answer == expected(id).as_bytes() { Ok(()) } else { Err(wrong(answer)) }
}

/// Makes `calls` small calls, of which [`WINDOW`] are always under way, and checks that each is answered once.
fn at_once(peer: &mut Peer, tool: &str, calls: u64) -> Fallible<()> {
    let mut requests = Vec::new();
    (0..WINDOW).for_each(|id| put_request(&mut requests, tool, id));
    let mut open: HashSet<u64> = (0..WINDOW).collect();
    let mut next = WINDOW;
    while !open.is_empty() {
        peer.send(&requests)?;
        requests.clear();
        let mut answer = Some(peer.answer()?);
        while let Some(line) = answer {
            let id = id_of(line).ok_or_else(|| wrong(line))?;
            if !open.remove(&id) || line != expected(id).as_bytes() {
                return Err(wrong(line));
            }
            if next < calls {
                put_request(&mut requests, tool, next);
                open.insert(next);
                next += 1;
            }
            answer = peer.answer_at_hand();
        }
    }
    Ok(())
}

/// Fetches the large result; the answer as it came.
fn large<'a>(peer: &'a mut Peer, tool: &str, id: u64) -> Fallible<&'a [u8]> {
    let mut request = Vec::new();
    put_request(&mut request, tool, id);
    peer.send(&request)?;
    let answer = peer.answer()?;
    if id_of(answer) == Some(id) && answer.len() > 800_000 { Ok(answer) } else { Err(wrong(answer)) }
}

fn list(peer: &mut Peer) -> Fallible<()> {
    peer.send(LIST)?;
    peer.answer().map(drop)
}

fn put_request(out: &mut Vec<u8>, tool: &str, id: u64) {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"Hello, world","n":{id}}}}}}}"#
    );
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

fn expected(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"ok"}}],"structuredContent":{{"text":"Hello, world","n":{id}}}}}}}"#
    )
}

fn id_of(answer: &[u8]) -> Option<u64> {
    let digits = answer.strip_prefix(br#"{"jsonrpc":"2.0","id":"#)?;
    let end = memchr::memchr(b',', digits)?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

fn wrong(answer: &[u8]) -> Box<dyn Error> {
    format!("a wrong answer: {}", String::from_utf8_lossy(&answer[..answer.len().min(300)])).into()
}

fn micros(value: f64) -> String {
    format!("{value:.1} µs")
}

fn plus(value: f64) -> String {
    format!("{value:+.1} µs")
}

fn times(value: f64) -> String {
    format!("{value:.2} ×")
}

#[expect(clippy::print_stdout, reason = "a bench talks to a person")]
fn print([name, one, other, difference, target]: &[&str; 5]) {
    println!("{name:<26} {one:>12} {other:>12} {difference:>12} {target:>12}");
}
