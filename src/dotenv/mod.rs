//! The `.env` file: where it is looked for, and what its lines mean.
//!
//! The format is what people know from shells and other tools: `NAME=value`, `export NAME=value`, comments, single and
//! double quotes (which may span lines). Nothing is expanded: `$` means itself. Values never appear in a message.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use evokore_catalog::server::Transport;

use crate::catalog::CATALOG;
use crate::config_dir;
use crate::env_vars::{self, Group};

/// Longer files are not read; no list of variables is that long.
const MAX_BYTES: u64 = 1 << 20;

/// Most lines that are complained of one by one.
const MAX_WARNINGS: usize = 5;

/// What a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The variables; the last of several values holds.
    pub values: BTreeMap<String, String>,
    /// Lines that mean nothing.
    pub problems: Vec<Problem>,
}

/// A line that means nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line from 1.
    pub line: usize,
    /// The variable it is about, if that much could be read.
    pub name: Option<String>,
    /// What is wrong; holds no part of a value.
    pub message: &'static str,
}

/// What [`load`] found.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// Names that it sets and the environment does not, sorted.
    pub names: Vec<String>,
    /// One line each for stderr.
    pub warnings: Vec<String>,
}

/// Reads the first `.env` file there is and lays it under the environment.
///
/// A file in the folders of the configuration is trusted like them. One in the working directory belongs to whatever
/// the client works on, so only variables that evokore or its configuration names are taken from it: nothing in it
/// can reroute the child servers' network or programs.
///
/// # Errors
/// A line about a variable of evokore's own that means nothing: going on without, say, a role would fail open. Other
/// lines are warnings, since the file may belong to another program.
pub fn load() -> Result<Loaded, DotenvError> {
    let folders = config_dir::folders();
    let Some(at) = candidates(folders).iter().position(|path| path.is_file()) else { return Ok(Loaded::default()) };
    let is_trusted = at < folders.len();
    let path = candidates(folders).swap_remove(at);
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) => {
            let warning = format!("cannot read `{}`: {error}", path.display());
            return Ok(Loaded { warnings: vec![warning], ..Loaded::default() });
        }
    };
    let mut parsed = parse(&text);
    let mut warnings = Vec::new();
    for problem in parsed.problems {
        if problem.name.as_deref().is_some_and(|name| name.starts_with("EVOKORE_")) {
            return Err(DotenvError { path, problem });
        }
        warnings.push(format!("{}:{}: {problem}", path.display(), problem.line));
    }
    let more = warnings.len().saturating_sub(MAX_WARNINGS);
    warnings.truncate(MAX_WARNINGS);
    if more > 0 {
        warnings.push(format!("{}: {more} more lines mean nothing", path.display()));
    }
    for var in env_vars::VARS.iter().filter(|var| var.group == Group::Files) {
        // What says where approvals are kept and where commands start must not come from a file found that way.
        if parsed.values.remove(var.name).is_some() {
            let place = path.display();
            warnings.push(format!("{place}: `{}` is not read from here, only from the environment", var.name));
        }
    }
    if !is_trusted {
        parsed.values.retain(|name, _| env_vars::VARS.iter().any(|var| var.name == name) || is_configured(name));
    }
    let names = parsed.values.keys().filter(|name| env_vars::lookup_os(name).is_none()).cloned().collect();
    env_vars::set_overlay(parsed.values);
    Ok(Loaded { path: Some(path), names, warnings })
}

/// The text of the file.
///
/// # Errors
/// It cannot be read, is no regular file (opening one may wait forever) or is larger than 1 MiB.
pub(crate) fn read(path: &Path) -> std::io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the entry of a child server names the variable, in a placeholder or among what it inherits.
pub(crate) fn is_configured(name: &str) -> bool {
    let holds = |text: &&str| {
        text.split("${").skip(1).any(|inner| {
            let inner = inner.strip_prefix("env:").unwrap_or(inner);
            inner.strip_prefix(name).is_some_and(|rest| rest.starts_with(['}', ':']))
        })
    };
    CATALOG.servers.iter().any(|server| {
        let named = match server.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let env = env.iter().map(|(_, value)| *value);
                args.iter().copied().chain(env).chain([command]).chain(cwd).any(|text| holds(&text))
            }
            Transport::Http { url, headers, .. } => {
                let login = server.oauth.client_id.into_iter().chain(server.oauth.client_secret);
                headers.iter().map(|(_, value)| *value).chain([url]).chain(login).any(|text| holds(&text))
            }
        };
        named || server.inherit_env.contains(&name)
    })
}

