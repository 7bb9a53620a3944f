//! Who may call what: the compiled policy and the one function that reads it.

/// What a role may do with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Calls pass.
    Allow,
    /// Calls need a person's approval.
    RequireApproval,
    /// Calls are refused and the tool is not shown.
    Deny,
}

/// The compiled `permissions.yml`.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Flat rules by exposed name, sorted by name; used when no role is active.
    pub rules: &'static [(&'static str, Access)],
    /// Roles, sorted by name.
    pub roles: &'static [Role],
    /// Role of sessions when the environment names none.
    pub active_role: Option<&'static str>,
}

/// One entry of `roles`.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// Name as written.
    pub name: &'static str,
    /// Text for people.
    pub description: &'static str,
    /// Access to tools without an override.
    pub default_permission: Access,
    /// Overrides by exposed name, sorted by name.
    pub overrides: &'static [(&'static str, Access)],
}

impl Policy {
    /// The role called `name`.
    pub fn role(&self, name: &str) -> Option<&'static Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// Decides the access of `role` (`None`: no role is active) to the tool exposed as `name`.
    ///
    /// Order: override of the role, default of the role; without a role the flat rule, then `unlisted`.
    /// A native tool that only informs is never locked out by a default, only by an explicit rule.
    pub fn decide(&self, role: Option<&Role>, name: &str, informs: bool, unlisted: Access) -> Access {
        let (explicit, default) = match role {
            Some(role) => (lookup(role.overrides, name), role.default_permission),
            None => (lookup(self.rules, name), unlisted),
        };
        explicit.unwrap_or(if informs { Access::Allow } else { default })
    }
}

fn lookup(rules: &[(&str, Access)], name: &str) -> Option<Access> {
    rules.binary_search_by(|(key, _)| (*key).cmp(name)).ok().map(|at| rules[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy {
        rules: &[("fs_move", Access::RequireApproval), ("fs_read", Access::Allow)],
        roles: &[Role {
            name: "readonly",
            description: "",
            default_permission: Access::Deny,
            overrides: &[("fs_read", Access::Allow), ("search_skills", Access::Deny)],
        }],
        active_role: None,
    };

    #[test]
    fn override_then_default_then_flat_rules() {
        let readonly = POLICY.role("readonly");
        for (role, name, informs, unlisted, expected) in [
            (readonly, "fs_read", false, Access::Allow, Access::Allow),
            (readonly, "fs_move", false, Access::Allow, Access::Deny),
            (readonly, "discover_tools", true, Access::Allow, Access::Allow),
            (readonly, "search_skills", true, Access::Allow, Access::Deny),
            (None, "fs_move", false, Access::Allow, Access::RequireApproval),
            (None, "other", false, Access::Allow, Access::Allow),
            (None, "other", false, Access::Deny, Access::Deny),
            (None, "discover_tools", true, Access::Deny, Access::Allow),
        ] {
            assert_eq!(POLICY.decide(role, name, informs, unlisted), expected, "{name} as {role:?}");
        }
    }
}
