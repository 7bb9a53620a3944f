//! Help for clients that were shown a placeholder instead of an input schema: they write objects, lists and numbers as
//! text, leave out what they cannot know of, and are then refused.

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::outcome::Outcome;

/// A schema of more bytes is named, not quoted.
const QUOTED: usize = 4 << 10;

/// What the input schema of a tool says about its arguments, as far as it says it plainly.
#[derive(Debug)]
pub(super) struct Expected<'a> {
    schema: &'a RawValue,
    /// Arguments and their types. None: it is not plain what is allowed.
    properties: Vec<(String, Option<Vec<String>>)>,
    required: Vec<String>,
    is_open: bool,
}

impl<'a> Expected<'a> {
    /// Reads a tool's definition.
    pub(super) fn read(definition: &'a str) -> Option<Expected<'a>> {
        let schema = Members::parse(definition).ok()?.last("inputSchema")?;
        let value: Value = serde_json::from_str(schema.get()).ok()?;
        let properties = value.get("properties").and_then(Value::as_object).into_iter().flatten();
        let required = value.get("required").and_then(Value::as_array).into_iter().flatten();
        Some(Expected {
            schema,
            properties: properties.map(|(name, schema)| (name.clone(), types(schema))).collect(),
            required: required.filter_map(Value::as_str).map(str::to_owned).collect(),
            is_open: value.get("additionalProperties") != Some(&Value::Bool(false)),
        })
    }

    /// `arguments` with those turned back that are JSON as text although no text is allowed there; `None` when there are
    /// none. The bytes of all else stay.
    pub(super) fn restore(&self, arguments: &str) -> Option<String> {
        let mut members = Members::parse(arguments).ok()?;
        let restored: Vec<Option<Box<RawValue>>> = members
            .0
            .iter()
            .map(|(name, value)| {
                let types = self.types(name).filter(|_| value.get().starts_with('"'))?;
                let inner: Box<RawValue> =
                    serde_json::from_str(&serde_json::from_str::<String>(value.get()).ok()?).ok()?;
                (!fits(value, types) && fits(&inner, types)).then_some(inner)
            })
            .collect();
        restored.iter().any(Option::is_some).then(|| {
            for ((_, value), restored) in members.0.iter_mut().zip(&restored) {
                *value = restored.as_deref().unwrap_or(value);
            }
            members.to_json()
        })
    }

    /// The answer to a call of `tool` with `arguments`, with a word about the schema; `None` when it is no refusal, or the
    /// arguments are what the schema asks for.
    pub(super) fn explained(&self, tool: &str, arguments: Option<&[u8]>, outcome: &Outcome) -> Option<Outcome> {
        let fault = self.fault(std::str::from_utf8(arguments.unwrap_or(b"{}")).ok()?)?;
        let schema = self.schema.get();
        let help = if schema.len() > QUOTED {
            format!("[evokore: {fault}; call describe_tool for the input schema of `{tool}`]")
        } else {
            format!("[evokore: {fault}; the input schema of `{tool}` is {schema}]")
        };
        match outcome {
            Outcome::Result(bytes) => with_block(bytes, &help).map(Outcome::Result),
            Outcome::RawError(bytes) => with_message(bytes, &help).map(Outcome::RawError),
            Outcome::Error { .. } => None,
        }
    }

    fn types(&self, name: &str) -> Option<&[String]> {
        self.properties.iter().find(|(known, _)| known == name)?.1.as_deref()
    }

    fn fault(&self, arguments: &str) -> Option<String> {
        let members = Members::parse(arguments).ok()?;
        if let Some(missing) = self.required.iter().find(|name| members.last(name).is_none()) {
            return Some(format!("the argument `{missing}` is missing"));
        }
        members.0.iter().find_map(|(name, value)| {
            let is_known = self.is_open || self.properties.iter().any(|(known, _)| known == name);
            match self.types(name) {
                Some(types) if !fits(value, types) => {
                    Some(format!("the argument `{name}` should be of type {}", types.join(" or ")))
                }
                None if !is_known => {
                    Some(format!("there is no argument `{}`", name.chars().take(64).collect::<String>()))
                }
                _ => None,
            }
        })
    }
}

/// The types that `schema` allows, if it says so by `type`.
fn types(schema: &Value) -> Option<Vec<String>> {
    match schema.get("type")? {
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(several) => several.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn fits(value: &RawValue, types: &[String]) -> bool {
    let has = |kind: &str| types.iter().any(|known| known == kind);
    match value.get().as_bytes().first() {
        Some(b'{') => has("object"),
        Some(b'[') => has("array"),
        Some(b'"') => has("string"),
        Some(b't' | b'f') => has("boolean"),
        Some(b'n') => has("null"),
        _ => {
            let is_whole = serde_json::from_str::<f64>(value.get()).is_ok_and(|number| number.fract() == 0.0);
            has("number") || is_whole && has("integer")
        }
    }
}

/// A failed result with a further text block.
fn with_block(result: &[u8], text: &str) -> Option<Bytes> {
    let members = Members::parse(std::str::from_utf8(result).ok()?).ok()?.unique();
    members.get("isError").filter(|flag| flag.get() == "true")?;
    let mut blocks: Vec<&RawValue> = serde_json::from_str(members.get("content")?.get()).ok()?;
    let block = RawValue::from_string(json!({"type": "text", "text": text}).to_string()).ok()?;
    blocks.push(&block);
    let content = RawValue::from_string(serde_json::to_string(&blocks).ok()?).ok()?;
    Some(replaced(members, "content", &content))
}

/// An error with a longer message.
fn with_message(error: &[u8], text: &str) -> Option<Bytes> {
    let members = Members::parse(std::str::from_utf8(error).ok()?).ok()?.unique();
    let message: String = serde_json::from_str(members.get("message")?.get()).ok()?;
    let message = RawValue::from_string(Value::from(format!("{message} {text}")).to_string()).ok()?;
    Some(replaced(members, "message", &message))
}

fn replaced<'a>(mut members: Members<'a>, key: &str, value: &'a RawValue) -> Bytes {
    for member in members.0.iter_mut().filter(|(known, _)| known == key) {
        member.1 = value;
    }
    members.to_json().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"name":"s_t","inputSchema":{"type":"object","required":["o"],"additionalProperties":false,"properties":{
        "o":{"type":"object"},"a":{"type":["array","null"]},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
        "s":{"type":"string"},"so":{"type":["object","string"]},"any":{},"ref":{"$ref":"x"},"or":{"anyOf":[{"type":"object"}]}}}}"#;

    #[test]
    fn text_is_turned_back_only_where_no_text_is_allowed() {
        let expected = Expected::read(TOOL).unwrap();
        for (name, text, restored) in [
            ("o", r#"{"k": 1.10}"#, true),
            ("o", "[1]", false),
            ("o", "{k}", false),
            ("o", "1", false),
            ("a", "[9007199254740993]", true),
            ("a", "null", true),
            ("i", "7", true),
            ("i", "7.5", false),
            ("n", "7.50", true),
            ("b", "true", true),
            ("b", "yes", false),
            ("s", "7", false),
            ("so", "{}", false),
            ("any", "{}", false),
            ("ref", "{}", false),
            ("or", "{}", false),
            ("unknown", "{}", false),
        ] {
            let arguments = format!(r#"{{"s":"\u0041","{name}":{},"x":1.10}}"#, Value::from(text));
            let turned = format!(r#"{{"s":"\u0041","{name}":{text},"x":1.10}}"#);
            assert_eq!(expected.restore(&arguments), restored.then_some(turned), "{name} {text}");
        }
        assert_eq!(expected.restore(r#"{"o":{},"i":7}"#), None);
    }

    #[test]
    fn refusals_of_other_arguments_tell_of_the_schema() {
        let explained = |tool: &str, arguments: Option<&str>, outcome: Outcome| {
            let explained = Expected::read(tool).unwrap().explained("s_t", arguments.map(str::as_bytes), &outcome);
            explained.map(|outcome| match outcome {
                Outcome::Result(bytes) | Outcome::RawError(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                Outcome::Error { message, .. } => message,
            })
        };
        let result = |text: &'static str| Outcome::Result(Bytes::from_static(text.as_bytes()));
        const REFUSAL: &str = r#"{"content":[{"type":"text","text":"no"}],"isError":true,"z":1.10}"#;
        for (arguments, fault) in [
            (None, Some("the argument `o` is missing")),
            (Some(r#"{"o":"x"}"#), Some("the argument `o` should be of type object")),
            (Some(r#"{"o":{},"a":1}"#), Some("the argument `a` should be of type array or null")),
            (Some(r#"{"o":{},"y":1}"#), Some("there is no argument `y`")),
            (Some(r#"{"o":{},"any":1}"#), None),
        ] {
            let told = explained(TOOL, arguments, result(REFUSAL));
            assert_eq!(told.is_some(), fault.is_some(), "{told:?}");
            if let (Some(told), Some(fault)) = (told, fault) {
                assert!(told.contains(&format!("[evokore: {fault}; the input schema of `s_t` is {{")), "{told}");
                assert!(told.ends_with(r#","isError":true,"z":1.10}"#), "{told}");
            }
        }
        let error = Outcome::RawError(Bytes::from_static(br#"{"code":-32602,"message":"no","data":1.10}"#));
        let told = explained(TOOL, None, error).unwrap();
        assert!(told.starts_with(r#"{"code":-32602,"message":"no [evokore: "#), "{told}");
        assert!(told.ends_with(r#"]","data":1.10}"#), "{told}");
        for answer in [r#"{"content":[]}"#, r#"{"isError":false,"content":[]}"#, r#"{"isError":true}"#] {
            assert_eq!(explained(TOOL, None, result(answer)), None);
        }
        let long = TOOL.replace(r#""s":"#, &format!(r#""{}":"#, "x".repeat(QUOTED)));
        let told = explained(&long, None, result(REFUSAL)).unwrap();
        assert!(told.len() < 400 && told.contains("call describe_tool"), "{told}");
    }
}
