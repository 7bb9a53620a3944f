//! `tasks/list`: the lists of all servers that have one, in configured order. A page of ours is the next page of each
//! of them; its cursor says for each how to go on.

use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::optional;
use crate::calls::CallContext;
use crate::calls::outcome::Outcome;
use crate::catalog::CATALOG;
use crate::child::task::{self, ID};
use crate::child::{ChildReply, Method};
use crate::offers::{self, Request};

/// A server that does not answer within this costs its part of the list, not the whole.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a cursor of ours; with those of more servers than that has room for the list ends early.
const MAX_CURSOR: usize = 64 << 10;

/// What a server has told of its tasks.
#[derive(Default)]
struct Page {
    /// JSON, under the ids that clients know.
    tasks: Vec<String>,
    cursor: Option<String>,
}

/// Answers `tasks/list`. Servers that are not up have no tasks that could be listed.
///
/// # Errors
/// The answer for a cursor that is none of ours.
pub(super) async fn list(ctx: &CallContext, request: &Request<'_>) -> Result<Outcome, Outcome> {
    let pages = match optional(&request.params, "cursor")? {
        Some(cursor) => read(&cursor).ok_or_else(|| Outcome::invalid_params("`params.cursor` is none of ours"))?,
        None => (0u16..).zip(CATALOG.servers).map(|(server, _)| (server, None)).collect(),
    };
    let children = ctx.app.started_children().await;
    let offered = ctx.app.offered();
    let asked = pages.into_iter().filter(|(server, _)| offered.shelf(*server).is_open && children.lists_tasks(*server));
    // All at once; dropped with this.
    let mut answers = JoinSet::new();
    for (server, cursor) in asked {
        let (ctx, meta) = (ctx.clone(), request.meta.map(ToOwned::to_owned));
        answers.spawn(async move {
            let page = timeout(PATIENCE, page(&ctx, server, cursor, meta.as_deref())).await;
            (server, page.ok().flatten().unwrap_or_default())
        });
    }
    let mut pages = answers.join_all().await;
    pages.sort_unstable_by_key(|(server, _)| *server);
    let cursor = written(&pages);
    let tasks: Vec<String> = pages.into_iter().flat_map(|(_, page)| page.tasks).collect();
    let cursor = cursor.map(|cursor| format!(",\"nextCursor\":{}", json!(cursor))).unwrap_or_default();
    Ok(Outcome::Result(Bytes::from(format!("{{\"tasks\":[{}]{cursor}}}", tasks.join(",")))))
}

/// One page of one server; `None` if it cannot be had.
async fn page(ctx: &CallContext, server: u16, cursor: Option<String>, meta: Option<&RawValue>) -> Option<Page> {
    let params = cursor.map_or_else(|| "{}".to_owned(), |cursor| json!({ "cursor": cursor }).to_string());
    let Ok(ChildReply::Result(result)) = offers::send(ctx, server, Method::ListTasks, params, meta).await else {
        return None;
    };
    let id = CATALOG.servers.get(usize::from(server))?.id;
    let members = Members::parse(std::str::from_utf8(&result).ok()?).ok()?;
    let tasks: Vec<&RawValue> = serde_json::from_str(members.last("tasks")?.get()).ok()?;
    // One without an id is none that could be asked after.
    let tasks = tasks.into_iter().filter_map(|task| task::mapped(task.get(), ID, &|own| Some(task::exposed(id, own))));
    let cursor = optional(&members, "nextCursor").ok()?;
    Some(Page { tasks: tasks.collect(), cursor })
}

/// The cursor behind these pages: JSON, for each server that has more its id and its own cursor.
fn written(pages: &[(u16, Page)]) -> Option<String> {
    let more = pages
        .iter()
        .filter_map(|(server, page)| Some((CATALOG.servers.get(usize::from(*server))?.id, page.cursor.as_deref()?)));
    let more: Vec<(&str, &str)> = more.collect();
    let cursor = (!more.is_empty()).then(|| json!(more).to_string());
    cursor.filter(|cursor| cursor.len() <= MAX_CURSOR)
}

/// The servers that a cursor goes on with, and how.
fn read(cursor: &str) -> Option<Vec<(u16, Option<String>)>> {
    let more: Vec<(String, String)> = serde_json::from_str(cursor).ok().filter(|_| cursor.len() <= MAX_CURSOR)?;
    let mut pages: Vec<(u16, Option<String>)> = Vec::new();
    for (id, own) in more {
        let server = u16::try_from(CATALOG.servers.iter().position(|spec| spec.id == id)?).ok()?;
        // Each at most once, so that no cursor makes more work than the first page.
        if pages.iter().any(|(known, _)| *known == server) {
            return None;
        }
        pages.push((server, Some(own)));
    }
    Some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back() {
        let page = |cursor: Option<&str>| Page { tasks: Vec::new(), cursor: cursor.map(str::to_owned) };
        assert!(CATALOG.servers.len() > 1);
        let cursor = written(&[(0, page(Some("a\"b"))), (1, page(None))]).unwrap();
        assert_eq!(read(&cursor), Some(vec![(0, Some("a\"b".to_owned()))]));
        assert_eq!(written(&[(0, page(None)), (1, page(None))]), None);
        assert_eq!(written(&[(0, page(Some(&"x".repeat(MAX_CURSOR))))]), None);
        let id = CATALOG.servers[0].id;
        for cursor in ["", "7", "[7]", r#"[["nobody","x"]]"#, &format!(r#"[["{id}","a"],["{id}","b"]]"#)] {
            assert_eq!(read(cursor), None, "{cursor}");
        }
    }
}
