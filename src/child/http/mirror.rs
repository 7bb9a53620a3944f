//! Parameters of tools that a server of 2026-07-28 wants repeated in headers, so that what lies between can route by
//! them (basic/transports/streamable-http, Custom Headers from Tool Parameters).

use std::borrow::Cow;
use std::collections::HashMap;

use evokore_catalog::members::Members;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::frame;
use crate::child::tools::{Listing, MAX_TOLD, SkippedTool};

/// The member of a parameter's schema that names its header.
const ANNOTATION: &str = "x-mcp-header";
/// No number beyond it is the same everywhere.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// A parameter that is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Param {
    header: HeaderName,
    /// The keys that lead to it in the arguments.
    path: Vec<String>,
}

/// What is repeated of the calls of one server, as its last list says; tools without such parameters are not in it.
#[derive(Debug, Default)]
pub(in crate::child) struct Mirror {
    tools: watch::Sender<HashMap<String, Vec<Param>>>,
}

impl Mirror {
    /// Learns a list, and takes the tools out of it whose annotations make no sense.
    pub(in crate::child) fn learn(&self, listing: &mut Listing) {
        let mut known = HashMap::new();
        let Listing { tools, skipped, .. } = listing;
        tools.retain(|tool| match params(&tool.raw) {
            Ok(params) if params.is_empty() => true,
            Ok(params) => {
                known.insert(tool.name.clone(), params);
                true
            }
            Err(reason) => {
                if skipped.len() < MAX_TOLD {
                    skipped.push(SkippedTool { name: tool.name.clone(), reason });
                }
                false
            }
        });
        self.tools.send_replace(known);
    }

    /// The headers of a call of `tool`. What is not among the arguments, or `null`, has none.
    pub(super) fn headers(&self, tool: &str, arguments: Option<&RawValue>) -> Vec<(HeaderName, HeaderValue)> {
        let tools = self.tools.borrow();
        let (Some(params), Some(arguments)) = (tools.get(tool), arguments) else { return Vec::new() };
        let header = |param: &Param| {
            let value = text(value_at(arguments, &param.path)?)?;
            Some((param.header.clone(), HeaderValue::from_str(&frame::plain(&value)).ok()?))
        };
        params.iter().filter_map(header).collect()
    }

    /// Waits for the next list after this call; whether it has other headers for `tool`.
    pub(in crate::child) fn changes(&self, tool: &str) -> impl Future<Output = bool> {
        let mut lists = self.tools.subscribe();
        let before = lists.borrow_and_update().get(tool).cloned();
        async move {
            // Without a sender there is no other list.
            lists.changed().await.is_ok() && lists.borrow().get(tool) != before.as_ref()
        }
    }
}

/// What is repeated of the calls of a tool.
///
/// # Errors
/// Why its definition is invalid.
fn params(definition: &RawValue) -> Result<Vec<Param>, String> {
    // The name may be written with escapes.
    if ![ANNOTATION, "\\u"].iter().any(|sign| definition.get().contains(sign)) {
        return Ok(Vec::new());
    }
    // What else is wrong with it is found by those who list it.
    let schema = Members::parse(definition.get()).ok().and_then(|it| it.last("inputSchema").map(RawValue::get));
    let Some(Ok(schema)) = schema.map(serde_json::from_str::<Value>) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    walk(&schema, Some(&mut Vec::new()), &mut found)?;
    Ok(found)
}

