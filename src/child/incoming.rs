//! What a child says, line by line: answers to whoever waits, progress in order, requests answered at once.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::io::AsyncRead;

use super::call::ChildReply;
use super::client::{Question, Topic, missing};
use super::connection::Shared;
use super::error::{ChildError, Size};
use super::message::{self, Message};
use super::questions;
use super::salvage::{self, Head};
use super::task::{self, Told};
use crate::wire::lines::{Line, Lines};
use evokore_catalog::members::Members;

/// A request id of a child that is longer is not answered.
const MAX_FOREIGN_ID: usize = 1024;

/// The reading side of a connection.
#[derive(Debug)]
pub(super) struct Incoming<R> {
    shared: Arc<Shared>,
    lines: Lines<R>,
    max_line: usize,
    /// An overlong line is being discarded whose call has not been found yet.
    unclaimed: bool,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    pub(super) fn new(shared: Arc<Shared>, reader: R, max_line: usize) -> Incoming<R> {
        Incoming { shared, lines: Lines::new(reader, max_line), max_line, unclaimed: false }
    }

    /// Reads until the end; says how it ended, as the rest of a sentence about the child.
    pub(super) async fn run(&mut self) -> String {
        loop {
            match self.lines.next().await {
                Ok(Some(Line::Whole(line))) => self.line(&line),
                // Either complete but for its line end, or cut off by the end, which says more.
                Ok(Some(Line::Rest(line))) => {
                    self.take(&line);
                }
                Ok(Some(Line::Over { head, size })) => self.over(&head, size),
                Ok(Some(Line::OverEnd { tail, size })) => self.over_end(&tail, size),
                Ok(None) => return "closed its stdout".to_owned(),
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return error.to_string(),
                Err(error) => return format!("closed its stdout ({error})"),
            }
        }
    }

    fn take(&self, line: &Bytes) -> bool {
        take(&self.shared, line)
    }

    fn line(&self, line: &Bytes) {
        if line.is_empty() || self.take(line) {
            return;
        }
        // An answer that is no JSON still belongs to a call.
        let id = match salvage::head(line) {
            Head::Answer(id) => Some(id),
            Head::Object => salvage::id_in_tail(line),
            Head::Method | Head::Other => None,
        };
        if let Some(id) = id {
            let what = "sent an answer that is no valid JSON".to_owned();
            self.shared.pending.finish(id, Err(ChildError::Protocol { id: self.shared.id, what }));
        }
    }

    /// A line passed the limit: its call fails now, if it can be told which one it is.
    fn over(&mut self, head: &[u8], size: u64) {
        let error = self.too_large(Size::SoFar(size));
        let id = match salvage::head(head) {
            Head::Answer(id) => Some(id),
            Head::Object => self.shared.pending.only(),
            Head::Method => return,
            // Not even a message, and nothing can come through behind it.
            Head::Other => return self.shared.pending.fail_all(&error),
        };
        match id {
            Some(id) => drop(self.shared.pending.finish(id, Err(error))),
            None => self.unclaimed = true,
        }
    }

    fn over_end(&mut self, tail: &[u8], size: u64) {
        if !std::mem::take(&mut self.unclaimed) {
            return;
        }
        let error = self.too_large(Size::Whole(size));
        match salvage::id_in_tail(tail) {
            Some(id) => drop(self.shared.pending.finish(id, Err(error))),
            // One of those who wait would wait in vain, and nobody knows which.
            None => self.shared.pending.fail_all(&error),
        }
    }

    fn too_large(&self, size: Size) -> ChildError {
        ChildError::TooLarge { id: self.shared.id, size, limit: self.max_line as u64 }
    }
}

/// Takes a message; false if it is none.
pub(super) fn take(shared: &Arc<Shared>, line: &Bytes) -> bool {
    take_for(shared, line, None)
}

/// Takes a message that came on the way back from our request `about`; false if it is none.
pub(super) fn take_for(shared: &Arc<Shared>, line: &Bytes, about: Option<u64>) -> bool {
    let is_message = message::read(line, |message| dispatch(shared, message, about)).is_ok();
    if is_message {
        shared.stats.hear();
    } else {
        shared.stats.noise(line);
    }
    is_message
}

fn dispatch(shared: &Arc<Shared>, message: Message, about: Option<u64>) {
    match message {
        Message::Answer { id, reply } => {
            if !shared.pending.finish(id, Ok(reply)) {
                shared.stats.stray();
            }
        }
        Message::Request { id, .. } if id.len() > MAX_FOREIGN_ID => shared.stats.stray(),
        Message::Request { id, method, params } => match Topic::of(&method) {
            Some(topic) => questions::ask(shared, id, Question::new(topic, params), about),
            None if method == "ping" => questions::answer(shared, &id, &ChildReply::Result(Bytes::from_static(b"{}"))),
            None => questions::answer(shared, &id, &missing(&method)),
        },
        Message::Notification { method, params } => notification(shared, &method, params),
        Message::Stray => shared.stats.stray(),
    }
}

fn notification(shared: &Arc<Shared>, method: &str, params: Option<Bytes>) {
    let params = params.map(|params| task::related_outward(shared.id, params));
    match (method, params) {
        ("notifications/tools/list_changed", _) => shared.changes.tools.mark(),
        ("notifications/resources/list_changed", _) => shared.changes.resources.mark(),
        ("notifications/prompts/list_changed", _) => shared.changes.prompts.mark(),
        ("notifications/resources/updated", Some(params)) => shared.changes.updates.read(&params),
        ("notifications/progress", Some(params)) => {
            let known = token(&params).is_some_and(|id| shared.pending.progress(id, params));
            if !known {
                shared.stats.stray();
            }
        }
        ("notifications/cancelled", Some(params)) => {
            if let Some(id) = member(&params, "requestId") {
                shared.questions.withdraw(id.as_bytes());
            }
        }
        ("notifications/elicitation/complete", Some(params)) => {
            if let Some(client) = shared.sink.client() {
                client.tell("notifications/elicitation/complete", Some(&params));
            }
        }
        ("notifications/message", Some(params)) => shared.log(&params),
        ("notifications/tasks/status", Some(params)) if shared.task_news.take(params.len()) => {
            if let Some(told) = std::str::from_utf8(&params).ok().and_then(|text| Told::read(text, false)) {
                if told.status.is_final() {
                    shared.pending.task_is_over(&told.id);
                }
                shared.sink.task(task::exposed(shared.id, &told.id), task::outward(shared.id, params, task::ID));
            }
        }
        _ => {}
    }
}

/// The progress token, which is the id of our request; some servers send numbers back as text.
fn token(params: &[u8]) -> Option<u64> {
    member(params, "progressToken")?.trim_matches('"').parse().ok()
}

/// The JSON text of a member.
fn member<'a>(params: &'a [u8], key: &str) -> Option<&'a str> {
    let members = Members::parse(std::str::from_utf8(params).ok()?).ok()?;
    members.last(key).map(RawValue::get)
}
