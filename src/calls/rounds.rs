//! Calls that need answers of the client before they are done. A child of 2026-07-28 answers with what it needs to know,
//! and is called again with the answers (basic/patterns/mrtr): a handshake-era client is asked by requests, one of the
//! same revision calls again itself. A child of the handshake era asks while it works: a client that knows no requests
//! gets an answer with the questions, and the call is parked.

use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::outcome::Outcome;
use super::park::{self, Running, Step};
use super::state::{Bound, Number};
use super::vetted::{Unfit, vetted};
use super::{CallContext, Era, bridge};
use crate::child::{ChildCall, ChildError, ChildReply, Client, Method, Question, Taker, Topic};
use crate::log;
use crate::wire::envelope::INTERNAL_ERROR;

/// A call is made so many times at most.
pub(super) const MAX_ROUNDS: usize = 8;
/// Requests of one answer.
pub(super) const MAX_REQUESTS: usize = 16;
/// For the answer to one request.
const PATIENCE: Duration = Duration::from_secs(600);
/// Before a call is made again that needs time, and not an answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Calls as often as it takes, or goes on with the call that is `resumed`. `bound` is what the state belongs to that a
/// client of 2026-07-28 is told.
///
/// # Errors
/// Anything that kept the child from answering.
pub(crate) async fn call(
    ctx: &CallContext,
    server: u16,
    mut call: ChildCall,
    mut resumed: Option<Running>,
    bound: Bound<'_>,
) -> Result<Outcome, ChildError> {
    let method = call.method;
    for _ in 0..MAX_ROUNDS {
        let running = resumed.take().or_else(|| match (ctx.era, &ctx.client) {
            (Era::Modern, Some(client)) if Running::may_ask(&**client, method) => {
                Some(Running::start(&ctx.app, server, call.clone(), client.clone()))
            }
            _ => None,
        });
        let reply = match running {
            None => ctx.app.children().call(server, call.clone()).await?,
            Some(running) => match answer_or_park(ctx, running, bound).await? {
                Ok(reply) => reply,
                Err(outcome) => return Ok(outcome),
            },
        };
        let needs = match reply {
            ChildReply::Result(bytes) => return Ok(Outcome::Result(bytes)),
            // It has done nothing yet, and does not know that we can see a task to its end.
            ChildReply::Error(bytes)
                if matches!(call.taker, Taker::Nobody | Taker::Handshake) && bridge::is_undeclared(&bytes) =>
            {
                call.taker = Taker::Us;
                continue;
            }
            ChildReply::Error(bytes) => return Ok(Outcome::RawError(bytes)),
            ChildReply::Task(_) if method != Method::CallTool => {
                return Ok(stuck(method, "the server answers with a task, which only a tool call can become"));
            }
            ChildReply::Task(bytes) => return bridge::made(ctx, server, &call, bytes).await,
            ChildReply::InputRequired(bytes) => bytes,
        };
        let answers = match (ctx.era, &ctx.client) {
            (_, None) => Err("there is nobody to give it".to_owned()),
            (Era::Modern, Some(client)) => {
                let sealed = match vetted(&**client, &needs) {
                    Ok(needs) => ctx.app.states.seal(bound, needs.as_bytes()),
                    Err(Unfit::Undeclared(refusal)) => return Ok(refusal),
                    Err(Unfit::Malformed(why)) => Err(why),
                };
                match sealed {
                    Ok(needs) => return Ok(Outcome::Result(needs.into())),
                    Err(why) => Err(why),
                }
            }
            (Era::Handshake, Some(client)) => tokio::select! {
                biased;
                () = ctx.cancelled.cancelled() => return Ok(stuck(method, "the call was given up")),
                answers = answers(&**client, &needs) => answers,
            },
        };
        match answers {
            Ok(members) => call.others = Some(with(call.others.as_deref(), &members)),
            Err(why) => return Ok(stuck(method, &format!("{} asks for input that it cannot get: {why}", who(method)))),
        }
    }
    let text = format!("{} has asked for input {MAX_ROUNDS} times and is not done yet", who(method));
    Ok(stuck(method, &text))
}

/// Takes the call that is parked under a number, its answers among the members of the request.
///
/// # Errors
/// The answer for a request that goes on with no call.
pub(crate) fn resume(ctx: &CallContext, number: &Number, others: Option<&str>) -> Result<Running, Outcome> {
    let client = ctx.client.clone().ok_or_else(|| Outcome::error_text("there is nobody to ask"))?;
    let (mut running, answers) = ctx.app.park.take(number, others)?;
    running.resume(client, answers);
    Ok(running)
}

