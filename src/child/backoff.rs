//! How long to wait before a child is started again: growing from one failure to the next, never in step with other
//! children, short again after it has run well for a while.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

/// After the first failure.
const FIRST: Duration = Duration::from_millis(500);
/// At most; a crash loop ends in this slow retry.
const LONGEST: Duration = Duration::from_secs(300);
/// A child that was up for so long has recovered from whatever it was.
const SUSTAINED: Duration = Duration::from_secs(60);

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Notes a failure of a child that had been up for `uptime`; the time to wait.
    pub(super) fn next(&mut self, uptime: Duration) -> Duration {
        if uptime >= SUSTAINED {
            self.failures = 0;
        }
        let delay = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        delay.mul_f64(jitter())
    }

    /// Failures in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }
}

/// Somewhere in 0.75..1.25; good enough randomness for keeping children out of step, without a crate.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish() % 1000;
    0.75 + f64::from(u32::try_from(random).unwrap_or(500)) / 2000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_to_a_bound_and_resets_after_sustained_uptime() {
        let mut backoff = Backoff::default();
        let around = |delay: Duration, expected: f64| {
            let ratio = delay.as_secs_f64() / expected;
            assert!((0.75..1.25).contains(&ratio), "{delay:?}, expected about {expected} s");
        };
        for expected in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 300.0, 300.0] {
            around(backoff.next(Duration::from_secs(1)), expected);
        }
        for _ in 0..100 {
            backoff.next(Duration::ZERO);
        }
        around(backoff.next(Duration::ZERO), 300.0);
        around(backoff.next(Duration::from_secs(61)), 0.5);
        around(backoff.next(Duration::from_secs(1)), 1.0);
    }
}
