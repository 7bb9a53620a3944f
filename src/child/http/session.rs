//! What a server and we have agreed on: the session's id and the protocol's version, and how to agree anew.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::header::HeaderValue;
use serde::Deserialize;

/// An agreement at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Ticket {
    /// Which agreement it is.
    pub(super) generation: u64,
    /// `Mcp-Session-Id`, if the server gave one.
    pub(super) id: Option<HeaderValue>,
    /// `MCP-Protocol-Version`.
    pub(super) version: Option<HeaderValue>,
}

/// The session with one server.
#[derive(Debug, Default)]
pub(super) struct Session {
    state: Mutex<State>,
    /// Held by whoever agrees anew.
    pub(super) renewing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    ticket: Ticket,
    hello: Option<Bytes>,
}

impl Session {
    /// The agreement of this moment.
    pub(super) fn ticket(&self) -> Ticket {
        self.state().ticket.clone()
    }

    /// Remembers the `initialize` request, to send it again.
    pub(super) fn keep_hello(&self, frame: Bytes) {
        self.state().hello = Some(frame);
    }

    /// The `initialize` request, if there was one.
    pub(super) fn hello(&self) -> Option<Bytes> {
        self.state().hello.clone()
    }

    /// `initialize` was answered: with this session, in this message.
    pub(super) fn agree(&self, id: Option<HeaderValue>, answer: &[u8]) {
        #[derive(Deserialize)]
        struct Answer {
            result: Agreed,
        }
        #[derive(Deserialize)]
        struct Agreed {
            #[serde(rename = "protocolVersion")]
            version: String,
        }
        let Ok(Answer { result }) = serde_json::from_slice(answer) else { return };
        let ticket = &mut self.state().ticket;
        ticket.generation += 1;
        ticket.id = id.map(|mut id| {
            id.set_sensitive(true);
            id
        });
        ticket.version = HeaderValue::from_str(&result.version).ok();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
