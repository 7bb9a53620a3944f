//! `tasks/get`, `tasks/result`, `tasks/update`, `tasks/cancel` and `tasks/list`: each goes to the server whose task it
//! is, which its id says ([`crate::child::task`]). What a task is made by is a call, see [`crate::calls`].
//!
//! Who may call none of a server's tools is answered as if its tasks did not exist. A task is asked after in the revision
//! that its server speaks: the two have neither the same methods nor the same members, and a client that has an id has it
//! from a call of its own revision.

mod known;
mod list;

use evokore_catalog::members::Members;

pub use known::Known;

use crate::calls::outcome::{INVALID_PARAMS, Outcome};
use crate::calls::vetted;
use crate::calls::{CallContext, Era, bridge};
use crate::catalog::CATALOG;
use crate::child::task::{self, ID};
use crate::child::{ChildReply, Method};
use crate::offers::{self, Request, failure};

/// Characters of an unknown id that are quoted.
const QUOTED: usize = 200;

/// Answers one request. Always answers.
pub async fn ask(ctx: &CallContext, request: Request<'_>) -> Outcome {
    if ctx.era == Era::Modern && !ctx.client.as_ref().is_some_and(|client| client.takes_tasks()) {
        return Outcome::RawError(bridge::undeclared());
    }
    let answer = async {
        match request.method {
            Method::ListTasks => list::list(ctx, &request).await,
            _ => one(ctx, request).await,
        }
    };
    tokio::select! {
        biased;
        // Nobody hears it. Dropping the other half tells the child.
        () = ctx.cancelled.cancelled() => failure("the request was given up"),
        answer = answer => answer.unwrap_or_else(|outcome| outcome),
    }
}

/// What is about one task.
async fn one(ctx: &CallContext, request: Request<'_>) -> Result<Outcome, Outcome> {
    let asked = offers::text(&request.params, "taskId")?;
    let (server, own) = find(&asked).ok_or_else(|| unknown(&asked))?;
    if !offers::is_there(&ctx.app, server).await? {
        return Err(unknown(&asked));
    }
    let children = ctx.app.started_children().await;
    children.ready(server).await.map_err(|error| failure(&error.to_string()))?;
    match (ctx.era, children.speaks_modern(server)) {
        (Era::Handshake, Some(true)) => {
            return Err(other_revision(&asked, "the extension for tasks of 2026-07-28, and you those of 2025-11-25"));
        }
        (Era::Modern, Some(false)) => {
            return Err(other_revision(&asked, "the tasks of 2025-11-25, and you the extension of 2026-07-28"));
        }
        _ => {}
    }
    let (method, params) = (request.method, offers::with_text(request.params, "taskId", own));
    let id = CATALOG.servers.get(usize::from(server)).map_or("", |spec| spec.id);
    Ok(match offers::send(ctx, server, method, params, request.meta).await {
        Ok(ChildReply::Error(error)) => Outcome::RawError(error),
        Ok(ChildReply::Result(result) | ChildReply::InputRequired(result) | ChildReply::Task(result)) => {
            let is_task = matches!(method, Method::GetTask | Method::CancelTask);
            let result = if is_task { vetted::fit_for(ctx, result)? } else { result };
            if is_task && ctx.era == Era::Handshake {
                ctx.app.tasks.add(asked);
            }
            let result = if is_task { task::outward(id, result, ID) } else { result };
            Outcome::Result(task::related_outward(id, result))
        }
        Err(error) => failure(&error.to_string()),
    })
}

/// The server of a task and its own id for it, if there is such a server.
fn find(asked: &str) -> Option<(u16, &str)> {
    let (id, own) = task::parse(asked)?;
    let server = CATALOG.servers.iter().position(|spec| spec.id == id)?;
    Some((u16::try_from(server).ok()?, own))
}

fn unknown(asked: &str) -> Outcome {
    Outcome::invalid_params(format!("no task `{}`", short(asked)))
}

fn other_revision(asked: &str, spoken: &str) -> Outcome {
    let message = format!("task `{}` cannot be asked after: its server speaks {spoken}", short(asked));
    Outcome::Error { code: INVALID_PARAMS, message }
}

fn short(asked: &str) -> String {
    asked.chars().take(QUOTED).collect()
}

/// The text of an optional member; `None` where it is absent or null.
fn optional(params: &Members<'_>, key: &str) -> Result<Option<String>, Outcome> {
    match params.last(key).filter(|value| value.get() != "null") {
        None => Ok(None),
        Some(_) => offers::text(params, key).map(Some),
    }
}
