//! One MCP connection to a child server, over any reader and writer. Two tasks: one reads and sorts what comes, one
//! writes. Everything is bounded, and every request ends: with an answer, a time-out, a cancellation or the end.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::boot::ChildSink;
use super::call::{ChildCall, ChildReply, Method, ProgressSender, Taker};
use super::changes::Changes;
use super::client::Client;
use super::error::{ChildError, quoted};
use super::frames;
#[cfg(feature = "http")]
use super::http::{self, Mirror};
use super::incoming::Incoming;
use super::launch::Wires;
use super::logging::Budget;
use super::modern;
use super::offers::Offers;
use super::pending::{Answer, Pending};
use super::questions::Questions;
use super::stats::Stats;
use super::task;

/// Requests that may wait for one child.
const MAX_PENDING: usize = 1024;
/// Messages that may wait to be written.
const MAX_OUTGOING: usize = 256;
/// Small messages are written together up to this size.
const BATCH: usize = 64 << 10;
/// After the child's end, callers wait so long for someone to say why it ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long a request may take; at most some days, so that clocks can add it.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Without an answer or progress.
    pub idle: Duration,
    /// Altogether.
    pub total: Duration,
}

/// A connection; clones are the same one.
#[derive(Debug, Clone)]
pub struct Connection {
    pub(super) shared: Arc<Shared>,
}

/// What the tasks and the callers of a connection share.
pub(super) struct Shared {
    pub(super) id: &'static str,
    pub(super) pending: Pending,
    pub(super) outgoing: mpsc::Sender<Bytes>,
    pub(super) stats: Arc<Stats>,
    /// Knows the client of the process.
    pub(super) sink: Arc<dyn ChildSink>,
    /// It speaks 2026-07-28.
    modern: AtomicBool,
    /// Log messages that are passed on.
    logs: Budget,
    /// News of tasks that are passed on.
    pub(super) task_news: Budget,
    /// What the child asks its clients.
    pub(super) questions: Questions,
    /// What it has besides tools, once it has said so.
    offers: OnceLock<Offers>,
    /// What it has said to have changed.
    pub(super) changes: Changes,
    /// Over HTTP: what of calls is repeated in headers.
    #[cfg(feature = "http")]
    pub(super) mirror: OnceLock<Mirror>,
    /// The child has closed its side.
    pub(super) ended: CancellationToken,
    pub(super) ending: OnceLock<String>,
    /// We close its stdin.
    pub(super) hush: CancellationToken,
    /// We stop listening, too.
    pub(super) abandon: CancellationToken,
}

impl Connection {
    /// Starts talking to server `id`; `sink` knows whom it may ask. Lines over `max_line` bytes are refused. Must be called inside a runtime.
    pub fn open(
        id: &'static str,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        max_line: usize,
        stats: Arc<Stats>,
        sink: Arc<dyn ChildSink>,
    ) -> Connection {
        let (shared, queue) = Shared::new(id, stats, sink);
        tokio::spawn(write(shared.clone(), queue, writer));
        tokio::spawn(listen(shared.clone(), Incoming::new(shared.clone(), reader, max_line)));
        Connection { shared }
    }

    /// Starts talking over what has been launched, as [`Connection::open`] does.
    pub(super) fn by(
        id: &'static str,
        wires: Wires,
        max_line: usize,
        stats: Arc<Stats>,
        sink: Arc<dyn ChildSink>,
    ) -> Connection {
        match wires {
            Wires::Streams { stdin, stdout } => Connection::open(id, stdout, stdin, max_line, stats, sink),
            #[cfg(feature = "http")]
            Wires::Http(line) => {
                let (shared, queue) = Shared::new(id, stats, sink);
                let _ = shared.mirror.set(Mirror::default());
                tokio::spawn(http::run(shared.clone(), queue, *line, max_line));
                Connection { shared }
            }
        }
    }

