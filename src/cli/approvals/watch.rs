//! `evokore approvals watch`: requests as they come. At a terminal each is asked about, and a line answers it that was
//! typed after it was shown: what was typed before was no answer to it.

use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal as _, Read as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{decide, row, unreadable};
use crate::cli::output::{Output, one_line};
use crate::error::Failure;
use crate::state::approvals::{self, Decision, Pending};
use crate::state::grants::Scope;

/// How often the folder is looked at. Watching it would take a dependency for what a person does not notice.
const PAUSE: Duration = Duration::from_millis(300);

/// Bytes of an answer that are read at once.
const MAX_ANSWER: u64 = 1024;

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
            if !seen.insert(request.id.clone()) {
                continue;
            }
            show(folder, request, json, out)?;
            if !asks || approvals::settled(folder, &request.id).is_some() {
                continue;
            }
            forget_typed();
            let ask = |question: &str| out.print(question);
            match answer(ask, &mut std::io::stdin().lock())? {
                Answer::Decided(decision) => {
                    // It may have ended while the person thought about it.
                    if let Err(failure) = decide(folder, &request.id, decision, false, out) {
                        crate::cli::output::complain(&failure);
                    }
                }
                Answer::Skipped => {}
                // Nobody is there any more.
                Answer::Ended => return out.print("\n"),
            }
        }
        std::thread::sleep(PAUSE);
    }
}

fn show(folder: &Path, request: &Pending, json: bool, out: Output) -> Result<(), Failure> {
    if json {
        let line = json!({ "request": request }).to_string();
        return out.print(&format!("{line}\n"));
    }
    let row = row(folder, request);
    let [id, left, tool, _, about] = row.as_slice() else { return Ok(()) };
    let at = if request.server.is_empty() { String::new() } else { format!(" at `{}`", one_line(&request.server, 80)) };
    let head = format!("{id}  {left}  {tool}{at}  {about}");
    // All of it, since whoever answers here sees no more than this; the request is bounded.
    let arguments = one_line(&request.arguments, usize::MAX);
    out.print(&format!("{}\n  {arguments}\n", head.trim_end()))
}

/// What a person has said to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Decided(Decision),
    Skipped,
    /// There is no more input.
    Ended,
}

/// Discards what has been typed and not been read.
fn forget_typed() {
    #[cfg(unix)]
    // Where it cannot be discarded there is no terminal, and nobody who types.
    let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Asks until the answer is one of those that are offered.
fn answer(ask: impl Fn(&str) -> Result<(), Failure>, input: &mut impl BufRead) -> Result<Answer, Failure> {
    loop {
        ask("  approve? [y]es, once; [a]lways with these arguments; always this [t]ool; [n]o; [s]kip: ")?;
        let mut line = Vec::new();
        let read = input.by_ref().take(MAX_ANSWER).read_until(b'\n', &mut line);
        // A line without an end is one that nobody has finished.
        if read.is_err() || !line.ends_with(b"\n") && (line.len() as u64) < MAX_ANSWER {
            return Ok(Answer::Ended);
        }
        return Ok(Answer::Decided(match line.trim_ascii() {
            b"y" | b"yes" => Decision::Approved(None),
            b"a" => Decision::Approved(Some(Scope::Arguments)),
            b"t" => Decision::Approved(Some(Scope::Tool)),
            b"n" | b"no" => Decision::Denied,
            b"s" => return Ok(Answer::Skipped),
            _ => continue,
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn only_a_whole_line_that_is_offered_is_an_answer() {
        let always = |scope| Answer::Decided(Decision::Approved(Some(scope)));
        for (typed, expected, times) in [
            (&b"y\n"[..], Answer::Decided(Decision::Approved(None)), 1),
            (b" yes \r\n", Answer::Decided(Decision::Approved(None)), 1),
            (b"a\n", always(Scope::Arguments), 1),
            (b"t\n", always(Scope::Tool), 1),
            (b"n\n", Answer::Decided(Decision::Denied), 1),
            (b"s\n", Answer::Skipped, 1),
            (b"maybe\n\n\x1b[A\n\xff\nn\n", Answer::Decided(Decision::Denied), 5),
            (b"", Answer::Ended, 1),
            (b"y", Answer::Ended, 1),
            (b"?\ny", Answer::Ended, 2),
        ] {
            let asked = Cell::new(0);
            let ask = |_: &str| {
                asked.set(asked.get() + 1);
                Ok(())
            };
            assert_eq!(answer(ask, &mut &*typed).unwrap(), expected, "{typed:?}");
            assert_eq!(asked.get(), times, "{typed:?}");
        }
    }
}
