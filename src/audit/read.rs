//! Reading the log, newest events last.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};

use serde::Deserialize;

use super::chain::MAX_LINE;
use super::folder::Folder;

/// Which events are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter<'a> {
    /// From this moment on, in milliseconds since 1970.
    pub since: u64,
    /// About this tool.
    pub tool: Option<&'a str>,
    /// With this outcome, of the decision or of the call.
    pub outcome: Option<&'a str>,
    /// So many at most, the newest ones.
    pub limit: usize,
}

/// An event as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// When, for a person.
    pub utc: String,
    /// What happened.
    pub event: String,
    /// What came of it.
    pub outcome: String,
    /// The process.
    pub run: String,
    /// The client's session.
    pub session: Option<u64>,
    /// Number of the call in its process.
    pub call: Option<u64>,
    /// The role.
    pub role: Option<String>,
    /// Exposed name of the tool.
    pub tool: Option<String>,
    /// Id of the server.
    pub server: Option<String>,
    /// What the role may do with the tool.
    pub access: Option<String>,
    /// The rule that says so.
    pub rule: Option<String>,
    /// What decided beside it.
    pub by: Option<String>,
    /// The request for approval.
    pub approval: Option<String>,
    /// Arguments of the call.
    pub arguments: Option<Given>,
    /// What came of the call, if it ended before the line was written.
    pub end: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: Option<u64>,
    /// More about it.
    pub reason: Option<String>,
    /// Tools that it is about.
    pub tools: Vec<String>,
    /// How often a child server was started before.
    pub restarts: Option<u64>,
    /// The line itself.
    #[serde(skip)]
    pub line: String,
}

/// Arguments of a call as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Given {
    /// Their length.
    pub bytes: u64,
    /// Digest of their canonical form.
    pub sha256: Option<String>,
    /// Their beginning, with secrets masked.
    pub preview: Option<String>,
}

/// The events in `folder` that `filter` wants, oldest first. Lines that are none of ours are passed over:
/// [`verify`](super::verify::verify) is there for them.
///
/// # Errors
/// The log cannot be read.
pub fn read(folder: &Folder, filter: &Filter<'_>) -> io::Result<Vec<Entry>> {
    // Whoever writes waits meanwhile, so no file moves. Without a lock nobody has written.
    let _lock = match folder.lock(false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        lock => lock?,
    };
    let mut found = VecDeque::new();
    for old in folder.files()? {
        let mut lines = BufReader::with_capacity(1 << 18, File::open(folder.file(old))?);
        let mut line = Vec::new();
        while lines.by_ref().take(MAX_LINE as u64 * 2).read_until(b'\n', &mut line)? > 0 {
            if let Some(entry) = Entry::of(&line).filter(|entry| filter.wants(entry)) {
                if found.len() >= filter.limit {
                    found.pop_front();
                }
                found.push_back(entry);
            }
            line.clear();
        }
    }
    found.truncate(filter.limit);
    let mut found = Vec::from(found);
    // Several processes write what they have noted a little later, each in its own order.
    found.sort_by_key(|entry| entry.at);
    Ok(found)
}

impl Entry {
    /// Reads a line.
    fn of(line: &[u8]) -> Option<Entry> {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let entry: Entry = serde_json::from_str(line).ok().filter(|entry: &Entry| !entry.event.is_empty())?;
        Some(Entry { line: line.to_owned(), ..entry })
    }
}

impl Filter<'_> {
    fn wants(&self, entry: &Entry) -> bool {
        let has_tool = |tool| entry.tool.as_deref() == Some(tool) || entry.tools.iter().any(|known| known == tool);
        entry.at >= self.since
            && self.tool.is_none_or(has_tool)
            && self.outcome.is_none_or(|outcome| entry.outcome == outcome || entry.end.as_deref() == Some(outcome))
    }
}

/// What `since` means, such as `10m`, `2h`, `1d`, `1w`, a date (from midnight in UTC) or a date and time of RFC 3339, in
/// milliseconds since 1970.
pub fn since(text: &str, now: u64) -> Option<u64> {
    let unit = match text.as_bytes().last()? {
        b's' => 1000,
        b'm' => 60_000,
        b'h' => 3_600_000,
        b'd' => 86_400_000,
        b'w' => 604_800_000,
        _ if text.len() == "2026-12-03".len() => return crate::calendar::moment(&format!("{text}T00:00:00Z")),
        _ => return crate::calendar::moment(text),
    };
    let count: u64 = text.get(..text.len() - 1)?.parse().ok()?;
    Some(now.saturating_sub(count.saturating_mul(unit)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn since_when() {
        let now = 1_796_298_501_123;
        for (text, expected) in [
            ("10m", Some(now - 600_000)),
            ("2h", Some(now - 7_200_000)),
            ("1d", Some(now - 86_400_000)),
            ("1w", Some(now - 604_800_000)),
            ("90s", Some(now - 90_000)),
            ("2026-12-03", Some(now - 42_501_123)),
            ("2026-13-03", None),
            ("99999999999999d", Some(0)),
            ("2026-12-03T11:48:21.123Z", Some(now)),
            ("-1m", None),
            ("m", None),
            ("yesterday", None),
            ("", None),
            ("ü", None),
        ] {
            assert_eq!(since(text, now), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_in_a_line_is_an_event_or_none(bytes in any::<Vec<u8>>(), text in "\\PC{0,20}") {
            let _ = (Entry::of(&bytes), since(&text, 0));
            let line = format!("{{\"event\":{},\"at\":1,\"other\":[1]}}\n", serde_json::Value::from(text.as_str()));
            assert_eq!(Entry::of(line.as_bytes()).map(|entry| entry.event), Some(text).filter(|text| !text.is_empty()));
        }
    }
}
