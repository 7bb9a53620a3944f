//! What a skill is called: names, the keys it is found by, and its URI.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::front_matter::SkillFile;

use super::Skill;

/// Longest name that the Agent Skills format allows, in characters.
const MAX_NAME: usize = 64;

/// Longest name that is read at all.
const MAX_READ: usize = 200;

/// The name of the skill that `file` in `folder` is. Names are only ever looked up, but one that looks like a path is
/// refused all the same, since other programs join names to paths.
pub(super) fn name(file: &SkillFile, folder: &str, notes: &mut Vec<Finding>) -> Result<String, Finding> {
    let (line, column) = file.place("name");
    let Some(name) = &file.name else {
        let message = format!("there is no `name`, so it is called `{folder}` after its folder");
        notes.push(Finding::noted(line, column, message, format!("add `name: {folder}`")));
        return Ok(folder.to_owned());
    };
    if name.contains(['/', '\\']) || name.starts_with('.') || name.chars().any(char::is_control) {
        let message = format!("the name `{}` looks like a path", name.escape_debug());
        return Err(Finding::refused(line, column, message, format!("call it `{}` like its folder", slug(folder))));
    }
    if name.chars().count() > MAX_READ {
        let message = format!("the name has more than {MAX_READ} characters");
        return Err(Finding::refused(line, column, message, format!("call it `{}` like its folder", slug(folder))));
    }
    if !is_agent_skills_name(name) {
        let message = format!(
            "`{name}` is no name that every client takes: lower-case letters, digits and single hyphens, at most {MAX_NAME}"
        );
        notes.push(Finding::noted(line, column, message, format!("call it `{}`", slug(name).to_lowercase())));
    }
    if name != folder {
        let message = format!("the skill is called `{name}`, its folder `{folder}`");
        notes.push(Finding::noted(line, column, message, "give both the same name"));
    }
    Ok(name.clone())
}

fn is_agent_skills_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.chars().count() <= MAX_NAME
        && name.chars().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// The keys that find a skill, lower case: `name`, `category/name` and, where there are folders between,
/// `category/subcategory/name`. When skills share a key, the first of the library's order has it.
pub fn lookup_keys(category: &str, subcategory: &str, name: &str) -> Vec<String> {
    let mut keys = vec![name.to_lowercase(), format!("{category}/{name}").to_lowercase()];
    if !subcategory.is_empty() {
        keys.push(format!("{category}/{subcategory}/{name}").to_lowercase());
    }
    keys
}

/// Gives every skill its URI and reports names that are held twice; a skill no key could find is left out.
pub(super) fn settle(skills: &mut Vec<Skill>, findings: &mut Vec<Finding>) {
    let mut holders: BTreeMap<String, String> = BTreeMap::new();
    let mut uris = BTreeSet::new();
    skills.retain_mut(|skill| {
        let keys = lookup_keys(&skill.category, &skill.subcategory, &skill.name);
        let first_holder = holders.get(&keys[0]).cloned();
        let last_holder = keys.last().and_then(|key| holders.get(key)).cloned();
        let reachable = keys.iter().rfind(|key| !holders.contains_key(*key)).cloned();
        for key in keys {
            holders.entry(key).or_insert_with(|| skill.path.clone());
        }
        let (line, column) = skill.file.place("name");
        let name = &skill.name;
        match (reachable, first_holder) {
            (Some(_), None) => {}
            (Some(key), Some(holder)) => {
                let message = format!("`{name}` is also the name of `{holder}`, which the bare name means");
                let hint = format!("ask for `{key}`, or rename one of them");
                findings.push(Finding::noted(line, column, message, hint).in_file(&skill.path));
            }
            (None, _) => {
                let holder = last_holder.unwrap_or_default();
                let message =
                    format!("`{name}` is the name of `{holder}` in the same folder, so nothing could reach this one");
                findings.push(Finding::refused(line, column, message, "rename one of them").in_file(&skill.path));
                return false;
            }
        }
        let plain = format!("skill://{}/{}", slug(&skill.category), slug(name));
        let numbered = (2..).map(|number: u32| format!("{plain}-{number}"));
        skill.uri = std::iter::once(plain.clone()).chain(numbered).find(|uri| !uris.contains(uri)).unwrap_or(plain);
        uris.insert(skill.uri.clone());
        true
    });
}

fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect()
}
