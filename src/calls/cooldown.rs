//! A rest for calls that failed because their server did: a model that repeats such a call at once would only wait for
//! the same end again. Ordinary answers never lead to one, however short they are and whether or not they are errors.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evokore_catalog::canonical::canonical_sha256;
use tokio::time::Instant;

use super::outcome::Outcome;
use crate::catalog::CATALOG;

/// How long the same call is refused, unless the server's entry says otherwise.
pub const DEFAULT: Duration = Duration::from_secs(10);

/// How long a call to `server` rests.
pub(super) fn after(server: u16) -> Duration {
    let own = CATALOG.servers.get(usize::from(server)).and_then(|spec| spec.limits.cooldown_ms);
    own.map_or(DEFAULT, |ms| Duration::from_millis(ms.into()))
}

/// Most calls of one session that rest at once; beyond it the one that has rested most leaves.
const MAX_RESTING: usize = 256;

/// The calls of one session that rest. The lock is never held across an await.
#[derive(Debug, Default)]
pub struct Cooldowns {
    /// How many there are, so that the usual case, none, costs one load.
    resting: AtomicUsize,
    calls: Mutex<HashMap<Key, Rest>>,
}

/// A call: its exposed name, and the digest of its arguments, in which the order of members does not count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    name: Box<str>,
    arguments: String,
}

#[derive(Debug)]
struct Rest {
    server: u16,
    since: Instant,
    until: Instant,
    reason: Box<str>,
}

/// The calls to one server that rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resting {
    /// How many there are.
    pub count: usize,
    /// Why the latest one does.
    pub latest: Option<(Instant, Box<str>)>,
}

impl Cooldowns {
    /// Lets a call of `name` rest for `rest` because of `reason`, the first line of what went wrong at server `server`.
    pub fn note(&self, server: u16, name: &str, arguments: Option<&str>, reason: &str, rest: Duration) {
        if rest.is_zero() {
            return;
        }
        let since = Instant::now();
        let entry =
            Rest { server, since, until: since + rest, reason: reason.lines().next().unwrap_or_default().into() };
        let key = Key::of(name, arguments);
        let mut calls = self.lock();
        calls.retain(|_, rest| rest.until > since);
        if calls.len() >= MAX_RESTING {
            let first = calls.iter().min_by_key(|(_, rest)| rest.since).map(|(key, _)| key.clone());
            first.and_then(|key| calls.remove(&key));
        }
        calls.insert(key, entry);
        self.resting.store(calls.len(), Relaxed);
    }

    /// Whether a call may be made now.
    ///
    /// # Errors
    /// It rests: the answer that says why and how long.
    pub fn check(&self, name: &str, arguments: Option<&str>) -> Result<(), Outcome> {
        if self.resting.load(Relaxed) == 0 {
            return Ok(());
        }
        let now = Instant::now();
        {
            let mut calls = self.lock();
            calls.retain(|_, rest| rest.until > now);
            self.resting.store(calls.len(), Relaxed);
            // Arguments may be large; they are read only if it can be this call.
            if !calls.keys().any(|key| *key.name == *name) {
                return Ok(());
            }
        }
        let key = Key::of(name, arguments);
        match self.lock().get(&key) {
            None => Ok(()),
            Some(rest) => Err(Outcome::error_text(&format!(
                "[EVOKORE COOLDOWN] {}. The same call of `{name}` is refused for another {} s, because it would most likely end \
                 the same way.\nhint: wait so long, change the arguments, or use another tool",
                rest.reason,
                rest.until.saturating_duration_since(now).as_secs_f64().ceil()
            ))),
        }
    }

    /// The calls to `server` that rest.
    pub fn of(&self, server: u16) -> Resting {
        let mut found = Resting::default();
        if self.resting.load(Relaxed) == 0 {
            return found;
        }
        let now = Instant::now();
        for rest in self.lock().values().filter(|rest| rest.server == server && rest.until > now) {
            found.add(Resting { count: 1, latest: Some((rest.since, rest.reason.clone())) });
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Rest>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resting {
    /// Both together.
    pub fn add(&mut self, other: Resting) {
        self.count += other.count;
        if other.latest.as_ref().map(|(since, _)| since) > self.latest.as_ref().map(|(since, _)| since) {
            self.latest = other.latest;
        }
    }
}

impl Key {
    fn of(name: &str, arguments: Option<&str>) -> Key {
        Key { name: name.into(), arguments: canonical_sha256(arguments.unwrap_or("{}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn text(refusal: Result<(), Outcome>) -> String {
        let Err(Outcome::Result(bytes)) = refusal else { panic!("{refusal:?}") };
        let result: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(result["isError"], true);
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_call_rests_and_no_other() {
        let calls = Cooldowns::default();
        let arguments = Some(r#"{"b": {"y": 1, "x": [2]}, "a": null}"#);
        calls.note(
            3,
            "fs_read",
            arguments,
            "child server `fs` went away during the call: it exited\nhint: no",
            10 * SECOND,
        );
        tokio::time::advance(SECOND / 2).await;
        expect_test::expect![[r#"
            [EVOKORE COOLDOWN] child server `fs` went away during the call: it exited. The same call of `fs_read` is refused for another 10 s, because it would most likely end the same way.
            hint: wait so long, change the arguments, or use another tool"#]]
        .assert_eq(&text(calls.check("fs_read", arguments)));
        tokio::time::advance(7 * SECOND).await;
        assert!(text(calls.check("fs_read", Some(r#"{"a":null,"b":{"x":[2],"y":1}}"#))).contains("another 3 s"));
        for (name, arguments) in [
            ("fs_read", Some(r#"{"a":null,"b":{"x":[3],"y":1}}"#)),
            ("fs_read", Some("{}")),
            ("fs_read", None),
            ("fs_write", arguments),
        ] {
            assert_eq!(calls.check(name, arguments), Ok(()), "{name} {arguments:?}");
        }
        assert_eq!((calls.of(3).count, calls.of(2).count), (1, 0));
        tokio::time::advance(3 * SECOND).await;
        assert_eq!(calls.check("fs_read", arguments), Ok(()));
        assert_eq!(calls.of(3), Resting::default());
    }

    #[tokio::test(start_paused = true)]
    async fn no_arguments_are_empty_ones_and_zero_switches_it_off() {
        let calls = Cooldowns::default();
        calls.note(0, "t", None, "gone", Duration::ZERO);
        assert_eq!(calls.check("t", None), Ok(()));
        calls.note(0, "t", None, "gone", SECOND);
        assert!(calls.check("t", Some("{ }")).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_rests_is_bounded_and_told_by_its_latest() {
        let calls = Cooldowns::default();
        for n in 0..=MAX_RESTING {
            calls.note(1, &format!("t{n}"), None, &format!("reason {n}"), 60 * SECOND);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let resting = calls.of(1);
        assert_eq!(resting.count, MAX_RESTING);
        assert_eq!(resting.latest.map(|(_, reason)| reason).as_deref(), Some("reason 256"));
        assert_eq!(calls.check("t0", None), Ok(()), "the one that has rested most leaves");
        assert!(calls.check("t1", None).is_err());
    }
}
