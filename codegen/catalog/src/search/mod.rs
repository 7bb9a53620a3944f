//! Lexical search over tools and skills: fielded BM25 on compiled postings, with the correction of misspelt words.
//!
//! ```text
//! build     texts ── Document ── write_segment ──> bytes in the binary
//! run time  texts ── Document ── write_segment ──> bytes in memory      (tools of child servers that arrive live)
//!           bytes ── Segment  ─┐
//!           query ── terms ────┴─ search ──> Hits
//! ```
//!
//! * `terms`: where words begin and end, stop words, stems; the same for documents and queries.
//! * `field`, `document`: what of a tool or skill is read, and what a word in each place is worth.
//! * `writer`, `layout`, `segment`: documents into bytes, and the bytes read in place.
//! * `lexicon`, `spelling`: which words are no typing mistakes, and what a mistyped one may have meant.
//! * `reading`: what a word of the query stands for: its own term, corrections, [`Expansion`]s.
//! * `query`, `tally`: the ranking, and when there is nothing worth ranking.
//!
//! The same query over the same documents gives the same ranking on every machine, in however many segments the
//! documents lie: impacts are whole numbers that depend on their own document only, scores are sums of whole numbers,
//! and ties have an order. Exact names come before any ranking; callers look them up in their own tables, with
//! [`normalise_name`].

mod document;
mod field;
mod layout;
mod lexicon;
mod number;
mod query;
mod reading;
mod segment;
mod spelling;
mod tally;
mod terms;
#[cfg(test)]
mod tests;
mod writer;

pub use document::Document;
pub use field::Field;
pub use lexicon::Lexicon;
pub use query::{Floor, Hit, Hits, Options, search};
pub use reading::Expansion;
pub use segment::{Segment, SegmentBytes, SegmentError};
pub use tally::Scratch;
pub use terms::{normalise_name, terms, words};
pub use writer::{WriteError, write_segment};
