//! `discover_tools`: an exact name first, then the index over compiled and live tools, ranked by one score.
//!
//! Pure: no I/O, no await, no clock.

use std::sync::OnceLock;

use evokore_catalog::search::{self, Options, Scratch, Segment};

use crate::catalog::CATALOG;
use crate::listing::merged::{Merged, ToolRef};
use crate::listing::projection;
use crate::log;
use crate::settings::Settings;

/// One tool found.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The tool.
    pub tool: ToolRef<'a>,
    /// Above zero, comparable within one answer; an exact name has [`EXACT`].
    pub score: f32,
}

/// What a search gives.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Best first, at most as many as asked for.
    pub found: Vec<Found<'a>>,
    /// Words of the query that no tool has.
    pub unmatched: Vec<String>,
}

/// Score of an exact name: above any score of the index.
pub const EXACT: f32 = f32::INFINITY;

/// Searches the tools that the active role may know of and that can be called now.
pub fn search<'a>(settings: &Settings, merged: &'a Merged, query: &str, limit: usize) -> Answer<'a> {
    let usable = |tool: &ToolRef<'_>| tool.is_listable() && projection::is_permitted(settings, *tool);
    let mut found = exact(merged, query);
    found.retain(|found| usable(&found.tool));

    let live: Vec<(u16, &Segment)> =
        (0u16..).take(CATALOG.servers.len()).filter_map(|at| Some((at, merged.live(at)?.index.as_ref()?))).collect();
    let segments: Vec<&Segment> =
        compiled_segment().into_iter().chain(live.iter().map(|(_, segment)| *segment)).collect();
    let offset = segments.len() - live.len();
    let tool_of = |segment: usize, document: u16| match segment.checked_sub(offset) {
        None => merged.compiled(usize::from(document)),
        Some(at) => merged.live_tool(live[at].0, usize::from(document)),
    };
    let is_exact = |name: &str| found.iter().any(|known| known.tool.name() == name);
    let accept = |segment: usize, document: u16| {
        tool_of(segment, document).is_some_and(|tool| usable(&tool) && !is_exact(tool.name()))
    };
    let options = Options { limit, accept: Some(&accept), ..Options::default() };
    let hits = search::search(&segments, query, &options, &mut Scratch::default());
    let ranked: Vec<Found<'a>> = hits
        .ranked
        .iter()
        .filter_map(|hit| Some(Found { tool: tool_of(hit.segment, hit.document)?, score: hit.score }))
        .collect();
    found.extend(ranked);
    found.truncate(limit);
    Answer { found, unmatched: hits.unmatched }
}

/// The tools whose exposed or own name is the query.
fn exact<'a>(merged: &'a Merged, query: &str) -> Vec<Found<'a>> {
    let wanted = search::normalise_name(query);
    let is_it = |name: &str| search::normalise_name(name) == wanted;
    merged
        .iter()
        .filter(|tool| is_it(tool.name()) || is_it(tool.original()))
        .map(|tool| Found { tool, score: EXACT })
        .collect()
}

/// The compiled segment, opened on first use; opening reads its head only.
fn compiled_segment() -> Option<&'static Segment> {
    static SEGMENT: OnceLock<Option<Segment>> = OnceLock::new();
    SEGMENT
        .get_or_init(|| match Segment::new(CATALOG.tool_index) {
            Ok(segment) => Some(segment),
            Err(error) => {
                log::warn(&format!("search over compiled tools is off: {error}"));
                None
            }
        })
        .as_ref()
}
