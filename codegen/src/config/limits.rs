//! How long things of a server may take, and how many there may be.

use evokore_catalog::server::Limits;
use jsonc_parser::ast::Value;

use crate::json::{Reader, Spanned};
use crate::problem::Problem;

/// Longest time-out: one day.
const LONGEST_TIMEOUT_MS: u32 = 86_400_000;
/// Most calls that a server may work on at the same time: a connection holds 1,024 requests, our own among them.
const MOST_IN_FLIGHT: u32 = 1000;

/// Reads a member that is a limit; false when `key` is none.
pub(super) fn member(reader: &mut Reader<'_>, key: &str, what: &str, value: &Value<'_>, limits: &mut Limits) -> bool {
    match key {
        "bootTimeoutMs" => limits.boot_timeout_ms = timeout(reader, what, value),
        "listTimeoutMs" => limits.list_timeout_ms = timeout(reader, what, value),
        "callTimeoutMs" | "timeout" => limits.call_timeout_ms = timeout(reader, what, value),
        "idleTimeoutMs" => limits.idle_timeout_ms = timeout(reader, what, value),
        "cooldownMs" => limits.cooldown_ms = cooldown(reader, what, value),
        "maxInFlight" => limits.max_in_flight = in_flight(reader, what, value),
        _ => return false,
    }
    true
}

fn timeout(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<u32> {
    let number = reader.positive(what, value)?;
    let number = at_most_a_day(reader, what, number)?;
    if number.value < 1000 {
        reader.report(
            Problem::note(format!("{what} is {} milliseconds, which few servers keep", number.value)).hint(format!(
                "for {} seconds write {}",
                number.value,
                number.value.saturating_mul(1000)
            )),
            number.range,
        );
    }
    Some(number.value)
}

fn in_flight(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<u32> {
    let number = reader.positive(what, value)?;
    if number.value > MOST_IN_FLIGHT {
        reader.report(Problem::error(format!("{what} is over {MOST_IN_FLIGHT}")), number.range);
        return None;
    }
    Some(number.value)
}

/// Zero switches it off.
fn cooldown(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<u32> {
    let number = reader.whole(what, value)?;
    at_most_a_day(reader, what, number).map(|number| number.value)
}

fn at_most_a_day(reader: &mut Reader<'_>, what: &str, number: Spanned<u32>) -> Option<Spanned<u32>> {
    if number.value > LONGEST_TIMEOUT_MS {
        reader.report(
            Problem::error(format!("{what} is over a day ({LONGEST_TIMEOUT_MS} milliseconds)"))
                .hint("it is in milliseconds"),
            number.range,
        );
        return None;
    }
    Some(number)
}
