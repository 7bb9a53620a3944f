//! One spelling for equal JSON: what digests of definitions and of arguments are made of.

use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::members::Members;

/// How deep [`exact`] looks, as deep as a reader of JSON goes here.
const MAX_DEPTH: usize = 128;

/// `value` as compact JSON with the members of every object sorted by name.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// `json` in the spelling that it shares with just those texts that every reader takes for the same: blanks, escapes and
/// the order of members do not count. Of members with one name some readers take the first and some the last, so all
/// of them count, in their order; and numbers are as they were written, since some readers have more digits than
/// others. `None`: too deep, or no JSON.
pub fn exact(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    write_exact(json, 0, &mut out)?;
    Some(out)
}

/// SHA-256 of the [`exact`] spelling of `json`, hexadecimal; of a text without one, of the text.
pub fn exact_sha256(json: &str) -> String {
    hex_sha256(exact(json).as_deref().unwrap_or(json))
}

/// SHA-256 of the canonical form of `json`, hexadecimal. A text that cannot be read (too deep, a number out of range), or
/// that readers do not agree about because an object has two members of one name, is hashed as it is.
pub fn canonical_sha256(json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(value) if !has_twins(json) => value_sha256(&value),
        _ => hex_sha256(json),
    }
}

/// SHA-256 of the canonical form of `value`, hexadecimal.
pub fn value_sha256(value: &Value) -> String {
    hex_sha256(&canonical(value))
}

fn hex_sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// `bytes` as lower-case hexadecimal digits, two a byte.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        hex.push(digit(byte >> 4));
        hex.push(digit(byte & 15));
    }
    hex
}

fn write_exact(json: &str, depth: usize, out: &mut String) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut is_whole = true;
    match json.as_bytes().first()? {
        b'{' => {
            let mut members = Members::parse(json).ok()?.0;
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            sequence(members, ('{', '}'), out, |(key, value), out| {
                out.push_str(&Value::from(&*key).to_string());
                out.push(':');
                is_whole &= write_exact(value.get(), depth + 1, out).is_some();
            });
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            sequence(items, ('[', ']'), out, |item, out| {
                is_whole &= write_exact(item.get(), depth + 1, out).is_some();
            });
        }
        b'"' => out.push_str(&Value::from(serde_json::from_str::<String>(json).ok()?).to_string()),
        _ => out.push_str(json),
    }
    is_whole.then_some(())
}

/// Whether an object of a text that has been read has two members of one name.
fn has_twins(json: &str) -> bool {
    match json.trim_start().as_bytes().first() {
        Some(b'{') => Members::parse(json).is_ok_and(|members| {
            let mut keys: Vec<&str> = members.0.iter().map(|(key, _)| &**key).collect();
            keys.sort_unstable();
            keys.windows(2).any(|pair| pair[0] == pair[1]) || members.0.iter().any(|(_, value)| has_twins(value.get()))
        }),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(json)
            .is_ok_and(|items| items.iter().any(|item| has_twins(item.get()))),
        _ => false,
    }
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
    fn what_readers_may_take_for_different_things_is_different() {
        let one = r#"{"b": [1, {"y": null, "x": "\u00e9"}], "a": 1.50}"#;
        assert_eq!(exact(one).unwrap(), r#"{"a":1.50,"b":[1,{"x":"é","y":null}]}"#);
        for (one, other) in [
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#),
            (r#"{"x":[{"a":1,"\u0061":2}]}"#, r#"{"x":[{"a":2}]}"#),
        ] {
            assert_ne!(exact(one), exact(other), "{one}");
            assert_ne!(canonical_sha256(one), canonical_sha256(other), "{one}");
        }
        assert_ne!(exact("[18446744073709551617]"), exact("[18446744073709551616]"));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(exact(&nested(100)).is_some() && exact(&nested(200)).is_none() && exact("").is_none());
    }

    #[test]
    fn what_cannot_be_read_still_has_a_digest() {
        assert_eq!(canonical_sha256("{").len(), 64);
    }
}
