//! Log messages of a child: their levels, and how many of them are passed on.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Messages of one child that are passed on in one [`WINDOW`].
const MAX_MESSAGES: u32 = 200;
const WINDOW: Duration = Duration::from_secs(1);
/// Bytes of the parameters of a message that is passed on.
const MAX_BYTES: usize = 64 << 10;

/// How severe a log message is (server/utilities/logging § Log Levels), mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For who debugs.
    Debug,
    /// As expected.
    Info,
    /// Normal, but worth a look.
    Notice,
    /// Something is odd.
    Warning,
    /// Something failed.
    Error,
    /// A part failed.
    Critical,
    /// Somebody must act at once.
    Alert,
    /// Nothing works.
    Emergency,
}

impl Level {
    const ALL: [(Level, &str); 8] = [
        (Level::Debug, "debug"),
        (Level::Info, "info"),
        (Level::Notice, "notice"),
        (Level::Warning, "warning"),
        (Level::Error, "error"),
        (Level::Critical, "critical"),
        (Level::Alert, "alert"),
        (Level::Emergency, "emergency"),
    ];

    /// The level of this name.
    pub fn of(name: &str) -> Option<Level> {
        Level::ALL.iter().find(|(_, known)| *known == name).map(|(level, _)| *level)
    }

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        Level::ALL.iter().find(|(level, _)| *level == self).map_or("debug", |(_, name)| name)
    }
}

/// How many messages one child may still have passed on.
#[derive(Debug, Default)]
pub(super) struct Budget(Mutex<Option<(Instant, u32)>>);

impl Budget {
    /// Whether a message of so many bytes may be passed on.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (start, taken) = window.filter(|(start, _)| now - *start < WINDOW).unwrap_or((now, 0));
        let fits = taken < MAX_MESSAGES && bytes <= MAX_BYTES;
        *window = Some((start, taken + u32::from(fits)));
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_an_order_and_names() {
        for (level, name) in Level::ALL {
            assert_eq!((Level::of(name), level.name()), (Some(level), name));
        }
        assert!(Level::Debug < Level::Info && Level::Alert < Level::Emergency);
        assert_eq!(Level::of("loud"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_cut() {
        let budget = Budget::default();
        assert!(!budget.take(MAX_BYTES + 1), "one that is too large takes nobody's place");
        assert_eq!((0..1000).filter(|_| budget.take(10)).count(), MAX_MESSAGES as usize);
        tokio::time::advance(WINDOW).await;
        assert!(budget.take(10));
    }
}
