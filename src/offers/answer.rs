//! What a client of either era is answered.

use bytes::Bytes;
use evokore_catalog::members::Members;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::request::failure;
use crate::app::App;
use crate::calls::outcome::{INVALID_PARAMS, Outcome};
use crate::calls::{CallContext, Era};
use crate::child::ChildError;
use crate::prompts;
use crate::wire::envelope::METHOD_NOT_FOUND;

/// Code of an unknown resource in the handshake era (2025-11-25, server/resources § Error Handling); 2026-07-28 has
/// [`INVALID_PARAMS`] for it.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// A reply of a child as the client of this era reads it.
pub(super) fn outcome(ctx: &CallContext, reply: Result<Outcome, ChildError>) -> Outcome {
    match reply {
        Ok(Outcome::RawError(bytes)) if ctx.era == Era::Modern => Outcome::RawError(renumbered(bytes)),
        Ok(outcome) => outcome,
        Err(error @ ChildError::Lacks { .. }) => Outcome::Error { code: METHOD_NOT_FOUND, message: error.to_string() },
        // The text names the server.
        Err(error) => failure(&error.to_string()),
    }
}

/// An error with the code that 2026-07-28 has for an unknown resource in place of that of the revisions before it.
fn renumbered(error: Bytes) -> Bytes {
    let parsed = std::str::from_utf8(&error).ok().and_then(|text| Members::parse(text).ok());
    let (Some(mut members), Ok(code)) = (parsed, RawValue::from_string(INVALID_PARAMS.to_string())) else {
        return error;
    };
    let old = RESOURCE_NOT_FOUND.to_string();
    let mut is_old = false;
    for (_, value) in members.0.iter_mut().filter(|(key, value)| key == "code" && value.get() == old) {
        *value = &code;
        is_old = true;
    }
    if is_old { members.to_json().into() } else { error }
}

/// The result of a child's `resources/read` with the address that was asked for where its contents carry the child's
/// own URI: clients compare the two. Contents under other URIs stay as they are.
pub(super) fn readdressed(result: Bytes, own: &str, asked: &str) -> Bytes {
    readdress(&result, own, asked).map_or(result, Bytes::from)
}

fn readdress(result: &[u8], own: &str, asked: &str) -> Option<String> {
    let mut members = Members::parse(std::str::from_utf8(result).ok()?).ok()?;
    let contents: Vec<&RawValue> = serde_json::from_str(members.last("contents")?.get()).ok()?;
    let asked = RawValue::from_string(Value::from(asked).to_string()).ok()?;
    let is_own = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).is_ok_and(|uri| uri == own);
    let mut any = false;
    let contents: Vec<String> = contents
        .into_iter()
        .map(|content| {
            let Ok(mut members) = Members::parse(content.get()) else { return content.get().to_owned() };
            for (_, value) in members.0.iter_mut().filter(|(key, value)| key == "uri" && is_own(value)) {
                *value = &asked;
                any = true;
            }
            members.to_json()
        })
        .collect();
    if !any {
        return None;
    }
    let contents = RawValue::from_string(format!("[{}]", contents.join(","))).ok()?;
    for (_, value) in members.0.iter_mut().filter(|(key, _)| key == "contents") {
        *value = &contents;
    }
    Some(members.to_json())
}

pub(super) fn result(value: &Value) -> Outcome {
    Outcome::Result(value.to_string().into())
}

pub(super) fn no_method(method: &str) -> Outcome {
    Outcome::Error { code: METHOD_NOT_FOUND, message: format!("revision 2026-07-28 has no `{method}`") }
}

pub(super) fn not_found(ctx: &CallContext, asked: &str) -> Outcome {
    let shown: String = asked.chars().take(500).collect();
    missing(ctx, format!("no resource `{shown}`"))
}

/// The answer for a resource that is not there.
pub(super) fn missing(ctx: &CallContext, message: String) -> Outcome {
    let code = match ctx.era {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Modern => INVALID_PARAMS,
    };
    Outcome::Error { code, message }
}

pub(super) fn unknown_prompt(app: &App, asked: &str) -> Outcome {
    // Its text is the one for every unknown prompt.
    match prompts::get(app, asked, &Map::new()) {
        Ok(own) => result(&own),
        Err(message) => Outcome::invalid_params(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_that_was_asked_for_is_mapped_back() {
        let change = |result: &'static str| {
            readdressed(Bytes::from_static(result.as_bytes()), "x://a", "evokore://child/s/x://a")
        };
        for (given, expected) in [
            (
                r#"{"contents":[{"uri":"x:\/\/a","text":"x://a","z":1.10},{"uri":"x://b"}],"_meta":{"n": 1.0}}"#,
                r#"{"contents":[{"uri":"evokore://child/s/x://a","text":"x://a","z":1.10},{"uri":"x://b"}],"_meta":{"n": 1.0}}"#,
            ),
            (r#"{"contents":[{"uri": "x://b"},7]}"#, r#"{"contents":[{"uri": "x://b"},7]}"#),
            (r#"{"contents": 7}"#, r#"{"contents": 7}"#),
        ] {
            assert_eq!(change(given), expected);
        }
    }

    #[test]
    fn an_unknown_resource_has_the_code_of_its_era() {
        for (given, expected) in [
            (r#"{"code":-32002,"message":"m","data":{"a":1.0}}"#, r#"{"code":-32602,"message":"m","data":{"a":1.0}}"#),
            (r#"{"code": -32003}"#, r#"{"code": -32003}"#),
            ("7", "7"),
        ] {
            assert_eq!(renumbered(Bytes::from_static(given.as_bytes())), expected);
        }
    }
}
