//! The tasks that the client of the handshake era has been told of. Only of these it hears news: what a server makes a
//! task of for our own sake, or for nobody, is not its business. Bounded; a client that has more asks after them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::child::task::MAX_ID;

/// Of more, those told of longest ago are forgotten.
const MAX_KNOWN: usize = 256;

/// Tasks by the ids that clients know.
#[derive(Debug, Default)]
pub struct Known(Mutex<VecDeque<String>>);

impl Known {
    /// The client is told of a task.
    pub fn add(&self, id: String) {
        if id.len() > MAX_ID {
            return;
        }
        let mut known = self.known();
        known.retain(|known| *known != id);
        if known.len() >= MAX_KNOWN {
            known.pop_front();
        }
        known.push_back(id);
    }

    /// Whether the client has been told of a task.
    pub fn has(&self, id: &str) -> bool {
        self.known().iter().any(|known| known == id)
    }

    fn known(&self) -> MutexGuard<'_, VecDeque<String>> {
        // No code that could panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_known() {
        let known = Known::default();
        (0..=MAX_KNOWN).for_each(|n| known.add(n.to_string()));
        assert!(!known.has("0") && known.has("1"));
        known.add("1".to_owned());
        known.add("new".to_owned());
        assert!(known.has("1") && !known.has("2"), "what is told of again stays");
        known.add("x".repeat(MAX_ID + 1));
        assert!(known.has("3"), "one that is too long takes nobody's place");
    }
}
