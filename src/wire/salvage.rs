//! What can be told of a JSON object from its first or last bytes, when it cannot be read as a whole: so that the one
//! request it belongs to fails at once and nothing else does. SDKs write the id before the payload or after it.

use serde_json::value::RawValue;

use super::envelope::is_id;

/// The members before the first nested value of an object that begins with `bytes`: keys without quotes, values as
/// JSON texts. Stops at what is not complete.
pub(crate) fn scalars(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = bytes.trim_ascii_start().strip_prefix(b"{");
    std::iter::from_fn(move || {
        let (key, value) = member(rest?)?;
        let (value, next) = scalar(value)?;
        rest = Some(next);
        Some((key, value))
    })
}

/// The JSON text of the `id` member if it is the last one of an object that ends with `bytes`.
pub(crate) fn id_in_tail(bytes: &[u8]) -> Option<&[u8]> {
    let object = bytes.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let colon = object.iter().rposition(|byte| *byte == b':')?;
    object[..colon].trim_ascii_end().strip_suffix(b"\"id\"")?;
    Some(object[colon + 1..].trim_ascii())
}

/// The id of the request that a line with this beginning and this end was.
pub(crate) fn request_id<'a>(head: &'a [u8], tail: &'a [u8]) -> Option<&'a str> {
    let (mut is_request, mut id) = (false, None);
    for (key, value) in scalars(head) {
        match key {
            b"method" => is_request = true,
            b"id" => id = Some(value),
            _ => {}
        }
    }
    let id = std::str::from_utf8(id.or_else(|| id_in_tail(tail))?).ok()?;
    let is_valid = is_request && is_id(id) && serde_json::from_str::<&RawValue>(id).is_ok();
    is_valid.then_some(id)
}

/// The key at the beginning, and what follows its colon.
fn member(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, rest) = string(text.trim_ascii_start())?;
    Some((key, rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start()))
}

/// The value at the beginning, if it is not nested and a comma follows: it, and what follows the comma.
fn scalar(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (value, rest) = match text.first()? {
        b'{' | b'[' => return None,
        b'"' => string(text)?,
        _ => text.split_at(text.iter().position(|byte| *byte == b',')?),
    };
    Some((value, rest.trim_ascii_start().strip_prefix(b",")?))
}

/// A JSON string without its quotes, and what follows it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        match inner.get(at)? {
            b'"' => return Some((&inner[..at], &inner[at + 1..])),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_id_in_the_tail() {
        for (tail, id) in [
            (r#"text"}]},"jsonrpc":"2.0","id":3}"#, Some("3")),
            (r#"text"}]}, "id" : "31" } "#, Some("\"31\"")),
            (r#"text"}]},"jsonrpc":"2.0"}"#, None),
            (r#""xid":3}"#, None),
            (r#""id":}"#, Some("")),
            ("}", None),
            ("", None),
        ] {
            assert_eq!(id_in_tail(tail.as_bytes()), id.map(str::as_bytes), "{tail}");
        }
    }

    #[test]
    fn finds_the_request_in_head_or_tail() {
        for (head, tail, id) in [
            (r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"x":"aa"#, "aa\"}}", Some("17")),
            (
                r#"{"method":"tools/call","params":{"x":"aa"#,
                r#"aa"},"jsonrpc":"2.0","id":"a\u0062"}"#,
                Some(r#""a\u0062""#),
            ),
            (r#"{"method":"tools/call","params":{"x":"aa"#, r#"aa"},"jsonrpc":"2.0","id":1.5}"#, None),
            (r#"{"method":"tools/call","params":{"x":"aa"#, r#"aa"},"jsonrpc":"2.0"}"#, None),
            (r#"{"method":"tools/call","params":{"x":"aa"#, r#""id":}"#, None),
            (r#"{"jsonrpc":"2.0","id":17,"result":{"x":"aa"#, "aa\"}}", None),
            ("xxxx", "xxxx", None),
        ] {
            assert_eq!(request_id(head.as_bytes(), tail.as_bytes()), id, "{head}…{tail}");
        }
    }
}
