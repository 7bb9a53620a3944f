//! Documents into the bytes of a segment.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::document::Document;
use super::field::Field;
use super::layout::Header;

/// Where further occurrences of a word stop adding much (`k1` of BM25F).
const SATURATION: f64 = 1.2;

/// A posting names its document in two bytes.
const MAX_DOCUMENTS: usize = 1 << 16;

/// Why documents can't become a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// More documents than a segment can number: how many there are.
    TooManyDocuments(usize),
    /// A part of the segment would exceed 4 GiB.
    TooLarge,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyDocuments(count) => {
                write!(f, "a search segment holds {MAX_DOCUMENTS} documents, got {count}; write several segments")
            }
            Self::TooLarge => f.write_str("a part of the search segment would exceed 4 GiB; write several segments"),
        }
    }
}

impl std::error::Error for WriteError {}

/// The bytes of a segment in which the document at index `n` is document `n`. Equal documents give equal bytes.
///
/// # Errors
/// When there is more than a segment can hold.
pub fn write_segment(documents: &[Document]) -> Result<Vec<u8>, WriteError> {
    let postings = invert(documents)?;
    let (mut offsets, mut holders, mut impacts) = (vec![0], Vec::new(), Vec::new());
    for list in postings.values() {
        for (holder, impact) in list {
            holders.extend_from_slice(&holder.to_le_bytes());
            impacts.push(*impact);
        }
        offsets.push(size(impacts.len())?);
    }
    let dictionary = dictionary(postings.keys().copied());
    let words = word_set(documents.iter().flat_map(|document| &document.words).map(String::as_str).collect());

    let header = Header {
        documents: size(documents.len())?,
        terms: size(postings.len())?,
        postings: size(impacts.len())?,
        dictionary_bytes: size(dictionary.len())?,
        words_bytes: size(words.len())?,
    };
    let mut segment = header.to_bytes();
    segment.extend(offsets.iter().flat_map(|offset: &u32| offset.to_le_bytes()));
    for part in [&holders, &impacts, &dictionary, &words] {
        segment.extend_from_slice(part);
    }
    Ok(segment)
}

/// The fst of a set of words.
pub(super) fn word_set(words: BTreeSet<&str>) -> Vec<u8> {
    let set = fst::Set::from_iter(words).expect("a `BTreeSet` gives each word once and in order");
    set.into_fst().into_inner()
}

/// For each term, the documents that hold it and its impact there.
type Postings<'a> = BTreeMap<&'a str, Vec<(u16, u8)>>;

fn invert(documents: &[Document]) -> Result<Postings<'_>, WriteError> {
    let mut postings = Postings::new();
    for (number, document) in documents.iter().enumerate() {
        let number = u16::try_from(number).map_err(|_| WriteError::TooManyDocuments(documents.len()))?;
        for (term, counts) in &document.counts {
            postings.entry(term).or_default().push((number, impact(counts, &document.lengths)));
        }
    }
    Ok(postings)
}

/// The fst that numbers the terms.
fn dictionary<'a>(terms: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let map = fst::Map::from_iter(terms.zip(0..)).expect("a `BTreeMap` gives each term once and in order");
    map.into_fst().into_inner()
}

/// What a term says about a document, 255 times `f / (k1 + f)` of BM25F, where `f` adds up the fields in their order: only
/// additions, multiplications and divisions, which every machine rounds alike.
fn impact(counts: &[u32; Field::COUNT], lengths: &[u32; Field::COUNT]) -> u8 {
    let frequency = Field::ALL.iter().fold(0.0, |sum, &field| {
        let (shape, count, length) = (field.shape(), counts[field as usize], lengths[field as usize]);
        let stretch = 1.0 - shape.length_effect + shape.length_effect * f64::from(length) / shape.usual_length;
        sum + shape.weight * f64::from(count) / stretch
    });
    let share = frequency / (SATURATION + frequency);
    // A float-to-integer cast saturates; a posting is never worth nothing.
    ((255.0 * share).round() as u8).max(1)
}

fn size(length: usize) -> Result<u32, WriteError> {
    u32::try_from(length).map_err(|_| WriteError::TooLarge)
}
