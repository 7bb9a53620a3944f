//! What is found wrong while a skill library is read. The compiler turns findings into problems with the source line;
//! `refresh_skills` tells them to whoever asked.

use std::fmt;

/// Whether a finding costs a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The file is not in the library.
    Refused,
    /// The library goes on as the message says.
    Noted,
}

/// One finding about one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path below `SKILLS/`, with `/`; empty until the reader of the library fills it in.
    pub path: String,
    /// Line from 1, or 0 when the whole file is meant.
    pub line: u32,
    /// Column in characters from 1, or 0.
    pub column: u32,
    /// Whether it costs a skill.
    pub weight: Weight,
    /// What is wrong: lower case, no final stop, names in backticks.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl Finding {
    /// A finding that costs the file, at `line` and `column` (both from 1).
    pub fn refused(line: u32, column: u32, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding {
            path: String::new(),
            line,
            column,
            weight: Weight::Refused,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A finding that does not.
    pub fn noted(line: u32, column: u32, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        Finding { weight: Weight::Noted, ..Finding::refused(line, column, message, hint) }
    }

    /// The same, about the file `path`.
    #[must_use]
    pub fn in_file(mut self, path: &str) -> Finding {
        path.clone_into(&mut self.path);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        let verdict = match self.weight {
            Weight::Refused => "not read: ",
            Weight::Noted => "",
        };
        write!(f, ": {verdict}{} (hint: {})", self.message, self.hint)
    }
}
