//! Who may call what: the compiled policy and the one function that reads it.

pub mod pattern;
mod ruling;

pub use ruling::{Basis, Judgement};

use crate::tool::Annotations;
use pattern::Pattern;

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

impl Access {
    /// The level's name in `permissions.yml`.
    pub fn name(self) -> &'static str {
        match self {
            Access::Allow => "allow",
            Access::RequireApproval => "require_approval",
            Access::Deny => "deny",
        }
    }
}

/// The compiled `permissions.yml`.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Flat rules; used when no role is active.
    pub rules: Rules,
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
    /// Its position in [`Policy::roles`].
    pub index: u16,
    /// Text for people.
    pub description: &'static str,
    /// Access to tools without an override.
    pub default_permission: Access,
    /// Overrides.
    pub overrides: Rules,
}

/// The rules of one mapping of the policy.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// Rules for one tool each, sorted by its exposed name.
    pub exact: &'static [Rule],
    /// Rules for every tool that fits, sorted as written.
    pub patterns: &'static [Rule],
}

/// One line of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Which tools it is for, as written.
    pub tools: &'static str,
    /// The same, read.
    pub pattern: Pattern<'static>,
    /// What they may be used for.
    pub access: Access,
    /// Line in `permissions.yml`, from 1; 0 where it is not known.
    pub line: u32,
}

/// The access to one tool: without a role, then in each role in the order of [`Policy::roles`]. `None` where nothing
/// decides, so that what holds for unlisted tools holds.
pub type Accesses = [Option<Access>];

impl Policy {
    /// The role called `name`.
    pub fn role(&self, name: &str) -> Option<&'static Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// What the build decides once for every tool it knows, and the runtime for every tool that a child server brings.
    pub fn accesses(&self, name: &str, annotations: Annotations, informs: bool) -> Vec<Option<Access>> {
        let columns = [None].into_iter().chain(self.roles.iter().map(Some));
        columns.map(|role| self.judge(role, name, annotations, informs).access()).collect()
    }
}

/// Decides the access of `role` (`None`: no role is active) to the tool with these `accesses`, where `unlisted` holds
/// for what no rule names while no role is active.
pub fn decide(accesses: &Accesses, role: Option<&Role>, unlisted: Access) -> Access {
    let column = role.map_or(0, |role| usize::from(role.index) + 1);
    // A column that is not there would be a fault of the build, and must open no door.
    accesses.get(column).copied().unwrap_or(Some(Access::Deny)).unwrap_or(unlisted)
}
