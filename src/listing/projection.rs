//! Which tools a session sees. The rule itself is shared with the token counts of the build.

use evokore_catalog::permission::Access;
use evokore_catalog::project;

use super::merged::{Merged, ToolRef};
use crate::settings::{DiscoveryMode, Settings};

/// The names a session has activated, sorted.
pub type Activated = [Box<str>];

/// Whether the list of a session with `activated` tools shows `tool`.
pub fn is_visible(settings: &Settings, tool: ToolRef<'_>, activated: &Activated) -> bool {
    is_permitted(settings, tool)
        && (settings.mode == DiscoveryMode::Legacy
            || is_always_visible(settings, tool)
            || activated.binary_search_by(|name| (**name).cmp(tool.name())).is_ok())
}

/// Whether the active role may know of `tool` at all: denied tools are neither listed, found nor described.
pub fn is_permitted(settings: &Settings, tool: ToolRef<'_>) -> bool {
    settings.access(tool.accesses()) != Access::Deny
}

fn is_always_visible(settings: &Settings, tool: ToolRef<'_>) -> bool {
    let profile = settings.profile.entry;
    match tool {
        ToolRef::Compiled(index, _) => project::always_visible_compiled(profile, index),
        ToolRef::Live(_, _, tool) => project::always_visible(profile, &tool.exposed, false),
    }
}

/// Whether swapping `old` for `new` changes what such a session's list holds of `server`.
pub fn differs(settings: &Settings, old: &Merged, new: &Merged, server: u16, activated: &Activated) -> bool {
    let visible = |merged: &Merged| -> Vec<Vec<u8>> {
        merged
            .of_server(server)
            .filter(|tool| tool.is_listable() && is_visible(settings, *tool, activated))
            .filter_map(|tool| tool.described().map(<[u8]>::to_vec))
            .collect()
    };
    visible(old) != visible(new)
}

#[cfg(test)]
mod tests {
    use crate::catalog::CATALOG;

    /// The rows that the build made are what the policy says.
    #[test]
    fn compiled_accesses_are_the_policy() {
        for (at, tool) in CATALOG.tools.iter().enumerate() {
            let informs = at < usize::from(CATALOG.natives) && tool.annotations.read_only == Some(true);
            assert_eq!(tool.accesses, CATALOG.policy.accesses(tool.name, tool.annotations, informs), "{}", tool.name);
        }
    }
}
