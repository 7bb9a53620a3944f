//! Large results of child servers: a preview takes their place, and the rest is read in pages.
//!
//! - [`preview`]: what is sent instead, as far as anything is;
//! - [`pages`]: tokens, estimated, and where a text is cut;
//! - [`Results`]: what is kept, for a while and within bounds.
//!
//! Whoever has the URI of a kept result may read it: the id is random, and told to nobody but who made the call.

mod pages;
mod preview;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::calls::outcome::Outcome;

pub use preview::{Limit, preview};

/// What the URI of a kept result begins with.
const SCHEME: &str = "evokore://results/";
/// Results that are kept.
const MAX_KEPT: usize = 64;
/// Bytes of all kept results.
const MAX_BYTES: usize = 64 << 20;
/// How long a result is kept after it was last read.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);

/// Results that can be read on. Beyond the bounds the least recently read leave.
#[derive(Debug, Default)]
pub struct Results {
    /// The most recently used last.
    kept: Mutex<Vec<Kept>>,
}

#[derive(Debug)]
struct Kept {
    uri: String,
    /// Exposed name of the tool.
    tool: String,
    text: String,
    mime: &'static str,
    /// Where its pages end.
    ends: Vec<usize>,
    used: Instant,
}

/// One page of a kept result.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// URI of the whole result.
    pub uri: String,
    /// Exposed name of the tool.
    pub tool: String,
    /// What stands on it.
    pub text: String,
    /// Media type of the whole text.
    pub mime: &'static str,
    /// Its number, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Results {
    /// Keeps `text`, whose pages end at `ends`; its URI, or `None` when it is too large to be kept.
    fn keep(&self, tool: &str, text: String, mime: &'static str, ends: Vec<usize>) -> Option<String> {
        let mut random = [0u8; 16];
        if text.len() > MAX_BYTES || getrandom::fill(&mut random).is_err() {
            return None;
        }
        let uri = format!("{SCHEME}{:032x}", u128::from_be_bytes(random));
        let mut kept = self.fresh();
        kept.push(Kept { uri: uri.clone(), tool: tool.to_owned(), text, mime, ends, used: Instant::now() });
        while kept.len() > MAX_KEPT || kept.iter().map(|kept| kept.text.len()).sum::<usize>() > MAX_BYTES {
            kept.remove(0);
        }
        Some(uri)
    }

    /// The page that `uri` names: `evokore://results/ID?page=N`, or the first one without a number.
    pub fn page(&self, uri: &str) -> Option<Page> {
        let (uri, number) = match uri.split_once('?') {
            None => (uri, 1),
            Some((uri, query)) => (uri, query.strip_prefix("page=")?.parse::<usize>().ok()?),
        };
        let mut kept = self.fresh();
        let at = kept.iter().position(|kept| kept.uri == uri)?;
        let mut found = kept.remove(at);
        found.used = Instant::now();
        let page = found.page(number);
        kept.push(found);
        page
    }

    /// The kept results, without those whose time is over.
    fn fresh(&self) -> MutexGuard<'_, Vec<Kept>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.used.elapsed() < MAX_AGE);
        kept
    }
}

impl Kept {
    fn page(&self, number: usize) -> Option<Page> {
        let index = number.checked_sub(1)?;
        let end = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(Page {
            uri: self.uri.clone(),
            tool: self.tool.clone(),
            text: self.text.get(start..end)?.to_owned(),
            mime: self.mime,
            number,
            of: self.ends.len(),
        })
    }
}

impl Page {
    /// URI of the page after this one, if there is one.
    pub fn next(&self) -> Option<String> {
        (self.number < self.of).then(|| page_uri(&self.uri, self.number + 1))
    }

    /// The page as a result, for models that cannot read resources.
    pub fn into_outcome(self) -> Outcome {
        let place = format!("[page {} of {} of the result of `{}`", self.number, self.of, self.tool);
        let place = match self.next() {
            Some(next) => format!("{place}; the next one: call_tool with {{\"name\": \"{next}\"}}]"),
            None => format!("{place}; it ends here]"),
        };
        Outcome::texts([self.text.as_str(), place.as_str()])
    }
}

/// Whether `name` is the URI of a kept result, or might have been.
pub fn is_uri(name: &str) -> bool {
    name.starts_with(SCHEME)
}

/// What is said about a page that cannot be read.
pub fn unknown(uri: &str) -> String {
    let shown: String = uri.chars().take(100).collect();
    format!(
        "there is no page `{shown}`: large results are kept for {} minutes after they were last read, as long as there \
         is room; call the tool again",
        MAX_AGE.as_secs() / 60
    )
}

fn page_uri(uri: &str, number: usize) -> String {
    format!("{uri}?page={number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(results: &Results, len: usize) -> Option<String> {
        results.keep("t", "x".repeat(len), "text/plain", vec![1, len])
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_read_by_page_and_leaves_in_time() {
        let results = Results::default();
        let uri = keep(&results, 10).unwrap();
        assert_ne!(Some(&uri), keep(&results, 10).as_ref(), "ids are random");
        assert_eq!(uri.len(), SCHEME.len() + 32);
        let page = |which: &str| {
            results.page(&format!("{uri}{which}")).map(|page| (page.number, page.text.len(), page.next()))
        };
        let second = Some(format!("{uri}?page=2"));
        for (which, expected) in [
            ("", Some((1, 1, second.clone()))),
            ("?page=1", Some((1, 1, second))),
            ("?page=2", Some((2, 9, None))),
            ("?page=3", None),
            ("?page=0", None),
            ("?page=", None),
            ("?size=1", None),
            ("0", None),
        ] {
            assert_eq!(page(which), expected, "{which}");
        }
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        assert!(page("").is_some());
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        assert!(page("").is_some(), "reading starts the time again");
        tokio::time::advance(MAX_AGE).await;
        assert_eq!(page(""), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_bounded() {
        let results = Results::default();
        let uris: Vec<String> = (0..MAX_KEPT).map(|_| keep(&results, 10).unwrap()).collect();
        assert!(results.page(&uris[0]).is_some(), "and is used");
        let next = keep(&results, 10).unwrap();
        assert!(results.page(&uris[1]).is_none(), "the least recently used leaves");
        assert!(results.page(&uris[0]).is_some() && results.page(&next).is_some());
        let large = keep(&results, MAX_BYTES).unwrap();
        assert!(results.page(&large).is_some() && results.page(&next).is_none());
        assert_eq!(keep(&results, MAX_BYTES + 1), None);
        assert!(results.page(&large).is_some(), "what cannot be kept drives nothing out");
    }
}
