//! evokore: one MCP server in front of many, whose configuration is compiled.
//!
//! # Where things are
//!
//! | module | what it is for |
//! |---|---|
//! | [`cli`] | arguments → command → exit code |
//! | [`catalog`] | the compiled tables, and look-ups in them |
//! | [`error`] | exit codes, and errors as a person reads them |
//! | [`env_vars`], [`dotenv`], [`settings`] | every variable, the `.env` file, and what they decide at start |
//! | [`config_dir`] | where the configuration lies at run time |
//! | [`wire`] | JSON-RPC frames as bytes: lines, envelopes, splicing |
//! | [`server`] | the MCP front: stdio, the rmcp lanes, sessions' notifications, shutdown |
//! | [`app`], [`session`] | what the process shares, what one client's session holds |
//! | [`listing`] | `tools/list`: merged catalog, projection, schema mode, pages |
//! | [`discovery`] | search over compiled and live tools |
//! | [`calls`] | `tools/call`: one straight line of gates |
//! | [`audit`] | who called what and what came of it, in a chain of lines |
//! | [`child`] | child servers: launch, connection, boot, status |
//! | [`native`] | the native tools' handlers, beside their definitions |
//! | [`skills`], [`resources`], [`prompts`] | the skill library and what MCP serves of it |
//! | [`offers`] | resources, prompts and completions, our own and those of child servers |
//! | [`results`] | large results of child servers, read on page by page |
//! | [`state`] | what is kept on disk |
//! | [`calendar`], [`members`], [`suggest`], [`log`], [`instructions`] | small parts |
//!
//! # Invariants
//!
//! 1. Only [`server`] knows rmcp. [`listing`], [`discovery`] and [`catalog`] are pure: no I/O, no await, no clock.
//! 2. Only the transport writes to stdout.
//! 3. The handshake waits for no child, no file under `SKILLS/`, no network.
//! 4. `tools/list` reads one immutable snapshot; a finished boot swaps it. No lock is held across an await.
//! 5. A proxied call reaches a child only through [`calls::call`].
//! 6. Nothing that a client or a child sends can panic, hang or grow the process without bound.
//! 7. Same inputs, same bytes: catalog, `generated/`, release binary.

pub mod app;
pub mod audit;
pub mod calendar;
pub mod calls;
pub mod catalog;
pub mod child;
pub mod cli;
pub mod config_dir;
pub mod discovery;
pub mod dotenv;
pub mod env_vars;
pub mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
pub mod instructions;
pub mod listing;
pub mod log;
pub mod native;
pub mod offers;
pub mod prompts;
pub mod resources;
pub mod results;
pub mod server;
pub mod session;
pub mod settings;
pub mod skills;
pub mod state;
pub mod tasks;
pub mod wire;
