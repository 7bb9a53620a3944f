//! Limits on how often child servers are called, shared by all sessions of the process.
//!
//! A call needs a token of its tool's bucket and of its server's; a call that is refused, here or by a later gate,
//! spends neither. Buckets are full at the start and are refilled evenly by a monotonic clock, so that neither a step
//! of the wall clock nor an hour of sleep gives anyone more than the burst.
//!
//! Sessions share a bucket fairly by one rule: **who was refused is next.** A refused caller keeps its place until it
//! is served, or has not come again ten seconds after the moment it was told; as long as it does, nobody behind it gets
//! the token that it waits for. So a session that calls without a pause gets its turn like the others, and alone it
//! has the whole bucket. Requests of revision 2026-07-28, which have no session, count as one caller.

mod bucket;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evokore_catalog::server::ServerSpec;
use tokio::time::Instant;

use super::outcome::Outcome;
use crate::session::SessionId;
use bucket::Bucket;

/// Who calls: a session, or the requests without one.
pub type Caller = Option<SessionId>;

/// The limits of every configured server. Without limits it holds nothing.
#[derive(Debug, Default)]
pub struct RateLimits {
    /// By the index of the server; empty if no server is limited.
    servers: Box<[Option<Mutex<Buckets>>]>,
}

#[derive(Debug)]
struct Buckets {
    id: &'static str,
    server: Option<Bucket>,
    tools: Box<[(&'static str, Bucket)]>,
}

/// The tokens of one call. Dropped unspent, they go back.
#[derive(Debug)]
pub struct Permit<'a> {
    taken: Option<(&'a Mutex<Buckets>, Option<usize>)>,
}

impl Permit<'_> {
    /// The call is made.
    pub fn spend(mut self) {
        self.taken = None;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some((buckets, tool)) = self.taken.take() {
            lock(buckets).each(tool, |_, bucket| bucket.give_back());
        }
    }
}

/// Why a call has to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refusal {
    server: &'static str,
    /// The tool whose bucket it is; `None` for the server's.
    tool: Option<&'static str>,
    wait: Duration,
}

impl RateLimits {
    /// Full buckets for those of `specs` that have limits.
    pub fn new(specs: &[ServerSpec]) -> RateLimits {
        if specs.iter().all(|spec| spec.rate_limit.is_none()) {
            return RateLimits::default();
        }
        let now = Instant::now();
        let buckets = |spec: &ServerSpec| {
            let limit = spec.rate_limit?;
            Some(Mutex::new(Buckets {
                id: spec.id,
                server: limit.server.map(|rate| Bucket::new(rate, now)),
                tools: limit.tools.iter().map(|(tool, rate)| (*tool, Bucket::new(*rate, now))).collect(),
            }))
        };
        RateLimits { servers: specs.iter().map(buckets).collect() }
    }

    /// Takes the tokens for a call of `tool` (the child's own name) of server `server`.
    ///
    /// # Errors
    /// The answer that names the limit and the seconds to wait.
    pub fn take(&self, server: u16, tool: &str, caller: Caller) -> Result<Permit<'_>, Outcome> {
        let Some(Some(buckets)) = self.servers.get(usize::from(server)) else { return Ok(Permit { taken: None }) };
        let tool = lock(buckets).take(tool, caller, Instant::now()).map_err(|refusal| refusal.outcome())?;
        Ok(Permit { taken: Some((buckets, tool)) })
    }

    /// Whether [`RateLimits::take`] would give tokens now. A caller that it would refuse has its place from then on.
    ///
    /// # Errors
    /// The same.
    pub fn look(&self, server: u16, tool: &str, caller: Caller) -> Result<(), Outcome> {
        let Some(Some(buckets)) = self.servers.get(usize::from(server)) else { return Ok(()) };
        lock(buckets).look(tool, caller, Instant::now()).map(drop).map_err(|refusal| refusal.outcome())
    }
}

fn lock(buckets: &Mutex<Buckets>) -> MutexGuard<'_, Buckets> {
    // No code that could panic runs under the lock, so a poisoned one still holds consistent buckets.
    buckets.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buckets {
    /// Does `with` the bucket of tool `tool` and that of the server, as far as there are any.
    fn each(&mut self, tool: Option<usize>, mut with: impl FnMut(Option<&'static str>, &mut Bucket)) {
        if let Some((name, bucket)) = tool.and_then(|at| self.tools.get_mut(at)) {
            with(Some(name), bucket);
        }
        if let Some(bucket) = &mut self.server {
            with(None, bucket);
        }
    }

    /// Takes the tokens, or none; gives back which tool's bucket one of them is from.
    fn take(&mut self, tool: &str, caller: Caller, now: Instant) -> Result<Option<usize>, Refusal> {
        let tool = self.look(tool, caller, now)?;
        self.each(tool, |_, bucket| bucket.take(caller));
        Ok(tool)
    }

    /// Whether there are tokens; gives back which tool's bucket one of them is from.
    fn look(&mut self, tool: &str, caller: Caller, now: Instant) -> Result<Option<usize>, Refusal> {
        let server = self.id;
        let tool = self.tools.iter().position(|(name, _)| *name == tool);
        let mut refusal: Option<Refusal> = None;
        self.each(tool, |tool, bucket| {
            let wait = bucket.wait(caller, now);
            if wait > Duration::ZERO {
                bucket.queue(caller, wait, now);
                if refusal.as_ref().is_none_or(|known| known.wait < wait) {
                    refusal = Some(Refusal { server, tool, wait });
                }
            }
        });
        refusal.map_or(Ok(tool), Err)
    }
}

impl Refusal {
    fn outcome(&self) -> Outcome {
        let Refusal { server, tool, wait } = self;
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let what = match tool {
            Some(tool) => format!("tool `{tool}` of server `{server}`"),
            None => format!("server `{server}`"),
        };
        Outcome::error_text(&format!(
            "rate limit: {what} may not be called again yet; the call was not made. Repeat it in {seconds} s"
        ))
    }
}

#[cfg(test)]
mod tests;
