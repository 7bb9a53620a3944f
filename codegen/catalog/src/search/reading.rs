//! What a word of the query stands for: its own term where documents hold it, else what its writer may have meant, and
//! words near in meaning.

use std::cmp::Reverse;
use std::ops::Range;

use super::lexicon::Lexicon;
use super::number::{ONE, times};
use super::segment::Segment;
use super::spelling::{is_correctable, near};
use super::terms::{Stems, is_stop_word};

/// Weights of the corrections of one word, the likeliest first, in 1024ths: .85, .6 and .6.
const CORRECTION_WEIGHTS: [u32; 3] = [870, 614, 614];

/// How many neighbours of one word are looked up.
const MAX_NEIGHBOURS: usize = 8;

/// A table of words near in meaning.
pub trait Expansion {
    /// Gives the neighbours of a lower-case word, nearest first: each as a term (see [`super::terms`]) with its weight in
    /// 256ths of the word's own. The first eight are used.
    fn neighbours(&self, word: &str, give: &mut dyn FnMut(&str, u8));
}

/// What reads the words of one query.
pub(super) struct Reader<'a> {
    pub(super) segments: &'a [&'a Segment],
    pub(super) lexicon: Option<&'a Lexicon>,
    pub(super) expansion: Option<&'a dyn Expansion>,
    pub(super) stems: Stems,
}

/// How a word was read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The terms it may stand for, of which a document counts the best.
    pub(super) senses: Vec<Sense>,
    /// What it was corrected to.
    pub(super) correction: Option<String>,
}

/// A term that a word may stand for.
#[derive(Debug)]
pub(super) struct Sense {
    /// In 1024ths.
    pub(super) weight: u32,
    /// How many documents hold the term.
    pub(super) holders: u32,
    /// Where its postings lie: segment and range.
    pub(super) lists: Vec<(usize, Range<usize>)>,
}

impl Reader<'_> {
    pub(super) fn read(&self, word: &str) -> Reading {
        let mut reading = Reading::default();
        if let Some(sense) = self.sense(&self.stems.stem(word), ONE) {
            reading.senses.push(sense);
        } else if is_correctable(word) && !self.lexicon.is_some_and(|lexicon| lexicon.contains(word)) {
            reading = self.correct(word);
        }
        if reading.correction.is_none() {
            self.expand(word, ONE, &mut reading.senses);
        }
        reading
    }

    /// Reads a word that is probably misspelt; no sense when nothing is near it.
    fn correct(&self, word: &str) -> Reading {
        let mut reading = Reading::default();
        for (weight, (correction, mut sense)) in CORRECTION_WEIGHTS.into_iter().zip(self.corrections(word)) {
            sense.weight = weight;
            reading.senses.push(sense);
            self.expand(&correction, weight, &mut reading.senses);
            reading.correction.get_or_insert(correction);
        }
        reading
    }

    /// The words of the documents that a misspelt word may have meant, the likeliest first. Few people mistype the first
    /// letter; among the others the word that more documents hold is the likelier.
    fn corrections(&self, word: &str) -> Vec<(String, Sense)> {
        let mut found = Vec::new();
        for segment in self.segments {
            near(segment.words(), word, &mut found);
        }
        let mut corrections: Vec<_> = found
            .into_iter()
            .filter(|candidate| !is_stop_word(candidate))
            .filter_map(|candidate| {
                let term = self.stems.stem(&candidate).into_owned();
                let sense = self.sense(&term, ONE)?;
                let other_start = candidate.as_bytes().first() != word.as_bytes().first();
                Some(((other_start, Reverse(sense.holders), term, candidate), sense))
            })
            .collect();
        corrections.sort_by(|(a, _), (b, _)| a.cmp(b));
        // Two forms of one word are one correction.
        corrections.dedup_by(|((.., later, _), _), ((.., earlier, _), _)| later == earlier);
        corrections.into_iter().map(|((.., candidate), sense)| (candidate, sense)).collect()
    }

    /// Adds the neighbours of a word that itself counts `weight`.
    fn expand(&self, word: &str, weight: u32, senses: &mut Vec<Sense>) {
        let Some(expansion) = self.expansion else { return };
        let mut left = MAX_NEIGHBOURS;
        expansion.neighbours(word, &mut |term, of_256| {
            if left > 0 {
                left -= 1;
                senses.extend(self.sense(term, times(weight, u32::from(of_256) * ONE / 256)));
            }
        });
    }

    /// The term with a weight, if a document holds it.
    fn sense(&self, term: &str, weight: u32) -> Option<Sense> {
        let lists: Vec<_> = self
            .segments
            .iter()
            .enumerate()
            .filter_map(|(number, segment)| Some((number, segment.find(term)?)))
            .collect();
        // A segment holds at most 2^16 documents, so this fits for any number of segments that fits in memory; a damaged
        // one may say otherwise, and then saturates.
        let holders = lists.iter().fold(0u32, |sum, (_, range)| sum.saturating_add(range.len() as u32));
        (holders > 0).then_some(Sense { weight, holders, lists })
    }
}
