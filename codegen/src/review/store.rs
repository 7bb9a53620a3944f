//! Writing `generated/` and comparing it with what it should be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use crate::build::write_if_changed;

/// Lines of a difference that are shown.
const SHOWN: usize = 8;

/// A file of `generated/` that is not what the inputs make of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Path below `generated/`.
    pub path: String,
    lines: Vec<String>,
    more: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generated/{}", self.path)?;
        for line in &self.lines {
            write!(f, "\n  {line}")?;
        }
        if self.more > 0 {
            write!(f, "\n  … and {} more lines", self.more)?;
        }
        Ok(())
    }
}

/// Writes `files` below `folder` where they differ, and removes what no longer belongs there. Returns the paths of the
/// files that changed.
///
/// # Errors
/// What the file system says.
pub fn write(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<Vec<String>> {
    let mut changed = Vec::new();
    for (path, text) in files {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        if write_if_changed(&file, text.as_bytes())? {
            changed.push(path.clone());
        }
    }
    for path in left_over(folder, files)? {
        fs::remove_file(folder.join(&path))?;
        changed.push(path);
    }
    Ok(changed)
}

/// What differs between `files` and what lies in `folder`.
///
/// # Errors
/// What the file system says.
pub fn compare(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<Vec<Difference>> {
    let mut differences = Vec::new();
    for (path, text) in files {
        let old = match fs::read_to_string(folder.join(path)) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        if old != *text {
            differences.push(difference(path, &old, text));
        }
    }
    for path in left_over(folder, files)? {
        differences.push(Difference { path, lines: vec!["no longer belongs there".to_owned()], more: 0 });
    }
    Ok(differences)
}

/// Files of `folder` and its `projections/` that are not among `files`. Locks are inputs and are left alone.
fn left_over(folder: &Path, files: &BTreeMap<String, String>) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for prefix in ["", "projections/"] {
        let entries = match fs::read_dir(folder.join(prefix)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let made_here = path.ends_with(".tsv") || path.ends_with(".json");
            if made_here && entry.file_type()?.is_file() && !files.contains_key(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The lines that only one side has, in order, the old ones first.
fn difference(path: &str, old: &str, new: &str) -> Difference {
    let only = |one: &str, other: &str, sign: char| {
        let other: BTreeSet<String> = other.lines().map(str::to_owned).collect();
        let lines = one.lines().filter(|line| !other.contains(*line)).map(|line| format!("{sign} {line}"));
        lines.collect::<Vec<_>>()
    };
    let mut removed = only(old, new, '-').into_iter();
    let mut added = only(new, old, '+').into_iter();
    let mut lines = Vec::new();
    loop {
        let pair = [removed.next(), added.next()];
        if pair.iter().all(Option::is_none) {
            break;
        }
        lines.extend(pair.into_iter().flatten());
    }
    if lines.is_empty() {
        lines.push("the same lines in another order".to_owned());
    }
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    Difference { path: path.to_owned(), lines, more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_short() {
        let new = (0..20).map(|n| format!("line {n}\n")).collect::<String>();
        let shown = difference("a.tsv", "line 0\nold\n", &new).to_string();
        assert_eq!(shown.lines().count(), 1 + SHOWN + 1);
        assert!(shown.starts_with("generated/a.tsv\n  - old\n  + line 1\n  + line 2\n"), "{shown}");
        assert!(shown.ends_with("… and 12 more lines"), "{shown}");
    }
}
