//! How a segment lies in memory; `writer` lays it, `segment` reads it in place.
//!
//! ```text
//! magic       8 bytes
//! documents   u32     how many
//! terms       u32     how many
//! postings    u32     how many
//! dictionary  u32     length in bytes
//! words       u32     length in bytes
//! offsets     (terms + 1) * u32     term t has the postings offsets[t]..offsets[t + 1]
//! holders     postings * u16        document of each posting, ascending within a term
//! impacts     postings * u8         what the term says about that document: 1 to 255
//! dictionary  fst                   term -> number of the term
//! words       fst                   words before stemming
//! ```
//!
//! All numbers are little-endian. The inverse document frequency is not in the impacts: it comes from the lengths of the
//! posting lists of all segments that are searched together.

use std::ops::Range;

use super::segment::SegmentError;

/// Opens every segment. The digit is the version of the layout *and* of what makes terms and impacts: a segment of other
/// rules must not be searched by these.
const MAGIC: [u8; 8] = *b"evkseg1\n";

const HEADER_BYTES: usize = MAGIC.len() + 5 * 4;

/// What a segment holds, and so where each part lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) documents: u32,
    pub(super) terms: u32,
    pub(super) postings: u32,
    pub(super) dictionary_bytes: u32,
    pub(super) words_bytes: u32,
}

/// Where each part of a segment lies.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) offsets: Range<usize>,
    pub(super) holders: Range<usize>,
    pub(super) impacts: Range<usize>,
    pub(super) dictionary: Range<usize>,
    pub(super) words: Range<usize>,
}

impl Header {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.documents, self.terms, self.postings, self.dictionary_bytes, self.words_bytes];
        MAGIC.into_iter().chain(numbers.into_iter().flat_map(u32::to_le_bytes)).collect()
    }

    pub(super) fn of(bytes: &[u8]) -> Result<Self, SegmentError> {
        let magic = bytes.get(..MAGIC.len()).ok_or(SegmentError::NotASegment)?;
        if magic != MAGIC {
            return Err(SegmentError::NotASegment);
        }
        let mut numbers = bytes[MAGIC.len()..].as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number));
        let mut next =
            || numbers.next().ok_or(SegmentError::Length { found: bytes.len(), wanted: HEADER_BYTES as u64 });
        Ok(Self {
            documents: next()?,
            terms: next()?,
            postings: next()?,
            dictionary_bytes: next()?,
            words_bytes: next()?,
        })
    }

    /// The parts of a segment of `len` bytes with this header; together they must fill it exactly.
    pub(super) fn parts(self, len: usize) -> Result<Parts, SegmentError> {
        let mut end = HEADER_BYTES as u64;
        // u64 can't overflow here: five u32 counts of items of at most four bytes.
        let mut next = |bytes: u64| {
            let start = end;
            end += bytes;
            start as usize..end as usize
        };
        let parts = Parts {
            offsets: next((u64::from(self.terms) + 1) * 4),
            holders: next(u64::from(self.postings) * 2),
            impacts: next(u64::from(self.postings)),
            dictionary: next(self.dictionary_bytes.into()),
            words: next(self.words_bytes.into()),
        };
        if end == len as u64 { Ok(parts) } else { Err(SegmentError::Length { found: len, wanted: end }) }
    }
}
