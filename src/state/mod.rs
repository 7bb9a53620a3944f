//! What evokore keeps on disk, all below one folder (`EVOKORE_HOME`, default `~/.evokore`): folders 0700, files 0600,
//! every file written whole or not at all.

pub mod approvals;
pub mod eras;
pub mod grants;
pub mod preview;
pub mod tokens;

use std::io;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The state folder for `lookup`'s environment: `EVOKORE_HOME`, else `.evokore` in the home folder.
pub fn home(lookup: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
    get(crate::env_vars::HOME)
        .map(PathBuf::from)
        .or_else(|| get("HOME").or_else(|| get("USERPROFILE")).map(|home| PathBuf::from(home).join(".evokore")))
}

/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 4096;
/// A file that is older and not finished is left by a process that has ended.
const UNFINISHED: Duration = Duration::from_secs(60);
/// Bytes of a file that is read.
const MAX_BYTES: u64 = 64 << 10;

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
        let value = is_ours.then(|| read_small(&path).ok())??;
        Some((id, serde_json::from_slice(&value).ok()?))
    };
    Ok(entries.take(MAX_ENTRIES).filter_map(|entry| read(entry.ok()?.path())).collect())
}

/// What `path` holds: a file of at most 64 KiB, and not what a link leads to. Our own are far smaller; anything else, such
/// as a pipe that would never end, is none of them.
///
/// # Errors
/// What the file system says, or that it is no such file.
fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let about = std::fs::symlink_metadata(path)?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut content = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

/// Whether there may be anything for [`sweep_left`] below `home`.
pub fn has_left(home: &Path) -> bool {
    approvals::Requests::folder(home).exists() || grants::Records::folder(home).exists()
}

/// Refuses a folder in which others can write: their word is not that of the person whose folder it is.
///
/// # Errors
/// They can, or the file system does not say.
fn check_private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let about = std::fs::metadata(folder)?;
        let is_own = about.uid() == rustix::process::geteuid().as_raw();
        if !is_own || about.mode() & 0o022 != 0 {
            return Err(io::Error::other("others can write there; make it your own, with `chmod 700`"));
        }
    }
    Ok(())
}

/// Removes what processes that are gone have left among the requests and standing approvals below `home`. Bounded; for
/// the start of a process that serves, off its way.
pub fn sweep_left(home: &Path) {
    approvals::sweep(&approvals::Requests::folder(home));
    grants::sweep(&grants::Records::folder(home));
}

/// Removes the files in `folder` that `is_left` says yes to, by their names, and those that a process which is gone has
/// not finished (`.<name>.<pid>.tmp`).
fn sweep(folder: &Path, is_left: impl Fn(&str) -> Option<bool>) {
    let unfinished = |name: &str| {
        let pid = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit('.').next()?;
        Some(!lives(pid.parse().ok()?))
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().take(MAX_ENTRIES).flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        // Nobody writes for so long, in whichever container.
        let is_old = || {
            entry.metadata().and_then(|it| it.modified()).is_ok_and(|it| it.elapsed().is_ok_and(|it| it > UNFINISHED))
        };
        if is_left(name).or_else(|| unfinished(name).map(|gone| gone && is_old())) == Some(true) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Which numbers of processes are meant: those of a container with the same home are others. `None` where that cannot be
/// told.
fn numbering() -> Option<String> {
    std::fs::read_link("/proc/self/ns/pid").ok()?.into_os_string().into_string().ok()
}

/// Whether the process `pid` of this `numbering` is there, that has written something at `since`. Of those of another
/// numbering that cannot be told, so they are for a week.
fn may_live(pid: u32, of: Option<&str>, since: u64) -> bool {
    const WEEK: u64 = 7 * 24 * 3600;
    match (of, numbering()) {
        (Some(of), Some(own)) if of != own => since.saturating_add(WEEK) > approvals::now(),
        _ => lives(pid),
    }
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
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Its name can be known before, so what lies there may be a link to something else.
        let no_links = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        options.mode(0o600).custom_flags(no_links);
    }
    let mut file = options.open(path)?;
    file.write_all(contents)?;
    file.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn processes_of_another_numbering_are_left_alone_for_a_week() {
        let (now, own) = (approvals::now(), numbering());
        let gone = i32::MAX.unsigned_abs();
        assert!(may_live(std::process::id(), own.as_deref(), 0) && !may_live(gone, own.as_deref(), now));
        assert!(!may_live(gone, None, now), "as written before there were containers to think of");
        if own.is_some() {
            assert!(may_live(gone, Some("pid:[1]"), now) && !may_live(gone, Some("pid:[1]"), now - 8 * 24 * 3600));
        }
    }

    #[test]
    fn links_are_neither_written_through_nor_read() {
        let folder = approvals::scratch("links");
        create_private_dir(&folder).unwrap();
        let other = folder.join("other");
        std::fs::write(&other, "mine").unwrap();
        let path = folder.join("0a.json");
        let temporary = folder.join(format!(".0a.json.{}.tmp", std::process::id()));
        std::os::unix::fs::symlink(&other, &temporary).unwrap();
        write_atomic(&path, b"{}").unwrap_err();
        assert_eq!(std::fs::read(&other).unwrap(), b"mine");
        write_atomic(&path, b"{}").unwrap();
        assert_eq!(read_small(&path).unwrap(), b"{}", "what was in the way is gone");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        read_small(&path).unwrap_err();
        write_atomic(&path, b"{}").unwrap();
        assert_eq!((std::fs::read(&other).unwrap(), read_small(&path).unwrap()), (b"mine".to_vec(), b"{}".to_vec()));
        std::fs::write(&other, vec![b' '; MAX_BYTES as usize + 1]).unwrap();
        read_small(&other).unwrap_err();
        std::fs::remove_dir_all(folder).unwrap();
    }
}
