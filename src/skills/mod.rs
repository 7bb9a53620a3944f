//! The skill library at run time: what was compiled in, and over it what `refresh_skills` found on disk.
//!
//! | module | what it is for |
//! |---|---|
//! | [`skill`] | one skill, wherever it comes from |
//! | [`snapshot`] | an immutable view of all of them, with look-ups |
//! | [`library`] | the view of this moment, and how a refresh replaces it |
//! | [`requirements`] | what a skill asks of the others |
//! | [`resolve`] | which skills fit a text, best first |
//!
//! No file is read before somebody asks for a refresh. Names are looked up, never joined to a path.

mod disk;
pub mod library;
pub mod requirements;
pub mod resolve;
pub mod skill;
pub mod snapshot;
#[cfg(test)]
pub(crate) mod tests;

pub use library::{Library, RefreshError, Refreshed};
pub use skill::SkillRef;
pub use snapshot::{Compiled, Snapshot};
