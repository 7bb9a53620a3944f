//! A request about something of a child that is no tool, on its way to it.

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::Value;
use serde_json::value::RawValue;

use super::access;
use crate::app::App;
use crate::calls::CallContext;
use crate::calls::outcome::Outcome;
use crate::child::{ChildCall, ChildError, ChildReply, Method};
use crate::wire::envelope::INTERNAL_ERROR;

/// A request about what there is besides tools, as the bytes that came.
#[derive(Debug)]
pub struct Request<'a> {
    /// What is asked; not `tools/call`.
    pub method: Method,
    /// The members of `params`, `_meta` apart.
    pub params: Members<'a>,
    /// The `_meta` member for a child.
    pub meta: Option<&'a RawValue>,
}

/// A resource of a child: the server, and its own URI.
pub type Target = (u16, String);

/// Whether a server is up, or comes up, and may be known of.
///
/// # Errors
/// It may be known of, and is not there.
pub async fn is_there(app: &App, server: u16) -> Result<bool, Outcome> {
    if app.offered().shelf(server).is_open {
        return Ok(true);
    }
    if !access::may_open(&app.settings, server) {
        return Ok(false);
    }
    let children = app.started_children().await;
    children.ready(server).await.map_err(|error| failure(&error.to_string()))?;
    Ok(app.offered().shelf(server).is_open)
}

/// Asks server `server` what it is asked by `params`, a JSON object.
///
/// # Errors
/// Anything that kept the child from answering.
pub async fn send(
    ctx: &CallContext,
    server: u16,
    method: Method,
    params: String,
    meta: Option<&RawValue>,
) -> Result<ChildReply, ChildError> {
    let call = child_call(ctx, method, params, meta);
    ctx.app.started_children().await.call(server, call).await
}

pub(super) fn child_call(ctx: &CallContext, method: Method, params: String, meta: Option<&RawValue>) -> ChildCall {
    ChildCall {
        method,
        others: Some(params.into()),
        meta: meta.map(|meta| Bytes::copy_from_slice(meta.get().as_bytes())),
        caller: ctx.session.as_ref().map(|session| session.id()),
        client: ctx.client.clone(),
        progress: ctx.progress.clone(),
        cancelled: ctx.cancelled.clone(),
        ..ChildCall::default()
    }
}

/// The text under `key`.
///
/// # Errors
/// The answer for a request without it.
pub fn text(members: &Members<'_>, key: &str) -> Result<String, Outcome> {
    let text = members.last(key).and_then(|raw| serde_json::from_str(raw.get()).ok());
    text.ok_or_else(|| Outcome::invalid_params(format!("`params.{key}` must be a text")))
}

/// The members as an object, with another text under `key`.
pub fn with_text(members: Members<'_>, key: &str, text: &str) -> String {
    let Ok(text) = RawValue::from_string(Value::from(text).to_string()) else { return members.to_json() };
    let mut members = members;
    for (_, value) in members.0.iter_mut().filter(|(name, _)| name == key) {
        *value = &text;
    }
    members.to_json()
}

/// A failure that is the client program's to deal with.
pub fn failure(message: &str) -> Outcome {
    Outcome::Error { code: INTERNAL_ERROR, message: message.to_owned() }
}
