//! Words that a mistyped word may have meant: those one edit away, found by walking an fst.
//!
//! An edit is a wrong letter, a letter too many or too few, or two neighbours swapped. The walk follows the word down
//! the fst and tries every edit at each letter; after the one edit the rest must match, so no automaton is built and the
//! cost is the length of the word times the few letters that can follow each prefix.

use fst::raw::{Fst, Node};

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
    let mut node = set.root();
    for at in 0..=word.len() {
        Edits { set, word, at, found }.all(&node);
        let Some(next) = word.get(at).and_then(|&letter| step(set, &node, letter)) else { return };
        node = next;
    }
}

/// The edits of a word at one of its letters.
struct Edits<'a, D> {
    set: &'a Fst<D>,
    word: &'a [u8],
    at: usize,
    found: &'a mut Vec<String>,
}

impl<D: AsRef<[u8]>> Edits<'_, D> {
    /// Tries every edit at `node`, to which the letters before lead.
    fn all(&mut self, node: &Node<'_>) {
        let rest = &self.word[self.at..];
        if let [_, after @ ..] = rest {
            self.accept(node, &[], after);
        }
        if let [first, second, after @ ..] = rest
            && first != second
            && let Some(node) = step(self.set, node, *second).and_then(|node| step(self.set, &node, *first))
        {
            self.accept(&node, &[*second, *first], after);
        }
        for edge in node.transitions() {
            let node = self.set.node(edge.addr);
            self.accept(&node, &[edge.inp], rest);
            if let [letter, after @ ..] = rest
                && edge.inp != *letter
            {
                self.accept(&node, &[edge.inp], after);
            }
        }
    }

    /// Adds the word made of the letters before, of `middle`, which leads to `node`, and of `rest`, if it is one.
    fn accept(&mut self, node: &Node<'_>, middle: &[u8], rest: &[u8]) {
        let is_word = match rest {
            [] => node.is_final(),
            [letter, rest @ ..] => {
                let next = step(self.set, node, *letter);
                next.and_then(|next| rest.iter().try_fold(next, |node, &letter| step(self.set, &node, letter)))
                    .is_some_and(|node| node.is_final())
            }
        };
        if is_word {
            // Words were UTF-8 when they went in; an edit of bytes can't make one that isn't there.
            self.found.extend(String::from_utf8([&self.word[..self.at], middle, rest].concat()));
        }
    }
}

fn step<'f, D: AsRef<[u8]>>(set: &'f Fst<D>, node: &Node<'_>, letter: u8) -> Option<Node<'f>> {
    node.find_input(letter).map(|edge| set.node(node.transition_addr(edge)))
}
