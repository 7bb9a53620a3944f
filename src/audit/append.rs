//! Writes events at the end of the log, under its lock: ties them to what stands there, whoever wrote it, makes room, and
//! says so when the end is not what it should be.

use std::fs::File;
use std::io::{self, Write as _};

use super::chain::{self, Link};
use super::event::{Event, Kind, Outcome, Stamp};
use super::folder::{End, Folder, Head};

/// Bytes of a file, after which the next one begins.
pub(super) const MAX_FILE: u64 = 5_000_000;
/// Old files that are kept.
pub(super) const KEEP: u32 = 3;

/// Who writes a log, and how much of it is kept.
#[derive(Debug)]
pub(super) struct Appender {
    pub(super) folder: Folder,
    pub(super) stamp: Stamp,
    pub(super) max_file: u64,
    pub(super) keep: u32,
}

/// The end of the log while it is locked.
struct Tail<'a> {
    of: &'a Appender,
    file: File,
    /// Bytes of the file.
    length: u64,
    last: Link,
    /// Number of the next line.
    next: u64,
    /// Number of the oldest line.
    first: u64,
    /// Lines that are yet to be written, with their ends.
    text: String,
}

impl Appender {
    /// Writes `events`.
    ///
    /// # Errors
    /// What the file system says; the events may be written in part.
    pub(super) fn append(&self, events: &[Event]) -> io::Result<()> {
        let _lock = self.folder.lock(true)?;
        let mut tail = self.tail()?;
        for event in events {
            tail.push(&self.stamp.body(event))?;
        }
        tail.finish()
    }

    /// Finds the end of the log, and notes what is wrong with it.
    fn tail(&self) -> io::Result<Tail<'_>> {
        let mut file = self.folder.open()?;
        let End { mut last, torn } = End::of(&mut file)?;
        for old in self.folder.files()?.into_iter().rev().filter(|old| *old > 0) {
            if last.is_some() {
                break;
            }
            last = End::of(&mut File::open(self.folder.file(old))?)?.last;
        }
        let (head, is_damaged) = match self.folder.head() {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => (None, true),
            head => (head?, false),
        };
        let fault = match (last, head) {
            (None, None) if !is_damaged => {
                // From now on whatever is there has a head, so one that is missing was taken away.
                self.folder.set_head(Head { last: Link::default(), first: 1 })?;
                None
            }
            (_, None) if is_damaged => Some("`head` is damaged".to_owned()),
            (_, None) => Some("`head` is missing".to_owned()),
            (None, Some(head)) if head.last.seq > 0 => Some(format!("all lines to {} are missing", head.last.seq)),
            (None, Some(_)) => None,
            (Some(Err(_)), Some(_)) => Some("the last line is none of evokore's".to_owned()),
            (Some(Ok(link)), Some(head)) if head.last.seq > link.seq => {
                Some(format!("the end is missing, to line {}", head.last.seq))
            }
            (Some(Ok(link)), Some(head)) if head.last.seq == link.seq && head.last != link => {
                Some(format!("line {} is not the one that was written", link.seq))
            }
            (Some(Ok(_)), Some(_)) => None,
        };
        let last = match last {
            None => Link::default(),
            Some(Ok(link)) => link,
            Some(Err(hash)) => Link { seq: 0, hash },
        };
        let next = last.seq.max(head.map_or(0, |head| head.last.seq)).saturating_add(1);
        let first = match head {
            Some(head) => head.first,
            None => self.folder.files()?.first().and_then(|old| self.folder.first_of(*old)).unwrap_or(next),
        };
        let length = file.metadata()?.len();
        let mut tail = Tail { of: self, file, length, last, next, first, text: String::new() };
        if !torn.is_empty() {
            tail.text.push('\n');
            tail.push(&self.stamp.torn(&torn))?;
        }
        if let Some(fault) = fault {
            tail.push(&self.stamp.body(&Event::new(Kind::LogBroken, Outcome::Failure).because(&fault)))?;
        }
        Ok(tail)
    }
}

impl Tail<'_> {
    fn push(&mut self, body: &str) -> io::Result<()> {
        let (line, link) = chain::line(self.last, self.next, body);
        let length = self.length + self.text.len() as u64;
        if length > 0 && length + line.len() as u64 >= self.of.max_file {
            self.finish()?;
            self.rotate()?;
        }
        self.text.push_str(&line);
        self.text.push('\n');
        (self.last, self.next) = (link, self.next + 1);
        Ok(())
    }

    /// Writes what waits, then the head: what the head names has been written.
    fn finish(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.write_all(self.text.as_bytes()) {
            // Half a line would be told as the end of a process.
            let _ = self.file.set_len(self.length);
            return Err(error);
        }
        self.length += self.text.len() as u64;
        self.text.clear();
        self.of.folder.set_head(Head { last: self.last, first: self.first })
    }

    /// Begins a new file. The oldest one leaves, after the head has said so.
    fn rotate(&mut self) -> io::Result<()> {
        let (folder, keep) = (&self.of.folder, self.of.keep);
        let files = folder.files()?;
        let kept = files.iter().copied().find(|old| *old < keep);
        if let Some(first) = kept.and_then(|old| folder.first_of(old)).filter(|first| *first > self.first) {
            self.first = first;
            folder.set_head(Head { last: self.last, first })?;
        }
        for old in files {
            if old >= keep {
                std::fs::remove_file(folder.file(old))?;
            } else {
                std::fs::rename(folder.file(old), folder.file(old + 1))?;
            }
        }
        self.file = folder.open()?;
        self.length = 0;
        Ok(())
    }
}
