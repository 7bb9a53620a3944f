//! What the fuzz targets in `fuzz/` feed. A test does the same over their corpus, and over damaged copies of it.

use crate::child::fuzzing;
use crate::wire::envelope::{self, Incoming};
use crate::wire::salvage;

/// A line of the client: an id is echoed as it stands in the line, and parameters are an object.
pub fn envelope(line: &[u8]) {
    let (id, params) = match envelope::read(line) {
        Incoming::Request { id, params, .. } => (Some(id), params),
        Incoming::Notification { params, .. } => (None, params),
        Incoming::Invalid { id, .. } => (id, None),
        Incoming::Nothing | Incoming::Answer { .. } => (None, None),
    };
    for part in id.into_iter().chain(params.map(|params| params.get())) {
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(part).is_ok(), "not JSON: {part}");
        assert!(memchr::memmem::find(line, part.as_bytes()).is_some(), "not in the line: {part}");
    }
    assert!(params.is_none_or(|params| params.get().starts_with('{')));
    let (head, tail) = line.split_at(line.len() / 2);
    let _ = salvage::request_id(head, tail);
}

/// A line of a child.
pub fn message(line: &[u8]) {
    fuzzing::message(line);
}

/// Pages of a child's list of tools, one a line.
pub fn list(pages: &[u8]) {
    fuzzing::list(pages);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Damaged copies of each file of a corpus.
    const COPIES: u64 = 2_000;

    type Target = fn(&[u8]);

    #[test]
    fn the_corpus_and_what_is_like_it_breaks_nothing() {
        for (name, target) in
            [("envelope", super::envelope as Target), ("message", super::message), ("list", super::list)]
        {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
            let files = std::fs::read_dir(&folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
            let corpus: Vec<Vec<u8>> = files.collect();
            assert!(corpus.len() >= 5, "{name}");
            for (seed, whole) in (1..).zip(&corpus) {
                target(whole);
                let mut random = Random(seed);
                for _ in 0..COPIES {
                    let mut copy = whole.clone();
                    for _ in 0..=random.below(3) {
                        damage(&mut copy, &corpus, &mut random);
                    }
                    target(&copy);
                }
            }
        }
    }

    /// Changes a byte, takes a piece out, doubles it, or puts one of another file in.
    fn damage(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
        const TELLING: &[u8] = b"\"\\{}[]:,0-1.eE nt\n\r\t\x00\x7f\x80\xc3\xed\xff";
        let from = random.below(bytes.len() + 1);
        let to = (from + random.below(20)).min(bytes.len());
        match random.below(5) {
            0 => bytes.insert(from, TELLING[random.below(TELLING.len())]),
            1 if from < bytes.len() => bytes[from] = TELLING[random.below(TELLING.len())],
            2 => drop(bytes.drain(from..to)),
            3 => bytes.extend_from_within(from..to),
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let start = random.below(other.len() + 1);
                let end = (start + random.below(40)).min(other.len());
                bytes.splice(from..to, other[start..end].iter().copied());
            }
        }
    }

    /// Xorshift: a failure comes again.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 >> 11).unwrap_or_default() % limit
        }
    }
}
