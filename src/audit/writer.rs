//! The way of events from whoever has them to the one thread that writes. Bounded, and never waited at: what finds no
//! room is counted, and the count is written.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::append::Appender;
use super::event::{Arguments, Event, Kind, Outcome};
use crate::log;

/// Events that may wait.
const MAX_WAITING: usize = 8192;
/// With so many the writer waits no longer for more.
const MANY: usize = MAX_WAITING / 4;
/// Bytes of arguments that may wait; an event beyond it goes without its arguments.
const MAX_BYTES: usize = 32 << 20;
/// The writer waits so long for more after the first event, so that many cost one write, and a call that ends meanwhile
/// one line.
const LINGER: Duration = Duration::from_millis(50);

/// Events that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Tells the writer of the first event, of many, and of the end.
    filled: Condvar,
    /// Tells whoever closes that everything is written.
    done: Condvar,
}

/// The place of an event among all that a queue has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended<'a> {
    /// What came of it.
    pub(super) outcome: Outcome,
    /// How long it took, in milliseconds.
    pub(super) ms: Option<u64>,
    /// Why, if it failed for want of an answer.
    pub(super) reason: Option<&'a str>,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    /// Events that were taken before the first of them.
    before: u64,
    bytes: usize,
    /// Events that are not among them, and have not been told of.
    lost: u64,
    is_closing: bool,
    is_done: bool,
}

impl Queue {
    /// Takes an event, if there is room.
    pub(super) fn push(&self, mut event: Event) -> Option<Ticket> {
        let mut state = self.lock();
        if state.is_closing || state.events.len() >= MAX_WAITING {
            state.lost += 1;
            return None;
        }
        if let Arguments::Given(bytes) = &event.arguments
            && state.bytes >= MAX_BYTES
        {
            event.arguments = Arguments::LeftOut(bytes.len());
        }
        state.bytes += event.held();
        state.events.push(event);
        if state.events.len() == 1 || state.events.len() == MANY {
            self.filled.notify_one();
        }
        Some(Ticket(state.before + state.events.len() as u64 - 1))
    }

    /// Adds the end of a call to the event of its beginning; false if that waits no longer.
    pub(super) fn end_of(&self, ticket: Ticket, ended: Ended<'_>) -> bool {
        let mut state = self.lock();
        let at = ticket.0.checked_sub(state.before).and_then(|at| usize::try_from(at).ok());
        let Some(event) = at.and_then(|at| state.events.get_mut(at)) else { return false };
        event.add_end(ended);
        true
    }

    /// Has everything written that waits; gives up after `patience`.
    pub(super) fn close(&self, patience: Duration) {
        let mut state = self.lock();
        state.is_closing = true;
        self.filled.notify_one();
        let done = self.done.wait_timeout_while(state, patience, |state| !state.is_done);
        let (state, timeout) = done.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && !state.is_done {
            log::warn(
                "the end of the audit log is not written: the folder is too slow, or another process keeps it locked",
            );
        }
    }

