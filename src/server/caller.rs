//! The client behind one request of 2026-07-28, which says itself what the client offers and which log messages it wants.

use std::sync::Arc;

use serde_json::json;

use super::log_message;
use super::meta::Meta;
use crate::child::{Answering, Capabilities, ChildReply, Client, Level, Question};
use crate::wire::envelope::METHOD_NOT_FOUND;
use crate::wire::outbox::Outbox;

/// Who made a request.
#[derive(Debug)]
pub(super) struct Caller {
    offers: Arc<Capabilities>,
    /// From which level on it wants log messages; none at all if it does not say.
    level: Option<Level>,
    out: Outbox,
}

impl Caller {
    /// Who says this in the `_meta` of a request.
    pub(super) fn of(meta: &Meta<'_>, out: Outbox) -> Caller {
        Caller { offers: Arc::new(meta.capabilities()), level: meta.log_level(), out }
    }
}

impl Client for Caller {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.offers.clone()
    }

    fn takes_tasks(&self) -> bool {
        self.offers.has_tasks()
    }

    /// The revision knows no requests to clients: what can be asked at all is asked by the result of a request.
    fn refusal(&self, question: &Question) -> Option<ChildReply> {
        let message = format!("a client of 2026-07-28 takes no requests, so no {}", question.topic.method());
        Some(ChildReply::Error(json!({"code": METHOD_NOT_FOUND, "message": message}).to_string().into()))
    }

    fn ask(&self, question: Question) -> Answering {
        let refusal = self.refusal(&question);
        Box::pin(async move { refusal })
    }

    fn level(&self) -> Option<Level> {
        self.level
    }

    fn log(&self, server: &'static str, params: &[u8]) -> bool {
        let frame = self.level.and_then(|from| log_message::frame(server, params, from));
        frame.is_none_or(|frame| self.out.offer(frame))
    }

    /// There is no notification that this revision lets a server send outside of a subscription.
    fn tell(&self, _: &'static str, _: Option<&[u8]>) {}
}
