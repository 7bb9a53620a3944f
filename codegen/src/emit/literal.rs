//! Rust source of the catalog's values.

use std::fmt::Debug;

use evokore_catalog::permission::pattern::Hint;
use evokore_catalog::permission::{Access, Mode, Policy, Role, Rule, Rules};
use evokore_catalog::profile::{ProfileEntry, Visibility};
use evokore_catalog::server::{OAuth, Rate, RateLimit, ServerSpec, ToolRule, Transport};
use evokore_catalog::skill::{CodeBlock, NextStep};
use evokore_catalog::tool::{Annotations, Source, Span};

/// A value as a Rust expression of its catalog type.
pub(super) trait Literal {
    /// The expression.
    fn literal(&self) -> String;
}

/// `&[…]` of the items' expressions.
pub(super) fn slice<T: Literal>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(Literal::literal).collect();
    format!("&[{}]", items.join(", "))
}

fn path(module: &str, value: impl Debug) -> String {
    format!("::evokore_catalog::{module}::{value:?}")
}

impl Literal for &str {
    fn literal(&self) -> String {
        format!("{self:?}")
    }
}

impl Literal for u64 {
    fn literal(&self) -> String {
        format!("{self:#x}")
    }
}

impl<A: Literal, B: Literal> Literal for (A, B) {
    fn literal(&self) -> String {
        format!("({}, {})", self.0.literal(), self.1.literal())
    }
}

impl<T: Literal> Literal for Option<T> {
    fn literal(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), |value| format!("Some({})", value.literal()))
    }
}

impl Literal for Span {
    fn literal(&self) -> String {
        path("tool", self)
    }
}

impl Literal for Annotations {
    fn literal(&self) -> String {
        path("tool", self)
    }
}

impl Literal for Source {
    fn literal(&self) -> String {
        path("tool::Source", self)
    }
}

impl Literal for Access {
    fn literal(&self) -> String {
        path("permission::Access", self)
    }
}

impl Literal for Hint {
    fn literal(&self) -> String {
        path("permission::pattern::Hint", self)
    }
}

impl Literal for bool {
    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for Rule {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::permission::Rule {{ tools: {:?}, pattern: \
             ::evokore_catalog::permission::pattern::Pattern {{ name: {:?}, hints: {} }}, access: {}, line: {} }}",
            self.tools,
            self.pattern.name,
            slice(self.pattern.hints),
            self.access.literal(),
            self.line,
        )
    }
}

impl Literal for Rules {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::permission::Rules {{ exact: {}, patterns: {} }}",
            slice(self.exact),
            slice(self.patterns)
        )
    }
}

impl Literal for Role {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::permission::Role {{ name: {:?}, index: {}, description: {:?}, default_permission: {}, \
             overrides: {} }}",
            self.name,
            self.index,
            self.description,
            self.default_permission.literal(),
            self.overrides.literal()
        )
    }
}

impl Literal for Mode {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::permission::Mode {{ name: {:?}, column: {}, description: {:?}, rules: {}, on_drift: {}, \
             on_hostile: {} }}",
            self.name,
            self.column,
            self.description,
            self.rules.literal(),
            path("server::OnDrift", self.on_drift),
            path("server::OnHostile", self.on_hostile)
        )
    }
}

impl Literal for Policy {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::permission::Policy {{ rules: {}, roles: {}, active_role: {:?}, modes: {}, \
             active_mode: {:?}, approvals: {} }}",
            self.rules.literal(),
            slice(self.roles),
            self.active_role,
            slice(self.modes),
            self.active_mode,
            path("permission::ApprovalMode", self.approvals)
        )
    }
}

impl Literal for ProfileEntry {
    fn literal(&self) -> String {
        let visible = match self.visible {
            Visibility::All => "All".to_owned(),
            Visibility::AllNative => "AllNative".to_owned(),
            Visibility::Named(names) => format!("Named({})", slice(names)),
        };
        let mode = self.schema_mode.map(|mode| path("profile::SchemaMode", mode));
        format!(
            "::evokore_catalog::profile::ProfileEntry {{ name: {:?}, description: {:?}, \
             visible: ::evokore_catalog::profile::Visibility::{visible}, bits: {}, mandatory_skills: {}, \
             activation: {}, schema_mode: {}, token_budget: {:?}, tokens: {} }}",
            self.name,
            self.description,
            slice(self.bits),
            slice(self.mandatory_skills),
            path("profile::Activation", self.activation),
            mode.map_or_else(|| "None".to_owned(), |mode| format!("Some({mode})")),
            self.token_budget,
            path("profile", self.tokens),
        )
    }
}

impl Literal for ServerSpec {
    fn literal(&self) -> String {
        let transport = match self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                format!("Stdio {{ command: {command:?}, args: {}, env: {}, cwd: {cwd:?} }}", slice(args), slice(env))
            }
            Transport::Http { url, headers, dialect } => {
                let dialect = path("server::Dialect", dialect);
                format!("Http {{ url: {url:?}, headers: {}, dialect: {dialect} }}", slice(headers))
            }
        };
        let members = [
            ("id", format!("{:?}", self.id)),
            ("transport", format!("::evokore_catalog::server::Transport::{transport}")),
            ("disabled", self.disabled.to_string()),
            ("optional", self.optional.to_string()),
            ("boot", path("server::Boot", self.boot)),
            ("limits", path("server", self.limits)),
            ("max_result_bytes", format!("{:?}", self.max_result_bytes)),
            ("max_result_tokens", format!("{:?}", self.max_result_tokens)),
            ("tools", slice(self.tools)),
            ("inherit_env", slice(self.inherit_env)),
            ("env_file", format!("{:?}", self.env_file)),
            ("oauth", self.oauth.literal()),
            ("rate_limit", self.rate_limit.literal()),
            ("lock", path("server::LockKind", self.lock)),
            ("on_drift", path("server::OnDrift", self.on_drift)),
            ("on_hostile", path("server::OnHostile", self.on_hostile)),
            ("description", format!("{:?}", self.description)),
        ];
        let members: Vec<String> = members.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!("::evokore_catalog::server::ServerSpec {{ {} }}", members.join(", "))
    }
}

impl Literal for ToolRule {
    fn literal(&self) -> String {
        path("server", self)
    }
}

impl Literal for Rate {
    fn literal(&self) -> String {
        path("server", self)
    }
}

impl Literal for OAuth {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::server::OAuth {{ client_id: {:?}, client_secret: {:?}, scopes: {}, redirect_port: {:?} }}",
            self.client_id,
            self.client_secret,
            slice(self.scopes),
            self.redirect_port,
        )
    }
}

impl Literal for RateLimit {
    fn literal(&self) -> String {
        format!(
            "::evokore_catalog::server::RateLimit {{ server: {}, tools: {} }}",
            self.server.literal(),
            slice(self.tools)
        )
    }
}

impl Literal for CodeBlock {
    fn literal(&self) -> String {
        path("skill", self)
    }
}

impl Literal for NextStep {
    fn literal(&self) -> String {
        path("skill", self)
    }
}
