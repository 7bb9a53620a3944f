//! Problems: what the compiler finds wrong with its inputs, shown with the source line and a caret.

use std::fmt;
use std::ops::Range;

use crate::source::Source;

/// Whether a problem stops the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The build fails.
    Error,
    /// The build goes on; a person should know.
    Note,
}

/// One finding about the inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether it stops the build.
    pub severity: Severity,
    /// File as its [`Source`] calls it; empty when the problem belongs to no file.
    pub file: String,
    /// Line from 1, or 0 when the whole file is meant.
    pub line: u32,
    /// Column in characters from 1, or 0.
    pub column: u32,
    /// What is wrong: lower case, no final stop, names in backticks.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    excerpt: Option<Excerpt>,
}

/// The source line a problem points into.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    line: String,
    width: usize,
}

/// Source lines longer than this are not shown: a caret under a minified file helps nobody.
const LONGEST_LINE: usize = 200;

impl Problem {
    /// A problem that stops the build.
    pub fn error(message: impl Into<String>) -> Problem {
        Problem::new(Severity::Error, message.into())
    }

    /// A problem that does not.
    pub fn note(message: impl Into<String>) -> Problem {
        Problem::new(Severity::Note, message.into())
    }

    fn new(severity: Severity, message: String) -> Problem {
        Problem { severity, file: String::new(), line: 0, column: 0, message, hint: None, excerpt: None }
    }

    /// The same, pointing at the bytes `range` of `source`.
    #[must_use]
    pub fn at(mut self, source: &Source, range: Range<usize>) -> Problem {
        let position = source.position(range.start);
        let line = source.line(position.line);
        let marked = source.text.get(range).unwrap_or("").lines().next().unwrap_or("").chars().count();
        self.file.clone_from(&source.path);
        self.line = position.line;
        self.column = position.column;
        self.excerpt = (line.chars().count() <= LONGEST_LINE && !line.trim().is_empty())
            .then(|| Excerpt { line: line.replace('\t', " "), width: marked.max(1) });
        self
    }

    /// Message, place and hint in one line.
    pub fn in_one_line(&self) -> String {
        let place = match (self.file.as_str(), self.line) {
            ("", _) => String::new(),
            (file, 0) => format!(" ({file})"),
            (file, line) => format!(" ({file}:{line}:{})", self.column),
        };
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("; hint: {hint}"));
        format!("{}{place}{hint}", self.message)
    }

    /// The same, about the whole file `path`.
    #[must_use]
    pub fn in_file(mut self, path: &str) -> Problem {
        path.clone_into(&mut self.file);
        self
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a hint, if there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Problem {
        self.hint = hint.or(self.hint);
        self
    }
}

/// Puts problems in the order in which they are shown: errors before notes, then by file and place.
pub fn sort(problems: &mut [Problem]) {
    problems.sort_by(|a, b| {
        (a.severity, &a.file, a.line, a.column, &a.message).cmp(&(b.severity, &b.file, b.line, b.column, &b.message))
    });
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Note => "note",
        };
        write!(f, "{kind}: {}", self.message)?;
        match (self.file.as_str(), self.line) {
            ("", _) => {}
            (file, 0) => write!(f, "\n  --> {file}")?,
            (file, line) => write!(f, "\n  --> {file}:{line}:{}", self.column)?,
        }
        if let Some(excerpt) = &self.excerpt {
            let margin = self.line.to_string().len();
            let indent = self.column.saturating_sub(1) as usize;
            write!(f, "\n{:margin$} |", "")?;
            write!(f, "\n{} | {}", self.line, excerpt.line.trim_end())?;
            write!(f, "\n{:margin$} | {:indent$}{}", "", "", "^".repeat(excerpt.width))?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The candidate nearest to `word`, if one is near enough that a slip of the fingers explains it.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The hint that names [`nearest`].
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// Edits between two words: insertions, deletions, replacements and swaps of neighbours, one each.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = last[j] + usize::from(from != to);
            let mut best = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "abc", 3), ("same", "same", 0), ("reed", "read", 1), ("comand", "command", 1), ("wrtie", "write", 1)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_near_words_are_offered() {
        let names = ["fs_read_file", "fs_write_file", "github_get_issue"];
        assert_eq!(nearest("fs_reed_file", names), Some("fs_read_file"));
        assert_eq!(nearest("FS_READ_FILE", names), Some("fs_read_file"));
        assert_eq!(nearest("docs_architect", names), None);
    }
}
