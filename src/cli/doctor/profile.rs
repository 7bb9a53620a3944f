//! Whether the active profile can show what it promises, now that the servers have come up or not.

use evokore_catalog::name;
use evokore_catalog::profile::Visibility;

use super::report::{Finding, Weight};
use crate::app::App;
use crate::catalog::CATALOG;
use crate::cli::output::count;
use crate::listing::projection;

const ABOUT: &str = "profile";

/// Names of one kind that are shown in a finding.
const NAMED: usize = 5;

/// What the profile names and a client will not see. Only lists of names can promise too much.
pub(super) fn check(app: &App) -> Vec<Finding> {
    let profile = app.settings.profile.entry;
    let Visibility::Named(names) = profile.visible else { return Vec::new() };
    let merged = app.merged();
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let (mut denied, mut absent, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let is_up = |id: &str| (0u16..).zip(&ids).any(|(at, known)| *known == id && merged.live(at).is_some());
        match merged.find(name) {
            Some(tool) if !projection::is_permitted(&app.settings, tool) => denied.push(*name),
            Some(tool) if tool.is_listable() => {}
            // The server of a tool that nobody has may be up, and then it has no such tool.
            None if name::owner(name, &ids).is_some_and(is_up) => unknown.push(*name),
            Some(_) | None => absent.push(*name),
        }
    }
    let title = profile.name;
    let mut findings = Vec::new();
    let mut add = |names: &[&str], what: &str| {
        if !names.is_empty() {
            let tools = count(names.len(), "tool");
            findings.push(Finding::new(
                ABOUT,
                Weight::Note,
                format!("`{title}` names {tools} {what}: {}", list(names)),
            ));
        }
    };
    add(&denied, "that the policy denies");
    add(&absent, "of servers that are not up");
    add(&unknown, "that their server does not offer");
    findings
}

fn list(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
