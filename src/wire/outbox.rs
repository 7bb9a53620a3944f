//! The way out: one task writes all frames, so lines never mix. The queue is bounded; a client that does not read
//! slows down those who answer it, and nothing grows.

use std::io::{self, IoSlice};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::frame::Frame;

/// Frames that may wait.
const QUEUE: usize = 256;
/// Frames shorter than this are joined before they are written.
const SMALL: usize = 8 << 10;
/// Most bytes joined into one write.
const BATCH: usize = 64 << 10;
/// Segments handed to one vectored write.
const SLICES: usize = 64;

/// Sends frames to the client.
#[derive(Debug, Clone)]
pub struct Outbox {
    queue: mpsc::Sender<Frame>,
    closed: CancellationToken,
}

impl Outbox {
    /// Starts the task that writes to `writer`. It ends when every [`Outbox`] is gone and all is written, or when
    /// the client no longer reads.
    pub fn start<W: AsyncWrite + Unpin + Send + 'static>(writer: W) -> (Outbox, JoinHandle<()>) {
        let (queue, frames) = mpsc::channel(QUEUE);
        let closed = CancellationToken::new();
        let task = tokio::spawn(write_all(writer, frames, closed.clone()));
        (Outbox { queue, closed }, task)
    }

    /// Queues a frame. Frames to a client that is gone are dropped.
    pub async fn send(&self, frame: Frame) {
        let _ = self.queue.send(frame).await;
    }

    /// Resolves when the client no longer reads.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

async fn write_all<W: AsyncWrite + Unpin>(mut writer: W, mut frames: mpsc::Receiver<Frame>, closed: CancellationToken) {
    let _closed = closed.drop_guard();
    let mut small = Vec::new();
    let mut next = frames.recv().await;
    while let Some(frame) = next.take() {
        let written = if frame.len() < SMALL {
            small.clear();
            append(&mut small, &frame);
            while small.len() < BATCH {
                match frames.try_recv() {
                    Ok(more) if more.len() < SMALL => append(&mut small, &more),
                    Ok(more) => {
                        next = Some(more);
                        break;
                    }
                    Err(_) => break,
                }
            }
            writer.write_all(&small).await
        } else {
            write_segments(&mut writer, frame.0).await
        };
        if written.is_err() || writer.flush().await.is_err() {
            return;
        }
        if next.is_none() {
            next = frames.recv().await;
        }
    }
}

fn append(small: &mut Vec<u8>, frame: &Frame) {
    for segment in &frame.0 {
        small.extend_from_slice(segment);
    }
}

async fn write_segments<W: AsyncWrite + Unpin>(writer: &mut W, mut segments: Vec<Bytes>) -> io::Result<()> {
    let mut from = 0;
    while from < segments.len() {
        let slices: Vec<IoSlice<'_>> =
            segments[from..].iter().take(SLICES).map(|segment| IoSlice::new(segment)).collect();
        let mut written = writer.write_vectored(&slices).await?;
        if written == 0 && slices.iter().any(|slice| !slice.is_empty()) {
            return Err(io::ErrorKind::WriteZero.into());
        }
        while from < segments.len() && written >= segments[from].len() {
            written -= segments[from].len();
            from += 1;
        }
        if from < segments.len() {
            segments[from].advance(written);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn frames_arrive_whole_and_in_order_whatever_their_size() {
        let (near, mut far) = tokio::io::duplex(1000);
        let (outbox, task) = Outbox::start(near);
        let mut expected = Vec::new();
        let mut frames = Vec::new();
        for n in 0..200usize {
            let segments = (0..n % 90).map(|at| Bytes::from(vec![b'a' + (at % 26) as u8; (n * at) % 700])).collect();
            let frame = Frame(segments);
            append(&mut expected, &frame);
            frames.push(frame);
        }
        let sender = tokio::spawn(async move {
            for frame in frames {
                outbox.send(frame).await;
            }
        });
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        sender.await.unwrap();
        task.await.unwrap();
        assert!(read == expected);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_closes_the_way() {
        let (near, far) = tokio::io::duplex(10);
        let (outbox, _) = Outbox::start(near);
        drop(far);
        for _ in 0..QUEUE * 2 {
            outbox.send(Frame::notification("x", None)).await;
        }
        outbox.closed().await;
    }
}
