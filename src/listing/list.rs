//! The answer to `tools/list`, as segments of bytes that exist already: slices of the compiled blobs, in which a run
//! of consecutive tools is one slice, and the fragments rendered when a child server booted.

use bytes::Bytes;
use evokore_catalog::profile::SchemaMode;
use evokore_catalog::tool::{Span, ToolEntry};

use super::merged::{Merged, ToolRef};
use super::projection::{self, Revealed};
use crate::catalog::CATALOG;
use crate::settings::Settings;

/// What a list is made from.
#[derive(Debug, Clone, Copy)]
pub struct ListRequest<'a> {
    /// What the session's list holds besides what its profile shows.
    pub revealed: &'a Revealed,
    /// Effective schema mode.
    pub schema_mode: SchemaMode,
    /// Cursor of the request.
    pub cursor: Option<&'a str>,
    /// Counts the session's `list_changed` messages; a cursor of another epoch starts over.
    pub epoch: u64,
    /// Members that stand after `tools` in the result, each with its leading comma (`resultType`, `ttlMs` …).
    pub tail: &'static str,
}

/// The bytes of the `result` member of the answer.
pub fn list(settings: &Settings, merged: &Merged, request: ListRequest<'_>) -> Vec<Bytes> {
    let tools =
        merged.iter().filter(|tool| tool.is_listable() && projection::is_visible(settings, *tool, request.revealed));
    let mut body = Body::new(request.schema_mode);
    let mut next = None;
    if request.cursor.is_some() || settings.paginate {
        let offset = request.cursor.and_then(|cursor| parse_cursor(cursor, request.epoch)).unwrap_or(0);
        let mut page = tools.skip(offset);
        page.by_ref().take(settings.page_size).for_each(|tool| body.push(settings, tool));
        next = page.next().map(|_| format!("{}.{}", offset + settings.page_size, request.epoch));
    } else {
        tools.for_each(|tool| body.push(settings, tool));
    }
    body.finish(next, request.tail)
}

/// A cursor is `offset.epoch`. Malformed and stale ones start over, which never loses a tool.
fn parse_cursor(cursor: &str, epoch: u64) -> Option<usize> {
    let (offset, of) = cursor.split_once('.')?;
    (of.parse() == Ok(epoch)).then_some(())?;
    offset.parse().ok()
}

struct Body {
    mode: SchemaMode,
    segments: Vec<Bytes>,
    /// The compiled run that is being extended.
    run: Option<Span>,
    empty: bool,
}

impl Body {
    fn new(mode: SchemaMode) -> Body {
        Body { mode, segments: vec![Bytes::from_static(b"{\"tools\":[")], run: None, empty: true }
    }

    fn push(&mut self, settings: &Settings, tool: ToolRef<'_>) {
        // A placeholder takes any argument.
        if self.mode == SchemaMode::Full
            && let Some(advertised) = projection::advertised(settings, tool)
        {
            self.flush();
            self.comma();
            return self.segments.push(advertised.full.clone());
        }
        match tool {
            ToolRef::Compiled(_, entry) => self.push_compiled(entry),
            ToolRef::Live(_, _, tool) => {
                self.flush();
                self.comma();
                self.segments.push(match self.mode {
                    SchemaMode::Full => tool.full.clone(),
                    SchemaMode::Deferred => tool.deferred.clone(),
                });
            }
        }
    }

    fn push_compiled(&mut self, entry: &'static ToolEntry) {
        let Some(json) = entry.json else { return };
        let span = match self.mode {
            SchemaMode::Full => json.full,
            SchemaMode::Deferred => json.deferred,
        };
        match &mut self.run {
            // One comma lies between neighbours in the blob.
            Some(run) if run.start + run.len + 1 == span.start => run.len += span.len + 1,
            _ => {
                self.flush();
                self.comma();
                self.run = Some(span);
            }
        }
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.segments.push(Bytes::from_static(b","));
        }
    }

    fn flush(&mut self) {
        if let Some(run) = self.run.take() {
            let blob = match self.mode {
                SchemaMode::Full => CATALOG.full_blob,
                SchemaMode::Deferred => CATALOG.deferred_blob,
            };
            self.segments.push(Bytes::from_static(run.of(blob)));
        }
    }

    fn finish(mut self, next: Option<String>, tail: &'static str) -> Vec<Bytes> {
        self.flush();
        self.segments.push(match next {
            None => Bytes::from_static(b"]"),
            Some(cursor) => format!("],\"nextCursor\":\"{cursor}\"").into(),
        });
        self.segments.push(Bytes::from_static(tail.as_bytes()));
        self.segments.push(Bytes::from_static(b"}"));
        self.segments
    }
}
