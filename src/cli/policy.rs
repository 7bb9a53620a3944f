//! `evokore policy`: who may do what, and by which line of `permissions.yml`.

use evokore_catalog::permission::{Access, Basis, Judgement, Role, Rule};
use evokore_catalog::server::LockKind;
use evokore_catalog::suggest;
use evokore_catalog::tool::Annotations;
use serde_json::{Value, json};

use super::arguments::{PolicyArguments, PolicyCommand};
use super::output::{Align, Output, Style, columns, count, one_line};
use super::process;
use crate::catalog::{CATALOG, TOOL_BY_NAME};
use crate::error::{Exit, Failure};
use crate::listing::merged::{Merged, ToolRef};
use crate::settings::Settings;

/// Runs the command.
///
/// # Errors
/// There is no such role, no tool can have the name, or a variable means nothing.
pub(crate) fn run(arguments: &PolicyArguments, out: Output) -> Result<Exit, Failure> {
    let mut settings = process::settings(None)?;
    if let Some(name) = &arguments.role {
        settings.role = Some(role(name)?);
    }
    match &arguments.command {
        None if arguments.json => out.json(&as_json(&settings))?,
        None => out.print(&as_text(&settings, out))?,
        Some(PolicyCommand::Explain { tool }) => {
            let ruling = Ruling::of_name(&settings, tool)?;
            match arguments.json {
                true => out.json(&ruling.as_json(&settings))?,
                false => out.print(&ruling.explained(&settings, out))?,
            }
        }
    }
    Ok(Exit::Ok)
}

fn role(name: &str) -> Result<&'static Role, Failure> {
    CATALOG.policy.role(name).ok_or_else(|| {
        let known: Vec<_> = CATALOG.policy.roles.iter().map(|role| format!("`{}`", role.name)).collect();
        let hint = match suggest::nearest(name, CATALOG.policy.roles.iter().map(|role| role.name)) {
            _ if known.is_empty() => "`permissions.yml` has no roles".to_owned(),
            Some(near) => format!("did you mean `{near}`? Roles: {}", known.join(", ")),
            None => format!("roles: {}", known.join(", ")),
        };
        Failure::usage(format!("there is no role `{}`", one_line(name, 80))).hint(hint)
    })
}

/// The decision on one tool.
struct Ruling<'a> {
    tool: &'a str,
    server: &'a str,
    /// Whether the build knows the tool, and so its hints.
    known: bool,
    judgement: Judgement,
    access: Access,
}

impl<'a> Ruling<'a> {
    fn new(
        settings: &Settings,
        tool: &'a str,
        server: &'a str,
        hints: Annotations,
        informs: bool,
        known: bool,
    ) -> Self {
        let judgement = CATALOG.policy.judge(settings.role, tool, hints, informs);
        let access = judgement.access().unwrap_or(settings.unlisted);
        Ruling { tool, server, known, judgement, access }
    }

