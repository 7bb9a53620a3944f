//! Whether the active role may know what a server offers besides tools. There are no rules for single resources or
//! prompts: whoever may use none of a server's tools does not see the rest of it either.

use evokore_catalog::name;
use evokore_catalog::permission::{Access, Rule, decide};
use evokore_catalog::tool::Annotations;

use crate::catalog::CATALOG;
use crate::listing::merged::{Merged, ToolRef};
use crate::listing::projection;
use crate::settings::Settings;

/// Decides by the tools that are known of the server: one that is not denied to the role opens it. With none known, by
/// what the role may do with tools that no rule names. A mode judges all that is offered like a tool that only reads.
pub fn is_open(settings: &Settings, merged: &Merged, server: u16) -> bool {
    let mut tools = merged.of_server(server).peekable();
    let is_known = |tool: ToolRef<'_>| {
        let by_role = decide(tool.accesses(), settings.role, None, settings.unlisted);
        by_role.max(projection::guarded(settings, tool)) != Access::Deny
    };
    let is_open = if tools.peek().is_none() { by_default(settings) } else { tools.any(is_known) };
    is_open && may_read(settings, server)
}

fn may_read(settings: &Settings, server: u16) -> bool {
    let Some(spec) = CATALOG.servers.get(usize::from(server)) else { return false };
    let reads = Annotations { read_only: Some(true), ..Annotations::default() };
    settings.steering.judge(&format!("{}_", spec.id), reads, false).access() != Some(Access::Deny)
}

/// Whether a server may turn out to be open once its tools are known.
pub(super) fn may_open(settings: &Settings, server: u16) -> bool {
    let rules = settings.role.map_or(&CATALOG.policy.rules, |role| &role.overrides);
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let Some(id) = ids.get(usize::from(server)).copied() else { return false };
    let prefix = format!("{id}_");
    let names_it = |rule: &Rule| match rule.pattern.is_exact() {
        true => name::owner(rule.tools, &ids) == Some(id),
        false => rule.pattern.may_start_with(&prefix),
    };
    let by_role = by_default(settings) || rules.iter().any(|rule| rule.access != Access::Deny && names_it(rule));
    by_role && may_read(settings, server)
}

fn by_default(settings: &Settings) -> bool {
    settings.role.map_or(settings.unlisted, |role| role.default_permission) != Access::Deny
}
