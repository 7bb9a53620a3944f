//! Which rule of the policy decides on a tool, by its name alone.

use evokore_catalog::permission::{Access, Basis, Judgement, Rule};
use evokore_catalog::tool::Annotations;

use crate::catalog::{CATALOG, TOOL_BY_NAME};
use crate::settings::Settings;

/// What decides on the tool exposed as `name`, in a few words. The hints of a tool that the build does not know are not
/// believed, here as where calls are judged.
pub(super) fn deciding(settings: &Settings, name: &str) -> String {
    let index = TOOL_BY_NAME.get(name).copied();
    let hints = index.map_or_else(Annotations::default, |index| CATALOG.tools[usize::from(index)].annotations);
    let informs = index.is_some_and(|index| index < CATALOG.natives) && hints.read_only == Some(true);
    let by_role = CATALOG.policy.judge(settings.role, name, hints, informs);
    let left = settings.steering.judge(name, hints, informs);
    if left.access().unwrap_or(Access::Allow) > by_role.access().unwrap_or(settings.unlisted) {
        return format!("{} of mode {}", basis(&left), settings.steering.name);
    }
    basis(&by_role)
}

/// What decides, in a few words.
pub(crate) fn basis(judgement: &Judgement) -> String {
    match judgement.basis {
        Basis::Exact(rule) | Basis::Pattern(rule) => written(rule),
        Basis::Informs => "only informs".to_owned(),
        Basis::RoleDefault(_) => "default_permission".to_owned(),
        Basis::Unlisted => "no rule".to_owned(),
    }
}

/// A rule and where it stands.
pub(crate) fn written(rule: &Rule) -> String {
    match rule.line {
        // The place of a rule inside `{…}` is not known.
        0 => format!("`{}` (permissions.yml)", rule.tools),
        line => format!("`{}` (permissions.yml:{line})", rule.tools),
    }
}
