//! `tools/list`: snapshot → projection → schema mode → page → bytes. Pure but for the session's own state.
//!
//! - [`merged`]: what exists (compiled natives and locks, live tools of child servers), one immutable snapshot;
//! - [`live`]: rendering the tools of a child server once, when it has booted;
//! - [`drift`]: how those tools stand to their lock, and what their definitions hold;
//! - [`projection`]: which of them a session sees;
//! - [`list`]: the answer as segments of bytes that are already rendered.

pub mod drift;
pub mod list;
pub mod live;
pub mod merged;
pub mod projection;
