//! What the fuzz targets feed of this module, and what must hold of any input.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::call::ChildReply;
use super::message::{self, Message};
use super::salvage;
use super::tools::Pages;

/// A line of a child: what passes on of it is JSON that stands in the line.
pub(crate) fn message(line: &[u8]) {
    let is_text = std::str::from_utf8(line).is_ok();
    let line = Bytes::copy_from_slice(line);
    let passes = |part: &[u8]| {
        assert!(serde_json::from_slice::<&RawValue>(part).is_ok(), "not JSON: {part:?}");
        assert!(!is_text || memchr::memmem::find(&line, part).is_some(), "not in the line: {part:?}");
    };
    let _ = message::read(&line, |message| match message {
        Message::Answer {
            reply:
                ChildReply::Result(bytes)
                | ChildReply::InputRequired(bytes)
                | ChildReply::Task(bytes)
                | ChildReply::Error(bytes),
            ..
        } => passes(&bytes),
        Message::Request { id, .. } => passes(&id),
        Message::Notification { params, .. } => params.iter().for_each(|params| passes(params)),
        Message::Stray => {}
    });
    salvage::head(&line);
    salvage::id_in_tail(&line);
}

/// Results of `tools/list`, a page a line: every tool has a name of its own, and is an object.
pub(crate) fn list(pages: &[u8]) {
    const MAX_BYTES: usize = 1 << 20;
    let mut list = Pages::default();
    for page in pages.split(|byte| *byte == b'\n') {
        if !matches!(list.add(page, MAX_BYTES), Ok(Some(_))) {
            break;
        }
    }
    let listing = list.finish();
    let mut names = HashSet::new();
    for tool in &listing.tools {
        assert!(!tool.name.is_empty() && names.insert(&*tool.name), "{:?}", tool.name);
        assert!(tool.raw.get().starts_with('{'), "{:?}", tool.raw);
    }
}
