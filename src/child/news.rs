//! Passes on to a child what the client says to every server.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Capabilities, Client};
use super::connection::Connection;
use super::frames;

/// So long a child may take to change its level.
const PATIENCE: Duration = Duration::from_secs(10);

/// Passes the news on until the connection is over; `told` is what the child knows of the client, `logs` whether it has
/// the capability `logging`. Comes after the
/// handshake, so that nothing is said too early, and nothing is missed that is said during the boot.
pub(super) fn follow(connection: &Connection, client: &dyn Client, told: &Arc<Capabilities>, logs: bool) {
    let Some(mut news) = client.news() else { return };
    // It asks for the roots after this, if it does.
    let mut roots = news.borrow().roots;
    let mut level = None;
    let (connection, tells_roots) = (connection.clone(), told.tells_roots());
    tokio::spawn(async move {
        loop {
            let now = news.borrow_and_update().clone();
            if now.roots != roots && tells_roots {
                let _ = connection.send(frames::notification("notifications/roots/list_changed")).await;
            }
            roots = now.roots;
            if let Some(wanted) = now.level.filter(|wanted| logs && level != Some(*wanted)) {
                let params = format!("{{\"level\":\"{}\"}}", wanted.name());
                // One that refuses goes on as it likes; what the client does not want is not passed on anyway.
                let _ = connection.request("logging/setLevel", &params, PATIENCE).await;
                level = Some(wanted);
            }
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = connection.over() => return,
            }
        }
    });
}
