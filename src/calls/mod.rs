//! `tools/call`: one straight line from the name to the answer.
//!
//! ```text
//! route ─ native  → native::call
//!       ─ proxied → permission? → rate limit? → cooldown? → approval? → child → outcome
//! ```
//!
//! The order of the gates is the security story: a call that is not permitted learns nothing more, and a proxied call
//! reaches a child server only through [`call`]. No person is asked about a call that is refused all the same. What a gate hands out (a token
//! of a bucket, the consent of a person) is spent when the last one is passed: a call that is refused costs nothing. What the model should act on is a result with `isError`; what the
//! client program did wrong is a JSON-RPC error.

pub mod approval;
mod asker;
pub(crate) mod bridge;
pub mod cooldown;
mod deferred;
mod gates;
mod judged;
pub mod outcome;
pub mod park;
pub mod rate_limit;
pub(crate) mod rounds;
pub mod route;
pub mod state;
mod through;
pub(crate) mod vetted;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use evokore_catalog::members::Members;
use evokore_catalog::permission::Access;
use evokore_catalog::profile::SchemaMode;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::audit::{Audited, By};
use crate::catalog::{CATALOG, NativeTool};
use crate::child::{ChildCall, Client, Method, ProgressSender, Taker};
use crate::listing::merged::ToolRef;
use crate::listing::projection;
use crate::native;
use crate::results::{self, Limit, Page};
use crate::session::Session;
use deferred::Expected;
use gates::Gates;
use judged::Judged;
use outcome::Outcome;
use route::Route;
use state::{Bound, Opened};

/// In place of the index of a server, for the tools of our own.
const NATIVE: u16 = u16::MAX;

/// Which revision of the protocol a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: `initialize`, then a session.
    Handshake,
    /// 2026-07-28: every request stands alone.
    Modern,
}

/// What surrounds a call.
#[derive(Clone)]
pub struct CallContext {
    /// The process.
    pub app: Arc<App>,
    /// The client's session; `None` in the modern era.
    pub session: Option<Arc<Session>>,
    /// The era of the request.
    pub era: Era,
    /// Whom the child may ask while it works.
    pub client: Option<Arc<dyn Client>>,
    /// Where progress of the child goes, if the client asked for it.
    pub progress: Option<ProgressSender>,
    /// Cancelled when the client gives up.
    pub cancelled: CancellationToken,
}

impl CallContext {
    /// A call of the modern era that nobody can be asked about, watched or given up.
    pub fn alone(app: Arc<App>) -> CallContext {
        CallContext {
            app,
            session: None,
            era: Era::Modern,
            client: None,
            progress: None,
            cancelled: CancellationToken::new(),
        }
    }
}

/// A `tools/call` request, as the bytes that came.
#[derive(Debug, Clone, Copy)]
pub struct CallRequest<'a> {
    /// Exposed name.
    pub name: &'a str,
    /// The `arguments` member: a JSON object, or absent.
    pub arguments: Option<&'a RawValue>,
    /// Further members of `params`, as an object; for the child.
    pub others: Option<&'a RawValue>,
    /// The `_meta` member for the child, our own keys and the progress token removed.
    pub meta: Option<&'a RawValue>,
    /// The approval token of `_meta`.
    pub token: Option<&'a str>,
}

