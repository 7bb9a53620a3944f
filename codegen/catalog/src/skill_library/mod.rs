//! A folder of skills: which files are skills, what they are called, and how clients reach them.
//!
//! The compiler and `refresh_skills` read a library through this one function, each giving it the file system as a
//! [`Tree`], so a skill is the same skill before and after a refresh. Order never depends on the file system, and
//! whatever is left out is a [`Finding`].

mod naming;
#[cfg(test)]
mod tests;
mod walk;

use crate::finding::Finding;
use crate::front_matter::{self, MAX_DESCRIPTION, SkillFile};
use crate::markdown;

pub use naming::lookup_keys;

/// Name of the file that makes its folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Category of a skill whose folder lies directly below `SKILLS/`.
pub const FLAT_CATEGORY: &str = "general";

/// Most skills of a library; what comes after is reported and left out.
pub const MAX_SKILLS: usize = 20_000;

/// Largest skill file that is read, in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// Access to a `SKILLS` folder. Paths are relative to it, with `/`; the folder itself is the empty path.
pub trait Tree {
    /// The entries of a folder, in any order.
    ///
    /// # Errors
    /// Why it cannot be listed, for people.
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, String>;

    /// The contents of a file.
    ///
    /// # Errors
    /// Why it cannot be read, for people.
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String>;
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; what is not UTF-8 in it is replaced.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What a folder's entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A file of that many bytes.
    File(u64),
    /// A symbolic link, which is never followed.
    Link,
    /// Anything else, and names that are not UTF-8.
    Other,
}

/// One skill of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What its file says.
    pub file: SkillFile,
    /// Name it is listed under.
    pub name: String,
    /// First folder below `SKILLS/`, or [`FLAT_CATEGORY`].
    pub category: String,
    /// Folders between category and skill, joined by `/`.
    pub subcategory: String,
    /// What it does and when to use it, on one line.
    pub description: String,
    /// `skill://{category}/{name}`, unique in the library.
    pub uri: String,
    /// Path of its file below `SKILLS/`.
    pub path: String,
}

/// What a folder of skills holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Library {
    /// Skills sorted by category, name and path.
    pub skills: Vec<Skill>,
    /// What is wrong, sorted by path and place.
    pub findings: Vec<Finding>,
}

/// Reads the library of `tree`.
pub fn read(tree: &mut dyn Tree) -> Library {
    let (paths, mut findings) = walk::skill_files(tree);
    let mut skills = Vec::with_capacity(paths.len());
    for path in paths {
        let parsed = tree
            .read(&path)
            .map_err(|reason| Finding::refused(0, 0, format!("cannot be read: {reason}"), "check its permissions"))
            .and_then(|bytes| front_matter::parse(&bytes))
            .and_then(|file| place(&path, file));
        match parsed {
            Ok((skill, notes)) => {
                findings.extend(notes.into_iter().map(|note| note.in_file(&path)));
                skills.push(skill);
            }
            Err(finding) => findings.push(finding.in_file(&path)),
        }
    }
    skills.sort_by(|a, b| (&a.category, &a.name, &a.path).cmp(&(&b.category, &b.name, &b.path)));
    naming::settle(&mut skills, &mut findings);
    findings.sort();
    Library { skills, findings }
}

/// The skill that `file` at `path` is, with what is odd about it.
fn place(path: &str, mut file: SkillFile) -> Result<(Skill, Vec<Finding>), Finding> {
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    let folder = folders.pop().unwrap_or("");
    let category = folders.first().copied().unwrap_or(FLAT_CATEGORY).to_owned();
    let subcategory = folders.get(1..).unwrap_or_default().join("/");
    let mut notes = std::mem::take(&mut file.notes);
    let name = naming::name(&file, folder, &mut notes)?;
    if name != folder {
        let folder = folder.to_lowercase();
        if folder != name.to_lowercase() && !file.aliases.contains(&folder) {
            file.aliases.push(folder);
        }
    }
    let (line, column) = file.place("description");
    let description = match file.description.clone() {
        Some(text) => {
            let length = text.chars().count();
            if length > MAX_DESCRIPTION {
                let message = format!("`description` has {length} characters; the format allows {MAX_DESCRIPTION}");
                notes.push(Finding::noted(
                    line,
                    column,
                    message,
                    "say what it does and when to use it, in fewer words",
                ));
            }
            text
        }
        None => {
            let message = "there is no `description`, so the first words of the text stand in for it";
            notes.push(Finding::noted(line, column, message, "add `description: what it does and when to use it`"));
            markdown::first_paragraph(&file.body, 200)
        }
    };
    let skill = Skill { name, category, subcategory, description, uri: String::new(), path: path.to_owned(), file };
    Ok((skill, notes))
}
