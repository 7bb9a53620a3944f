//! `evokore doctor`: compares the binary with the files, reads the environment, and starts every server once.

mod inputs;
mod profile;
mod report;
mod servers;
mod state;

use evokore_catalog::permission::ApprovalMode;
use evokore_catalog::suggest;
use serde_json::json;

use super::arguments::DoctorArguments;
use super::live::Live;
use super::output::{Output, Progress, count};
use super::version;
use crate::catalog::{CATALOG, VERSION_PROFILE_SET};
use crate::child::ChildStatus;
use crate::dotenv::{self, Loaded};
use crate::error::{Exit, Failure};
use crate::settings::Settings;
use crate::{env_vars, settings};
use report::{Finding, Weight};

/// Runs the command.
///
/// # Errors
/// The runtime cannot be built.
pub(crate) fn run(arguments: &DoctorArguments, loaded: &Loaded, out: Output) -> Result<Exit, Failure> {
    let differences = inputs::compare();
    let mut findings = vec![build(), inputs::finding(&differences)];
    findings.extend(environment(loaded));
    let mut statuses = Vec::new();
    match Settings::resolve(&CATALOG, &env_vars::lookup) {
        Ok((settings, warnings)) => {
            let warned = warnings.into_iter().map(|warning| Finding::new("settings", Weight::Problem, warning));
            findings.push(chosen(&settings));
            findings.extend(approvals());
            findings.extend(warned);
            findings.push(state::audit(&settings));
            statuses = boot(settings, &mut findings)?;
        }
        Err(error) => findings.push(unresolved(&error)),
    }
    let problems = findings.iter().filter(|finding| finding.weight == Weight::Problem).count();
    if arguments.json {
        out.json(&json!({
            "version": version::VERSION,
            "problems": problems,
            "build": {
                "catalogSha256": CATALOG.sha256,
                "policySha256": CATALOG.policy_sha256,
                "inputsSha256": CATALOG.inputs_sha256,
                "profileSet": VERSION_PROFILE_SET,
            },
            "inputs": differences.ok(),
            "findings": findings,
            "servers": statuses,
        }))?;
    } else {
        out.print(&report::as_text(&findings, out))?;
    }
    Ok(if problems == 0 { Exit::Ok } else { Exit::Found })
}

fn build() -> Finding {
    let tools = format!("{} ({} native)", count(CATALOG.tools.len(), "tool"), CATALOG.natives);
    let skills = count(CATALOG.skills.len(), "skill");
    let servers = count(CATALOG.servers.len(), "server");
    let text = format!(
        "evokore {}, {tools}, {skills}, {servers}\ncatalog {}\npolicy  {}\nprofile set {VERSION_PROFILE_SET}",
        version::VERSION,
        CATALOG.sha256,
        CATALOG.policy_sha256
    );
    Finding::new("build", Weight::Ok, text)
}

fn environment(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(path) = &loaded.path {
        let names = if loaded.names.is_empty() {
            "nothing that is not set already".to_owned()
        } else {
            loaded.names.join(", ")
        };
        findings.push(Finding::new(".env", Weight::Ok, format!("`{}` sets {names}", path.display())));
    }
    findings.extend(loaded.warnings.iter().map(|warning| Finding::new(".env", Weight::Note, warning.clone())));
    let strangers = env_vars::unknown_names().into_iter().filter(|name| !dotenv::is_configured(name));
    findings.extend(strangers.map(|name| {
        let finding = Finding::new("settings", Weight::Note, format!("`{name}` is set and means nothing to evokore"));
        match suggest::nearest(&name, env_vars::VARS.iter().map(|var| var.name)) {
            Some(known) => finding.hint(format!("did you mean `{known}`?")),
            None => finding,
        }
    }));
    findings
}

fn chosen(settings: &Settings) -> Finding {
    let profile = settings.profile;
    let role = settings.role.map_or_else(|| "no role".to_owned(), |role| format!("role `{}`", role.name));
    let text = format!(
        "profile `{}` ({}), discovery mode {}, {role}, mode `{}`",
        profile.entry.name,
        profile.source.name(),
        settings.mode.name(),
        settings.steering.name
    );
    Finding::new("settings", Weight::Ok, text)
}

/// Says so where calls that need approval are made without the word of a person.
fn approvals() -> Option<Finding> {
    let text = "approvals are in mode `token`: a model may approve its own calls by repeating them";
    let finding = Finding::new("policy", Weight::Note, text);
    let is_on = CATALOG.policy.approvals == ApprovalMode::Token;
    is_on.then(|| finding.hint("`approvals: { mode: operator }` in `permissions.yml` wants the word of a person"))
}

fn unresolved(error: &settings::SettingsError) -> Finding {
    let text = error.to_string();
    let (text, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    Finding::new("settings", Weight::Problem, text).hint(hint)
}

/// Starts every server, waits for them, and says what became of each.
fn boot(settings: Settings, findings: &mut Vec<Finding>) -> Result<Vec<ChildStatus>, Failure> {
    let live = Live::new(settings)?;
    let mut progress = Progress::new();
    let mut waiting: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let statuses = live.with_servers(async {
        progress.show(&format!("starting {} …", waiting.join(", ")));
        live.all_settled(|id| {
            waiting.retain(|waiting| *waiting != id);
            progress.show(&format!("starting {} …", waiting.join(", ")));
        })
        .await;
        let statuses = live.app.children().status();
        findings.extend(servers::check(&statuses, &live.app));
        findings.extend(profile::check(&live.app));
        statuses
    });
    Ok(statuses)
}
