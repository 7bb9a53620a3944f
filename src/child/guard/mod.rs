//! No child stays behind when this process is killed: a second process of the same executable, the guard, holds the
//! end of a pipe and knows every process group. When the pipe closes, we are gone, however that came about, and it ends
//! the groups that are left. It is started just before the first child, and ends at once when we end as we should.

mod process;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{PipeReader, PipeWriter, Write as _};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::Pid;

use super::settings::Say;
pub use process::run;

/// The only argument of a guard.
pub const ARGUMENT: &str = "__guard";

/// A guard that dies is replaced once: whoever kills it again means it.
const MAX_STARTS: u32 = 2;

/// Our side of the guard.
pub(super) struct Guard {
    program: OsString,
    say: Say,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    starts: u32,
    /// Closed by our end.
    pipe: Option<PipeWriter>,
    groups: BTreeSet<i32>,
}

impl Guard {
    /// A guard that `program` will be; it is not started yet.
    pub(super) fn new(program: OsString, say: Say) -> Arc<Guard> {
        Arc::new(Guard { program, say, state: Mutex::default() })
    }

    /// Starts it, if it never was. Must be called inside a runtime.
    pub(super) fn ready(self: &Arc<Guard>) {
        if self.state().starts == 0 {
            self.start();
        }
    }

    /// From now on `group` ends with us.
    pub(super) fn watch(&self, group: Pid) {
        let mut state = self.state();
        state.groups.insert(group.as_raw_nonzero().get());
        state.tell('+', group.as_raw_nonzero().get());
    }

    /// `group` has ended.
    pub(super) fn forget(&self, group: Pid) {
        let mut state = self.state();
        state.groups.remove(&group.as_raw_nonzero().get());
        state.tell('-', group.as_raw_nonzero().get());
    }

    fn start(self: &Arc<Guard>) {
        self.state().starts += 1;
        match self.tell_all().and_then(|stdin| self.spawn(stdin)) {
            Ok(process) => _ = tokio::spawn(replace(Arc::downgrade(self), process)),
            Err(error) => {
                self.state().pipe = None;
                self.unguarded(&format!("could not be started ({error})"));
            }
        }
    }

    /// A new pipe, in which every group stands already: we may be killed as soon as its reader has started.
    fn tell_all(&self) -> std::io::Result<PipeReader> {
        let (theirs, ours) = std::io::pipe()?;
        // A guard that is stopped must not stop us.
        fcntl_setfl(&ours, OFlags::NONBLOCK)?;
        let mut state = self.state();
        state.pipe = Some(ours);
        for group in state.groups.clone() {
            state.tell('+', group);
        }
        Ok(theirs)
    }

    fn spawn(&self, stdin: PipeReader) -> std::io::Result<tokio::process::Child> {
        let mut command = std::process::Command::new(&self.program);
        std::os::unix::process::CommandExt::arg0(&mut command, "evokore-guard");
        let mut command = tokio::process::Command::from(command);
        // Nothing of the client's reaches it, neither a stream, whose end would never come, nor a key of the terminal.
        command.arg(ARGUMENT).env_clear().current_dir("/").process_group(0);
        command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    fn unguarded(&self, what: &str) {
        (self.say)(&format!(
            "the guard process {what}; should evokore be killed by SIGKILL, child servers may stay behind"
        ));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tell(&mut self, what: char, group: i32) {
        // Far below the size up to which a pipe takes all or nothing.
        let line = format!("{what}{group}\n");
        if self.pipe.as_mut().is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_err()) {
            self.pipe = None;
        }
    }
}

/// Waits for the guard's end, which should not come before ours.
async fn replace(guard: Weak<Guard>, mut process: tokio::process::Child) {
    let _ = process.wait().await;
    let Some(guard) = guard.upgrade() else { return };
    guard.state().pipe = None;
    if guard.state().starts < MAX_STARTS {
        (guard.say)("the guard process ended and is started again");
        guard.start();
    } else {
        guard.unguarded("ended again");
    }
}
