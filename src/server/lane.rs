//! The in-process transport between the front and rmcp: typed messages in, frames out.
//!
//! The service behind it is started with the first message for it, and without rmcp's own opening phase, in which any
//! notification or unexpected request ends the server. So one service speaks both eras, in any order.

use std::convert::Infallible;
use std::sync::{Mutex, OnceLock, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::service::{RunningService, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::handler::Handler;
use super::handshake::Client;
use super::in_flight::InFlight;
use crate::log;
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;

/// Messages that may be on their way to rmcp.
const QUEUE: usize = 64;

/// The front's end of the lane. Starts rmcp when the first message goes in.
pub(super) struct Protocol {
    handler: Mutex<Option<Handler>>,
    client: Mutex<Option<Client>>,
    service: OnceLock<(mpsc::Sender<ClientJsonRpcMessage>, RunningService<RoleServer, Handler>)>,
    out: Outbox,
    in_flight: InFlight,
}

impl Protocol {
    pub(super) fn new(handler: Handler, out: Outbox, in_flight: InFlight) -> Protocol {
        let handler = Mutex::new(Some(handler));
        Protocol { handler, client: Mutex::default(), service: OnceLock::new(), out, in_flight }
    }

    /// A client of the handshake era has introduced itself.
    pub(super) fn set_client(&self, client: Client) {
        if let Some((_, service)) = self.service.get()
            && let Some(client) = client.for_rmcp()
        {
            service.peer().set_peer_info(client);
        }
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
    }

    /// Sends a message to rmcp. The lane ends with the process.
    pub(super) async fn send(&self, message: ClientJsonRpcMessage) {
        if let Some(queue) = self.queue() {
            let _ = queue.send(message).await;
        }
    }

    /// Ends rmcp, and with it the subscriptions.
    pub(super) async fn end(self) {
        if let Some((_, service)) = self.service.into_inner() {
            let _ = service.cancel().await;
        }
    }

    /// Whether rmcp has been started.
    pub(super) fn is_started(&self) -> bool {
        self.service.get().is_some()
    }

    fn queue(&self) -> Option<&mpsc::Sender<ClientJsonRpcMessage>> {
        if self.service.get().is_none() {
            let handler = self.handler.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Client::for_rmcp);
            let (queue, incoming) = mpsc::channel(QUEUE);
            let lane = Lane { incoming, out: self.out.clone(), in_flight: self.in_flight.clone() };
            let service = rmcp::service::serve_directly(handler, lane, client);
            // Only one caller got the handler, so the place is free.
            let _ = self.service.set((queue, service));
        }
        self.service.get().map(|(queue, _)| queue)
    }
}

/// rmcp's end of the lane.
struct Lane {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Outbox,
    in_flight: InFlight,
}

impl Transport<RoleServer> for Lane {
    type Error = Infallible;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => serde_json::to_string(&response.id).ok(),
            JsonRpcMessage::Error(error) => error.id.as_ref().and_then(|id| serde_json::to_string(id).ok()),
            _ => None,
        };
        let frame = match serde_json::to_vec(&item) {
            Ok(mut line) => {
                line.push(b'\n');
                Some(Frame(vec![line.into()]))
            }
            Err(error) => {
                log::warn(&format!("an answer cannot be written as JSON: {error}"));
                None
            }
        };
        let (out, in_flight) = (self.out.clone(), self.in_flight.clone());
        async move {
            // An answer that the client has given up, or that nobody asked for, is not sent.
            let wanted = answered.as_ref().is_none_or(|id| in_flight.holds(id));
            if let Some(frame) = frame.filter(|_| wanted) {
                out.send(frame).await;
            }
            if let Some(id) = answered {
                in_flight.finish(&id);
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.incoming.close();
        Ok(())
    }
}
