//! The MCP front on standard streams. The only module that knows rmcp.
//!
//! [`run`] opens the streams, answers the client, starts the child servers once the client has been answered, and
//! ends with everything it has started. `front` deals with each line, `handshake` with greetings, `tool_call` with
//! calls, `lane` and `handler` are rmcp's side, `notify` tells of changes.

mod front;
mod handler;
mod handshake;
mod in_flight;
mod lane;
mod meta;
mod notify;
mod stdio;
mod tool_call;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::app::App;
use crate::catalog::CATALOG;
use crate::child::{ChildSettings, Children};
use crate::log;
use crate::session::Session;
use crate::wire::lines::{Line, Lines};
use crate::wire::outbox::Outbox;
use front::Front;
use handler::Handler;
use in_flight::InFlight;
use lane::Protocol;
use notify::{ClientNotifier, Subscribers};

/// Longest line of the client, in bytes.
pub const MAX_LINE: usize = 64 << 20;

/// Requests that are being answered when the client closes its end get so long to finish.
const DRAIN: Duration = Duration::from_millis(600);

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
        let (input, output) = stdio::open();
        serve(app, children, input, output, terminated()).await;
    });
    // A blocking read of a terminal cannot be cancelled; the process must end all the same.
    runtime.shutdown_background();
    Ok(())
}

/// Serves one client on a pair of streams until its end closes, it stops reading, or `stop` resolves. Everything that
/// was started is gone when this returns.
pub async fn serve(
    app: &Arc<App>,
    children: ChildSettings,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) {
    let (out, writer) = Outbox::start(output);
    let notifier = ClientNotifier::new(out.clone(), app.settings.debounce);
    let session = Session::new(notifier.clone());
    notifier.set_session(&session);
    app.add_session(&session);
    let subscribers = Subscribers::new(app.settings.debounce);
    app.set_modern(subscribers.clone());

    let in_flight = InFlight::default();
    let handler = Handler { app: app.clone(), subscribers };
    let protocol = Protocol::new(handler, out.clone(), in_flight.clone());

    let front = Front { app: app.clone(), session, notifier, out: out.clone(), in_flight: in_flight.clone(), protocol };
    let mut boot = Boot { app, settings: Some(children), answered: false };
    read_lines(&front, &mut boot, input, stop).await;

    // What was accepted is answered, if it does not take long.
    let _ = tokio::time::timeout(DRAIN, in_flight.all_answered()).await;
    app.children().shutdown().await;
    drop((front, out));
    let _ = tokio::time::timeout(Duration::from_millis(100), writer).await;
}

async fn read_lines(front: &Front, boot: &mut Boot<'_>, input: impl AsyncRead + Unpin, stop: impl Future<Output = ()>) {
    let mut lines = Lines::new(input, MAX_LINE);
    tokio::pin!(stop);
    loop {
        let line = tokio::select! {
            biased;
            line = lines.next() => line,
            () = front.out.closed() => return,
            () = &mut stop => return,
            () = boot.wait() => {
                boot.start();
                continue;
            }
        };
        match line {
            Ok(Some(Line::Whole(line) | Line::Rest(line))) => {
                if boot.must_precede(&line) {
                    boot.start();
                }
                front.line(&line).await;
                boot.answered = true;
            }
            Ok(Some(Line::Over { .. })) => front.too_long(MAX_LINE).await,
            Ok(Some(Line::OverEnd { .. })) => {}
            Ok(None) => return,
            Err(error) => {
                log::warn(&format!("the client's stream ends: {error}"));
                return;
            }
        }
    }
}

/// Starts the child servers, once, when that delays no answer.
struct Boot<'a> {
    app: &'a Arc<App>,
    settings: Option<ChildSettings>,
    answered: bool,
}

impl Boot<'_> {
    /// Resolves when it is time; never once they are started.
    async fn wait(&self) {
        if self.settings.is_none() {
            return std::future::pending().await;
        }
        tokio::time::sleep(if self.answered { QUIET } else { PATIENCE }).await;
    }

    /// A call may be for a child, so the children must have been started before it.
    fn must_precede(&self, line: &[u8]) -> bool {
        self.settings.is_some() && memchr::memmem::find(line, b"tools/call").is_some()
    }

    fn start(&mut self) {
        if let Some(settings) = self.settings.take() {
            self.app.set_children(Children::start(CATALOG.servers, settings, self.app.clone()));
        }
    }
}

/// Resolves on SIGTERM or SIGINT (Ctrl-C elsewhere).
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
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
