//! JSON-RPC as bytes: split lines, read envelopes, write frames. Knows nothing of MCP's methods.

pub mod envelope;
pub mod frame;
pub(crate) mod lines;
pub mod outbox;
pub(crate) mod salvage;
