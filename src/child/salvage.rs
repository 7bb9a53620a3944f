//! The call that an answer belongs to which cannot be read as a whole.

use crate::wire::salvage;

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
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Head::Other;
    }
    let mut found = Head::Object;
    for (key, value) in salvage::scalars(bytes) {
        match (key, number(value)) {
            (b"method", _) => return Head::Method,
            (b"id", Some(id)) => found = Head::Answer(id),
            _ => {}
        }
    }
    found
}

/// The `id` member if it is the last one of an object that ends with `bytes`.
pub(super) fn id_in_tail(bytes: &[u8]) -> Option<u64> {
    number(salvage::id_in_tail(bytes)?)
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
}
