//! Which rule decides, and why.

use super::{Access, Mode, Policy, Role, Rule, Rules};
use crate::tool::Annotations;

/// What decides the access to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A rule for this one tool.
    Exact(&'static Rule),
    /// The rule of a pattern: of those that fit, none of which covers another, the strictest.
    Pattern(&'static Rule),
    /// It is a native tool that only informs.
    Informs,
    /// The role's `default_permission`.
    RoleDefault(Access),
    /// Nothing: what holds for unlisted tools, or whatever the role may do.
    Unlisted,
}

/// A decision with all that spoke for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What decides.
    pub basis: Basis,
    /// The rules that fit and do not decide, as written in the policy's order.
    pub outdone: Vec<&'static Rule>,
}

impl Judgement {
    /// The access; `None` if nothing decides.
    pub fn access(&self) -> Option<Access> {
        match self.basis {
            Basis::Exact(rule) | Basis::Pattern(rule) => Some(rule.access),
            Basis::Informs => Some(Access::Allow),
            Basis::RoleDefault(access) => Some(access),
            Basis::Unlisted => None,
        }
    }
}

impl Policy {
    /// Decides the access of `role` (`None`: no role is active) to the tool exposed as `name`.
    ///
    /// Order: the rule that names it; of the patterns that fit, the more particular ones, and of those the strictest;
    /// the role's default. With a role its `overrides` count, without one the flat rules. A native tool that only
    /// informs is never locked out by a pattern or a default, only by a rule that names it.
    pub fn judge(&self, role: Option<&Role>, name: &str, annotations: Annotations, informs: bool) -> Judgement {
        let rules = role.map_or(&self.rules, |role| &role.overrides);
        rules.judge(role.map(|role| role.default_permission), name, annotations, informs)
    }
}

impl Mode {
    /// Decides the most that this mode leaves of the tool exposed as `name`, in the order of [`Policy::judge`]; of what no
    /// rule is for it leaves everything.
    pub fn judge(&self, name: &str, annotations: Annotations, informs: bool) -> Judgement {
        self.rules.judge(None, name, annotations, informs)
    }
}

impl Rules {
    fn judge(&self, default: Option<Access>, name: &str, annotations: Annotations, informs: bool) -> Judgement {
        let exact = self.named(name);
        let mut fitting: Vec<&'static Rule> = match informs {
            true => Vec::new(),
            false => self.patterns.iter().filter(|rule| rule.pattern.matches(name, annotations)).collect(),
        };
        let basis = match (exact, deciding(&fitting)) {
            (Some(rule), _) => Basis::Exact(rule),
            (None, Some(rule)) => Basis::Pattern(rule),
            (None, None) if informs => Basis::Informs,
            (None, None) => default.map_or(Basis::Unlisted, Basis::RoleDefault),
        };
        fitting.retain(|rule| basis != Basis::Pattern(rule));
        Judgement { basis, outdone: fitting }
    }

    /// The rule that names the tool exposed as `name`.
    fn named(&self, name: &str) -> Option<&'static Rule> {
        self.exact.binary_search_by(|rule| rule.tools.cmp(name)).ok().map(|at| &self.exact[at])
    }

    /// All rules.
    pub fn iter(&self) -> impl Iterator<Item = &'static Rule> {
        self.exact.iter().chain(self.patterns)
    }
}

