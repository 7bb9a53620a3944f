//! How a tool that needs approval tells of the argument that carries the token for the repetition of a call. Strict
//! clients drop arguments that a schema does not name, so it stands there, and in the schemas of no other tools.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::members::Members;

/// The argument, or the member of `_meta`, that carries a token; it is removed before the child server sees the call.
pub const TOKEN_KEY: &str = "_evokore_approval_token";

/// The schema of the argument.
const TOKEN_SCHEMA: &str =
    r#"{"type":"string","description":"Leave out; only repeat a refused call with the token that the refusal gives."}"#;

/// `definition`, a tool as JSON, whose input schema has the argument as well; all else keeps its bytes. `None` where the
/// schema has it already, or is none.
pub fn advertised(definition: &str) -> Option<String> {
    let token = RawValue::from_string(TOKEN_SCHEMA.to_owned()).ok()?;
    let mut definition = Members::parse(definition).ok()?;
    let mut schema = Members::parse(definition.last("inputSchema")?.get()).ok()?;
    let properties = schema.last("properties").map_or("{}", RawValue::get);
    let mut properties = Members::parse(properties).ok()?;
    if properties.get(TOKEN_KEY).is_some() {
        return None;
    }
    properties.0.push((Cow::Borrowed(TOKEN_KEY), &token));
    let properties = RawValue::from_string(properties.to_json()).ok()?;
    set(&mut schema, "properties", &properties);
    let schema = RawValue::from_string(schema.to_json()).ok()?;
    set(&mut definition, "inputSchema", &schema);
    Some(definition.to_json())
}

/// Sets the last member of this name, which is the one that counts, or adds it.
fn set<'a>(members: &mut Members<'a>, key: &'static str, value: &'a RawValue) {
    match members.0.iter_mut().rev().find(|(known, _)| known == key) {
        Some(member) => member.1 = value,
        None => members.0.push((Cow::Borrowed(key), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_is_added_and_all_else_stays() {
        let token = format!("\"{TOKEN_KEY}\":{TOKEN_SCHEMA}");
        for (given, expected) in [
            (
                r#"{"name":"a","inputSchema":{"type":"object","properties":{"x":{"maximum":1.10}},"required":["x"]},"z":1e3}"#,
                format!(
                    r#"{{"name":"a","inputSchema":{{"type":"object","properties":{{"x":{{"maximum":1.10}},{token}}},"required":["x"]}},"z":1e3}}"#
                ),
            ),
            (
                r#"{"name":"a","inputSchema":{"type":"object","additionalProperties":false}}"#,
                format!(
                    r#"{{"name":"a","inputSchema":{{"type":"object","additionalProperties":false,"properties":{{{token}}}}}}}"#
                ),
            ),
        ] {
            assert_eq!(advertised(given).as_deref(), Some(&*expected));
            assert_eq!(advertised(&expected), None, "once");
        }
        for none in [r#"{"name":"a"}"#, r#"{"inputSchema":true}"#, r#"{"inputSchema":{"properties":[]}}"#, "7"] {
            assert_eq!(advertised(none), None, "{none}");
        }
    }
}
