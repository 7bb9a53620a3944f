//! Reading the arguments of a native tool. Messages tell the model how to mend the call.

use serde_json::{Map, Value};

use super::NativeResult;

/// A required text that is not blank.
///
/// # Errors
/// The result that says what is wrong.
pub fn text<'a>(arguments: &'a Map<String, Value>, key: &str) -> Result<&'a str, NativeResult> {
    optional_text(arguments, key)?
        .ok_or_else(|| NativeResult::error(format!("`{key}` is missing: give a text that is not empty")))
}

/// An optional text; blank counts as absent.
///
/// # Errors
/// The result that says what is wrong.
pub fn optional_text<'a>(arguments: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, NativeResult> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim()).filter(|text| !text.is_empty())),
        Some(other) => Err(wrong(key, "a text", other)),
    }
}

/// An optional whole number, brought into `least..=most`. Numbers as text are read too.
///
/// # Errors
/// The result that says what is wrong.
pub fn number(
    arguments: &Map<String, Value>,
    key: &str,
    default: usize,
    least: usize,
    most: usize,
) -> Result<usize, NativeResult> {
    let found = match arguments.get(key) {
        None | Some(Value::Null) => return Ok(default.clamp(least, most)),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    match found {
        // The cast saturates, and the clamp follows.
        Some(number) if number.is_finite() => Ok((number.max(0.0).floor() as usize).clamp(least, most)),
        _ => Err(wrong(key, "a whole number", &arguments[key])),
    }
}

/// An optional switch.
///
/// # Errors
/// The result that says what is wrong.
pub fn flag(arguments: &Map<String, Value>, key: &str) -> Result<bool, NativeResult> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(other) => Err(wrong(key, "true or false", other)),
    }
}

/// A required list of texts, trimmed and without repeats; a single text counts as a list of one.
///
/// # Errors
/// The result that says what is wrong.
pub fn texts<'a>(arguments: &'a Map<String, Value>, key: &str) -> Result<Vec<&'a str>, NativeResult> {
    let items: Vec<&'a str> = match arguments.get(key) {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        None | Some(Value::Null) => {
            return Err(NativeResult::error(format!("`{key}` is missing: give a list of texts")));
        }
        Some(other) => return Err(wrong(key, "a list of texts", other)),
    };
    let mut distinct = Vec::with_capacity(items.len());
    for item in items.into_iter().map(str::trim).filter(|item| !item.is_empty()) {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    Ok(distinct)
}

fn wrong(key: &str, wanted: &str, found: &Value) -> NativeResult {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    NativeResult::error(format!("`{key}` must be {wanted}, not {kind}"))
}
