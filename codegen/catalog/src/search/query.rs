//! The ranking of documents by a query.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::lexicon::Lexicon;
use super::number::{ONE, idf, repetition, times};
use super::reading::{Expansion, Reader};
use super::segment::Segment;
use super::tally::{Scratch, unit};
use super::terms::{Stems, Word, content_words, head};

/// How much of a query is read, in bytes.
const MAX_QUERY_BYTES: usize = 4096;

/// How many different words of a query are looked at.
const MAX_QUERY_WORDS: usize = 128;

/// The greatest impact.
const FULL_IMPACT: u64 = 255;

/// What a search may use and how much it gives.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The most hits.
    pub limit: usize,
    /// Words that are no typing mistakes.
    pub lexicon: Option<&'a Lexicon>,
    /// Words near in meaning.
    pub expansion: Option<&'a dyn Expansion>,
    /// Which documents may be found, by segment and document; all by default. The others still count for how rare a word
    /// is, so a score doesn't depend on who asks.
    pub accept: Option<&'a dyn Fn(usize, u16) -> bool>,
    /// Which of two documents of one score comes first: the one with the lower number here, then that of the earlier
    /// segment, then the earlier document.
    pub order: Option<&'a dyn Fn(usize, u16) -> u32>,
    /// When there is an answer at all, and where it ends.
    pub floor: Floor,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { limit: 10, lexicon: None, expansion: None, accept: None, order: None, floor: Floor::CALIBRATED }
    }
}

/// When there is an answer, and how far down it goes.
///
/// One accidental word in a sentence about something else is no answer; but a long sentence may have many words that no
/// tool mentions, and still enough that one does. So the best document has to pass `evidence` or `share`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// Least score of the best document, in 1024ths of what a word that no other document holds would give in full.
    pub evidence: u32,
    /// Least part of the query that the best document explains, in 1024ths.
    pub share: u32,
    /// Least score of the others, in 1024ths of the best one's.
    pub tail: u32,
}

impl Floor {
    /// A quarter of a perfect word or a fifth of the query, and then down to a quarter of the best score. On the
    /// evaluation sets this costs under half a point of recall, and refuses half of the queries that have no answer but
    /// share a word with something.
    pub const CALIBRATED: Self = Self { evidence: 256, share: 205, tail: 256 };

    /// Everything that shares a word with the query.
    pub const NONE: Self = Self { evidence: 0, share: 0, tail: 0 };

    /// The least score that a document needs when the best has `top`; `None` when even the best is no answer. `full` is
    /// what a document would score that explains the whole query, `unheard` what a word counts that no document holds.
    fn least(self, top: u32, full: u64, unheard: u32) -> Option<u32> {
        let reached = u64::from(top) * u64::from(ONE);
        let enough = reached >= u64::from(self.evidence) * u64::from(unheard) * FULL_IMPACT
            || reached >= u64::from(self.share) * full * FULL_IMPACT;
        enough.then_some(times(top, self.tail))
    }
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// The best first.
    pub ranked: Vec<Hit>,
    /// Words of the query that mean nothing to any document, in its order. Numbers are not among them.
    pub unmatched: Vec<String>,
    /// Words that were taken for typing mistakes, with the likeliest of what was looked up instead.
    pub corrected: Vec<(String, String)>,
}

/// A document found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Index of its segment.
    pub segment: usize,
    /// Its number there.
    pub document: u16,
    /// How much of the query it explains, 0 to 1: comparable between queries, and the same on every machine.
    pub score: f32,
}

