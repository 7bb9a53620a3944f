//! One bucket of tokens. Pure: the time comes from the caller and only ever counts forwards.

use std::time::Duration;

use evokore_catalog::server::Rate;
use tokio::time::Instant;

use super::Caller;

/// How long a place is kept beyond the moment at which its caller was told to come again.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Most callers that are kept a place; beyond it there is still the bucket, first come, first served.
pub(super) const MAX_WAITING: usize = 64;

/// A token, in the units of [`Bucket::credit`], is the interval in nanoseconds; each nanosecond brings `refill` units.
/// So no rounding gains or loses anything.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    credit: u128,
    updated: Instant,
    /// Callers that were refused and have not been served since, the longest waiting first.
    waiting: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    caller: Caller,
    until: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn new(rate: Rate, now: Instant) -> Bucket {
        let mut bucket = Bucket { rate, credit: 0, updated: now, waiting: Vec::new() };
        bucket.credit = bucket.full();
        bucket
    }

    fn token(&self) -> u128 {
        Duration::from_millis(self.rate.interval_ms.into()).as_nanos()
    }

    fn full(&self) -> u128 {
        self.token() * u128::from(self.rate.burst)
    }

    /// How long `caller` has to wait for its token, which is not at all when there is one more than callers that have
    /// waited longer.
    pub(super) fn wait(&mut self, caller: Caller, now: Instant) -> Duration {
        // A clock that stood still, or a time from before the last call, brings nothing and takes nothing.
        let elapsed = now.saturating_duration_since(self.updated).as_nanos();
        self.credit = (self.credit + elapsed * u128::from(self.rate.refill)).min(self.full());
        self.updated = self.updated.max(now);
        self.waiting.retain(|place| place.until > now);
        let ahead = self.waiting.iter().take_while(|place| place.caller != caller).count();
        // `ahead` is at most `MAX_WAITING`.
        let missing = (self.token() * (ahead as u128 + 1)).saturating_sub(self.credit);
        let nanoseconds = missing.div_ceil(u128::from(self.rate.refill));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Keeps `caller` its place, the last one if it has none yet, for as long as it was told to wait and a little.
    pub(super) fn queue(&mut self, caller: Caller, wait: Duration, now: Instant) {
        let until = now + wait + GRACE;
        if let Some(place) = self.waiting.iter_mut().find(|place| place.caller == caller) {
            place.until = until;
        } else if self.waiting.len() < MAX_WAITING {
            self.waiting.push(Place { caller, until });
        }
    }

    /// Takes the token that [`Bucket::wait`] has found for `caller`.
    pub(super) fn take(&mut self, caller: Caller) {
        self.credit = self.credit.saturating_sub(self.token());
        self.waiting.retain(|place| place.caller != caller);
    }

    /// Puts a token back that was not used.
    pub(super) fn give_back(&mut self) {
        self.credit = (self.credit + self.token()).min(self.full());
    }
}
