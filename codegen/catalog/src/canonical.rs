//! One spelling for equal JSON: what digests of definitions and of arguments are made of.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// `value` as compact JSON with the members of every object sorted by name.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// SHA-256 of the canonical form of `json`, hexadecimal. A text that cannot be read (too deep, a number out of range)
/// is hashed as it is.
pub fn canonical_sha256(json: &str) -> String {
    serde_json::from_str::<Value>(json).map_or_else(|_| hex_sha256(json), |value| value_sha256(&value))
}

/// SHA-256 of the canonical form of `value`, hexadecimal.
pub fn value_sha256(value: &Value) -> String {
    hex_sha256(&canonical(value))
}

fn hex_sha256(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        hex.push_str(&format!("{byte:02x}"));
    }
    hex
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| key.as_str());
            sequence(members, ('{', '}'), out, |(key, value), out| {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            });
        }
        Value::Array(items) => sequence(items, ('[', ']'), out, write),
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn sequence<T>(
    items: impl IntoIterator<Item = T>,
    (open, close): (char, char),
    out: &mut String,
    mut one: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        one(item, out);
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_members_and_blanks_do_not_count() {
        let one = r#"{"b": [1, {"y": null, "x": "\u00e9"}], "a": 1.5}"#;
        let other = r#"{"a":1.5,"b":[1,{"x":"é","y":null}]}"#;
        assert_eq!(canonical(&serde_json::from_str(one).unwrap()), other);
        assert_eq!(canonical_sha256(one), canonical_sha256(other));
        assert_ne!(canonical_sha256(one), canonical_sha256(r#"{"a":1.5,"b":[{"x":"é","y":null},1]}"#));
    }

    #[test]
    fn what_cannot_be_read_still_has_a_digest() {
        assert_eq!(canonical_sha256("{").len(), 64);
    }
}
