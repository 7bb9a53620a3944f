//! The one HTTP client of a process: connections that are kept and used again, bodies that are bounded.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::{Request, Response};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;

use super::connect::{ConnectError, Connector};
use super::failure::Failure;
use crate::child::error::quoted;
use crate::child::settings::Lookup;

/// A cheap handle; clones share their connections.
#[derive(Clone)]
pub(in crate::child) struct Client {
    inner: legacy::Client<Connector, Full<Bytes>>,
}

impl Client {
    /// Opens nothing yet.
    pub(in crate::child) fn new(lookup: Lookup) -> Client {
        Client { inner: legacy::Client::builder(TokioExecutor::new()).build(Connector::new(lookup)) }
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        self.inner.request(request).await.map_err(|error| {
            if let Some(error) = cause::<ConnectError>(&error) {
                return Failure::Unreachable(error.to_string());
            }
            Failure::Broken(format!("closed the connection instead of answering ({})", deepest(&error)))
        })
    }
}

/// Reads a whole body of at most `limit` bytes.
pub(super) async fn whole(mut body: Incoming, limit: usize) -> Result<Bytes, Failure> {
    let mut first = None;
    let mut all = BytesMut::new();
    while let Some(chunk) = chunk(&mut body).await? {
        let size = all.len() + first.as_ref().map_or(0, Bytes::len) + chunk.len();
        if size > limit {
            return Err(Failure::TooLarge(size));
        }
        match first.take() {
            // A body that comes in one piece is not copied.
            None if all.is_empty() && body.is_end_stream() => return Ok(chunk),
            None if all.is_empty() => first = Some(chunk),
            before => {
                if let Some(before) = before {
                    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(limit).min(limit);
                    all.reserve(size.saturating_add(expected).min(limit));
                    all.extend_from_slice(&before);
                }
                all.extend_from_slice(&chunk);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

/// The next bytes of a body; `None` at its end.
pub(super) async fn chunk(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                // Trailers say nothing that matters here.
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => return Err(Failure::Broken(format!("broke its answer off ({})", deepest(&error)))),
        }
    }
}

/// The beginning of a body that explains a failure, on one line; as much of it as comes in time.
pub(super) async fn quote(mut body: Incoming) -> Bytes {
    const ENOUGH: usize = 16 << 10;
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);
    let mut all = BytesMut::new();
    let read = async {
        while let Ok(Some(chunk)) = chunk(&mut body).await {
            all.extend_from_slice(&chunk[..chunk.len().min(ENOUGH - all.len())]);
            if all.len() >= ENOUGH {
                break;
            }
        }
    };
    // What came in time is enough of an explanation.
    let _ = tokio::time::timeout(PATIENCE, read).await;
    all.freeze()
}

/// A short quotation of a body.
pub(super) fn shortened(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(2000)]);
    let words: Vec<&str> = text.split_whitespace().collect();
    quoted(&words.join(" "), 200)
}

fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn deepest(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
