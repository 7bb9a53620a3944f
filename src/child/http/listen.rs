//! The stream on which a server speaks unasked. It is optional: a server that refuses it is only asked.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::client::chunk;
use super::endpoint::Ask;
use super::exchange::is_stream;
use super::failure::Failure;
use super::link::Link;
use super::sse::Events;
use crate::child::incoming;

/// Before the stream is asked for again.
const FIRST: Duration = Duration::from_secs(1);
/// The same after failures, which double it.
const LONGEST: Duration = Duration::from_secs(60);
/// A stream that lasted this long was none of a series of failures.
const CALM: Duration = Duration::from_secs(30);

impl Link {
    /// Follows the stream for as long as the server offers it.
    pub(super) async fn listen(self: Arc<Self>) {
        let mut events = Events::new(self.limit);
        let mut pause = FIRST;
        loop {
            let ticket = self.session.ticket();
            let last = events.last_id().map(str::to_owned);
            let start = Instant::now();
            match self.endpoint.send(Ask::Listen(last.as_deref()), &ticket).await {
                Ok(response) if response.status().is_success() && is_stream(response.headers()) => {
                    let mut body = response.into_body();
                    let mut is_sound = true;
                    while let (true, Ok(Some(bytes))) = (is_sound, chunk(&mut body).await) {
                        let each = |event: super::sse::Event| {
                            if !event.data.is_empty() {
                                incoming::take(&self.shared, &event.data);
                            }
                        };
                        is_sound = events.push(&bytes, each).is_ok();
                    }
                    events.restart();
                }
                Err(Failure::Unreachable(_) | Failure::Broken(_)) => {}
                // It does not offer the stream, whatever it calls that.
                Ok(_) | Err(_) => return,
            }
            pause = if start.elapsed() >= CALM { FIRST } else { (pause * 2).min(LONGEST) };
            sleep(events.retry().map_or(pause, |retry| retry.clamp(FIRST, LONGEST).max(pause / 2))).await;
        }
    }
}
