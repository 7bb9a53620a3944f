//! One line of a child, told apart: answer, request, notification. Values stay the bytes that came.

use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::call::ChildReply;

/// A message of a child server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// An answer to our request `id`.
    Answer { id: u64, reply: ChildReply },
    /// A request: its id as it came, its method and parameters.
    Request { id: Bytes, method: String, params: Option<Bytes> },
    /// A notification.
    Notification { method: String, params: Option<Bytes> },
    /// JSON-RPC, but nothing we can match: an answer to an id that is not ours, an object without a meaning.
    Stray,
}

/// A line that is no JSON object or array of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Noise;

/// Reads a line and hands each message to `each` (a batch, as 2025-03-26 allowed, holds several). Bytes that are not
/// UTF-8 become U+FFFD.
///
/// # Errors
/// [`Noise`]; the line may still hold an id, see [`super::salvage`].
pub(super) fn read(line: &Bytes, mut each: impl FnMut(Message)) -> Result<(), Noise> {
    let line = match std::str::from_utf8(line) {
        Ok(_) => line.clone(),
        Err(_) => Bytes::from(String::from_utf8_lossy(line).into_owned()),
    };
    let text = std::str::from_utf8(&line).map_err(|_| Noise)?;
    let text = text.trim_start_matches('\u{feff}').trim_ascii();
    match text.as_bytes().first() {
        Some(b'{') => {
            let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|_| Noise)?;
            each(envelope.message(&line));
        }
        Some(b'[') => {
            let batch: Vec<Envelope<'_>> = serde_json::from_str(text).map_err(|_| Noise)?;
            batch.into_iter().for_each(|envelope| each(envelope.message(&line)));
        }
        _ => return Err(Noise),
    }
    Ok(())
}

/// The members that decide; the last of equal names counts.
#[derive(Debug, Default)]
struct Envelope<'a> {
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    fn message(self, line: &Bytes) -> Message {
        let bytes = |raw: &RawValue| line.slice_ref(raw.get().as_bytes());
        let id = self.id.filter(|id| id.get() != "null");
        let method = self.method.and_then(|method| serde_json::from_str::<String>(method.get()).ok());
        match (id, method, self.result, self.error) {
            (Some(id), Some(method), ..) => Message::Request { id: bytes(id), method, params: self.params.map(bytes) },
            (None, Some(method), ..) => Message::Notification { method, params: self.params.map(bytes) },
            (Some(id), None, result, error) => {
                let error = error.filter(|error| error.get() != "null");
                let reply = match (error, result) {
                    (Some(error), _) => ChildReply::Error(bytes(error)),
                    (None, Some(result)) => ChildReply::Result(bytes(result)),
                    (None, None) => return Message::Stray,
                };
                // Some servers send the number back as text.
                match id.get().trim_matches('"').parse() {
                    Ok(id) => Message::Answer { id, reply },
                    Err(_) => Message::Stray,
                }
            }
            (None, None, ..) => Message::Stray,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "lowercase")]
        enum Member {
            Id,
            Method,
            Params,
            Result,
            Error,
            #[serde(other)]
            Other,
        }
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Envelope<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<'de>, A::Error> {
                let mut envelope = Envelope::default();
                while let Some(member) = map.next_key()? {
                    match member {
                        Member::Id => envelope.id = Some(map.next_value()?),
                        Member::Method => envelope.method = Some(map.next_value()?),
                        Member::Params => envelope.params = Some(map.next_value()?),
                        Member::Result => envelope.result = Some(map.next_value()?),
                        Member::Error => envelope.error = Some(map.next_value()?),
                        Member::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(line: &[u8]) -> Result<Vec<Message>, Noise> {
        let mut found = Vec::new();
        read(&Bytes::copy_from_slice(line), |message| found.push(message))?;
        Ok(found)
    }

    fn result(id: u64, text: &'static str) -> Message {
        Message::Answer { id, reply: ChildReply::Result(Bytes::from_static(text.as_bytes())) }
    }

    #[test]
    fn tells_messages_apart_and_keeps_their_bytes() {
        let notification = |params: Option<&'static str>| Message::Notification {
            method: "a/b".into(),
            params: params.map(|text| Bytes::from_static(text.as_bytes())),
        };
        for (line, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"z":1.10, "a":9007199254740993}}"#,
                result(7, r#"{"z":1.10, "a":9007199254740993}"#),
            ),
            (r#"{"result":{"__proto__":3},"jsonrpc":"2.0","id":"8"}"#, result(8, r#"{"__proto__":3}"#)),
            ("\u{feff} {\"id\":9,\"result\":null} \r", result(9, "null")),
            (r#"{"id":1,"result":{},"error":null}"#, result(1, "{}")),
            (
                r#"{"id":1,"error":{"code":-5,"message":"m","data":{"x":1}}}"#,
                Message::Answer {
                    id: 1,
                    reply: ChildReply::Error(Bytes::from_static(br#"{"code":-5,"message":"m","data":{"x":1}}"#)),
                },
            ),
            (r#"{"method":"a/b","params":{"p":1}}"#, notification(Some(r#"{"p":1}"#))),
            (r#"{"id":null,"method":"a/b"}"#, notification(None)),
            (
                r#"{"id":"srv-1","method":"ping"}"#,
                Message::Request { id: Bytes::from_static(b"\"srv-1\""), method: "ping".into(), params: None },
            ),
            (r#"{"id":1.5,"result":{}}"#, Message::Stray),
            (r#"{"id":-3,"result":{}}"#, Message::Stray),
            (r#"{"level":"info","msg":"listening"}"#, Message::Stray),
            (r#"{"id":null,"error":{"code":-32700}}"#, Message::Stray),
            (r#"{"method":5}"#, Message::Stray),
        ] {
            assert_eq!(messages(line.as_bytes()), Ok(vec![expected]), "{line}");
        }
        assert_eq!(messages(br#"[{"id":1,"result":1},{"id":2,"result":2}]"#), Ok(vec![result(1, "1"), result(2, "2")]));
    }

    #[test]
    fn noise_is_noise() {
        for line in
            ["Starting ✓", "{not json", "", "[INFO] x", "7", "\"text\"", "[1]", "{\"id\":1,\"result\":NaN}", "{}x"]
        {
            assert_eq!(messages(line.as_bytes()), Err(Noise), "{line}");
        }
    }

    #[test]
    fn bad_bytes_become_replacement_characters() {
        let found = messages(b"{\"id\":1,\"result\":{\"text\":\"caf\xe9\xff ok\"}}");
        assert_eq!(found, Ok(vec![result(1, "{\"text\":\"caf\u{fffd}\u{fffd} ok\"}")]));
    }

    #[test]
    fn nesting_does_not_exhaust_the_stack() {
        let deep = format!("{{\"id\":1,\"result\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(messages(deep.as_bytes()).map(|found| found.len()), Ok(1));
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line: Vec<u8>, text in "[{}\\[\\]\"a-z0-9:, \\\\-]{0,60}") {
            for line in [line, text.into_bytes()] {
                let _ = messages(&line);
                super::super::salvage::head(&line);
                super::super::salvage::id_in_tail(&line);
            }
        }
    }
}
