//! The compiler of evokore's configuration.
//!
//! ```text
//! inputs ──> parse ──> check ──> compile ──> emit     (OUT_DIR, by build.rs)
//!                                        └─> review   (generated/, by `cargo codegen`)
//! ```
//!
//! It never stops at the first problem: [`compile`] gives whatever model could be made and everything that is wrong
//! with the inputs. The same inputs give the same bytes: all folders are read in sorted order, and nothing depends on
//! hashing, time, host or path.
//!
//! | module | holds |
//! |---|---|
//! | [`inputs`] | every file that is read, and what a build watches |
//! | [`source`], [`problem`] | texts with places; findings with caret and hint |
//! | [`json`], [`yaml`] | values with the places they were read from |
//! | [`config`], [`permissions`], [`lock`], [`native_tools`] | one reader for each kind of input |
//! | [`lock_write`] | making locks |
//! | [`skills`], [`skill_graph`] | the skill library, and which skill leads to which |
//! | [`names`], [`tools`], [`profiles`] | what the catalog will hold, checked and counted |
//! | [`search_index`] | what words find a tool or a skill |
//! | [`tokens`] | token counts, cached by digest |
//! | [`emit`] | the catalog as Rust and blobs |
//! | [`review`] | the texts of `generated/` |
//! | [`build`], [`cli`] | the build script; `cargo codegen` |

pub mod budgets;
pub mod build;
pub mod cli;
pub mod config;
pub mod emit;
pub mod hostile;
pub mod inputs;
pub mod json;
pub mod leak;
pub mod lock;
pub mod lock_write;
pub mod model;
pub mod names;
pub mod native_tools;
pub mod permissions;
pub mod problem;
pub mod profiles;
pub mod review;
pub mod search_index;
pub mod skill_graph;
pub mod skills;
pub mod source;
pub mod tokens;
pub mod tools;
pub mod yaml;

pub use model::{Compilation, Model, compile};
