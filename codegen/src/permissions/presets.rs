//! The modes that are there without being configured. They judge by what tools do, since the names of other people's
//! tools say nothing for certain.

use evokore_catalog::permission::Access::{self, Allow, Deny, RequireApproval};
use evokore_catalog::permission::Rule;
use evokore_catalog::server::{OnDrift, OnHostile};

use super::modes::ModeRules;
use super::selector;

/// The mode that is active unless another is named.
pub(super) const DEFAULT_MODE: &str = "dev";

/// A rule: for which tools, and what they may be used for.
type Written = (&'static str, Access);

/// What only reads. `call_tool` does nothing by itself, and the tool that it calls is judged like any other.
const READS: &[Written] = &[("*[!readOnlyHint]", Deny), ("call_tool", Allow)];
/// What adds is done, what may change or delete something is asked about.
const CAREFUL: &[Written] = &[("*[destructiveHint]", RequireApproval), ("call_tool", Allow)];

/// Name, description and rules.
const PRESETS: [(&str, &str, &[Written]); 6] = [
    ("dev", "everything that the role may do", &[]),
    ("research", "reads, here and elsewhere, and changes nothing", READS),
    ("review", "reads what is to be judged, and changes nothing", READS),
    ("debug", "reads and adds, and is asked before anything is changed or deleted", CAREFUL),
    ("security-audit", "reads, changes nothing, and trusts no tool that is not what was looked at", READS),
    ("swarm", "several agents at once: everything that the role may do", &[]),
];

/// The presets under their names.
pub(super) fn all() -> impl Iterator<Item = (String, ModeRules)> {
    PRESETS.into_iter().map(|(name, description, rules)| {
        let rule = |(tools, access): &Written| {
            let pattern = selector::read(tools).ok()?;
            Some(Rule { tools, pattern, access: *access, line: 0 })
        };
        let is_strict = name == "security-audit";
        let mode = ModeRules {
            description: description.to_owned(),
            rules: rules.iter().filter_map(rule).collect(),
            on_drift: if is_strict { OnDrift::Block } else { OnDrift::default() },
            on_hostile: if is_strict { OnHostile::Block } else { OnHostile::default() },
        };
        (name.to_owned(), mode)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read() {
        for ((name, mode), (_, _, rules)) in all().zip(PRESETS) {
            assert_eq!(mode.rules.len(), rules.len(), "{name}");
            assert!(mode.rules.is_sorted_by_key(|rule| rule.tools), "{name}");
        }
        assert!(all().any(|(name, _)| name == DEFAULT_MODE));
    }
}
