//! `resources/read`, `resources/subscribe`, `resources/unsubscribe`, `prompts/get` and `completion/complete`: our own
//! entries are answered here, those of children by their server.
//!
//! A resource is found by its address ([`super::address`]), or by the child's own URI, since links inside the results
//! of tools carry that: the first server in configured order that lists it answers, else the first with a template for
//! it. What the active role may not know of is refused like what does not exist.

use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::{missing, not_found, outcome, readdressed, result, unknown_prompt};
use super::locate::{locate, locate_prompt};
use super::request::{Request, child_call, failure, send, text, with_text};
use super::watch::{subscribe, unsubscribe};
use crate::calls::outcome::Outcome;
use crate::calls::state::{Bound, Opened};
use crate::calls::{CallContext, Era, rounds};
use crate::child::{ChildError, ChildReply, Method};
use crate::{prompts, resources, results};

/// Answers one request. Always answers.
pub async fn ask(ctx: &CallContext, request: Request<'_>) -> Outcome {
    let answer = async {
        match request.method {
            Method::GetPrompt => get_prompt(ctx, request).await,
            Method::Complete => complete(ctx, request).await,
            Method::Subscribe => subscribe(ctx, &request).await,
            Method::Unsubscribe => unsubscribe(ctx, &request).await,
            _ => read(ctx, request).await,
        }
    };
    tokio::select! {
        biased;
        // Nobody hears it. Dropping the other half tells the child.
        () = ctx.cancelled.cancelled() => failure("the request was given up"),
        answer = answer => answer.unwrap_or_else(|outcome| outcome),
    }
}

async fn read(ctx: &CallContext, request: Request<'_>) -> Result<Outcome, Outcome> {
    let asked = text(&request.params, "uri")?;
    if let Some(own) = resources::read(&ctx.app, &asked) {
        return Ok(result(&own));
    }
    if results::is_uri(&asked) {
        return Err(missing(ctx, results::unknown(&asked)));
    }
    let target = locate(ctx, &asked).await?.ok_or_else(|| not_found(ctx, &asked))?;
    let params = with_text(request.params, "uri", &target.1);
    let what = format!("{} {asked}", request.method.name());
    let bound = Bound { server: target.0, what: &what, arguments: None, definition: None, needs_approval: false };
    Ok(match send_in_rounds(ctx, bound, request.method, params, request.meta).await? {
        Err(ChildError::Lacks { .. }) => not_found(ctx, &asked),
        Ok(Outcome::Result(bytes)) if target.1 != asked => Outcome::Result(readdressed(bytes, &target.1, &asked)),
        reply => outcome(ctx, reply),
    })
}

async fn get_prompt(ctx: &CallContext, request: Request<'_>) -> Result<Outcome, Outcome> {
    let asked = text(&request.params, "name")?;
    if prompts::is_own(&asked) {
        let arguments = match request.params.last("arguments").map(RawValue::get) {
            None | Some("null") => Map::new(),
            Some(arguments) => serde_json::from_str(arguments)
                .map_err(|_| Outcome::invalid_params("`params.arguments` must be an object"))?,
        };
        return prompts::get(&ctx.app, &asked, &arguments).map(|own| result(&own)).map_err(Outcome::invalid_params);
    }
    let (server, own) = locate_prompt(ctx, &asked).await?.ok_or_else(|| unknown_prompt(&ctx.app, &asked))?;
    let arguments = request.params.last("arguments").map(RawValue::get);
    let what = format!("{} {asked}", request.method.name());
    let bound = Bound { server, what: &what, arguments, definition: None, needs_approval: false };
    let params = with_text(request.params, "name", &own);
    Ok(match send_in_rounds(ctx, bound, request.method, params, request.meta).await? {
        Err(ChildError::Lacks { .. }) => unknown_prompt(&ctx.app, &asked),
        reply => outcome(ctx, reply),
    })
}

/// A reference that nobody knows completes to nothing, as does one of a server without completions.
async fn complete(ctx: &CallContext, request: Request<'_>) -> Result<Outcome, Outcome> {
    let needed = || Outcome::invalid_params("`params.ref` must be an object with `type`, and `name` or `uri`");
    let reference = request.params.last("ref").ok_or_else(needed)?;
    let reference = Members::parse(reference.get()).map_err(|_| needed())?;
    let kind = text(&reference, "type").map_err(|_| needed())?;
    let key = if kind == "ref/prompt" { "name" } else { "uri" };
    let asked = text(&reference, key).map_err(|_| needed())?;
    let argument = request.params.last("argument").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let part = |key: &str| argument.as_ref().and_then(|argument| argument[key].as_str());
    let (Some(name), Some(typed)) = (part("name"), part("value")) else {
        return Err(Outcome::invalid_params("`params.argument` must be an object with the texts `name` and `value`"));
    };
    let found = if key == "name" {
        if prompts::is_own(&asked) { None } else { locate_prompt(ctx, &asked).await? }
    } else if asked == resources::SKILL_TEMPLATE {
        None
    } else {
        locate(ctx, &asked).await?
    };
    let Some((server, own)) = found else {
        return Ok(result(&prompts::complete(&ctx.app, &json!({ key: asked }), name, typed)));
    };
    let Ok(reference) = RawValue::from_string(with_text(reference, key, &own)) else { return Err(needed()) };
    let mut params = request.params;
    for (_, value) in params.0.iter_mut().filter(|(key, _)| key == "ref") {
        *value = &reference;
    }
    let params = params.to_json();
    Ok(match send_once(ctx, server, request.method, params, request.meta).await {
        Err(ChildError::Lacks { .. }) => result(&json!({"completion": {"values": [], "total": 0, "hasMore": false}})),
        reply => outcome(ctx, reply),
    })
}

/// Asks the child that offers it what it answers at once.
pub(super) async fn send_once(
    ctx: &CallContext,
    server: u16,
    method: Method,
    params: String,
    meta: Option<&RawValue>,
) -> Result<Outcome, ChildError> {
    Ok(match send(ctx, server, method, params, meta).await? {
        ChildReply::Result(bytes) => Outcome::Result(bytes),
        ChildReply::Error(bytes) => Outcome::RawError(bytes),
        ChildReply::Task(_) => failure("the server answers with a task, which only a tool call can become"),
        ChildReply::InputRequired(_) => failure("the server asks for input, which it must not do here"),
    })
}

/// Asks the child that offers it, which may need answers of the client first.
///
/// # Errors
/// The answer for a state that does not belong to this request.
async fn send_in_rounds(
    ctx: &CallContext,
    bound: Bound<'_>,
    method: Method,
    params: String,
    meta: Option<&RawValue>,
) -> Result<Result<Outcome, ChildError>, Outcome> {
    let opened = match (ctx.era, RawValue::from_string(params.clone())) {
        (Era::Modern, Ok(params)) => ctx.app.states.open(bound, Some(&params))?,
        _ => Opened::default(),
    };
    let resumed = match &opened.parked {
        Some(number) => Some(rounds::resume(ctx, number, opened.others.as_deref())?),
        None => None,
    };
    let call = child_call(ctx, method, opened.others.unwrap_or(params), meta);
    ctx.app.started_children().await;
    Ok(rounds::call(ctx, bound.server, call, resumed, bound).await)
}
