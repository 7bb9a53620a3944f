//! One request and its answer: what is tried again, and which answer is none.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::client::{chunk, quote, shortened, whole};
use super::endpoint::{Ask, SESSION};
use super::failure::{self, Failure};
use super::frame::{Head, INITIALIZED};
use super::link::Link;
use super::pause;
use super::session::Ticket;
use super::sse::{Events, TooLarge};
use crate::child::call::ChildReply;
use crate::child::{frames, incoming};

/// Before a request is made again that failed for a reason that may pass.
const MOMENT: Duration = Duration::from_millis(300);
/// A pause that a server asks for is waited for, in place of failing, if it is no longer than this.
const SHORT: Duration = Duration::from_secs(2);
/// Before a broken stream is asked for again, unless it said how long.
const RESUME: Duration = Duration::from_secs(1);
/// No stream is waited for longer than this before it is asked for again.
const LONGEST_RESUME: Duration = Duration::from_secs(30);
/// Attempts to resume a stream that fail in a row.
const MAX_RESUMES: u32 = 5;
/// A stream that has given its answer has so long to end, which keeps the connection.
const TAIL: Duration = Duration::from_millis(100);

impl Link {
    /// Posts a request, and hands its answer to the connection.
    pub(super) async fn exchange(self: &Arc<Self>, head: &Head, frame: &Bytes) -> Result<(), Failure> {
        if head.is_hello() {
            self.session.keep_hello(frame.clone());
        }
        let (mut renewed, mut repeated) = (false, false);
        loop {
            self.pause.check()?;
            let ticket = self.session.ticket();
            let outcome = match head.is_hello() {
                true => self.greet(&ticket, head, frame).await,
                false => self.post(&ticket, head, frame).await,
            };
            let Err(failure) = outcome else { return Ok(()) };
            let wait = failure.wait();
            if matches!(failure, Failure::SessionGone) && !renewed {
                renewed = true;
                self.renew(&ticket).await?;
                continue;
            }
            // A server that asks for a pause has done nothing yet.
            let may_repeat = wait.is_some() || failure.is_transient() && head.is_idempotent();
            if may_repeat && !repeated && wait.is_none_or(|wait| wait <= SHORT) {
                repeated = true;
                sleep(wait.unwrap_or(MOMENT)).await;
                continue;
            }
            if let Some(wait) = wait {
                self.pause.begin(wait);
            }
            return Err(failure);
        }
    }

    pub(super) async fn post(&self, ticket: &Ticket, head: &Head, frame: &Bytes) -> Result<(), Failure> {
        let (parts, body) = self.endpoint.send(Ask::Post(frame, head.modern.as_ref()), ticket).await?.into_parts();
        if !parts.status.is_success() {
            return self.refused(&parts, body, ticket, head).await;
        }
        if self.endpoint.is_old() {
            // Taken in; the answer comes on the stream.
            drop(quote(body).await);
            return Ok(());
        }
        if is_stream(&parts.headers) {
            return self.follow(body, &parts.headers, head, ticket).await;
        }
        let body = whole(body, self.limit).await?;
        self.accept(&body, &parts.headers, head);
        if self.waits_for(head.id) {
            return Err(Failure::NoMessage { status: parts.status, quote: shortened(&body) });
        }
        Ok(())
    }

    /// Hands a message to the connection.
    fn accept(&self, message: &Bytes, headers: &HeaderMap, head: &Head) -> bool {
        if head.is_hello() {
            self.session.agree(headers.get(SESSION).cloned(), message);
        }
        incoming::take_for(&self.shared, message, Some(head.id))
    }

    /// A status that is no success: an error of the protocol is the answer all the same.
    async fn refused(&self, parts: &Parts, body: Incoming, ticket: &Ticket, head: &Head) -> Result<(), Failure> {
        let body = quote(body).await;
        let status = parts.status;
        let in_session = ticket.id.is_some() && !head.is_hello();
        match status {
            StatusCode::NOT_FOUND if in_session => return Err(Failure::SessionGone),
            // Many servers say so with this status.
            StatusCode::BAD_REQUEST if in_session && mentions_session(&body) => return Err(Failure::SessionGone),
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::INTERNAL_SERVER_ERROR => {
                if let Some(error) = error_in(&body, head.id) {
                    self.shared.pending.finish(head.id, Ok(ChildReply::Error(error)));
                    return Ok(());
                }
            }
            _ => {}
        }
        Err(self.refusal(parts, &body).await)
    }

    /// Why an answer with this head and body, whose status is no success, is none.
    pub(super) async fn refusal(&self, parts: &Parts, body: &[u8]) -> Failure {
        let quote = shortened(body);
        if parts.status == StatusCode::UNAUTHORIZED {
            return Failure::Login { quote, was_told: self.endpoint.has_credentials() };
        }
        let lack = self.endpoint.lack(parts.status, &parts.headers, quote).await;
        lack.unwrap_or_else(|| failure::status(parts.status, body, pause::asked_for(&parts.headers)))
    }

