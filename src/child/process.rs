//! A running child as a process group: noticing its end, and ending it with everything it started.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

/// After its stdin is closed.
const EOF_GRACE: Duration = Duration::from_millis(250);
/// After SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(300);
/// After SIGKILL, for the kernel to take it away.
const KILL_GRACE: Duration = Duration::from_millis(150);
/// How often a group is looked at whose leader is gone.
const LOOK: Duration = Duration::from_millis(5);

/// The processes of one child.
pub trait Group: Send + Sync {
    /// Asks all of them to end.
    fn terminate(&self);
    /// Ends all of them.
    fn kill(&self);
    /// Whether none is left.
    fn is_empty(&self) -> bool;
}

/// Resolves when the leader has ended, to how it did: "exited with code 1".
pub type Exit = Pin<Box<dyn Future<Output = String> + Send>>;

/// A child and its group. Whoever drops it leaves nothing behind.
pub(super) struct Process {
    exit: Exit,
    ended: Option<String>,
    group: Box<dyn Group>,
}

impl Process {
    pub(super) fn new(exit: Exit, group: Box<dyn Group>) -> Process {
        Process { exit, ended: None, group }
    }

    /// Waits for the leader's end. May be dropped and called again.
    pub(super) async fn exited(&mut self) -> String {
        if let Some(how) = &self.ended {
            return how.clone();
        }
        let how = self.exit.as_mut().await;
        self.ended = Some(how.clone());
        how
    }

    /// Ends the group: politely first, all within 0.7 s. The caller has closed the child's stdin.
    pub(super) async fn stop(&mut self) {
        if !self.gone_within(EOF_GRACE).await {
            self.group.terminate();
            if !self.gone_within(TERM_GRACE).await {
                self.kill().await;
            }
        }
    }

    /// Ends the group at once.
    pub(super) async fn kill(&mut self) {
        self.group.kill();
        // What the kernel has not taken away by then is unkillable for now; nobody waits for it.
        let _ = timeout(KILL_GRACE, self.exited()).await;
    }

    async fn gone_within(&mut self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        if timeout_at(deadline, self.exited()).await.is_err() {
            return false;
        }
        while !self.group.is_empty() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(LOOK).await;
        }
        true
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
    }
}
