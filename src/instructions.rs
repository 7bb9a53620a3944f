//! The `instructions` of the handshake: what a model that has seen no tool yet needs, in the words a user would say.

/// Sent once per connection, so every word costs every session.
pub const INSTRUCTIONS: &str = "One server for many: files, git, GitHub, databases, voice and other connected tools, plus a library of \
engineering skills. Not every tool is listed. To find one, call discover_tools with what you want to do; describe_tool gives a \
schema; any tool can be called by its exact name, or through call_tool. For how to go about a task, call resolve_workflow. \
proxy_server_status tells which servers are up.";
