//! The log's folder: `audit.jsonl`, which is written, `audit.1.jsonl` and on, which are older, `head`, which says how the
//! log ends, and `lock`, which whoever writes or checks it holds.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::chain::{Hash, Link, MAX_LINE, Tie};
use crate::state::create_private_dir;

/// Most old files that are looked for.
const MOST_OLD: u32 = 1000;
/// How long the lock is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries to get it.
const PAUSE: Duration = Duration::from_millis(2);
/// Bytes of the file `head`.
const HEAD: usize = 20 + 1 + 64 + 1 + 20 + 1;

/// Where a log lies.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// What `head` says: how the log ends, and where it begins. It is written after the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// The last line.
    pub(super) last: Link,
    /// Number of the oldest line that is kept.
    pub(super) first: u64,
}

/// How a file of the log ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct End {
    /// The last whole line; in place of one that is none of ours its digest.
    pub(super) last: Option<Result<Link, Hash>>,
    /// What is left of a line that was not finished.
    pub(super) torn: Vec<u8>,
}

impl Folder {
    /// The log below the state folder `home`.
    pub fn below(home: &Path) -> Folder {
        Folder { path: home.join("audit") }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file number `old`; 0 is the one that is written.
    pub(super) fn file(&self, old: u32) -> PathBuf {
        self.path.join(if old == 0 { "audit.jsonl".to_owned() } else { format!("audit.{old}.jsonl") })
    }

    /// Waits for the lock, alone or with others that only read; for [`PATIENCE`] at most. It is given back with the file.
    ///
    /// # Errors
    /// What the file system says; `TimedOut` if somebody else keeps it.
    pub(super) fn lock(&self, alone: bool) -> io::Result<File> {
        self.lock_within(alone, PATIENCE)
    }

    fn lock_within(&self, alone: bool, patience: Duration) -> io::Result<File> {
        let path = self.path.join("lock");
        let lock = if alone {
            create_private_dir(&self.path)?;
            private(OpenOptions::new().write(true).create(true).truncate(false)).open(&path)?
        } else {
            File::open(&path)?
        };
        let end = Instant::now() + patience;
        loop {
            let tried = if alone { lock.try_lock() } else { lock.try_lock_shared() };
            match tried {
                Ok(()) => return Ok(lock),
                Err(TryLockError::Error(error)) => return Err(error),
                // There is no lock with a time limit. Whoever holds it writes some milliseconds long.
                Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let text = format!("another process keeps `{}` locked", path.display());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
            }
        }
    }

    /// Tries whether the log can be written, and leaves nothing behind that a write would not.
    ///
    /// # Errors
    /// What the file system says.
    pub fn try_out(&self) -> io::Result<()> {
        let _lock = self.lock(true)?;
        self.open()?;
        self.head().map(|_| ())
    }

    /// The numbers of the files that there are, the oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn files(&self) -> io::Result<Vec<u32>> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_prefix("audit.")) else { continue };
            let old = name.strip_suffix(".jsonl").and_then(|old| old.parse().ok()).filter(|old| *old <= MOST_OLD);
            files.extend(if name == "jsonl" { Some(0) } else { old.filter(|old| *old > 0) });
        }
        files.sort_unstable_by(|a, b| b.cmp(a));
        files.dedup();
        Ok(files)
    }

    /// Opens the file that is written, and makes it if there is none.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn open(&self) -> io::Result<File> {
        private(OpenOptions::new().read(true).append(true).create(true)).open(self.file(0))
    }

    /// What `head` says; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, or is not as it is written (`InvalidData`).
    pub(super) fn head(&self) -> io::Result<Option<Head>> {
        match std::fs::read(self.path.join("head")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(bytes) => Head::read(&bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()),
        }
    }

    /// Writes `head`, in its place and in one go: it always has the same length.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn set_head(&self, head: Head) -> io::Result<()> {
        let options = &mut OpenOptions::new();
        let mut file = private(options.write(true).create(true).truncate(false)).open(self.path.join("head"))?;
        file.write_all(head.to_string().as_bytes())?;
        file.set_len(HEAD as u64)
    }

    /// Number of the first line of file `old`, if that is one of ours.
    pub(super) fn first_of(&self, old: u32) -> Option<u64> {
        let mut start = Vec::new();
        File::open(self.file(old)).ok()?.take(MAX_LINE as u64).read_to_end(&mut start).ok()?;
        let end = memchr::memchr(b'\n', &start)?;
        Tie::read(&start[..end]).map(|tie| tie.seq)
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Head> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() == HEAD)?.strip_suffix('\n')?;
        let mut parts = text.split(' ');
        let (seq, hash, first) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Head { last: Link { seq: seq.parse().ok()?, hash: Hash::read(hash)? }, first: first.parse().ok()? })
    }
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:020} {} {:020}", self.last.seq, self.last.hash, self.first)
    }
}

