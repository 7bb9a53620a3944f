//! Lines of a stream, from the client or a child. Only 0x0A ends a line, wherever the reads were cut; nothing grows past the limit.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of the beginning and of the end of an overlong line that are kept, to find the id of the answer in them.
const EDGE: usize = 256;
/// A line longer than this many limits is no line: the other side is cut off.
const ENDLESS: u64 = 3;
/// Unless it begins like a message, which may be merely large: then so many bytes of it are discarded before.
const LARGEST_MESSAGE: u64 = 1 << 30;
/// Least free room before a read.
const FIRST_READ: usize = 8 << 10;
/// Most free room before a read, unless a long line is on its way.
const LAST_READ: usize = 256 << 10;
/// A buffer larger than this goes with the line that it was for.
const KEEP: usize = 1 << 20;
/// Room of the buffer for a line that is longer than [`KEEP`]. It is address space: memory comes with the bytes of the
/// line. The allocator of glibc learns from what is freed to keep ever larger pieces, up to 32 MiB, and what it keeps
/// goes back only if nothing small lies behind it; what is larger always goes back at once. And no line is copied to grow.
const MAPPED: usize = 33 << 20;

/// What [`Lines::next`] finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line within the limit, without its end. May be empty.
    Whole(Bytes),
    /// What stood behind the last line end when the stream ended.
    Rest(Bytes),
    /// A line has grown over the limit. Its first bytes, and how many have come; the rest will be discarded.
    Over { head: Bytes, size: u64 },
    /// The end of that line has come. Its last bytes and its whole length.
    OverEnd { tail: Bytes, size: u64 },
}

/// Splits a stream of bytes into lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    buffer: BytesMut,
    /// So many bytes of `buffer` hold no line end.
    scanned: usize,
    /// Free room wanted before the next read; grows while reads fill it.
    room: usize,
    /// The line being discarded, if any.
    over: Option<Over>,
    /// A line longer than this ends the stream, unless it begins like a message.
    endless: u64,
    /// The reader has nothing more.
    ended: bool,
}

#[derive(Debug)]
struct Over {
    tail: BytesMut,
    size: u64,
    /// Longer than this, it ends the stream.
    endless: u64,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of `reader`, each of at most `limit` bytes.
    pub(crate) fn new(reader: R, limit: usize) -> Lines<R> {
        let endless = ENDLESS.saturating_mul(limit as u64);
        Lines {
            reader,
            limit,
            buffer: BytesMut::new(),
            scanned: 0,
            room: FIRST_READ,
            over: None,
            endless,
            ended: false,
        }
    }

    /// The same for a side that is never cut off: an overlong line is discarded for as long as it goes on.
    pub(crate) fn unending(reader: R, limit: usize) -> Lines<R> {
        Lines { endless: u64::MAX, ..Lines::new(reader, limit) }
    }

