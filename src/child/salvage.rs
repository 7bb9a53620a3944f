//! The id of an answer that cannot be read as a whole, from its first or last bytes: so the one call it belongs to
//! can fail at once and the others go on. SDKs write the id before the result or after it.

/// What the first bytes of a line say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head {
    /// The answer to this request.
    Answer(u64),
    /// An object that may be an answer; its id comes later.
    Object,
    /// A request or notification of the child.
    Method,
    /// No object.
    Other,
}

/// Looks at the members before the first nested value of a line that begins with `bytes`.
pub(super) fn head(bytes: &[u8]) -> Head {
    let Some(mut rest) = bytes.trim_ascii_start().strip_prefix(b"{") else { return Head::Other };
    let mut found = Head::Object;
    while let Some((key, value)) = member(rest) {
        let Some((scalar, next)) = scalar(value) else { break };
        match (key, number(scalar)) {
            (b"method", _) => return Head::Method,
            (b"id", Some(id)) => found = Head::Answer(id),
            _ => {}
        }
        rest = next;
    }
    found
}

/// The `id` member if it is the last one of an object that ends with `bytes`.
pub(super) fn id_in_tail(bytes: &[u8]) -> Option<u64> {
    let object = bytes.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let colon = object.iter().rposition(|byte| *byte == b':')?;
    object[..colon].trim_ascii_end().strip_suffix(b"\"id\"")?;
    number(object[colon + 1..].trim_ascii())
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

/// A whole number, perhaps in quotes.
fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text.trim_ascii()).ok()?.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_a_line_by_its_head() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":17,"result":{"con"#, Head::Answer(17)),
            (r#" { "id" : "5" , "re"#, Head::Answer(5)),
            (r#"{"a":true,"b":-1.5e3,"c":"x\"id\":9","id":4,"#, Head::Answer(4)),
            (r#"{"result":{"id":9,"#, Head::Object),
            (r#"{"jsonrpc":"2.0","id":17"#, Head::Object),
            (r#"{"id":"abc","#, Head::Object),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"#, Head::Method),
            (r#"{"method":"notifications/message","params":{"#, Head::Method),
            ("yyyyyyyy", Head::Other),
            ("", Head::Other),
        ] {
            assert_eq!(head(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn finds_the_id_in_the_tail() {
        for (tail, id) in [
            (r#"text"}]},"jsonrpc":"2.0","id":3}"#, Some(3)),
            (r#"text"}]}, "id" : "31" } "#, Some(31)),
            (r#"text"}]},"jsonrpc":"2.0"}"#, None),
            (r#""xid":3}"#, None),
            (r#""id":}"#, None),
            ("}", None),
            ("", None),
        ] {
            assert_eq!(id_in_tail(tail.as_bytes()), id, "{tail}");
        }
    }
}
