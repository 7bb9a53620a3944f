//! Problems: what the compiler finds wrong with its inputs, shown with the source line and a caret.

use std::fmt;
use std::ops::Range;

use evokore_catalog::suggest;

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

/// The hint that names the candidate nearest to `word`, if one is near.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    suggest::nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}
