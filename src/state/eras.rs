//! Child servers that speak nothing but 2026-07-28, remembered from start to start in `eras.json`, so that none is asked
//! again for a handshake that it does not know. Whoever shakes hands is not in it: that is tried first anyway.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tokens::now;
use super::{create_private_dir, write_atomic};

/// Of the file's form.
const VERSION: u32 = 1;
/// Servers that are remembered; of more, those noted last.
const MOST: usize = 256;
/// Bytes of a file that is read; a larger one is not ours.
const MAX_BYTES: u64 = 64 << 10;

/// The servers, and when each was noted (seconds since 1970). A server's key says how it is started or reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Eras(BTreeMap<String, u64>);

#[derive(Serialize, Deserialize)]
struct File<T> {
    version: u32,
    modern: T,
}

impl Eras {
    /// Whether the server of this key is known to speak 2026-07-28.
    pub fn is_modern(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Notes how a server speaks.
    pub fn note(&mut self, key: &str, is_modern: bool) {
        if !is_modern {
            self.0.remove(key);
            return;
        }
        self.0.insert(key.to_owned(), now());
        while self.0.len() > MOST {
            let oldest = self.0.iter().min_by_key(|(known, at)| (*known == key, **at)).map(|(key, _)| key.clone());
            oldest.map(|oldest| self.0.remove(&oldest));
        }
    }
}

/// The file below the state folder `home`.
pub fn path(home: &Path) -> PathBuf {
    home.join("eras.json")
}

/// What `path` holds; nothing if there is none.
///
/// # Errors
/// It cannot be read, or is of another version, which is left alone (`Unsupported`); or it is not as we write it
/// (`InvalidData`), and then it is out of the way at the path that the error names.
pub fn read(path: &Path) -> io::Result<Eras> {
    let size = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Eras::default()),
        about => about?.len(),
    };
    let text = if size > MAX_BYTES { Vec::new() } else { std::fs::read(path)? };
    let version = serde_json::from_slice::<File<serde::de::IgnoredAny>>(&text).map(|file| file.version);
    match (version, serde_json::from_slice::<File<BTreeMap<String, u64>>>(&text)) {
        (Ok(VERSION), Ok(file)) => Ok(Eras(file.modern)),
        (Ok(version), _) if version != VERSION => {
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("it is of version {version}")))
        }
        _ => {
            let aside = path.with_extension("json.bad");
            std::fs::rename(path, &aside)?;
            let what = format!("it is not as evokore writes it, and lies at `{}` now", aside.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, what))
        }
    }
}

/// Notes in `path` how the server of this key speaks, if it does not say so already.
///
/// # Errors
/// As for [`read`], and what the file system says.
pub fn note(path: &Path, key: &str, is_modern: bool) -> io::Result<()> {
    let mut eras = read(path)?;
    if eras.is_modern(key) == is_modern {
        return Ok(());
    }
    eras.note(key, is_modern);
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    write_atomic(path, &serde_json::to_vec_pretty(&File { version: VERSION, modern: eras.0 })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::approvals::scratch;

    #[test]
    fn is_kept_and_bounded() {
        let folder = scratch("eras");
        let path = path(&folder);
        note(&path, "a", false).expect("nothing to write");
        assert!(!path.exists(), "what is tried first anyway is not written");
        note(&path, "a", true).expect("written");
        note(&path, "b", true).expect("written");
        note(&path, "a", false).expect("written");
        let mut eras = read(&path).expect("read");
        assert!(eras.is_modern("b") && !eras.is_modern("a"), "{eras:?}");
        // In the alphabet the newest stands before all others.
        (0..MOST + 5).for_each(|n| eras.note(&format!("s{n}"), true));
        eras.note("a", true);
        assert!(eras.0.len() == MOST && eras.is_modern("a"), "{eras:?}");
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_is_not_ours_is_set_aside_or_left_alone() {
        let folder = scratch("eras-odd");
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = path(&folder);
        let large = format!(r#"{{"version":1,"modern":{{"{}":1}}}}"#, "x".repeat(70_000));
        for text in ["", "{", "[]", r#"{"version":1}"#, r#"{"version":1,"modern":{"a":"b"}}"#, &large] {
            std::fs::write(&path, text).expect("written");
            assert_eq!(read(&path).expect_err("not ours").kind(), io::ErrorKind::InvalidData, "{text:.40}");
            assert_eq!(std::fs::read_to_string(folder.join("eras.json.bad")).expect("set aside"), text);
            assert_eq!(read(&path).expect("nothing"), Eras::default());
        }
        let text = r#"{"version":2,"modern":["new"]}"#;
        std::fs::write(&path, text).expect("written");
        assert_eq!(note(&path, "a", true).expect_err("newer").kind(), io::ErrorKind::Unsupported);
        assert_eq!(std::fs::read_to_string(&path).expect("left"), text);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
