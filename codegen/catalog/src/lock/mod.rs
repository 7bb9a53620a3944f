//! Locks: the tools of a child server as they were when somebody looked at them. `evokore lock` and `cargo codegen
//! lock` write them, the build compiles them, and live servers are held against them.
//!
//! - [`file`]: the format on disk;
//! - [`recording`]: what a lock is made from;
//! - [`diff`]: what is different between two lists of tools, with [`words`] for texts;
//! - [`drift`]: the same for one tool and a digest, as a server that has just booted is judged.

pub mod diff;
pub mod drift;
pub mod file;
pub mod recording;
pub mod words;
