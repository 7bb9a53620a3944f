//! The MCP front on standard streams. The only module that knows rmcp.
//!
//! [`run`] opens the streams, answers the client, starts the child servers once the client has been answered, and
//! ends with everything it has started. `front` deals with each line, `handshake` with greetings, `tool_call` with
//! calls, `lists` with lists, `crew` with the tasks they run on, `peer` asks the client for what children want of it, `lane` and `handler`
//! are rmcp's side, `notify` tells of changes.

mod caller;
mod crew;
mod front;
mod handler;
mod handshake;
mod in_flight;
mod lane;
mod lists;
mod log_message;
mod meta;
mod notify;
mod peer;
mod stdio;
mod tool_call;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::catalog::CATALOG;
use crate::child::{ChildSettings, Children};
use crate::log;
use crate::session::Session;
use crate::wire::lines::{Line, Lines};
use crate::wire::outbox::Outbox;
use crew::Crew;
use front::Front;
use handler::Handler;
use in_flight::InFlight;
use lane::Protocol;
use notify::{ClientNotifier, Subscribers};
use peer::Peer;
use stdio::Streams;

/// Longest line of the client, in bytes.
pub const MAX_LINE: usize = 64 << 20;

/// Requests that have no answer when the client closes its end, or a signal comes, get so long to finish.
pub const DRAIN: Duration = Duration::from_millis(450);

/// From the client's end or a signal to the end of the process, at most. What is left of it after [`DRAIN`] is for the
/// children to go; those that do not are killed.
pub const LEAVE: Duration = Duration::from_millis(900);

/// The last of it is for the audit log.
const NOTED: Duration = Duration::from_millis(60);

/// Bytes read ahead of a line that waits, to learn of the client's end.
const AHEAD: usize = 256 << 10;

/// Events taken from the system at once. A client and its children have few, and the room for them is cleared at start.
const IO_EVENTS: usize = 64;

/// A client that says nothing for so long does not keep the children from starting.
const PATIENCE: Duration = Duration::from_millis(50);

/// Once the client has been answered and is quiet for so long, the children start: starting a process holds up the
/// thread, and an answer under way must not wait for it.
const QUIET: Duration = Duration::from_millis(2);

/// Serves the client on the standard streams until it closes its end or a signal comes.
///
/// # Errors
/// The runtime cannot be built.
pub fn run(app: &Arc<App>, children: ChildSettings) -> std::io::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_io_events_per_tick(IO_EVENTS).build()?;
    runtime.block_on(async {
        let Streams { input, output, modes } = stdio::open();
        let start = || Children::start(CATALOG.servers, children, app.clone());
        serve(app, start, input, output, terminated()).await;
        drop(modes);
    });
    // A blocking read of a terminal cannot be cancelled; the process must end all the same.
    runtime.shutdown_background();
    Ok(())
}

/// Serves one client on a pair of streams until its end closes, it stops reading, or `stop` resolves. Child servers are
/// started by `start_children`, when that delays no answer. Everything that was started is gone, or going with the
/// runtime, when this returns.
pub async fn serve(
    app: &Arc<App>,
    start_children: impl FnOnce() -> Children,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) {
    let out = Outbox::start(output);
    let notifier = ClientNotifier::new(out.clone(), app.settings.debounce);
    let session = Session::new(notifier.clone());
    notifier.set_session(&session);
    app.add_session(&session);
    let peer = Peer::new(out.clone());
    app.set_client(Arc::new(peer.clone()));
    let subscribers = Subscribers::new(app.settings.debounce);
    app.set_modern(subscribers.clone());

    let in_flight = InFlight::default();
    let handler = Handler { app: app.clone(), subscribers };
    let protocol = Protocol::new(handler, out.clone(), in_flight.clone());

    let crew = Crew::default();
    let front = Front { app: app.clone(), session, notifier, peer, out: out.clone(), in_flight, crew, protocol };
    let boot = Boot::new(app, start_children);
    let (since, listens) = tokio::select! {
        biased;
        since = read_lines(&front, boot, input) => (since, true),
        () = out.closed() => (Instant::now(), false),
        () = stop => (Instant::now(), true),
    };

    if listens {
        front.drain(since + DRAIN).await;
    }
    let children = app.children();
    let end = async { tokio::join!(front.end(), children.shutdown()) };
    let _ = timeout_at(since + LEAVE - NOTED, end).await;
    app.audit.close(NOTED);
}

