//! Whether anybody uses a server: one that is not called for a while may be stopped until it is.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The use of one server.
#[derive(Debug)]
pub(super) struct Idle {
    limit: Duration,
    state: Mutex<State>,
    /// The last call has ended.
    rests: Notify,
}

#[derive(Debug)]
struct State {
    calls: usize,
    since: Instant,
}

/// A call that is under way.
#[derive(Debug)]
pub(super) struct Busy<'a>(&'a Idle);

impl Idle {
    /// Nobody may call for `limit`.
    pub(super) fn new(limit: Duration) -> Idle {
        Idle { limit, state: Mutex::new(State { calls: 0, since: Instant::now() }), rests: Notify::new() }
    }

    /// How long nobody may call.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// A call begins. It must not look for the connection before.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.state().calls += 1;
        Busy(self)
    }

    /// It is up: the time counts from now.
    pub(super) fn restart(&self) {
        self.state().since = Instant::now();
    }

    /// Waits until nobody has called for so long, and does `stop` before anybody can call again.
    pub(super) async fn expired(&self, stop: impl FnOnce()) {
        loop {
            let due = {
                let state = self.state();
                let due = state.since + self.limit;
                if state.calls == 0 && due <= Instant::now() {
                    // Under the lock: the next call will find it stopped.
                    return stop();
                }
                (state.calls == 0).then_some(due)
            };
            match due {
                Some(due) => sleep_until(due).await,
                None => self.rests.notified().await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.calls -= 1;
        state.since = Instant::now();
        if state.calls == 0 {
            self.0.rests.notify_one();
        }
    }
}
