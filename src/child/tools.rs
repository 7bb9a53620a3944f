//! A child's `tools/list`, read leniently: pages are followed, and one bad entry loses one entry.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Pages that are read of one list.
const MAX_PAGES: usize = 500;
/// Tools that are kept of one list.
const MAX_TOOLS: usize = 10_000;
/// Skipped entries that are remembered, and notes.
pub(super) const MAX_TOLD: usize = 100;

/// One tool as the child described it.
#[derive(Debug, Clone)]
pub struct ChildTool {
    /// The child's own name.
    pub name: String,
    /// The whole definition, as the bytes that came.
    pub raw: Box<RawValue>,
}

impl PartialEq for ChildTool {
    fn eq(&self, other: &ChildTool) -> bool {
        self.raw.get() == other.raw.get()
    }
}

/// An entry of a list that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedTool {
    /// Its name, or its place in the list if it has none.
    pub name: String,
    /// Why it is not offered.
    pub reason: String,
}

/// What a list came to with those who offer its tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// What cannot be offered.
    pub skipped: Vec<SkippedTool>,
    /// What is not offered as it came, one sentence each.
    pub notes: Vec<String>,
}

/// What the pages of a list came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Listing {
    /// In the child's order.
    pub(super) tools: Vec<ChildTool>,
    /// What was left out, at most [`MAX_TOLD`].
    pub(super) skipped: Vec<SkippedTool>,
    /// What was odd about the list as a whole.
    pub(super) notes: Vec<String>,
}

/// A list in the making.
#[derive(Debug, Default)]
pub(super) struct Pages {
    listing: Listing,
    names: HashMap<String, usize>,
    cursors: HashSet<String>,
    pages: usize,
    bytes: usize,
    entries: usize,
}

