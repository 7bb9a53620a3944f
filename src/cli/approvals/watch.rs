//! `evokore approvals watch`: requests as they come. At a terminal each is asked about, and a line answers it.

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{decide, row, unreadable};
use crate::cli::output::Output;
use crate::error::Failure;
use crate::state::approvals::{self, Decision, Pending};
use crate::state::grants::Scope;

/// How often the folder is looked at. Watching it would take a dependency for what a person does not notice.
const PAUSE: Duration = Duration::from_millis(300);

/// Runs until it is stopped, or nobody reads what it prints.
pub(super) fn run(folder: &Path, json: bool, out: Output) -> Result<(), Failure> {
    let asks = !json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !json {
        out.print("waiting for calls that need approval; Ctrl-C ends this\n")?;
    }
    let mut seen = BTreeSet::new();
    loop {
        let pending = approvals::list(folder).map_err(unreadable(folder))?;
        // Ids of requests that are settled need not be kept.
        seen.retain(|id| pending.iter().any(|request| request.id == *id));
        for request in &pending {
            if seen.insert(request.id.clone()) {
                show(request, json, out)?;
                if asks {
                    ask(folder, request, out)?;
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
}

fn show(request: &Pending, json: bool, out: Output) -> Result<(), Failure> {
    if json {
        let line = json!({ "request": request }).to_string();
        return out.print(&format!("{line}\n"));
    }
    out.print(&format!("{}\n", row(request).join("  ").trim_end()))
}

fn ask(folder: &Path, request: &Pending, out: Output) -> Result<(), Failure> {
    loop {
        out.print("  approve? [y]es, once; [a]lways with these arguments; always this [t]ool; [n]o; [s]kip: ")?;
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        if read.is_err() || line.is_empty() {
            return Ok(());
        }
        let decision = match line.trim() {
            "y" | "yes" => Decision::Approved(None),
            "a" => Decision::Approved(Some(Scope::Arguments)),
            "t" => Decision::Approved(Some(Scope::Tool)),
            "n" | "no" => Decision::Denied,
            "s" => return Ok(()),
            _ => continue,
        };
        // It may have ended while the person thought about it.
        if let Err(failure) = decide(folder, &request.id, decision, false, out) {
            crate::cli::output::complain(&failure);
        }
        return Ok(());
    }
}
