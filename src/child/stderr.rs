//! A child's stderr: always drained, so that a chatty child never blocks on it, and its end kept for messages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

/// Bytes kept.
const KEPT: usize = 16 << 10;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Mutex<VecDeque<u8>>,
}

impl Tail {
    /// Reads `stream` to its end in the background.
    pub(super) fn drain(self: &Arc<Tail>, mut stream: impl AsyncRead + Send + Unpin + 'static) -> JoinHandle<()> {
        let tail = self.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 8 << 10];
            while let Ok(n) = stream.read(&mut buffer).await
                && n > 0
            {
                tail.push(&buffer[..n]);
            }
        })
    }

    /// Forgets what an earlier run said.
    pub(super) fn clear(&self) {
        self.bytes().clear();
    }

    fn push(&self, new: &[u8]) {
        let mut bytes = self.bytes();
        bytes.extend(&new[new.len().saturating_sub(KEPT)..]);
        let excess = bytes.len().saturating_sub(KEPT);
        bytes.drain(..excess);
    }

    /// The last whole lines within `limit` bytes, without control characters (a terminal may show them).
    pub(super) fn last(&self, limit: usize) -> String {
        let mut bytes = self.bytes().make_contiguous().to_vec();
        if bytes.len() > limit {
            let cut = bytes.len() - limit;
            let line = bytes[cut..].iter().position(|byte| *byte == b'\n').map_or(cut, |at| cut + at + 1);
            bytes.drain(..if line < bytes.len() { line } else { cut });
        }
        let text = String::from_utf8_lossy(&bytes);
        let text: String = text.chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').collect();
        text.trim().to_owned()
    }

    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_end_in_bounded_memory() {
        let tail = Tail::default();
        tail.push(b"first\n");
        for _ in 0..1000 {
            tail.push(&[b'x'; 1023]);
            tail.push(b"\n");
        }
        tail.push(b"fatal: \x1b[31mno\x07 caf\xe9\r\n");
        assert_eq!(tail.bytes().len(), KEPT);
        assert_eq!(tail.last(40), "fatal: [31mno caf\u{fffd}");
        assert_eq!(tail.last(5).len(), "af\u{fffd}".len());
        tail.push(&[b'y'; 3 * KEPT]);
        assert_eq!(tail.last(usize::MAX).len(), KEPT);
        tail.clear();
        assert_eq!(tail.last(100), "");
    }
}
