//! Subscriptions to resources: those of handshake-era sessions by requests, those of 2026-07-28 by `subscriptions/listen`.

use bytes::Bytes;
use serde_json::json;

use super::answer::{no_method, not_found, outcome};
use super::ask::send_once;
use super::locate::locate;
use super::request::{Request, Target, failure, text};
use crate::calls::CallContext;
use crate::calls::outcome::Outcome;
use crate::child::Method;
use crate::resources;

pub(super) async fn subscribe(ctx: &CallContext, request: &Request<'_>) -> Result<Outcome, Outcome> {
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

pub(super) async fn unsubscribe(ctx: &CallContext, request: &Request<'_>) -> Result<Outcome, Outcome> {
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
    match outcome(ctx, send_once(ctx, target.0, Method::Subscribe, params, None).await) {
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
        let _ = send_once(ctx, target.0, Method::Unsubscribe, params, None).await;
    }
}
