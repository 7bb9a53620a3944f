//! The skills of the configuration: read, checked, counted and linked.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use evokore_catalog::finding::{Finding, Weight};
use evokore_catalog::markdown::code_blocks;
use evokore_catalog::skill::{CodeBlock, NextStep, SkillEntry};
use evokore_catalog::skill_library::{self, Entry, EntryKind, Skill, Tree};

use crate::leak::{leak, leak_all};
use crate::problem::Problem;
use crate::search_index;
use crate::skill_graph::{self, Graph};
use crate::source::{Position, Source, hex_sha256};

/// What the skills come to.
#[derive(Debug)]
pub struct Skills {
    /// Sorted by category, name and path.
    pub entries: &'static [SkillEntry],
    /// Which leads to which.
    pub graph: Graph,
    /// Search segment; document `n` is entry `n`.
    pub index: Vec<u8>,
    /// Path, starting with `SKILLS/`, and SHA-256 of every skill file that was read; sorted.
    pub digests: Vec<(String, String)>,
}

/// Compiles the skills below `folder`; a folder that is not there holds none. `count` gives the tokens of the
/// body of the skill at a path.
pub fn compile(folder: &Path, count: &mut dyn FnMut(&str, &str) -> u32, problems: &mut Vec<Problem>) -> Skills {
    let mut disk = Disk { root: folder.to_owned(), files: BTreeMap::new() };
    let library = if folder.is_dir() { skill_library::read(&mut disk) } else { skill_library::Library::default() };
    problems.extend(library.findings.iter().map(|finding| disk.problem(finding)));
    let skills = library.skills;
    let tokens: Vec<u32> = skills.iter().map(|skill| count(&shown(&skill.path), &skill.file.body)).collect();
    let graph = skill_graph::build(&skills, &tokens);
    problems.extend(graph.warnings.iter().map(|finding| disk.problem(finding)));
    let index = search_index::over_skills(&skills, problems);
    let entries = leak_all(skills.iter().enumerate().map(|(at, skill)| entry(skill, graph.next_steps(at), tokens[at])));
    let digests = disk.files.iter().map(|(path, file)| (shown(path), file.sha256.clone())).collect();
    Skills { entries, graph, index, digests }
}

fn entry(skill: &Skill, next_steps: Vec<(String, String, bool)>, tokens: u32) -> SkillEntry {
    let texts = |list: &[String]| leak_all(list.iter().map(|text| leak(text)));
    let file = &skill.file;
    SkillEntry {
        name: leak(&skill.name),
        category: leak(&skill.category),
        subcategory: leak(&skill.subcategory),
        description: leak(&skill.description),
        uri: leak(&skill.uri),
        path: leak(&skill.path),
        version: leak(file.version.as_deref().unwrap_or("")),
        tags: texts(&file.tags),
        aliases: texts(&file.aliases),
        requires: texts(&file.requires),
        conflicts: texts(&file.conflicts),
        body: leak(&file.body),
        blocks: leak_all(
            code_blocks(&file.body)
                .into_iter()
                .map(|block| CodeBlock { language: leak(&block.language), code: leak(&block.code) }),
        ),
        next_steps: leak_all(next_steps.into_iter().map(|(skill, reason, transitive)| NextStep {
            skill: leak(&skill),
            reason: leak(&reason),
            transitive,
        })),
        tokens,
    }
}

/// The `SKILLS` folder on disk. Remembers what was read, for digests and for problems that show a line.
struct Disk {
    root: PathBuf,
    files: BTreeMap<String, File>,
}

struct File {
    sha256: String,
    /// `None` when it is not UTF-8.
    source: Option<Source>,
}

impl Tree for Disk {
    fn list(&mut self, path: &str) -> Result<Vec<Entry>, String> {
        let folder = fs::read_dir(self.root.join(path)).map_err(|error| error.to_string())?;
        let entry = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.map_err(|error| error.to_string())?;
            let (name, readable) = match entry.file_name().into_string() {
                Ok(name) => (name, true),
                Err(name) => (name.to_string_lossy().into_owned(), false),
            };
            // Of a link this is the link's own kind.
            let metadata = entry.metadata().map_err(|error| error.to_string())?;
            let kind = match metadata.file_type() {
                kind if kind.is_symlink() => EntryKind::Link,
                _ if !readable => EntryKind::Other,
                kind if kind.is_dir() => EntryKind::Folder,
                kind if kind.is_file() => EntryKind::File(metadata.len()),
                _ => EntryKind::Other,
            };
            Ok(Entry { name, kind })
        };
        folder.map(entry).collect()
    }

    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let bytes = fs::read(self.root.join(path)).map_err(|error| error.to_string())?;
        let source = Source::from_bytes(shown(path), &bytes).ok();
        self.files.insert(path.to_owned(), File { sha256: hex_sha256(&bytes), source });
        Ok(bytes)
    }
}

impl Disk {
    fn problem(&self, finding: &Finding) -> Problem {
        let problem = match finding.weight {
            Weight::Refused => Problem::error(&finding.message),
            Weight::Noted => Problem::note(&finding.message),
        };
        let problem = problem.hint(&finding.hint);
        let source = self.files.get(&finding.path).and_then(|file| file.source.as_ref());
        match source.filter(|_| finding.line > 0) {
            Some(source) => {
                let start = source.offset(Position { line: finding.line, column: finding.column });
                let rest = source.text[start..].lines().next().unwrap_or("").trim_end();
                problem.at(source, start..start + rest.len())
            }
            None => {
                let mut problem = problem.in_file(&shown(&finding.path));
                (problem.line, problem.column) = (finding.line, finding.column);
                problem
            }
        }
    }
}

fn shown(path: &str) -> String {
    if path.is_empty() { "SKILLS".to_owned() } else { format!("SKILLS/{path}") }
}
