//! A child's lists, of tools and of what else it offers, read leniently: pages are followed, and one bad entry loses
//! one entry.

use std::collections::{HashMap, HashSet};

use evokore_catalog::members::Members;
use serde::Serialize;
use serde_json::value::RawValue;

/// Pages that are read of one list.
const MAX_PAGES: usize = 500;
/// Entries that are kept of one list.
const MAX_ENTRIES: usize = 10_000;
/// Skipped entries that are remembered, and notes.
pub(super) const MAX_TOLD: usize = 100;

/// A list that a child is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    #[default]
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl Kind {
    pub(super) fn method(self) -> &'static str {
        match self {
            Kind::Tools => "tools/list",
            Kind::Resources => "resources/list",
            Kind::Templates => "resources/templates/list",
            Kind::Prompts => "prompts/list",
        }
    }

    /// The member of the result that holds the entries.
    fn member(self) -> &'static str {
        match self {
            Kind::Tools => "tools",
            Kind::Resources => "resources",
            Kind::Templates => "resourceTemplates",
            Kind::Prompts => "prompts",
        }
    }

    /// The member of an entry that tells it from the others.
    fn key(self) -> &'static str {
        match self {
            Kind::Tools | Kind::Prompts => "name",
            Kind::Resources => "uri",
            Kind::Templates => "uriTemplate",
        }
    }

    /// One entry, and several.
    pub(super) fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Kind::Tools => ("tool", "tools"),
            Kind::Resources => ("resource", "resources"),
            Kind::Templates => ("template", "templates"),
            Kind::Prompts => ("prompt", "prompts"),
        }
    }
}

/// One tool as the child described it.
pub type ChildTool = ChildEntry;

/// One entry of a list as the child described it.
#[derive(Debug, Clone)]
pub struct ChildEntry {
    /// The child's own name of a tool or prompt; the URI or the template of a resource.
    pub name: String,
    /// The whole definition, as the bytes that came.
    pub raw: Box<RawValue>,
}

impl PartialEq for ChildEntry {
    fn eq(&self, other: &ChildEntry) -> bool {
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

/// What a list came to with those who offer its entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// What cannot be offered.
    pub skipped: Vec<SkippedTool>,
    /// What is not offered as it came, one sentence each.
    pub notes: Vec<String>,
    /// What people are told at once, each line once; completes "child server … ".
    pub told: Vec<String>,
}

/// What the pages of a list came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Listing {
    /// In the child's order: tools, or whatever the list is of.
    pub(super) tools: Vec<ChildEntry>,
    /// What was left out, at most [`MAX_TOLD`].
    pub(super) skipped: Vec<SkippedTool>,
    /// What was odd about the list as a whole.
    pub(super) notes: Vec<String>,
}

/// A list in the making.
#[derive(Debug, Default)]
pub(super) struct Pages {
    kind: Kind,
    listing: Listing,
    names: HashMap<String, usize>,
    cursors: HashSet<String>,
    pages: usize,
    bytes: usize,
    entries: usize,
}

impl Pages {
    pub(super) fn of(kind: Kind) -> Pages {
        Pages { kind, ..Pages::default() }
    }

    /// Takes the result of one request; the cursor to go on with, or `None` if the list is complete. The whole list
    /// may hold `max_bytes`.
    ///
    /// # Errors
    /// The result has no list; what it is, as the rest of a sentence about the child.
    pub(super) fn add(&mut self, result: &[u8], max_bytes: usize) -> Result<Option<String>, String> {
        let (method, member) = (self.kind.method(), self.kind.member());
        let no_list = |what: &str| format!("answered `{method}` without a list: {what}");
        let page: Members<'_> = serde_json::from_slice(result).map_err(|error| no_list(&error.to_string()))?;
        let entries = page.last(member).ok_or_else(|| no_list(&format!("missing field `{member}`")))?;
        let entries: Vec<&RawValue> =
            serde_json::from_str(entries.get()).map_err(|error| no_list(&error.to_string()))?;
        let many = self.kind.nouns().1;
        self.pages += 1;
        self.bytes += result.len();
        for raw in entries {
            self.entries += 1;
            if self.listing.tools.len() >= MAX_ENTRIES {
                self.note(format!("lists more than {MAX_ENTRIES} {many}; the rest is left out"));
                return Ok(None);
            }
            self.entry(raw);
        }
        // An empty cursor is how some servers say that there is no next page.
        let next = page.last("nextCursor").and_then(|next| serde_json::from_str::<String>(next.get()).ok());
        let next = next.filter(|next| !next.is_empty());
        let Some(next) = next else { return Ok(None) };
        if !self.cursors.insert(next.clone()) {
            self.note("gives the same cursor twice; the list ends there".to_owned());
        } else if self.pages >= MAX_PAGES {
            self.note(format!("has more than {MAX_PAGES} pages of {many}; the rest is left out"));
        } else if self.bytes > max_bytes {
            self.note(format!("has more than {max_bytes} bytes of {many}; the rest is left out"));
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
        let (key, (one, _)) = (self.kind.key(), self.kind.nouns());
        let place = || format!("entry {}", self.entries);
        let Ok(members) = Members::parse(raw.get()) else { return self.skip(place(), "it is no object".to_owned()) };
        let name = members.last(key).and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        let name = match name {
            Some(name) if name.is_empty() => return self.skip(place(), format!("its {key} is empty")),
            Some(name) => name,
            None => return self.skip(place(), format!("it has no {key}")),
        };
        match self.names.get(&name) {
            None => {
                self.names.insert(name.clone(), self.listing.tools.len());
                self.listing.tools.push(ChildEntry { name, raw: raw.to_owned() });
            }
            // A page that comes again brings nothing new.
            Some(first) if self.listing.tools[*first].raw.get() == raw.get() => {}
            Some(_) => self.skip(name, format!("an earlier {one} of this server has the same {key}")),
        }
    }

    fn skip(&mut self, name: String, reason: String) {
        if self.listing.skipped.len() < MAX_TOLD {
            self.listing.skipped.push(SkippedTool { name, reason });
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
