//! The `SKILLS` folder as a refresh reads it. Blocking; a refresh runs it beside the event loop.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use evokore_catalog::skill_library::{self, Entry, EntryKind, MAX_FILE, Tree};

/// Reads the library below `folder`.
///
/// # Errors
/// The folder is not there or cannot be listed.
pub(super) fn read(folder: &Path) -> io::Result<skill_library::Library> {
    fs::read_dir(folder)?;
    Ok(skill_library::read(&mut Disk(folder)))
}

struct Disk<'a>(&'a Path);

impl Tree for Disk<'_> {
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let entries = fs::read_dir(self.0.join(path)).map_err(|error| error.to_string())?;
        entries.map(|found| found.and_then(|found| entry(&found)).map_err(|error| error.to_string())).collect()
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        // The size was looked at before; the file may have grown since.
        File::open(self.0.join(path))
            .and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes))
            .map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}

fn entry(found: &fs::DirEntry) -> io::Result<Entry> {
    // Of a link this is the link's own kind.
    let metadata = found.metadata()?;
    let name = found.file_name();
    let kind = match (metadata.file_type(), name.to_str()) {
        (kind, _) if kind.is_symlink() => EntryKind::Link,
        (_, None) => EntryKind::Other,
        (kind, _) if kind.is_dir() => EntryKind::Folder,
        (kind, _) if kind.is_file() => EntryKind::File(metadata.len()),
        _ => EntryKind::Other,
    };
    Ok(Entry { name: name.to_string_lossy().into_owned(), kind })
}
