//! Requests that wait for a child's answer, by our own ids. Bounded; the first answer counts.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::call::{ChildReply, ProgressSender};
use super::client::{Client, Presence};
use super::error::ChildError;
use super::task;

/// Answered calls whose progress goes on, since they have become tasks; of more, the oldest are not followed any further.
const MAX_TASKS: usize = 64;

/// What a request ends with.
pub(super) type Answer = Result<ChildReply, ChildError>;

/// The requests of one connection. Its lock is never held across an await.
#[derive(Debug)]
pub(super) struct Pending {
    id: &'static str,
    limit: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    turns: u64,
    entries: HashMap<u64, Entry>,
    /// The calls that have become tasks, oldest first.
    tasks: VecDeque<Followed>,
    /// Why no further request is accepted.
    closed: Option<ChildError>,
}

#[derive(Debug)]
struct Entry {
    answer: oneshot::Sender<Answer>,
    progress: Option<ProgressSender>,
    /// Who can be asked, if this is a call.
    client: Option<Arc<dyn Client>>,
    /// When the child was last told something about it, on a count of its own.
    turn: u64,
    /// When the request was made or its last progress came.
    active: Instant,
}

/// A call that is answered, and reports progress as long as its task works (2025-11-25, Task Progress Notifications).
#[derive(Debug)]
struct Followed {
    id: u64,
    /// The child's own id.
    task: String,
    progress: ProgressSender,
}

impl Table {
    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

impl Pending {
    /// An empty table for server `id`, with room for `limit` requests.
    pub(super) fn new(id: &'static str, limit: usize) -> Pending {
        Pending { id, limit, table: Mutex::default() }
    }

    /// Registers a request: its id, and where its answer comes.
    ///
    /// # Errors
    /// The table is full or closed.
    pub(super) fn insert(
        &self,
        progress: Option<ProgressSender>,
        client: Option<Arc<dyn Client>>,
    ) -> Result<(u64, oneshot::Receiver<Answer>), ChildError> {
        let mut table = self.table();
        if let Some(error) = &table.closed {
            return Err(error.clone());
        }
        if table.entries.len() >= self.limit {
            return Err(ChildError::Busy { id: self.id, limit: self.limit });
        }
        let (sender, receiver) = oneshot::channel();
        table.last += 1;
        let (id, turn) = (table.last, table.next_turn());
        table.entries.insert(id, Entry { answer: sender, progress, client, turn, active: Instant::now() });
        Ok((id, receiver))
    }

    /// Ends request `id`. False if nobody waits for it (any more).
    pub(super) fn finish(&self, id: u64, answer: Answer) -> bool {
        let Some(mut entry) = self.table().entries.remove(&id) else { return false };
        if let (Some(progress), Ok(ChildReply::Result(result))) = (entry.progress.take(), &answer)
            && let Some(task) = task::made_of(result)
        {
            let tasks = &mut self.table().tasks;
            if tasks.len() >= MAX_TASKS {
                tasks.pop_front();
            }
            tasks.push_back(Followed { id, task, progress });
        }
        // The caller may just have given up; then the answer is late, too.
        entry.answer.send(answer).is_ok()
    }

    /// A task is over: there is no progress of it any more.
    pub(super) fn task_is_over(&self, task: &str) {
        self.table().tasks.retain(|followed| followed.task != task);
    }

    /// Takes request `id` out without an answer. False if it had ended.
    pub(super) fn remove(&self, id: u64) -> bool {
        self.table().entries.remove(&id).is_some()
    }

    /// The child is at work on request `id`: notes the time and passes the raw parameters on.
    pub(super) fn progress(&self, id: u64, params: Bytes) -> bool {
        let mut table = self.table();
        let Some(entry) = table.entries.get_mut(&id) else {
            let followed = table.tasks.iter().find(|followed| followed.id == id);
            return followed.is_some_and(|followed| followed.progress.try_send(params).is_ok());
        };
        entry.active = Instant::now();
        if let Some(progress) = &entry.progress
            && let Err(TrySendError::Closed(_)) = progress.try_send(params)
        {
            entry.progress = None;
        }
        true
    }

    /// When request `id` last showed life.
    pub(super) fn active(&self, id: u64) -> Option<Instant> {
        self.table().entries.get(&id).map(|entry| entry.active)
    }

    /// Lets the time without a sign of life begin anew for every request.
    pub(super) fn touch(&self) {
        let now = Instant::now();
        self.table().entries.values_mut().for_each(|entry| entry.active = now);
    }

    /// The calls whose client can be asked, the likeliest first: those whose client is there before others, and of these
    /// the one that the child was told about last; each with its id.
    pub(super) fn askable(&self) -> Vec<(Arc<dyn Client>, u64)> {
        let mut calls: Vec<_> = {
            let table = self.table();
            let calls = table.entries.iter();
            calls.filter_map(|(id, entry)| Some((entry.turn, *id, entry.client.clone()?))).collect()
        };
        // Looked at once each, and not under the lock.
        calls.sort_by_cached_key(|(turn, _, client)| Reverse((client.presence(), *turn)));
        calls.retain(|(_, _, client)| client.presence() != Presence::Gone);
        calls.into_iter().map(|(_, id, client)| (client, id)).collect()
    }

    /// The newest call whose client can be asked.
    pub(super) fn newest_call(&self) -> Option<u64> {
        self.table().entries.iter().filter(|(_, entry)| entry.client.is_some()).map(|(id, _)| *id).max()
    }

    /// The child is told something about call `id`: it may ask more because of it.
    pub(super) fn tell(&self, id: u64) {
        let mut table = self.table();
        let turn = table.next_turn();
        if let Some(entry) = table.entries.get_mut(&id) {
            entry.turn = turn;
        }
    }

    /// Whether a call waits that is not newer than `newest`.
    pub(super) fn has_call_up_to(&self, newest: u64) -> bool {
        self.table().entries.iter().any(|(id, entry)| *id <= newest && entry.client.is_some())
    }

    /// The only request that waits, if it is just one.
    pub(super) fn only(&self) -> Option<u64> {
        let table = self.table();
        let mut ids = table.entries.keys();
        ids.next().copied().filter(|_| ids.next().is_none())
    }

    /// Ends every request with `error`.
    pub(super) fn fail_all(&self, error: &ChildError) {
        let entries = {
            let mut table = self.table();
            table.tasks.clear();
            std::mem::take(&mut table.entries)
        };
        for entry in entries.into_values() {
            let _ = entry.answer.send(Err(error.clone()));
        }
    }

    /// Ends every request with `error`, and refuses new ones with it.
    pub(super) fn close(&self, error: &ChildError) {
        self.table().closed.get_or_insert_with(|| error.clone());
        self.fail_all(error);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // No code that could panic runs under the lock, so a poisoned table is consistent.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
