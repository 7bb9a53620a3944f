//! General words, which are no typing mistakes although no document holds them.

use std::fmt;

use fst::raw::Fst;

use super::segment::{SegmentBytes, SegmentError, Slice, open_fst};
use super::writer::word_set;

/// A set of lower-case words of the language. A query word in it is taken as meant, and a word that is in no document and
/// not in it may be corrected to one that is.
pub struct Lexicon(Fst<Slice>);

impl Lexicon {
    /// Opens what [`Self::compile`] made, in place.
    ///
    /// # Errors
    /// When the bytes are no lexicon, or damaged.
    pub fn new(bytes: impl Into<SegmentBytes>) -> Result<Self, SegmentError> {
        let bytes = bytes.into();
        let all = 0..bytes.as_ref().len();
        open_fst(&bytes, &all).map(Self)
    }

    /// The bytes of a lexicon of these words.
    pub fn compile<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<u8> {
        word_set(words.into_iter().collect())
    }

    /// Whether `word` is in it.
    pub fn contains(&self, word: &str) -> bool {
        self.0.contains_key(word)
    }
}

impl fmt::Debug for Lexicon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lexicon").field("words", &self.0.len()).finish()
    }
}