/// Ranks the documents of all `segments` by how much they say about `query`, of which the first four kilobytes are read.
pub fn search(segments: &[&Segment], query: &str, options: &Options<'_>, scratch: &mut Scratch) -> Hits {
    scratch.reset(segments);
    let documents = scratch.documents();
    let unheard = idf(documents, 0);
    let reader = Reader { segments, lexicon: options.lexicon, expansion: options.expansion, stems: Stems::default() };
    let words = QueryWords::of(query);
    let mut hits = Hits::default();
    // What a document would score that explains every word.
    let mut full = 0;
    let mut matched = Vec::with_capacity(words.distinct.len());
    for (word, count) in &words.distinct {
        let reading = reader.read(word);
        let mut best = 0;
        for sense in &reading.senses {
            let whole = unit(idf(documents, sense.holders), repetition(*count), ONE);
            best = best.max(whole);
            scratch.add(segments, sense, unit(whole, ONE, sense.weight));
        }
        scratch.end_word();
        full += u64::from(best);
        matched.push(best > 0);
        hits.corrected.extend(reading.correction.map(|correction| (word.to_string(), correction)));
    }
    hits.unmatched = words.unmatched(&matched);
    full += hits.unmatched.len() as u64 * u64::from(unheard);
    hits.ranked = best(scratch, options, full, unheard);
    hits
}

/// The words of a query.
#[derive(Default)]
struct QueryWords<'q> {
    /// Each once, in order, with how often it stands in the query.
    distinct: Vec<(Cow<'q, str>, u32)>,
    /// Every word: the compound it belongs to, and its index in `distinct`.
    all: Vec<(usize, usize)>,
}

impl<'q> QueryWords<'q> {
    fn of(query: &'q str) -> Self {
        let mut words = Self::default();
        for Word { text, compound } in content_words(head(query, MAX_QUERY_BYTES)) {
            let known = words.distinct.iter().position(|(known, _)| *known == text);
            let index = known.unwrap_or(words.distinct.len());
            match words.distinct.get_mut(index) {
                Some((_, count)) => *count += 1,
                None if index < MAX_QUERY_WORDS => words.distinct.push((text, 1)),
                None => continue,
            }
            words.all.push((compound, index));
        }
        words
    }

    /// The words of which nothing matched, given which of the distinct ones did. A compound, which comes after its parts,
    /// is understood when it is known as a whole, or all of its parts are. Numbers say which thing of a kind is meant, and
    /// no document has to know them.
    fn unmatched(&self, matched: &[bool]) -> Vec<String> {
        let mut unmatched: Vec<String> = Vec::new();
        for compound in self.all.chunk_by(|(a, _), (b, _)| a == b) {
            let Some(&(_, whole)) = compound.last() else { continue };
            let text = &self.distinct[whole].0;
            let parts = &compound[..compound.len() - 1];
            let understood = matched[whole] || (!parts.is_empty() && parts.iter().all(|&(_, part)| matched[part]));
            let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
            if !understood && !is_number && !unmatched.iter().any(|known| known == text) {
                unmatched.push(text.to_string());
            }
        }
        unmatched
    }
}

/// The first `limit` documents above the floor, by score and then by the caller's order.
fn best(scratch: &Scratch, options: &Options<'_>, full: u64, unheard: u32) -> Vec<Hit> {
    let mut found: Vec<_> = scratch
        .scores()
        .filter(|(segment, document, _)| options.accept.is_none_or(|accept| accept(*segment, *document)))
        .collect();
    let top = found.iter().map(|(.., score)| *score).max().unwrap_or(0);
    let Some(least) = options.floor.least(top, full, unheard) else { return Vec::new() };
    found.retain(|(.., score)| *score >= least);

    let order = |segment, document| options.order.map_or(0, |order| order(segment, document));
    let mut found: Vec<_> = found
        .into_iter()
        .map(|(segment, document, score)| (Reverse(score), order(segment, document), segment, document))
        .collect();
    if options.limit < found.len() {
        if let Some(last) = options.limit.checked_sub(1) {
            found.select_nth_unstable(last);
        }
        found.truncate(options.limit);
    }
    found.sort_unstable();

    let whole = (full * FULL_IMPACT) as f32;
    found
        .into_iter()
        .map(|(score, _, segment, document)| Hit { segment, document, score: score.0 as f32 / whole })
        .collect()
}
