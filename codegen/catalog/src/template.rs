//! Placeholders in the texts of a server's configuration: `${NAME}`, `${NAME:-default}` and `${env:NAME}`.
//!
//! A default may hold placeholders itself. A text without `${` is returned as it is; `$` elsewhere has no meaning.

use std::borrow::Cow;

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// A `${` without its `}`; the byte offset of the `${`.
    Unclosed(usize),
    /// A name that is no variable name; byte offset of the `${` and the name.
    BadName(usize, String),
    /// Variables that are not set and have no default, in order of appearance.
    Missing(Vec<String>),
}

/// Replaces every placeholder of `text` by what `lookup` gives; an empty value counts as set.
///
/// # Errors
/// All missing variables at once, or the first syntax error.
pub fn expand<'a>(text: &'a str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Cow<'a, str>, TemplateError> {
    if !text.contains("${") {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut missing = Vec::new();
    expand_into(text, 0, lookup, &mut out, &mut missing, 0)?;
    if missing.is_empty() { Ok(Cow::Owned(out)) } else { Err(TemplateError::Missing(missing)) }
}

/// The variables that `text` needs: named without a default. Syntax errors give what was found before them.
pub fn needed(text: &str) -> Vec<String> {
    match expand(text, &|_| None) {
        Err(TemplateError::Missing(names)) => names,
        _ => Vec::new(),
    }
}

/// Defaults nested deeper than this are refused, which bounds the recursion.
const MAX_DEPTH: usize = 8;

fn expand_into(
    text: &str,
    base: usize,
    lookup: &dyn Fn(&str) -> Option<String>,
    out: &mut String,
    missing: &mut Vec<String>,
    depth: usize,
) -> Result<(), TemplateError> {
    let mut rest = text;
    let mut at = base;
    while let Some(start) = rest.find("${") {
        out.push_str(&rest[..start]);
        let offset = at + start;
        let inner = &rest[start + 2..];
        let end = closing(inner).filter(|_| depth < MAX_DEPTH).ok_or(TemplateError::Unclosed(offset))?;
        let body = &inner[..end];
        let (name, default) = match body.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (body, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(TemplateError::BadName(offset, name.to_owned()));
        }
        match (lookup(name), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => {
                expand_into(default, offset + body.len() - default.len() + 2, lookup, out, missing, depth + 1)?;
            }
            (None, None) => missing.push(name.to_owned()),
        }
        rest = &inner[end + 1..];
        at = offset + 2 + end + 1;
    }
    out.push_str(rest);
    Ok(())
}

/// Position of the `}` that closes a placeholder whose `${` has just been read.
fn closing(inner: &str) -> Option<usize> {
    let bytes = inner.as_bytes();
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                depth += 1;
                at += 1;
            }
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/home/me".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn replaces() {
        for (text, expected) in [
            ("plain $5", "plain $5"),
            ("${HOME}/x", "/home/me/x"),
            ("${env:HOME}", "/home/me"),
            ("[${EMPTY}]", "[]"),
            ("${LABEL:-a:-b}", "a:-b"),
            ("${LABEL:-}", ""),
            ("${HOME:-other}", "/home/me"),
            ("${LABEL:-${HOME}/y}z", "/home/me/yz"),
        ] {
            assert_eq!(expand(text, &lookup).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses() {
        assert_eq!(expand("a${B", &lookup), Err(TemplateError::Unclosed(1)));
        assert_eq!(expand("${A B}", &lookup), Err(TemplateError::BadName(0, "A B".into())));
        assert_eq!(expand("${X} ${Y} ${HOME}", &lookup), Err(TemplateError::Missing(vec!["X".into(), "Y".into()])));
        assert!(expand(&"${A:-".repeat(1000), &lookup).is_err());
    }
}
