//! The requests of the client that have no answer yet, by the JSON text of their ids. Bounded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Most requests that are being answered at once.
pub(super) const MAX_IN_FLIGHT: usize = 1024;

/// So long a further one waits for the answer to another. No longer: the next line may be the cancellation that makes
/// room, or the client's end.
const PATIENCE: Duration = Duration::from_millis(100);

/// Requests without an answer.
#[derive(Clone, Default)]
pub(super) struct InFlight {
    requests: Arc<Mutex<HashMap<String, Owner>>>,
    changed: Arc<Notify>,
    /// Nobody found room since the last answer: the next need not wait for it again.
    stuck: Arc<AtomicBool>,
}

/// Who answers a request.
#[derive(Debug, Clone)]
pub(super) enum Owner {
    /// A task of ours, which the token stops.
    Call(CancellationToken),
    /// rmcp.
    Rmcp,
    /// rmcp, when the subscription ends.
    Subscription,
}

impl InFlight {
    /// Takes a request; `false` if one with this id has no answer yet.
    pub(super) fn begin(&self, id: &str, owner: Owner) -> bool {
        let mut requests = self.lock();
        let key = canonical(id);
        if requests.contains_key(&*key) {
            return false;
        }
        requests.insert(key.into_owned(), owner);
        true
    }

    /// Whether a request with this id has no answer yet.
    pub(super) fn holds(&self, id: &str) -> bool {
        self.lock().contains_key(&*canonical(id))
    }

    /// The request is answered. Only who gets `true` may send the answer: nobody has before, and the client wants it.
    pub(super) fn finish(&self, id: &str) -> bool {
        self.remove(id).is_some()
    }

    /// The client gives a request up: it gets no answer any more. Tells whose it was.
    pub(super) fn cancel(&self, id: &str) -> Option<Owner> {
        let owner = self.remove(id);
        if let Some(Owner::Call(token)) = &owner {
            token.cancel();
        }
        owner
    }

    /// Stops all calls, and takes their ids.
    pub(super) fn abandon_calls(&self) -> Vec<String> {
        let mut ids = Vec::new();
        for (id, owner) in self.lock().extract_if(|_, owner| matches!(owner, Owner::Call(_))) {
            if let Owner::Call(token) = owner {
                token.cancel();
            }
            ids.push(id);
        }
        self.changed.notify_waiters();
        ids
    }

    /// Waits until every request has been answered, but for subscriptions, which last as long as the client.
    pub(super) async fn all_answered(&self) {
        self.until(|requests| requests.values().all(|owner| matches!(owner, Owner::Subscription))).await;
    }

    /// Waits for room for one more. `false`: there is none, and answers do not make any.
    pub(super) async fn room(&self) -> bool {
        if self.lock().len() < MAX_IN_FLIGHT {
            return true;
        }
        if self.stuck.load(Ordering::Relaxed) {
            return false;
        }
        let room = timeout(PATIENCE, self.until(|requests| requests.len() < MAX_IN_FLIGHT)).await.is_ok();
        self.stuck.store(!room, Ordering::Relaxed);
        room
    }

    fn remove(&self, id: &str) -> Option<Owner> {
        let owner = self.lock().remove(&*canonical(id));
        self.stuck.store(false, Ordering::Relaxed);
        self.changed.notify_waiters();
        owner
    }

    async fn until(&self, done: impl Fn(&HashMap<String, Owner>) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Listens before it looks, so that no change is missed.
            changed.as_mut().enable();
            if done(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One spelling for a text with escapes and the same text without, and for the two spellings of zero: rmcp answers in
/// its own.
fn canonical(id: &str) -> Cow<'_, str> {
    if id == "-0" {
        return "0".into();
    }
    if !id.contains('\\') {
        return id.into();
    }
    serde_json::from_str::<Value>(id).map_or_else(|_| id.into(), |id| id.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Owner {
        Owner::Call(CancellationToken::new())
    }

    #[tokio::test]
    async fn ids_are_taken_once_and_freed_by_the_answer() {
        let requests = InFlight::default();
        assert!(requests.begin(r#""\u0061""#, call()));
        assert!(!requests.begin("\"a\"", Owner::Rmcp));
        assert!(requests.begin("1", call()), "a number is not the text of it");
        assert!(requests.begin("\"1\"", Owner::Rmcp));
        assert!(requests.finish("\"a\""));
        assert!(!requests.finish("\"a\""), "an answer is sent once");
        assert!(requests.finish("1") && requests.finish("\"1\""));
        assert!(requests.begin("-0", Owner::Rmcp) && requests.finish("0"));
        requests.all_answered().await;
    }

    #[test]
    fn a_cancelled_call_is_stopped_and_not_answered() {
        let requests = InFlight::default();
        let token = CancellationToken::new();
        assert!(requests.begin("1", Owner::Call(token.clone())));
        assert!(matches!(requests.cancel("1"), Some(Owner::Call(_))));
        assert!(token.is_cancelled() && !requests.finish("1"));
        assert!(requests.cancel("2").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_house_waits_as_long_as_answers_make_room() {
        let requests = InFlight::default();
        for n in 0..MAX_IN_FLIGHT {
            assert!(requests.begin(&n.to_string(), call()));
        }
        let other = requests.clone();
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE / 2).await;
            other.finish("7")
        });
        assert!(requests.room().await);
        assert!(requests.begin("more", call()));

        let start = tokio::time::Instant::now();
        assert!(!requests.room().await && !requests.room().await);
        assert!(start.elapsed() < PATIENCE * 2, "the second does not wait");
        requests.cancel("8");
        assert!(requests.room().await);
        assert_eq!(requests.abandon_calls().len(), MAX_IN_FLIGHT - 1);
        requests.all_answered().await;
    }
}
