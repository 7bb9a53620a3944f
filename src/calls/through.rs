//! The arguments of `call_tool`, nested or flattened, and of native tools.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::approval::TOKEN_KEY;
use super::outcome::Outcome;
use evokore_catalog::members::Members;

/// What `call_tool` was asked to call.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) name: String,
    pub(super) arguments: Option<Box<RawValue>>,
    /// The approval token that stands beside `arguments`; one among them stays there.
    pub(super) token: Option<String>,
}

/// Reads `{"name": …, "arguments": {…}}`, and the flattened form `{"name": …, …}` that weaker models write. In the
/// nested form `arguments` may also be the object as JSON text. The bytes of the values stay as they came.
pub(super) fn unwrap(arguments: Option<&RawValue>) -> Result<Inner, Outcome> {
    inner(arguments).ok_or_else(|| {
        Outcome::error_text(
            "call_tool needs `name`, the exact name of a tool, and `arguments`, an object with that tool's arguments, \
             such as {\"name\": \"fs_read_text_file\", \"arguments\": {\"path\": \"a.txt\"}}",
        )
    })
}

fn inner(arguments: Option<&RawValue>) -> Option<Inner> {
    let mut members = Members::parse(arguments?.get()).ok()?;
    let name: String = serde_json::from_str(members.take("name")?.get()).ok()?;
    let mut token = None;
    if members.get("arguments").is_some() && members.0.iter().all(|(key, _)| key == "arguments" || key == TOKEN_KEY) {
        while let Some(given) = members.take(TOKEN_KEY) {
            token = token.or_else(|| serde_json::from_str(given.get()).ok());
        }
    }
    let nested = members.get("arguments").filter(|_| members.0.len() == 1);
    let arguments = match nested.map(RawValue::get) {
        None => Some(RawValue::from_string(members.to_json()).ok()?),
        Some("null") => None,
        Some(text) => {
            let text: Cow<'_, str> =
                if text.starts_with('"') { serde_json::from_str::<String>(text).ok()?.into() } else { text.into() };
            Members::parse(&text).ok()?;
            Some(RawValue::from_string(text.into_owned()).ok()?)
        }
    };
    Some(Inner { name, arguments, token })
}

/// The arguments of a native tool as an object; absent and `null` are empty.
pub(super) fn object(arguments: Option<&str>) -> Result<Map<String, Value>, Outcome> {
    match arguments {
        None | Some("null") => Ok(Map::new()),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| Outcome::error_text(&format!("the arguments are no JSON object: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(text: &str) -> Option<(String, Option<String>)> {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        unwrap(Some(&raw)).ok().map(|inner| (inner.name, inner.arguments.map(|raw| raw.get().to_owned())))
    }

    #[test]
    fn both_shapes_keep_the_bytes() {
        let exact = r#"{"b":1.10,"a":9007199254740993}"#;
        for (text, arguments) in [
            (r#"{"name":"t","arguments":{"b":1.10,"a":9007199254740993}}"#, Some(exact)),
            (r#"{"b":1.10,"name":"t","a":9007199254740993}"#, Some(exact)),
            (r#"{"name":"t","arguments":"{\"path\":\"x\"}"}"#, Some(r#"{"path":"x"}"#)),
            (r#"{"name":"t","arguments":[1],"x":2}"#, Some(r#"{"arguments":[1],"x":2}"#)),
            (r#"{"name":"t","arguments":null}"#, None),
            (r#"{"name":"t"}"#, Some("{}")),
        ] {
            assert_eq!(unwrapped(text), Some(("t".into(), arguments.map(Into::into))), "{text}");
        }
        let raw: Box<RawValue> =
            serde_json::from_str(r#"{"name":"t","_evokore_approval_token":"ab","arguments":{"a":1}}"#).unwrap();
        let beside = unwrap(Some(&raw)).unwrap();
        assert_eq!((beside.token.as_deref(), beside.arguments.unwrap().get()), (Some("ab"), r#"{"a":1}"#));
        for text in [r#"{"arguments":{}}"#, r#"{"name":5}"#, r#"{"name":"t","arguments":[1]}"#, "[]", "7"] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }
}