impl End {
    /// How `file` ends.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn of(file: &mut File) -> io::Result<End> {
        let length = file.metadata()?.len();
        // Room for the last line and what is left of one after it.
        let start = length.saturating_sub(2 * MAX_LINE as u64);
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.take(2 * MAX_LINE as u64).read_to_end(&mut end)?;
        Ok(End::of_bytes(&end, start == 0))
    }

    /// How a file ends whose last bytes are `end`, which are all of it if `is_whole`.
    fn of_bytes(end: &[u8], is_whole: bool) -> End {
        let whole = memchr::memrchr(b'\n', end).map_or(0, |at| at + 1);
        let torn = end[whole..].to_vec();
        let Some(lines) = end[..whole].strip_suffix(b"\n") else {
            // Nothing that is so long was written by us.
            let last = if is_whole { None } else { Some(Err(Hash::of(end))) };
            return End { last, torn };
        };
        let line = memchr::memrchr(b'\n', lines).map_or(lines, |at| &lines[at + 1..]);
        let hash = Hash::of(line);
        End { last: Some(Tie::read(line).map(|tie| Link { seq: tie.seq, hash }).ok_or(hash)), torn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::chain::line;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        let head = Head { last: Link { seq: 7, hash: Hash::of(b"x") }, first: 3 };
        let text = head.to_string();
        assert_eq!((text.len(), Head::read(text.as_bytes())), (HEAD, Some(head)));
        assert_eq!(Head::read(&text.as_bytes()[..HEAD - 1]), None);
        assert_eq!(Head::read(b""), None);
    }

    #[test]
    fn whoever_keeps_the_lock_is_not_waited_for_without_end() {
        let root = crate::state::approvals::scratch("audit-kept");
        let folder = Folder::below(&root);
        let kept = folder.lock(true).expect("locked");
        let error = folder.lock_within(true, Duration::from_millis(10)).expect_err("kept");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("audit/lock` locked"), "{error}");
        drop(kept);
        let _reader = folder.lock(false).expect("free");
        folder.lock(false).expect("readers do not wait for each other");
        std::fs::remove_dir_all(root).expect("removed");
    }

    #[test]
    fn ends() {
        let (text, link) = line(Link::default(), 1, r#""event":"call""#);
        let of = |text: &str| End::of_bytes(text.as_bytes(), true);
        let end = |last, torn: &str| End { last, torn: torn.as_bytes().to_vec() };
        assert_eq!(of(""), End::default());
        assert_eq!(of(&format!("{text}\n")), end(Some(Ok(link)), ""));
        assert_eq!(of(&format!("x\n{text}\n{{\"seq")), end(Some(Ok(link)), "{\"seq"));
        assert_eq!(of("{\"seq"), end(None, "{\"seq"));
        assert_eq!(of(&format!("{text}\nx\n")), end(Some(Err(Hash::of(b"x"))), ""));
    }
}
