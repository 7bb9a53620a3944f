//! The library of this moment, and the refresh that replaces it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use evokore_catalog::finding::Finding;
use evokore_catalog::search::{Scratch, Segment};

use super::disk;
use super::snapshot::{Compiled, Snapshot};

/// The skill library of a process.
#[derive(Debug)]
pub struct Library {
    compiled: Compiled,
    folder: Option<PathBuf>,
    current: Mutex<Arc<Snapshot>>,
    /// The compiled search segment, opened by the first search.
    index: OnceLock<Option<Segment>>,
    scratch: Mutex<Scratch>,
}

/// What a refresh did.
#[derive(Debug)]
pub struct Refreshed {
    /// How long it took.
    pub took: Duration,
    /// Skills that were not there before.
    pub added: usize,
    /// Skills of an earlier refresh that are gone.
    pub removed: usize,
    /// Skills that say something else now.
    pub changed: usize,
    /// Skills that say the same.
    pub unchanged: usize,
    /// Skills there are now.
    pub total: usize,
    /// Compiled skills that are not in the folder; they stay.
    pub only_compiled: usize,
    /// What is wrong in the folder.
    pub findings: Vec<Finding>,
}

impl Refreshed {
    /// Whether anything is different now.
    pub fn changes(&self) -> bool {
        self.added + self.removed + self.changed > 0
    }
}

/// Why there was no refresh.
#[derive(Debug)]
pub enum RefreshError {
    /// Nobody has said where the folder is.
    NoFolder,
    /// The folder cannot be read.
    Unreadable(PathBuf, io::Error),
    /// The reading task failed.
    Interrupted,
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefreshError::NoFolder => f.write_str(
                "there is no folder of skills to read, so the compiled ones stay as they are\n\
                 hint: set EVOKORE_CONFIG_DIR to the folder that holds `SKILLS`, or EVOKORE_MCP_CONFIG_PATH to a file beside it",
            ),
            RefreshError::Unreadable(folder, error) => {
                write!(f, "the folder `{}` cannot be read: {error}\nhint: make it, or correct EVOKORE_CONFIG_DIR", folder.display())
            }
            RefreshError::Interrupted => f.write_str("reading the folder of skills was interrupted"),
        }
    }
}

impl Library {
    /// The compiled library; a refresh reads `folder`. Nothing is read now.
    pub fn new(folder: Option<PathBuf>) -> Library {
        Library::with(Compiled::catalog(), folder)
    }

    pub(crate) fn with(compiled: Compiled, folder: Option<PathBuf>) -> Library {
        Library {
            compiled,
            folder,
            current: Mutex::new(Arc::new(Snapshot::compiled(compiled))),
            index: OnceLock::new(),
            scratch: Mutex::default(),
        }
    }

    /// The folder that a refresh reads.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_deref()
    }

    /// All skills of this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        lock(&self.current).clone()
    }

    /// Reads the folder and lays it over the compiled skills. The caller tells clients when something changed.
    ///
    /// # Errors
    /// There is no folder, or it cannot be read; the library stays as it is.
    pub async fn refresh(&self) -> Result<Refreshed, RefreshError> {
        let start = Instant::now();
        let folder = self.folder.clone().ok_or(RefreshError::NoFolder)?;
        let compiled = self.compiled;
        let read = move || {
            let mut library = disk::read(&folder).map_err(|error| RefreshError::Unreadable(folder, error))?;
            let findings = std::mem::take(&mut library.findings);
            let (snapshot, only_compiled) = Snapshot::overlaid(compiled, library);
            Ok((Arc::new(snapshot), only_compiled, findings))
        };
        let (new, only_compiled, findings) =
            tokio::task::spawn_blocking(read).await.map_err(|_| RefreshError::Interrupted)??;
        let old = std::mem::replace(&mut *lock(&self.current), new.clone());
        let (before, after) = (old.by_full_key(), new.by_full_key());
        let kept = after.iter().filter_map(|(key, skill)| Some((skill, before.get(key)?)));
        let unchanged = kept.clone().filter(|(new, old)| new.is_same(**old)).count();
        let kept = kept.count();
        Ok(Refreshed {
            took: start.elapsed(),
            added: after.len() - kept,
            removed: before.len() - kept,
            changed: kept - unchanged,
            unchanged,
            total: new.len(),
            only_compiled,
            findings,
        })
    }

    /// The compiled search segment; `None` when there is none that can be read.
    pub(super) fn compiled_index(&self) -> Option<&Segment> {
        self.index.get_or_init(|| Segment::new(self.compiled.index).ok()).as_ref()
    }

    pub(super) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        lock(&self.scratch)
    }
}

impl Default for Library {
    /// The compiled library, which cannot be refreshed.
    fn default() -> Library {
        Library::new(None)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these locks guard is replaced whole or rebuilt at each use, so a poisoned one is still good.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
