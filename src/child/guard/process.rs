//! The guard itself: reads which groups there are, and ends them when the one who told it is gone.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::signal::unix::{Signal as Caught, SignalKind, signal};

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_millis(300);
/// How often the groups are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// Runs as the guard until stdin closes: lines `+GROUP` and `-GROUP` tell of process groups that came and went.
pub fn run() {
    let _deaf = deaf();
    let mut groups = BTreeSet::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match read(&line) {
            Some(('+', group)) => _ = groups.insert(group),
            Some(('-', group)) => _ = groups.remove(&group),
            _ => {}
        }
    }
    end(groups.into_iter().filter_map(Pid::from_raw).collect());
}

/// `+12` and `-12`. Group 1 is the system's; 0 and below mean something else to `kill`.
fn read(line: &str) -> Option<(char, i32)> {
    let mut rest = line.chars();
    let what = rest.next()?;
    let group = rest.as_str().parse().ok().filter(|group| *group > 1)?;
    Some((what, group))
}

/// Whatever asks evokore to end may ask the guard, too, which has to see that end. Lasts as long as the value.
fn deaf() -> Option<(tokio::runtime::Runtime, Vec<Caught>)> {
    // A signal that is caught does not end the process; nobody has to look at what is caught.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    let entered = runtime.enter();
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
    let caught = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    drop(entered);
    Some((runtime, caught))
}

fn end(mut groups: Vec<Pid>) {
    let signal_all = |groups: &[Pid], signal| {
        for group in groups {
            // An empty group is what we want.
            let _ = kill_process_group(*group, signal);
        }
    };
    signal_all(&groups, Signal::TERM);
    let deadline = Instant::now() + GRACE;
    loop {
        groups.retain(|group| test_kill_process_group(*group).is_ok());
        if groups.is_empty() || Instant::now() >= deadline {
            break;
        }
        sleep(LOOK);
    }
    signal_all(&groups, Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_can_be_a_childs_are_taken() {
        for (line, expected) in [
            ("+12", Some(('+', 12))),
            ("-12", Some(('-', 12))),
            ("+1", None),
            ("+0", None),
            ("+-5", None),
            ("+99999999999", None),
            ("+", None),
            ("", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
