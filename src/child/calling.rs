//! One call of a server's tool: a place among those that the server works on, a connection, an answer; and once more
//! if the server or the way to it fails and a second time does no harm.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::call::{ChildCall, ChildReply};
use super::connection::Connection;
use super::error::ChildError;
use super::idle::Idle;
use super::queue::{Caller, Full, MAX_WAITING, Place};
use super::server::Server;
use super::task;

/// A call that is made once more waits at most so long for its server to be back.
const REPEAT_WAIT: Duration = Duration::from_secs(5);
/// The same over HTTP, where the server need not be started again.
const MOMENT: Duration = Duration::from_millis(300);

impl Server {
    /// Makes a call. A server that boots or sleeps is waited for, at most 30 s.
    pub(super) async fn call(&self, call: ChildCall) -> Result<ChildReply, ChildError> {
        // Before the connection is looked for, so that nobody puts the server to sleep in between.
        let _busy = self.idle.as_ref().map(Idle::busy);
        let (_place, connection) = tokio::select! {
            biased;
            // Looked at first: a call that was given up while it waited is not to reach the child.
            () = call.cancelled.cancelled() => return Err(ChildError::Cancelled { id: self.spec.id }),
            entered = self.place_and_connection(&call) => entered?,
        };
        self.check(&call)?;
        let patience = self.patience(&call);
        // What is needed of it to know which task the answer is about.
        let about =
            self.idle.as_ref().map(|idle| (idle, ChildCall { arguments: None, progress: None, ..call.clone() }));
        // What has been told of the first time must not be told again: progress only grows.
        let again = call.repeatable.then(|| ChildCall { progress: None, ..call.clone() });
        let mut outcome = connection.call(call, patience).await;
        if let Some(again) = again {
            outcome = self.once_more(again, &connection, outcome).await;
        }
        if let (Some((idle, call)), Ok(reply)) = (about, &outcome)
            && let Some((id, lasting)) = task::seen(&call, reply)
        {
            idle.hold(id, lasting);
        }
        self.capped(outcome)
    }

    /// Whether what the call was judged by still holds, now that it could be sent.
    fn check(&self, call: &ChildCall) -> Result<(), ChildError> {
        match &call.still {
            Some(still) if !still.holds() => Err(ChildError::Changed { id: self.spec.id }),
            _ => Ok(()),
        }
    }

    async fn place_and_connection(&self, call: &ChildCall) -> Result<(Option<Place>, Connection), ChildError> {
        // Who asks after a task waits for nobody, nor does anybody wait for who waits for its result.
        let place = if call.method.is_about_tasks() {
            None
        } else {
            match self.queue.try_enter() {
                Some(place) => Some(place),
                None => Some(self.wait_for_place(call.caller).await?),
            }
        };
        Ok((place, self.connection().await?))
    }

    async fn wait_for_place(&self, caller: Caller) -> Result<Place, ChildError> {
        let id = self.spec.id;
        match timeout(self.call_timeout, self.queue.enter(caller)).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(Full)) => Err(ChildError::Busy { id, limit: MAX_WAITING }),
            Err(_) => Err(ChildError::Crowded { id, limit: self.queue.limit(), after: self.call_timeout }),
        }
    }

    /// Makes a call again that the end of `used`, or a fault on the way that may pass, has cut off. What it came to
    /// `first` counts otherwise, and if the server is not back in time.
    async fn once_more(
        &self,
        call: ChildCall,
        used: &Connection,
        first: Result<ChildReply, ChildError>,
    ) -> Result<ChildReply, ChildError> {
        let next = async {
            match &first {
                Err(ChildError::Exited { .. }) => {
                    timeout(REPEAT_WAIT, self.successor(used, REPEAT_WAIT)).await.ok().flatten()
                }
                Err(ChildError::Http { is_passing: true, .. }) => {
                    sleep(MOMENT).await;
                    Some(used.clone())
                }
                _ => None,
            }
        };
        tokio::select! {
            biased;
            // An answer counts, even if nobody wants it any more.
            () = call.cancelled.cancelled(), if first.is_err() => {
                return Err(ChildError::Cancelled { id: self.spec.id });
            }
            next = next => {
                if let Some(connection) = next {
                    self.check(&call)?;
                    let patience = self.patience(&call);
                    return connection.call(call, patience).await;
                }
            }
        }
        first
    }
}