/// Deals with the client's lines to their end, and tells when that was.
async fn read_lines(
    front: &Front,
    mut boot: Boot<'_, impl FnOnce() -> Children>,
    input: impl AsyncRead + Unpin,
) -> Instant {
    let mut lines = Lines::unending(input, MAX_LINE);
    let mut over = Bytes::new();
    loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line,
            () = boot.quiet() => {
                boot.start();
                continue;
            }
        };
        match line {
            Ok(Some(Line::Whole(line) | Line::Rest(line))) => {
                if boot.must_precede(&line) {
                    boot.start();
                }
                if let Err(since) = unless_left(&mut lines, front.line(&line)).await {
                    return since;
                }
                boot.answered = true;
            }
            Ok(Some(Line::Over { head, .. })) => over = head,
            Ok(Some(Line::OverEnd { tail, .. })) => {
                if let Err(since) = unless_left(&mut lines, front.too_long(&over, &tail, MAX_LINE)).await {
                    return since;
                }
            }
            Ok(None) => return Instant::now(),
            Err(error) => {
                log::warn(&format!("the client's stream ends: {error}"));
                return Instant::now();
            }
        }
    }
}

/// Deals with one line, which may have to wait: for the client to read, or for requests to be answered. The client may
/// close its end all the same; from then on the line has [`DRAIN`] left.
///
/// # Errors
/// That was not enough. Tells when the client's end closed.
async fn unless_left(
    lines: &mut Lines<impl AsyncRead + Unpin>,
    dealing: impl Future<Output = ()>,
) -> Result<(), Instant> {
    tokio::pin!(dealing);
    tokio::select! {
        biased;
        () = &mut dealing => return Ok(()),
        () = lines.ended(AHEAD) => {}
    }
    let end = Instant::now();
    timeout_at(end + DRAIN, dealing).await.map_err(|_| end)
}

/// Starts the child servers, once, when that delays no answer.
struct Boot<'a, F> {
    app: &'a App,
    start: Option<F>,
    answered: bool,
    /// By then they start, however busy the client is.
    deadline: Instant,
}

impl<'a, F: FnOnce() -> Children> Boot<'a, F> {
    fn new(app: &'a App, start: F) -> Boot<'a, F> {
        Boot { app, start: Some(start), answered: false, deadline: Instant::now() + PATIENCE }
    }

    /// Resolves when the client says nothing more for the moment; never once the children are started.
    async fn quiet(&self) {
        if self.start.is_none() {
            return std::future::pending().await;
        }
        let quiet = Instant::now() + QUIET;
        tokio::time::sleep_until(if self.answered { quiet.min(self.deadline) } else { self.deadline }).await;
    }

    /// Whether the children must be started before this line is dealt with: a call may be for a child. Some JSON
    /// writers escape the slash of `tools/call`, so what follows it decides.
    fn must_precede(&self, line: &[u8]) -> bool {
        self.start.is_some() && (Instant::now() >= self.deadline || memchr::memmem::find(line, b"/call").is_some())
    }

    fn start(&mut self) {
        if let Some(start) = self.start.take() {
            self.app.audit.begin();
            self.app.set_children(start());
            if let Some(home) = self.app.settings.home.clone().filter(|home| crate::state::has_left(home)) {
                tokio::task::spawn_blocking(move || crate::state::sweep_left(&home));
            }
        }
    }
}

/// Resolves on SIGTERM, SIGINT or SIGHUP (Ctrl-C elsewhere).
async fn terminated() {
    // Until then a signal ends the process as it ends any other, and nothing has been started that could be left.
    tokio::time::sleep(QUIET).await;
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return std::future::pending().await;
        };
        // The terminal is closed: the children, in groups of their own, would not hear of it.
        let hangup = async {
            match signal(SignalKind::hangup()) {
                Ok(mut hangup) => hangup.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup, if !ignores_hangup() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Whether who started us has switched hangups off, as `nohup` does: then the server lives on. Only Linux tells.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