    /// The next line; `None` at the end of the stream.
    ///
    /// # Errors
    /// What the reader reports, and a line that does not end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = if self.over.is_some() { self.discard()? } else { self.take() } {
                return Ok(Some(line));
            }
            if self.ended || self.read().await? == 0 {
                return Ok(self.last());
            }
        }
    }

    /// Resolves when the stream has ended, or failed, however many lines still wait to be taken. Reads on to find out,
    /// but keeps no more than about `ahead` bytes; while so much waits, nobody can tell.
    pub(crate) async fn ended(&mut self, ahead: usize) {
        while !self.ended {
            if self.buffer.len() >= ahead {
                return std::future::pending().await;
            }
            self.ended = self.read().await.is_err() || self.ended;
        }
    }

    /// The next line out of the buffer.
    fn take(&mut self) -> Option<Line> {
        let end = memchr::memchr(b'\n', &self.buffer[self.scanned..]).map(|at| self.scanned + at);
        match end {
            Some(end) if end <= self.limit => {
                self.scanned = 0;
                Some(Line::Whole(self.split(end)))
            }
            None if self.buffer.len() <= self.limit => {
                self.scanned = self.buffer.len();
                None
            }
            _ => {
                let size = end.unwrap_or(self.buffer.len());
                let head = Bytes::copy_from_slice(&self.buffer[..EDGE.min(size)]);
                self.scanned = 0;
                let is_message = head.trim_ascii_start().starts_with(b"{");
                let endless = if is_message { self.endless.max(LARGEST_MESSAGE) } else { self.endless };
                self.over = Some(Over { tail: BytesMut::new(), size: 0, endless });
                Some(Line::Over { head, size: size as u64 })
            }
        }
    }

    /// Takes a line of `end` bytes and its line end off the buffer.
    fn split(&mut self, end: usize) -> Bytes {
        let line = self.buffer.split_to(end).freeze();
        self.buffer.advance(1);
        if end + FIRST_READ > KEEP {
            // The big allocation goes with the line instead of staying behind it.
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        match line.last() {
            Some(b'\r') => line.slice(..line.len() - 1),
            _ => line,
        }
    }

    /// Drops what has come of an overlong line.
    fn discard(&mut self) -> io::Result<Option<Line>> {
        let end = memchr::memchr(b'\n', &self.buffer);
        let part = end.unwrap_or(self.buffer.len());
        let Some(over) = &mut self.over else { return Ok(None) };
        over.size += part as u64;
        over.tail.extend_from_slice(&self.buffer[part.saturating_sub(EDGE)..part]);
        let excess = over.tail.len().saturating_sub(EDGE);
        over.tail.advance(excess);
        self.buffer.advance(end.map_or(part, |end| end + 1));
        if self.buffer.capacity() > KEEP {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        if end.is_some() {
            return Ok(self.over.take().map(|over| Line::OverEnd { tail: over.tail.freeze(), size: over.size }));
        }
        if over.size > over.endless {
            let text = format!("wrote a line of more than {} bytes that does not end", over.size);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(None)
    }

    /// Makes room for a read. A long line doubles its buffer, so that it is copied a few times and not once a read.
    fn grow(&mut self) {
        let len = self.buffer.len();
        let missing = (self.limit + 1).saturating_sub(len);
        let wanted = self.room.max(len.min(missing));
        if len + FIRST_READ <= KEEP {
            self.buffer.reserve(wanted.min(KEEP - len));
        } else if self.buffer.capacity() - len < FIRST_READ {
            if len + wanted <= MAPPED {
                let line = std::mem::replace(&mut self.buffer, BytesMut::with_capacity(MAPPED));
                self.buffer.extend_from_slice(&line);
            } else {
                self.buffer.reserve(wanted);
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.grow();
        let free = self.buffer.capacity() - self.buffer.len();
        let n = self.reader.read_buf(&mut self.buffer).await?;
        self.ended = n == 0;
        if n == free {
            self.room = (self.room * 2).min(LAST_READ);
        }
        Ok(n)
    }

    /// What is left at the end of the stream.
    fn last(&mut self) -> Option<Line> {
        if let Some(over) = self.over.take() {
            return Some(Line::OverEnd { tail: over.tail.freeze(), size: over.size });
        }
        self.scanned = 0;
        let rest = self.buffer.split().freeze();
        (!rest.is_empty()).then_some(Line::Rest(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize, piece: usize) -> Vec<Line> {
        let (mut far, near) = tokio::io::duplex(piece);
        let input = input.to_vec();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            far.write_all(&input).await
        });
        let mut lines = Lines::new(near, limit);
        let mut found = Vec::new();
        while let Ok(Some(line)) = lines.next().await {
            found.push(line);
        }
        found
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test]
    async fn only_a_newline_ends_a_line() {
        let input = "a\u{2028}b\u{2029}c\u{85}d\r\n\n≤ 日本 😀\nrest";
        for piece in [1, 2, 3, 1000] {
            let expected = [
                whole("a\u{2028}b\u{2029}c\u{85}d"),
                whole(""),
                whole("≤ 日本 😀"),
                Line::Rest(Bytes::from_static(b"rest")),
            ];
            assert_eq!(lines(input.as_bytes(), 100, piece).await, expected, "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn an_overlong_line_is_cut_and_the_next_is_whole() {
        for piece in [1, 7, 1000] {
            let found = lines(b"12345\n123456789\nok\n", 5, piece).await;
            assert_eq!(found[0], whole("12345"));
            assert!(matches!(&found[1], Line::Over { head, .. } if b"123456789".starts_with(head)), "{found:?}");
            assert_eq!(found[2], Line::OverEnd { tail: Bytes::from_static(b"123456789"), size: 9 });
            assert_eq!(found[3..], [whole("ok")]);
        }
    }

    #[tokio::test]
    async fn the_end_is_seen_before_the_lines_are_taken() {
        let mut lines = Lines::new(&b"first\nsecond\n"[..], 100);
        assert_eq!(lines.next().await.unwrap(), Some(whole("first")));
        lines.ended(1000).await;
        assert_eq!(lines.next().await.unwrap(), Some(whole("second")));
        assert_eq!(lines.next().await.unwrap(), None);
        let mut lines = Lines::new(tokio::io::repeat(b'\n'), 100);
        let waits = tokio::time::timeout(std::time::Duration::from_millis(20), lines.ended(1000)).await;
        assert!(waits.is_err() && lines.buffer.len() < 1000 + LAST_READ, "it reads only so far ahead");
    }

    #[tokio::test]
    async fn a_line_without_end_ends_the_stream_in_bounded_memory() {
        let (mut far, near) = tokio::io::duplex(64 << 10);
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            while far.write_all(&[b'y'; 1024]).await.is_ok() {}
        });
        let mut lines = Lines::new(near, 100_000);
        assert!(matches!(lines.next().await, Ok(Some(Line::Over { .. }))));
        assert_eq!(lines.next().await.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
        assert!(lines.buffer.capacity() <= KEEP);
    }
}