/// Where a `.env` file may lie, best first: in the folders of the configuration, in the working directory.
fn candidates(folders: &[PathBuf]) -> Vec<PathBuf> {
    folders.iter().map(|folder| folder.join(".env")).chain([PathBuf::from(".env")]).collect()
}

/// Reads the text of a `.env` file.
pub fn parse(text: &str) -> Parsed {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parsed = Parsed::default();
    let (mut at, mut line) = (0, 1);
    while at < text.len() {
        let mut end = line_end(text, at);
        match assignment(&text[at..end]) {
            Ok(None) => {}
            Ok(Some((name, offset))) => match value(&text[at + offset..]) {
                Ok((value, length)) => {
                    parsed.values.insert(name.to_owned(), value);
                    // A quoted value may have ended some lines further down.
                    end = at + offset + length;
                }
                Err(message) => parsed.problems.push(Problem { line, name: Some(name.to_owned()), message }),
            },
            Err(message) => parsed.problems.push(Problem { line, name: None, message }),
        }
        line += text[at..end].matches('\n').count() + 1;
        at = end + 1;
    }
    parsed
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |length| from + length)
}

/// The name that `line` assigns to, and where its value begins; `None` for a blank line or a comment.
fn assignment(line: &str) -> Result<Option<(&str, usize)>, &'static str> {
    let blank = |text: &str| text.trim_ascii_start().is_empty() || text.trim_ascii_start().starts_with('#');
    if blank(line) {
        return Ok(None);
    }
    let (left, _) = line.split_once('=').ok_or("no `=` in the line")?;
    let name = left.trim_ascii();
    let name = name.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(name).trim_ascii();
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if starts && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')) {
        Ok(Some((name, left.len() + 1)))
    } else {
        Err("what stands before `=` is no name of a variable")
    }
}

/// The value at the start of `text` and how many bytes it takes, up to the end of its last line.
fn value(text: &str) -> Result<(String, usize), &'static str> {
    let start = text.find(|c| c != ' ' && c != '\t').unwrap_or(text.len());
    let quote = match text[start..].chars().next() {
        Some(quote @ ('"' | '\'')) => quote,
        _ => {
            let end = line_end(text, 0);
            return Ok((without_comment(&text[..end]).trim_ascii().to_owned(), end));
        }
    };
    let inner = &text[start + 1..];
    let length = closing(inner, quote).ok_or("the quote is never closed")?;
    let after = start + 1 + length + 1;
    let end = line_end(text, after);
    if !without_comment(&text[after..end]).trim_ascii().is_empty() {
        return Err("something stands after the closing quote");
    }
    let value = inner[..length].replace("\r\n", "\n");
    Ok((if quote == '"' { unescape(&value) } else { value }, end))
}

/// `text` up to a `#` that follows a blank.
fn without_comment(text: &str) -> &str {
    let comment = text.match_indices('#').find(|(at, _)| text[..*at].ends_with([' ', '\t']));
    comment.map_or(text, |(at, _)| &text[..at])
}

/// Position of the quote that closes `inner`; a backslash guards a double quote only.
fn closing(inner: &str, quote: char) -> Option<usize> {
    let mut guarded = false;
    inner.char_indices().find_map(|(at, c)| {
        let closes = c == quote && !guarded;
        guarded = quote == '"' && c == '\\' && !guarded;
        closes.then_some(at)
    })
}

/// Replaces the escapes of double quotes; an unknown one stays as it is written.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some(itself @ ('"' | '\\' | '$')) => out.push(itself),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{name}`: {}", self.message),
            None => f.write_str(self.message),
        }
    }
}

/// A `.env` file that is wrong about one of evokore's own variables.
#[derive(Debug, thiserror::Error)]
#[error("{}:{}: {problem}\nhint: mend the line, or set the variable in the environment and remove it here", path.display(), problem.line)]
pub struct DotenvError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong in it.
    pub problem: Problem,
}

#[cfg(test)]
mod tests;
