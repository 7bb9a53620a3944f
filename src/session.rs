//! One handshake-era client's state: what it has activated, and whether deferred schemas suit it. Bounded.
//!
//! Requests of revision 2026-07-28 carry no session: their list must not vary as a side effect of other requests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use evokore_catalog::profile::SchemaMode;
use tokio::task::AbortHandle;

use crate::calls::cooldown::Cooldowns;
use crate::listing::projection::Revealed;
use crate::log;
use crate::offers::Target;
use crate::settings::Settings;

/// Most tools a session keeps activated; beyond it the least recently used leave.
pub const MAX_ACTIVATED: usize = 256;

/// Most resources that a session can be subscribed to.
const MAX_WATCHED: usize = 1024;

/// How soon a client is told of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Merged with other triggers inside the debounce window.
    Debounced,
    /// At once.
    Now,
}

/// The way to a client. Never blocks.
pub trait Notify: Send + Sync {
    /// The tool list this client sees has changed.
    fn tools_changed(&self, when: When);
    /// The list of resources or that of their templates has changed. Merged with other triggers.
    fn resources_changed(&self);
    /// The list of prompts has changed. Merged with other triggers.
    fn prompts_changed(&self);
    /// The contents of the resource at this address have changed.
    fn resource_updated(&self, address: &str);
}

/// Which session of the process: never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionId(u64);

impl SessionId {
    /// One that no session has.
    pub fn next() -> SessionId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        SessionId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Its number among those of the process, from 0.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A handshake-era session.
pub struct Session {
    id: SessionId,
    notify: Arc<dyn Notify>,
    cooldowns: Cooldowns,
    client: OnceLock<Box<str>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Sorted by name, each with the tick of its last use.
    activated: Vec<(Box<str>, u64)>,
    tick: u64,
    epoch: u64,
    lists_once: bool,
    probe: Probe,
    /// The addresses that the client has subscribed to, each with the child's resource behind it.
    watched: BTreeMap<String, Option<Target>>,
}

/// Whether the client has shown that it can live with deferred schemas.
#[derive(Default)]
enum Probe {
    /// No deferred list was sent yet.
    #[default]
    Idle,
    /// A deferred list was sent; the timer runs.
    Armed(AbortHandle),
    /// The client called `describe_tool`: deferred for good.
    Passed,
    /// The timer ran out: full for good.
    Failed,
}

impl Session {
    /// A fresh session whose client is told of changes through `notify`.
    pub fn new(notify: Arc<dyn Notify>) -> Arc<Session> {
        let (id, cooldowns) = (SessionId::next(), Cooldowns::default());
        Arc::new(Session { id, notify, cooldowns, client: OnceLock::new(), state: Mutex::default() })
    }

    /// The client calls itself `name`; the first time counts.
    pub fn introduce(&self, name: String) {
        let _ = self.client.set(name.into());
    }

    /// What the client calls itself, which nobody has checked.
    pub fn client_name(&self) -> Option<&str> {
        self.client.get().map(|name| &**name)
    }

    /// Which session it is.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Its calls that are refused for a while.
    pub fn cooldowns(&self) -> &Cooldowns {
        &self.cooldowns
    }

    // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this session's list holds besides what its profile shows.
    pub fn revealed(&self) -> Revealed {
        let state = self.state();
        if state.lists_once {
            return Revealed::All;
        }
        Revealed::Named(state.activated.iter().map(|(name, _)| name.clone()).collect())
    }

    /// Whether the client never asks for a list again.
    pub fn lists_once(&self) -> bool {
        self.state().lists_once
    }

    /// The client never asks for a list again: what is not in its first one does not exist for it.
    pub fn list_once(&self) {
        self.state().lists_once = true;
    }

    /// Activates `names` and tells how many were not active before. Does not notify.
    pub fn activate<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> usize {
        let mut state = self.state();
        state.tick += 1;
        let tick = state.tick;
        let mut added = 0;
        for name in names {
            match state.activated.binary_search_by(|(known, _)| (**known).cmp(name)) {
                Ok(at) => state.activated[at].1 = tick,
                Err(at) => {
                    state.activated.insert(at, (name.into(), tick));
                    added += 1;
                }
            }
        }
        while state.activated.len() > MAX_ACTIVATED {
            let oldest = state.activated.iter().enumerate().min_by_key(|(_, (_, used))| *used).map(|(at, _)| at);
            state.activated.remove(oldest.unwrap_or(0));
        }
        added
    }

    /// Marks an activated tool as used, so that it leaves later than others.
    pub fn touch(&self, name: &str) {
        let mut state = self.state();
        state.tick += 1;
        let tick = state.tick;
        if let Ok(at) = state.activated.binary_search_by(|(known, _)| (**known).cmp(name)) {
            state.activated[at].1 = tick;
        }
    }

    /// How many `list_changed` messages the client was sent; part of every cursor.
    pub fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// Counts a `list_changed` message that was sent.
    pub fn count_list_changed(&self) {
        self.state().epoch += 1;
    }

