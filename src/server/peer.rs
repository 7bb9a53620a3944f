//! The handshake-era client as child servers ask it: requests of ours under our own ids, and their answers. Bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use super::log_message;
use crate::child::{Answering, Capabilities, ChildReply, Client, Level, News, Question};
use crate::wire::envelope::{INTERNAL_ERROR, METHOD_NOT_FOUND};
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;

/// Requests that the client may have open, those of all children together.
const MAX_OPEN: usize = 128;

/// The client at the other end of the streams. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    out: Outbox,
    /// The client has sent `notifications/initialized`; before it nothing is asked (basic/lifecycle, Initialization).
    ready: watch::Sender<bool>,
    news: watch::Sender<News>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What it declared, in a handshake or, without one, in its first request of the modern era.
    offers: Option<Arc<Capabilities>>,
    /// It has shaken hands, so it takes requests.
    greeted: bool,
    last: u64,
    open: HashMap<u64, oneshot::Sender<ChildReply>>,
}

impl Peer {
    pub(super) fn new(out: Outbox) -> Peer {
        let (ready, news) = (watch::Sender::new(false), watch::Sender::default());
        Peer { shared: Arc::new(Shared { out, ready, news, state: Mutex::default() }) }
    }

    /// The client shakes hands and declares `capabilities`.
    pub(super) fn greet(&self, capabilities: Option<&RawValue>) {
        let mut state = self.state();
        state.offers = Some(Arc::new(capabilities.map(|raw| Capabilities::of(raw.get())).unwrap_or_default()));
        state.greeted = true;
    }

    /// A request of the modern era declares `capabilities`. The first one's are what children are told.
    pub(super) fn meet(&self, capabilities: impl FnOnce() -> Capabilities) {
        self.state().offers.get_or_insert_with(|| Arc::new(capabilities()));
    }

    /// The client may be asked from now on.
    pub(super) fn ready(&self) {
        self.shared.ready.send_replace(true);
    }

    /// The client's roots have changed.
    pub(super) fn roots_changed(&self) {
        self.shared.news.send_modify(|news| news.roots += 1);
    }

    /// The client wants log messages from `level` on.
    pub(super) fn set_level(&self, level: Level) {
        self.shared.news.send_modify(|news| news.level = Some(level));
    }

    /// Takes an answer of the client. False if it is for no request of ours.
    pub(super) fn answer(&self, id: &str, reply: impl FnOnce() -> ChildReply) -> bool {
        let Some(id) = number(id) else { return false };
        let waiting = self.state().open.remove(&id);
        // Whoever asked may just have given up; the id was ours all the same.
        waiting.map(|waiting| waiting.send(reply())).is_some()
    }

    async fn put(self, question: Question) -> ChildReply {
        let mut ready = self.shared.ready.subscribe();
        // The sender lives as long as `self`.
        let _ = ready.wait_for(|ready| *ready).await;
        let Some((mut request, answer)) = self.open() else {
            return error(INTERNAL_ERROR, &format!("the client has {MAX_OPEN} requests open"));
        };
        let params = question.params.unwrap_or_else(|| Bytes::from_static(b"{}"));
        self.shared.out.send(Frame::request(&text(request.id), question.topic.method(), params)).await;
        request.sent = true;
        answer.await.unwrap_or_else(|_| error(INTERNAL_ERROR, "the client is gone"))
    }

    fn open(&self) -> Option<(OpenRequest<'_>, oneshot::Receiver<ChildReply>)> {
        let mut state = self.state();
        if state.open.len() >= MAX_OPEN {
            return None;
        }
        state.last += 1;
        let id = state.last;
        let (sender, answer) = oneshot::channel();
        state.open.insert(id, sender);
        Some((OpenRequest { peer: self, id, sent: false }, answer))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client for Peer {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.state().offers.clone().unwrap_or_default()
    }

    fn refusal(&self, question: &Question) -> Option<ChildReply> {
        if !self.state().greeted {
            let method = question.topic.method();
            return Some(error(METHOD_NOT_FOUND, &format!("the client takes no requests, so no {method}")));
        }
        self.capabilities().refusal(question)
    }

    fn news(&self) -> Option<watch::Receiver<News>> {
        Some(self.shared.news.subscribe())
    }

    fn level(&self) -> Option<Level> {
        self.shared.news.borrow().level
    }

    fn log(&self, server: &'static str, params: &[u8]) -> bool {
        let from = self.level().unwrap_or(log_message::DEFAULT);
        // Unlike requests, log messages may come before the client is ready (basic/lifecycle, Initialization).
        let frame = self.state().greeted.then(|| log_message::frame(server, params, from)).flatten();
        frame.is_none_or(|frame| self.shared.out.offer(frame))
    }

    fn ask(&self, question: Question) -> Answering {
        let peer = self.clone();
        Box::pin(async move { Some(peer.put(question).await) })
    }

    fn tell(&self, method: &'static str, params: Option<&[u8]>) {
        if *self.shared.ready.borrow() {
            let params = params.map(String::from_utf8_lossy);
            self.shared.out.try_send(Frame::notification(method, params.as_deref()));
        }
    }
}

/// A request that waits for its answer. When nobody waits any more, the client is told.
struct OpenRequest<'a> {
    peer: &'a Peer,
    id: u64,
    sent: bool,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        if self.peer.state().open.remove(&self.id).is_some() && self.sent {
            let params = json!({"requestId": text(self.id).trim_matches('"'), "reason": "nobody waits for the answer"});
            self.peer.shared.out.try_send(Frame::notification("notifications/cancelled", Some(&params.to_string())));
        }
    }
}

/// An id of ours as JSON. A text, so that it is none of rmcp's.
fn text(id: u64) -> String {
    format!("\"evokore-{id}\"")
}

fn number(id: &str) -> Option<u64> {
    id.strip_prefix("\"evokore-")?.strip_suffix('"')?.parse().ok()
}

fn error(code: i64, message: &str) -> ChildReply {
    ChildReply::Error(json!({"code": code, "message": message}).to_string().into())
}
