//! `evokore approvals`: calls that wait for a person, and the person's word on them.

mod watch;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::arguments::{ApprovalsArguments, ApprovalsCommand};
use super::output::{Align, Output, columns, one_line};
use super::process;
use crate::audit::{Audit, Event, Kind, Outcome};
use crate::error::{Exit, Failure};
use crate::state::approvals::{self, Decision, Pending, Requests};
use crate::state::grants::{self, Record, Records, Scope};
use crate::{env_vars, state};

/// Runs the command.
///
/// # Errors
/// There is no home folder, no such request, or it cannot be read or written.
pub(crate) fn run(arguments: &ApprovalsArguments, out: Output) -> Result<Exit, Failure> {
    let home = state::home(&env_vars::lookup).ok_or_else(|| {
        Failure::usage("there is no home folder in which requests could lie")
            .hint(format!("set `{}` or `HOME`", env_vars::HOME))
    })?;
    let (requests, records) = (Requests::folder(&home), Records::folder(&home));
    match &arguments.command {
        None | Some(ApprovalsCommand::List) => {
            let pending = approvals::list(&requests).map_err(unreadable(&requests))?;
            let granted = grants::list(&records).map_err(unreadable(&records))?;
            if arguments.json {
                let told = |request: &Pending| {
                    let mut told = json!(request);
                    told["decision"] = approvals::settled(&requests, &request.id).into();
                    told
                };
                let pending: Vec<_> = pending.iter().map(told).collect();
                out.json(&json!({ "pending": pending, "granted": granted }))?;
            } else {
                out.print(&as_text(&requests, &pending, &granted))?;
            }
        }
        Some(ApprovalsCommand::Approve { id, always }) => {
            decide(&requests, id, Decision::Approved(*always), arguments.json, out)?;
        }
        Some(ApprovalsCommand::Deny { id }) => decide(&requests, id, Decision::Denied, arguments.json, out)?,
        Some(ApprovalsCommand::Revoke { id }) => revoke(&records, id, arguments.json, out)?,
        Some(ApprovalsCommand::Watch) => watch::run(&requests, arguments.json, out)?,
    }
    Ok(Exit::Ok)
}

fn unreadable(folder: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::runtime(format!("cannot read `{}`: {error}", folder.display()))
}

fn decide(folder: &Path, id: &str, decision: Decision, json: bool, out: Output) -> Result<(), Failure> {
    // What is wrong with the settings is told before anything is decided.
    let audit = Audit::aside(&process::settings(None)?);
    let (request, decided) = approvals::decide(folder, id, decision)
        .map_err(|message| Failure::usage(message).hint("`evokore approvals` lists what waits"))?;
    let (kind, outcome) = match decided {
        Decision::Approved(_) => (Kind::ApprovalGranted, Outcome::Success),
        Decision::Denied => (Kind::ApprovalDenied, Outcome::Denied),
    };
    audit.record(Event::new(kind, outcome).tool(&request.tool).approval(&request.id).because("in a terminal"));
    // Written before the answer is, and what goes wrong with it is told on stderr.
    drop(audit);
    let always = match decided {
        Decision::Approved(scope) => scope,
        Decision::Denied => None,
    };
    if json {
        let always = always.map(Scope::name);
        return out.json(&json!({ "decision": word(decided), "always": always, "request": request }));
    }
    let call = one_line(&format!("{} {}", request.tool, request.arguments), 200);
    out.print(&format!("{} {}: {call}\n", word(decided), request.id))?;
    let about = match (decision, always) {
        (_, Some(scope)) => {
            let tool = one_line(&request.tool, 80);
            format!(
                "calls of `{tool}` {} are allowed once this one is made; `evokore approvals revoke` ends that\n",
                scope.for_the_session()
            )
        }
        (Decision::Approved(Some(_)), None) => {
            let reason = one_line(request.reason.as_deref().unwrap_or("the tool is not what it was"), 80);
            format!("for this call alone, because {reason}\n")
        }
        _ => return Ok(()),
    };
    out.print(&about)
}

fn revoke(folder: &Path, id: &str, json: bool, out: Output) -> Result<(), Failure> {
    let audit = Audit::aside(&process::settings(None)?);
    let record = grants::revoke(folder, id)
        .map_err(|message| Failure::usage(message).hint("`evokore approvals` lists the standing approvals"))?;
    let event = Event::new(Kind::ApprovalRevoked, Outcome::Success).tool(&record.tool).approval(&record.id);
    audit.record(event.because("in a terminal"));
    drop(audit);
    if json {
        return out.json(&json!({ "revoked": record }));
    }
    out.print(&format!("revoked {}: {}\n", record.id, one_line(&what(&record), 200)))
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved(_) => "approved",
        Decision::Denied => "denied",
    }
}

fn as_text(folder: &Path, pending: &[Pending], granted: &[Record]) -> String {
    let mut text = if pending.is_empty() { "nothing waits for approval\n".to_owned() } else { String::new() };
    let rows: Vec<Vec<String>> = pending.iter().map(|request| row(folder, request)).collect();
    for line in columns("", &[Align::Left, Align::Right, Align::Left, Align::Left, Align::Left], &rows) {
        text.push_str(&line);
        text.push('\n');
    }
    if !pending.is_empty() {
        text.push_str("\n`evokore approvals approve ID` or `evokore approvals deny ID` settles one\n");
    }
    if !granted.is_empty() {
        text.push_str("\nstanding approvals; `evokore approvals revoke ID` takes one back:\n");
        let row = |record: &Record| vec![record.id.clone(), one_line(&what(record), 160)];
        for line in columns("", &[Align::Left, Align::Left], &granted.iter().map(row).collect::<Vec<_>>()) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// ID, time left, tool, arguments, and what else a person should know.
fn row(folder: &Path, request: &Pending) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let left = format!("{} s left", request.expires_at.saturating_sub(now));
    let client = request.client.as_deref().map(|client| format!("client {client}"));
    let role = request.role.as_deref().map(|role| format!("role {role}"));
    let state = approvals::settled(folder, &request.id).map(|state| format!("{state} already"));
    let about: Vec<String> =
        [state, request.reason.clone(), client, role].into_iter().flatten().map(|about| one_line(&about, 80)).collect();
    let about = if about.is_empty() { String::new() } else { format!("({})", about.join("; ")) };
    vec![request.id.clone(), left, one_line(&request.tool, 80), one_line(&request.arguments, 120), about]
}

fn what(record: &Record) -> String {
    format!("{} {}", record.tool, record.arguments.as_deref().unwrap_or("with any arguments"))
}
