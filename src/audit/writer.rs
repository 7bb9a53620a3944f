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
/// The writer waits so long for more after the first event, so that many cost one write.
const LINGER: Duration = Duration::from_millis(20);

/// Events that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Tells the writer of the first event, of many, and of the end.
    filled: Condvar,
    /// Tells whoever closes that everything is written.
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    bytes: usize,
    /// Events that are not among them, and have not been told of.
    lost: u64,
    is_closing: bool,
    is_done: bool,
}

impl Queue {
    /// Takes an event, if there is room.
    pub(super) fn push(&self, mut event: Event) {
        let mut state = self.lock();
        if state.is_closing || state.events.len() >= MAX_WAITING {
            state.lost += 1;
            return;
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
    }

    /// Has everything written that waits; gives up after `patience`.
    pub(super) fn close(&self, patience: Duration) {
        let mut state = self.lock();
        state.is_closing = true;
        self.filled.notify_one();
        let _ = self.done.wait_timeout_while(state, patience, |state| !state.is_done);
    }

    /// Nothing is written any more.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        (state.is_closing, state.is_done) = (true, true);
        state.events.clear();
        self.done.notify_all();
    }

    /// The events that wait, and how many were lost; `None` once it is closed and empty.
    fn take(&self) -> Option<(Vec<Event>, u64)> {
        let is_empty = |state: &mut State| state.events.is_empty() && !state.is_closing;
        let state = self.filled.wait_while(self.lock(), is_empty).unwrap_or_else(PoisonError::into_inner);
        let few = |state: &mut State| state.events.len() < MANY && !state.is_closing;
        let (mut state, _) = self.filled.wait_timeout_while(state, LINGER, few).unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        let (events, lost) = (std::mem::take(&mut state.events), std::mem::take(&mut state.lost));
        (!events.is_empty() || lost > 0).then_some((events, lost))
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
    while let Some((mut events, lost)) = queue.take() {
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
        (0..MAX_WAITING + 7).for_each(|_| queue.push(event()));
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
    fn large_arguments_do_not_pile_up() {
        let queue = Queue::default();
        let large = bytes::Bytes::from(vec![b'1'; MAX_BYTES]);
        for _ in 0..3 {
            let arguments = Arguments::Given(large.clone());
            queue.push(Event { arguments, ..Event::new(Kind::Call, Outcome::Allowed) });
        }
        let (events, lost) = queue.take().expect("events");
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
