//! `evokore audit`: what has been noted, and whether it is still what was noted.

use clap::{Args, Subcommand};
use serde_json::json;

use super::output::{Align, Output, columns, count, number, one_line};
use crate::audit::read::{Entry, Filter, read, since};
use crate::audit::verify::{Report, verify};
use crate::audit::{Folder, Hash, Outcome, now};
use crate::error::{Exit, Failure};
use crate::{env_vars, state};

/// What `--help` says besides.
pub(crate) const EXAMPLES: &str = "\
Reads ~/.evokore/audit, where every decision on a call, approvals, drift and the lives of child servers are noted, with a
digest of the arguments and a preview with secrets masked. `verify` says where a line is missing or was changed.

Examples:
  evokore audit --since 10m
  evokore audit --tool github_create_issue --outcome denied
  evokore audit --json --limit 1000 > events.jsonl
  evokore audit verify";

/// `evokore audit`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AuditArguments {
    /// What to do; without it, events are shown
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
    /// Events from then on: 90s, 10m, 2h, 1d, 1w, 2026-12-03, or 2026-12-03T11:48:21Z
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Events about this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Events with this outcome, of the decision or of the call
    #[arg(long, value_parser = Outcome::NAMES)]
    pub(crate) outcome: Option<String>,
    /// Most events to show; the newest count
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// The lines as they were written, one JSON object each
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with the audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no line is missing or was changed; exits with 1 otherwise
    Verify {
        /// Digest of a line that must be there, as an earlier `verify` told it
        #[arg(long, value_name = "SHA256")]
        noted: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// There is no home folder, an argument means nothing, or the log cannot be read.
pub(crate) fn run(arguments: &AuditArguments, out: Output) -> Result<Exit, Failure> {
    let home = state::home(&env_vars::lookup).ok_or_else(|| {
        Failure::usage("there is no home folder in which an audit log could lie")
            .hint(format!("set `{}` or `HOME`", env_vars::HOME))
    })?;
    let folder = Folder::below(&home);
    match &arguments.command {
        None => show(&folder, arguments, out),
        Some(AuditCommand::Verify { noted, json }) => check(&folder, noted.as_deref(), *json, out),
    }
}

fn unreadable(folder: &Folder, error: &std::io::Error) -> Failure {
    Failure::runtime(format!("cannot read the audit log in `{}`: {error}", folder.path().display()))
}

fn show(folder: &Folder, arguments: &AuditArguments, out: Output) -> Result<Exit, Failure> {
    let from = match &arguments.since {
        None => 0,
        Some(text) => since(text, now()).ok_or_else(|| {
            Failure::usage(format!("`{}` is no time", one_line(text, 40)))
                .hint("give a length such as 90s, 10m, 2h, 1d or 1w, a date such as 2026-12-03, or a moment such as 2026-12-03T11:48:21Z")
        })?,
    };
    let filter = Filter {
        since: from,
        tool: arguments.tool.as_deref(),
        outcome: arguments.outcome.as_deref(),
        limit: arguments.limit,
    };
    let entries = read(folder, &filter).map_err(|error| unreadable(folder, &error))?;
    if arguments.json {
        let lines: String = entries.iter().flat_map(|entry| [entry.line.as_str(), "\n"]).collect();
        out.print(&lines)?;
    } else if entries.is_empty() {
        out.print("no such events\n")?;
    } else {
        let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
        let lines = columns("", &[Align::Left; 5], &rows);
        out.print(&lines.iter().flat_map(|line| [line, "\n"]).collect::<String>())?;
    }
    Ok(Exit::Ok)
}

/// When, what, what came of it, about whom, and more.
fn row(entry: &Entry) -> Vec<String> {
    let about = entry.tool.as_deref().or(entry.server.as_deref()).unwrap_or_default();
    let mut more = Vec::new();
    if let Some(call) = entry.call {
        more.push(format!("#{call}"));
    }
    more.extend(entry.by.as_ref().map(|by| format!("by {by}")));
    more.extend(entry.rule.clone());
    more.extend(entry.role.as_ref().filter(|_| entry.rule.is_some()).map(|role| format!("as {role}")));
    more.extend(entry.approval.as_ref().map(|id| format!("request {id}")));
    more.extend(entry.end.clone());
    more.extend(entry.ms.map(|ms| format!("{ms} ms")));
    more.extend(entry.restarts.filter(|restarts| *restarts > 0).map(|restarts| format!("restart {restarts}")));
    more.extend(entry.arguments.as_ref().and_then(|arguments| arguments.preview.clone()));
    more.extend(entry.reason.clone());
    if !entry.tools.is_empty() {
        more.push(entry.tools.join(", "));
    }
    vec![
        one_line(&entry.utc, 24),
        one_line(&entry.event, 20),
        one_line(&entry.outcome, 20),
        one_line(about, 64),
        one_line(&more.join("  "), 240),
    ]
}

fn check(folder: &Folder, noted: Option<&str>, json: bool, out: Output) -> Result<Exit, Failure> {
    let noted = match noted {
        None => None,
        Some(text) => Some(Hash::read(text).ok_or_else(|| {
            Failure::usage(format!("`{}` is no digest", one_line(text, 80)))
                .hint("give the 64 digits that `verify` told")
        })?),
    };
    let report = verify(folder, noted).map_err(|error| unreadable(folder, &error))?;
    let Report { files, lines, first, last, torn, fault } = &report;
    if json {
        let fault = fault.as_ref().map(|fault| json!({ "file": fault.file, "line": fault.line, "what": fault.what }));
        out.json(&json!({
            "ok": fault.is_none(),
            "files": files,
            "lines": lines,
            "first": first,
            "last": last.seq,
            "sha256": last.hash.to_string(),
            "torn": torn,
            "fault": fault,
        }))?;
    }
    if let Some(fault) = fault {
        return match json {
            true => Ok(Exit::Found),
            false => Err(Failure::found(one_line(&fault.to_string(), 500)).hint(format!(
                "{} before it are in order; keep a copy of `{}` and find out who wrote there",
                count(usize::try_from(*lines).unwrap_or(usize::MAX), "line"),
                folder.path().display()
            ))),
        };
    }
    if json {
        return Ok(Exit::Ok);
    }
    if *lines == 0 {
        out.print("there is no audit log yet\n")?;
        return Ok(Exit::Ok);
    }
    let lines = count(usize::try_from(*lines).unwrap_or(usize::MAX), "line");
    let mut text = format!("ok: {lines} in {}, number {} to {}\n", count(*files, "file"), first, last.seq);
    if *first > 1 {
        text.push_str(&format!(
            "lines before number {} have made room for newer ones\n",
            number(usize::try_from(*first).unwrap_or(usize::MAX))
        ));
    }
    if *torn > 0 {
        text.push_str(&format!("{torn} not finished, because a process ended while it wrote\n"));
    }
    text.push_str(&format!("digest of the last line, to note elsewhere: {}\n", last.hash));
    out.print(&text)?;
    Ok(Exit::Ok)
}
