//! What evokore keeps on disk, all below one folder (`EVOKORE_HOME`, default `~/.evokore`): folders 0700, files 0600,
//! every file written whole or not at all.

pub mod approvals;
pub mod eras;
pub mod grants;
pub mod preview;
pub mod tokens;

use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The state folder for `lookup`'s environment: `EVOKORE_HOME`, else `.evokore` in the home folder.
pub fn home(lookup: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
    get(crate::env_vars::HOME)
        .map(PathBuf::from)
        .or_else(|| get("HOME").or_else(|| get("USERPROFILE")).map(|home| PathBuf::from(home).join(".evokore")))
}

/// Creates `folder` and what is missing above it, private to the user.
///
/// # Errors
/// What the file system says.
pub fn create_private_dir(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes `path` atomically: a crash leaves the old or the new file. The folder must exist.
///
/// # Errors
/// What the file system says; the temporary file is removed then.
pub fn write_atomic(path: &Path, contents: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = write_private(&temporary, contents).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// The values of the files `<id>.json` in `folder`, each with its id. A file that is being replaced or is not ours is
/// passed over.
///
/// # Errors
/// The folder cannot be read.
fn read_all<T: serde::de::DeserializeOwned>(folder: &Path) -> io::Result<Vec<(String, T)>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let read = |path: PathBuf| {
        let id = path.file_stem()?.to_str()?.to_owned();
        let is_ours = path.extension()? == "json" && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = is_ours.then(|| std::fs::read(&path).ok())??;
        Some((id, serde_json::from_slice(&value).ok()?))
    };
    Ok(entries.filter_map(|entry| read(entry.ok()?.path())).collect())
}

/// Whether a process is there. Where that cannot be told, it is.
fn lives(pid: u32) -> bool {
    #[cfg(unix)]
    {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
    }
    #[cfg(not(unix))]
    {
        let _ = pid;
        true
    }
}

fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(contents)?;
    file.sync_all()
}
