//! Whether a log is what was written: every line is tied to the one before it, and the last one to `head`.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::chain::{Hash, Link, MAX_LINE, Tie};
use super::event::Kind;
use super::folder::{Folder, Head};

/// What a log holds, as far as it is in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Files.
    pub files: usize,
    /// Lines.
    pub lines: u64,
    /// Number of the first line that is kept; 0 without any.
    pub first: u64,
    /// The last line.
    pub last: Link,
    /// Lines that were not finished because a process ended.
    pub torn: u64,
    /// What is wrong.
    pub fault: Option<Fault>,
}

/// The first place where a log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1; 0 if it is not about one.
    pub line: u64,
    /// What is wrong: lower case, no final stop.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { file, line, what } = self;
        match line {
            0 => write!(f, "{}: {what}", file.display()),
            line => write!(f, "{}:{line}: {what}", file.display()),
        }
    }
}

/// A line by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    file: PathBuf,
    line: u64,
}

/// Something that is no line of ours.
struct Odd {
    place: Place,
    hash: Hash,
    /// It has a line end, so it was not left over at the end of the log.
    is_ended: bool,
}

/// A walk along the log.
struct Walk {
    report: Report,
    head: Option<Head>,
    /// The place of the last line.
    before: Option<Place>,
    /// Something that is no line of ours, which the next line must account for.
    odd: Option<Odd>,
    /// The line that `head` names.
    named: Option<Hash>,
    /// Whether somebody's noted digest has been met.
    sought: Option<Hash>,
}

/// Checks the log in `folder`; with `noted`, the digest of a line that somebody has noted, also that it is there.
///
/// # Errors
/// It cannot be read.
pub fn verify(folder: &Folder, noted: Option<Hash>) -> io::Result<Report> {
    let files = folder.files()?;
    // Whoever writes waits meanwhile. Without a lock nobody has written.
    let _lock = match folder.lock(false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        lock => Some(lock?),
    };
    let files = if files.is_empty() { files } else { folder.files()? };
    let at_head = |what: &str| Fault { file: folder.path().join("head"), line: 0, what: what.to_owned() };
    let (head, mut fault) = match folder.head() {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => (None, Some(at_head("it is damaged"))),
        Err(error) => return Err(error),
        Ok(None) if !files.is_empty() => (None, Some(at_head("it is missing, so nobody knows how the log ended"))),
        Ok(head) => (head, None),
    };
    let mut walk = Walk { report: Report::default(), head, before: None, odd: None, named: None, sought: noted };
    for old in files {
        let path = folder.file(old);
        walk.report.files += 1;
        if let Err(found) = walk.file(&path)? {
            walk.report.fault = Some(found);
            return Ok(walk.report);
        }
    }
    if let Err(found) = walk.end(&folder.file(0)) {
        fault = fault.or(Some(found));
    }
    walk.report.fault = fault;
    Ok(walk.report)
}