impl Pages {
    /// Takes the result of one `tools/list`; the cursor to go on with, or `None` if the list is complete. The whole
    /// list may hold `max_bytes`.
    ///
    /// # Errors
    /// The result has no list of tools; what it is, as the rest of a sentence about the child.
    pub(super) fn add(&mut self, result: &[u8], max_bytes: usize) -> Result<Option<String>, String> {
        #[derive(Deserialize)]
        struct Page<'a> {
            #[serde(borrow)]
            tools: Vec<&'a RawValue>,
            #[serde(borrow, default, rename = "nextCursor")]
            next: Option<&'a RawValue>,
        }
        let page: Page<'_> =
            serde_json::from_slice(result).map_err(|error| format!("answered `tools/list` without a list: {error}"))?;
        self.pages += 1;
        self.bytes += result.len();
        for raw in page.tools {
            self.entries += 1;
            if self.listing.tools.len() >= MAX_TOOLS {
                self.note(format!("lists more than {MAX_TOOLS} tools; the rest is left out"));
                return Ok(None);
            }
            self.entry(raw);
        }
        // An empty cursor is how some servers say that there is no next page.
        let next =
            page.next.and_then(|next| serde_json::from_str::<String>(next.get()).ok()).filter(|next| !next.is_empty());
        let Some(next) = next else { return Ok(None) };
        if !self.cursors.insert(next.clone()) {
            self.note("gives the same cursor twice; the list ends there".to_owned());
        } else if self.pages >= MAX_PAGES {
            self.note(format!("has more than {MAX_PAGES} pages of tools; the rest is left out"));
        } else if self.bytes > max_bytes {
            self.note(format!("has more than {max_bytes} bytes of tools; the rest is left out"));
        } else {
            return Ok(Some(next));
        }
        Ok(None)
    }

    /// Remembers something odd about the list.
    pub(super) fn note(&mut self, text: String) {
        self.listing.notes.push(text);
    }

    /// The list so far.
    pub(super) fn finish(self) -> Listing {
        self.listing
    }

    fn entry(&mut self, raw: &RawValue) {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let place = || format!("entry {}", self.entries);
        let name = match serde_json::from_str::<Named>(raw.get()) {
            Ok(Named { name }) if name.is_empty() => return self.skip(place(), "its name is empty"),
            Ok(Named { name }) => name,
            Err(_) if raw.get().starts_with('{') => return self.skip(place(), "it has no name"),
            Err(_) => return self.skip(place(), "it is no object"),
        };
        match self.names.get(&name) {
            None => {
                self.names.insert(name.clone(), self.listing.tools.len());
                self.listing.tools.push(ChildTool { name, raw: raw.to_owned() });
            }
            // A page that comes again brings nothing new.
            Some(first) if self.listing.tools[*first].raw.get() == raw.get() => {}
            Some(_) => self.skip(name, "an earlier tool of this server has the same name"),
        }
    }

    fn skip(&mut self, name: String, reason: &str) {
        if self.listing.skipped.len() < MAX_TOLD {
            self.listing.skipped.push(SkippedTool { name, reason: reason.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(listing: &Listing) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn a_bad_entry_loses_one_entry() {
        let page = br#"{"tools":[{"name":"b","z":1.10,"a":2},{"title":"x"},7,{"name":""},{"name":5},{"name":"a"},
            {"name":"b","other":true},{"name":"a"}],"nextCursor":null,"_meta":{}}"#;
        let mut pages = Pages::default();
        assert_eq!(pages.add(page, 1000), Ok(None));
        let listing = pages.finish();
        assert_eq!(names(&listing), ["b", "a"]);
        assert_eq!(listing.tools[0].raw.get(), r#"{"name":"b","z":1.10,"a":2}"#);
        let skipped: Vec<_> = listing.skipped.iter().map(|skip| format!("{}: {}", skip.name, skip.reason)).collect();
        expect_test::expect![[r#"
            entry 2: it has no name
            entry 3: it is no object
            entry 4: its name is empty
            entry 5: it has no name
            b: an earlier tool of this server has the same name"#]]
        .assert_eq(&skipped.join("\n"));
    }

    #[test]
    fn no_list_is_an_error() {
        for text in ["{}", "[]", "null", r#"{"tools":{}}"#, r#"{"tools":null}"#] {
            assert!(Pages::default().add(text.as_bytes(), 1000).is_err(), "{text}");
        }
    }

    #[test]
    fn a_walk_ends() {
        let mut pages = Pages::default();
        let page = br#"{"tools":[{"name":"a"}],"nextCursor":"again"}"#;
        assert_eq!(pages.add(page, 1000), Ok(Some("again".into())));
        assert_eq!(pages.add(page, 1000), Ok(None));
        let listing = pages.finish();
        assert_eq!((names(&listing), listing.skipped.len(), listing.notes.len()), (vec!["a"], 0, 1));

        let mut pages = Pages::default();
        let mut n = 0;
        while let Ok(Some(_)) = pages.add(format!(r#"{{"tools":[],"nextCursor":"{n}"}}"#).as_bytes(), 1 << 20) {
            n += 1;
        }
        assert_eq!((n + 1, pages.finish().notes.len()), (MAX_PAGES, 1));

        let mut pages = Pages::default();
        assert_eq!(pages.add(br#"{"tools":[],"nextCursor":"x"}"#, 10), Ok(None));
        assert_eq!(pages.add(br#"{"tools":[],"nextCursor":""}"#, 10), Ok(None));
    }

    proptest::proptest! {
        #[test]
        fn no_result_panics_and_names_are_never_twice(
            entries in proptest::collection::vec("(\\{\"name\":\"[ab]{0,2}\"(,\"x\":[0-9])?\\}|[0-9]|\\[\\]|null|\\{\\})", 0..20),
            garbage in "[{}\\[\\]\"a-z:,]{0,40}",
        ) {
            let mut pages = Pages::default();
            let _ = pages.add(garbage.as_bytes(), 1000);
            let page = format!(r#"{{"tools":[{}]}}"#, entries.join(","));
            assert_eq!(pages.add(page.as_bytes(), 1 << 20), Ok(None));
            let listing = pages.finish();
            let distinct: HashSet<_> = names(&listing).into_iter().collect();
            assert_eq!(distinct.len(), listing.tools.len());
            assert!(listing.tools.len() + listing.skipped.len() <= entries.len());
        }
    }
}
