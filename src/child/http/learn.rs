//! Lists of tools, as far as headers depend on them: learned when they are read, and read again when a server refuses a
//! call because of its headers (2026-07-28, basic/transports/streamable-http, Client Behavior).

use std::time::Duration;

use serde::Deserialize;
use tokio::time::sleep;

use crate::child::call::{ChildCall, ChildReply};
use crate::child::connection::{Connection, Patience};
use crate::child::error::ChildError;
use crate::child::modern::HEADER_MISMATCH;
use crate::child::tools::{Kind, Listing};

/// For a list to be read again.
const LEARNING: Duration = Duration::from_secs(10);

impl Connection {
    /// A list without the tools that cannot be called over HTTP as they want to be.
    pub(in crate::child) fn sifted(&self, kind: Kind, mut listing: Listing) -> Listing {
        let mirror = self.shared.mirror.get().filter(|_| kind == Kind::Tools && self.shared.is_modern());
        if let Some(mirror) = mirror {
            mirror.learn(&mut listing);
        }
        listing
    }

    /// After a call that came to `reply`: if it was refused because of its headers, reads the list of tools again.
    /// Whether the headers of this call are others since; nothing has been done yet in that case.
    pub(in crate::child) async fn learns_anew(
        &self,
        call: &ChildCall,
        reply: &Result<ChildReply, ChildError>,
        patience: Patience,
    ) -> bool {
        let Some(mirror) = self.shared.mirror.get().filter(|_| is_mismatch(reply)) else { return false };
        let changes = mirror.changes(&call.tool);
        self.shared.changes.tools.mark();
        tokio::select! {
            changes = changes => changes,
            () = sleep(patience.idle.min(LEARNING)) => false,
            () = call.cancelled.cancelled() => false,
        }
    }
}

fn is_mismatch(reply: &Result<ChildReply, ChildError>) -> bool {
    #[derive(Deserialize)]
    struct Error {
        code: i64,
    }
    let Ok(ChildReply::Error(error)) = reply else { return false };
    serde_json::from_slice(error).is_ok_and(|Error { code }| code == HEADER_MISMATCH)
}
