//! Passes on to a child what the client says to every server.

use std::sync::Arc;

use super::client::{Capabilities, Client};
use super::connection::Connection;
use super::frames;

/// Passes the news on until the connection is over; `told` is what the child knows of the client. Comes after the
/// handshake, so that nothing is said too early, and nothing is missed that is said during the boot.
pub(super) fn follow(connection: &Connection, client: &dyn Client, told: &Arc<Capabilities>) {
    let mut news = client.news();
    // It asks for the roots after this, if it does.
    let mut roots = news.borrow_and_update().roots;
    let (connection, tells_roots) = (connection.clone(), told.tells_roots());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = connection.over() => return,
            }
            let now = news.borrow_and_update().clone();
            if now.roots != roots && tells_roots {
                let _ = connection.send(frames::notification("notifications/roots/list_changed")).await;
            }
            roots = now.roots;
        }
    });
}
