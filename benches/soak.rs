//! A million calls to children that crash, stall, babble, flood and answer too much, at random: whether every call gets
//! its one answer, memory stays where it was, and nothing is left over.
//!
//! `cargo bench --bench soak -- --calls N --seed S`. Of each call the child is told how to behave; what evokore
//! then answers is either right or an error. Calls are given up at random, too: those may go without an answer. Any
//! answer that is wrong, missing or one too many fails the run, and so does growth of more than a fifth after the first
//! fifth of the calls, an open file or a process that was not there before.

mod support;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use support::peer::{Peer, is_notification};
use support::{Fallible, build_evokore, echo, install};

/// Calls under way at once.
const WINDOW: usize = 64;
/// Children; the first ones never crash.
const CHILDREN: u64 = 10;
const SOLID: u64 = 6;
const TOOLS: usize = 100;
/// Of so many calls one is answered in another manner than plainly.
const ODD: u64 = 40;
/// Of so many of those one is answered in a way that holds up many others, or moves megabytes.
const RARITY: u64 = 100;
/// Of so many calls one is given up.
const GIVEN_UP: u64 = 200;
/// A result of the habit `huge` is longer.
const HUGE: usize = 3_000_000;
/// evokore's limit for a call, in milliseconds.
const LIMIT: &str = "2000";
/// Without any answer for so long, the run has failed.
const SILENCE: Duration = Duration::from_secs(20);
/// Most that the least memory of the last fifth may be of the least of the second.
const GROWTH: f64 = 1.2;
/// Kilobytes that it may grow by in any case: the allocator keeps what a few huge results took for long stretches, so
/// runs that do not grow stand now at 10 MB and now at 27. A leak of 15 bytes in each call of a million is seen.
const SLACK: f64 = 15_000.0;
/// After the end, for the last processes to go.
const LEAVE: Duration = Duration::from_secs(2);

fn main() -> Fallible<()> {
    if echo::play_if_asked()? {
        return Ok(());
    }
    let calls = number("--calls").unwrap_or(1_000_000);
    let seed = number("--seed").unwrap_or(1);
    let mut soak = Soak::start(&install(&build_evokore()?)?, seed)?;
    let start = Instant::now();
    let mut memory = Memory::default();
    while soak.made < calls || !soak.open.is_empty() {
        soak.turn(calls)?;
        let done = soak.made as f64 / calls as f64;
        if memory.is_due(done) {
            memory.sample(done, soak.peer.memory()?);
        }
    }
    let took = start.elapsed();
    let Soak { peer, tally, before, .. } = soak;
    let after = Belongings::of(&peer)?;
    let ended_well = peer.end()?;
    let left = left_over(&after.processes);

    print(&format!(
        "{calls} calls in {:.0} s (seed {seed}): {} right, {} errors, {} given up without an answer",
        took.as_secs_f64(),
        tally.right,
        tally.errors,
        tally.silent,
    ));
    let (early, late) = (least(&memory.early), least(&memory.late));
    print(&format!("memory never below {early:.0} kB in the second fifth, {late:.0} kB in the last"));
    print(&format!("files open {} before, {} after; {left} processes left over", before.files, after.files));
    let sound = [
        (late <= early * GROWTH || late - early <= SLACK, "memory grows"),
        (after.files <= before.files, "files stay open"),
        (after.processes.len() <= before.processes.len(), "processes pile up"),
        (left == 0 && ended_well, "it does not end well"),
        (tally.right > calls * 3 / 4, "most calls fail"),
    ];
    match sound.iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, fault)) => Err((*fault).into()),
    }
}

