//! Whether anybody uses a server: one that is not called for a while may be stopped until it is, unless it works on a
//! task.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::task::{Lasting, MAX_ID};

/// Unfinished tasks that are known; of more, those that end first are forgotten.
const MAX_TASKS: usize = 256;
/// A task whose server does not say how long it lasts is given up so long after it was last heard of.
const TASK: Duration = Duration::from_secs(3600);
/// No task keeps a server awake for longer without being heard of.
const LONGEST_TASK: Duration = super::server::LONGEST_LIMIT;

/// The use of one server.
#[derive(Debug)]
pub(super) struct Idle {
    limit: Duration,
    state: Mutex<State>,
    /// The last call has ended.
    rests: Notify,
    /// A task is over.
    released: Notify,
}

#[derive(Debug)]
struct State {
    calls: usize,
    since: Instant,
    /// Until when the server is kept for each of its tasks, by its own id.
    tasks: BTreeMap<String, Instant>,
}

impl State {
    /// When nobody will have used it for `limit`, if nobody calls.
    fn due(&mut self, limit: Duration) -> Instant {
        let now = Instant::now();
        self.tasks.retain(|_, until| *until > now);
        self.tasks.values().copied().max().unwrap_or(now).max(self.since + limit)
    }
}

/// A call that is under way.
#[derive(Debug)]
pub(super) struct Busy<'a>(&'a Idle);

impl Idle {
    /// Nobody may call for `limit`.
    pub(super) fn new(limit: Duration) -> Idle {
        let state = State { calls: 0, since: Instant::now(), tasks: BTreeMap::new() };
        Idle { limit, state: Mutex::new(state), rests: Notify::new(), released: Notify::new() }
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

    /// It is up: the time counts from now, and tasks of an earlier run are gone.
    pub(super) fn restart(&self) {
        let mut state = self.state();
        state.since = Instant::now();
        state.tasks.clear();
    }

    /// The server has told of a task: it is needed for so long, or (`None`) no longer.
    pub(super) fn hold(&self, id: String, lasting: Option<Lasting>) {
        let mut state = self.state();
        match lasting {
            None => {
                if state.tasks.remove(&id).is_some() {
                    self.released.notify_one();
                }
            }
            Some(_) if id.len() > MAX_ID => {}
            Some(Lasting(ttl)) => {
                state.tasks.insert(id, Instant::now() + ttl.unwrap_or(TASK).min(LONGEST_TASK));
                if state.tasks.len() > MAX_TASKS
                    && let Some(first) = state.tasks.iter().min_by_key(|(_, until)| **until).map(|(id, _)| id.clone())
                {
                    state.tasks.remove(&first);
                }
            }
        }
    }

    /// Waits until nobody has called for so long, and does `stop` before anybody can call again.
    pub(super) async fn expired(&self, stop: impl FnOnce()) {
        loop {
            let due = {
                let mut state = self.state();
                let due = state.due(self.limit);
                if state.calls == 0 && due <= Instant::now() {
                    // Under the lock: the next call will find it stopped.
                    return stop();
                }
                (state.calls == 0).then_some(due)
            };
            match due {
                Some(due) => tokio::select! {
                    () = sleep_until(due) => {}
                    () = self.released.notified() => {}
                },
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
