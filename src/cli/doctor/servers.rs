//! What became of each child server when it was really started.

use super::report::{Finding, Weight};
use crate::app::App;
use crate::catalog::CATALOG;
use crate::child::{ChildStatus, Status};
use crate::cli::output::{count, one_line};
use crate::listing::merged::Merged;
use evokore_catalog::hostile;
use evokore_catalog::lock::diff;

/// Lines of a server's stderr in a finding.
const TAIL: usize = 6;

/// One finding per server.
pub(super) fn check(statuses: &[ChildStatus], app: &App) -> Vec<Finding> {
    let merged = app.merged();
    let of = |(index, status): (u16, &ChildStatus)| server(index, status, &merged);
    (0u16..).zip(statuses).map(of).collect()
}

fn server(index: u16, status: &ChildStatus, merged: &Merged) -> Finding {
    let id = CATALOG.servers[usize::from(index)].id;
    let reason = status.reason.as_deref().unwrap_or("it gave no reason");
    match status.status {
        Status::Connected => connected(id, index, status, merged),
        Status::Disabled => Finding::new(id, Weight::Note, "disabled in the configuration"),
        Status::Waiting => Finding::new(id, Weight::Note, format!("waits: {reason}"))
            .hint("set it in the environment or in `.env` to use this server"),
        Status::Idle => Finding::new(id, Weight::Note, reason),
        Status::Booting => failed(id, status, "has not come up yet"),
        Status::Error | Status::Disconnected => failed(id, status, reason),
    }
}

fn connected(id: &'static str, index: u16, status: &ChildStatus, merged: &Merged) -> Finding {
    let mut text = format!("connected, {}", count(status.registered_tools, "tool"));
    if !status.server.is_empty() {
        text.push_str(&format!(", {}", one_line(&status.server, 80)));
    }
    let mut weight = Weight::Ok;
    let mut remark = |line: String| {
        text.push('\n');
        text.push_str(&line);
        weight = Weight::Note;
    };
    for skipped in &status.skipped_tools {
        remark(format!("not offered: {}", one_line(&format!("{}: {}", skipped.name, skipped.reason), 160)));
    }
    for note in &status.notes {
        remark(one_line(note, 160));
    }
    if status.noise_lines > 0 {
        remark(format!("{} on its stdout were no messages", count(status.noise_lines as usize, "line")));
    }
    let Some(live) = merged.live(index) else { return Finding::new(id, weight, text) };
    for line in diff::as_text(&live.report.differences, "", |_| None).lines() {
        remark(one_line(line, 160));
    }
    for finding in &live.report.findings {
        remark(one_line(&finding.to_string(), 240));
    }
    if hostile::is_dangerous(&live.report.findings) {
        weight = Weight::Problem;
    }
    let finding = Finding::new(id, weight, text);
    if live.report.differences.is_empty() {
        return finding;
    }
    finding.hint(format!("if that is as it should be: `evokore lock {id}`, and build anew"))
}

fn failed(id: &'static str, status: &ChildStatus, reason: &str) -> Finding {
    let mut lines = reason.lines();
    let mut text = one_line(lines.next().unwrap_or_default(), 400);
    // A reason may bring its own hint.
    let hint = lines.find_map(|line| line.trim().strip_prefix("hint: ")).unwrap_or_default().to_owned();
    let tail: Vec<&str> = status.stderr_tail.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in &tail[tail.len().saturating_sub(TAIL)..] {
        text.push_str(&format!("\n| {}", one_line(line, 160)));
    }
    Finding::new(id, Weight::Problem, text).hint(hint)
}