fn least(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

fn number(flag: &str) -> Option<u64> {
    std::env::args().skip_while(|argument| argument != flag).nth(1)?.parse().ok()
}

struct Soak {
    peer: Peer,
    before: Belongings,
    random: Random,
    made: u64,
    /// Calls without an answer.
    open: BTreeSet<u64>,
    /// Calls that were given up and have no answer.
    given_up: BTreeSet<u64>,
    tally: Tally,
    answers: Arc<AtomicU64>,
}

#[derive(Default)]
struct Tally {
    right: u64,
    errors: u64,
    silent: u64,
}

impl Soak {
    fn start(evokore: &Path, seed: u64) -> Fallible<Soak> {
        let child = std::env::current_exe()?;
        let variables = [
            ("BENCH_CHILD", child.as_os_str()),
            ("BENCH_CHILDREN", child.as_os_str()),
            ("EVOKORE_PROXY_REQUEST_TIMEOUT_MS", OsStr::new(LIMIT)),
        ];
        let mut peer = Peer::start(evokore, &[], &variables)?;
        peer.greet()?;
        let own = peer.list()?;
        peer.lists(own + usize::try_from(CHILDREN)? * TOOLS)?;
        let before = Belongings::of(&peer)?;
        let answers = Arc::new(AtomicU64::new(0));
        watch(answers.clone());
        Ok(Soak {
            peer,
            before,
            random: Random(seed.max(1)),
            made: 0,
            open: BTreeSet::new(),
            given_up: BTreeSet::new(),
            tally: Tally::default(),
            answers,
        })
    }

    /// Makes calls until so many are under way as may be, and takes the answers that are there.
    fn turn(&mut self, calls: u64) -> Fallible<()> {
        let mut requests = String::new();
        while self.open.len() < WINDOW && self.made < calls {
            self.call(&mut requests);
        }
        self.peer.send(requests.as_bytes())?;
        let mut line = Some(self.peer.line()?.to_vec());
        while let Some(text) = line {
            self.take(&text)?;
            line = self.peer.line_at_hand().map(<[u8]>::to_vec);
        }
        Ok(())
    }

    fn call(&mut self, out: &mut String) {
        let id = self.made;
        self.made += 1;
        let child = self.random.below(CHILDREN);
        let server = if child == 0 { "echo".to_owned() } else { format!("echo{child}") };
        let habit = self.habit(child);
        let arguments = arguments(id, habit);
        *out += &format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{server}_echo{}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#,
            id % 90
        );
        out.push('\n');
        self.open.insert(id);
        if self.random.below(GIVEN_UP) == 0 {
            // Not always the one that has just been made: that would never have reached its child.
            let at = self.random.below(self.open.len() as u64);
            let id = self.open.iter().nth(at as usize).copied().unwrap_or(id);
            self.open.remove(&id);
            self.given_up.insert(id);
            self.tally.silent += 1;
            *out += &format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
            out.push('\n');
        }
    }

    fn habit(&mut self, child: u64) -> Option<&'static str> {
        const COMMON: [&str; 6] = ["noise", "flood", "chatter", "progress", "twice", "broken"];
        const RARE: [&str; 4] = ["silent", "stall", "huge", "crash"];
        let kind = self.random.below(ODD);
        let at = self.random.below(COMMON.len() as u64 * RARE.len() as u64) as usize;
        match kind {
            // Megabytes come first, so that what they leave of memory is not taken for growth.
            _ if self.made <= 4 * CHILDREN => Some("huge"),
            0 if self.random.below(RARITY) == 0 => Some(RARE[at % RARE.len()]),
            0 => Some(COMMON[at % COMMON.len()]),
            _ => None,
        }
        .filter(|habit| *habit != "crash" || child >= SOLID)
    }

    fn take(&mut self, line: &[u8]) -> Fallible<()> {
        let text = || String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
        if is_notification(line) {
            if let Some(id) = number_after(line, br#""progressToken":"#)
                && !self.open.contains(&id)
                && !self.given_up.contains(&id)
            {
                return Err(format!("progress after the answer: {}", text()).into());
            }
            return Ok(());
        }
        let id = number_after(line, br#""id":"#).ok_or_else(|| format!("an answer without an id: {}", text()))?;
        if self.given_up.remove(&id) {
            // It crossed with the cancellation.
            self.tally.silent -= 1;
        } else if !self.open.remove(&id) {
            return Err(format!("an answer that nobody waits for: {}", text()).into());
        }
        self.answers.fetch_add(1, Relaxed);
        let holds = |part: &[u8], text: &str| memchr::memmem::find(part, text.as_bytes()).is_some();
        let is_error = holds(&line[..line.len().min(60)], r#""error":"#) || holds(line, r#""isError":true"#);
        let is_right = holds(line, &format!(r#""n":{id}}}"#)) || line.len() > HUGE;
        match (is_error, is_right) {
            (true, _) => self.tally.errors += 1,
            (false, true) => self.tally.right += 1,
            (false, false) => return Err(format!("a wrong answer: {}", text()).into()),
        }
        Ok(())
    }
}

/// The child gives its arguments back; the number must come at their end.
fn arguments(id: u64, habit: Option<&str>) -> String {
    match habit {
        Some(habit) => format!(r#"{{"do":"{habit}","n":{id}}}"#),
        None => format!(r#"{{"text":"Hello, world","n":{id}}}"#),
    }
}

/// The number behind the first `key`.
fn number_after(line: &[u8], key: &[u8]) -> Option<u64> {
    let rest = &line[memchr::memmem::find(line, key)? + key.len()..];
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

/// Ends the process when no call is answered any more: the bench itself waits for its next line.
#[expect(clippy::print_stderr, reason = "a bench talks to a person")]
fn watch(answers: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut seen = u64::MAX;
        loop {
            let now = answers.load(Relaxed);
            if now == seen {
                eprintln!("no answer for {SILENCE:?}, after {now} answers");
                std::process::exit(1);
            }
            seen = now;
            std::thread::sleep(SILENCE);
        }
    });
}

/// Resident kilobytes in two parts of the run: the second fifth of the calls, and the last one. The least of them tell:
/// huge results come and go, and what the allocator keeps of them for a while is no growth; what leaks never goes.
#[derive(Default)]
struct Memory {
    early: Vec<f64>,
    late: Vec<f64>,
    /// When the next sample is due, as a part of all calls.
    next: f64,
}

impl Memory {
    fn is_due(&self, done: f64) -> bool {
        done >= self.next
    }

    fn sample(&mut self, done: f64, kilobytes: f64) {
        self.next = done + 0.001;
        match done {
            0.2..0.4 => self.early.push(kilobytes),
            0.8.. => self.late.push(kilobytes),
            _ => {}
        }
    }
}

/// What a process holds: open files, and processes that it has started.
struct Belongings {
    files: usize,
    processes: Vec<u32>,
}

impl Belongings {
    fn of(peer: &Peer) -> Fallible<Belongings> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", peer.id()))?.count();
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", peer.id()))?;
        let processes = children.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Belongings { files, processes })
    }
}

/// How many of these processes are still there when they have had time to go.
fn left_over(processes: &[u32]) -> usize {
    let is_there = |id: &&u32| Path::new(&format!("/proc/{id}")).exists();
    let deadline = Instant::now() + LEAVE;
    loop {
        let left = processes.iter().filter(is_there).count();
        if left == 0 || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Xorshift: the same calls for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

#[expect(clippy::print_stdout, reason = "a bench talks to a person")]
fn print(line: &str) {
    println!("{line}");
}