    /// Tells the client that its tool list has changed.
    pub fn tools_changed(&self, when: When) {
        self.notify.tools_changed(when);
    }

    /// The way to the client.
    pub fn client(&self) -> &dyn Notify {
        &*self.notify
    }

    /// Whether the client may subscribe to this address besides those it has.
    pub fn has_room_to_watch(&self, address: &str) -> bool {
        let state = self.state();
        state.watched.len() < MAX_WATCHED || state.watched.contains_key(address)
    }

    /// The client has subscribed to an address; gives back what it meant before, if it was subscribed to already.
    pub fn watch(&self, address: &str, target: Option<Target>) -> Option<Target> {
        self.state().watched.insert(address.to_owned(), target).flatten()
    }

    /// The client has unsubscribed; gives back the child's resource behind the address.
    pub fn unwatch(&self, address: &str) -> Option<Target> {
        self.state().watched.remove(address).flatten()
    }

    /// Whether the client has subscribed to this address, or to one that it lies below.
    pub fn watches(&self, address: &str) -> bool {
        let state = self.state();
        if state.watched.is_empty() {
            return false;
        }
        let above = address.match_indices('/').flat_map(|(at, _)| [&address[..at], &address[..=at]]);
        above.chain([address]).any(|address| state.watched.contains_key(address))
    }

    /// The schema mode of this session's lists.
    pub fn schema_mode(&self, settings: &Settings) -> SchemaMode {
        match self.state().probe {
            Probe::Failed => SchemaMode::Full,
            _ => settings.schema_mode,
        }
    }

    /// A deferred list was sent: the first one starts the clock.
    pub fn arm_probe(self: &Arc<Session>, settings: &Settings) {
        let mut state = self.state();
        if !matches!(state.probe, Probe::Idle) {
            return;
        }
        let window = settings.schema_fallback;
        let session = Arc::downgrade(self);
        let timer = tokio::spawn(async move {
            tokio::time::sleep(window).await;
            if let Some(session) = session.upgrade() {
                session.fall_back(window);
            }
        });
        state.probe = Probe::Armed(timer.abort_handle());
    }

    /// The client called `describe_tool`: it knows the way back from a placeholder.
    pub fn pass_probe(&self) {
        let mut state = self.state();
        if let Probe::Armed(timer) = &state.probe {
            timer.abort();
        }
        if !matches!(state.probe, Probe::Failed) {
            state.probe = Probe::Passed;
        }
    }

    fn fall_back(&self, window: std::time::Duration) {
        {
            let mut state = self.state();
            if !matches!(state.probe, Probe::Armed(_)) {
                return;
            }
            state.probe = Probe::Failed;
        }
        log::line(&format!(
            "Schema-deferral fallback: client did not call describe_tool within {}; reverting to full mode (offending client likely doesn't support deferred schemas).",
            seconds(window)
        ));
        self.tools_changed(When::Now);
    }
}

fn seconds(window: std::time::Duration) -> String {
    if window.subsec_millis() == 0 { format!("{}s", window.as_secs()) } else { format!("{}ms", window.as_millis()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Notify for Count {
        fn tools_changed(&self, _: When) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn resources_changed(&self) {}
        fn prompts_changed(&self) {}
        fn resource_updated(&self, _: &str) {}
    }

    #[test]
    fn activation_is_bounded_and_drops_the_least_recently_used() {
        let session = Session::new(Arc::new(Count::default()));
        let names: Vec<String> = (0..MAX_ACTIVATED).map(|n| format!("t{n:04}")).collect();
        for name in &names {
            assert_eq!(session.activate([name.as_str()]), 1);
        }
        session.touch("t0000");
        assert_eq!(session.activate(["new", "t0005"]), 1);
        let Revealed::Named(active) = session.revealed() else { panic!("only what it has activated") };
        assert_eq!(active.len(), MAX_ACTIVATED);
        assert!(active.is_sorted());
        assert!(active.iter().any(|name| &**name == "t0000"));
        assert!(!active.iter().any(|name| &**name == "t0001"), "the least recently used leaves");
    }

    #[tokio::test(start_paused = true)]
    async fn probe_falls_back_once_unless_described() {
        let (mut settings, _) = Settings::resolve(&crate::catalog::CATALOG, &|_| None).unwrap();
        settings.schema_mode = SchemaMode::Deferred;
        let count = Arc::new(Count::default());
        let silent = Session::new(count.clone());
        let asking = Session::new(count.clone());
        silent.arm_probe(&settings);
        asking.arm_probe(&settings);
        asking.pass_probe();
        assert_eq!(silent.schema_mode(&settings), SchemaMode::Deferred);
        tokio::time::sleep(settings.schema_fallback * 2).await;
        assert_eq!(silent.schema_mode(&settings), SchemaMode::Full);
        assert_eq!(asking.schema_mode(&settings), SchemaMode::Deferred);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        silent.arm_probe(&settings);
        tokio::time::sleep(settings.schema_fallback * 2).await;
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    }
}
