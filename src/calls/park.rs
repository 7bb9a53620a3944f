//! Calls of clients of 2026-07-28 at children of the handshake era, which ask while they work. The revision has no
//! requests to clients, so such a call is parked: its request is answered with what the child asks, and the call goes on
//! when the client comes back with the answers. Bounded in number and time.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::CallContext;
use super::asker::{Answers, Asker};
use super::outcome::Outcome;
use super::state::Number;
use crate::app::App;
use crate::catalog::CATALOG;
use crate::child::{ChildCall, ChildError, ChildReply, Client, Method, ProgressSender};
use crate::wire::envelope::INTERNAL_ERROR;

/// Calls that may be parked at the same time.
const MAX_PARKED: usize = 64;
/// Those of one server: a process has one client, so it is servers that must not take each other's room.
const MAX_OF_ONE: usize = MAX_PARKED / 2;
/// How long a call is parked.
pub(super) const LIFETIME: Duration = Duration::from_secs(300);
/// Progress messages of one call that may wait.
const PROGRESS_QUEUE: usize = 64;

/// The calls that are parked.
#[derive(Debug, Clone, Default)]
pub struct Park {
    calls: Arc<Mutex<HashMap<Number, Parked>>>,
}

#[derive(Debug)]
struct Parked {
    call: Running,
    /// Its end, if nobody comes.
    end: AbortHandle,
}

impl Park {
    /// Parks a call: it is given up, and the child told, if nobody comes for it.
    ///
    /// # Errors
    /// The call: there is no room for it.
    pub(super) fn leave(&self, number: Number, mut call: Running) -> Result<(), Running> {
        let mut calls = self.calls();
        let of_this = calls.values().filter(|parked| parked.call.server == call.server).count();
        if calls.len() >= MAX_PARKED || of_this >= MAX_OF_ONE {
            return Err(call);
        }
        call.keep();
        let (park, named) = (self.clone(), number.clone());
        let end = tokio::spawn(async move {
            sleep(LIFETIME).await;
            park.forget(&named);
        });
        calls.insert(number, Parked { call, end: end.abort_handle() });
        Ok(())
    }

    /// Takes a call, with the answers to what it asks among the members of the request that goes on with it.
    ///
    /// # Errors
    /// Nothing is parked under this number any more, or the answers are malformed; then the call stays where it is.
    pub(super) fn take(&self, number: &Number, others: Option<&str>) -> Result<(Running, Answers), Outcome> {
        let mut calls = self.calls();
        let parked = calls.get(number).ok_or_else(|| {
            Outcome::invalid_params(
                "`params.requestState` has been used already, or the call that it goes on with has been given up: make \
                 the request anew, without it",
            )
        })?;
        let answers = parked.call.asker.read(others).map_err(Outcome::invalid_params)?;
        let Some(Parked { call, end }) = calls.remove(number) else {
            return Err(Outcome::error_text("a defect of evokore: the parked call is gone"));
        };
        end.abort();
        Ok((call, answers))
    }

