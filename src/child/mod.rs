//! Child servers: started, spoken to in bytes, watched, stopped. Each is live and untrusted; neither a slow, a noisy,
//! a lying nor a dying one is felt by anyone but its own callers.
//!
//! ```text
//! boot        all servers: handle, start, call, status, shutdown; the sentinel line
//! supervisor  one server's life: launch → handshake → follow its list → end → back off → again
//! server      its phase and facts; waiting for it; idle: its sleep
//! calling     one call: queue (a place), a connection, perhaps a second time
//! launch      the only place that starts a process, from what resolve, environment and programs work out
//! process     its end, and the end of its whole group; stderr: the last it said
//! guard       the end of all groups when we are killed
//! connection  requests, time-outs, cancellation over any reader and writer
//!   incoming    lines → message (or salvage) → pending: answers, progress
//!   questions   what it asks its clients, see client
//!   frames      what is sent
//! remote      servers that are there already; http: the same connection over HTTP
//! handshake   initialize and the lists, modern what takes its place in 2026-07-28; tools reads a list leniently
//! memory      which of the two a child knows, from start to start
//! task        ids of tasks as clients know them, and what their answers tell
//! offers      what a child has besides tools: its lists, followed; changes: what it says to have changed
//! ```
//!
//! Nothing here knows rmcp or types of the protocol beyond the members that decide: an answer passes as the bytes
//! that came. Gates (permission, approval) lie before [`Children::call`], in `calls`.

mod backoff;
mod boot;
mod call;
mod calling;
mod changes;
mod client;
mod connection;
mod environment;
mod error;
mod frames;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
#[cfg(unix)]
mod guard;
mod handshake;
#[cfg(feature = "http")]
mod http;
mod idle;
mod incoming;
mod launch;
mod logging;
mod memory;
mod message;
mod modern;
mod news;
mod noise;
mod offers;
mod pending;
mod process;
mod programs;
mod questions;
mod queue;
mod remote;
mod resolve;
mod salvage;
mod server;
mod settings;
mod stats;
mod status;
mod stderr;
mod supervisor;
pub mod task;
mod tools;

pub use boot::{ChildSink, Children, Life};
pub use call::{ChildCall, ChildReply, Method, ProgressSender, Still, Taker};
pub use client::{Answering, Capabilities, Client, News, Presence, Question, Topic};
pub use connection::{Connection, Patience};
pub use error::{ChildError, Size};
#[cfg(unix)]
pub use guard::{ARGUMENT as GUARD, run as run_guard};
#[cfg(feature = "http")]
pub use http::{Line, LoginError, Logout, login, logout};
pub use launch::{LaunchError, Launched, Launcher, Wires};
pub use logging::Level;
pub use process::{Exit, Group};
pub use queue::Caller;
pub use settings::{ChildSettings, Lookup, Names, Say};
pub use stats::Stats;
pub use status::{ChildStatus, ConnectionType, DriftStatus, Status};
pub use tools::{ChildEntry, ChildTool, SkippedTool, Taken};
