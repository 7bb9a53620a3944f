//! What is counted about one child server, over all its runs.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use super::error::quoted;

/// Characters kept of the first line of noise.
const SAMPLE: usize = 160;

/// Counters of one child server.
#[derive(Debug, Default)]
pub struct Stats {
    heard: AtomicI64,
    noise: AtomicU64,
    stray: AtomicU64,
    dropped: AtomicU64,
    sample: Mutex<Option<String>>,
    noisy: Notify,
}

impl Stats {
    /// A message came.
    pub(super) fn hear(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
        self.heard.store(i64::try_from(now).unwrap_or(i64::MAX), Relaxed);
    }

    /// A line on stdout was no message.
    pub(super) fn noise(&self, line: &[u8]) {
        if self.noise.fetch_add(1, Relaxed) == 0 {
            let line = String::from_utf8_lossy(&line[..line.len().min(4 * SAMPLE)]);
            *self.sample.lock().unwrap_or_else(PoisonError::into_inner) = Some(quoted(&line, SAMPLE));
        }
        self.noisy.notify_one();
    }

    /// Waits for a line that is no message, unless one has come since the last time.
    pub(super) async fn noisy(&self) {
        self.noisy.notified().await;
    }

    /// A message came that nobody waits for: a late or second answer, progress after the result.
    pub(super) fn stray(&self) {
        self.stray.fetch_add(1, Relaxed);
    }

    /// A log message is not passed on, because there are too many or it is too large.
    pub(super) fn drop_log(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Milliseconds since 1970 of the last message; `None` before the first.
    pub fn last_heard(&self) -> Option<i64> {
        Some(self.heard.load(Relaxed)).filter(|heard| *heard != 0)
    }

    /// How many lines on stdout were no messages.
    pub fn noise_lines(&self) -> u64 {
        self.noise.load(Relaxed)
    }

    /// The first of those lines, shortened.
    pub fn noise_sample(&self) -> Option<String> {
        self.sample.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many log messages were not passed on, because there were too many or they were too large.
    pub fn dropped_logs(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// How many messages nobody waited for.
    pub fn stray_messages(&self) -> u64 {
        self.stray.load(Relaxed)
    }
}
