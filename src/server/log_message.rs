//! A child's log message on its way to the client: its level, and the name of the child in it.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::child::Level;
use crate::wire::frame::Frame;
use evokore_catalog::members::Members;

/// What a client gets that has not said what it wants; the specification leaves it to the server.
pub(super) const DEFAULT: Level = Level::Info;

/// The message of server `server` with parameters `params`, if it is at `from` or above; its `logger` names the server.
/// Everything else passes as it came; a level that nobody knows counts as `info`.
pub(super) fn frame(server: &str, params: &[u8], from: Level) -> Option<Frame> {
    let mut members = Members::parse(std::str::from_utf8(params).ok()?).ok()?;
    let text = |members: &Members<'_>, key| serde_json::from_str::<String>(members.last(key)?.get()).ok();
    let level = text(&members, "level").and_then(|name| Level::of(&name)).unwrap_or(Level::Info);
    if level < from {
        return None;
    }
    let logger = text(&members, "logger").map_or_else(|| server.to_owned(), |logger| format!("{server}/{logger}"));
    let logger: Box<RawValue> = RawValue::from_string(Value::from(logger).to_string()).ok()?;
    members.0.retain(|(key, _)| key != "logger");
    members.0.push(("logger".into(), &logger));
    Some(Frame::notification("notifications/message", Some(&members.to_json())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_their_server_and_keep_the_rest() {
        let sent = |params: &str, from| {
            frame("fs", params.as_bytes(), from).map(|frame| String::from_utf8(frame.0.concat()).unwrap())
        };
        let message = |params: &str| {
            Some(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{params}}}\n"))
        };
        for (params, from, expected) in [
            (r#"{"level":"info","data":1.10}"#, Level::Info, message(r#"{"level":"info","data":1.10,"logger":"fs"}"#)),
            (
                r#"{"logger":"a\"b","level":"error","data":{"x": 1}}"#,
                Level::Warning,
                message(r#"{"level":"error","data":{"x": 1},"logger":"fs/a\"b"}"#),
            ),
            (r#"{"level":"info","data":1}"#, Level::Notice, None),
            (r#"{"level":"loud"}"#, Level::Info, message(r#"{"level":"loud","logger":"fs"}"#)),
            ("7", Level::Debug, None),
        ] {
            assert_eq!(sent(params, from), expected, "{params}");
        }
    }
}