    fn of(settings: &Settings, tool: ToolRef<'a>) -> Ruling<'a> {
        let informs = tool.server().is_none() && tool.annotations().read_only == Some(true);
        Ruling::new(settings, tool.name(), tool.server_id(), tool.annotations(), informs, true)
    }

    /// The decision on a tool that the build may not know, if its name is that of a server's tool.
    fn of_name(settings: &Settings, tool: &'a str) -> Result<Ruling<'a>, Failure> {
        if let Some(index) = TOOL_BY_NAME.get(tool) {
            let index = usize::from(*index);
            return Ok(Ruling::of(settings, ToolRef::Compiled(index, &CATALOG.tools[index])));
        }
        let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
        let unlocked = |id: &&str| CATALOG.servers.iter().any(|spec| spec.id == *id && spec.lock == LockKind::None);
        match evokore_catalog::name::owner(tool, &ids).filter(unlocked) {
            Some(server) => Ok(Ruling::new(settings, tool, server, Annotations::default(), false, false)),
            None => {
                let near = suggest::nearest(tool, CATALOG.tools.iter().map(|tool| tool.name));
                let hint = near.map_or_else(
                    || "`evokore policy` lists all; a server's tool is `<server>_<tool>`".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                Err(Failure::usage(format!("no tool is called `{}`", one_line(tool, 80))).hint(hint))
            }
        }
    }

    /// What decides, in a few words.
    fn basis(&self) -> String {
        match self.judgement.basis {
            Basis::Exact(rule) | Basis::Pattern(rule) => written(rule),
            Basis::Informs => "only informs".to_owned(),
            Basis::RoleDefault(_) => "default_permission".to_owned(),
            Basis::Unlisted => "no rule".to_owned(),
        }
    }

    fn as_json(&self, settings: &Settings) -> Value {
        let rule = |rule: &Rule| json!({ "rule": rule.tools, "line": rule.line, "access": rule.access.name() });
        let (by, decisive) = match self.judgement.basis {
            Basis::Exact(found) => ("rule", Some(rule(found))),
            Basis::Pattern(found) => ("pattern", Some(rule(found))),
            Basis::Informs => ("informs", None),
            Basis::RoleDefault(_) => ("roleDefault", None),
            Basis::Unlisted => ("unlisted", None),
        };
        json!({
            "tool": self.tool,
            "server": self.server,
            "role": settings.role.map(|role| role.name),
            "access": self.access.name(),
            "by": by,
            "rule": decisive,
            "outdone": self.judgement.outdone.iter().map(|found| rule(found)).collect::<Vec<_>>(),
        })
    }

    fn explained(&self, settings: &Settings, out: Output) -> String {
        let who = settings.role.map_or_else(|| "without a role".to_owned(), |role| format!("as role `{}`", role.name));
        let tool = one_line(self.tool, 80);
        let mut text = format!("{} {who}: {}\n", out.paint(Style::Bold, &tool), painted(self.access, out));
        let place = settings.role.map_or("`rules`".to_owned(), |role| format!("`overrides` of `{}`", role.name));
        text.push_str(&match self.judgement.basis {
            Basis::Exact(rule) => format!("  {} names it, in {place}\n", written(rule)),
            Basis::Pattern(rule) => format!("  {} fits it, in {place}; no rule names it\n", written(rule)),
            Basis::Informs => {
                format!("  no rule in {place} names it, and a native tool that only informs is allowed then\n")
            }
            Basis::RoleDefault(_) => format!("  nothing in {place} fits it; this is the role's `default_permission`\n"),
            Basis::Unlisted => {
                format!("  nothing in {place} fits it; `EVOKORE_SECURITY_DEFAULT_DENY` decides on such tools\n")
            }
        });
        for rule in &self.judgement.outdone {
            let access = rule.access.name();
            text.push_str(&format!(
                "  {} ({access}) fits it too, but what is more particular or stricter counts\n",
                written(rule)
            ));
        }
        if !self.known {
            text.push_str(
                "  the build does not know the tool, so it is taken for one without hints; a lock of its server tells more\n",
            );
        }
        text
    }
}

/// A rule and where it stands.
fn written(rule: &Rule) -> String {
    match rule.line {
        // The place of a rule inside `{…}` is not known.
        0 => format!("`{}` (permissions.yml)", rule.tools),
        line => format!("`{}` (permissions.yml:{line})", rule.tools),
    }
}

fn painted(access: Access, out: Output) -> String {
    let style = match access {
        Access::Allow => Style::Good,
        Access::RequireApproval => Style::Warning,
        Access::Deny => Style::Bad,
    };
    out.paint(style, access.name())
}

fn as_json(settings: &Settings) -> Value {
    let merged = Merged::default();
    json!({
        "role": settings.role.map(|role| role.name),
        "unlisted": settings.role.map_or(settings.unlisted, |role| role.default_permission).name(),
        "roles": CATALOG.policy.roles.iter().map(|role| role.name).collect::<Vec<_>>(),
        "tools": merged.iter().map(|tool| Ruling::of(settings, tool).as_json(settings)).collect::<Vec<_>>(),
    })
}

fn as_text(settings: &Settings, out: Output) -> String {
    let mut text = match settings.role {
        Some(role) if role.description.is_empty() => format!("role {}", out.paint(Style::Bold, role.name)),
        Some(role) => format!("role {}: {}", out.paint(Style::Bold, role.name), one_line(role.description, 200)),
        None => out.paint(Style::Bold, "no role"),
    };
    let merged = Merged::default();
    let rulings: Vec<Ruling<'_>> = merged.iter().map(|tool| Ruling::of(settings, tool)).collect();
    let of = |access| rulings.iter().filter(|ruling| ruling.access == access).count();
    text.push_str(&format!(
        "\n{}: {} allowed, {} need approval, {} denied\n\n",
        count(rulings.len(), "tool"),
        of(Access::Allow),
        of(Access::RequireApproval),
        of(Access::Deny)
    ));
    let mut rows = vec![["tool", "server", "access", "by"].map(str::to_owned).to_vec()];
    rows.extend(rulings.iter().map(|ruling| {
        vec![ruling.tool.to_owned(), ruling.server.to_owned(), ruling.access.name().to_owned(), ruling.basis()]
    }));
    for (at, line) in columns("  ", &[Align::Left; 4], &rows).iter().enumerate() {
        text.push_str(&if at == 0 { out.paint(Style::Bold, line) } else { line.clone() });
        text.push('\n');
    }
    let default = settings.role.map_or(settings.unlisted, |role| role.default_permission);
    text.push_str(&format!("\nany other tool: {}\n", painted(default, out)));
    if settings.role.is_none() && !CATALOG.policy.roles.is_empty() {
        let roles: Vec<&str> = CATALOG.policy.roles.iter().map(|role| role.name).collect();
        text.push_str(&format!("roles: {} (`--role`, `EVOKORE_ROLE`)\n", roles.join(", ")));
    }
    text
}
