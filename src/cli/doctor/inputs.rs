//! Whether the files on disk are the ones that were compiled.

use std::fs;
use std::path::{Path, PathBuf};

use evokore_catalog::canonical::hex;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::report::{Finding, Weight};
use crate::catalog::CATALOG;
use crate::config_dir;
use crate::env_vars;

const ABOUT: &str = "inputs";

/// Most files named in one finding.
const NAMED: usize = 5;

/// Skill folders deeper than this are not looked into.
const MAX_DEPTH: usize = 10;

/// What has become of the compiled inputs on disk.
#[derive(Debug, Serialize)]
pub(super) struct Differences {
    /// Where they lie.
    folder: PathBuf,
    /// Files that are as they were compiled.
    same: usize,
    changed: Vec<String>,
    gone: Vec<String>,
    new: Vec<String>,
}

/// Compares every compiled input with its file.
///
/// # Errors
/// There is nothing to compare with: the finding that says so.
pub(super) fn compare() -> Result<Differences, Finding> {
    // Reading a folder is harmless, so here the working directory will do as well.
    let here = || Some(Path::new(".")).filter(|here| here.join(config_dir::CONFIG).is_file());
    let Some(folder) = config_dir::find().or_else(here) else {
        let text = "there is no configuration folder here to compare the binary with";
        return Err(Finding::new(ABOUT, Weight::Note, text).hint(format!("name it in `{}`", env_vars::CONFIG_DIR)));
    };
    if !folder.is_dir() {
        return Err(Finding::new(ABOUT, Weight::Problem, format!("there is no folder `{}`", folder.display()))
            .hint(format!("`{}` names it", env_vars::CONFIG_DIR)));
    }
    let (changed, gone, new) = (Vec::new(), Vec::new(), new_files(folder));
    let mut found = Differences { folder: folder.to_path_buf(), same: 0, changed, gone, new };
    for (path, sha256) in CATALOG.inputs {
        let file = if *path == config_dir::CONFIG { config_dir::config_file(folder) } else { folder.join(path) };
        // Native definitions belong to the sources, which lie beside the configuration only in the repository.
        if path.starts_with("src/") && !folder.join("src").is_dir() {
            continue;
        }
        match fs::read(&file) {
            Ok(bytes) if digest(&bytes) == *sha256 => found.same += 1,
            Ok(_) => found.changed.push((*path).to_owned()),
            Err(_) => found.gone.push((*path).to_owned()),
        }
    }
    Ok(found)
}

/// What was compared, in words.
pub(super) fn finding(compared: &Result<Differences, Finding>) -> Finding {
    let found = match compared {
        Ok(found) => found,
        Err(finding) => return finding.clone(),
    };
    let shown = found.folder.display();
    let parts = [("changed", &found.changed), ("gone", &found.gone), ("new", &found.new)];
    let told: Vec<String> =
        parts.iter().filter(|(_, paths)| !paths.is_empty()).map(|(what, paths)| told(what, paths)).collect();
    if told.is_empty() {
        return Finding::new(ABOUT, Weight::Ok, format!("{} files in `{shown}` are as they were compiled", found.same));
    }
    Finding::new(ABOUT, Weight::Problem, format!("`{shown}` is not what was compiled: {}", told.join("; ")))
        .hint("build this executable anew, the way it was built: `cargo build --release`, `cargo install --path .`, …")
}

fn told(what: &str, paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
    let more = paths.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{what} {}{more}", named.join(", "))
}

/// Inputs that lie there now and were not compiled: a policy, locks, skills.
fn new_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let policy = "permissions.yml";
    found.extend(Some(policy.to_owned()).filter(|_| folder.join(policy).is_file()));
    let locks = fs::read_dir(folder.join(CATALOG.locks_folder)).into_iter().flatten().flatten();
    let locks = locks.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.ends_with(".json"));
    found.extend(locks.map(|name| format!("{}/{name}", CATALOG.locks_folder)));
    skill_files(&folder.join("SKILLS"), "SKILLS", 0, &mut found);
    found.retain(|path| !CATALOG.inputs.iter().any(|(known, _)| known == path));
    found.sort();
    found
}

fn skill_files(folder: &Path, shown: &str, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path: PathBuf = entry.path();
        if name == "SKILL.md" && path.is_file() {
            found.push(format!("{shown}/{name}"));
        } else if depth < MAX_DEPTH && !name.starts_with('.') && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            skill_files(&path, &format!("{shown}/{name}"), depth + 1, found);
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