    fn forget(&self, number: &Number) {
        // Dropped when the lock is not held any more: the end of a call may wake others.
        let parked = self.calls().remove(number);
        drop(parked);
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<Number, Parked>> {
        // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is under way, and can be parked. Dropped, it is given up: the child is told. It keeps its place among those
/// that the server works on while it is parked, because the server does; the way back needs no place, so nobody waits for
/// what waits for them.
pub(crate) struct Running {
    server: u16,
    call: Pin<Box<dyn Future<Output = Result<ChildReply, ChildError>> + Send>>,
    /// A task has the call, and `call` waits for it.
    is_kept: bool,
    asker: Arc<Asker>,
    /// The child's progress; each request of the client says anew whether it wants that.
    progress: mpsc::Receiver<Bytes>,
}

/// What a call has come to.
pub(super) enum Step {
    Reply(ChildReply),
    /// It has to be parked.
    Asks(Running),
}

impl Running {
    /// Whether a call of this client may have to be parked.
    pub(super) fn may_ask(client: &dyn Client, method: Method) -> bool {
        // The only requests that can be answered with questions (basic/patterns/mrtr § Supported Requests).
        matches!(method, Method::CallTool | Method::ReadResource | Method::GetPrompt)
            && client.capabilities().can_be_asked()
    }

    /// Makes the call.
    pub(super) fn start(app: &App, server: u16, mut call: ChildCall, client: Arc<dyn Client>) -> Running {
        let asker = Asker::of(client);
        call.client = Some(asker.clone());
        let (sender, progress) = mpsc::channel(PROGRESS_QUEUE);
        call.progress = Some(sender);
        let children = app.children();
        let call = Box::pin(async move { children.call(server, call).await });
        Running { server, call, is_kept: false, asker, progress }
    }

    /// Goes on with the call for a request that brings `answers`.
    pub(super) fn resume(&mut self, client: Arc<dyn Client>, answers: Answers) {
        // What it was told between the two requests is nobody's any more.
        while self.progress.try_recv().is_ok() {}
        self.asker.resume(client, answers);
    }

    /// Waits for the answer of the call, or for what it asks.
    ///
    /// # Errors
    /// Anything that kept the child from answering.
    pub(super) async fn step(mut self, ctx: &CallContext) -> Result<Step, ChildError> {
        loop {
            tokio::select! {
                biased;
                () = ctx.cancelled.cancelled() => {
                    let id = CATALOG.servers.get(usize::from(self.server)).map_or("", |server| server.id);
                    return Err(ChildError::Cancelled { id });
                }
                Some(report) = self.progress.recv() => {
                    pass_on(report, ctx.progress.as_ref());
                }
                reply = &mut self.call => {
                    while let Ok(report) = self.progress.try_recv() {
                        pass_on(report, ctx.progress.as_ref());
                    }
                    return reply.map(Step::Reply);
                }
                // Last: what a call asks that is done need not be answered for its sake.
                () = self.asker.asked() => return Ok(Step::Asks(self)),
            }
        }
    }

    /// The object that says what is asked. From now on nobody is there to be asked more.
    pub(super) fn ask(&self) -> String {
        self.asker.leave()
    }

    /// Answers what is asked for want of room.
    pub(super) fn refuse(&self) {
        let message = format!(
            "{MAX_OF_ONE} calls of this server, or {MAX_PARKED} altogether, wait for answers of the client already"
        );
        let refusal = json!({"code": INTERNAL_ERROR, "message": message}).to_string();
        self.asker.refuse(&ChildReply::Error(refusal.into()));
    }

    /// Has the call go on while nobody waits for it.
    fn keep(&mut self) {
        if std::mem::replace(&mut self.is_kept, true) {
            return;
        }
        let (mut sender, receiver) = oneshot::channel();
        let id = CATALOG.servers.get(usize::from(self.server)).map_or("", |server| server.id);
        let kept = Box::pin(async move { receiver.await.unwrap_or(Err(ChildError::Cancelled { id })) });
        let call = std::mem::replace(&mut self.call, kept);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = sender.closed() => {}
                reply = call => drop(sender.send(reply)),
            }
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.asker.close();
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("server", &self.server).field("asker", &self.asker).finish_non_exhaustive()
    }
}

/// Hands a progress message to the request in flight, if that wants it.
fn pass_on(report: Bytes, to: Option<&ProgressSender>) {
    if let Some(to) = to {
        // When the queue is full, progress is lost, as everywhere.
        let _ = to.try_send(report);
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::{CancellationToken, DropGuard};

    use super::super::state::{Bound, States};
    use super::*;
    use crate::child::{Answering, Capabilities, Level, Presence, Question, Topic};

    #[derive(Debug)]
    struct Offering(&'static str);

    impl Client for Offering {
        fn capabilities(&self) -> Arc<Capabilities> {
            Arc::new(Capabilities::of(self.0))
        }
        fn level(&self) -> Option<Level> {
            None
        }
        fn log(&self, _: &'static str, _: &[u8]) -> bool {
            true
        }
        fn ask(&self, _: Question) -> Answering {
            Box::pin(async { None })
        }
        fn tell(&self, _: &'static str, _: Option<&[u8]>) {}
    }

    fn client() -> Arc<dyn Client> {
        Arc::new(Offering(r#"{"elicitation":{},"roots":{}}"#))
    }

    /// A call of server `server` that ends never, and a token that is cancelled when it is given up.
    fn running(server: u16) -> (Running, CancellationToken) {
        let given_up = CancellationToken::new();
        let guard: DropGuard = given_up.clone().drop_guard();
        let call = Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        });
        (Running { server, call, is_kept: false, asker: Asker::of(client()), progress: mpsc::channel(1).1 }, given_up)
    }

    fn number() -> Number {
        let bound = Bound { server: 0, what: "t", arguments: None, definition: None, needs_approval: false };
        States::default().ticket(bound, LIFETIME).unwrap().0
    }

    fn roots() -> Question {
        Question { topic: Topic::Roots, params: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_nobody_comes_for_is_given_up() {
        let (park, number, (call, given_up)) = (Park::default(), number(), running(0));
        let asker = call.asker.clone();
        let asked = asker.ask(roots());
        assert_eq!(call.ask(), r#"{"question-1":{"method":"roots/list"}}"#);
        assert_eq!((asker.presence(), asker.log("s", b"{}")), (Presence::Away, true));
        assert!(park.leave(number.clone(), call).is_ok());
        sleep(LIFETIME - Duration::from_secs(1)).await;
        assert!(!given_up.is_cancelled());
        sleep(Duration::from_secs(2)).await;
        assert!(given_up.is_cancelled(), "the child is told");
        assert_eq!((asked.await, asker.presence()), (None, Presence::Gone));
        assert_eq!(asker.ask(roots()).await, None);
        assert!(matches!(park.take(&number, None), Err(Outcome::Error { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_taken_once_and_waits_anew_for_what_is_left_out() {
        let (park, number, (call, given_up)) = (Park::default(), number(), running(0));
        let asker = call.asker.clone();
        let (first, second) = (tokio::spawn(asker.ask(roots())), asker.ask(roots()));
        drop(call.ask());
        assert!(park.leave(number.clone(), call).is_ok());
        for malformed in [r#"{"inputResponses":7}"#, r#"{"inputResponses":{"question-1":null}}"#] {
            assert!(matches!(park.take(&number, Some(malformed)), Err(Outcome::Error { code: -32602, .. })));
        }
        let others = r#"{"inputResponses":{"question-1":{"roots":[ ]},"question-9":{}}}"#;
        let (mut call, answers) = park.take(&number, Some(others)).unwrap();
        assert!(park.take(&number, Some(others)).is_err(), "it has been taken");
        call.resume(client(), answers);
        assert_eq!(first.await.unwrap(), Some(ChildReply::Result(Bytes::from_static(br#"{"roots":[ ]}"#))));
        asker.asked().await;
        assert_eq!(call.ask(), r#"{"question-2":{"method":"roots/list"}}"#);
        sleep(LIFETIME * 2).await;
        assert!(!given_up.is_cancelled(), "its time ended when it was taken");
        // The next request offers less.
        call.resume(Arc::new(Offering("{}")), Answers::default());
        assert!(matches!(second.await, Some(ChildReply::Error(_))));
        drop(call);
        tokio::task::yield_now().await;
        assert!(given_up.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn there_is_room_for_so_many_and_for_each_server() {
        let park = Park::default();
        let mut calls = Vec::new();
        for server in [0, 1] {
            for _ in 0..MAX_OF_ONE {
                let (call, given_up) = running(server);
                calls.push(given_up);
                assert!(park.leave(number(), call).is_ok());
            }
            let (call, given_up) = running(server);
            let asked = call.asker.ask(roots());
            let back = park.leave(number(), call).unwrap_err();
            back.refuse();
            let Some(ChildReply::Error(refusal)) = asked.await else { panic!("a refusal") };
            assert!(String::from_utf8_lossy(&refusal).contains("wait for answers"));
            assert!(!given_up.is_cancelled(), "it goes on");
        }
        assert!(park.leave(number(), running(2).0).is_err(), "64 altogether");
        sleep(LIFETIME * 2).await;
        assert!(calls.iter().all(CancellationToken::is_cancelled));
        assert!(park.leave(number(), running(2).0).is_ok());
    }
}