/// Answers one call. Always answers.
pub async fn call(ctx: &CallContext, request: CallRequest<'_>) -> Outcome {
    match answer(ctx, request).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

async fn answer(ctx: &CallContext, request: CallRequest<'_>) -> Result<Outcome, Outcome> {
    match find(ctx, request).await? {
        Route::Native(NativeTool::CallTool, access) => {
            let inner = through::unwrap(request.arguments)?;
            if results::is_uri(&inner.name) {
                let page = ctx.app.results.page(&inner.name);
                return page.map(Page::into_outcome).ok_or_else(|| Outcome::error_text(&results::unknown(&inner.name)));
            }
            let token = inner.token.as_deref().or(request.token);
            let request = CallRequest { name: &inner.name, arguments: inner.arguments.as_deref(), token, ..request };
            // The name is an argument here, so a wrong one is the model's to mend.
            match find(ctx, request).await.map_err(Outcome::for_the_model)? {
                Route::Native(NativeTool::CallTool, _) => Err(Outcome::error_text("call_tool cannot call itself")),
                // What a person wants to be asked about on this way is asked about, whatever it leads to.
                route => dispatch(ctx, request, route.at_least(access)).await.map_err(Outcome::for_the_model),
            }
        }
        route => dispatch(ctx, request, route).await,
    }
}

/// Finds who answers. That may wait for a server to boot; not once the client has given up.
async fn find(ctx: &CallContext, request: CallRequest<'_>) -> Result<Route, Outcome> {
    tokio::select! {
        biased;
        () = ctx.cancelled.cancelled() => Err(Outcome::error_text("the call was given up")),
        route = route::route(&ctx.app, request.name) => route.inspect_err(|_| noted(ctx, request)),
    }
}

/// Notes that nobody answers a call, or may not.
fn noted(ctx: &CallContext, request: CallRequest<'_>) {
    let merged = ctx.app.merged();
    let tool = merged.find(request.name).filter(|tool| !projection::is_permitted(&ctx.app.settings, *tool));
    let by = match tool {
        None => By::Nobody,
        Some(tool) if ctx.app.settings.access(tool.accesses()) == Access::Deny => By::Policy,
        Some(_) => By::Guard,
    };
    let call = Audited::new(&ctx.app.audit, ctx.session.as_ref().map(|session| session.id()), request.name);
    let call = match tool {
        Some(tool) => call.of(tool.server_id(), Access::Deny),
        None => call,
    };
    call.refused(by, request.arguments.map(|arguments| arguments.get().as_bytes()));
}

async fn dispatch(ctx: &CallContext, request: CallRequest<'_>, route: Route) -> Result<Outcome, Outcome> {
    let caller = ctx.session.as_ref().map(|session| session.id());
    let mut audited = Audited::new(&ctx.app.audit, caller, request.name);
    match route {
        Route::Native(tool, access) => {
            let (token, given) = approval::take_token(request.arguments);
            let given = given.map(|given| Bytes::from(given.into_owned()));
            if access == Access::RequireApproval {
                let bound = Bound {
                    server: NATIVE,
                    what: request.name,
                    arguments: given.as_deref().and_then(|given| std::str::from_utf8(given).ok()),
                    definition: None,
                    needs_approval: true,
                };
                let token = token.as_deref().or(request.token);
                gates::pass_native(ctx, bound, token, request.others)
                    .await
                    .inspect_err(|_| audited.refused(By::Approval, given.as_deref()))?;
            }
            audited.allowed(given.as_ref());
            let arguments = through::object(given.as_deref().and_then(|given| std::str::from_utf8(given).ok()))
                .inspect_err(|_| audited.failed("the arguments are no object"))?;
            let outcome = native::call(tool, &arguments, ctx).await.into_outcome();
            audited.answered(&outcome);
            Ok(outcome)
        }
        Route::Proxied { server, original, access, repeatable, needs_task } => {
            let mut audited = audited.of(CATALOG.servers[usize::from(server)].id, access);
            let judged = Judged::of(&ctx.app, server, request.name);
            let (token, arguments) = approval::take_token(request.arguments);
            let arguments =
                arguments.map(|text| expected(ctx, request.name, |it| it.restore(&text)).map_or(text, Cow::Owned));
            if access == Access::Deny {
                return Err(route::unknown(&ctx.app, request.name));
            }
            let arguments = arguments.map(|arguments| Bytes::from(arguments.into_owned()));
            let bound = Bound {
                server,
                what: request.name,
                arguments: arguments.as_deref().and_then(|arguments| std::str::from_utf8(arguments).ok()),
                definition: judged.definition(),
                needs_approval: access == Access::RequireApproval,
            };
            let mut opened = match ctx.era {
                Era::Modern => ctx
                    .app
                    .states
                    .open(bound, request.others)
                    .inspect_err(|_| audited.refused(By::State, arguments.as_deref()))?,
                Era::Handshake => Opened::default(),
            };
            let cooldowns = ctx.session.as_ref().map_or(&ctx.app.cooldowns, |session| session.cooldowns());
            let resumed = match &opened.parked {
                // It has passed the gates, and is under way.
                Some(number) => {
                    let resumed = rounds::resume(ctx, number, opened.others.as_deref());
                    Some(resumed.inspect_err(|_| audited.refused(By::State, arguments.as_deref()))?)
                }
                None => {
                    let (token, reason) = (token.as_deref().or(request.token), judged.reason());
                    let gates = Gates { ctx, original: &original, caller, token, reason, cooldowns, audited: &audited };
                    gates.pass(bound, &mut opened).await?;
                    None
                }
            };
            audited.allowed(arguments.as_ref());
            if let Some(session) = &ctx.session {
                session.touch(request.name);
            }
            let limit = ctx.app.settings.result_tokens(&CATALOG.servers[usize::from(server)], &original);
            let call = ChildCall {
                method: Method::CallTool,
                tool: original,
                arguments: arguments.clone(),
                others: opened.others.map(Bytes::from).or_else(|| request.others.map(bytes)),
                meta: request.meta.map(bytes),
                progress: ctx.progress.clone(),
                client: ctx.client.clone(),
                caller,
                taker: taker(ctx, request.others, needs_task),
                repeatable,
                still: judged.still(&ctx.app, request.name),
                cancelled: ctx.cancelled.clone(),
            };
            let reply = rounds::call(ctx, server, call, resumed, bound).await;
            match &reply {
                Ok(outcome) => audited.answered(outcome),
                Err(error) => audited.failed(error.kind()),
            }
            let reply = match reply {
                Ok(Outcome::Result(bytes)) => Outcome::Result(previewed(&ctx.app, request.name, limit, bytes)),
                Ok(outcome) => outcome,
                // The text names the server.
                Err(error) => {
                    let text = error.to_string();
                    if error.is_of_the_server() {
                        cooldowns.note(server, request.name, bound.arguments, &text, cooldown::after(server));
                    }
                    return Ok(Outcome::error_text(&text));
                }
            };
            Ok(expected(ctx, request.name, |it| it.explained(request.name, arguments.as_deref(), &reply))
                .unwrap_or(reply))
        }
    }
}

/// Who can do with a task in place of the result of a call; `needed` says that the tool gives nothing else.
fn taker(ctx: &CallContext, others: Option<&RawValue>, needed: bool) -> Taker {
    let asks = |others: &RawValue| {
        Members::parse(others.get()).is_ok_and(|it| it.last("task").is_some_and(|task| task.get().starts_with('{')))
    };
    match ctx.era {
        Era::Handshake if others.is_some_and(asks) => Taker::Handshake,
        _ if needed => Taker::Us,
        Era::Modern if ctx.client.as_ref().is_some_and(|client| client.takes_tasks()) => Taker::Modern,
        _ => Taker::Nobody,
    }
}

/// What `look` makes of the arguments that tool `name` expects, for a client that is shown placeholders for them.
fn expected<T>(ctx: &CallContext, name: &str, look: impl FnOnce(Expected<'_>) -> Option<T>) -> Option<T> {
    let settings = &ctx.app.settings;
    let mode = ctx.session.as_ref().map_or(settings.schema_mode, |session| session.schema_mode(settings));
    if mode != SchemaMode::Deferred {
        return None;
    }
    let merged = ctx.app.merged();
    look(Expected::read(std::str::from_utf8(merged.find(name)?.described()?).ok()?)?)
}

/// The result of tool `name`, or a preview where it has more than `limit` tokens.
fn previewed(app: &App, name: &str, limit: Option<u32>, result: Bytes) -> Bytes {
    let Some(tokens) = limit else { return result };
    let merged = app.merged();
    let definition = merged.find(name).and_then(ToolRef::described).and_then(|json| std::str::from_utf8(json).ok());
    let has_schema =
        || definition.and_then(|json| Members::parse(json).ok()).is_some_and(|it| it.get("outputSchema").is_some());
    let limit = Limit { tool: name, tokens, has_schema: &has_schema };
    results::preview(&result, limit, &app.results).unwrap_or(result)
}

fn bytes(raw: &RawValue) -> Bytes {
    Bytes::copy_from_slice(raw.get().as_bytes())
}
