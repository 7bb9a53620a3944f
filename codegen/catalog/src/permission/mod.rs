//! Who may call what: the compiled policy and the one function that reads it.

pub mod pattern;
mod ruling;

pub use ruling::{Basis, Judgement};

use crate::server::{OnDrift, OnHostile};
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

/// What lets a call be made that needs approval, where the client cannot ask its person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// The word of a person in a terminal: the token of the refusal alone opens nothing.
    #[default]
    Operator,
    /// The token alone, so that whoever was refused may insist.
    Token,
}

impl ApprovalMode {
    /// The modes by their names in `permissions.yml`.
    pub const NAMES: [(&'static str, ApprovalMode); 2] =
        [("operator", ApprovalMode::Operator), ("token", ApprovalMode::Token)];

    /// The mode's name in `permissions.yml`.
    pub fn name(self) -> &'static str {
        match self {
            ApprovalMode::Operator => "operator",
            ApprovalMode::Token => "token",
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
    /// Modes, sorted by name.
    pub modes: &'static [Mode],
    /// Mode when the environment names none.
    pub active_mode: &'static str,
    /// What lets a call be made that needs approval.
    pub approvals: ApprovalMode,
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

/// A way of working, which leaves of what the role may do at most so much.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// Name as written.
    pub name: &'static str,
    /// Its place in a row of [`Accesses`].
    pub column: u16,
    /// Text for people.
    pub description: &'static str,
    /// The most that may be done with a tool; what no rule is for is left to the role.
    pub rules: Rules,
    /// What becomes of tools that are not what their lock says, at least.
    pub on_drift: OnDrift,
    /// What becomes of tools with hostile content, at least.
    pub on_hostile: OnHostile,
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

/// The access to one tool: without a role, then in each role in the order of [`Policy::roles`], then the most that each
/// mode leaves in the order of [`Policy::modes`]. `None` where nothing decides, so that what holds for unlisted tools
/// holds, or the mode has no say.
pub type Accesses = [Option<Access>];

impl Policy {
    /// The role called `name`.
    pub fn role(&self, name: &str) -> Option<&'static Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The mode called `name`.
    pub fn mode(&self, name: &str) -> Option<&'static Mode> {
        self.modes.iter().find(|mode| mode.name == name)
    }

    /// What the build decides once for every tool it knows, and the runtime for every tool that a child server brings.
    pub fn accesses(&self, name: &str, annotations: Annotations, informs: bool) -> Vec<Option<Access>> {
        let roles = [None].into_iter().chain(self.roles.iter().map(Some));
        let by_role = roles.map(|role| self.judge(role, name, annotations, informs).access());
        by_role.chain(self.modes.iter().map(|mode| mode.judge(name, annotations, informs).access())).collect()
    }
}

/// Decides the access to the tool with these `accesses`: the stricter of what `role` may do (`None`: no role is active,
/// and `unlisted` holds for what no rule names) and of what `mode` leaves of it (`None`: all).
pub fn decide(accesses: &Accesses, role: Option<&Role>, mode: Option<&Mode>, unlisted: Access) -> Access {
    // A column that is not there would be a fault of the build, and must open no door.
    let column = |at: usize| accesses.get(at).copied().unwrap_or(Some(Access::Deny));
    let by_role = column(role.map_or(0, |role| usize::from(role.index) + 1)).unwrap_or(unlisted);
    let left = mode.and_then(|mode| column(mode.column.into())).unwrap_or(Access::Allow);
    by_role.max(left)
}
