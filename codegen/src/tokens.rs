//! Token counts. Counting a text once is enough: a count is known by the SHA-256 of the text it belongs to, and the
//! tokenizer, which takes a tenth of a second to load, is only loaded when a count is missing.

use std::collections::BTreeMap;

use crate::source::hex_sha256;

/// A tokenizer's vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Encoding {
    /// `cl100k_base`.
    #[default]
    Cl100k,
    /// `o200k_base`.
    O200k,
}

impl Encoding {
    /// Both, in the order of every table.
    pub const ALL: [Encoding; 2] = [Encoding::Cl100k, Encoding::O200k];

    /// The name the configuration uses.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Cl100k => "cl100k_base",
            Encoding::O200k => "o200k_base",
        }
    }

    /// The encoding called `name`.
    pub fn from_name(name: &str) -> Option<Encoding> {
        Encoding::ALL.into_iter().find(|encoding| encoding.name() == name)
    }

    fn count(self, text: &str) -> u32 {
        let tokenizer = match self {
            Encoding::Cl100k => tiktoken_rs::cl100k_base_singleton(),
            Encoding::O200k => tiktoken_rs::o200k_base_singleton(),
        };
        u32::try_from(tokenizer.count_ordinary(text)).unwrap_or(u32::MAX)
    }
}

/// Counts of one text; `None` where nobody has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([Option<u32>; 2]);

impl Counts {
    /// Counts by encoding, in the order of [`Encoding::ALL`].
    pub fn new(cl100k: Option<u32>, o200k: Option<u32>) -> Counts {
        Counts([cl100k, o200k])
    }

    /// The count in `encoding`, 0 when it was not counted.
    pub fn of(self, encoding: Encoding) -> u32 {
        self.0[encoding as usize].unwrap_or(0)
    }

    /// The sums, where both sides are counted.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        let sum = |at: usize| Some(self.0[at]?.saturating_add(other.0[at]?));
        Counts([sum(0), sum(1)])
    }

    /// No tokens, in both encodings.
    pub const ZERO: Counts = Counts([Some(0), Some(0)]);
}

/// Counts by SHA-256 of the counted text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known(BTreeMap<String, Counts>);

impl Known {
    /// Adds the lines of a table whose last three columns are digest, `cl100k_base` and `o200k_base` counts (`-` for
    /// unknown). Lines of another shape are passed over: such a count is made anew.
    pub fn add_table(&mut self, table: &str) {
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [.., digest, cl100k, o200k] = columns[..] else { continue };
            if digest.len() != 64 {
                continue;
            }
            let counts = self.0.entry(digest.to_owned()).or_default();
            for (slot, column) in counts.0.iter_mut().zip([cl100k, o200k]) {
                *slot = slot.or(column.parse().ok());
            }
        }
    }

    /// The table that [`Known::add_table`] reads.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for (digest, counts) in &self.0 {
            let [cl100k, o200k] = counts.0.map(show);
            out.push_str(&format!("{digest}\t{cl100k}\t{o200k}\n"));
        }
        out
    }
}

/// A count, or `-`.
pub fn show(count: Option<u32>) -> String {
    count.map_or_else(|| "-".to_owned(), |count| count.to_string())
}

/// Counts texts and remembers what each was counted for.
#[derive(Debug)]
pub struct Counter {
    encodings: Vec<Encoding>,
    known: Known,
    used: Known,
    ledger: BTreeMap<String, (String, Counts)>,
    /// How many texts had to be counted because nobody knew them.
    pub counted: usize,
}

impl Counter {
    /// A counter for `encodings` that believes `known`.
    pub fn new(encodings: &[Encoding], known: Known) -> Counter {
        Counter { encodings: encodings.to_vec(), known, used: Known::default(), ledger: BTreeMap::new(), counted: 0 }
    }

    /// Tokens of `text`, entered in the ledger as `label`.
    pub fn count(&mut self, label: &str, text: &str) -> Counts {
        let digest = hex_sha256(text.as_bytes());
        let mut counts = self.known.0.get(&digest).copied().unwrap_or_default();
        for encoding in &self.encodings {
            let slot = &mut counts.0[*encoding as usize];
            if slot.is_none() {
                *slot = Some(encoding.count(text));
                self.counted += 1;
            }
        }
        self.known.0.insert(digest.clone(), counts);
        self.used.0.insert(digest.clone(), counts);
        self.ledger.insert(label.to_owned(), (digest, counts));
        counts
    }

    /// What was counted: label, digest of the text, counts; sorted by label.
    pub fn ledger(&self) -> impl Iterator<Item = (&str, &str, [Option<u32>; 2])> {
        self.ledger.iter().map(|(label, (digest, counts))| (label.as_str(), digest.as_str(), counts.0))
    }

    /// The counts this compilation used, for the next one.
    pub fn used(&self) -> &Known {
        &self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_public_vocabularies() {
        let mut counter = Counter::new(&Encoding::ALL, Known::default());
        for (text, cl100k, o200k) in [("tiktoken is great!", 6, 6), ("2 + 2 = 4", 7, 7), ("お誕生日おめでとう", 9, 8)]
        {
            assert_eq!(counter.count("label", text), Counts::new(Some(cl100k), Some(o200k)), "{text}");
        }
        assert_eq!(counter.counted, 6);
    }

    #[test]
    fn known_texts_are_not_counted_again() {
        let mut first = Counter::new(&[Encoding::O200k], Known::default());
        first.count("a", "one");
        let mut known = Known::default();
        known.add_table("# head\nnot\ta\ttable\n");
        known.add_table(&first.used().table());
        let mut second = Counter::new(&[Encoding::O200k], known.clone());
        assert_eq!(second.count("b", "one"), Counts::new(None, Some(1)));
        assert_eq!(second.counted, 0);
        let mut third = Counter::new(&Encoding::ALL, known);
        third.count("b", "one");
        assert_eq!(third.counted, 1);
    }
}
