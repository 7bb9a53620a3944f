//! Reading and writing a client's file: whole or not at all, and never without a copy of what was there.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::error::Failure;

/// Larger files are no configurations.
const MAX_BYTES: u64 = 64 << 20;

/// A client's file as it was found.
#[derive(Debug)]
pub(crate) struct ClientFile {
    /// Where it really lies, symbolic links followed.
    path: PathBuf,
    /// Its bytes; `None` when there is no file.
    bytes: Option<Vec<u8>>,
    /// Its text, without the mark at its start.
    pub(crate) text: String,
    /// Whether it starts with a byte order mark.
    marked: bool,
}

impl ClientFile {
    /// Reads `path`, which need not exist.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub(crate) fn read(path: &Path) -> Result<ClientFile, Failure> {
        let cannot = |error: &io::Error| {
            Failure::usage(format!("cannot read `{}`: {error}", path.display()))
                .hint("use `--print` and paste the entry where the client looks for it")
        };
        let path = match fs::canonicalize(path) {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Writing would put a file in place of the link.
                if let Ok(target) = fs::read_link(path) {
                    let (link, target) = (path.display(), target.display());
                    return Err(Failure::usage(format!("`{link}` is a link to `{target}`, which does not exist"))
                        .hint("make that file, which may be empty, or remove the link"));
                }
                return Ok(ClientFile { path: path.to_path_buf(), bytes: None, text: String::new(), marked: false });
            }
            Err(error) => return Err(cannot(&error)),
        };
        let about = fs::metadata(&path).map_err(|error| cannot(&error))?;
        if !about.is_file() || about.len() > MAX_BYTES {
            let what = if about.is_dir() {
                "is a folder"
            } else if about.is_file() {
                "is too large for a configuration"
            } else {
                "is no file"
            };
            return Err(Failure::usage(format!("`{}` {what}", path.display()))
                .hint("use `--print` and paste the entry where the client looks for it"));
        }
        let bytes = fs::read(&path).map_err(|error| cannot(&error))?;
        let text = String::from_utf8(bytes.clone()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            Failure::usage(format!("{}:{line}: the file is not UTF-8 text", path.display()))
                .hint("save the file as UTF-8, then try again")
        })?;
        let (marked, text) = match text.strip_prefix('\u{feff}') {
            Some(text) => (true, text.to_owned()),
            None => (false, text),
        };
        Ok(ClientFile { path, bytes: Some(bytes), text, marked })
    }

    /// Puts `text` in place of what was read, after copying that to the path this gives back.
    ///
    /// # Errors
    /// The file has changed since it was read, or cannot be written; then it is as it was.
    pub(crate) fn replace(&self, text: &str) -> Result<Option<PathBuf>, Failure> {
        let cannot = |what: &Path| {
            let what = what.display().to_string();
            move |error: io::Error| Failure::runtime(format!("cannot write `{what}`: {error}"))
        };
        let now = match fs::read(&self.path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(cannot(&self.path)(error)),
        };
        if now != self.bytes {
            return Err(Failure::runtime(format!(
                "`{}` has just been changed by another program",
                self.path.display()
            ))
            .hint("close the client, then try again"));
        }
        let backup = match &self.bytes {
            None => {
                if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    fs::create_dir_all(folder).map_err(cannot(folder))?;
                }
                None
            }
            Some(_) => {
                let backup = with_ending(&self.path, ".bak");
                fs::copy(&self.path, &backup).map_err(cannot(&backup))?;
                Some(backup)
            }
        };
        let temporary = with_ending(&self.path, &format!(".{}.tmp", std::process::id()));
        let mark = if self.marked { "\u{feff}" } else { "" };
        let written = self.write(&temporary, &[mark, text]).and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(cannot(&self.path))?;
        Ok(backup)
    }

    /// Writes a file that nobody but its owner may read before it has the permissions of the original.
    fn write(&self, path: &Path, parts: &[&str]) -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, if self.bytes.is_some() { 0o600 } else { 0o644 });
        let mut file = options.open(path)?;
        if self.bytes.is_some() {
            file.set_permissions(fs::metadata(&self.path)?.permissions())?;
        }
        for part in parts {
            file.write_all(part.as_bytes())?;
        }
        file.sync_all()
    }

    /// Whether there is no such file yet.
    pub(crate) fn is_new(&self) -> bool {
        self.bytes.is_none()
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
