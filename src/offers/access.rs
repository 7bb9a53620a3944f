//! Whether the active role may know what a server offers besides tools. There are no rules for single resources or
//! prompts: whoever may use none of a server's tools does not see the rest of it either.

use evokore_catalog::name;
use evokore_catalog::permission::Access;

use crate::catalog::CATALOG;
use crate::listing::merged::Merged;
use crate::listing::projection;
use crate::settings::Settings;

/// Decides by the tools that are known of the server: one that is not denied opens it. With none known, by what the
/// role may do with tools that no rule names.
pub fn is_open(settings: &Settings, merged: &Merged, server: u16) -> bool {
    let mut tools = merged.of_server(server).peekable();
    if tools.peek().is_none() {
        return by_default(settings);
    }
    tools.any(|tool| projection::is_permitted(settings, tool))
}

/// Whether a server may turn out to be open once its tools are known.
pub(super) fn may_open(settings: &Settings, server: u16) -> bool {
    let rules = settings.role.map_or(CATALOG.policy.rules, |role| role.overrides);
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let id = ids.get(usize::from(server)).copied();
    let names_it = |(tool, access): &(&str, Access)| *access != Access::Deny && name::owner(tool, &ids) == id;
    by_default(settings) || rules.iter().any(names_it)
}

fn by_default(settings: &Settings) -> bool {
    settings.role.map_or(settings.unlisted, |role| role.default_permission) != Access::Deny
}
