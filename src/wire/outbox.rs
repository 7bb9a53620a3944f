//! The way out: one task writes all frames, so lines never mix. The queue is bounded; a client that does not read
//! slows down those who answer it, and nothing grows.

use std::io::{self, IoSlice};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
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
    queue: mpsc::Sender<Item>,
    closed: CancellationToken,
}

#[derive(Debug)]
enum Item {
    Frame(Frame),
    /// To be told when everything before it is written.
    Flush(oneshot::Sender<()>),
}

impl Outbox {
    /// Starts the task that writes to `writer`. It ends when every [`Outbox`] is gone and all is written, or when
    /// the client no longer reads.
    pub fn start<W: AsyncWrite + Unpin + Send + 'static>(writer: W) -> Outbox {
        let (queue, items) = mpsc::channel(QUEUE);
        let closed = CancellationToken::new();
        tokio::spawn(write_all(writer, items, closed.clone()));
        Outbox { queue, closed }
    }

    /// Queues a frame, when there is room. Frames to a client that is gone are dropped.
    pub async fn send(&self, frame: Frame) {
        let _ = self.queue.send(Item::Frame(frame)).await;
    }

    /// Queues a frame if there is room.
    pub fn try_send(&self, frame: Frame) {
        let _ = self.queue.try_send(Item::Frame(frame));
    }

    /// Queues a frame that may be lost if there is plenty of room, so that it is in no answer's way. False if not.
    pub fn offer(&self, frame: Frame) -> bool {
        self.queue.capacity() > QUEUE / 2 && self.queue.try_send(Item::Frame(frame)).is_ok()
    }

    /// Resolves when what was queued before is written, or the client no longer reads.
    pub async fn flush(&self) {
        let (written, waiting) = oneshot::channel();
        if self.queue.send(Item::Flush(written)).await.is_ok() {
            let _ = waiting.await;
        }
    }

    /// Resolves when the client no longer reads.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

async fn write_all<W: AsyncWrite + Unpin>(mut writer: W, mut items: mpsc::Receiver<Item>, closed: CancellationToken) {
    let _closed = closed.drop_guard();
    let mut small = Vec::new();
    while let Some(mut next) = items.recv().await {
        // What waits already is joined, as long as it is small: many short answers are one write.
        loop {
            match next {
                Item::Frame(frame) if frame.len() < SMALL => append(&mut small, &frame),
                Item::Frame(frame) => {
                    if write(&mut writer, &mut small).await.is_err()
                        || write_segments(&mut writer, frame.0).await.is_err()
                    {
                        return;
                    }
                }
                Item::Flush(written) => {
                    if write(&mut writer, &mut small).await.is_err() || writer.flush().await.is_err() {
                        return;
                    }
                    let _ = written.send(());
                }
            }
            match items.try_recv() {
                Ok(more) if small.len() < BATCH => next = more,
                Ok(more) => {
                    if write(&mut writer, &mut small).await.is_err() {
                        return;
                    }
                    next = more;
                }
                Err(_) => break,
            }
        }
        if write(&mut writer, &mut small).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &mut W, small: &mut Vec<u8>) -> io::Result<()> {
    writer.write_all(small).await?;
    small.clear();
    Ok(())
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
        let outbox = Outbox::start(near);
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
            outbox.flush().await;
        });
        let mut read = Vec::new();
        far.read_to_end(&mut read).await.unwrap();
        sender.await.unwrap();
        assert!(read == expected);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_closes_the_way() {
        let (near, far) = tokio::io::duplex(10);
        let outbox = Outbox::start(near);
        drop(far);
        for _ in 0..QUEUE * 2 {
            outbox.send(Frame::notification("x", None)).await;
        }
        outbox.closed().await;
    }
}
