//! `resources/read`, `resources/subscribe`, `resources/unsubscribe`, `prompts/get` and `completion/complete`: our own
//! entries are answered here, those of children by their server.
//!
//! A resource is found by its address ([`super::address`]), or by the child's own URI, since links inside the results
//! of tools carry that: the first server in configured order that lists it answers, else the first with a template for
//! it. What the active role may not know of is refused like what does not exist.

use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use evokore_catalog::name;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::address;
use super::request::{Request, Target, failure, is_there, send, text, with_text};
use crate::app::App;
use crate::calls::outcome::{INVALID_PARAMS, Outcome};
use crate::calls::{CallContext, Era};
use crate::catalog::CATALOG;
use crate::child::{ChildError, ChildReply, Method};
use crate::wire::envelope::METHOD_NOT_FOUND;
use crate::{prompts, resources, results};

/// What is not found is looked for again when the servers that are starting have listed theirs, at most so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Code of an unknown resource in the handshake era (2025-11-25, server/resources § Error Handling); 2026-07-28 has
/// [`INVALID_PARAMS`] for it.
const RESOURCE_NOT_FOUND: i64 = -32002;

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
    Ok(match send(ctx, target.0, request.method, params, request.meta).await {
        Err(ChildError::Lacks { .. }) => not_found(ctx, &asked),
        Ok(ChildReply::Result(bytes)) if target.1 != asked => Outcome::Result(readdressed(bytes, &target.1, &asked)),
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
    let params = with_text(request.params, "name", &own);
    Ok(match send(ctx, server, request.method, params, request.meta).await {
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
    Ok(match send(ctx, server, request.method, params, request.meta).await {
        Err(ChildError::Lacks { .. }) => result(&json!({"completion": {"values": [], "total": 0, "hasMore": false}})),
        reply => outcome(ctx, reply),
    })
}

async fn subscribe(ctx: &CallContext, request: &Request<'_>) -> Result<Outcome, Outcome> {
    let asked = text(&request.params, "uri")?;
    let Some(session) = &ctx.session else { return Err(no_method("resources/subscribe")) };
    if !session.has_room_to_watch(&asked) {
        return Err(failure("this session watches too many resources; unsubscribe from one first"));
    }
    let target = watch(ctx, &asked).await?;
    if let Some(again) = session.watch(&asked, target) {
        ctx.app.children().unwatch(again.0, &again.1);
    }
    Ok(Outcome::Result(Bytes::from_static(b"{}")))
}

async fn unsubscribe(ctx: &CallContext, request: &Request<'_>) -> Result<Outcome, Outcome> {
    let asked = text(&request.params, "uri")?;
    let Some(session) = &ctx.session else { return Err(no_method("resources/unsubscribe")) };
    if let Some(target) = session.unwatch(&asked) {
        unwatch(ctx, target).await;
    }
    Ok(Outcome::Result(Bytes::from_static(b"{}")))
}

/// Sees to it that changes of the resource are told of; `None` for one of our own.
///
/// # Errors
/// The answer for a resource that does not exist or cannot be watched.
pub async fn watch(ctx: &CallContext, asked: &str) -> Result<Option<Target>, Outcome> {
    if resources::read(&ctx.app, asked).is_some() {
        return Ok(None);
    }
    let target = locate(ctx, asked).await?.ok_or_else(|| not_found(ctx, asked))?;
    let params = json!({"uri": target.1}).to_string();
    match outcome(ctx, send(ctx, target.0, Method::Subscribe, params, None).await) {
        Outcome::Result(_) => {
            ctx.app.children().watch(target.0, &target.1);
            Ok(Some(target))
        }
        refused => Err(refused),
    }
}

/// The resource is not watched any more; the child hears of it when nobody else does. Its answer matters to no one.
pub async fn unwatch(ctx: &CallContext, target: Target) {
    if ctx.app.children().unwatch(target.0, &target.1) {
        let params = json!({"uri": target.1}).to_string();
        let _ = send(ctx, target.0, Method::Unsubscribe, params, None).await;
    }
}

/// Finds the child's resource or template at an address; may wait for servers that start.
///
/// # Errors
/// The server that the address names is not there.
async fn locate(ctx: &CallContext, asked: &str) -> Result<Option<Target>, Outcome> {
    if asked.len() > address::MAX_ADDRESS {
        return Ok(None);
    }
    let app = &ctx.app;
    if let Some((server, uri)) = address::parse(asked) {
        return Ok(is_there(app, server).await?.then(|| (server, uri.to_owned())));
    }
    let find = || app.offered().lister(asked).map(|server| (server, asked.to_owned()));
    if let Some(found) = find() {
        return Ok(Some(found));
    }
    let children = app.started_children().await;
    let all = async {
        for server in (0u16..).take(CATALOG.servers.len()) {
            children.listed(server).await;
        }
    };
    let _ = timeout(PATIENCE, all).await;
    Ok(find())
}

/// Finds the child's prompt of an exposed name; may wait for the server in whose territory the name lies.
async fn locate_prompt(ctx: &CallContext, asked: &str) -> Result<Option<Target>, Outcome> {
    let app = &ctx.app;
    let find = || app.offered().prompt(asked).map(|(server, own)| (server, own.to_owned()));
    if let Some(found) = find() {
        return Ok(Some(found));
    }
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let owner = name::owner(asked, &ids).and_then(|id| ids.iter().position(|known| *known == id));
    if let Some(server) = owner.and_then(|at| u16::try_from(at).ok())
        && is_there(app, server).await?
    {
        let children = app.started_children().await;
        let _ = timeout(PATIENCE, children.listed(server)).await;
    }
    Ok(find())
}

/// A reply as the client of this era reads it.
fn outcome(ctx: &CallContext, reply: Result<ChildReply, ChildError>) -> Outcome {
    match reply {
        Ok(ChildReply::Result(bytes)) => Outcome::Result(bytes),
        Ok(ChildReply::Task(_)) => failure("the server answers with a task, which only a tool call can become"),
        // Who speaks that revision answers by asking again.
        Ok(ChildReply::InputRequired(bytes)) => match ctx.era {
            Era::Handshake => {
                failure("the server asks for input before it answers, which only a tool call can give it")
            }
            Era::Modern => Outcome::Result(bytes),
        },
        Ok(ChildReply::Error(bytes)) => match ctx.era {
            Era::Handshake => Outcome::RawError(bytes),
            Era::Modern => Outcome::RawError(renumbered(bytes)),
        },
        Err(error @ ChildError::Lacks { .. }) => Outcome::Error { code: METHOD_NOT_FOUND, message: error.to_string() },
        // The text names the server.
        Err(error) => failure(&error.to_string()),
    }
}

/// An error with the code that 2026-07-28 has for an unknown resource in place of that of the revisions before it.
fn renumbered(error: Bytes) -> Bytes {
    let parsed = std::str::from_utf8(&error).ok().and_then(|text| Members::parse(text).ok());
    let (Some(mut members), Ok(code)) = (parsed, RawValue::from_string(INVALID_PARAMS.to_string())) else {
        return error;
    };
    let old = RESOURCE_NOT_FOUND.to_string();
    let mut is_old = false;
    for (_, value) in members.0.iter_mut().filter(|(key, value)| key == "code" && value.get() == old) {
        *value = &code;
        is_old = true;
    }
    if is_old { members.to_json().into() } else { error }
}

/// The result of a child's `resources/read` with the address that was asked for where its contents carry the child's
/// own URI: clients compare the two. Contents under other URIs stay as they are.
fn readdressed(result: Bytes, own: &str, asked: &str) -> Bytes {
    readdress(&result, own, asked).map_or(result, Bytes::from)
}

fn readdress(result: &[u8], own: &str, asked: &str) -> Option<String> {
    let mut members = Members::parse(std::str::from_utf8(result).ok()?).ok()?;
    let contents: Vec<&RawValue> = serde_json::from_str(members.last("contents")?.get()).ok()?;
    let asked = RawValue::from_string(Value::from(asked).to_string()).ok()?;
    let is_own = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).is_ok_and(|uri| uri == own);
    let mut any = false;
    let contents: Vec<String> = contents
        .into_iter()
        .map(|content| {
            let Ok(mut members) = Members::parse(content.get()) else { return content.get().to_owned() };
            for (_, value) in members.0.iter_mut().filter(|(key, value)| key == "uri" && is_own(value)) {
                *value = &asked;
                any = true;
            }
            members.to_json()
        })
        .collect();
    if !any {
        return None;
    }
    let contents = RawValue::from_string(format!("[{}]", contents.join(","))).ok()?;
    for (_, value) in members.0.iter_mut().filter(|(key, _)| key == "contents") {
        *value = &contents;
    }
    Some(members.to_json())
}

fn result(value: &Value) -> Outcome {
    Outcome::Result(value.to_string().into())
}

fn no_method(method: &str) -> Outcome {
    Outcome::Error { code: METHOD_NOT_FOUND, message: format!("revision 2026-07-28 has no `{method}`") }
}

fn not_found(ctx: &CallContext, asked: &str) -> Outcome {
    let shown: String = asked.chars().take(500).collect();
    missing(ctx, format!("no resource `{shown}`"))
}

/// The answer for a resource that is not there.
fn missing(ctx: &CallContext, message: String) -> Outcome {
    let code = match ctx.era {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Modern => INVALID_PARAMS,
    };
    Outcome::Error { code, message }
}

fn unknown_prompt(app: &App, asked: &str) -> Outcome {
    // Its text is the one for every unknown prompt.
    match prompts::get(app, asked, &Map::new()) {
        Ok(own) => result(&own),
        Err(message) => Outcome::invalid_params(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_that_was_asked_for_is_mapped_back() {
        let change = |result: &'static str| {
            readdressed(Bytes::from_static(result.as_bytes()), "x://a", "evokore://child/s/x://a")
        };
        for (given, expected) in [
            (
                r#"{"contents":[{"uri":"x:\/\/a","text":"x://a","z":1.10},{"uri":"x://b"}],"_meta":{"n": 1.0}}"#,
                r#"{"contents":[{"uri":"evokore://child/s/x://a","text":"x://a","z":1.10},{"uri":"x://b"}],"_meta":{"n": 1.0}}"#,
            ),
            (r#"{"contents":[{"uri": "x://b"},7]}"#, r#"{"contents":[{"uri": "x://b"},7]}"#),
            (r#"{"contents": 7}"#, r#"{"contents": 7}"#),
        ] {
            assert_eq!(change(given), expected);
        }
    }

    #[test]
    fn an_unknown_resource_has_the_code_of_its_era() {
        for (given, expected) in [
            (r#"{"code":-32002,"message":"m","data":{"a":1.0}}"#, r#"{"code":-32602,"message":"m","data":{"a":1.0}}"#),
            (r#"{"code": -32003}"#, r#"{"code": -32003}"#),
            ("7", "7"),
        ] {
            assert_eq!(renumbered(Bytes::from_static(given.as_bytes())), expected);
        }
    }
}
