//! `discover_tools`: an exact name first, then the index over compiled and live tools, ranked by one score.
//!
//! Pure: no I/O, no await, no clock.

use evokore_catalog::search::{self, Options, Segment};

use crate::catalog::CATALOG;
use crate::listing::merged::{Merged, ToolRef};
use crate::listing::projection;
use crate::settings::Settings;

/// One tool found.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The tool.
    pub tool: ToolRef<'a>,
    /// Score relative to others of the same answer; an exact name scores [`EXACT`].
    pub score: u32,
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
pub const EXACT: u32 = u32::MAX;

/// Searches the tools that the active role may know of.
pub fn search<'a>(settings: &Settings, merged: &'a Merged, query: &str, limit: usize) -> Answer<'a> {
    let wanted = search::normalise_name(query);
    let mut found: Vec<Found<'a>> = merged
        .iter()
        .filter(|tool| {
            search::normalise_name(tool.name()) == wanted || search::normalise_name(tool.original()) == wanted
        })
        .map(|tool| Found { tool, score: EXACT })
        .collect();
    let live: Vec<u16> = (0u16..).take(CATALOG.servers.len()).filter(|at| merged.live(*at).is_some()).collect();
    let compiled = Segment::compiled(CATALOG.tool_index);
    let segments: Vec<&Segment> =
        compiled.iter().chain(live.iter().filter_map(|at| merged.live(*at)).map(|live| &live.index)).collect();
    // Tools that are compiled but overruled by a live server, denied or not listable leave gaps: ask for more.
    let hits = search::search(&segments, query, Options { limit: limit * 4 + CATALOG.tools.len(), ..Options::default() });
    for hit in hits.ranked {
        let tool = match (compiled.is_some(), hit.segment) {
            (true, 0) => merged.compiled(usize::from(hit.doc)),
            (has, at) => {
                live.get(at - usize::from(has)).and_then(|server| merged.live_tool(*server, usize::from(hit.doc)))
            }
        };
        if let Some(tool) = tool.filter(|tool| !found.iter().any(|known| known.tool.name() == tool.name())) {
            found.push(Found { tool, score: hit.score });
        }
    }
    found.retain(|found| projection::is_permitted(settings, found.tool) && found.tool.is_listable());
    found.truncate(limit);
    Answer { found, unmatched: hits.unmatched }
}
