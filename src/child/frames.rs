//! The messages we send to a child, as bytes. Values of the caller are spliced in as they came.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::Value;

use super::call::{ChildCall, ChildReply, Method};

/// A request with parameters that are raw JSON.
pub(super) fn request(id: u64, method: &str, params: &str) -> Bytes {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n").into()
}

/// A request of a client. The progress token is the request's id.
pub(super) fn call(id: u64, call: &ChildCall) -> Bytes {
    let (id, name) = (id.to_string(), Value::from(call.tool.as_str()).to_string());
    let arguments = call.arguments.as_deref();
    let (others, meta) = (members(call.others.as_deref()), members(call.meta.as_deref()));
    let room =
        128 + [Some(name.as_bytes()), arguments, others, meta].iter().flatten().map(|part| part.len()).sum::<usize>();
    let mut out = BytesMut::with_capacity(room);
    out.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.put_slice(id.as_bytes());
    out.put_slice(b",\"method\":\"");
    out.put_slice(call.method.name().as_bytes());
    out.put_slice(b"\",\"params\":{");
    if call.method == Method::CallTool {
        out.put_slice(b"\"name\":");
        out.put_slice(name.as_bytes());
        out.put_u8(b',');
    }
    if let Some(arguments) = arguments {
        out.put_slice(b"\"arguments\":");
        put_raw(&mut out, arguments);
        out.put_u8(b',');
    }
    if let Some(others) = others {
        put_raw(&mut out, others);
        out.put_u8(b',');
    }
    out.put_slice(b"\"_meta\":{\"progressToken\":");
    out.put_slice(id.as_bytes());
    if let Some(meta) = meta {
        out.put_u8(b',');
        put_raw(&mut out, meta);
    }
    out.put_slice(b"}}}\n");
    out.freeze()
}

/// What stands between the braces of a raw JSON object; `None` when that is nothing, or it is no object.
pub(super) fn members(object: Option<&[u8]>) -> Option<&[u8]> {
    let inner = object?.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?.trim_ascii();
    (!inner.is_empty()).then_some(inner)
}

/// Appends raw JSON. A line end can only stand between its tokens, where a blank means the same.
fn put_raw(out: &mut BytesMut, raw: &[u8]) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        out.put_slice(&rest[..at]);
        out.put_u8(b' ');
        rest = &rest[at + 1..];
    }
    out.put_slice(rest);
}

/// A notification without parameters.
pub(super) fn notification(method: &str) -> Bytes {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n").into()
}

/// `notifications/cancelled` for our request `id`.
pub(super) fn cancelled(id: u64, reason: &str) -> Bytes {
    let reason = Value::from(reason);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id},\"reason\":{reason}}}}}\n"
    )
    .into()
}

/// The answer to the child's request `id` (raw JSON).
pub(super) fn reply(id: &[u8], reply: &ChildReply) -> Bytes {
    let (member, value): (&[u8], _) = match reply {
        ChildReply::Result(result) | ChildReply::InputRequired(result) | ChildReply::Task(result) => {
            (b",\"result\":", result)
        }
        ChildReply::Error(error) => (b",\"error\":", error),
    };
    let mut out = BytesMut::with_capacity(48 + id.len() + value.len());
    out.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    put_raw(&mut out, id);
    out.put_slice(member);
    put_raw(&mut out, value);
    out.put_slice(b"}\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_a_call() {
        for (arguments, others, meta, expected) in [
            (None, None, None, r#""_meta":{"progressToken":5}"#),
            (Some("{\"n\":1.10}"), Some("{}"), Some("{}"), r#""arguments":{"n":1.10},"_meta":{"progressToken":5}"#),
            (
                Some("{\n \"a\" :\r\n1}"),
                Some("{\"task\":{\"ttl\":1.10}}"),
                Some(" { } "),
                r#""arguments":{  "a" :  1},"task":{"ttl":1.10},"_meta":{"progressToken":5}"#,
            ),
            (Some("{}"), None, Some("{ \"v/x\": 1 }"), r#""arguments":{},"_meta":{"progressToken":5,"v/x": 1}"#),
            (None, Some("[1]"), Some("null"), r#""_meta":{"progressToken":5}"#),
        ] {
            let call = ChildCall {
                tool: "a\"b".into(),
                arguments: arguments.map(Bytes::from),
                others: others.map(Bytes::from),
                meta: meta.map(Bytes::from),
                ..ChildCall::default()
            };
            let frame = super::call(5, &call);
            let head = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a\"b","#;
            assert_eq!(String::from_utf8_lossy(&frame), format!("{head}{expected}}}}}\n"));
            serde_json::from_slice::<Value>(&frame).expect("valid JSON");
        }
    }

    #[test]
    fn answers_requests_of_the_child() {
        let result = ChildReply::Result(Bytes::from_static(b"{\"a\":\n1.0}"));
        assert_eq!(reply(b"\"s 1\"", &result), "{\"jsonrpc\":\"2.0\",\"id\":\"s 1\",\"result\":{\"a\": 1.0}}\n");
        let refusal = super::super::client::missing("roots/\"list\"");
        let refusal: Value = serde_json::from_slice(&reply(b"3", &refusal)).expect("valid JSON");
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&Value::from(3), &Value::from(-32601)));
        let note: Value = serde_json::from_slice(&cancelled(9, "gave \"up\"")).expect("valid JSON");
        assert_eq!((&note["params"]["requestId"], &note["params"]["reason"]), (&9.into(), &"gave \"up\"".into()));
    }
}
