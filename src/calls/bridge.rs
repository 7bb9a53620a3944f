//! Calls that became a task: handed to a client that takes one of its kind, for any other seen to its end here.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::outcome::Outcome;
use super::{CallContext, Era, rounds, vetted};
use crate::catalog::CATALOG;
use crate::child::task::{self, Status, Told};
use crate::child::{ChildCall, ChildError, ChildReply, Method, Taker};

/// Code of MissingRequiredClientCapability (2026-07-28, basic § Error Codes).
pub(crate) const MISSING_CAPABILITY: i64 = -32021;

/// A task is asked after no more often than this, and no more rarely.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// What its server does not say otherwise.
const PAUSE: Duration = Duration::from_secs(1);

/// The error for a client of 2026-07-28 that has not declared what it needs to know of tasks; a child's has the same
/// members.
pub(crate) fn undeclared() -> Bytes {
    json!({
        "code": MISSING_CAPABILITY,
        "message": format!("declare the extension {} to use tasks", task::EXTENSION),
        "data": {"requiredCapabilities": {"extensions": {task::EXTENSION: {}}}},
    })
    .to_string()
    .into()
}

/// Whether a child refuses a call because nobody has told it that its answer may be a task.
pub(super) fn is_undeclared(error: &[u8]) -> bool {
    let error: serde_json::Value = serde_json::from_slice(error).unwrap_or_default();
    error["code"] == MISSING_CAPABILITY
        && error["data"]["requiredCapabilities"]["extensions"].get(task::EXTENSION).is_some()
}

/// The answer to `call` of server `server`, which has become a task.
///
/// # Errors
/// Anything that kept the child from answering.
pub(super) async fn made(ctx: &CallContext, server: u16, call: &ChildCall, made: Bytes) -> Result<Outcome, ChildError> {
    let Some(told) = Told::made(&made) else {
        return Ok(Outcome::error_text("the server has made a task of the call, but does not say which"));
    };
    let id = CATALOG.servers.get(usize::from(server)).map_or("", |spec| spec.id);
    let declares = ctx.client.as_ref().is_some_and(|client| client.takes_tasks());
    match (ctx.era, told.is_modern) {
        (Era::Modern, true) if declares => {
            let made = vetted::fit_for(ctx, made).map(|made| Outcome::Result(task::outward(id, made, task::ID)));
            return Ok(made.unwrap_or_else(|refusal| refusal));
        }
        (Era::Handshake, false) if call.taker == Taker::Handshake => {
            ctx.app.tasks.add(task::exposed(id, &told.id));
            let made = task::outward(id, made, task::MADE);
            return Ok(Outcome::Result(task::related_outward(id, made)));
        }
        _ => {}
    }
    let task = Task { ctx, server, id: told.id.clone() };
    let outcome = if told.is_modern { task.polled(told).await } else { task.awaited().await };
    if let Err(ChildError::Cancelled { .. } | ChildError::TimedOut { .. }) = outcome {
        task.give_up();
    }
    outcome
}

/// A task that we see to its end.
struct Task<'a> {
    ctx: &'a CallContext,
    server: u16,
    /// The child's own id.
    id: String,
}

