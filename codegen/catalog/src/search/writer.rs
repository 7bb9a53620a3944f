//! Documents into the bytes of a segment.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::document::Document;
use super::field::Field;
use super::layout::Header;
use super::terms::Stems;

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
    let occurrences = occurrences(documents)?;
    let terms = by_term(&occurrences);
    let (mut offsets, mut holders, mut impacts) = (vec![0], Vec::new(), Vec::new());
    for occurrences in terms.values() {
        for of_document in occurrences.chunk_by(|a, b| a.document == b.document) {
            holders.extend_from_slice(&of_document[0].document.to_le_bytes());
            impacts.push(impact(of_document));
        }
        offsets.push(size(impacts.len())?);
    }
    let dictionary = dictionary(terms.keys().map(|term| &**term));
    let words = word_set(occurrences.iter().map(|occurrence| occurrence.word).collect());

    let header = Header {
        documents: size(documents.len())?,
        terms: size(terms.len())?,
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
pub(super) fn word_set(mut words: Vec<&str>) -> Vec<u8> {
    words.sort();
    words.dedup();
    let set = fst::Set::from_iter(words).expect("the words are sorted and different");
    set.into_fst().into_inner()
}

/// The fst that numbers the terms, which come from a map.
fn dictionary<'a>(terms: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let map = fst::Map::from_iter(terms.zip(0..)).expect("a `BTreeMap` gives each key once and in order");
    map.into_fst().into_inner()
}

/// A word of a document.
#[derive(Clone, Copy)]
struct Occurrence<'a> {
    word: &'a str,
    document: u16,
    /// How often it stands in each field.
    counts: &'a [u32; Field::COUNT],
    /// How many words each field of the document has.
    lengths: &'a [u32; Field::COUNT],
}

/// The words of all documents, sorted by word and then by document.
fn occurrences(documents: &[Document]) -> Result<Vec<Occurrence<'_>>, WriteError> {
    let mut occurrences = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        let number = u16::try_from(number).map_err(|_| WriteError::TooManyDocuments(documents.len()))?;
        let lengths = &document.lengths;
        occurrences.extend(document.words.iter().map(|(word, counts)| Occurrence {
            word,
            document: number,
            counts,
            lengths,
        }));
    }
    occurrences.sort_by(|a, b| a.word.cmp(b.word));
    Ok(occurrences)
}

/// The same for each term: the occurrences of all words that it is the stem of, sorted by document.
fn by_term<'a>(occurrences: &[Occurrence<'a>]) -> BTreeMap<Cow<'a, str>, Vec<Occurrence<'a>>> {
    let stems = Stems::default();
    let mut terms: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for of_word in occurrences.chunk_by(|a, b| a.word == b.word) {
        terms.entry(stems.stem(of_word[0].word)).or_default().extend_from_slice(of_word);
    }
    terms.values_mut().for_each(|occurrences| occurrences.sort_by_key(|occurrence| occurrence.document));
    terms
}

/// What a term says about a document that has it in the form of these words: 255 times `f / (k1 + f)` of BM25F, where `f`
/// adds up the fields in their order. Additions, multiplications and divisions only, which every machine rounds alike.
fn impact(words: &[Occurrence<'_>]) -> u8 {
    let frequency = Field::ALL.iter().fold(0.0, |sum, &field| {
        let (shape, length) = (field.shape(), words[0].lengths[field as usize]);
        let count: u32 = words.iter().map(|word| word.counts[field as usize]).sum();
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
