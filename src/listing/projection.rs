//! Which tools a session sees. The rule itself is shared with the token counts of the build.

use evokore_catalog::lock::drift::Drift;
use evokore_catalog::permission::Access;
use evokore_catalog::project;

use super::merged::{Advertised, Merged, ToolRef};
use crate::settings::{DiscoveryMode, Settings};

/// What a session's list holds besides what its profile shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revealed {
    /// Tools of these names, sorted.
    Named(Vec<Box<str>>),
    /// Every tool.
    All,
}

impl Revealed {
    /// Nothing.
    pub const NONE: Revealed = Revealed::Named(Vec::new());

    fn holds(&self, name: &str) -> bool {
        match self {
            Revealed::Named(names) => names.binary_search_by(|known| (**known).cmp(name)).is_ok(),
            Revealed::All => true,
        }
    }
}

/// Whether the list of a session with the `revealed` tools shows `tool`.
pub fn is_visible(settings: &Settings, tool: ToolRef<'_>, revealed: &Revealed) -> bool {
    is_permitted(settings, tool)
        && (settings.mode == DiscoveryMode::Legacy || is_always_visible(settings, tool) || revealed.holds(tool.name()))
}

/// Whether `tool` may be known of at all: denied and withheld tools are neither listed, found nor described.
pub fn is_permitted(settings: &Settings, tool: ToolRef<'_>) -> bool {
    access(settings, tool) != Access::Deny
}

/// What may be done with `tool`: the stricter of what the policy says to the active role, and of what may be done with a
/// tool that is not what was looked at.
pub fn access(settings: &Settings, tool: ToolRef<'_>) -> Access {
    settings.access(tool.accesses()).max(guarded(settings, tool))
}

/// `tool` with the argument for an approval token, if it needs approval: no other tool is a byte longer for it.
pub fn advertised<'a>(settings: &Settings, tool: ToolRef<'a>) -> Option<&'a Advertised> {
    (access(settings, tool) == Access::RequireApproval).then(|| tool.advertised()).flatten()
}

/// The complete definition of `tool` as it is told.
pub fn described<'a>(settings: &Settings, tool: ToolRef<'a>) -> Option<&'a [u8]> {
    advertised(settings, tool).map(|advertised| &*advertised.described).or_else(|| tool.described())
}

/// The most that anybody may do with `tool`, since it is or is not what was looked at.
pub fn guarded(settings: &Settings, tool: ToolRef<'_>) -> Access {
    match tool {
        ToolRef::Compiled(_, entry) => {
            tool.server().map_or(Access::Allow, |it| settings.guard(it).access(Drift::None, entry.is_dangerous))
        }
        ToolRef::Live(server, _, tool) => settings.guard(server).access(tool.drift, tool.is_dangerous),
    }
}

fn is_always_visible(settings: &Settings, tool: ToolRef<'_>) -> bool {
    let profile = settings.profile.entry;
    match tool {
        ToolRef::Compiled(index, _) => project::always_visible_compiled(profile, index),
        ToolRef::Live(_, _, tool) => project::always_visible(profile, &tool.exposed, false),
    }
}

/// Whether swapping `old` for `new` changes what such a session's list holds of `server`.
pub fn differs(settings: &Settings, old: &Merged, new: &Merged, server: u16, revealed: &Revealed) -> bool {
    let visible = |merged: &Merged| -> Vec<Vec<u8>> {
        merged
            .of_server(server)
            .filter(|tool| tool.is_listable() && is_visible(settings, *tool, revealed))
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