impl Task<'_> {
    /// Waits for the result of a task of the handshake era, which the server gives when it is there.
    async fn awaited(&self) -> Result<Outcome, ChildError> {
        Ok(match self.ask(Method::TaskResult, self.params(None)).await? {
            ChildReply::Result(result) | ChildReply::InputRequired(result) | ChildReply::Task(result) => {
                Outcome::Result(task::unrelated(result))
            }
            ChildReply::Error(error) => Outcome::RawError(error),
        })
    }

    /// Asks after a task of 2026-07-28 until it is over, and tells it what it needs to know.
    async fn polled(&self, mut told: Told) -> Result<Outcome, ChildError> {
        let limit = self.ctx.app.children().longest_call(self.server);
        let end = Instant::now() + limit;
        let mut answered = BTreeSet::new();
        loop {
            let pause = told.pause.unwrap_or(PAUSE).clamp(PAUSES.0, PAUSES.1);
            let id = CATALOG.servers.get(usize::from(self.server)).map_or("", |spec| spec.id);
            tokio::select! {
                biased;
                () = self.ctx.cancelled.cancelled() => return Err(ChildError::Cancelled { id }),
                () = sleep(pause) => {}
            }
            if Instant::now() >= end {
                return Err(ChildError::TimedOut { id, what: "the task of the call".to_owned(), after: limit });
            }
            let state = match self.ask(Method::GetTask, self.params(None)).await? {
                ChildReply::Result(state) | ChildReply::InputRequired(state) | ChildReply::Task(state) => state,
                ChildReply::Error(error) => return Ok(Outcome::RawError(error)),
            };
            let text = String::from_utf8_lossy(&state);
            let Some(now) = Told::read(&text, true) else {
                return Ok(Outcome::error_text("the server does not say what has become of the task of the call"));
            };
            let members = Members::parse(&text).unwrap_or_default();
            let member = |key: &str| members.last(key).map(|value| Bytes::copy_from_slice(value.get().as_bytes()));
            told = now;
            match told.status {
                Status::Working => {}
                Status::InputRequired => {
                    if let Err(why) = self.tell(&members, &mut answered).await? {
                        self.give_up();
                        let text = format!("the tool asks for input that it cannot get: {why}");
                        return Ok(Outcome::error_text(&text));
                    }
                }
                Status::Completed => {
                    let result = member("result").unwrap_or_else(|| Bytes::from_static(b"{\"content\":[]}"));
                    return Ok(Outcome::Result(task::completed(result)));
                }
                Status::Failed => {
                    return Ok(member("error")
                        .map_or_else(|| Outcome::error_text("the task of the call has failed"), Outcome::RawError));
                }
                Status::Cancelled => return Ok(Outcome::error_text("the server has given up the task of the call")),
            }
        }
    }

    /// Asks the client what a task needs to know, once each, and tells the server. The inner error says why that cannot be.
    async fn tell(
        &self,
        state: &Members<'_>,
        answered: &mut BTreeSet<String>,
    ) -> Result<Result<(), String>, ChildError> {
        let requests = state.last("inputRequests").and_then(|requests| Members::parse(requests.get()).ok());
        let mut requests = requests.unwrap_or_default().unique();
        requests.0.retain(|(key, _)| !answered.contains(&**key));
        if requests.0.is_empty() {
            return Ok(Ok(()));
        }
        let Some(client) = self.ctx.client.as_ref().filter(|_| self.ctx.era == Era::Handshake) else {
            return Ok(Err("there is nobody who takes requests".to_owned()));
        };
        if answered.len() + requests.0.len() > rounds::MAX_ROUNDS * rounds::MAX_REQUESTS {
            return Ok(Err("it does not stop asking".to_owned()));
        }
        let responses = tokio::select! {
            biased;
            () = self.ctx.cancelled.cancelled() => Err("the call was given up".to_owned()),
            responses = rounds::responses(&**client, &requests) => responses,
        };
        let responses = match responses {
            Ok(responses) => responses,
            Err(why) => return Ok(Err(why)),
        };
        answered.extend(requests.0.iter().map(|(key, _)| key.to_string()));
        Ok(match self.ask(Method::UpdateTask, self.params(Some(&responses))).await? {
            ChildReply::Error(error) => Err(String::from_utf8_lossy(&error).into_owned()),
            _ => Ok(()),
        })
    }

    async fn ask(&self, method: Method, params: String) -> Result<ChildReply, ChildError> {
        let call = ChildCall {
            method,
            others: Some(params.into()),
            client: self.ctx.client.clone(),
            caller: self.ctx.session.as_ref().map(|session| session.id()),
            taker: Taker::Us,
            cancelled: self.ctx.cancelled.clone(),
            ..ChildCall::default()
        };
        self.ctx.app.children().call(self.server, call).await
    }

    fn params(&self, responses: Option<&RawValue>) -> String {
        let id = json!(self.id);
        match responses {
            Some(responses) => format!("{{\"taskId\":{id},\"inputResponses\":{}}}", responses.get()),
            None => format!("{{\"taskId\":{id}}}"),
        }
    }

    /// Nobody wants the result any more. What the server says to that matters to no one.
    fn give_up(&self) {
        let (children, server) = (self.ctx.app.children(), self.server);
        let call = ChildCall {
            method: Method::CancelTask,
            others: Some(self.params(None).into()),
            taker: Taker::Us,
            cancelled: CancellationToken::new(),
            ..ChildCall::default()
        };
        tokio::spawn(async move { children.call(server, call).await });
    }
}
