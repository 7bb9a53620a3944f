//! Arguments as a person sees them: everything that a child may read in them, but for secrets.

use std::borrow::Cow;

use evokore_catalog::hostile::visible;
use evokore_catalog::members::Members;
use serde_json::Value;
use serde_json::value::RawValue;

/// How deep objects and lists may lie in each other; what is deeper is not shown.
const MAX_DEPTH: usize = 128;
/// In place of what is not shown.
const HIDDEN: &str = "***";
/// In place of what cannot be read.
const UNREADABLE: &str = "(not JSON)";

/// `arguments`, a JSON text, in at most `most` characters and a word on how many more there are. Values under keys that name
/// secrets are masked, characters that do not show are made visible. Members of one name are all there, and numbers and
/// texts are as they were written, since the child may read them in its own way.
pub fn preview(arguments: &str, most: usize) -> String {
    let mut out = String::with_capacity(arguments.len().min(4 * most));
    if write(arguments.trim(), 0, &mut out).is_none() {
        return UNREADABLE.to_owned();
    }
    let shown = visible(&out);
    match shown.char_indices().nth(most) {
        Some((end, _)) => format!("{}… and {} more characters", &shown[..end], shown[end..].chars().count()),
        None => shown,
    }
}

fn write(json: &str, depth: usize, out: &mut String) -> Option<()> {
    if depth > MAX_DEPTH {
        out.push_str(HIDDEN);
        return Some(());
    }
    match json.as_bytes().first()? {
        b'{' => {
            out.push('{');
            for (at, (key, value)) in Members::parse(json).ok()?.0.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                out.push_str(&Value::from(&**key).to_string());
                out.push(':');
                if is_secret(key) { out.push_str("\"***\"") } else { write(value.get(), depth + 1, out)? }
            }
            out.push('}');
        }
        b'[' => {
            out.push('[');
            for (at, item) in serde_json::from_str::<Vec<&RawValue>>(json).ok()?.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item.get(), depth + 1, out)?;
            }
            out.push(']');
        }
        b'"' => out.push_str(&text(json)),
        _ => out.push_str(serde_json::from_str::<&RawValue>(json).ok()?.get()),
    }
    Some(())
}

/// A JSON text without needless escapes; one that is no Unicode stays as it was written.
fn text(json: &str) -> Cow<'_, str> {
    match serde_json::from_str::<String>(json) {
        Ok(text) if text.to_lowercase().starts_with("bearer ") => Cow::Borrowed("\"Bearer ***\""),
        Ok(text) => Cow::Owned(Value::from(text).to_string()),
        Err(_) => Cow::Borrowed(json),
    }
}

fn is_secret(key: &str) -> bool {
    const PARTS: [&str; 10] = [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "secret",
        "token",
        "credential",
        "authorization",
        "cookie",
        "api_key",
    ];
    let key = key.to_lowercase();
    PARTS.iter().any(|part| key.contains(part))
        || key.ends_with("key")
        || matches!(&*key, "pwd" | "auth" | "pin" | "pass")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_at_every_depth() {
        for (given, shown) in [
            (
                r#"{"path":"a","x":{"api_key":"k1","list":[{"Password":"p"}]},"n":1, "capital": "c"}"#,
                r#"{"path":"a","x":{"api_key":"***","list":[{"Password":"***"}]},"n":1,"capital":"c"}"#,
            ),
            (r#"{"h":"Bearer abc","pwd":"x","Cookie":["c"]}"#, r#"{"h":"Bearer ***","pwd":"***","Cookie":"***"}"#),
        ] {
            assert_eq!(preview(given, 500), shown);
        }
    }

    #[test]
    fn what_a_child_may_read_is_shown() {
        for (given, shown) in [
            (r#"{"path":"/etc/evil","path":"/tmp/ok"}"#, r#"{"path":"/etc/evil","path":"/tmp/ok"}"#),
            (r#"{"a":1e999,"b":18446744073709551617}"#, r#"{"a":1e999,"b":18446744073709551617}"#),
            (r#"{"a":"\ud800","b":"\u0062"}"#, r#"{"a":"\ud800","b":"b"}"#),
            ("{\"a\":\"\u{202e}\"}", r#"{"a":"\u{202e}"}"#),
            ("{", UNREADABLE),
            ("", UNREADABLE),
        ] {
            assert_eq!(preview(given, 500), shown);
        }
        assert_eq!(preview(r#"{"a":"bcd","e":1}"#, 7), r#"{"a":"b… and 10 more characters"#);
        assert!(preview(&format!("{}{}", "[".repeat(500), "]".repeat(500)), 500).contains(HIDDEN));
    }
}
