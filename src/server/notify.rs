//! Telling clients that a list has changed: one message for a burst, to the handshake-era client as a notification,
//! to subscribers of the modern era on their streams.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::service::SubscriptionSink;
use serde_json::json;

use crate::session::{Notify, Session, When};
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;

/// Most subscriptions that are served at once.
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// Which list has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Tools,
    Resources,
    Prompts,
}

impl What {
    fn method(self) -> &'static str {
        match self {
            What::Tools => "notifications/tools/list_changed",
            What::Resources => "notifications/resources/list_changed",
            What::Prompts => "notifications/prompts/list_changed",
        }
    }
}

/// Merges the triggers of a window into one.
#[derive(Debug, Default)]
struct Burst {
    armed: bool,
    /// Tells the timer of an earlier window from this one's.
    window: u64,
}

/// The way to the handshake-era client.
pub(super) struct ClientNotifier {
    out: Outbox,
    debounce: Duration,
    state: Mutex<ClientState>,
    this: Weak<ClientNotifier>,
}

#[derive(Default)]
struct ClientState {
    /// One for each [`What`].
    bursts: [Burst; 3],
    /// The client has sent `notifications/initialized`; before it nothing may be sent.
    ready: bool,
    /// What became due before that.
    due: Vec<What>,
    session: Weak<Session>,
}

impl ClientNotifier {
    pub(super) fn new(out: Outbox, debounce: Duration) -> Arc<ClientNotifier> {
        Arc::new_cyclic(|this| ClientNotifier { out, debounce, state: Mutex::default(), this: this.clone() })
    }

    pub(super) fn set_session(&self, session: &Arc<Session>) {
        self.state().session = Arc::downgrade(session);
    }

    /// The client is ready: sends what has become due.
    pub(super) fn ready(&self) {
        let due = {
            let mut state = self.state();
            state.ready = true;
            std::mem::take(&mut state.due)
        };
        for what in due {
            self.send(what);
        }
    }

    fn state(&self) -> MutexGuard<'_, ClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fire(&self, what: What) {
        self.state().bursts[what as usize].armed = false;
        self.send(what);
    }

    fn send(&self, what: What) {
        let session = {
            let mut state = self.state();
            if !state.ready {
                if !state.due.contains(&what) {
                    state.due.push(what);
                }
                return;
            }
            state.session.upgrade()
        };
        if let Some(session) = session.filter(|_| what == What::Tools) {
            session.count_list_changed();
        }
        let out = self.out.clone();
        tokio::spawn(async move { out.send(Frame::notification(what.method(), None)).await });
    }

    fn changed(&self, what: What, when: When) {
        if when == When::Now || self.debounce.is_zero() {
            return self.fire(what);
        }
        let window = {
            let mut state = self.state();
            let burst = &mut state.bursts[what as usize];
            if std::mem::replace(&mut burst.armed, true) {
                return;
            }
            burst.window += 1;
            burst.window
        };
        let (this, debounce) = (self.this.clone(), self.debounce);
        tokio::spawn(async move {
            tokio::time::sleep(debounce).await;
            if let Some(this) = this.upgrade() {
                let due = {
                    let burst = &this.state().bursts[what as usize];
                    burst.armed && burst.window == window
                };
                if due {
                    this.fire(what);
                }
            }
        });
    }
}

impl Notify for ClientNotifier {
    fn tools_changed(&self, when: When) {
        self.changed(What::Tools, when);
    }

    fn resources_changed(&self) {
        self.changed(What::Resources, When::Debounced);
    }

    fn prompts_changed(&self) {
        self.changed(What::Prompts, When::Debounced);
    }

    /// A client that does not read what it is sent misses some: nothing is kept for it without bound.
    fn resource_updated(&self, address: &str) {
        if self.state().ready {
            let params = json!({ "uri": address }).to_string();
            self.out.try_send(Frame::notification("notifications/resources/updated", Some(&params)));
        }
    }
}

/// The ways to the subscribers of the modern era.
#[derive(Default)]
pub(super) struct Subscribers {
    sinks: Mutex<Vec<SubscriptionSink>>,
    /// Which lists have changed in the window that is open, one for each [`What`].
    armed: Mutex<[bool; 3]>,
    debounce: Duration,
    this: Weak<Subscribers>,
}

