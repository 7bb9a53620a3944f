//! Writing for people and for programs. Outside this folder nothing writes to stdout: there it is the protocol.

use std::io::{ErrorKind, IsTerminal as _, Write as _};

use evokore_catalog::hostile::visible;
use serde::Serialize;

use crate::env_vars;
use crate::error::Failure;

/// Where a command's output goes, and whether it may be coloured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    colour: bool,
}

/// What a piece of text is to the eye.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    /// Headings.
    Bold,
    /// What matters less.
    Dim,
    /// Good news.
    Good,
    /// Not quite good news.
    Warning,
    /// Bad news.
    Bad,
}

impl Output {
    /// For this process's stdout: coloured on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn new() -> Output {
        let plain = env_vars::read("NO_COLOR").is_some() || env_vars::read("TERM").as_deref() == Some("dumb");
        Output { colour: !plain && std::io::stdout().is_terminal() }
    }

    /// `text` in `style`.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Warning => "33",
            Style::Bad => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Writes `text` to stdout, at once.
    ///
    /// # Errors
    /// stdout cannot be written. A reader that has gone, as `head` does, is no error.
    pub(crate) fn print(self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::runtime(format!("cannot write to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes `text` of somebody else to stdout: on a terminal with what would not be seen made visible, to a program as
    /// it is.
    ///
    /// # Errors
    /// As [`Output::print`].
    pub(crate) fn print_foreign(self, text: &str) -> Result<(), Failure> {
        if std::io::stdout().is_terminal() { self.print(&visible(text)) } else { self.print(text) }
    }

    /// Writes `value` as indented JSON.
    ///
    /// # Errors
    /// As [`Output::print`].
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.print(&format!("{text}\n")),
            Err(error) => Err(Failure::runtime(format!("cannot write the answer as JSON: {error}"))),
        }
    }
}

impl Default for Output {
    fn default() -> Output {
        Output::new()
    }
}

/// Writes the line of an error to stderr.
pub(crate) fn complain(failure: &Failure) {
    // Nobody can be told that stderr is gone.
    let _ = writeln!(std::io::stderr(), "{failure}");
}

/// Writes `text` to stderr, beside an answer on stdout that another program reads.
pub(crate) fn say(text: &str) {
    let _ = write!(std::io::stderr(), "{text}");
}

/// A progress line on stderr that the next one replaces; only where a person looks at it.
#[derive(Debug)]
pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    /// Shows nothing yet.
    pub(crate) fn new() -> Progress {
        Progress { shown: false }
    }

    /// Shows `text` in place of what was there.
    pub(crate) fn show(&mut self, text: &str) {
        if std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K{text}");
            let _ = std::io::stderr().flush();
            self.shown = true;
        }
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// `rows` in columns, two blanks between them, each line behind `indent`. Cells must not be painted: colour has width.
pub(crate) fn columns(indent: &str, aligns: &[Align], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..aligns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut line = indent.to_owned();
        for (column, cell) in row.iter().enumerate() {
            let blanks = " ".repeat(widths.get(column).map_or(0, |width| width.saturating_sub(cell.chars().count())));
            match aligns.get(column) {
                Some(Align::Right) => line.extend([blanks.as_str(), cell, "  "]),
                _ => line.extend([cell, blanks.as_str(), "  "]),
            }
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// `text` on one line, control characters and whatever else is not seen made visible or taken away, at most `most`
/// characters long.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let clean = visible(&clean);
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    evokore_catalog::markdown::cut(&words, most)
}

/// `count` with `noun`, which gets an `s` unless there is one of it.
pub(crate) fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", number(count)) }
}

/// `number` with its thousands apart.
pub(crate) fn number(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_counts() {
        for (value, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(value), expected);
        }
        assert_eq!(count(1, "tool"), "1 tool");
        assert_eq!(count(2500, "tool"), "2,500 tools");
    }

    #[test]
    fn columns_fit_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "1,000".to_owned(), "x".to_owned()], vec!["größe".to_owned(), "7".to_owned()]];
        assert_eq!(
            columns("  ", &[Align::Left, Align::Right, Align::Left], &rows),
            ["  a      1,000  x", "  größe      7"]
        );
    }

    #[test]
    fn texts_from_elsewhere_stay_on_their_line() {
        assert_eq!(one_line("a\n\u{1b}[31mb\tc", 40), "a [31mb c");
        assert_eq!(one_line("one two three", 9), "one two…");
        assert_eq!(one_line("a\u{202e}b\u{e0041}", 40), "a\\u{202e}b\\u{e0041}");
    }
}
