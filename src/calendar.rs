//! Days and dates, for the few texts that hold a date. The calendar's year begins in March, so that a leap day is its last.

use std::fmt;

/// A moment, in milliseconds since 1970, as RFC 3339 writes it in UTC: `2026-12-03T11:48:21.123Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc(pub u64);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0 / 1000, self.0 % 1000);
        let (days, time) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
    }
}

/// Days from 1970-01-01 to a date; `None` before it, after the year 9999, and for months and days that no calendar has.
pub fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    Some(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Year, month and day that lie so many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days.saturating_add(719_468);
    // Eras of 400 years have the same number of days each.
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = year + era * 400;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// The moment that an RFC 3339 text names, in milliseconds since 1970. A blank may stand for the `T`; parts of a second
/// beyond milliseconds are dropped.
pub fn moment(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at(zone);
    let (clock, part) = time.split_once('.').map_or((time, None), |(clock, part)| (clock, Some(part)));
    let [hours, minutes, seconds] = numbers(clock, ':', [2, 2, 2])?;
    // A leap second counts as the one before it.
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let millis = match part {
        None => 0,
        Some(part) if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) => return None,
        Some(part) => part.bytes().chain([b'0'; 3]).take(3).fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')),
    };
    let seconds = days(year, month, day)? * 86_400 + hours * 3600 + minutes * 60 + seconds.min(59);
    let seconds = match zone.strip_prefix(['+', '-']) {
        None => (zone.len() == 1).then_some(seconds)?,
        Some(offset) => {
            let [hours, minutes] = numbers(offset, ':', [2, 2])?;
            let offset = (hours <= 23 && minutes <= 59).then_some(hours * 3600 + minutes * 60)?;
            if zone.starts_with('+') { seconds.checked_sub(offset)? } else { seconds + offset }
        }
    };
    Some(seconds * 1000 + millis)
}

/// The numbers of `text`, each of exactly so many digits.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[u64; N]> {
    let mut found = [0; N];
    let mut parts = text.split(between);
    for (found, digits) in found.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *found = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn reads_what_rfc_3339_allows() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1985-04-12T23:20:50.52Z", Some(482_196_050_520)),
            ("1996-12-19T16:39:57-08:00", Some(851_042_397_000)),
            ("1990-12-31T23:59:60Z", Some(662_687_999_000)),
            ("1937-01-01T12:00:27.87+00:20", None),
            ("2026-12-03 11:48:21.123456z", Some(1_796_298_501_123)),
            ("2026-12-03T11:48:21", None),
            ("2026-12-03", None),
            ("2026-13-03T11:48:21Z", None),
            ("2026-12-03T24:48:21Z", None),
            ("2026-12-03T1:48:21Z", None),
            ("2026-12-03T11:48:21.Z", None),
            ("2026-12-03T11:48:21Zulu", None),
            ("1970-01-01T00:00:00+00:01", None),
            ("", None),
        ] {
            assert_eq!(moment(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(millis in 0u64..253_402_300_800_000) {
            assert_eq!(moment(&Utc(millis).to_string()), Some(millis));
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,40}", digits in "[0-9TZ:.+ -]{0,30}", millis in any::<u64>()) {
            let _ = (moment(&text), moment(&digits), Utc(millis).to_string());
        }
    }
}
