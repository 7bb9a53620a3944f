//! `evokore policy`: who may do what, and by which line of `permissions.yml`.

use evokore_catalog::markdown::cut;
use evokore_catalog::permission::{Access, ApprovalMode, Basis, Judgement, Mode, Role, Rule};
use evokore_catalog::server::LockKind;
use evokore_catalog::suggest;
use evokore_catalog::tool::Annotations;
use serde_json::{Value, json};

use super::arguments::{PolicyArguments, PolicyCommand};
use super::output::{Align, Output, Style, columns, count, one_line};
use super::process;
use crate::audit::rule::{self, written};
use crate::catalog::{CATALOG, TOOL_BY_NAME};
use crate::env_vars;
use crate::error::{Exit, Failure};
use crate::listing::merged::{Merged, ToolRef};
use crate::settings::Settings;

/// Runs the command.
///
/// # Errors
/// There is no such role or mode, no tool can have the name, or a variable means nothing.
pub(crate) fn run(arguments: &PolicyArguments, out: Output) -> Result<Exit, Failure> {
    // What the options say takes the place of what the environment says, be it right or wrong.
    let mut chosen = Vec::new();
    if let Some(name) = &arguments.role {
        chosen.push((env_vars::ROLE, role(name)?.name.to_owned()));
    }
    if let Some(name) = &arguments.mode {
        chosen.push((env_vars::STEERING_MODE, mode(name)?.name.to_owned()));
    }
    let settings = process::resolved(&super::profile::with(chosen))?;
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

fn mode(name: &str) -> Result<&'static Mode, Failure> {
    CATALOG.policy.mode(name).ok_or_else(|| {
        let known = || CATALOG.policy.modes.iter().map(|mode| mode.name);
        let list = known().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let near = suggest::nearest(name, known()).map(|near| format!("did you mean `{near}`? "));
        let failure = Failure::usage(format!("there is no mode `{}`", one_line(name, 80)));
        failure.hint(format!("{}modes: {list}", near.unwrap_or_default()))
    })
}

/// The decision on one tool.
struct Ruling<'a> {
    tool: &'a str,
    server: &'a str,
    /// Whether the build knows the tool, and so its hints.
    known: bool,
    /// What the role may do, and why.
    judgement: Judgement,
    by_role: Access,
    /// What the mode leaves of it, and why.
    left: Judgement,
    /// The mode and that, where it is less than what the role may do.
    mode: Option<(&'static Mode, Judgement)>,
    access: Access,
}

/// Longest reason in the table, so that its lines have at most 120 columns with names of common length.
const REASON: usize = 44;
/// Columns of a line of the table.
const WIDTH: usize = 120;

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
        let by_role = judgement.access().unwrap_or(settings.unlisted);
        let left = settings.steering.judge(tool, hints, informs);
        let access = by_role.max(left.access().unwrap_or(Access::Allow));
        let mode = Some((settings.steering, left.clone())).filter(|_| access != by_role);
        Ruling { tool, server, known, judgement, by_role, left, mode, access }
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
        if let Some((mode, judgement)) = &self.mode {
            return match judgement.basis {
                Basis::Exact(rule) | Basis::Pattern(rule) => format!("{}, mode {}", of_mode(rule), mode.name),
                _ => format!("mode {}", mode.name),
            };
        }
        rule::basis(&self.judgement)
    }

    fn as_json(&self, settings: &Settings) -> Value {
        let reason = |judgement: &Judgement| {
            let (by, found) = match judgement.basis {
                Basis::Exact(found) => ("rule", Some(as_value(found))),
                Basis::Pattern(found) => ("pattern", Some(as_value(found))),
                Basis::Informs => ("informs", None),
                Basis::RoleDefault(_) => ("roleDefault", None),
                Basis::Unlisted => ("unlisted", None),
            };
            let outdone: Vec<Value> = judgement.outdone.iter().map(|found| as_value(found)).collect();
            (by, found, outdone)
        };
        let (of, decisive) = match &self.mode {
            Some((_, judgement)) => ("mode", judgement),
            None => ("role", &self.judgement),
        };
        let ((by, rule, outdone), (role_by, role_rule, role_outdone)) = (reason(decisive), reason(&self.judgement));
        let (_, mode_rule, _) = reason(&self.left);
        json!({
            "tool": self.tool,
            "server": self.server,
            "hintsKnown": self.known,
            "role": settings.role.map(|role| role.name),
            "mode": settings.steering.name,
            "access": self.access.name(),
            "decidedBy": of,
            "by": by,
            "rule": rule,
            "outdone": outdone,
            "ofRole": {"access": self.by_role.name(), "by": role_by, "rule": role_rule, "outdone": role_outdone},
            "ofMode": {"access": self.left.access().unwrap_or(Access::Allow).name(), "rule": mode_rule},
        })
    }

    fn explained(&self, settings: &Settings, out: Output) -> String {
        let who = settings.role.map_or_else(|| "without a role".to_owned(), |role| format!("as role `{}`", role.name));
        let tool = one_line(self.tool, 80);
        let mode = settings.steering;
        let head = format!("{} {who} in mode `{}`", out.paint(Style::Bold, &tool), mode.name);
        let mut text = format!("{head}: {}\n", painted(self.access, out));
        if let Some((mode, judgement)) = &self.mode {
            text.push_str(&self.left_by(mode, judgement));
            text.push_str(&format!("  without the mode it is {}:\n", painted(self.by_role, out)));
        }
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
        if self.mode.is_none() {
            text.push_str("  the mode takes nothing of that away\n");
        }
        if !self.known {
            text.push_str(
                "  the build does not know the tool, so it is taken for one without hints; a lock of its server tells more\n",
            );
        }
        text
    }

    /// What a mode leaves, and by which rule.
    fn left_by(&self, mode: &Mode, judgement: &Judgement) -> String {
        let fits = match judgement.basis {
            Basis::Exact(rule) => format!("{} names it", of_mode(rule)),
            // Nobody has vouched for its hints, so a rule on hints says nothing about the tool itself.
            Basis::Pattern(rule) if !self.known && !rule.pattern.hints.is_empty() => {
                "nobody has vouched for its hints, so it counts as a tool that changes things".to_owned()
            }
            Basis::Pattern(rule) => format!("{} fits it", of_mode(rule)),
            // Only rules take anything away.
            Basis::Informs | Basis::RoleDefault(_) | Basis::Unlisted => "it is the mode's".to_owned(),
        };
        format!("  the mode leaves no more: {fits} ({})\n", one_line(mode.description, 120))
    }
}

