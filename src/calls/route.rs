//! From an exposed name to who answers. Names are looked up, never split.

use evokore_catalog::lock::drift::Drift;
use evokore_catalog::name;
use evokore_catalog::permission::Access;
use evokore_catalog::tool::{Annotations, Source};

use super::outcome::Outcome;
use crate::app::App;
use crate::catalog::{CATALOG, NativeTool};
use crate::child::ChildError;
use crate::listing::merged::{Merged, ToolRef, needs_task};
use crate::listing::projection;
use evokore_catalog::suggest;

/// Who answers a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// A native tool, and what the active role may do with it.
    Native(NativeTool, Access),
    /// A tool of a child server.
    Proxied {
        /// Index of the server.
        server: u16,
        /// The child's own name for the tool.
        original: String,
        /// What the active role may do with it.
        access: Access,
        /// The running server itself says that a second call does no harm.
        repeatable: bool,
        /// The tool is called as a task or not at all (2025-11-25, `execution.taskSupport`).
        needs_task: bool,
    },
}

impl Route {
    /// The same with no more than `least` allowed.
    #[must_use]
    pub(super) fn at_least(mut self, least: Access) -> Route {
        match &mut self {
            Route::Native(_, access) | Route::Proxied { access, .. } => *access = least.max(*access),
        }
        self
    }
}

/// Finds who answers `name`. A name in the territory of a server that still boots waits for that server, so a client
/// that knows the name from last time need not wait for the list.
///
/// # Errors
/// The answer for a name that nobody has, or that the role may not know of.
pub async fn route(app: &App, name: &str) -> Result<Route, Outcome> {
    match lookup(app, &app.merged(), name) {
        // What the call comes to depends on the list of the server as it is, not as it was locked or before it slept.
        Some(Ok(Route::Proxied { server, .. })) if app.settings.guard(server).is_strict() => {
            let boot = app.children().ready(server).await;
            return match (boot, lookup(app, &app.merged(), name)) {
                (Err(reason), Some(Ok(_))) => Err(not_now(name, &reason)),
                (_, Some(route)) => route,
                (_, None) => Err(unknown(app, name)),
            };
        }
        Some(route) => return route,
        None => {}
    }
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    if let Some(server) = name::owner(name, &ids).and_then(|id| ids.iter().position(|known| *known == id)) {
        let server = u16::try_from(server).unwrap_or(u16::MAX);
        let boot = app.children().ready(server).await;
        if let Some(route) = lookup(app, &app.merged(), name) {
            return route;
        }
        if let Err(reason) = boot {
            return Err(not_now(name, &reason));
        }
    }
    Err(unknown(app, name))
}

/// The tool called `name`, if there is one that the role may know of.
fn lookup(app: &App, merged: &Merged, name: &str) -> Option<Result<Route, Outcome>> {
    let settings = &app.settings;
    let Some(tool) = merged.find(name) else {
        let gone = merged.gone(name).filter(|tool| projection::is_permitted(settings, *tool))?;
        let (id, original) = (gone.server_id(), gone.original());
        return Some(Err(Outcome::error_text(&format!(
            "server `{id}` has no tool `{original}` any more, which it had when it was locked; discover_tools finds what it has"
        ))));
    };
    // A denied tool is as if it were not there, so that its refusal is that of any name, whatever its server does.
    if settings.access(tool.accesses()) == Access::Deny {
        return None;
    }
    let access = projection::access(settings, tool);
    if access == Access::Deny {
        return Some(Err(withheld(tool)));
    }
    Some(Ok(match tool {
        ToolRef::Compiled(_, entry) => match entry.source {
            Source::Native(index) => Route::Native(NativeTool::from_index(index)?, access),
            Source::Proxied { server, original } => {
                let needs_task = tool.described().is_some_and(needs_task);
                Route::Proxied { server, original: original.to_owned(), access, repeatable: false, needs_task }
            }
        },
        ToolRef::Live(server, _, tool) => Route::Proxied {
            server,
            original: tool.original.to_string(),
            access,
            repeatable: is_repeatable(tool.annotations),
            needs_task: tool.needs_task,
        },
    }))
}

fn not_now(name: &str, reason: &ChildError) -> Outcome {
    Outcome::error_text(&format!("`{name}` cannot be called now: {reason}"))
}

/// The answer for a tool that is not what was looked at. The model is told, since the user knows what to do.
fn withheld(tool: ToolRef<'_>) -> Outcome {
    let (name, id) = (tool.name(), tool.server_id());
    let why = match tool {
        ToolRef::Live(_, _, tool) if tool.drift != Drift::None => "is not what was locked",
        _ => "has hostile content in its definition",
    };
    Outcome::error_text(&format!(
        "`{name}` is withheld, because it {why}. The user can look at it with `evokore lock {id} --check`"
    ))
}

/// A tool that changes nothing, or nothing more the second time.
fn is_repeatable(annotations: Annotations) -> bool {
    annotations.read_only == Some(true) || annotations.idempotent == Some(true)
}

/// The answer for a name that nobody has. A denied tool gets the same one, so that the refusal reveals nothing.
pub fn unknown(app: &App, name: &str) -> Outcome {
    let merged = app.merged();
    let known = merged.iter().filter(|tool| projection::is_permitted(&app.settings, *tool)).map(ToolRef::name);
    let shown: String = name.chars().take(name::MAX_NAME * 2).collect();
    Outcome::invalid_params(match suggest::nearest(&shown, known) {
        Some(near) => format!("unknown tool `{shown}`; did you mean `{near}`? discover_tools searches all tools"),
        None => format!("unknown tool `{shown}`; discover_tools searches all tools"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_tool_does_not_loosen_what_may_be_done_with_it() {
        for (own, least, expected) in [
            (Access::Allow, Access::Allow, Access::Allow),
            (Access::Allow, Access::RequireApproval, Access::RequireApproval),
            (Access::RequireApproval, Access::Allow, Access::RequireApproval),
        ] {
            let native = Route::Native(NativeTool::SearchSkills, own).at_least(least);
            assert_eq!(native, Route::Native(NativeTool::SearchSkills, expected));
            let proxied = |access| {
                let original = "t".to_owned();
                Route::Proxied { server: 0, original, access, repeatable: false, needs_task: false }
            };
            assert_eq!(proxied(own).at_least(least), proxied(expected));
        }
    }
}