impl Subscribers {
    pub(super) fn new(debounce: Duration) -> Arc<Subscribers> {
        Arc::new_cyclic(|this| Subscribers { debounce, this: this.clone(), ..Subscribers::default() })
    }

    /// Adds a subscription; false when there are too many.
    pub(super) fn add(&self, sink: SubscriptionSink) -> bool {
        let mut sinks = lock(&self.sinks);
        if sinks.len() >= MAX_SUBSCRIPTIONS {
            return false;
        }
        sinks.push(sink);
        true
    }

    /// Removes the subscription of request `id`.
    pub(super) fn remove(&self, id: &rmcp::model::RequestId) {
        lock(&self.sinks).retain(|sink| sink.id() != id);
    }

    fn fire(&self, what: What) {
        for sink in lock(&self.sinks).clone() {
            tokio::spawn(async move {
                // A subscription that has ended or does not want this kind is no failure.
                let _ = match what {
                    What::Tools => sink.notify_tool_list_changed().await,
                    What::Resources => sink.notify_resource_list_changed().await,
                    What::Prompts => sink.notify_prompt_list_changed().await,
                };
            });
        }
    }

    fn changed(&self, what: What, when: When) {
        if when == When::Now || self.debounce.is_zero() {
            return self.fire(what);
        }
        if std::mem::replace(&mut lock(&self.armed)[what as usize], true) {
            return;
        }
        let (this, debounce) = (self.this.clone(), self.debounce);
        tokio::spawn(async move {
            tokio::time::sleep(debounce).await;
            if let Some(this) = this.upgrade() {
                lock(&this.armed)[what as usize] = false;
                this.fire(what);
            }
        });
    }
}

impl Notify for Subscribers {
    fn tools_changed(&self, when: When) {
        self.changed(What::Tools, when);
    }

    fn resources_changed(&self) {
        self.changed(What::Resources, When::Debounced);
    }

    fn prompts_changed(&self) {
        self.changed(What::Prompts, When::Debounced);
    }

    fn resource_updated(&self, address: &str) {
        let watches = |sink: &&SubscriptionSink| {
            let watched = sink.accepted().resource_subscriptions.as_ref();
            watched.is_some_and(|watched| watched.iter().any(|watched| watched == address))
        };
        let sinks: Vec<_> = lock(&self.sinks).iter().filter(watches).cloned().collect();
        for sink in sinks {
            let address = address.to_owned();
            tokio::spawn(async move { sink.notify_resource_updated(address).await });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    async fn sent(act: impl AsyncFnOnce(&ClientNotifier)) -> usize {
        let (near, mut far) = tokio::io::duplex(1 << 16);
        let out = Outbox::start(near);
        let notifier = ClientNotifier::new(out, Duration::from_millis(250));
        act(&notifier).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        drop(notifier);
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        text.lines().filter(|line| line.contains(What::Tools.method())).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_one_message() {
        let count = sent(async |notifier| {
            notifier.ready();
            for _ in 0..200 {
                notifier.tools_changed(When::Debounced);
            }
        });
        assert_eq!(count.await, 1);
        let count = sent(async |notifier| {
            notifier.ready();
            for _ in 0..3 {
                notifier.tools_changed(When::Debounced);
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        });
        assert_eq!(count.await, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_immediate_message_takes_a_waiting_burst_with_it() {
        let count = sent(async |notifier| {
            notifier.ready();
            notifier.tools_changed(When::Debounced);
            notifier.tools_changed(When::Now);
        });
        assert_eq!(count.await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_before_the_client_is_ready() {
        assert_eq!(sent(async |notifier| notifier.tools_changed(When::Debounced)).await, 0);
        let count = sent(async |notifier| {
            notifier.tools_changed(When::Debounced);
            tokio::time::sleep(Duration::from_secs(1)).await;
            notifier.tools_changed(When::Debounced);
            tokio::time::sleep(Duration::from_secs(1)).await;
            notifier.ready();
        });
        assert_eq!(count.await, 1);
    }
}