fn as_value(rule: &Rule) -> Value {
    json!({ "rule": rule.tools, "line": rule.line, "access": rule.access.name() })
}

/// A rule of a mode, and where it stands; those of the presets stand nowhere.
fn of_mode(rule: &Rule) -> String {
    if rule.line == 0 { format!("`{}`", rule.tools) } else { written(rule) }
}

/// A rule and where it stands.
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
    let rulings: Vec<Ruling<'_>> = merged.iter().map(|tool| Ruling::of(settings, tool)).collect();
    let of = |access| rulings.iter().filter(|ruling| ruling.access == access).count();
    json!({
        "role": settings.role.map(|role| role.name),
        "roleDescription": settings.role.map(|role| role.description),
        "mode": settings.steering.name,
        "modeDescription": settings.steering.description,
        "counts": {"allow": of(Access::Allow), "require_approval": of(Access::RequireApproval), "deny": of(Access::Deny)},
        "others": others(settings).name(),
        "approvals": CATALOG.policy.approvals.name(),
        "unlisted": settings.role.map_or(settings.unlisted, |role| role.default_permission).name(),
        "roles": CATALOG.policy.roles.iter().map(|role| role.name).collect::<Vec<_>>(),
        "modes": CATALOG.policy.modes.iter().map(|mode| mode.name).collect::<Vec<_>>(),
        "tools": rulings.iter().map(|ruling| ruling.as_json(settings)).collect::<Vec<_>>(),
    })
}

/// The access to a tool that no rule fits, and that the build does not know.
fn others(settings: &Settings) -> Access {
    let default = settings.role.map_or(settings.unlisted, |role| role.default_permission);
    default.max(settings.steering.judge("", Annotations::default(), false).access().unwrap_or(Access::Allow))
}

fn as_text(settings: &Settings, out: Output) -> String {
    let mut text = match settings.role {
        Some(role) if role.description.is_empty() => format!("role {}", out.paint(Style::Bold, role.name)),
        Some(role) => format!("role {}: {}", out.paint(Style::Bold, role.name), one_line(role.description, 100)),
        None => out.paint(Style::Bold, "no role"),
    };
    let mode = settings.steering;
    text.push_str(&format!("\nmode {}: {}", out.paint(Style::Bold, mode.name), one_line(mode.description, 100)));
    if CATALOG.policy.approvals == ApprovalMode::Token {
        let on = out.paint(Style::Warning, "token");
        text.push_str(&format!(
            "\napprovals in mode {on}: whoever is refused may repeat the call without a person's word"
        ));
    }
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
        vec![
            ruling.tool.to_owned(),
            ruling.server.to_owned(),
            ruling.access.name().to_owned(),
            one_line(&ruling.basis(), REASON),
        ]
    }));
    for (at, line) in columns("  ", &[Align::Left; 4], &rows).iter().enumerate() {
        let line = &cut(line, WIDTH);
        text.push_str(&if at == 0 { out.paint(Style::Bold, line) } else { line.clone() });
        text.push('\n');
    }
    text.push_str(&format!("\nany other tool: {}\n", painted(others(settings), out)));
    if settings.role.is_none() && !CATALOG.policy.roles.is_empty() {
        let roles: Vec<&str> = CATALOG.policy.roles.iter().map(|role| role.name).collect();
        text.push_str(&format!("roles: {} (`--role`, `EVOKORE_ROLE`)\n", roles.join(", ")));
    }
    let modes: Vec<&str> = CATALOG.policy.modes.iter().map(|mode| mode.name).collect();
    text.push_str(&format!("modes: {} (`--mode`, `EVOKORE_STEERING_MODE`)\n", modes.join(", ")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_on_hints_is_given_as_the_reason_for_a_tool_whose_hints_nobody_has_vouched_for() {
        let mode = |name: &str| (name == env_vars::STEERING_MODE).then(|| "review".to_owned());
        let settings = Settings::resolve(&CATALOG, &mode).unwrap().0;
        let explained = |known| {
            let ruling = Ruling::new(&settings, "x_read", "x", Annotations::default(), false, known);
            ruling.explained(&settings, Output::new())
        };
        assert!(explained(true).contains("`*[!readOnlyHint]` fits it"), "{}", explained(true));
        let told = explained(false);
        assert!(told.contains("nobody has vouched for its hints") && !told.contains("[!readOnlyHint]"), "{told}");
    }
}