    /// Hands a client's request to the child and waits for the answer.
    ///
    /// # Errors
    /// Anything that kept the child from answering; [`ChildError::Lacks`] if it does not offer such a thing.
    pub async fn call(&self, mut call: ChildCall, patience: Patience) -> Result<ChildReply, ChildError> {
        if let Some(what) = self.offers().lacks(call.method) {
            return Err(ChildError::Lacks { id: self.shared.id, what });
        }
        let is_modern = self.shared.is_modern();
        if is_modern {
            let tasks = call.method.is_about_tasks() || matches!(call.taker, Taker::Modern | Taker::Us);
            let meta = modern::meta(self.shared.id, call.meta.as_deref(), call.client.as_deref(), tasks);
            call.meta = Some(meta.into());
        } else if call.method == Method::CallTool && call.taker == Taker::Us {
            call.others = Some(task::wished_for(call.others.as_deref()));
        }
        let reply = self.make(&call, patience).await;
        #[cfg(feature = "http")]
        let reply = match is_modern && self.learns_anew(&call, &reply, patience).await {
            true => self.make(&call, patience).await,
            false => reply,
        };
        if call.method.is_about_tasks()
            && let Ok(reply) = &reply
            && let Some((task, None)) = task::seen(&call, reply)
        {
            self.shared.pending.task_is_over(&task);
        }
        match call.method {
            _ if is_modern => reply.map(modern::sorted),
            Method::CallTool => reply.map(task::sorted),
            _ => reply,
        }
    }

    /// Hands a call to the child as it is.
    async fn make(&self, call: &ChildCall, patience: Patience) -> Answer {
        let request = Request {
            what: match call.method {
                Method::CallTool => format!("`{}`", call.tool),
                method => format!("`{}`", method.name()),
            },
            patience,
            progress: call.progress.clone(),
            client: call.client.clone(),
            cancelled: Some(&call.cancelled),
            may_cancel: true,
        };
        self.exchange(request, |id| frames::call(id, call)).await
    }