impl Walk {
    fn file(&mut self, path: &Path) -> io::Result<Result<(), Fault>> {
        let mut lines = BufReader::with_capacity(1 << 18, File::open(path)?);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let length = lines.by_ref().take(MAX_LINE as u64 * 2).read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            let place = Place { file: path.to_owned(), line: number };
            if let Err(fault) = self.line(place, &line) {
                return Ok(Err(fault));
            }
        }
        Ok(Ok(()))
    }

    fn line(&mut self, place: Place, line: &[u8]) -> Result<(), Fault> {
        let Some(text) = line.strip_suffix(b"\n") else {
            // Only the last line of all may be without its end.
            return self.odd(Odd { place, hash: Hash::of(line), is_ended: false });
        };
        let Some(tie) = Tie::read(text) else {
            return self.odd(Odd { place, hash: Hash::of(text), is_ended: true });
        };
        if let Some(odd) = self.odd.take() {
            if tie.event != Kind::LogTorn.name() || tie.torn != Some(odd.hash.to_string()) {
                return Err(odd.fault());
            }
            self.report.torn += 1;
        }
        let link = Link { seq: tie.seq, hash: Hash::of(text) };
        self.follows(&place, &tie)?;
        if tie.event == Kind::LogBroken.name() {
            return Err(place.is(&format!(
                "when this was written, the log before it was not what it should be: {}",
                tie.reason.as_deref().unwrap_or_default()
            )));
        }
        if self.head.is_some_and(|head| head.last.seq == link.seq) {
            self.named = Some(link.hash);
        }
        if self.sought == Some(link.hash) {
            self.sought = None;
        }
        self.report.lines += 1;
        self.report.last = link;
        self.before = Some(place);
        Ok(())
    }

    fn odd(&mut self, odd: Odd) -> Result<(), Fault> {
        match self.odd.replace(odd) {
            None => Ok(()),
            Some(first) => Err(first.fault()),
        }
    }

    /// Whether a line follows the last one.
    fn follows(&mut self, place: &Place, tie: &Tie) -> Result<(), Fault> {
        let Some(before) = &self.before else {
            self.report.first = tie.seq;
            return match self.head {
                Some(head) if tie.seq > head.first => {
                    Err(place.is(&format!("the lines before it are missing, from line {} on", head.first)))
                }
                _ if tie.seq == 1 && tie.prev != Hash::default().to_string() => {
                    Err(place.is("it is the first line, and says that there was one before it"))
                }
                _ => Ok(()),
            };
        };
        let last = self.report.last;
        let is_tied = tie.prev == last.hash.to_string();
        if tie.event == Kind::LogBroken.name() && is_tied {
            return Ok(());
        }
        match (tie.seq.checked_sub(last.seq), is_tied) {
            (Some(1), true) => Ok(()),
            (Some(1), false) => {
                let fault = before.is("it was changed: the next line has the digest of another one");
                // The line before was counted when only its number was known to be right.
                self.report.lines -= 1;
                Err(fault)
            }
            (None | Some(0), _) => {
                Err(place.is(&format!("it is number {}, and stands after number {}", tie.seq, last.seq)))
            }
            (Some(2), _) => Err(place.is(&format!("the line before it is missing, number {}", last.seq + 1))),
            (Some(_), _) => {
                Err(place.is(&format!("the lines before it are missing, numbers {} to {}", last.seq + 1, tie.seq - 1)))
            }
        }
    }

    /// Whether the log ends as `head` says.
    fn end(&mut self, file: &Path) -> Result<(), Fault> {
        let last = self.report.last;
        let place = self.before.clone().unwrap_or_else(|| Place { file: file.to_owned(), line: 0 });
        match self.head {
            Some(head) if head.last.seq > last.seq => {
                let missing = match head.last.seq - last.seq {
                    1 => format!("line {} is missing", head.last.seq),
                    _ => format!("lines {} to {} are missing", last.seq + 1, head.last.seq),
                };
                return Err(place.is(&format!("{missing} after it: the end was cut off")));
            }
            Some(head)
                if head.last.seq > 0 && self.named != Some(head.last.hash) && head.last.seq >= self.report.first =>
            {
                let what = format!("line number {} was changed: it is not the one that `head` names", head.last.seq);
                let line = if head.last.seq == last.seq { place.line } else { 0 };
                self.report.lines -= 1;
                return Err(Place { line, ..place }.is(&what));
            }
            _ => {}
        }
        match self.odd.take() {
            Some(odd) if odd.is_ended => return Err(odd.fault()),
            // The next line that is written will say so.
            Some(_) => self.report.torn += 1,
            None => {}
        }
        match self.sought {
            None => Ok(()),
            Some(_) => Err(Place { file: file.to_owned(), line: 0 }.is("no line has the digest that was noted")),
        }
    }
}

impl Odd {
    fn fault(&self) -> Fault {
        self.place.is("it is no line of the log: it was changed, or put there")
    }
}

impl Place {
    fn is(&self, what: &str) -> Fault {
        Fault { file: self.file.clone(), line: self.line, what: what.to_owned() }
    }
}

#[cfg(test)]
mod tests;