/// Of rules that fit, the strictest of those that cover none of the others; the first as written among equals.
fn deciding(fitting: &[&'static Rule]) -> Option<&'static Rule> {
    let is_particular = |rule: &&Rule| {
        let covers_less = |other: &&Rule| rule.pattern.covers(&other.pattern) && !other.pattern.covers(&rule.pattern);
        !fitting.iter().any(covers_less)
    };
    fitting.iter().copied().filter(is_particular).rev().max_by_key(|rule| rule.access)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{Hint, Pattern};
    use super::super::{Access::*, decide};
    use super::*;
    use crate::server::{OnDrift, OnHostile};

    const fn rule(tools: &'static str, access: Access) -> Rule {
        Rule { tools, pattern: Pattern { name: tools, hints: &[] }, access, line: 1 }
    }

    const READING: Rule = Rule {
        tools: "fs_*[readOnlyHint]",
        pattern: Pattern { name: "fs_*", hints: &[(Hint::ReadOnly, true)] },
        access: Allow,
        line: 1,
    };

    const POLICY: Policy = Policy {
        rules: Rules {
            exact: &[rule("fs_move", RequireApproval), rule("fs_read", Allow)],
            patterns: &[rule("*_delete_*", Deny), rule("db_*", Allow), rule("fs_*", Deny), READING],
        },
        roles: &[Role {
            name: "readonly",
            index: 0,
            description: "",
            default_permission: Deny,
            overrides: Rules {
                exact: &[rule("fs_read", Allow), rule("search_skills", Deny)],
                patterns: &[rule("*", RequireApproval)],
            },
        }],
        active_role: None,
        modes: &[Mode { name: "dev", column: 2, rules: Rules { exact: &[], patterns: &[] }, ..RESEARCH }, RESEARCH],
        active_mode: "dev",
        approvals: crate::permission::ApprovalMode::Operator,
    };

    const RESEARCH: Mode = Mode {
        name: "research",
        column: 3,
        description: "",
        rules: Rules {
            exact: &[rule("call_tool", Allow), rule("fs_read", RequireApproval), rule("get_skill_help", Deny)],
            patterns: &[Rule {
                tools: "*[!readOnlyHint]",
                pattern: Pattern { name: "*", hints: &[(Hint::ReadOnly, false)] },
                access: Deny,
                line: 0,
            }],
        },
        on_drift: OnDrift::Warn,
        on_hostile: OnHostile::Report,
    };

    #[test]
    fn exact_before_pattern_before_default() {
        let silent = Annotations::default();
        let reads = Annotations { read_only: Some(true), ..silent };
        let readonly = POLICY.role("readonly");
        for (role, name, annotations, informs, unlisted, expected) in [
            (readonly, "fs_read", silent, false, Allow, Allow),
            (readonly, "fs_move", silent, false, Allow, RequireApproval),
            (readonly, "discover_tools", reads, true, Allow, Allow),
            (readonly, "search_skills", reads, true, Allow, Deny),
            (None, "fs_move", silent, false, Allow, RequireApproval),
            (None, "fs_list", silent, false, Allow, Deny),
            (None, "fs_list", reads, false, Allow, Allow),
            // Neither pattern covers the other: the strictest counts.
            (None, "db_delete_row", silent, false, Allow, Deny),
            (None, "db_insert_row", silent, false, Deny, Allow),
            (None, "other", silent, false, Allow, Allow),
            (None, "other", silent, false, Deny, Deny),
            (None, "discover_tools", reads, true, Deny, Allow),
        ] {
            let accesses = POLICY.accesses(name, annotations, informs);
            assert_eq!(decide(&accesses, role, None, unlisted), expected, "{name} as {role:?}");
        }
    }

    #[test]
    fn a_mode_only_takes_away() {
        let silent = Annotations::default();
        let reads = Annotations { read_only: Some(true), ..silent };
        let readonly = POLICY.role("readonly");
        for (role, name, annotations, informs, unlisted, dev, research) in [
            (None, "other", silent, false, Allow, Allow, Deny),
            (None, "other", reads, false, Allow, Allow, Allow),
            (None, "other", reads, false, Deny, Deny, Deny),
            (None, "fs_move", silent, false, Allow, RequireApproval, Deny),
            (readonly, "fs_read", reads, false, Allow, Allow, RequireApproval),
            (readonly, "fs_list", reads, false, Allow, RequireApproval, RequireApproval),
            // Native tools: one that informs, two that do not, and two that are named.
            (None, "discover_tools", reads, true, Deny, Allow, Allow),
            (None, "refresh_skills", silent, false, Allow, Allow, Deny),
            (None, "call_tool", silent, false, Allow, Allow, Allow),
            (None, "get_skill_help", reads, true, Allow, Allow, Deny),
            (readonly, "search_skills", reads, true, Allow, Deny, Deny),
        ] {
            let accesses = POLICY.accesses(name, annotations, informs);
            let decided = ["dev", "research"].map(|mode| decide(&accesses, role, POLICY.mode(mode), unlisted));
            assert_eq!(decided, [dev, research], "{name} as {role:?}");
        }
    }

    #[test]
    fn what_was_outdone_is_told() {
        let judgement =
            POLICY.judge(None, "fs_read", Annotations { read_only: Some(true), ..Default::default() }, false);
        assert_eq!(judgement.basis, Basis::Exact(&POLICY.rules.exact[1]));
        let outdone: Vec<_> = judgement.outdone.iter().map(|rule| rule.tools).collect();
        assert_eq!(outdone, ["fs_*", "fs_*[readOnlyHint]"]);
    }

    #[test]
    fn a_column_that_is_missing_opens_no_door() {
        assert_eq!(decide(&[None], POLICY.role("readonly"), None, Allow), Deny);
        assert_eq!(decide(&[None, None], None, POLICY.mode("research"), Allow), Deny);
    }
}
