//! The answers to `resources/list`, `resources/templates/list` and `prompts/list`: our own entries, then server by
//! server as configured, each in its own order.

use bytes::Bytes;
use serde_json::Value;

use crate::app::App;
use crate::{prompts, resources};

/// Which list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

impl List {
    /// The list that `method` asks for.
    pub fn of(method: &str) -> Option<List> {
        match method {
            "resources/list" => Some(List::Resources),
            "resources/templates/list" => Some(List::Templates),
            "prompts/list" => Some(List::Prompts),
            _ => None,
        }
    }
}

/// The bytes of the `result` member; `tail` stands after the list, with its leading comma.
pub fn list(app: &App, list: List, tail: &'static str) -> Vec<Bytes> {
    let offered = app.offered();
    let own = match list {
        List::Resources => resources::list(app),
        List::Templates => resources::templates(),
        List::Prompts => prompts::list(),
    };
    let mut segments = vec![opened(&own)];
    for (server, shelf) in offered.open() {
        let entries = match list {
            List::Resources => &shelf.resources,
            List::Templates => &shelf.templates,
            List::Prompts => &shelf.prompts,
        };
        for entry in entries.iter() {
            segments.push(Bytes::from_static(b","));
            segments.push(offered.listed(server, entry).clone());
        }
    }
    segments.extend([Bytes::from_static(b"]"), Bytes::from_static(tail.as_bytes()), Bytes::from_static(b"}")]);
    segments
}

/// A result with one member, a list that is not empty, without its last two bytes.
fn opened(own: &Value) -> Bytes {
    let mut text = own.to_string();
    text.truncate(text.len().saturating_sub(2));
    text.into()
}
