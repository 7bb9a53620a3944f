//! What there is besides tools, of ours and of child servers: resources, their templates, prompts, and completion.
//!
//! ```text
//! address    where a child's resource is offered, and the way back
//! render     a child's entries, as bytes under their address
//! access     whether the active role may know of a server's
//! offered    all of them, one immutable value
//! list       the three lists
//! request    a request on its way to a child
//! locate     who offers a resource or a prompt
//! ask        reading, prompts, completion; watch: subscribing; answer: what the client is told
//! ```

mod access;
mod address;
mod answer;
mod ask;
mod list;
mod locate;
mod offered;
mod render;
mod request;
mod watch;

use std::sync::Arc;

pub use access::is_open;
pub use address::exposed;
pub use ask::ask;
pub use list::{List, list};
pub use offered::{Offered, Shelf};
pub use render::Entry;
pub use request::{Request, Target, failure, is_there, send, text, with_text};
pub use watch::{unwatch, watch};

use crate::catalog::CATALOG;
use crate::child::ChildEntry;

/// Renders the resources (`key` is `uri`) or templates (`uriTemplate`) of server `server`; notes tell what was mended.
pub fn resources(server: u16, key: &str, entries: &[ChildEntry], notes: &mut Vec<String>) -> Arc<[Entry]> {
    let id = CATALOG.servers[usize::from(server)].id;
    entries.iter().filter_map(|entry| render::resource(id, key, entry, notes)).collect()
}

/// Renders the prompts of server `server`.
pub fn prompts(server: u16, entries: &[ChildEntry], notes: &mut Vec<String>) -> Arc<[Entry]> {
    let id = CATALOG.servers[usize::from(server)].id;
    entries.iter().filter_map(|entry| render::prompt(id, entry, notes)).collect()
}
