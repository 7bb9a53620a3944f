//! One configured server: what phase it is in, what is known about it, and waiting for it to come up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evokore_catalog::server::{Boot, ServerSpec};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use super::call::{ChildCall, ChildReply, Method, Taker};
use super::connection::{Connection, Patience};
use super::error::{ChildError, Size};
use super::idle::Idle;
use super::queue::Queue;
use super::settings::ChildSettings;
use super::stats::Stats;
use super::stderr::Tail;
use super::tools::SkippedTool;

/// A call waits at most so long for a server that boots.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A restart that is due within this is worth waiting for.
const SOON: Duration = Duration::from_secs(1);
/// No limit is longer, whatever is configured: clocks can still add it.
pub(super) const LONGEST_LIMIT: Duration = Duration::from_secs(86_400);
/// A message may have so many bytes at least, or a low limit for results would keep a server from saying what it offers.
const LEAST_LINE: usize = 8 << 20;
/// Bytes of a message around its result.
const ENVELOPE: usize = 4 << 10;
/// Calls that a server works on at the same time unless its entry says otherwise.
const MAX_IN_FLIGHT: u32 = 256;
/// Progress may stretch a call to so many times its limit.
const TOTAL_FACTOR: u32 = 10;

/// What a server is doing.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// Switched off by its entry.
    Disabled,
    /// Starts on its first call.
    Idle,
    /// Starts when fewer servers boot.
    Queued,
    /// Has been started, or is about to be.
    Booting,
    /// Has not answered within the first limit; it may still come up.
    Late,
    /// Answers.
    Up(Connection),
    /// Was stopped because nobody called; starts on its next call.
    Asleep,
    /// Does not run; starts again at `retry`.
    Down { reason: Arc<str>, retry: Instant, was_up: bool },
    /// Variables are not set, which is fine for an optional server.
    Waiting(Arc<str>),
    /// Cannot start with this configuration.
    Never(Arc<str>),
    /// Its task has died; a defect of ours.
    Broken,
    /// The process shuts down.
    Stopped,
}

/// What is known about a server besides its phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Tools that clients can be offered.
    pub(super) registered: usize,
    /// The sink has its list.
    pub(super) is_listed: bool,
    /// Failures since it last came up.
    pub(super) errors: u32,
    /// Starts after the first.
    pub(super) restarts: u32,
    pub(super) skipped: Vec<SkippedTool>,
    pub(super) notes: Vec<String>,
    /// What has been told of its last list of tools.
    pub(super) told: Vec<String>,
    /// Entries of its last lists besides tools, which are kept while it is not up, and what was odd about them.
    pub(super) resources: usize,
    pub(super) templates: usize,
    pub(super) prompts: usize,
    pub(super) resource_notes: Vec<String>,
    pub(super) prompt_notes: Vec<String>,
    /// Name and version it gave, and the protocol it speaks.
    pub(super) server: String,
    pub(super) protocol: String,
}

/// One configured server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) index: u16,
    pub(super) spec: &'static ServerSpec,
    pub(super) boot_timeout: Duration,
    /// For one page of a list, if its entry says so.
    pub(super) list_timeout: Option<Duration>,
    pub(super) call_timeout: Duration,
    /// If it may sleep.
    pub(super) idle: Option<Idle>,
    pub(super) queue: Arc<Queue>,
    /// Bytes of one result.
    max_result: usize,
    pub(super) stats: Arc<Stats>,
    pub(super) tail: Arc<Tail>,
    /// Somebody wants it up, or its list fresh, now.
    pub(super) kick: Notify,
    /// Its lists besides tools have been read in this run, as far as they can be had.
    pub(super) listed: watch::Sender<bool>,
    /// Its resources that clients have subscribed to, and how many have.
    watched: Mutex<BTreeMap<String, usize>>,
    phase: watch::Sender<Phase>,
    facts: Mutex<Facts>,
}

