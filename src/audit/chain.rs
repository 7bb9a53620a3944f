//! What ties the lines of the log together: each has a number and the digest of the line before it.

use std::fmt::{self, Write as _};

use evokore_catalog::canonical::hex;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// Bytes of the longest line; events are bounded well below it.
pub(super) const MAX_LINE: usize = 64 << 10;

/// SHA-256 of some bytes; prints as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }

    /// The one that these 64 lower-case digits spell.
    pub fn read(text: &str) -> Option<Hash> {
        let mut hash = [0; 32];
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        if text.len() != 64 {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?;
        }
        Some(Hash(hash))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A line as what follows it knows it. Before the first line it is number 0 with a digest of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link {
    /// Number of the line, from 1.
    pub seq: u64,
    /// Digest of its bytes, without the line end.
    pub hash: Hash,
}

/// The line that follows `before`, without its line end, and the link it makes. `body` are the members of the event,
/// without braces and not empty.
pub(super) fn line(before: Link, seq: u64, body: &str) -> (String, Link) {
    let mut line = String::with_capacity(body.len() + 120);
    // Writing to a string cannot fail.
    let _ = write!(line, r#"{{"seq":{seq},{body},"prev":"{}"}}"#, before.hash);
    let hash = Hash::of(line.as_bytes());
    (line, Link { seq, hash })
}

/// What of a line ties it to others.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Tie {
    /// Its number.
    pub(super) seq: u64,
    /// Digest of the line before, as written.
    pub(super) prev: String,
    /// What happened.
    pub(super) event: String,
    /// What a line about the log itself is about.
    #[serde(default)]
    pub(super) reason: Option<String>,
    /// Of a line about a torn one: the digest of what is left of that.
    #[serde(default)]
    pub(super) torn: Option<String>,
}

impl Tie {
    /// Reads a line without its line end; `None` if it is none of ours.
    pub(super) fn read(line: &[u8]) -> Option<Tie> {
        let tie: Tie = serde_json::from_slice(line).ok()?;
        Hash::read(&tie.prev).map(|_| tie)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let first = Link { seq: 1, hash: Hash::of(b"x") };
        let (text, link) = line(first, 2, r#""event":"call","reason":"r""#);
        let tie = Tie::read(text.as_bytes()).expect("ours");
        assert_eq!((tie.seq, tie.prev.as_str(), tie.event.as_str()), (2, &*first.hash.to_string(), "call"));
        assert_eq!(link, Link { seq: 2, hash: Hash::of(text.as_bytes()) });
        assert_eq!(Hash::read(&link.hash.to_string()), Some(link.hash));
    }

    proptest! {
        #[test]
        fn whatever_is_no_line_is_none(bytes in any::<Vec<u8>>(), cut in 0usize..200) {
            let (text, _) = line(Link::default(), 1, r#""event":"call""#);
            assert!(Tie::read(text.as_bytes()).is_some());
            let cut = cut.min(text.len() - 1);
            assert!(Tie::read(&text.as_bytes()[..cut]).is_none());
            let _ = (Tie::read(&bytes), Hash::read(&String::from_utf8_lossy(&bytes)));
        }
    }
}
