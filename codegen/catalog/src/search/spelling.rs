//! Words that a mistyped word may have meant: those one edit away, found by walking an fst.
//!
//! An edit is a wrong letter, a letter too many or too few, or two neighbours swapped. The walk follows the word down
//! the fst and tries every edit at each letter; after the one edit the rest must match, so no automaton is built and the
//! cost is the length of the word times the few letters that can follow each prefix.

use fst::raw::{CompiledAddr, Fst};

/// Shorter words are one edit from too many others.
const MIN_BYTES: usize = 4;

/// Whether a word can be a typing mistake that [`near`] could mend: long enough, and of ASCII letters only. A word with a
/// digit is a version or an id.
pub(super) fn is_correctable(word: &str) -> bool {
    word.len() >= MIN_BYTES && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Adds the words of `set` that are one edit away from `word`, in no particular order; some may come twice.
pub(super) fn near<D: AsRef<[u8]>>(set: &Fst<D>, word: &str, found: &mut Vec<String>) {
    let word = word.as_bytes();
    let mut address = set.root().addr();
    for at in 0..=word.len() {
        edits_at(set, address, word, at, found);
        let Some(next) = word.get(at).and_then(|&letter| step(set, address, letter)) else { return };
        address = next;
    }
}

/// Adds the words that start like `word` up to `at`, where `address` is, and differ there.
fn edits_at<D: AsRef<[u8]>>(set: &Fst<D>, address: CompiledAddr, word: &[u8], at: usize, found: &mut Vec<String>) {
    let (start, rest) = word.split_at(at);
    let mut accept = |from: CompiledAddr, middle: &[u8], rest: &[u8]| {
        if ends_with(set, from, rest) {
            // Words were UTF-8 when they went in; an edit of bytes can't give one that isn't there.
            found.extend(String::from_utf8([start, middle, rest].concat()));
        }
    };
    for edge in set.node(address).transitions() {
        accept(edge.addr, &[edge.inp], rest);
        if let [letter, after @ ..] = rest
            && edge.inp != *letter
        {
            accept(edge.addr, &[edge.inp], after);
        }
    }
    if let [_, after @ ..] = rest {
        accept(address, &[], after);
    }
    if let [first, second, after @ ..] = rest
        && first != second
        && let Some(to) = step(set, address, *second).and_then(|address| step(set, address, *first))
    {
        accept(to, &[*second, *first], after);
    }
}

fn step<D: AsRef<[u8]>>(set: &Fst<D>, address: CompiledAddr, letter: u8) -> Option<CompiledAddr> {
    let node = set.node(address);
    node.find_input(letter).map(|edge| node.transition_addr(edge))
}

fn ends_with<D: AsRef<[u8]>>(set: &Fst<D>, from: CompiledAddr, rest: &[u8]) -> bool {
    let end = rest.iter().try_fold(from, |address, &letter| step(set, address, letter));
    end.is_some_and(|address| set.node(address).is_final())
}