/// Looks for annotations in a schema that a chain of `properties` leads to; without a `path`, in one that something else
/// does, where none may be.
fn walk(schema: &Value, mut path: Option<&mut Vec<String>>, found: &mut Vec<Param>) -> Result<(), String> {
    let Some(members) = schema.as_object() else { return Ok(()) };
    if let Some(name) = members.get(ANNOTATION) {
        let Some(path) = path.as_deref().filter(|path| !path.is_empty()) else {
            return Err(format!("its `{ANNOTATION}` is not that of a parameter"));
        };
        let param = param(name, members, path)?;
        if found.iter().any(|other| other.header == param.header) {
            return Err(format!("two of its parameters have the `{ANNOTATION}` {name}"));
        }
        found.push(param);
    }
    for (key, value) in members {
        match key.as_str() {
            "properties" => {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    path.iter_mut().for_each(|path| path.push(name.clone()));
                    walk(schema, path.as_deref_mut(), found)?;
                    path.iter_mut().for_each(|path| _ = path.pop());
                }
            }
            "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                value.as_object().into_iter().flatten().try_for_each(|(_, schema)| walk(schema, None, found))?;
            }
            "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "contentSchema"
            | "oneOf"
            | "anyOf"
            | "allOf"
            | "not"
            | "if"
            | "then"
            | "else" => match value {
                Value::Array(schemas) => schemas.iter().try_for_each(|schema| walk(schema, None, found))?,
                schema => walk(schema, None, found)?,
            },
            _ => {}
        }
    }
    Ok(())
}

fn param(name: &Value, schema: &Map<String, Value>, path: &[String]) -> Result<Param, String> {
    let shown = path.join(".");
    let wrong = |what: String| format!("the `{ANNOTATION}` of its parameter `{shown}` {what}");
    let name = name.as_str().ok_or_else(|| wrong("is no text".to_owned()))?;
    if name.is_empty() {
        return Err(wrong("is empty".to_owned()));
    }
    let header = HeaderName::try_from(format!("mcp-param-{name}"))
        .map_err(|_| wrong(format!("is {}, which no header may be called", Value::from(name))))?;
    let is_plain = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    let is_plain = match schema.get("type") {
        // One that may be `null` is left out then.
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter(|kind| *kind != "null").peekable();
            kinds.peek().is_some() && kinds.all(is_plain)
        }
        kind => kind.is_some_and(is_plain),
    };
    if !is_plain {
        return Err(wrong("is that of something else than a string, an integer or a boolean".to_owned()));
    }
    Ok(Param { header, path: path.to_vec() })
}

fn value_at<'a>(arguments: &'a RawValue, path: &[String]) -> Option<&'a RawValue> {
    let step = |value: &'a RawValue, key: &String| Members::parse(value.get()).ok()?.last(key);
    path.iter().try_fold(arguments, step)
}

/// What a header says of a value (Value Encoding, type conversion).
fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let raw = value.get();
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(raw).ok().map(Cow::Owned),
        b't' | b'f' => Some(raw.into()),
        b'-' | b'0'..=b'9' => Some(integer(raw)),
        // `null`, and what the server will refuse for its type.
        _ => None,
    }
}

