//! The life of one server, as one task: start, boot, follow its list, notice its end, start again.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::boot::{ChildSink, Life};
use super::changes::Pace;
use super::connection::Connection;
use super::error::{ChildError, seconds};
use super::handshake::{Hello, greet, list};
use super::launch::{LaunchError, Launched, Launcher};
use super::memory::Memory;
use super::modern;
use super::offers;
use super::process::Process;
use super::server::{Phase, Server};
use super::settings::Say;
use super::tools::{Kind, Listing, MAX_TOLD};

/// A server that is late gets so many boot time-outs altogether before it is given up.
const PATIENCE_FACTOR: u32 = 4;
/// How long the end of a process waits for the end of its output, and the other way round.
const LAST_WORDS: Duration = Duration::from_millis(150);
/// Bytes of stderr in a message.
const QUOTED_STDERR: usize = 600;

/// What the tasks of all servers share.
pub(super) struct Context {
    pub(super) launcher: Arc<dyn Launcher>,
    pub(super) sink: Arc<dyn ChildSink>,
    pub(super) say: Say,
    pub(super) max_list: usize,
    pub(super) memory: Memory,
    /// One for each server that may boot at the same time; given in the order in which they are asked for.
    pub(super) turns: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
}

/// How a run ended.
enum End {
    /// We wanted it to.
    Stopped,
    /// Nobody called, and it was stopped until somebody does.
    Asleep,
    /// It could not start for want of variables.
    Missing(String),
    /// It cannot start.
    Never(String),
    /// It failed; `reason` completes "it …". What is left of it is still to be stopped, and it asked to be left alone
    /// for `wait`.
    Failed { reason: String, uptime: Option<Duration>, rest: Option<Process>, wait: Option<Duration> },
}

/// Keeps `server` up until the process stops.
pub(super) async fn run(server: Arc<Server>, context: Arc<Context>) {
    let _watch = Watch(&server);
    let id = server.spec.id;
    let mut backoff = Backoff::default();
    let mut told = String::new();
    let mut is_news = true;
    loop {
        if matches!(server.phase(), Phase::Idle | Phase::Asleep) {
            tokio::select! {
                () = server.kick.notified() => {}
                () = context.stop.cancelled() => return server.enter(Phase::Stopped),
            }
        }
        let Some(turn) = context.turn(&server).await else { return server.enter(Phase::Stopped) };
        server.enter(Phase::Booting);
        let (reason, uptime, rest, wait) = match life(&server, &context, is_news, turn).await {
            End::Stopped => return server.enter(Phase::Stopped),
            End::Asleep => continue,
            End::Missing(missing) if server.spec.optional => {
                context.say(&format!("child server `{id}` waits: {missing}"));
                context.sink.life(server.index, Life::Unstarted(&missing));
                return server.enter(Phase::Waiting(missing.into()));
            }
            End::Missing(reason) | End::Never(reason) => {
                context.say(&format!("child server `{id}` failed to boot: {reason}"));
                context.sink.life(server.index, Life::Unstarted(&reason));
                server.facts().errors += 1;
                return server.enter(Phase::Never(reason.into()));
            }
            End::Failed { reason, uptime, rest, wait } => (reason, uptime, rest, wait),
        };
        let delay = backoff.next(uptime.unwrap_or_default()).max(wait.unwrap_or_default());
        // A crash loop is told until it repeats itself; the status shows how it goes on.
        is_news = told != reason || uptime.is_some();
        if is_news {
            let what = if uptime.is_some() { "" } else { "failed to boot: it " };
            context.say(&format!("child server `{id}` {what}{reason}; it starts again in {}", seconds(delay)));
            told.clone_from(&reason);
        }
        let again = match backoff.failures() {
            0 | 1 => reason,
            failures => format!("{reason} ({failures} failures in a row)"),
        };
        let retry = Instant::now() + delay;
        server.enter(Phase::Down { reason: again.into(), retry, was_up: uptime.is_some() });
        if let Some(mut rest) = rest {
            rest.stop().await;
        }
        tokio::select! {
            () = sleep_until(retry) => {}
            () = server.kick.notified() => {}
            () = context.stop.cancelled() => return server.enter(Phase::Stopped),
        }
        server.facts().restarts += 1;
    }
}

/// Marks the server when its task dies of a panic, so that nobody waits for it.
struct Watch<'a>(&'a Server);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.enter(Phase::Broken);
        }
    }
}

