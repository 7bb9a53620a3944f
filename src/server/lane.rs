//! The in-process transport between the front and rmcp: typed messages in, frames out.
//!
//! The service behind it is started without rmcp's own opening phase, in which any notification or unexpected request
//! ends the server. So one service speaks both eras, in any order, and the handshake is an ordinary request to it.

use std::convert::Infallible;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::in_flight::InFlight;
use crate::log;
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;

/// rmcp's end of the lane.
pub(super) struct Lane {
    pub(super) incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    pub(super) out: Outbox,
    pub(super) in_flight: InFlight,
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
            if let Some(frame) = frame {
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