/// Waits for the answer of a call. When it asks something first, the outcome for the client, and the call is parked.
async fn answer_or_park(
    ctx: &CallContext,
    mut running: Running,
    bound: Bound<'_>,
) -> Result<Result<ChildReply, Outcome>, ChildError> {
    loop {
        running = match running.step(ctx).await? {
            Step::Reply(reply) => return Ok(Ok(reply)),
            Step::Asks(running) => running,
        };
        let parked = ctx.app.states.ticket(bound, park::LIFETIME).map(|(number, state)| {
            let requests = running.ask();
            (
                format!(r#"{{"resultType":"input_required","inputRequests":{requests},"requestState":"{state}"}}"#),
                number,
            )
        });
        match parked {
            Ok((result, number)) => match ctx.app.park.leave(number, running) {
                Ok(()) => return Ok(Err(Outcome::Result(result.into()))),
                Err(back) => running = back,
            },
            Err(why) => log::line(&format!("a call cannot wait for its client: {why}")),
        }
        running.refuse();
    }
}

/// The answer to a request that comes to nothing.
fn stuck(method: Method, why: &str) -> Outcome {
    match method {
        Method::CallTool => Outcome::error_text(why),
        _ => Outcome::Error { code: INTERNAL_ERROR, message: why.to_owned() },
    }
}

fn who(method: Method) -> &'static str {
    match method {
        Method::CallTool => "the tool",
        _ => "the server",
    }
}

/// Asks the client what the result `needs` lists; the members that the next call has.
async fn answers(client: &dyn Client, needs: &[u8]) -> Result<Vec<(&'static str, Box<RawValue>)>, String> {
    let malformed = || "its `input_required` result is malformed".to_owned();
    let text = std::str::from_utf8(needs).map_err(|_| malformed())?;
    let needs = Members::parse(text).map_err(|_| malformed())?;
    let requests = match needs.last("inputRequests") {
        Some(requests) => Members::parse(requests.get()).map_err(|_| malformed())?.unique(),
        None => Members::default(),
    };
    let mut next = Vec::new();
    if requests.0.is_empty() {
        sleep(PAUSE).await;
    } else {
        next.push(("inputResponses", responses(client, &requests).await?));
    }
    if let Some(state) = needs.last("requestState") {
        next.push(("requestState", state.to_owned()));
    }
    Ok(next)
}

/// Asks the client each of `requests`; its answers, under the same keys.
pub(super) async fn responses(client: &dyn Client, requests: &Members<'_>) -> Result<Box<RawValue>, String> {
    if requests.0.len() > MAX_REQUESTS {
        return Err(format!("it asks for {} things at once", requests.0.len()));
    }
    let mut responses = Vec::new();
    for (key, request) in &requests.0 {
        responses.push((key.clone(), answer(client, request).await?));
    }
    let responses = Members(responses.iter().map(|(key, raw)| (key.clone(), &**raw)).collect());
    RawValue::from_string(responses.to_json()).map_err(|error| error.to_string())
}

/// Reads one of `inputRequests`.
pub(super) fn question(request: &RawValue) -> Result<Question, String> {
    let members = Members::parse(request.get()).map_err(|_| "a request is no object".to_owned())?;
    let method: Option<String> = members.last("method").and_then(|method| serde_json::from_str(method.get()).ok());
    let topic =
        method.as_deref().and_then(Topic::of).ok_or_else(|| format!("{method:?} is nothing to ask a client"))?;
    let params = members.last("params").map(|params| Bytes::copy_from_slice(params.get().as_bytes()));
    Ok(Question::new(topic, params))
}

/// Asks the client one thing.
async fn answer(client: &dyn Client, request: &RawValue) -> Result<Box<RawValue>, String> {
    let question = question(request)?;
    let silent = || format!("the client did not answer `{}`", question.topic.method());
    let reply = match client.refusal(&question) {
        Some(refusal) => refusal,
        None => timeout(PATIENCE, client.ask(question.clone())).await.ok().flatten().ok_or_else(silent)?,
    };
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    match reply {
        ChildReply::Result(result) => RawValue::from_string(text(&result)).map_err(|error| error.to_string()),
        ChildReply::Error(error) | ChildReply::InputRequired(error) | ChildReply::Task(error) => {
            let error: serde_json::Value = serde_json::from_slice(&error).unwrap_or_default();
            Err(error["message"].as_str().unwrap_or("the client refuses").to_owned())
        }
    }
}

/// The further members of a call with `members` in place of those of the round before.
fn with(others: Option<&[u8]>, members: &[(&'static str, Box<RawValue>)]) -> Bytes {
    let others = others.and_then(|others| std::str::from_utf8(others).ok()).unwrap_or("{}");
    let mut all = Members::parse(others).unwrap_or_default();
    all.0.retain(|(key, _)| !matches!(&**key, "inputResponses" | "requestState"));
    all.0.extend(members.iter().map(|(key, raw)| ((*key).into(), &**raw)));
    all.to_json().into()
}
