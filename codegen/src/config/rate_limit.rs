//! `rateLimit` of a server: how often its tools may be called, in either of two notations.
//!
//! ```json
//! { "requestsPerMinute": 60, "toolLimits": { "search": 10 } }
//! { "maxTokens": 60, "refillRate": 1, "refillIntervalMs": 1000, "toolLimits": { "search": { "maxTokens": … } } }
//! ```

use evokore_catalog::server::Rate;
use jsonc_parser::ast::{Object, ObjectProp, Value};

use crate::json::{Reader, Spanned, key_span, span};
use crate::problem::Problem;

/// `rateLimit` as written.
#[derive(Debug, Clone)]
pub struct RateLimit {
    /// The limit of the server as a whole.
    pub server: Option<Rate>,
    /// `toolLimits`, by the child's own names.
    pub tools: Vec<(Spanned<String>, Rate)>,
}

const KEYS: &[&str] = &["requestsPerMinute", "maxTokens", "refillRate", "refillIntervalMs", "toolLimits"];
const TOOL_KEYS: &[&str] = &["requestsPerMinute", "maxTokens", "refillRate", "refillIntervalMs"];

/// Most tokens, and most milliseconds of an interval (a day): beyond them a limit limits nothing.
const MOST_TOKENS: u32 = 1_000_000;
const LONGEST_INTERVAL_MS: u32 = 86_400_000;

/// The numbers of one bucket, before it is clear that they make one.
#[derive(Default)]
struct Numbers {
    per_minute: Option<u32>,
    burst: Option<u32>,
    refill: Option<u32>,
    interval_ms: Option<u32>,
    written: bool,
    broken: bool,
}

/// Reads `value`, the `rateLimit` of `place`.
pub(super) fn read(reader: &mut Reader<'_>, place: &str, value: &Value<'_>) -> Option<RateLimit> {
    let what = format!("`rateLimit` of {place}");
    let object = reader.object(&what, value)?;
    let (mut numbers, mut tools) = (Numbers::default(), Vec::new());
    for property in reader.members(object) {
        match property.name.as_str() {
            "toolLimits" => tools = tool_limits(reader, &what, property),
            _ if number(reader, &what, property, &mut numbers) => {}
            _ => numbers.broken |= reader.unknown_key(property, KEYS, &what),
        }
    }
    let is_empty = !numbers.written && !object.properties.iter().any(|property| property.name.as_str() == "toolLimits");
    let server = rate(reader, &what, object, numbers);
    if is_empty {
        reader.report(
            Problem::note(format!("{what} limits nothing")).hint("write `\"requestsPerMinute\": 60`, or delete it"),
            span(value),
        );
    }
    (server.is_some() || !tools.is_empty()).then_some(RateLimit { server, tools })
}

fn tool_limits(reader: &mut Reader<'_>, place: &str, property: &ObjectProp<'_>) -> Vec<(Spanned<String>, Rate)> {
    let mut tools = Vec::new();
    let Some(object) = reader.object(&format!("`toolLimits` in {place}"), &property.value) else { return tools };
    for tool in reader.members(object) {
        let name = tool.name.as_str();
        let what = format!("the limit of `{name}` in {place}");
        let found = match &tool.value {
            Value::Object(object) => {
                let mut numbers = Numbers { written: true, ..Numbers::default() };
                for property in reader.members(object) {
                    if !number(reader, &what, property, &mut numbers) {
                        numbers.broken |= reader.unknown_key(property, TOOL_KEYS, &what);
                    }
                }
                rate(reader, &what, object, numbers)
            }
            value => bounded(reader, &what, value, MOST_TOKENS).map(Rate::per_minute),
        };
        let name = Spanned { value: name.to_owned(), range: key_span(tool) };
        tools.extend(found.map(|rate| (name, rate)));
    }
    tools
}

/// Reads a number of a bucket; false when `property` is none.
fn number(reader: &mut Reader<'_>, place: &str, property: &ObjectProp<'_>, numbers: &mut Numbers) -> bool {
    let key = property.name.as_str();
    let (slot, most) = match key {
        "requestsPerMinute" => (&mut numbers.per_minute, MOST_TOKENS),
        "maxTokens" => (&mut numbers.burst, MOST_TOKENS),
        "refillRate" => (&mut numbers.refill, MOST_TOKENS),
        "refillIntervalMs" => (&mut numbers.interval_ms, LONGEST_INTERVAL_MS),
        _ => return false,
    };
    *slot = bounded(reader, &format!("`{key}` in {place}"), &property.value, most);
    numbers.broken |= slot.is_none();
    numbers.written = true;
    true
}

fn bounded(reader: &mut Reader<'_>, what: &str, value: &Value<'_>, most: u32) -> Option<u32> {
    if let Value::NumberLit(number) = value
        && number.value.parse() == Ok(0)
    {
        reader.report(
            Problem::error(format!("{what} is 0, which would let no call pass"))
                .hint("give a number above 0; to let no call pass, deny the tools in permissions.yml"),
            span(value),
        );
        return None;
    }
    let number = reader.positive(what, value)?;
    if number.value > most {
        reader.report(
            Problem::error(format!("{what} is above {most}")).hint("delete a limit that limits nothing"),
            number.range,
        );
        return None;
    }
    Some(number.value)
}

/// Makes the bucket of the numbers, or says what is missing.
fn rate(reader: &mut Reader<'_>, what: &str, object: &Object<'_>, numbers: Numbers) -> Option<Rate> {
    if numbers.broken || !numbers.written {
        return None;
    }
    let range = object.range.start..object.range.end;
    match numbers {
        Numbers { per_minute: Some(calls), burst: None, refill: None, interval_ms: None, .. } => {
            Some(Rate::per_minute(calls))
        }
        Numbers {
            per_minute: None, burst: Some(burst), refill: Some(refill), interval_ms: Some(interval_ms), ..
        } => Some(Rate { burst, refill, interval_ms }),
        Numbers { per_minute: Some(_), .. } => {
            reader.report(
                Problem::error(format!("{what} has both `requestsPerMinute` and the numbers of a bucket")).hint(
                    "keep one notation: `requestsPerMinute`, or `maxTokens`, `refillRate` and `refillIntervalMs`",
                ),
                range,
            );
            None
        }
        Numbers { burst, refill, interval_ms, .. } => {
            let parts = [("maxTokens", burst), ("refillRate", refill), ("refillIntervalMs", interval_ms)];
            let missing: Vec<_> =
                parts.iter().filter(|(_, it)| it.is_none()).map(|(key, _)| format!("`{key}`")).collect();
            reader.report(
                Problem::error(format!("{what} lacks {}", missing.join(" and "))).hint(
                    "a bucket of `maxTokens` calls gets `refillRate` new ones every `refillIntervalMs` milliseconds",
                ),
                range,
            );
            None
        }
    }
}
