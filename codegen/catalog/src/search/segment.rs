//! A segment, read in place: nothing is parsed or copied when it is opened.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use fst::Streamer;
use fst::raw::Fst;

use super::layout::{Header, Parts};

/// Bytes of an index: from the binary, or made at run time.
#[derive(Debug, Clone)]
pub enum SegmentBytes {
    /// Compiled in.
    Static(&'static [u8]),
    /// Made at run time.
    Shared(Arc<[u8]>),
}

impl From<&'static [u8]> for SegmentBytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self::Static(bytes)
    }
}

impl From<Vec<u8>> for SegmentBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(bytes.into())
    }
}

impl AsRef<[u8]> for SegmentBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Static(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Why bytes are no segment or lexicon that can be searched.
#[derive(Debug)]
pub enum SegmentError {
    /// They don't start as a segment of this version does.
    NotASegment,
    /// Their length isn't what their head says.
    Length {
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        wanted: u64,
    },
    /// A dictionary in them is damaged.
    Dictionary(fst::Error),
}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASegment => f.write_str("these bytes are no search segment of this version"),
            Self::Length { found, wanted } => {
                write!(f, "the search segment is damaged: it has {found} bytes, its head says {wanted}")
            }
            Self::Dictionary(error) => write!(f, "a dictionary of the search index is damaged: {error}"),
        }
    }
}

impl std::error::Error for SegmentError {}

/// Documents that can be searched. Several segments are searched as if they were one.
pub struct Segment {
    bytes: SegmentBytes,
    documents: u32,
    parts: Parts,
    dictionary: Fst<Slice>,
    words: Fst<Slice>,
}

impl Segment {
    /// Opens what [`super::write_segment`] wrote. The checksums of its two dictionaries are compared, one pass over about
    /// half of the bytes; damage elsewhere can spoil a ranking, but not more.
    ///
    /// # Errors
    /// When the bytes are no segment, of another version, cut short, or damaged.
    pub fn new(bytes: impl Into<SegmentBytes>) -> Result<Self, SegmentError> {
        let bytes = bytes.into();
        let header = Header::of(bytes.as_ref())?;
        let parts = header.parts(bytes.as_ref().len())?;
        let dictionary = open_fst(&bytes, &parts.dictionary)?;
        let words = open_fst(&bytes, &parts.words)?;
        Ok(Self { documents: header.documents, bytes, parts, dictionary, words })
    }

    /// How many documents there are; they are numbered from 0 in the order in which they were written.
    pub fn documents(&self) -> u32 {
        self.documents
    }

    /// Every term with the documents that hold it, in the order of the terms: what a reviewer reads.
    pub fn vocabulary(&self) -> Vec<(String, Vec<u16>)> {
        let mut terms = Vec::new();
        let mut stream = self.dictionary.stream();
        while let Some((term, _)) = stream.next() {
            let term = String::from_utf8_lossy(term).into_owned();
            let holders = self.find(&term).map(|range| self.postings(range).map(|(document, _)| document).collect());
            terms.push((term, holders.unwrap_or_default()));
        }
        terms
    }

    /// The words of the documents before stemming.
    pub(super) fn words(&self) -> &Fst<Slice> {
        &self.words
    }

    /// Where the postings of a term lie; there are as many as documents that hold it.
    pub(super) fn find(&self, term: &str) -> Option<Range<usize>> {
        let number = usize::try_from(self.dictionary.get(term)?.value()).ok()?;
        let offsets = self.bytes.as_ref().get(self.parts.offsets.clone())?.as_chunks::<4>().0;
        let offset = |at: usize| offsets.get(at).map(|bytes| u32::from_le_bytes(*bytes) as usize);
        let range = offset(number)?..offset(number.checked_add(1)?)?;
        (range.start < range.end && range.end <= self.parts.impacts.len()).then_some(range)
    }

    /// Postings at a place that [`Self::find`] gave: documents, and the impact of the term there.
    pub(super) fn postings(&self, range: Range<usize>) -> impl Iterator<Item = (u16, u8)> {
        let bytes = self.bytes.as_ref();
        let holders = bytes.get(self.parts.holders.clone()).unwrap_or_default().as_chunks::<2>().0;
        let holders = holders.get(range.clone()).unwrap_or_default().iter().map(|bytes| u16::from_le_bytes(*bytes));
        let impacts = bytes.get(self.parts.impacts.clone()).and_then(|impacts| impacts.get(range)).unwrap_or_default();
        holders.zip(impacts.iter().copied()).filter(|(document, _)| u32::from(*document) < self.documents)
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segment").field("documents", &self.documents).field("terms", &self.dictionary.len()).finish()
    }
}

/// A part of an index as the `fst` crate wants it.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    bytes: SegmentBytes,
    range: Range<usize>,
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

/// Opens an fst and compares its checksum: walking a damaged one could panic.
pub(super) fn open_fst(bytes: &SegmentBytes, range: &Range<usize>) -> Result<Fst<Slice>, SegmentError> {
    let slice = Slice { bytes: bytes.clone(), range: range.clone() };
    let fst = Fst::new(slice).map_err(SegmentError::Dictionary)?;
    fst.verify().map_err(SegmentError::Dictionary)?;
    Ok(fst)
}
