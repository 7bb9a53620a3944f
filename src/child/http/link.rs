//! The link to one server: takes the frames of a connection, posts each, and hands what is answered to the connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::server::Dialect;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::endpoint::{Ask, Endpoint};
use super::frame::{Frame, Head};
use super::pause::Pause;
use super::session::Session;
use crate::child::connection::Shared;

/// Requests that a server has at a time; more wait for their turn.
const AT_ONCE: usize = 16;
/// Notifications and answers that are on their way at a time; more are lost.
const ASIDES: usize = 64;
/// For what needs no answer.
const ASIDE: Duration = Duration::from_secs(30);
/// For the server to hear that its session ends.
const FAREWELL: Duration = Duration::from_millis(200);
/// How often it is looked whether anyone still waits for an answer that nobody cancelled.
const LOOK: Duration = Duration::from_secs(5);

/// One server over HTTP.
pub(super) struct Link {
    pub(super) shared: Arc<Shared>,
    pub(super) endpoint: Endpoint,
    pub(super) dialect: Dialect,
    pub(super) session: Session,
    pub(super) pause: Pause,
    /// Bytes of one message.
    pub(super) limit: usize,
    slots: Semaphore,
    asides: Arc<Semaphore>,
    /// The requests that are on their way.
    running: Mutex<HashMap<u64, AbortHandle>>,
    /// Hears what the server says unasked; of a server of 2024-11-05, all that it says.
    listener: Mutex<Option<AbortHandle>>,
}

/// An endpoint that nobody has spoken to yet, and what is cancelled when it has heard of our going.
pub struct Line {
    pub(super) endpoint: Endpoint,
    pub(super) dialect: Dialect,
    pub(super) closed: CancellationToken,
}

/// Carries the frames of `queue` until the connection is hushed; then the server hears that.
pub(in crate::child) async fn run(shared: Arc<Shared>, mut queue: mpsc::Receiver<Bytes>, line: Line, limit: usize) {
    let Line { endpoint, dialect, closed } = line;
    let link = Arc::new(Link {
        shared,
        endpoint,
        dialect,
        session: Session::default(),
        pause: Pause::default(),
        limit,
        slots: Semaphore::new(AT_ONCE),
        asides: Arc::new(Semaphore::new(ASIDES)),
        running: Mutex::default(),
        listener: Mutex::default(),
    });
    // Ends with this function whatever is still on its way.
    let mut tasks = JoinSet::new();
    let work = async {
        loop {
            tokio::select! {
                frame = queue.recv() => match frame {
                    Some(frame) => link.take(frame, &mut tasks).await,
                    None => break,
                },
                Some(_) = tasks.join_next() => {}
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = link.shared.hush.cancelled() => {}
    }
    link.leave().await;
    closed.cancel();
    // What is on its way may still be answered until nobody listens any more.
    link.shared.abandon.cancelled().await;
    link.stop_listening();
}

impl Link {
    /// Sends one frame on its way.
    async fn take(self: &Arc<Self>, mut frame: Bytes, tasks: &mut JoinSet<()>) {
        // On a stream a line end parts the frames; here the body does.
        frame.truncate(frame.trim_ascii_end().len());
        match Frame::read(&frame, self.shared.mirror.get()) {
            Frame::Request(head) => {
                let id = head.id;
                let task = tasks.spawn(self.clone().answer(head, frame));
                self.running().insert(id, task);
            }
            Frame::Initialized => {
                self.aside(frame).await;
                self.listen_anew();
            }
            // 2026-07-28: who ends the stream of an answer takes the request back.
            Frame::Cancelled(id) if self.shared.is_modern() => self.drop_request(id),
            Frame::Cancelled(id) => self.spawn_aside(frame, Some(id), tasks),
            Frame::Aside => self.spawn_aside(frame, None, tasks),
        }
    }

    /// Posts a request and sees to it that it ends.
    async fn answer(self: Arc<Self>, head: Head, frame: Bytes) {
        let work = async {
            let _slot = match head.is_patient() {
                true => None,
                // The semaphore is never closed.
                false => self.slots.acquire().await.ok(),
            };
            self.exchange(&head, &frame).await
        };
        tokio::select! {
            outcome = work => {
                if let Err(failure) = outcome {
                    let error = failure.into_error(self.shared.id, self.limit);
                    self.shared.pending.finish(head.id, Err(error));
                }
            }
            () = self.unwanted(head.id) => {}
        }
        self.running().remove(&head.id);
    }

    /// Waits until nobody waits for request `id`.
    async fn unwanted(&self, id: u64) {
        while self.waits_for(id) {
            sleep(LOOK).await;
        }
    }

    pub(super) fn waits_for(&self, id: u64) -> bool {
        self.shared.pending.active(id).is_some()
    }

    fn spawn_aside(self: &Arc<Self>, frame: Bytes, cancels: Option<u64>, tasks: &mut JoinSet<()>) {
        // A server that takes nothing in does not hear of everything.
        let Ok(slot) = self.asides.clone().try_acquire_owned() else { return };
        let link = self.clone();
        tasks.spawn(async move {
            link.aside(frame).await;
            // The answer is not to come any more: its stream need not be kept open.
            if let Some(id) = cancels {
                link.drop_request(id);
            }
            drop(slot);
        });
    }

    /// Does not wait for the answer to request `id` any more.
    fn drop_request(&self, id: u64) {
        if let Some(task) = self.running().remove(&id) {
            task.abort();
        }
    }

    /// Posts what needs no answer. That it is lost shows in what is asked next.
    pub(super) async fn aside(&self, frame: Bytes) {
        let ticket = self.session.ticket();
        let _ = timeout(ASIDE, self.endpoint.send(Ask::Post(&frame, None), &ticket)).await;
    }

    /// Listens for what the server says unasked, in the session of this moment.
    pub(super) fn listen_anew(self: &Arc<Self>) {
        if !self.endpoint.is_old() {
            self.listen_by(self.clone().listen());
        }
    }

    /// Listens in this way from now on.
    pub(super) fn listen_by(&self, way: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(way).abort_handle();
        if let Some(before) = self.listener().replace(task) {
            before.abort();
        }
    }

    async fn leave(&self) {
        if !self.endpoint.is_old() {
            self.stop_listening();
        }
        let ticket = self.session.ticket();
        if ticket.id.is_some() {
            let _ = timeout(FAREWELL, self.endpoint.send(Ask::Leave, &ticket)).await;
        }
    }

    fn stop_listening(&self) {
        if let Some(listener) = self.listener().take() {
            listener.abort();
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listener(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
