//! Text into search terms: where a word begins and ends, which words say nothing, and what the forms of one word have
//! in common.
//!
//! Documents and queries go through the same code, so that a term of one is spelt like the same term of the other.
//! Every function here is total: it takes any `&str`, and both the text read and each word made of it are bounded.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// How much of one text is read, in bytes, cut at a character border.
pub(super) const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The longest word, in bytes; the rest of a longer one (base64, a minified line) is skipped.
pub(super) const MAX_WORD_BYTES: usize = 48;

/// A compound of more parts than two is a word of its own only up to this length in bytes: `k8s` is, a UUID isn't.
const MAX_MIXED_BYTES: usize = 4;

/// Words that say how a sentence is built and not what it is about, sorted. Pieces of contractions are among them:
/// `don't` is read as `don`, `t`.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "d", "did", "do", "does", "doesn", "don", "for", "from", "had", "has", "have", "he", "her", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "just", "let", "ll", "m", "me", "my", "need", "no", "not", "of", "on",
    "or", "our", "please", "re", "s", "she", "should", "so", "some", "t", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "up", "us", "ve", "want", "was", "we", "were", "what",
    "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

/// The words of `text` in order, as they are written there.
///
/// They end at everything that is no letter or digit, at the humps of `camelCase`, and between letters and digits.
/// Ideographs, kana and Hangul syllables are words of one character, since nothing marks where their words end.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    Words { rest: head(text, MAX_TEXT_BYTES) }
}

/// The search terms of `text`: stems of its lower-case words, without stop words unless nothing else is there.
///
/// Compounds of two parts count as a word too: `GitHub` is `git`, `hub` and `github`, since people write it both ways.
pub fn terms(text: &str) -> Vec<String> {
    let stems = Stems::default();
    content_words(text).iter().map(|word| stems.stem(&word.text).into_owned()).collect()
}

/// One spelling for names that a person would call the same: `fs_read_file`, `fs.readFile` and `FS read file` are all
/// `fs_read_file`.
///
/// The caller compares it with its own names, normalised too. A text without a letter or digit gives the empty string,
/// which must equal no name.
pub fn normalise_name(name: &str) -> String {
    let mut normal = String::new();
    for word in words(name) {
        if !normal.is_empty() {
            normal.push('_');
        }
        normal.push_str(&lower(word));
    }
    normal
}

/// A lower-case word that search looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word<'t> {
    pub(super) text: Cow<'t, str>,
    /// The same number for a compound and its parts, which stand before it; another for every other word.
    pub(super) compound: usize,
}

/// The words behind [`terms`], before stemming.
pub(super) fn content_words(text: &str) -> Vec<Word<'_>> {
    let mut all = Vec::new();
    for run in head(text, MAX_TEXT_BYTES).split(|c| kind(c) == Kind::Other).filter(|run| !run.is_empty()) {
        let first = all.len();
        all.extend(words(run).zip(first..).map(|(word, compound)| Word { text: lower(word), compound }));
        let parts = all.len() - first;
        let is_compound = parts == 2 || (parts > 2 && run.len() <= MAX_MIXED_BYTES);
        if is_compound && !run.contains(is_single) {
            all.push(Word { text: lower(head(run, MAX_WORD_BYTES)), compound: first });
            all[first..].iter_mut().for_each(|part| part.compound = first);
        }
    }
    if all.iter().any(|word| !is_stop_word(&word.text)) {
        all.retain(|word| !is_stop_word(&word.text));
    }
    all
}

/// Whether a lower-case word carries no meaning of its own.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// What the forms of a word share (`searching`, `searches`: `search`), by the English Porter2 rules.
pub(super) struct Stems(Stemmer);

impl Default for Stems {
    fn default() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }
}

impl Stems {
    /// The stem of a lower-case word. A word with a digit or a letter outside ASCII is its own stem.
    pub(super) fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        if word.bytes().all(|byte| byte.is_ascii_lowercase()) { self.0.stem(word) } else { Cow::Borrowed(word) }
    }
}

/// The longest start of `text` that has at most `limit` bytes.
pub(super) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

struct Words<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let start = self.rest.find(|c| kind(c) != Kind::Other)?;
        let text = &self.rest[start..];
        let (word, rest) = text.split_at(first_word_len(text));
        self.rest = rest;
        Some(head(word, MAX_WORD_BYTES))
    }
}

/// What a character does to the word it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    /// Lower case, a letter of a script without case, or a mark that belongs to the letter before it.
    Lower,
    Digit,
    /// A word by itself.
    Single,
    Other,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' => Kind::Lower,
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        _ if c.is_ascii() => Kind::Other,
        _ if is_single(c) => Kind::Single,
        _ if c.is_uppercase() => Kind::Upper,
        // U+0300 to U+036F are the combining marks of decomposed Latin letters.
        _ if c.is_alphabetic() || ('\u{300}'..='\u{36f}').contains(&c) => Kind::Lower,
        _ if c.is_numeric() => Kind::Digit,
        _ => Kind::Other,
    }
}

/// Kana, CJK ideographs (compatibility and supplementary ones too) and Hangul syllables.
fn is_single(c: char) -> bool {
    let in_blocks = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}');
    in_blocks && c.is_alphabetic()
}

/// The length in bytes of the word that `text` starts with.
fn first_word_len(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    match kind(first) {
        Kind::Upper => upper_word_len(text),
        same @ (Kind::Lower | Kind::Digit) => run_len(text, same),
        Kind::Single | Kind::Other => first.len_utf8(),
    }
}

/// `Name` is one word; of `HTTPServer` the first is `HTTP`; `URLs` is the plural of `URL`.
fn upper_word_len(text: &str) -> usize {
    let capitals = run_len(text, Kind::Upper);
    let small = run_len(&text[capitals..], Kind::Lower);
    let last_capital = text[..capitals].chars().next_back().map_or(0, char::len_utf8);
    let is_acronym = last_capital < capitals;
    if is_acronym && small > 0 && &text[capitals..capitals + small] != "s" {
        capitals - last_capital
    } else {
        capitals + small
    }
}

/// The length in bytes of the characters of one kind that `text` starts with.
fn run_len(text: &str, wanted: Kind) -> usize {
    text.find(|c| kind(c) != wanted).unwrap_or(text.len())
}

fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}
