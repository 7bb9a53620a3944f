//! Standing approvals on disk, so that a person in another terminal sees them and can take them back.
//!
//! `grants/<id>.json` is the record of one, written by the process that has it. Without its record a grant is worth
//! nothing; a record without a grant is worth nothing either.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::approvals::{blocking, masked, now};
use super::{create_private_dir, write_atomic};

/// How far a standing approval goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Scope {
    /// The same tool with the same arguments
    Arguments,
    /// The tool with any arguments
    Tool,
}

impl Scope {
    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Arguments => "arguments",
            Scope::Tool => "tool",
        }
    }

    /// What a grant of this scope is for.
    pub fn for_the_session(self) -> &'static str {
        match self {
            Scope::Arguments => "with these arguments, until the session ends",
            Scope::Tool => "with any arguments, until the session ends",
        }
    }
}

/// A standing approval as a person sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Eight hexadecimal digits.
    pub id: String,
    /// Exposed name of the tool.
    pub tool: String,
    /// The arguments that it is for, secrets masked, cut to a readable length; `None`: any.
    pub arguments: Option<String>,
    /// The role under which it was given.
    pub role: Option<String>,
    /// Seconds since 1970.
    #[serde(rename = "createdAt")]
    pub created_at: u64,
    /// The process that has it.
    pub pid: u32,
    /// Which numbering of processes that is of, see `numbering`.
    #[serde(rename = "pidSpace", default, skip_serializing_if = "Option::is_none")]
    pub pid_space: Option<String>,
}

impl Record {
    /// One that is given now.
    pub fn new(id: &str, tool: &str, arguments: Option<&str>, role: Option<&str>) -> Record {
        Record {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.map(masked),
            role: role.map(str::to_owned),
            created_at: now(),
            pid: std::process::id(),
            pid_space: super::numbering(),
        }
    }
}

/// The records of one serving process.
#[derive(Debug, Clone)]
pub struct Records {
    folder: Option<PathBuf>,
}

impl Records {
    /// Keeps records in `folder`; without one there are none.
    pub fn at(folder: Option<PathBuf>) -> Records {
        Records { folder }
    }

    /// The folder below the state folder `home`.
    pub fn folder(home: &Path) -> PathBuf {
        home.join("grants")
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Why it could not be written, for a person.
    pub async fn add(&self, record: Record) -> Result<(), String> {
        let folder = self.folder.clone().ok_or("there is no home folder; set EVOKORE_HOME")?;
        blocking(move || {
            let json = serde_json::to_vec_pretty(&record).map_err(|error| error.to_string())?;
            create_private_dir(&folder)
                .and_then(|()| super::check_private(&folder))
                .and_then(|()| write_atomic(&path(&folder, &record.id), &json))
                .map_err(|error| format!("{}: {error}", folder.display()))
        })
        .await
        .unwrap_or_else(|| Err("the process is ending".to_owned()))
    }

    /// Whether the record is still there.
    pub async fn is_there(&self, id: &str) -> bool {
        let Some(path) = self.folder.as_ref().map(|folder| path(folder, id)) else { return false };
        blocking(move || path.is_file()).await.unwrap_or(false)
    }

    /// Removes a record.
    pub async fn remove(&self, id: &str) {
        if let Some(path) = self.folder.as_ref().map(|folder| path(folder, id)) {
            // Whether it was still there does not matter.
            blocking(move || drop(std::fs::remove_file(path))).await;
        }
    }
}

/// The standing approvals in `folder`, oldest first; those of processes that are gone are removed.
///
/// # Errors
/// The folder cannot be read.
pub fn list(folder: &Path) -> std::io::Result<Vec<Record>> {
    let mut records = Vec::new();
    for (id, record) in super::read_all::<Record>(folder)? {
        if record.id == id && super::may_live(record.pid, record.pid_space.as_deref(), record.created_at) {
            records.push(record);
        } else {
            let _ = std::fs::remove_file(path(folder, &id));
        }
    }
    records.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(records)
}

/// Takes back the one whose id starts with `prefix` (at least four digits).
///
/// # Errors
/// No such standing approval, more than one, or the record cannot be removed.
pub fn revoke(folder: &Path, prefix: &str) -> Result<Record, String> {
    let known = list(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let record = super::approvals::one_of(known, prefix, |record| &record.id, "standing approval")?;
    let path = path(folder, &record.id);
    std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(record)
}

/// Removes what processes that are gone have left in `folder`.
pub(super) fn sweep(folder: &Path) {
    // Removes theirs.
    let _ = list(folder);
    super::sweep(folder, |_| None);
}

fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}
