//! The audit log: who called what, what decided, and what came of it. Lines of JSON below the state folder, tied together
//! by digests, written by a thread of its own.
//!
//! ```text
//! calls, approvals, children → Audit::record → writer (queue, thread) → append → chain, folder
//! evokore audit → read, verify
//! ```
//!
//! Whoever may write the files may write them anew from the beginning, with digests that fit: the chain shows what was
//! changed by accident or without knowing how, and what is not what somebody noted elsewhere.

mod append;
mod call;
mod chain;
mod event;
mod folder;
pub mod read;
pub(crate) mod rule;
pub mod verify;
mod writer;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::catalog::CATALOG;
use crate::log;
use crate::settings::Settings;
use append::{Appender, KEEP, MAX_FILE};
pub use call::{Audited, By};
pub use chain::{Hash, Link};
use event::Stamp;
pub use event::{Arguments, Event, Kind, Outcome, now};
pub use folder::Folder;
use writer::{Ended, Queue, Ticket};

/// How long a command waits at its end until its events are written.
pub const PATIENCE: Duration = Duration::from_millis(500);

/// The way to the log. A cheap handle; nothing is opened or started before the first event.
#[derive(Clone, Default)]
pub struct Audit {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    settings: Settings,
    /// Whether the process serves, so that its start and its end are events.
    serves: bool,
    calls: AtomicU64,
    queue: OnceLock<Arc<Queue>>,
}

impl Audit {
    /// The log of a process that calls tools; none if `settings` say so.
    pub fn new(settings: &Settings) -> Audit {
        Audit::with(settings, true)
    }

    /// The log of a command that only adds something to it.
    pub fn aside(settings: &Settings) -> Audit {
        Audit::with(settings, false)
    }

    fn with(settings: &Settings, serves: bool) -> Audit {
        let shared = settings.audit.then(|| {
            let settings = settings.clone();
            Arc::new(Shared { settings, serves, calls: AtomicU64::new(1), queue: OnceLock::new() })
        });
        Audit { shared }
    }

    /// Whether events are written.
    pub fn is_on(&self) -> bool {
        self.shared.is_some()
    }

    /// Writes `event`, soon. Does not wait and cannot fail: what goes wrong is told on stderr, and what is lost is counted
    /// in the log.
    pub fn record(&self, event: Event) {
        if let Some(shared) = &self.shared {
            shared.queue().push(event);
        }
    }

    /// Writes the event of a call that is made, and tells where it waits for the end of the call.
    fn call(&self, event: Event) -> Option<Ticket> {
        self.shared.as_ref()?.queue().push(event)
    }

    /// Adds the end of a call to its event; false if that is on its way already, or is not written at all.
    fn end_of(&self, ticket: Ticket, ended: Ended<'_>) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.queue().end_of(ticket, ended))
    }

    /// Notes that the process serves from now on.
    pub fn begin(&self) {
        if let Some(shared) = &self.shared {
            shared.queue();
        }
    }

    /// Waits, at most for `patience`, until everything is written; later events are lost.
    pub fn close(&self, patience: Duration) {
        let Some(shared) = &self.shared else { return };
        if let Some(queue) = shared.queue.get() {
            if shared.serves {
                queue.push(Event::new(Kind::RunEnd, Outcome::Success));
            }
            queue.close(patience);
        }
    }

    fn next_call(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl Shared {
    fn queue(&self) -> &Queue {
        self.queue.get_or_init(|| {
            let queue = Arc::<Queue>::default();
            let Some(home) = &self.settings.home else {
                log::warn("there is no audit log, because there is no home folder; set EVOKORE_HOME");
                queue.end();
                return queue;
            };
            let stamp = Stamp { run: run(), settings: Some(self.settings.clone()) };
            let folder = Folder::below(home);
            if self.serves {
                queue.push(Event::new(Kind::RunStart, Outcome::Success).because(&build()));
            }
            writer::start(queue.clone(), Appender { folder, stamp, max_file: MAX_FILE, keep: KEEP });
            queue
        })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.get() {
            queue.close(PATIENCE);
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").field("is_on", &self.is_on()).finish()
    }
}

/// Digits that no other process has.
fn run() -> String {
    let mut random = [0; 4];
    // Without random numbers the process is told apart by its id alone.
    let _ = getrandom::fill(&mut random);
    format!("{}-{:08x}", std::process::id(), u32::from_be_bytes(random))
}

/// What decides in this build: its version, and the digest of the configuration that it was made from.
fn build() -> String {
    format!("evokore {}, inputs {}", env!("CARGO_PKG_VERSION"), CATALOG.inputs_sha256)
}