    /// Reads the stream that a request is answered with; asks for the rest of it when it breaks.
    async fn follow(&self, body: Incoming, headers: &HeaderMap, head: &Head, ticket: &Ticket) -> Result<(), Failure> {
        let mut events = Events::new(self.limit);
        let mut body = body;
        loop {
            let end = self.drain(&mut events, &mut body, headers, head).await;
            if !self.waits_for(head.id) {
                return Ok(());
            }
            let early = || Failure::Broken("ended its stream before the answer".to_owned());
            // 2026-07-28 gives no stream again.
            let last = events.last_id().filter(|_| head.modern.is_none()).map(str::to_owned);
            let Some(last) = last else { return Err(end.err().unwrap_or_else(early)) };
            if let Err(error @ Failure::TooLarge(_)) = end {
                return Err(error);
            }
            events.restart();
            body = self.resume(&events, &last, ticket).await?;
        }
    }

    /// Reads a stream until the answer to `head` has come, or to its end.
    async fn drain(
        &self,
        events: &mut Events,
        body: &mut Incoming,
        headers: &HeaderMap,
        head: &Head,
    ) -> Result<(), Failure> {
        while let Some(bytes) = chunk(body).await? {
            let each = |event: super::sse::Event| {
                if !event.data.is_empty() {
                    self.accept(&event.data, headers, head);
                }
            };
            events.push(&bytes, each).map_err(|TooLarge(size)| Failure::TooLarge(size))?;
            if !self.waits_for(head.id) {
                let _ = timeout(TAIL, async { while let Ok(Some(_)) = chunk(body).await {} }).await;
                break;
            }
        }
        Ok(())
    }

    async fn resume(&self, events: &Events, last: &str, ticket: &Ticket) -> Result<Incoming, Failure> {
        let mut failures = 0;
        loop {
            sleep(events.retry().unwrap_or(RESUME).min(LONGEST_RESUME)).await;
            let failure = match self.endpoint.send(Ask::Listen(Some(last)), ticket).await {
                Ok(response) if response.status().is_success() && is_stream(response.headers()) => {
                    return Ok(response.into_body());
                }
                Ok(response) => {
                    let status = response.status();
                    Failure::Broken(format!("ended its stream before the answer, and gives no more of it ({status})"))
                }
                Err(failure) => failure,
            };
            failures += 1;
            if failures >= MAX_RESUMES || !matches!(failure, Failure::Unreachable(_)) {
                return Err(failure);
            }
        }
    }

    /// Agrees on a new session in place of the one of `ticket`, unless someone else has already.
    async fn renew(self: &Arc<Self>, ticket: &Ticket) -> Result<(), Failure> {
        let _renewing = self.session.renewing.lock().await;
        if self.session.ticket().generation != ticket.generation {
            return Ok(());
        }
        // What is still on its way when we go is no reason to come back.
        let hello = self.session.hello().filter(|_| !self.shared.hush.is_cancelled());
        let hello = hello.ok_or(Failure::SessionGone)?;
        let response = self.endpoint.send(Ask::Post(&hello, None), &Ticket::default()).await?;
        let (headers, answer) = self.one_message(response).await?;
        self.session.agree(headers.get(SESSION).cloned(), &answer);
        if self.session.ticket().generation == ticket.generation {
            return Err(Failure::NoMessage { status: StatusCode::OK, quote: shortened(&answer) });
        }
        self.aside(frames::notification(INITIALIZED)).await;
        self.listen_anew();
        // Whoever forgot the session may have other lists now.
        self.shared.changes.mark_all();
        Ok(())
    }

    /// The one message that a response holds.
    async fn one_message(&self, response: Response<Incoming>) -> Result<(HeaderMap, Bytes), Failure> {
        let (parts, mut body) = response.into_parts();
        if !parts.status.is_success() {
            let body = quote(body).await;
            return Err(self.refusal(&parts, &body).await);
        }
        if !is_stream(&parts.headers) {
            return Ok((parts.headers, whole(body, self.limit).await?));
        }
        let mut events = Events::new(self.limit);
        let mut found = None;
        while let Some(bytes) = chunk(&mut body).await? {
            let each = |event: super::sse::Event| {
                if is_answer(&event.data) {
                    found = Some(event.data);
                }
            };
            events.push(&bytes, each).map_err(|TooLarge(size)| Failure::TooLarge(size))?;
            if let Some(found) = found.take() {
                return Ok((parts.headers, found));
            }
        }
        Err(Failure::NoMessage { status: parts.status, quote: String::new() })
    }
}

/// Whether an answer is a stream of events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn is_answer(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    serde_json::from_slice::<Answer<'_>>(message).is_ok_and(|answer| answer.result.or(answer.error).is_some())
}

fn mentions_session(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).to_ascii_lowercase().contains("session")
}

/// The `error` of a message that answers request `id`, or one whose id could not be read.
fn error_in(body: &Bytes, id: u64) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Refusal<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let refusal: Refusal<'_> = serde_json::from_slice(body).ok()?;
    let is_ours =
        refusal.id.is_none_or(|found| found.get().trim_matches('"').parse().is_ok_and(|found: u64| found == id));
    let is_error = refusal.error.get().starts_with('{');
    (is_ours && is_error).then(|| body.slice_ref(refusal.error.get().as_bytes()))
}
