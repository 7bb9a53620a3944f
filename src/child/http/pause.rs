//! `Retry-After`: how long a server wants to be left alone, and leaving it alone for that long.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use tokio::time::Instant;

use super::failure::Failure;
use crate::calendar;

/// No server is left alone for longer, whatever it asks for.
const LONGEST: Duration = Duration::from_secs(300);

/// The pause that a server has asked for, if it has.
#[derive(Debug, Default)]
pub(super) struct Pause {
    until: Mutex<Option<Instant>>,
}

impl Pause {
    /// Fails while the server wants to be left alone.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let left = (*self.until()).map(|until| until.saturating_duration_since(Instant::now()));
        left.filter(|left| !left.is_zero()).map_or(Ok(()), |left| Err(Failure::Resting(left)))
    }

    /// Leaves it alone from now on.
    pub(super) fn begin(&self, wait: Duration) {
        *self.until() = Some(Instant::now() + wait);
    }

    fn until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `Retry-After` asks for: seconds or a date (RFC 9110, 10.2.3), at most [`LONGEST`].
pub(super) fn asked_for(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => date(text)?.duration_since(SystemTime::now()).unwrap_or_default(),
    };
    Some(wait.min(LONGEST))
}

/// A date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`. The two obsolete forms say nothing.
fn date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.split_once(", ")?;
    let [day, month, year, clock, "GMT"] = rest.split(' ').collect::<Vec<_>>()[..] else { return None };
    let [hours, minutes, seconds] = clock.split(':').collect::<Vec<_>>()[..] else { return None };
    let number = |text: &str| text.parse::<u64>().ok();
    let month = MONTHS.iter().position(|known| *known == month)? as u64 + 1;
    let days = calendar::days(number(year)?, month, number(day)?)?;
    let time = (number(hours)? * 60 + number(minutes)?) * 60 + number(seconds)?;
    UNIX_EPOCH.checked_add(Duration::from_secs(days * 86_400 + time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2028 23:59:59 GMT", Some(1_835_481_599)),
            ("Wed, 01 Mar 2028 00:00:00 GMT", Some(1_835_481_600)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 00 Nov 1994 08:49:37 GMT", None),
            ("soon", None),
        ] {
            let found = date(text).map(|time| time.duration_since(UNIX_EPOCH).expect("after 1970").as_secs());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_asked_for_is_bounded() {
        for (text, expected) in [
            ("7", Some(7)),
            ("999999999", Some(300)),
            ("Fri, 31 Dec 9999 00:00:00 GMT", Some(300)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("-1", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().expect("a value"))]);
            assert_eq!(asked_for(&headers).map(|wait| wait.as_secs()), expected, "{text}");
        }
    }
}
