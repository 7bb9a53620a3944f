//! One call of a server's tool: a place among those that the server works on, a connection, an answer; and once more
//! if the server dies of it and a second time does no harm.

use std::time::Duration;

use tokio::time::timeout;

use super::call::{ChildCall, ChildReply};
use super::connection::Connection;
use super::error::ChildError;
use super::idle::Idle;
use super::queue::{Caller, Full, MAX_WAITING, Place};
use super::server::Server;

/// A call that is made once more waits at most so long for its server to be back.
const REPEAT_WAIT: Duration = Duration::from_secs(5);

impl Server {
    /// Makes a call. A server that boots or sleeps is waited for, at most 30 s.
    pub(super) async fn call(&self, call: ChildCall) -> Result<ChildReply, ChildError> {
        // Before the connection is looked for, so that nobody puts the server to sleep in between.
        let _busy = self.idle.as_ref().map(Idle::busy);
        let (_place, connection) = tokio::select! {
            biased;
            // Looked at first: a call that was given up while it waited is not to reach the child.
            () = call.cancelled.cancelled() => return Err(ChildError::Cancelled { id: self.spec.id }),
            entered = self.place_and_connection(call.caller) => entered?,
        };
        // What has been told of the first time must not be told again: progress only grows.
        let again = call.repeatable.then(|| ChildCall { progress: None, ..call.clone() });
        let mut outcome = connection.call(call, self.patience()).await;
        if let (Err(ChildError::Exited { .. }), Some(again)) = (&outcome, again) {
            outcome = self.once_more(again, &connection, outcome).await;
        }
        self.capped(outcome)
    }

    async fn place_and_connection(&self, caller: Caller) -> Result<(Place, Connection), ChildError> {
        let place = match self.queue.try_enter() {
            Some(place) => place,
            None => self.wait_for_place(caller).await?,
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

    /// Makes a call again that the end of `dead` has cut off. What it came to `first` counts if the server is not back
    /// in time.
    async fn once_more(
        &self,
        call: ChildCall,
        dead: &Connection,
        first: Result<ChildReply, ChildError>,
    ) -> Result<ChildReply, ChildError> {
        tokio::select! {
            biased;
            () = call.cancelled.cancelled() => return Err(ChildError::Cancelled { id: self.spec.id }),
            next = timeout(REPEAT_WAIT, self.successor(dead, REPEAT_WAIT)) => {
                if let Ok(Some(connection)) = next {
                    return connection.call(call, self.patience()).await;
                }
            }
        }
        first
    }
}