/// One run, from start to end; its start is told if it `is_news`. Gives its turn back once it is up or late.
async fn life(server: &Server, context: &Context, is_news: bool, turn: OwnedSemaphorePermit) -> End {
    let id = server.spec.id;
    let launched = match context.launcher.launch(server.spec) {
        Ok(launched) => launched,
        Err(LaunchError::Missing(missing)) => return End::Missing(missing),
        Err(LaunchError::Never(reason)) => return End::Never(reason),
        Err(LaunchError::Failed(reason)) => {
            server.facts().errors += 1;
            context.sink.life(server.index, Life::Unstarted(&reason));
            return End::Failed { reason, uptime: None, rest: None, wait: None };
        }
    };
    if is_news {
        context.say(&format!("child server `{id}` is booting"));
    }
    context.sink.life(server.index, Life::Started(server.facts().restarts));
    server.tail.clear();
    let Launched { wires, stderr, exit, group } = launched;
    let mut process = Process::new(exit, group);
    let drain = stderr.map(|stderr| server.tail.drain(stderr));
    let connection = Connection::by(id, wires, server.max_line(), server.stats.clone(), context.sink.clone());
    let (mut up, mut wait) = (None, None);
    let reason = tokio::select! {
        biased;
        () = context.stop.cancelled() => {
            server.enter(Phase::Stopped);
            connection.hush();
            process.stop().await;
            context.sink.life(server.index, Life::Stopped);
            connection.close(&ChildError::NotReady { id, reason: "evokore shuts down".to_owned() });
            return End::Stopped;
        }
        () = server.sleeps() => {
            context.say(&format!("child server `{id}` was not called for a while and is stopped until it is"));
            connection.hush();
            process.stop().await;
            context.sink.life(server.index, Life::Asleep);
            connection.close(&ChildError::Starting { id });
            return End::Asleep;
        }
        how = process.exited() => {
            // What it wrote before it ended is in the pipe.
            let _ = timeout(LAST_WORDS, connection.ended()).await;
            how
        }
        how = connection.ended() => timeout(LAST_WORDS, process.exited()).await.unwrap_or(how),
        error = drive(server, context, &connection, turn, &mut up) => {
            wait = error.wait();
            brief(&error)
        }
    };
    context.sink.life(server.index, Life::Ended(&reason));
    if let Some(drain) = drain {
        let _ = timeout(LAST_WORDS, drain).await;
    }
    let reason = match server.tail.last(QUOTED_STDERR) {
        said if said.is_empty() => reason,
        said => format!("{reason}; its stderr ends with: {said}"),
    };
    server.facts().errors += 1;
    // A list outlives its server's sleep, but no failure.
    if std::mem::take(&mut server.facts().is_listed) {
        server.facts().registered = 0;
        server.listed.send_replace(false);
        context.sink.gone(server.index);
    }
    connection.close(&ChildError::Exited { id, what: format!("it {reason}") });
    End::Failed { reason, uptime: up.map(|up: Instant| up.elapsed()), rest: Some(process), wait }
}

/// Boots over `connection` and follows the list; ends only with an error. Notes in `up` when the server came up.
async fn drive(
    server: &Server,
    context: &Context,
    connection: &Connection,
    turn: OwnedSemaphorePermit,
    up: &mut Option<Instant>,
) -> ChildError {
    let (hello, listing) = match boot(server, context, connection, turn).await {
        Ok(booted) => booted,
        Err(error) => return error,
    };
    let print = fingerprint(&listing);
    let registered = register(server, context, listing);
    {
        let mut facts = server.facts();
        facts.errors = 0;
        facts.server = hello.server;
        facts.protocol = hello.protocol;
    }
    *up = Some(Instant::now());
    server.enter(Phase::Up(connection.clone()));
    context.say(&format!("child server `{}` proxied {registered} tool(s)", server.spec.id));
    let (never, ..): (Infallible, Infallible, Infallible) = tokio::join!(
        follow_tools(server, context, connection, print),
        offers::follow(server, context, connection),
        async {
            loop {
                server.kick.notified().await;
                connection.changes().tools.mark();
            }
        },
    );
    match never {}
}

/// Reads the list of tools again whenever it has changed; `print` is the fingerprint of the one that is known.
async fn follow_tools(server: &Server, context: &Context, connection: &Connection, mut print: u64) -> Infallible {
    let limit = server.list_timeout.unwrap_or(server.boot_timeout);
    let mut pace = Pace::new();
    loop {
        connection.changes().tools.due(&pace).await;
        match list(connection, server.spec.id, Kind::Tools, limit, context.max_list).await {
            Ok(listing) if fingerprint(&listing) == print => {}
            Ok(listing) => {
                print = fingerprint(&listing);
                register(server, context, listing);
            }
            // The end is noticed elsewhere.
            Err(ChildError::Exited { .. }) => {}
            Err(error) => {
                let mut facts = server.facts();
                facts.errors += 1;
                facts.notes = vec![format!("its last list could not be read: {}", brief(&error))];
            }
        }
        pace.done();
    }
}

