//! One skill, compiled in or read from disk.

use std::borrow::Cow;

use evokore_catalog::markdown::code_blocks;
use evokore_catalog::skill::{NextStep, SkillEntry};
use evokore_catalog::skill_library::Skill;

/// A skill that a refresh found on disk.
#[derive(Debug, Clone)]
pub struct DiskSkill {
    /// What was read.
    pub skill: Skill,
    /// Where the compiled skill of the same name leads: links between skills are compiled, not read again.
    pub next_steps: &'static [NextStep],
}

/// A skill of a [`super::Snapshot`].
#[derive(Debug, Clone, Copy)]
pub enum SkillRef<'a> {
    /// Compiled in.
    Compiled(&'static SkillEntry),
    /// From disk.
    Disk(&'a DiskSkill),
}

/// A fenced code block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<'a> {
    /// First word of the info string, lower case; `text` when there is none.
    pub language: Cow<'a, str>,
    /// Contents.
    pub code: Cow<'a, str>,
}

impl<'a> SkillRef<'a> {
    /// Name; unique with its category and subcategory.
    pub fn name(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.name,
            SkillRef::Disk(disk) => &disk.skill.name,
        }
    }

    /// First folder below `SKILLS/`.
    pub fn category(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.category,
            SkillRef::Disk(disk) => &disk.skill.category,
        }
    }

    /// Folders between category and skill; mostly empty.
    pub fn subcategory(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.subcategory,
            SkillRef::Disk(disk) => &disk.skill.subcategory,
        }
    }

    /// What it does and when to use it.
    pub fn description(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.description,
            SkillRef::Disk(disk) => &disk.skill.description,
        }
    }

    /// Its resource.
    pub fn uri(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.uri,
            SkillRef::Disk(disk) => &disk.skill.uri,
        }
    }

    /// Path of its file below `SKILLS/`.
    pub fn path(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.path,
            SkillRef::Disk(disk) => &disk.skill.path,
        }
    }

    /// Version as written, or empty.
    pub fn version(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.version,
            SkillRef::Disk(disk) => disk.skill.file.version.as_deref().unwrap_or(""),
        }
    }

    /// Markdown after the front matter.
    pub fn body(self) -> &'a str {
        match self {
            SkillRef::Compiled(entry) => entry.body,
            SkillRef::Disk(disk) => &disk.skill.file.body,
        }
    }

    /// Tags of the front matter.
    pub fn tags(self) -> Vec<&'a str> {
        match self {
            SkillRef::Compiled(entry) => entry.tags.to_vec(),
            SkillRef::Disk(disk) => texts(&disk.skill.file.tags),
        }
    }

    /// Other names, lower case.
    pub fn aliases(self) -> Vec<&'a str> {
        match self {
            SkillRef::Compiled(entry) => entry.aliases.to_vec(),
            SkillRef::Disk(disk) => texts(&disk.skill.file.aliases),
        }
    }

    /// Skills it needs, as `name` or `name@constraint`.
    pub fn requires(self) -> Vec<&'a str> {
        match self {
            SkillRef::Compiled(entry) => entry.requires.to_vec(),
            SkillRef::Disk(disk) => texts(&disk.skill.file.requires),
        }
    }

    /// Skills it must not be combined with.
    pub fn conflicts(self) -> Vec<&'a str> {
        match self {
            SkillRef::Compiled(entry) => entry.conflicts.to_vec(),
            SkillRef::Disk(disk) => texts(&disk.skill.file.conflicts),
        }
    }

    /// Where it leads.
    pub fn next_steps(self) -> &'static [NextStep] {
        match self {
            SkillRef::Compiled(entry) => entry.next_steps,
            SkillRef::Disk(disk) => disk.next_steps,
        }
    }

    /// Its fenced code blocks, in order.
    pub fn steps(self) -> Vec<Step<'a>> {
        match self {
            SkillRef::Compiled(entry) => entry
                .blocks
                .iter()
                .map(|block| Step { language: block.language.into(), code: block.code.into() })
                .collect(),
            SkillRef::Disk(disk) => code_blocks(&disk.skill.file.body)
                .into_iter()
                .map(|block| Step { language: block.language.into(), code: block.code.into() })
                .collect(),
        }
    }

    /// `category`, or `category > sub > category`.
    pub fn shelf(self) -> String {
        let sub = self.subcategory();
        if sub.is_empty() {
            self.category().to_owned()
        } else {
            format!("{} > {}", self.category(), sub.replace('/', " > "))
        }
    }

    /// Whether both say the same.
    pub fn is_same(self, other: SkillRef<'_>) -> bool {
        self.name() == other.name()
            && self.category() == other.category()
            && self.subcategory() == other.subcategory()
            && self.description() == other.description()
            && self.version() == other.version()
            && self.tags() == other.tags()
            && self.aliases() == other.aliases()
            && self.requires() == other.requires()
            && self.conflicts() == other.conflicts()
            && self.body() == other.body()
    }
}

fn texts(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}
