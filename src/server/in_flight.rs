//! The requests of the client that have no answer yet, by the JSON text of their ids. Bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Most requests that are answered at once.
pub(super) const MAX_IN_FLIGHT: usize = 1024;

/// Requests without an answer.
#[derive(Clone, Default)]
pub(super) struct InFlight {
    requests: Arc<Mutex<HashMap<String, CancellationToken>>>,
    changed: Arc<Notify>,
}

/// Why a request is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A request with this id has no answer yet.
    Duplicate,
    /// There are [`MAX_IN_FLIGHT`] already.
    TooMany,
}

impl InFlight {
    /// Takes a request; the token is cancelled when the client gives it up.
    pub(super) fn begin(&self, id: &str) -> Result<CancellationToken, Refused> {
        let mut requests = self.lock();
        let key = canonical(id);
        if requests.contains_key(&key) {
            return Err(Refused::Duplicate);
        }
        if requests.len() >= MAX_IN_FLIGHT {
            return Err(Refused::TooMany);
        }
        let token = CancellationToken::new();
        requests.insert(key, token.clone());
        Ok(token)
    }

    /// A request has been answered.
    pub(super) fn finish(&self, id: &str) {
        self.lock().remove(&canonical(id));
        self.changed.notify_waiters();
    }

    /// The client gives a request up.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(token) = self.lock().get(&canonical(id)) {
            token.cancel();
        }
    }

    /// Waits until every request has been answered.
    pub(super) async fn all_answered(&self) {
        self.until(HashMap::is_empty).await;
    }

    async fn until(&self, done: impl Fn(&HashMap<String, CancellationToken>) -> bool) {
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One spelling for a text with escapes and the same text without.
fn canonical(id: &str) -> String {
    if !id.contains('\\') {
        return id.to_owned();
    }
    serde_json::from_str::<Value>(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ids_are_taken_once_and_freed_by_the_answer() {
        let requests = InFlight::default();
        let token = requests.begin(r#""\u0061""#).unwrap();
        assert_eq!(requests.begin("\"a\"").unwrap_err(), Refused::Duplicate);
        requests.begin("1").unwrap();
        requests.cancel("\"a\"");
        assert!(token.is_cancelled());
        requests.finish("\"a\"");
        requests.finish("1");
        requests.all_answered().await;
        for n in 0..MAX_IN_FLIGHT {
            requests.begin(&n.to_string()).unwrap();
        }
        assert_eq!(requests.begin("x").unwrap_err(), Refused::TooMany);
    }
}
