//! Child servers over HTTP (Streamable HTTP of 2025-03-26 to 2026-07-28, and HTTP+SSE of 2024-11-05).
//!
//! The connection is the same as over pipes; only how frames leave and messages come differs:
//!
//! ```text
//! link        takes each frame of the connection on its way
//!   exchange    request → POST → JSON or a stream → the connection; what is tried again
//!   old         the one stream of a server of 2024-11-05
//!   listen      what the server says unasked (GET)
//!   session     what has been agreed on; frame tells ours apart; mirror: arguments that are repeated in headers;
//!               learn: which those are
//! endpoint    address and headers; the only place that makes a request
//! client      connections (connect: name, TCP, proxy, TLS), bodies; sse reads streams
//! auth        logging in, and what requests carry then
//! failure     why there was no answer; pause: how long it wants to be left alone
//! ```

mod address;
mod auth;
mod client;
mod connect;
mod endpoint;
mod exchange;
mod failure;
mod frame;
mod learn;
mod link;
mod listen;
mod mirror;
mod old;
mod pause;
mod proxy;
mod session;
mod sse;

pub use auth::{LoginError, Logout, login, logout};
pub(super) use client::Client;
use endpoint::Endpoint;
pub use link::Line;
pub(super) use link::run;
pub(super) use mirror::Mirror;

use std::path::Path;

use evokore_catalog::server::Dialect;
use tokio_util::sync::CancellationToken;

use super::launch::{Launched, Wires};
use super::process::Group;
use super::remote::Remote;
use crate::state::tokens;
use auth::Access;

/// The endpoint at `remote`, with what a login there has left below the state folder `home`.
///
/// # Errors
/// As for [`Endpoint::new`].
pub(super) fn endpoint(remote: &Remote, client: Client, home: Option<&Path>) -> Result<Endpoint, String> {
    let endpoint = Endpoint::new(&remote.url, &remote.headers, client.clone())?;
    let Some(home) = home else { return Ok(endpoint) };
    let path = tokens::path(home, remote.id, &remote.url);
    Ok(endpoint.with_access(Access::new(path, remote, client)))
}

/// A server that is to be spoken to at `endpoint`. It "ends" when it has heard that its session does.
pub(super) fn launched(endpoint: Endpoint, dialect: Dialect) -> Launched {
    let closed = CancellationToken::new();
    let end = closed.clone();
    Launched {
        wires: Wires::Http(Box::new(Line { endpoint, dialect, closed: closed.clone() })),
        stderr: None,
        exit: Box::pin(async move {
            end.cancelled().await;
            "ended its session".to_owned()
        }),
        group: Box::new(NoProcess(closed)),
    }
}

/// There is nothing on this machine to end.
struct NoProcess(CancellationToken);

impl Group for NoProcess {
    fn terminate(&self) {}
    fn kill(&self) {
        self.0.cancel();
    }
    fn is_empty(&self) -> bool {
        true
    }
}
