//! The tasks that calls run on. One whose call is answered waits for the next call instead of ending: the state of a
//! call is some kilobytes, and to make it anew each time was a fifth of what a call cost.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::oneshot;

use super::in_flight::InFlight;
use super::tool_call::Call;
use crate::calls::CallContext;
use crate::wire::outbox::Outbox;

/// Most tasks that wait; what is beyond them ends.
const MAX_IDLE: usize = 64;

/// Runs calls, each on a task of its own, so that a slow one holds up nobody. The tasks that wait end with it.
#[derive(Default)]
pub(super) struct Crew {
    idle: Arc<Idle>,
}

/// Where tasks that wait get their next call; the last one to come is the first to go.
type Idle = Mutex<Vec<oneshot::Sender<Job>>>;

type Job = (Call, CallContext);

impl Crew {
    /// Starts a call.
    pub(super) fn run(&self, call: Call, ctx: CallContext, out: &Outbox, in_flight: &InFlight) {
        let mut job = (call, ctx);
        loop {
            let idle = lock(&self.idle).pop();
            let Some(idle) = idle else { break };
            match idle.send(job) {
                Ok(()) => return,
                // That task is gone.
                Err(back) => job = back,
            }
        }
        tokio::spawn(work(job, Arc::downgrade(&self.idle), out.clone(), in_flight.clone()));
    }
}

/// One task. A defect in a call ends it.
async fn work(mut job: Job, idle: Weak<Idle>, out: Outbox, in_flight: InFlight) {
    loop {
        let (call, ctx) = job;
        call.run(ctx, &out, &in_flight).await;
        let Some(next) = wait(&idle) else { return };
        match next.await {
            Ok(next) => job = next,
            Err(_) => return,
        }
    }
}

/// Joins those who wait, if they are few and there may be another call.
fn wait(idle: &Weak<Idle>) -> Option<oneshot::Receiver<Job>> {
    let idle = idle.upgrade()?;
    let mut idle = lock(&idle);
    if idle.len() >= MAX_IDLE {
        return None;
    }
    let (sender, receiver) = oneshot::channel();
    idle.push(sender);
    Some(receiver)
}

fn lock(idle: &Idle) -> std::sync::MutexGuard<'_, Vec<oneshot::Sender<Job>>> {
    // No code that could panic runs under the lock.
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
