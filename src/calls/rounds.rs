//! Calls to children of 2026-07-28, which answer a call with what they need to know, and are called again with the
//! answers (basic/patterns/mrtr). A handshake-era client is asked by requests; one of the same revision asks itself.

use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::outcome::Outcome;
use super::{CallContext, Era, bridge};
use crate::child::{ChildCall, ChildError, ChildReply, Client, Question, Taker, Topic};

/// A call is made so many times at most.
pub(super) const MAX_ROUNDS: usize = 8;
/// Requests of one answer.
pub(super) const MAX_REQUESTS: usize = 16;
/// For the answer to one request.
const PATIENCE: Duration = Duration::from_secs(600);
/// Before a call is made again that needs time, and not an answer.
const PAUSE: Duration = Duration::from_secs(1);

/// Calls as often as it takes; `seal` wraps the state in what a client of 2026-07-28 is told.
///
/// # Errors
/// Anything that kept the child from answering.
pub(super) async fn call(
    ctx: &CallContext,
    server: u16,
    mut call: ChildCall,
    seal: impl Fn(&[u8]) -> Result<String, Outcome>,
) -> Result<Outcome, ChildError> {
    for _ in 0..MAX_ROUNDS {
        let needs = match ctx.app.children().call(server, call.clone()).await? {
            ChildReply::Result(bytes) => return Ok(Outcome::Result(bytes)),
            // It has done nothing yet, and does not know that we can see a task to its end.
            ChildReply::Error(bytes)
                if matches!(call.taker, Taker::Nobody | Taker::Handshake) && bridge::is_undeclared(&bytes) =>
            {
                call.taker = Taker::Us;
                continue;
            }
            ChildReply::Error(bytes) => return Ok(Outcome::RawError(bytes)),
            ChildReply::Task(bytes) => return bridge::made(ctx, server, &call, bytes).await,
            ChildReply::InputRequired(bytes) => bytes,
        };
        let client = match (ctx.era, &ctx.client) {
            (Era::Handshake, Some(client)) => client,
            (Era::Modern, Some(_)) => {
                return Ok(seal(&needs).map_or_else(|refusal| refusal, |needs| Outcome::Result(needs.into())));
            }
            (_, None) => return Ok(Outcome::error_text("the tool asks for input, and there is nobody to give it")),
        };
        let answers = tokio::select! {
            biased;
            () = ctx.cancelled.cancelled() => return Ok(Outcome::error_text("the call was given up")),
            answers = answers(&**client, &needs) => answers,
        };
        match answers {
            Ok(members) => call.others = Some(with(call.others.as_deref(), &members)),
            Err(why) => return Ok(Outcome::error_text(&format!("the tool asks for input that it cannot get: {why}"))),
        }
    }
    Ok(Outcome::error_text(&format!("the tool has asked for input {MAX_ROUNDS} times and is not done yet")))
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

/// Asks the client one thing.
async fn answer(client: &dyn Client, request: &RawValue) -> Result<Box<RawValue>, String> {
    let members = Members::parse(request.get()).map_err(|_| "a request is no object".to_owned())?;
    let method: Option<String> = members.last("method").and_then(|method| serde_json::from_str(method.get()).ok());
    let topic =
        method.as_deref().and_then(Topic::of).ok_or_else(|| format!("{method:?} is nothing to ask a client"))?;
    let params = members.last("params").map(|params| Bytes::copy_from_slice(params.get().as_bytes()));
    let question = Question { topic, params };
    let reply = match client.refusal(&question) {
        Some(refusal) => refusal,
        None => timeout(PATIENCE, client.ask(question))
            .await
            .map_err(|_| format!("the client did not answer `{}`", topic.method()))?,
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