/// Handshake and list. After the first limit the server counts as late, but is left to go on: a launcher that is
/// downloading loses everything when it is killed.
async fn boot(
    server: &Server,
    context: &Context,
    connection: &Connection,
    turn: OwnedSemaphorePermit,
) -> Result<(Hello, Listing), ChildError> {
    let id = server.spec.id;
    let first = server.boot_timeout;
    let last = first * PATIENCE_FACTOR;
    let start = Instant::now();
    let work = async {
        let known = context.memory.is_modern(server.spec).await;
        // The limits below are the ones that count; a single request has more time than that.
        let hello = greet(connection, id, last * 2, known).await?;
        context.memory.note(server.spec, hello.protocol == modern::VERSION).await;
        let page = server.list_timeout.unwrap_or(last * 2);
        Ok((hello, list(connection, id, Kind::Tools, page, context.max_list).await?))
    };
    tokio::pin!(work);
    if let Ok(booted) = timeout(first, &mut work).await {
        return booted;
    }
    // Others need not wait for it.
    drop(turn);
    context.say(&format!("child server `{id}` failed to boot within {}", late(first)));
    server.facts().errors += 1;
    server.enter(Phase::Late);
    match timeout(last.saturating_sub(start.elapsed()), &mut work).await {
        Ok(booted) => booted,
        Err(_) => Err(ChildError::Protocol { id, what: format!("was not ready after {}; {MORE_TIME}", seconds(last)) }),
    }
}

/// What allows a boot more time.
const MORE_TIME: &str = "`bootTimeoutMs` of its entry or EVOKORE_CHILD_SERVER_BOOT_TIMEOUT_MS allows more";

/// What is said of a server that has not come up within `limit`.
pub(super) fn late(limit: Duration) -> String {
    format!(
        "{}, and is left to go on, because a launcher such as npx or uvx may be downloading it; it joins when it answers. \
         {MORE_TIME}",
        seconds(limit)
    )
}

/// Hands a list to the sink; how many tools it could use.
fn register(server: &Server, context: &Context, listing: Listing) -> usize {
    let Listing { tools, mut skipped, mut notes } = listing;
    let offered = tools.len();
    let taken = context.sink.tools(server.index, tools);
    let registered = offered.saturating_sub(taken.skipped.len());
    skipped.extend(taken.skipped);
    skipped.truncate(MAX_TOLD);
    notes.extend(taken.notes);
    notes.truncate(MAX_TOLD);
    if !skipped.is_empty() || !notes.is_empty() {
        let names: Vec<_> = skipped.iter().map(|skip| format!("`{}` ({})", skip.name, skip.reason)).collect();
        let text = notes.iter().cloned().chain(names).take(5).collect::<Vec<_>>().join("; ");
        context.say(&format!("child server `{}`: not everything in its list could be used: {text}", server.spec.id));
    }
    let mut facts = server.facts();
    for line in taken.told.iter().filter(|line| !facts.told.contains(line)) {
        context.say(&format!("child server `{}` {line}", server.spec.id));
    }
    facts.told = taken.told;
    facts.registered = registered;
    facts.is_listed = true;
    facts.skipped = skipped;
    facts.notes = notes;
    registered
}

/// Tells equal lists from different ones.
fn fingerprint(listing: &Listing) -> u64 {
    let mut hasher = DefaultHasher::new();
    listing.tools.iter().for_each(|tool| tool.raw.get().hash(&mut hasher));
    listing.skipped.iter().for_each(|skip| skip.name.hash(&mut hasher));
    hasher.finish()
}

/// An error's first line without its subject, to complete "it …".
pub(super) fn brief(error: &ChildError) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    // Every text begins "child server `id` …".
    line.strip_prefix("child server `").and_then(|rest| rest.split_once("` ")).map_or(line, |(_, rest)| rest).to_owned()
}

impl Context {
    /// Waits until `server` may boot; `None` if we stop first.
    async fn turn(&self, server: &Server) -> Option<OwnedSemaphorePermit> {
        if let Ok(turn) = self.turns.clone().try_acquire_owned() {
            return Some(turn);
        }
        server.enter(Phase::Queued);
        tokio::select! {
            turn = self.turns.clone().acquire_owned() => turn.ok(),
            () = self.stop.cancelled() => None,
        }
    }

    fn say(&self, line: &str) {
        (self.say)(line);
    }
}