    /// Sends a request of our own and waits for its result.
    ///
    /// # Errors
    /// Anything that kept the child from answering, and [`ChildError::Refused`].
    pub(super) async fn request(&self, method: &str, params: &str, limit: Duration) -> Result<Bytes, ChildError> {
        let patience = Patience { idle: limit, total: limit };
        // The specification forbids to cancel `initialize` (2025-11-25, basic/utilities/cancellation).
        // Before it a child may not know the notification.
        let may_cancel = !matches!(method, "initialize" | "server/discover");
        let request = Request {
            what: format!("`{method}`"),
            patience,
            progress: None,
            client: None,
            cancelled: None,
            may_cancel,
        };
        let modern = self.shared.is_modern().then(|| {
            let meta = modern::meta(self.shared.id, None, self.client().as_deref(), false);
            let rest =
                frames::members(Some(params.as_bytes())).map(|rest| format!(",{}", String::from_utf8_lossy(rest)));
            format!("{{\"_meta\":{meta}{}}}", rest.unwrap_or_default())
        });
        let params = modern.as_deref().unwrap_or(params);
        match self.exchange(request, |id| frames::request(id, method, params)).await {
            Ok(ChildReply::Result(bytes) | ChildReply::InputRequired(bytes) | ChildReply::Task(bytes)) => Ok(bytes),
            Ok(ChildReply::Error(bytes)) => Err(refused(self.shared.id, method, &bytes)),
            // What allows a call more time does not allow it to us.
            Err(ChildError::TimedOut { id, after, .. }) => {
                Err(ChildError::Silent { id, method: method.to_owned(), after })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether requests are those of 2026-07-28.
    pub(super) fn speaks_modern(&self) -> bool {
        self.shared.is_modern()
    }

    /// Whether requests are those of 2026-07-28 from now on.
    pub(super) fn speak_modern(&self, modern: bool) {
        self.shared.modern.store(modern, Relaxed);
    }

    /// The client of the process.
    pub(super) fn client(&self) -> Option<Arc<dyn Client>> {
        self.shared.sink.client()
    }

    /// Waits until the connection is of no use any more.
    pub(super) async fn over(&self) {
        tokio::select! {
            () = self.shared.ended.cancelled() => {}
            () = self.shared.abandon.cancelled() => {}
        }
    }

    /// Sends a finished frame.
    pub(super) async fn send(&self, frame: Bytes) -> Result<(), ChildError> {
        self.shared.outgoing.send(frame).await.map_err(|_| self.shared.gone())
    }

    /// Whether both are the same.
    pub(super) fn is(&self, other: &Connection) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until the child has closed its side; says how.
    pub async fn ended(&self) -> String {
        self.shared.ended.cancelled().await;
        self.shared.ending.get().cloned().unwrap_or_else(|| "closed the connection".to_owned())
    }

    /// What the child has said to have changed.
    pub(super) fn changes(&self) -> &Changes {
        &self.shared.changes
    }

    /// What the child has besides tools; nothing before the handshake.
    pub(super) fn offers(&self) -> Offers {
        self.shared.offers.get().copied().unwrap_or_default()
    }

    /// Notes what the child said in the handshake, once.
    pub(super) fn learn(&self, offers: Offers) {
        let _ = self.shared.offers.set(offers);
    }

    /// Closes the child's stdin; what it still says is read.
    pub(super) fn hush(&self) {
        self.shared.hush.cancel();
    }

    /// Ends the connection: whatever waits fails with `error`, and so does every later request.
    pub fn close(&self, error: &ChildError) {
        self.shared.hush.cancel();
        self.shared.abandon.cancel();
        self.shared.questions.end();
        self.shared.pending.close(error);
    }

    async fn exchange(&self, request: Request<'_>, frame: impl FnOnce(u64) -> Bytes) -> Answer {
        let shared = &*self.shared;
        let (id, mut answer) = shared.pending.insert(request.progress, request.client)?;
        let sent = AtomicBool::new(false);
        let mut guard = Guard { shared, id, sent: &sent, tell: request.may_cancel, reason: "the caller is gone" };
        let send = send(shared, frame(id), &sent);
        tokio::pin!(send);
        let start = Instant::now();
        let Patience { idle, total } = request.patience;
        let error = loop {
            // A request that is not in the table any more has its answer. While the client is asked, the child waits, too.
            let active = || shared.pending.active(id).filter(|_| !shared.questions.any());
            let wake = (active().unwrap_or_else(Instant::now) + idle).min(start + total);
            tokio::select! {
                biased;
                answer = &mut answer => return answer.unwrap_or_else(|_| Err(shared.gone())),
                error = &mut send => break error,
                () = cancelled(request.cancelled) => break ChildError::Cancelled { id: shared.id },
                () = sleep_until(wake) => {
                    let is_over = start + total <= wake && shared.pending.active(id).is_some();
                    if is_over || active().is_some_and(|active| active + idle <= wake) {
                        let after = if wake == start + total { total } else { idle };
                        break ChildError::TimedOut { id: shared.id, what: request.what, after };
                    }
                }
            }
        };
        guard.reason = match error {
            ChildError::Cancelled { .. } => "the caller cancelled the call",
            _ => "the call took too long",
        };
        Err(error)
    }
}

/// What [`Connection::exchange`] needs to know besides the frame.
struct Request<'a> {
    what: String,
    patience: Patience,
    progress: Option<ProgressSender>,
    client: Option<Arc<dyn Client>>,
    cancelled: Option<&'a CancellationToken>,
    may_cancel: bool,
}

/// Takes a request out when its caller leaves without an answer, and tells the child.
struct Guard<'a> {
    shared: &'a Shared,
    id: u64,
    /// The child may have seen the request.
    sent: &'a AtomicBool,
    tell: bool,
    reason: &'static str,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.shared.pending.remove(self.id) && self.tell && self.sent.load(Relaxed) {
            // A child that does not read its stdin does not hear of the cancellation either.
            let _ = self.shared.outgoing.try_send(frames::cancelled(self.id, self.reason));
        }
        self.shared.questions.settle(&self.shared.pending);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("id", &self.id).field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl Shared {
    /// An open connection without tasks, and the frames that are to be sent.
    fn new(id: &'static str, stats: Arc<Stats>, sink: Arc<dyn ChildSink>) -> (Arc<Shared>, mpsc::Receiver<Bytes>) {
        let (outgoing, queue) = mpsc::channel(MAX_OUTGOING);
        let shared = Shared {
            id,
            pending: Pending::new(id, MAX_PENDING),
            outgoing,
            stats,
            sink,
            modern: AtomicBool::new(false),
            logs: Budget::default(),
            task_news: Budget::default(),
            questions: Questions::default(),
            offers: OnceLock::new(),
            changes: Changes::default(),
            #[cfg(feature = "http")]
            mirror: OnceLock::new(),
            ended: CancellationToken::new(),
            ending: OnceLock::new(),
            hush: CancellationToken::new(),
            abandon: CancellationToken::new(),
        };
        (Arc::new(shared), queue)
    }

    pub(super) fn is_modern(&self) -> bool {
        self.modern.load(Relaxed)
    }

    /// A log message: for the client of the likeliest call, without one for that of the process.
    pub(super) fn log(&self, params: &[u8]) {
        let client =
            || self.pending.askable().into_iter().next().map(|(client, _)| client).or_else(|| self.sink.client());
        if !self.logs.take(params.len()) || client().is_some_and(|client| !client.log(self.id, params)) {
            self.stats.drop_log();
        }
    }

    fn gone(&self) -> ChildError {
        let what = self.ending.get().cloned().unwrap_or_else(|| "the connection is closed".to_owned());
        ChildError::Exited { id: self.id, what }
    }

    /// The child's side is closed; `how` completes "it …".
    pub(super) fn end(&self, how: String) {
        let _ = self.ending.set(how);
        self.questions.end();
        self.ended.cancel();
    }
}

/// Hands a request to the writer. Ends only if it cannot.
async fn send(shared: &Shared, frame: Bytes, sent: &AtomicBool) -> ChildError {
    if shared.outgoing.send(frame).await.is_err() {
        return shared.gone();
    }
    sent.store(true, Relaxed);
    std::future::pending().await
}

/// The `error` member of an answer, read as far as it can be.
fn refused(id: &'static str, method: &str, error: &[u8]) -> ChildError {
    let error: Value = serde_json::from_slice(error).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let message = quoted(error.get("message").and_then(Value::as_str).unwrap_or("no message"), 300);
    ChildError::Refused { id, method: method.to_owned(), code, message }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The reading task.
async fn listen<R: AsyncRead + Unpin>(shared: Arc<Shared>, mut incoming: Incoming<R>) {
    tokio::select! {
        how = incoming.run() => shared.end(how),
        () = shared.abandon.cancelled() => return,
    }
    tokio::select! {
        () = sleep(LAST_WORDS) => shared.pending.close(&shared.gone()),
        () = shared.abandon.cancelled() => {}
    }
}

/// The writing task. Ends when the connection is closed, which closes the child's stdin.
async fn write(shared: Arc<Shared>, mut queue: mpsc::Receiver<Bytes>, mut writer: impl AsyncWrite + Unpin) {
    let work = async {
        let mut batch = BytesMut::new();
        while let Some(mut frame) = queue.recv().await {
            // What waits already goes out in one write.
            while frame.len() + batch.len() <= BATCH {
                batch.extend_from_slice(&frame);
                match queue.try_recv() {
                    Ok(next) => frame = next,
                    Err(_) => {
                        frame = Bytes::new();
                        break;
                    }
                }
            }
            writer.write_all(&batch).await?;
            writer.write_all(&frame).await?;
            writer.flush().await?;
            batch.clear();
        }
        std::io::Result::Ok(())
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        () = shared.hush.cancelled() => Ok(()),
    };
    // Dropping it closes a pipe; a stream whose other half still reads needs to be told.
    let _ = writer.shutdown().await;
    if let Err(error) = outcome {
        shared.end(format!("closed its stdin ({error})"));
    }
}
