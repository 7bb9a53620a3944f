//! One input file: its text, its name for people, its digest, and the way from a byte offset to line and column.

use sha2::{Digest, Sha256};

/// An input of the compilation.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path relative to the configuration folder (or to the sources, for native tools), with `/`.
    pub path: String,
    /// Contents without a byte-order mark.
    pub text: String,
    /// SHA-256 of the bytes on disk, hexadecimal.
    pub sha256: String,
}

/// A place in a source for people: 1-based line, 1-based column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Source {
    /// A source made of `bytes`; what is not UTF-8 is the error, as the byte offset of the first bad byte.
    ///
    /// # Errors
    /// The offset of the first byte that is not UTF-8.
    pub fn from_bytes(path: impl Into<String>, bytes: &[u8]) -> Result<Source, usize> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Source { path: path.into(), text: text.to_owned(), sha256: hex_sha256(bytes) })
    }

    /// Where byte `offset` lies; offsets beyond the end or inside a character are moved back.
    pub fn position(&self, offset: usize) -> Position {
        let before = &self.text[..floor_char_boundary(&self.text, offset)];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before[start..].chars().count() + 1;
        Position { line: saturate(line), column: saturate(column) }
    }

    /// Line `number` (from 1) without its end.
    pub fn line(&self, number: u32) -> &str {
        self.text.lines().nth(number.saturating_sub(1) as usize).unwrap_or("")
    }

    /// Byte offset of line and column, both from 1.
    pub fn offset(&self, position: Position) -> usize {
        let mut start = 0;
        for (index, line) in self.text.split_inclusive('\n').enumerate() {
            if saturate(index + 1) == position.line {
                let column = position.column.saturating_sub(1) as usize;
                let inside = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
                return start + inside;
            }
            start += line.len();
        }
        self.text.len()
    }
}

/// SHA-256 of `bytes` in hexadecimal.
pub fn hex_sha256(bytes: &[u8]) -> String {
    evokore_catalog::canonical::hex(&Sha256::digest(bytes))
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn saturate(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_go_both_ways() {
        let source = Source::from_bytes("x", "\u{feff}añb\r\nzwei\n".as_bytes()).unwrap();
        for (offset, line, column) in [(0, 1, 1), (1, 1, 2), (2, 1, 2), (3, 1, 3), (6, 2, 1), (8, 2, 3), (999, 3, 1)] {
            assert_eq!(source.position(offset), Position { line, column }, "{offset}");
        }
        assert_eq!(source.offset(Position { line: 2, column: 3 }), 8);
        assert_eq!(source.line(2), "zwei");
    }

    #[test]
    fn what_is_not_utf8_is_located() {
        assert_eq!(Source::from_bytes("x", b"ab\xff").unwrap_err(), 2);
    }
}
