//! `evokore approvals`: calls that wait for a person, and the person's word on them.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::arguments::{ApprovalsArguments, ApprovalsCommand};
use super::output::{Align, Output, columns, one_line};
use crate::error::{Exit, Failure};
use crate::state::approvals::{self, Decision, Pending, Requests};
use crate::{env_vars, state};

/// Runs the command.
///
/// # Errors
/// There is no home folder, no such request, or it cannot be read or written.
pub(crate) fn run(arguments: &ApprovalsArguments, out: Output) -> Result<Exit, Failure> {
    let folder = folder()?;
    match &arguments.command {
        None | Some(ApprovalsCommand::List) => {
            let pending = approvals::list(&folder)
                .map_err(|error| Failure::runtime(format!("cannot read `{}`: {error}", folder.display())))?;
            if arguments.json {
                out.json(&json!({ "pending": pending }))?;
            } else {
                out.print(&as_text(&pending))?;
            }
        }
        Some(ApprovalsCommand::Approve { id }) => decide(&folder, id, Decision::Approved, arguments.json, out)?,
        Some(ApprovalsCommand::Deny { id }) => decide(&folder, id, Decision::Denied, arguments.json, out)?,
    }
    Ok(Exit::Ok)
}

fn folder() -> Result<PathBuf, Failure> {
    let home = state::home(&env_vars::lookup).ok_or_else(|| {
        Failure::usage("there is no home folder in which requests could lie")
            .hint(format!("set `{}` or `HOME`", env_vars::HOME))
    })?;
    Ok(Requests::folder(&home))
}

fn decide(folder: &std::path::Path, id: &str, decision: Decision, json: bool, out: Output) -> Result<(), Failure> {
    let request = approvals::decide(folder, id, decision)
        .map_err(|message| Failure::usage(message).hint("`evokore approvals` lists what waits"))?;
    let word = match decision {
        Decision::Approved => "approved",
        Decision::Denied => "denied",
    };
    if json {
        out.json(&json!({ "decision": word, "request": request }))
    } else {
        let call = one_line(&format!("{} {}", request.tool, request.arguments), 200);
        out.print(&format!("{word} {}: {call}\n", request.id))
    }
}

fn as_text(pending: &[Pending]) -> String {
    if pending.is_empty() {
        return "nothing waits for approval\n".to_owned();
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let row = |request: &Pending| {
        let left = format!("{} s left", request.expires_at.saturating_sub(now));
        let reason = request.reason.as_deref().map(|reason| format!("({})", one_line(reason, 80))).unwrap_or_default();
        vec![request.id.clone(), left, one_line(&request.tool, 80), one_line(&request.arguments, 120), reason]
    };
    let rows: Vec<Vec<String>> = pending.iter().map(row).collect();
    let mut text = String::new();
    for line in columns("", &[Align::Left, Align::Right, Align::Left, Align::Left, Align::Left], &rows) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str("\n`evokore approvals approve ID` or `evokore approvals deny ID` settles one\n");
    text
}