impl Server {
    pub(super) fn new(index: u16, spec: &'static ServerSpec, settings: &ChildSettings) -> Server {
        let phase = match (spec.disabled, spec.boot) {
            (true, _) => Phase::Disabled,
            (false, Boot::Lazy) => Phase::Idle,
            (false, Boot::Eager) => Phase::Booting,
        };
        let limit = |own: Option<u32>, default: Duration| {
            own.map_or(default, |ms| Duration::from_millis(ms.into())).min(LONGEST_LIMIT)
        };
        Server {
            index,
            spec,
            boot_timeout: limit(spec.limits.boot_timeout_ms, settings.boot_timeout),
            list_timeout: spec.limits.list_timeout_ms.map(|ms| Duration::from_millis(ms.into())),
            call_timeout: limit(spec.limits.call_timeout_ms, settings.call_timeout),
            idle: spec.limits.idle_timeout_ms.map(|ms| Idle::new(Duration::from_millis(ms.into()))),
            queue: Queue::new(
                usize::try_from(spec.limits.max_in_flight.unwrap_or(MAX_IN_FLIGHT)).unwrap_or(usize::MAX),
            ),
            max_result: spec.max_result_bytes.map_or(settings.max_result, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            stats: Arc::default(),
            tail: Arc::default(),
            kick: Notify::new(),
            listed: watch::Sender::new(false),
            watched: Mutex::default(),
            phase: watch::Sender::new(phase),
            facts: Mutex::default(),
        }
    }

    /// How long a call may take.
    pub(super) fn patience(&self, call: &ChildCall) -> Patience {
        let total = self.longest_call();
        match (call.method, call.taker) {
            // It is silent as long as the task works, and the client can give it up.
            (Method::TaskResult, Taker::Us) => Patience { idle: total, total },
            (Method::TaskResult, _) => Patience { idle: LONGEST_LIMIT, total: LONGEST_LIMIT },
            _ => Patience { idle: self.call_timeout, total },
        }
    }

    /// How long a call may take that shows life all the time.
    pub(super) fn longest_call(&self) -> Duration {
        self.call_timeout * TOTAL_FACTOR
    }

    /// Bytes that one message may have.
    pub(super) fn max_line(&self) -> usize {
        self.max_result.saturating_add(ENVELOPE).max(LEAST_LINE)
    }

    /// What a call came to, unless it is larger than a result may be.
    pub(super) fn capped(&self, outcome: Result<ChildReply, ChildError>) -> Result<ChildReply, ChildError> {
        let (id, limit) = (self.spec.id, self.max_result as u64);
        match outcome {
            Ok(
                ChildReply::Result(bytes)
                | ChildReply::InputRequired(bytes)
                | ChildReply::Task(bytes)
                | ChildReply::Error(bytes),
            ) if bytes.len() as u64 > limit => {
                Err(ChildError::TooLarge { id, size: Size::Whole(bytes.len() as u64), limit })
            }
            Err(ChildError::TooLarge { size, .. }) => Err(ChildError::TooLarge { id, size, limit }),
            outcome => outcome,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// The facts; the lock is never held across an await.
    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what a call says about the health of the connection.
    pub(super) fn note(&self, error: &ChildError) {
        if matches!(
            error,
            ChildError::TimedOut { .. }
                | ChildError::TooLarge { .. }
                | ChildError::Protocol { .. }
                | ChildError::Http { .. }
        ) {
            let mut facts = self.facts();
            facts.errors = facts.errors.saturating_add(1);
        }
    }

    /// Waits until the first boot has come to something.
    pub(super) async fn settled(&self) -> Phase {
        let mut phases = self.phase.subscribe();
        match phases.wait_for(|phase| !matches!(phase, Phase::Queued | Phase::Booting | Phase::Idle)).await {
            Ok(phase) => phase.clone(),
            // The sender lives as long as `self`.
            Err(_) => Phase::Broken,
        }
    }

    /// Waits until a boot that is under way has come to something, and the lists besides tools have been read.
    pub(super) async fn listed(&self) {
        let (mut phases, mut listed) = (self.phase.subscribe(), self.listed.subscribe());
        // The senders live as long as `self`.
        let _ = phases.wait_for(|phase| !matches!(phase, Phase::Queued | Phase::Booting)).await;
        tokio::select! {
            _ = listed.wait_for(|listed| *listed) => {}
            _ = phases.wait_for(|phase| !matches!(phase, Phase::Up(_))) => {}
        }
    }

    /// The resources that clients have subscribed to.
    pub(super) fn watched(&self) -> Vec<String> {
        self.table().keys().cloned().collect()
    }

    /// Whether a client has subscribed to this resource, or to one that it lies below.
    pub(super) fn watches(&self, uri: &str) -> bool {
        self.table().keys().any(|watched| uri.starts_with(watched.as_str()))
    }

    /// A client has subscribed to a resource.
    pub(super) fn watch(&self, uri: &str) {
        *self.table().entry(uri.to_owned()).or_default() += 1;
    }

    /// A client has unsubscribed; true if it was the last.
    pub(super) fn unwatch(&self, uri: &str) -> bool {
        let mut watched = self.table();
        let Some(clients) = watched.get_mut(uri) else { return true };
        *clients -= 1;
        let is_last = *clients == 0;
        if is_last {
            watched.remove(uri);
        }
        is_last
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection, if need be after waiting for a boot that is under way.
    pub(super) async fn connection(&self) -> Result<Connection, ChildError> {
        if let Some(answer) = self.answer(&self.phase.borrow()) {
            return answer;
        }
        let deadline = Instant::now() + self.boot_timeout.min(LONGEST_WAIT);
        let mut phases = self.phase.subscribe();
        loop {
            let phase = phases.borrow_and_update().clone();
            if let Some(answer) = self.answer(&phase) {
                return answer;
            }
            if matches!(phase, Phase::Idle | Phase::Asleep) {
                self.kick.notify_one();
            }
            if !matches!(timeout_at(deadline, phases.changed()).await, Ok(Ok(()))) {
                return Err(ChildError::Starting { id: self.spec.id });
            }
        }
    }

    /// The connection after `dead` has ended. `None` as soon as it is clear that there will be none within `wait`.
    pub(super) async fn successor(&self, dead: &Connection, wait: Duration) -> Option<Connection> {
        let deadline = Instant::now() + wait;
        let mut phases = self.phase.subscribe();
        loop {
            match &*phases.borrow_and_update() {
                Phase::Up(connection) if !connection.is(dead) => return Some(connection.clone()),
                Phase::Up(_) | Phase::Queued | Phase::Booting => {}
                Phase::Down { retry, .. } if *retry < deadline => {}
                _ => return None,
            }
            phases.changed().await.ok()?;
        }
    }

    /// Waits until nobody has called for so long that it sleeps. Never ends without such a limit.
    pub(super) async fn sleeps(&self) {
        let Some(idle) = &self.idle else { return std::future::pending().await };
        drop(self.phase.subscribe().wait_for(|phase| matches!(phase, Phase::Up(_))).await);
        idle.restart();
        idle.expired(|| self.enter(Phase::Asleep)).await;
    }

    /// What a caller gets in this phase; `None` if waiting is worth it.
    fn answer(&self, phase: &Phase) -> Option<Result<Connection, ChildError>> {
        let id = self.spec.id;
        let not_ready = |reason: String| ChildError::NotReady { id, reason };
        Some(Err(match phase {
            Phase::Up(connection) => return Some(Ok(connection.clone())),
            Phase::Idle | Phase::Asleep | Phase::Queued | Phase::Booting => return None,
            Phase::Down { reason, retry, .. } => {
                let left = retry.saturating_duration_since(Instant::now());
                if left <= SOON {
                    return None;
                }
                not_ready(format!("it {reason}\nhint: it starts again in {:.0} s", left.as_secs_f64()))
            }
            Phase::Late => ChildError::Starting { id },
            Phase::Disabled => ChildError::Disabled { id },
            Phase::Waiting(missing) => ChildError::Waiting { id, missing: missing.to_string() },
            Phase::Never(reason) => not_ready(reason.to_string()),
            Phase::Broken => not_ready("its task has failed\nhint: start evokore again".to_owned()),
            Phase::Stopped => not_ready("evokore shuts down".to_owned()),
        }))
    }
}
