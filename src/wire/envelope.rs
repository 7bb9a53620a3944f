//! One line of the client, told apart: request, notification, answer. Members stay the bytes that came, so an id is
//! echoed exactly as it was sent.

use std::borrow::Cow;

use serde_json::value::RawValue;

use evokore_catalog::members::Members;

/// JSON-RPC: the line is no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: the JSON is no request.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: there is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the server failed.
pub const INTERNAL_ERROR: i64 = -32603;

/// What a line of the client is.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// Blank.
    Nothing,
    /// Wants an answer.
    Request {
        /// The id's JSON text: a string or a whole number.
        id: &'a str,
        /// Method.
        method: Cow<'a, str>,
        /// Parameters.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// Method.
        method: Cow<'a, str>,
        /// Parameters.
        params: Option<&'a RawValue>,
    },
    /// An answer to a request of ours.
    Answer {
        /// The id's JSON text, if it is one.
        id: Option<&'a str>,
        /// What it was answered with.
        result: Option<&'a RawValue>,
        /// Why it was not; counts before a result.
        error: Option<&'a RawValue>,
    },
    /// Neither; to be answered with an error.
    Invalid {
        /// The id to answer, if one could be read.
        id: Option<&'a str>,
        /// JSON-RPC code.
        code: i64,
        /// What is wrong.
        message: &'static str,
    },
}

/// Reads one line, without its end. Total: any bytes give one of the variants.
pub fn read(line: &[u8]) -> Incoming<'_> {
    let Ok(text) = std::str::from_utf8(line) else {
        return Incoming::Invalid { id: None, code: PARSE_ERROR, message: "the line is not UTF-8" };
    };
    let text = text.trim_start_matches('\u{feff}').trim_ascii();
    match text.as_bytes().first() {
        None => Incoming::Nothing,
        Some(b'{') => match Members::parse(text) {
            Ok(members) => classify(&members),
            Err(_) => Incoming::Invalid { id: None, code: PARSE_ERROR, message: "the line is not JSON" },
        },
        Some(_) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => Incoming::Invalid {
            id: None,
            code: INVALID_REQUEST,
            message: "a line holds one JSON-RPC object; batches are not part of the protocol",
        },
        Some(_) => Incoming::Invalid { id: None, code: PARSE_ERROR, message: "the line is not JSON" },
    }
}

fn classify<'a>(members: &Members<'a>) -> Incoming<'a> {
    let id = members.last("id");
    let valid_id = id.map(RawValue::get).filter(|id| is_id(id));
    let invalid = |message| Incoming::Invalid { id: valid_id, code: INVALID_REQUEST, message };
    if members.last("jsonrpc").map(RawValue::get) != Some("\"2.0\"") {
        return invalid("`jsonrpc` must be \"2.0\"");
    }
    let Some(method) = members.last("method") else {
        let error = members.last("error").filter(|error| error.get() != "null");
        return match (members.last("result"), error) {
            (None, None) => invalid("there is neither `method` nor `result` nor `error`"),
            (result, error) => Incoming::Answer { id: valid_id, result, error },
        };
    };
    let method = match serde_json::from_str::<Text<'_>>(method.get()) {
        Ok(Text(method)) => method,
        Err(_) => return invalid("`method` must be a text"),
    };
    let params = members.last("params").filter(|params| params.get() != "null");
    if params.is_some_and(|params| !params.get().starts_with('{')) {
        return invalid("`params` must be an object");
    }
    match (id, valid_id) {
        (None, _) => Incoming::Notification { method, params },
        (Some(_), Some(id)) => Incoming::Request { id, method, params },
        (Some(_), None) => invalid("`id` must be a text or a whole number"),
    }
}

/// Strings and integers are ids; `null` and fractions are not (base protocol, Requests).
pub(super) fn is_id(id: &str) -> bool {
    id.starts_with('"') || id.strip_prefix('-').unwrap_or(id).bytes().all(|byte| byte.is_ascii_digit())
}

/// A JSON string, borrowed where it holds no escapes.
#[derive(serde::Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(line: &str) -> String {
        match read(line.as_bytes()) {
            Incoming::Nothing => "nothing".into(),
            Incoming::Request { id, method, params } => {
                format!("request {id} {method} {}", params.map_or("-", RawValue::get))
            }
            Incoming::Notification { method, params } => {
                format!("notification {method} {}", params.map_or("-", RawValue::get))
            }
            Incoming::Answer { id, result, error } => {
                let told = |raw: Option<&RawValue>| raw.map_or("-", RawValue::get).to_owned();
                format!("answer {} {} {}", id.unwrap_or("-"), told(result), told(error))
            }
            Incoming::Invalid { id, code, .. } => format!("invalid {} {code}", id.unwrap_or("-")),
        }
    }

    #[test]
    fn tells_lines_apart() {
        for (line, expected) in [
            ("", "nothing"),
            (" \t ", "nothing"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping -"),
            ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}", "request \"\" ping -"),
            (
                r#"{"jsonrpc":"2.0","id":-9007199254740993,"method":"a\/b","params":{ "x":1.10 }}"#,
                r#"request -9007199254740993 a/b { "x":1.10 }"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#,
                "notification notifications/initialized -",
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":{ "a":1.0}}"#, r#"answer 1 { "a":1.0} -"#),
            (r#"{"jsonrpc":"2.0","id":"x","result":1,"error":null}"#, r#"answer "x" 1 -"#),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#, r#"answer - - {"code":1}"#),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "invalid - -32600"),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, "invalid 7 -32600"),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, "invalid 7 -32600"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}"#, "invalid 7 -32600"),
            (r#"{"jsonrpc":"2.0","id":7}"#, "invalid 7 -32600"),
            ("[]", "invalid - -32600"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "invalid - -32600"),
            ("7", "invalid - -32600"),
            ("garbage", "invalid - -32700"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, "invalid - -32700"),
        ] {
            assert_eq!(told(line), expected, "{line}");
        }
        assert!(matches!(read(b"\xff\xfe{}"), Incoming::Invalid { code: PARSE_ERROR, .. }));
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{deep}}}}}}}"#
        );
        assert!(matches!(read(line.as_bytes()), Incoming::Request { id: "1", .. } | Incoming::Invalid { .. }));
        assert!(matches!(read(deep.as_bytes()), Incoming::Invalid { .. }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_told_apart(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_damage_to_a_request_is_told_apart(at in 0usize..60, byte: u8, cut in 0usize..60) {
            let mut line = br#"{"jsonrpc":"2.0","id":12,"method":"tools/list","params":{}}"#.to_vec();
            line[at % 58] = byte;
            line.truncate(line.len() - cut);
            let _ = read(&line);
        }

        #[test]
        fn ids_are_echoed_as_sent(number: i64, text: String) {
            for id in [number.to_string(), serde_json::to_string(&text).unwrap()] {
                let line = format!(r#"{{"method":"ping","id": {id} ,"jsonrpc":"2.0"}}"#);
                match read(line.as_bytes()) {
                    Incoming::Request { id: read, .. } => prop_assert_eq!(read, id),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }
}
