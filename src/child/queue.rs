//! How many calls a server works on at the same time. Those beyond wait, and sessions take turns: one that asks for
//! a thousand things does not keep another from asking for one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::session::SessionId;

/// Whose call it is: a session, or whoever has none. Calls of the same caller keep their order.
pub type Caller = Option<SessionId>;

/// Calls that may wait for one server.
pub(super) const MAX_WAITING: usize = 1024;

/// The calls of one server. The lock is held for some pointer moves, never across an await.
#[derive(Debug)]
pub(super) struct Queue {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Calls that have a place. Below the limit nobody waits.
    at_work: usize,
    waiting: usize,
    /// Callers who wait, the next one first; none without a call.
    callers: VecDeque<(Caller, VecDeque<oneshot::Sender<Place>>)>,
}

/// A place among the calls that the server works on; given to the next one when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    queue: Option<Arc<Queue>>,
}

/// Nobody else may wait.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Queue {
    /// With room for `limit` calls.
    pub(super) fn new(limit: usize) -> Arc<Queue> {
        Arc::new(Queue { limit, state: Mutex::default() })
    }

    /// Calls that may be at work.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// A place, if one is free.
    pub(super) fn try_enter(self: &Arc<Queue>) -> Option<Place> {
        let mut state = self.state();
        let is_free = state.at_work < self.limit;
        if is_free {
            state.at_work += 1;
        }
        is_free.then(|| Place { queue: Some(self.clone()) })
    }

    /// Waits for a place. Whoever drops this gives up waiting.
    pub(super) async fn enter(self: &Arc<Queue>, caller: Caller) -> Result<Place, Full> {
        loop {
            if let Some(place) = self.try_enter() {
                return Ok(place);
            }
            // The sender is dropped without a place only together with the queue, which we hold.
            if let Ok(place) = self.wait(caller)?.await {
                return Ok(place);
            }
        }
    }

    fn wait(&self, caller: Caller) -> Result<oneshot::Receiver<Place>, Full> {
        let mut state = self.state();
        if state.waiting >= MAX_WAITING {
            state.sweep();
        }
        if state.waiting >= MAX_WAITING {
            return Err(Full);
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting += 1;
        match state.callers.iter_mut().find(|(known, _)| *known == caller) {
            Some((_, calls)) => calls.push_back(sender),
            None => state.callers.push_back((caller, [sender].into())),
        }
        Ok(receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next call that waits, its caller going to the end of the line.
    fn next(&mut self) -> Option<oneshot::Sender<Place>> {
        while let Some((caller, mut calls)) = self.callers.pop_front() {
            while let Some(next) = calls.pop_front() {
                self.waiting -= 1;
                // One that has given up does not cost its caller the turn.
                if next.is_closed() {
                    continue;
                }
                if !calls.is_empty() {
                    self.callers.push_back((caller, calls));
                }
                return Some(next);
            }
        }
        None
    }

    /// Takes out whoever has given up.
    fn sweep(&mut self) {
        for (_, calls) in &mut self.callers {
            calls.retain(|call| !call.is_closed());
        }
        self.callers.retain(|(_, calls)| !calls.is_empty());
        self.waiting = self.callers.iter().map(|(_, calls)| calls.len()).sum();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(queue) = self.queue.take() else { return };
        loop {
            let next = {
                let mut state = queue.state();
                let next = state.next();
                if next.is_none() {
                    state.at_work -= 1;
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(Place { queue: Some(queue.clone()) }) {
                Ok(()) => return,
                // It has given up; the place comes back and is handed on, not dropped inside its own drop.
                Err(mut place) => place.queue = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn callers_take_turns_and_places_go_to_those_who_still_wait() {
        let queue = Queue::new(1);
        let first = queue.try_enter().unwrap();
        assert!(queue.try_enter().is_none());
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        let sessions = [None, Some(SessionId::next()), Some(SessionId::next())];
        for (caller, name) in [(0, "a1"), (0, "a2"), (0, "a3"), (1, "b1"), (2, "c1"), (1, "b2")] {
            let caller: Caller = sessions[caller];
            let (queue, order) = (queue.clone(), order.clone());
            tasks.push((
                name,
                tokio::spawn(async move {
                    let _place = queue.enter(caller).await.unwrap();
                    order.lock().unwrap().push(name);
                }),
            ));
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.state().waiting, 6);
        let given_up = tasks.remove(1).1;
        given_up.abort();
        assert!(given_up.await.is_err());
        drop(first);
        for (_, task) in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["a1", "b1", "c1", "a3", "b2"]);
        let state = queue.state();
        assert_eq!((state.waiting, state.at_work), (0, 0));
    }

    #[tokio::test]
    async fn the_line_is_bounded_by_those_who_still_wait() {
        let queue = Queue::new(1);
        let _first = queue.try_enter().unwrap();
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| queue.wait(None).unwrap()).collect();
        assert_eq!(queue.wait(Some(SessionId::next())).unwrap_err(), Full);
        waiting.pop();
        assert!(queue.wait(None).is_ok());
    }
}
