//! Skills as the build knows them.

/// One compiled skill.
#[derive(Debug, Clone, Copy)]
pub struct SkillEntry {
    /// Name from the front matter, or its folder's; unique with its category and subcategory.
    pub name: &'static str,
    /// First folder below `SKILLS/`; `general` for a skill that lies directly there.
    pub category: &'static str,
    /// Folders between category and skill, joined by `/`; empty for most.
    pub subcategory: &'static str,
    /// What it does and when to use it.
    pub description: &'static str,
    /// `skill://{category}/{name}` with unsafe characters replaced; unique in the catalog.
    pub uri: &'static str,
    /// Path below `SKILLS/`, with `/`.
    pub path: &'static str,
    /// Semantic version, or empty.
    pub version: &'static str,
    /// Tags of the front matter.
    pub tags: &'static [&'static str],
    /// Other names it answers to, lower-case.
    pub aliases: &'static [&'static str],
    /// `name` or `name@constraint`, as written.
    pub requires: &'static [&'static str],
    /// Names of skills it must not be combined with.
    pub conflicts: &'static [&'static str],
    /// Markdown after the front matter, trimmed.
    pub body: &'static str,
    /// Fenced code blocks of the body, in order.
    pub blocks: &'static [CodeBlock],
    /// Where this skill leads: sentences in the order of the text, then mandatory points, then chains of other skills.
    pub next_steps: &'static [NextStep],
    /// Tokens of the body.
    pub tokens: u32,
}

/// A fenced code block of a skill.
#[derive(Debug, Clone, Copy)]
pub struct CodeBlock {
    /// Info string's first word, lower-case; `text` when absent.
    pub language: &'static str,
    /// Contents without the fences.
    pub code: &'static str,
}

/// An edge of the skill graph.
#[derive(Debug, Clone, Copy)]
pub struct NextStep {
    /// Name of the skill it leads to.
    pub skill: &'static str,
    /// Why: file and line of the sentence, or the chain for a transitive edge.
    pub reason: &'static str,
    /// True when reached through another skill.
    pub transitive: bool,
}