/// A whole number in decimal, however it is written; any other as it is.
fn integer(raw: &str) -> Cow<'_, str> {
    match raw.parse::<f64>() {
        Ok(number) if raw.contains(['.', 'e', 'E']) && number.fract() == 0.0 && number.abs() <= LARGEST => {
            format!("{number:.0}").into()
        }
        _ => raw.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tools::ChildEntry;

    fn tool(name: &str, schema: &str) -> ChildEntry {
        let raw = RawValue::from_string(format!(r#"{{"name":"{name}","inputSchema":{schema}}}"#)).expect("JSON");
        ChildEntry { name: name.to_owned(), raw }
    }

    fn learned(schema: &str) -> (Mirror, Listing) {
        let mirror = Mirror::default();
        let mut listing = Listing { tools: vec![tool("t", schema), tool("other", "{}")], ..Listing::default() };
        mirror.learn(&mut listing);
        (mirror, listing)
    }

    fn headers(mirror: &Mirror, arguments: &str) -> String {
        let arguments = RawValue::from_string(arguments.to_owned()).expect("JSON");
        let headers = mirror.headers("t", Some(&arguments));
        let lines = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("plain")));
        lines.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn annotated_parameters_are_repeated() {
        let schema = r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "at":{"type":"object","properties":{"level":{"type":"integer","x-mcp-header":"Level"}}},
            "flag":{"type":["null","boolean"],"x\u002dmcp-header":"X.Flag"},
            "x-mcp-header":{"type":"string","default":{"x-mcp-header":1}},
            "plain":{"type":"string"}}}"#;
        let (mirror, listing) = learned(schema);
        assert_eq!((listing.tools.len(), listing.skipped.len()), (2, 0), "{:?}", listing.skipped);
        for (arguments, expected) in [
            (r#"{"region":"us-west1","plain":"x"}"#, "mcp-param-region: us-west1"),
            (r#"{"region":"Hello, 世界"}"#, "mcp-param-region: =?base64?SGVsbG8sIOS4lueVjA==?="),
            (r#"{"region":" padded "}"#, "mcp-param-region: =?base64?IHBhZGRlZCA=?="),
            (r#"{"region":"a\nb"}"#, "mcp-param-region: =?base64?YQpi?="),
            (r#"{"region":"=?base64?literal?="}"#, "mcp-param-region: =?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            (r#"{"region":""}"#, "mcp-param-region: "),
            (r#"{"region":"x","region":"y"}"#, "mcp-param-region: y"),
            (r#"{"at":{"level":-7}}"#, "mcp-param-level: -7"),
            (r#"{"at":{"level":4.20e1}}"#, "mcp-param-level: 42"),
            (r#"{"at":{"level":9007199254740993}}"#, "mcp-param-level: 9007199254740993"),
            (r#"{"at":{"level":1.5},"flag":true}"#, "mcp-param-level: 1.5 | mcp-param-x.flag: true"),
            (r#"{"at":{"level":null},"flag":null,"region":null}"#, ""),
            (r#"{"at":7,"flag":[true],"level":1}"#, ""),
            ("{}", ""),
            ("[]", ""),
        ] {
            assert_eq!(headers(&mirror, arguments), expected, "{arguments}");
        }
        assert!(mirror.headers("t", None).is_empty() && mirror.headers("nobody", None).is_empty());
    }

    #[test]
    fn a_tool_whose_annotations_make_no_sense_is_left_out() {
        let mut table = String::new();
        let string = |rest: &str| format!(r#"{{"properties":{{"a":{{"type":"string","x-mcp-header":{rest}}}}}}}"#);
        for schema in [
            string(r#""""#),
            string(r#""A B""#),
            string(r#""A\r\nB: c""#),
            string("7"),
            string(r#""A"},"b":{"type":"boolean","x-mcp-header":"a""#),
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#.to_owned(),
            r#"{"properties":{"a":{"type":["null"],"x-mcp-header":"A"}}}"#.to_owned(),
            r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#.to_owned(),
            r#"{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}"#.to_owned(),
            r#"{"properties":{"a":{"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}}}"#.to_owned(),
            r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#.to_owned(),
            r##"{"$defs":{"a":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/a"}}}"##
                .to_owned(),
            r#"{"type":"string","x-mcp-header":"A"}"#.to_owned(),
        ] {
            let (mirror, listing) = learned(&schema);
            assert_eq!(listing.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["other"], "{schema}");
            assert_eq!(headers(&mirror, r#"{"a":"x"}"#), "");
            table += &format!("{}\n", listing.skipped[0].reason);
        }
        expect_test::expect![[r#"
            the `x-mcp-header` of its parameter `a` is empty
            the `x-mcp-header` of its parameter `a` is "A B", which no header may be called
            the `x-mcp-header` of its parameter `a` is "A\r\nB: c", which no header may be called
            the `x-mcp-header` of its parameter `a` is no text
            two of its parameters have the `x-mcp-header` "a"
            the `x-mcp-header` of its parameter `a` is that of something else than a string, an integer or a boolean
            the `x-mcp-header` of its parameter `a` is that of something else than a string, an integer or a boolean
            the `x-mcp-header` of its parameter `a` is that of something else than a string, an integer or a boolean
            its `x-mcp-header` is not that of a parameter
            its `x-mcp-header` is not that of a parameter
            its `x-mcp-header` is not that of a parameter
            its `x-mcp-header` is not that of a parameter
            its `x-mcp-header` is not that of a parameter
        "#]]
        .assert_eq(&table);
    }
}
