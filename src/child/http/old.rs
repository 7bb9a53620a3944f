//! Servers of 2024-11-05: one stream, opened first, says where messages are wanted and carries every answer. Its end is
//! the end of the connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::server::Dialect;
use hyper::StatusCode;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::client::{chunk, quote, shortened};
use super::endpoint::Ask;
use super::exchange::is_stream;
use super::failure::Failure;
use super::frame::Head;
use super::link::Link;
use super::session::Ticket;
use super::sse::{Event, Events, TooLarge};
use crate::child::incoming;

/// From the head of the stream to the event that says where messages are wanted.
const PLACE: Duration = Duration::from_secs(10);

impl Link {
    /// Posts `initialize`, to a server of which it may not be known yet how it speaks.
    pub(super) async fn greet(self: &Arc<Self>, ticket: &Ticket, head: &Head, frame: &Bytes) -> Result<(), Failure> {
        if self.dialect == Dialect::Sse && !self.endpoint.is_old() {
            self.open_stream().await?;
        }
        let failure = match self.post(ticket, head, frame).await {
            Err(failure) if self.dialect == Dialect::Either && !self.endpoint.is_old() => failure,
            outcome => return outcome,
        };
        // What a server of 2024-11-05 says to this (2025-11-25, basic/transports, "Backwards compatibility").
        let Failure::Status {
            status: StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED,
            ..
        } = failure
        else {
            return Err(failure);
        };
        match self.open_stream().await {
            Ok(()) => self.post(ticket, head, frame).await,
            // Whatever it is, that comes first.
            Err(login @ (Failure::Login { .. } | Failure::Scope { .. })) => Err(login),
            // If it is none, what it said first is what matters.
            Err(_) => Err(failure),
        }
    }

    /// Opens the stream, and learns where messages are wanted.
    async fn open_stream(self: &Arc<Self>) -> Result<(), Failure> {
        let response = self.endpoint.send(Ask::Listen(None), &Ticket::default()).await?;
        let (parts, mut body) = response.into_parts();
        let status = parts.status;
        if !status.is_success() {
            let body = quote(body).await;
            return Err(self.refusal(&parts, &body).await);
        }
        if !is_stream(&parts.headers) {
            return Err(Failure::NoMessage { status, quote: shortened(&quote(body).await) });
        }
        let mut events = Events::new(self.limit);
        let first = timeout(PLACE, first(&mut events, &mut body)).await;
        let first = first.unwrap_or_else(|_| Err(Failure::Broken("opened a stream and says nothing on it".to_owned())));
        let mut first = first?.into_iter();
        match first.next() {
            Some(event) if event.name == "endpoint" => {
                self.endpoint.post_to(&String::from_utf8_lossy(&event.data))?;
            }
            other => {
                let quote = shortened(&other.map(|event| event.data).unwrap_or_default());
                return Err(Failure::NoMessage { status, quote });
            }
        }
        for event in first {
            self.hear(&event);
        }
        self.listen_by(self.clone().read_stream(events, body));
        Ok(())
    }

    /// Hands on what comes on the stream, to its end.
    async fn read_stream(self: Arc<Self>, mut events: Events, mut body: Incoming) {
        let end = loop {
            match chunk(&mut body).await {
                Ok(Some(bytes)) => {
                    if let Err(TooLarge(size)) = events.push(&bytes, |event| self.hear(&event)) {
                        break format!("sent too large a message: {size} bytes, {} are allowed", self.limit);
                    }
                }
                Ok(None) => break "ended its stream".to_owned(),
                Err(_) => break "broke its stream off".to_owned(),
            }
        };
        self.shared.end(end);
    }

    fn hear(&self, event: &Event) {
        if event.name == "message" && !event.data.is_empty() {
            incoming::take(&self.shared, &event.data);
        }
    }
}

/// The events that come first; none if the stream ends before one.
async fn first(events: &mut Events, body: &mut Incoming) -> Result<Vec<Event>, Failure> {
    let mut found = Vec::new();
    while found.is_empty() {
        let Some(bytes) = chunk(body).await? else { break };
        events.push(&bytes, |event| found.push(event)).map_err(|TooLarge(size)| Failure::TooLarge(size))?;
    }
    Ok(found)
}
