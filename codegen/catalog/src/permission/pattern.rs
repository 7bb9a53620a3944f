//! For which tools a rule is: a name in which `*` stands for any characters, and conditions on behaviour hints.
//!
//! `fs_read_file`, `fs_*`, `*_delete_*`, `github_*[destructiveHint]`, `*[readOnlyHint, !openWorldHint]`.

use crate::tool::Annotations;

/// A behaviour hint of the protocol, with its default filled in (2025-11-25, `ToolAnnotations`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hint {
    /// `readOnlyHint`: it changes nothing.
    ReadOnly,
    /// `destructiveHint`: it may change what was there, and not only add; never a tool that only reads.
    Destructive,
    /// `idempotentHint`: a second call changes nothing more; always so for a tool that only reads.
    Idempotent,
    /// `openWorldHint`: it deals with things outside.
    OpenWorld,
}

impl Hint {
    /// All hints under the protocol's names.
    pub const ALL: [(&'static str, Hint); 4] = [
        ("readOnlyHint", Hint::ReadOnly),
        ("destructiveHint", Hint::Destructive),
        ("idempotentHint", Hint::Idempotent),
        ("openWorldHint", Hint::OpenWorld),
    ];

    /// Whether it holds for a tool with these hints.
    pub fn holds(self, annotations: Annotations) -> bool {
        let reads = annotations.read_only.unwrap_or(false);
        match self {
            Hint::ReadOnly => reads,
            Hint::Destructive => !reads && annotations.destructive.unwrap_or(true),
            Hint::Idempotent => reads || annotations.idempotent.unwrap_or(false),
            Hint::OpenWorld => annotations.open_world.unwrap_or(true),
        }
    }
}

/// For which tools a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern<'a> {
    /// The exposed name, in which `*` stands for any characters.
    pub name: &'a str,
    /// Hints, and whether each must hold; sorted, no hint twice.
    pub hints: &'a [(Hint, bool)],
}

impl Pattern<'_> {
    /// Whether it is for one name, whatever the tool's hints.
    pub fn is_exact(&self) -> bool {
        !self.name.contains('*') && self.hints.is_empty()
    }

    /// Whether it is for the tool exposed as `name`.
    pub fn matches(&self, name: &str, annotations: Annotations) -> bool {
        self.hints.iter().all(|(hint, expected)| hint.holds(annotations) == *expected) && globs(self.name, name)
    }

    /// Whether every tool that `other` is for is one of its own.
    pub fn covers(&self, other: &Pattern<'_>) -> bool {
        // A star of `other` may be anything, so only a star takes it in.
        self.hints.iter().all(|hint| other.hints.contains(hint)) && globs(self.name, other.name)
    }

    /// Whether a name that starts with `prefix` may fit.
    pub fn may_start_with(&self, prefix: &str) -> bool {
        match self.name.split_once('*') {
            None => self.name.starts_with(prefix),
            Some((head, _)) => head.starts_with(prefix) || prefix.starts_with(head),
        }
    }
}

/// Whether `text` is what `glob` describes. Linear but for the last star, which is tried again further on.
fn globs(glob: &str, text: &str) -> bool {
    let (glob, text) = (glob.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    let mut star = None;
    while seen < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            Some(byte) if *byte == text[seen] => (at, seen) = (at + 1, seen + 1),
            _ => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                (at, seen) = (after, from + 1);
            }
        }
    }
    glob[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn named(name: &str) -> Pattern<'_> {
        Pattern { name, hints: &[] }
    }

    #[test]
    fn stars_stand_for_any_characters() {
        for (glob, text, expected) in [
            ("fs_*", "fs_read_file", true),
            ("fs_*", "fs_", true),
            ("fs_*", "gfs_read", false),
            ("*_delete_*", "supabase_delete_branch", true),
            ("*_delete_*", "supabase_delete", false),
            ("*_file", "fs_write_file_file", true),
            ("a*b*c", "abbcbc", true),
            ("a*b*c", "abbcb", false),
            ("*", "", true),
            ("**", "x", true),
            ("", "x", false),
            ("fs_read", "fs_read_file", false),
            ("FS_*", "fs_read", false),
        ] {
            assert_eq!(globs(glob, text), expected, "{glob} for {text}");
        }
    }

    #[test]
    fn a_pattern_covers_what_can_only_fit_both() {
        for (wide, narrow, expected) in [
            ("fs_*", "fs_read_*", true),
            ("fs_read_*", "fs_*", false),
            ("*_delete_*", "supabase_*", false),
            ("supabase_*", "*_delete_*", false),
            ("*_delete_*", "supabase_delete_*", true),
            ("*_delete*", "supabase_delete_*", true),
            ("*", "*_x", true),
            ("fs_*", "fs_*", true),
        ] {
            assert_eq!(named(wide).covers(&named(narrow)), expected, "{wide} over {narrow}");
        }
        let reading = Pattern { name: "fs_*", hints: &[(Hint::ReadOnly, true)] };
        assert!(named("fs_*").covers(&reading) && !reading.covers(&named("fs_*")));
    }

    #[test]
    fn hints_have_the_defaults_of_the_protocol() {
        let silent = Annotations::default();
        let reads = Annotations { read_only: Some(true), destructive: Some(true), ..silent };
        let adds = Annotations { destructive: Some(false), open_world: Some(false), ..silent };
        for (annotations, expected) in
            [(silent, [false, true, false, true]), (reads, [true, false, true, true]), (adds, [false; 4])]
        {
            assert_eq!(Hint::ALL.map(|(_, hint)| hint.holds(annotations)), expected, "{annotations:?}");
        }
    }

    #[test]
    fn beginnings() {
        for (pattern, expected) in [
            ("git_*", true),
            ("*_delete_*", true),
            ("g*", true),
            ("git_status", true),
            ("github_*", false),
            ("fs_x", false),
        ] {
            assert_eq!(named(pattern).may_start_with("git_"), expected, "{pattern}");
        }
    }
}
