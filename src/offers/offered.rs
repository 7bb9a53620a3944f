//! What all children offer besides tools: one immutable value, swapped whole when a child's lists change.

use std::collections::HashMap;
use std::sync::Arc;

use super::address;
use super::render::Entry;
use crate::catalog::CATALOG;

/// The last lists of one server. They stay while it is not up.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    /// Whether the active role may know of them. Not before the server's tools have told.
    pub is_open: bool,
    /// In the child's order.
    pub resources: Arc<[Entry]>,
    /// Templates of resources.
    pub templates: Arc<[Entry]>,
    /// Prompts.
    pub prompts: Arc<[Entry]>,
}

/// The shelves of all servers.
#[derive(Debug, Default)]
pub struct Offered {
    /// By server index.
    shelves: Vec<Shelf>,
    /// By the child's own URI or template: the first open shelf that holds it.
    uris: HashMap<Box<str>, u16>,
    /// By exposed name.
    prompts: HashMap<Box<str>, (u16, usize)>,
}

impl Offered {
    /// The value in which server `server` has this shelf.
    #[must_use]
    pub fn with(&self, server: u16, shelf: Shelf) -> Offered {
        let mut shelves = self.shelves.clone();
        shelves.resize(CATALOG.servers.len(), Shelf::default());
        if let Some(place) = shelves.get_mut(usize::from(server)) {
            *place = shelf;
        }
        let (mut uris, mut prompts) = (HashMap::new(), HashMap::new());
        for (server, shelf) in (0u16..).zip(&shelves).filter(|(_, shelf)| shelf.is_open) {
            for entry in shelf.resources.iter().chain(&*shelf.templates) {
                uris.entry(entry.own.clone()).or_insert(server);
            }
            for (at, entry) in shelf.prompts.iter().enumerate() {
                prompts.entry(entry.exposed.clone()).or_insert((server, at));
            }
        }
        Offered { shelves, uris, prompts }
    }

    /// What server `server` has, whether it may be known of or not.
    pub fn shelf(&self, server: u16) -> Shelf {
        self.shelves.get(usize::from(server)).cloned().unwrap_or_default()
    }

    /// The shelves that may be known of, in configured order.
    pub fn open(&self) -> impl Iterator<Item = (u16, &Shelf)> {
        (0u16..).zip(&self.shelves).filter(|(_, shelf)| shelf.is_open)
    }

    /// The server whose resource has this own URI or template: the first in configured order that lists it, otherwise
    /// the first that has a template for it.
    pub fn lister(&self, uri: &str) -> Option<u16> {
        let by_template =
            || self.open().find(|(_, shelf)| shelf.templates.iter().any(|entry| address::matches(&entry.own, uri)));
        self.uris.get(uri).copied().or_else(|| by_template().map(|(server, _)| server))
    }

    /// The server and the child's own name of the prompt offered as `name`.
    pub fn prompt(&self, name: &str) -> Option<(u16, &str)> {
        let &(server, at) = self.prompts.get(name)?;
        let entry = self.shelves.get(usize::from(server))?.prompts.get(at)?;
        Some((server, &entry.own))
    }

    /// How a resource or template of server `server` stands in the list: under its own URI if that is fixed and no
    /// server before it has taken it.
    pub fn listed<'a>(&self, server: u16, entry: &'a Entry) -> &'a bytes::Bytes {
        match &entry.fixed {
            Some(fixed) if self.uris.get(&entry.own) == Some(&server) => fixed,
            _ => &entry.json,
        }
    }
}