    /// Nothing is written any more.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        (state.is_closing, state.is_done) = (true, true);
        state.events.clear();
        self.done.notify_all();
    }

    /// Puts the events that wait in place of `events`, and tells how many were lost; `None` once it is closed and empty.
    fn take(&self, events: &mut Vec<Event>) -> Option<u64> {
        events.clear();
        let is_empty = |state: &mut State| state.events.is_empty() && !state.is_closing;
        let state = self.filled.wait_while(self.lock(), is_empty).unwrap_or_else(PoisonError::into_inner);
        let few = |state: &mut State| state.events.len() < MANY && !state.is_closing;
        let (mut state, _) = self.filled.wait_timeout_while(state, LINGER, few).unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        state.before += state.events.len() as u64;
        std::mem::swap(events, &mut state.events);
        let lost = std::mem::take(&mut state.lost);
        (!events.is_empty() || lost > 0).then_some(lost)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that could panic runs under the lock, so a poisoned one still holds a consistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread that writes what `queue` takes.
pub(super) fn start(queue: Arc<Queue>, appender: Appender) {
    let run = {
        let queue = queue.clone();
        move || {
            let _end = End(&queue);
            run(&queue, &appender);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("audit".to_owned()).spawn(run) {
        log::warn(&format!("there is no audit log: its thread cannot be started: {error}"));
        queue.end();
    }
}

/// Ends the queue with the thread, also when that dies of a panic.
struct End<'a>(&'a Queue);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn run(queue: &Queue, appender: &Appender) {
    // Events that could not be written, and have not been told of.
    let mut missed = 0;
    let mut is_told = false;
    let mut events = Vec::new();
    while let Some(lost) = queue.take(&mut events) {
        let count = events.len() as u64;
        missed += lost;
        if missed > 0 {
            let text = format!("{missed} events before this one were lost");
            events.push(Event { count: Some(missed), ..Event::new(Kind::LogLost, Outcome::Failure).because(&text) });
        }
        match appender.append(&events) {
            Ok(()) => missed = 0,
            Err(error) => {
                missed += count;
                if !is_told {
                    let folder = appender.folder.path().display();
                    log::warn(&format!(
                        "the audit log in `{folder}` cannot be written, and evokore goes on without: {error}"
                    ));
                    is_told = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::event::Stamp;
    use crate::audit::folder::Folder;
    use crate::audit::read::{Filter, read};
    use crate::audit::verify::verify;
    use crate::state::approvals::scratch;

    const LONG: Duration = Duration::from_secs(20);

    fn appender(folder: &Folder) -> Appender {
        let stamp = Stamp { run: "r".to_owned(), settings: None };
        Appender { folder: folder.clone(), stamp, max_file: 100 << 20, keep: 1 }
    }

    #[test]
    fn what_finds_no_room_is_counted_in_the_log() {
        let root = scratch("audit-full");
        let folder = Folder::below(&root);
        let queue = Arc::<Queue>::default();
        let event = || Event::new(Kind::Call, Outcome::Allowed);
        for _ in 0..MAX_WAITING + 7 {
            queue.push(event());
        }
        start(queue.clone(), appender(&folder));
        queue.close(LONG);
        let report = verify(&folder, None).expect("read");
        assert_eq!((report.fault, report.lines), (None, MAX_WAITING as u64 + 1));
        let last = read(&folder, &Filter { limit: 1, ..Filter::default() }).expect("read").remove(0);
        assert_eq!(
            (last.event.as_str(), last.reason.as_deref()),
            ("log_lost", Some("7 events before this one were lost"))
        );
        std::fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn an_end_joins_its_beginning_while_that_waits() {
        let queue = Queue::default();
        let mut events = Vec::new();
        let ended = Ended { outcome: Outcome::Failure, ms: Some(3), reason: Some("why") };
        for _ in 0..2 {
            let push = || queue.push(Event::new(Kind::Call, Outcome::Allowed)).expect("room");
            let (first, second) = (push(), push());
            assert!(queue.end_of(second, ended));
            assert_eq!(queue.take(&mut events), Some(0));
            let ends: Vec<_> = events.iter().map(|event| (event.end, event.ms, event.reason.as_deref())).collect();
            assert_eq!(ends, [(None, None, None), (Some(Outcome::Failure), Some(3), Some("why"))]);
            assert!(!queue.end_of(first, ended), "it waits no longer");
        }
    }

    #[test]
    fn large_arguments_do_not_pile_up() {
        let queue = Queue::default();
        let large = bytes::Bytes::from(vec![b'1'; MAX_BYTES]);
        for _ in 0..3 {
            let arguments = Arguments::Given(large.clone());
            queue.push(Event { arguments, ..Event::new(Kind::Call, Outcome::Allowed) });
        }
        let mut events = Vec::new();
        let lost = queue.take(&mut events).expect("events");
        let left_out = events.iter().filter(|event| event.arguments == Arguments::LeftOut(MAX_BYTES)).count();
        assert_eq!((events.len(), left_out, lost), (3, 2, 0));
    }

    #[test]
    fn what_could_not_be_written_is_counted_once_it_can() {
        let root = scratch("audit-blocked");
        std::fs::create_dir_all(&root).expect("a folder");
        // A file is in the way of the folder.
        std::fs::write(root.join("audit"), "").expect("written");
        let folder = Folder::below(&root);
        let queue = Arc::<Queue>::default();
        start(queue.clone(), appender(&folder));
        let event = || Event::new(Kind::Call, Outcome::Allowed);
        queue.push(event());
        let end = std::time::Instant::now() + LONG;
        while !queue.lock().events.is_empty() {
            assert!(std::time::Instant::now() < end, "it is taken");
            std::thread::sleep(Duration::from_millis(2));
        }
        // It is taken, and may still be tried.
        std::fs::remove_file(root.join("audit")).expect("removed");
        queue.push(event());
        queue.close(LONG);
        let found = read(&folder, &Filter { limit: 9, ..Filter::default() }).expect("read");
        let lost: u64 = found.iter().filter(|entry| entry.event == "log_lost").count() as u64;
        let calls = found.iter().filter(|entry| entry.event == "call").count();
        assert!(calls == 2 && lost == 0 || calls == 1 && lost == 1, "{found:?}");
        assert_eq!(verify(&folder, None).expect("read").fault, None);
        std::fs::remove_dir_all(root).expect("removed");
    }
}
