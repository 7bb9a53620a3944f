//! Who offers a resource or a prompt. That may wait for servers that start.

use std::time::Duration;

use evokore_catalog::name;
use tokio::time::timeout;

use super::address;
use super::request::{Target, is_there};
use crate::calls::CallContext;
use crate::calls::outcome::Outcome;
use crate::catalog::CATALOG;

/// What is not found is looked for again when the servers that are starting have listed theirs, at most so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds the child's resource or template at an address; may wait for servers that start.
///
/// # Errors
/// The server that the address names is not there.
pub(super) async fn locate(ctx: &CallContext, asked: &str) -> Result<Option<Target>, Outcome> {
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
    let _ = timeout(PATIENCE, children.all_listed()).await;
    Ok(find())
}

/// Finds the child's prompt of an exposed name; may wait for the server in whose territory the name lies.
pub(super) async fn locate_prompt(ctx: &CallContext, asked: &str) -> Result<Option<Target>, Outcome> {
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
