//! What a child has said to have changed, kept until it is looked at: however often it says so, that is one
//! change.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// From a child's `list_changed` to our question, so that a burst costs one.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(100);
/// A child that changes all the time is asked ever more rarely, down to this.
const LONGEST_DEBOUNCE: Duration = Duration::from_secs(5);
/// Changes further apart than this are no series.
const CALM: Duration = Duration::from_secs(10);
/// Updated resources that may wait to be told of.
const MAX_UPDATES: usize = 256;
/// Bytes of the URI of one.
const MAX_URI: usize = 8 << 10;

/// Everything a child can say to have changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) tools: Signal,
    /// Resources and their templates.
    pub(super) resources: Signal,
    pub(super) prompts: Signal,
    pub(super) updates: Updates,
}

impl Changes {
    /// Every list may have changed.
    pub(super) fn mark_all(&self) {
        [&self.tools, &self.resources, &self.prompts].into_iter().for_each(Signal::mark);
    }
}

/// One list of the child is not what it was.
#[derive(Debug, Default)]
pub(super) struct Signal {
    /// Set before the signal is given.
    stale: AtomicBool,
    told: Notify,
}

impl Signal {
    pub(super) fn mark(&self) {
        self.stale.store(true, Relaxed);
        self.told.notify_one();
    }

    /// Waits for a change.
    async fn changed(&self) {
        while !self.stale.load(Relaxed) {
            self.told.notified().await;
        }
    }

    /// Waits until the list is due to be read again; a burst is one change.
    pub(super) async fn due(&self, pace: &Pace) {
        self.changed().await;
        sleep(pace.pause).await;
        // From here on, a change is a new one.
        self.stale.store(false, Relaxed);
    }
}

/// How often a list is read that changes again and again.
#[derive(Debug)]
pub(super) struct Pace {
    pause: Duration,
    since: Instant,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { pause: DEBOUNCE, since: Instant::now() }
    }

    /// The list has been read.
    pub(super) fn done(&mut self) {
        self.pause = if self.since.elapsed() < CALM { (self.pause * 2).min(LONGEST_DEBOUNCE) } else { DEBOUNCE };
        self.since = Instant::now();
    }
}

/// The resources whose contents have changed, each once.
#[derive(Debug, Default)]
pub(super) struct Updates {
    uris: Mutex<BTreeSet<String>>,
    told: Notify,
}

impl Updates {
    /// Takes the raw parameters of a `notifications/resources/updated`. Beyond the limit they are dropped: nobody
    /// watches so many.
    pub(super) fn read(&self, params: &[u8]) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        let Ok(Updated { uri }) = serde_json::from_slice(params) else { return };
        let mut uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        if uri.len() <= MAX_URI && uris.len() < MAX_UPDATES {
            uris.insert(uri);
            self.told.notify_one();
        }
    }

    /// Waits for updates and takes them.
    pub(super) async fn next(&self) -> BTreeSet<String> {
        loop {
            let uris = std::mem::take(&mut *self.uris.lock().unwrap_or_else(PoisonError::into_inner));
            if !uris.is_empty() {
                return uris;
            }
            self.told.notified().await;
        }
    }
}
