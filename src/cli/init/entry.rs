//! What a client needs to know to start evokore, and what became of it in the client's file.

/// Name of the entry.
pub(crate) const NAME: &str = "evokore";

/// One entry of a client's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Absolute path of the executable.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// Variables it is to get; others that an existing entry has stay.
    pub(crate) env: Vec<(String, String)>,
}

/// A file with the entry merged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The whole text.
    pub(crate) text: String,
    /// What the merge did.
    pub(crate) change: Change,
}

/// What a merge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The entry is new.
    Added,
    /// The entry was there, with something else in it.
    Updated,
    /// The entry was there as it should be.
    None,
}

/// Why a file is left alone: `line` and `column` count from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Line.
    pub(crate) line: usize,
    /// Column in characters.
    pub(crate) column: usize,
    /// What is wrong.
    pub(crate) message: String,
}

impl Refusal {
    /// A refusal about what starts at byte `offset` of `text`.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Refusal {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Refusal {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}
