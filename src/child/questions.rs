//! The requests of one child that its client has not answered yet. Bounded; each ends: with the answer, a time-out, the
//! child's own cancellation, the end of the calls it may belong to, or the child's end.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::call::ChildReply;
use super::client::{Client, INTERNAL_ERROR, Question, error, missing, silent};
use super::connection::Shared;
use super::frames;
use super::pending::Pending;
use super::task;

/// Questions that one child may have open.
const MAX_OPEN: usize = 32;
/// For a question that belongs to no call. The others may take as long as their call.
const UNBIDDEN: Duration = Duration::from_secs(300);
/// For one that belongs to a task, which goes on when the calls of its time have long ended.
const OF_A_TASK: Duration = Duration::from_secs(3600);
/// Why a question ends without its answer.
const OVER: &str = "the call that this is for has ended";

/// The open questions of one connection. Its lock is never held across an await.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Mutex<Vec<Open>>,
    /// How many; looked at after every call.
    count: AtomicUsize,
    /// The child's end.
    end: CancellationToken,
}

#[derive(Debug)]
struct Open {
    /// The child's id for it, as it came.
    id: Bytes,
    /// The newest call when it was asked: this one or an older one is what it is for.
    call: Option<u64>,
    stop: CancellationToken,
}

impl Questions {
    /// Whether the client is being asked something.
    pub(super) fn any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// The child takes question `id` back.
    pub(super) fn withdraw(&self, id: &[u8]) {
        if let Some(open) = self.remove(id) {
            open.stop.cancel();
        }
    }

    /// Stops what was asked for calls of which none is left.
    pub(super) fn settle(&self, pending: &Pending) {
        if self.any() {
            let over = |open: &&Open| open.call.is_some_and(|newest| !pending.has_call_up_to(newest));
            self.table().iter().filter(over).for_each(|open| open.stop.cancel());
        }
    }

    /// Stops everything, for good.
    pub(super) fn end(&self) {
        self.end.cancel();
    }

    /// Takes a question; `None` if it cannot be asked besides those that are open.
    fn insert(&self, id: &Bytes, call: Option<u64>) -> Option<CancellationToken> {
        let mut table = self.table();
        if table.len() >= MAX_OPEN || table.iter().any(|open| open.id == id) {
            return None;
        }
        let stop = self.end.child_token();
        // A copy: the id is part of a line that may be long.
        table.push(Open { id: Bytes::copy_from_slice(id), call, stop: stop.clone() });
        self.count.store(table.len(), Relaxed);
        Some(stop)
    }

    fn remove(&self, id: &[u8]) -> Option<Open> {
        let mut table = self.table();
        let at = table.iter().position(|open| open.id == id)?;
        let open = table.swap_remove(at);
        self.count.store(table.len(), Relaxed);
        Some(open)
    }

    fn table(&self) -> MutexGuard<'_, Vec<Open>> {
        // No code that could panic runs under the lock, so a poisoned table is consistent.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deals with request `id` of the child: asks the client of a call, without a call that of the process, and answers the
/// child. Returns at once.
///
/// Over HTTP a request comes on the way back from the call that it is `about`. A stream does not say which call a request
/// is for (handshake era); then those calls whose client offers such a thing are asked in turn, the likeliest first, until
/// one has an answer.
pub(super) fn ask(shared: &Arc<Shared>, id: Bytes, question: Question, about: Option<u64>) {
    let is_of_task = question.params.as_deref().is_some_and(task::is_related);
    let params = question.params.map(|params| task::related_outward(shared.id, params));
    let question = Question { topic: question.topic, params };
    let asked = match next(shared, &question, about) {
        Ok(asked) => asked,
        Err(refusal) => return answer(shared, &id, &refusal),
    };
    // A task goes on when the calls of its time have ended.
    let newest = if is_of_task { None } else { shared.pending.newest_call() };
    let Some(stop) = shared.questions.insert(&id, newest) else {
        let message = format!("{MAX_OPEN} requests are open, or one with this id is");
        return answer(shared, &id, &error(INTERNAL_ERROR, &message));
    };
    let unbidden =
        if is_of_task || asked.call.is_none() { Some(if is_of_task { OF_A_TASK } else { UNBIDDEN }) } else { None };
    let shared = shared.clone();
    tokio::spawn(async move {
        let reply = tokio::select! {
            biased;
            () = stop.cancelled() => error(INTERNAL_ERROR, OVER),
            reply = put(&shared, &question, about, asked, unbidden) => reply,
        };
        let reply = match reply {
            ChildReply::Result(result) => ChildReply::Result(task::related_inward(shared.id, result)),
            reply => reply,
        };
        // What the child has taken back gets no answer.
        if shared.questions.remove(&id).is_some() {
            shared.pending.touch();
            let _ = shared.outgoing.send(frames::reply(&id, &reply)).await;
        }
    });
}

/// Asks one after the other until there is an answer.
async fn put(
    shared: &Shared,
    question: &Question,
    about: Option<u64>,
    mut asked: Asked,
    unbidden: Option<Duration>,
) -> ChildReply {
    loop {
        let Asked { client, call } = asked;
        let limit = client.limit(question.topic).or(unbidden);
        let answer = client.ask(question.clone());
        let reply = match limit {
            Some(limit) => timeout(limit, answer).await.unwrap_or_else(|_| Some(silent(limit))),
            None => answer.await,
        };
        if let Some(reply) = reply {
            if let Some(call) = call {
                shared.pending.tell(call);
            }
            return reply;
        }
        asked = match next(shared, question, about) {
            Ok(next) if next.call.is_some() => next,
            _ => return error(INTERNAL_ERROR, OVER),
        };
    }
}

/// Whom to ask; with nobody there, the refusal for the child.
fn next(shared: &Shared, question: &Question, about: Option<u64>) -> Result<Asked, ChildReply> {
    let mut calls = shared.pending.askable();
    if let Some(at) = calls.iter().position(|(_, id)| Some(*id) == about) {
        calls.drain(..at);
        calls.truncate(1);
    }
    let mut refusal = None;
    for (client, call) in calls {
        match client.refusal(question) {
            None => return Ok(Asked { client, call: Some(call) }),
            Some(why) => refusal = refusal.or(Some(why)),
        }
    }
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let client = shared.sink.client().ok_or_else(|| missing(question.topic.method()))?;
    match client.refusal(question) {
        None => Ok(Asked { client, call: None }),
        Some(refusal) => Err(refusal),
    }
}

/// Who is asked, and for the sake of which call.
struct Asked {
    client: Arc<dyn Client>,
    call: Option<u64>,
}

/// Answers at once. The reader never waits for the writer: a child that floods us with requests and does not read loses
/// the answers to them.
pub(super) fn answer(shared: &Shared, id: &[u8], reply: &ChildReply) {
    if shared.outgoing.try_send(frames::reply(id, reply)).is_err() {
        shared.stats.stray();
    }
}
