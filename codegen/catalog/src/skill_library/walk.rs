//! Which files below a `SKILLS` folder are skills.

use crate::finding::Finding;

use super::{Entry, EntryKind, MAX_FILE, MAX_SKILLS, SKILL_FILE, Tree};

/// Folders that hold no skills of their own, whatever lies in them. Hidden folders are left out too.
const SKIPPED: [&str; 7] = ["node_modules", "__pycache__", "__tests__", "themes", "assets", "scripts", "upstream"];

/// Folders below `SKILLS/` deeper than this are reported and left out.
const MAX_DEPTH: usize = 8;

/// Most folders that are opened.
const MAX_FOLDERS: usize = 50_000;

/// Most findings of a walk; the rest is one finding.
const MAX_FINDINGS: usize = 500;

/// The paths of the skill files, sorted, and what was left out.
pub(super) fn skill_files(tree: &mut dyn Tree) -> (Vec<String>, Vec<Finding>) {
    let mut walk = Walk { tree, skills: Vec::new(), findings: Vec::new(), folders: 0, unsaid: 0 };
    walk.folder("", 0, None);
    let Walk { mut skills, mut findings, folders, unsaid, .. } = walk;
    if folders > MAX_FOLDERS {
        findings.push(Finding::refused(
            0,
            0,
            format!("there are more than {MAX_FOLDERS} folders; the rest was not looked at"),
            "keep only skills below this folder",
        ));
    }
    if unsaid > 0 {
        findings.push(Finding::noted(0, 0, format!("{unsaid} more like these"), "mend the ones named here first"));
    }
    skills.sort();
    if skills.len() > MAX_SKILLS {
        let message =
            format!("there are {} skills; {MAX_SKILLS} are the limit, the last ones were left out", skills.len());
        findings.push(Finding::refused(0, 0, message, "split the library"));
        skills.truncate(MAX_SKILLS);
    }
    (skills, findings)
}

struct Walk<'t> {
    tree: &'t mut dyn Tree,
    skills: Vec<String>,
    findings: Vec<Finding>,
    folders: usize,
    unsaid: usize,
}

impl Walk<'_> {
    /// Looks at the folder `path`, which lies inside the skill `outer` if that is given.
    fn folder(&mut self, path: &str, depth: usize, outer: Option<&str>) {
        self.folders += 1;
        if self.folders > MAX_FOLDERS {
            return;
        }
        let mut entries = match self.tree.list(path) {
            Ok(entries) => entries,
            Err(reason) => {
                let message = format!("the folder cannot be listed: {reason}");
                self.say(Finding::refused(0, 0, message, "check its permissions").in_file(path));
                return;
            }
        };
        entries.sort();
        let is_skill = self.skill(path, &entries, outer);
        let outer = if is_skill { Some(path) } else { outer };
        for Entry { name, kind } in &entries {
            let below = join(path, name);
            match kind {
                EntryKind::Folder if name.starts_with('.') || SKIPPED.contains(&name.as_str()) => {}
                EntryKind::Folder if depth >= MAX_DEPTH => {
                    let message = format!("the folder lies deeper than {MAX_DEPTH} folders and was not looked at");
                    self.say(Finding::noted(0, 0, message, "move its skills up").in_file(&below));
                }
                EntryKind::Folder => self.folder(&below, depth + 1, outer),
                EntryKind::Link if outer.is_none() => {
                    let hint = "put the skill itself here, or leave the link out";
                    self.say(Finding::noted(0, 0, "a link, which is not followed", hint).in_file(&below));
                }
                EntryKind::Other if outer.is_none() => {
                    let message = "neither a file nor a folder with a readable name, so it was left out";
                    self.say(Finding::noted(0, 0, message, "rename or remove it").in_file(&below));
                }
                _ => {}
            }
        }
    }

    /// Whether the folder is a skill; a skill file that cannot count is said.
    fn skill(&mut self, path: &str, entries: &[Entry], outer: Option<&str>) -> bool {
        let exact = entries.iter().find(|entry| entry.name == SKILL_FILE && matches!(entry.kind, EntryKind::File(_)));
        let Some(Entry { kind: EntryKind::File(size), .. }) = exact else {
            let near = entries
                .iter()
                .find(|entry| entry.name.eq_ignore_ascii_case(SKILL_FILE) && matches!(entry.kind, EntryKind::File(_)));
            if let Some(near) = near.filter(|_| outer.is_none()) {
                let message = format!("a skill's file is called `{SKILL_FILE}`, so this one was not read");
                self.say(Finding::refused(0, 0, message, "rename it").in_file(&join(path, &near.name)));
            }
            return false;
        };
        let file = join(path, SKILL_FILE);
        if path.is_empty() {
            let hint = "move it into a folder of its own, `<category>/<name>/`";
            self.say(Finding::refused(0, 0, "the file lies outside of any skill's folder", hint).in_file(&file));
            return false;
        }
        if let Some(outer) = outer {
            let message = format!("it lies inside the skill `{outer}`, so it is no skill of its own");
            self.say(Finding::noted(0, 0, message, "move its folder out of the other skill's").in_file(&file));
            return false;
        }
        if *size > MAX_FILE {
            let message = format!("the file has {size} bytes; {MAX_FILE} is the limit");
            self.say(Finding::refused(0, 0, message, "move long material into files beside it").in_file(&file));
        } else {
            self.skills.push(file);
        }
        true
    }

    fn say(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.unsaid += 1;
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}
