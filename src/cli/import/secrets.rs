//! Secrets that stand in an entry in the clear: found to be pointed out, and hidden wherever an entry is shown.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::resources::redact::{is_random, is_secret_name};

/// A secret in the clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clear {
    /// Its key, such as `env.TOKEN`.
    pub(super) key: String,
    /// The variable that could stand for it.
    pub(super) variable: String,
}

/// Most secrets that are looked for in one text.
const MOST: usize = 8;

/// The secrets of `entry`, the server `id`, and the entry as it may be shown: variables in their place.
pub(super) fn find(id: &str, entry: &Map<String, Value>) -> (Vec<Clear>, Map<String, Value>) {
    let (mut found, mut shown) = (Vec::new(), entry.clone());
    let mut hide = |key: String, name: &str, value: &mut Value, variable: String| {
        let Value::String(text) = value else { return };
        for n in 1..=MOST {
            let Some(range) = secret(name, text) else { break };
            let variable = if n == 1 { variable.clone() } else { format!("{variable}_{n}") };
            text.replace_range(range, &format!("${{{variable}}}"));
            found.push(Clear { key: key.clone(), variable });
        }
    };
    for key in ["env", "headers"] {
        let Some(Value::Object(pairs)) = shown.get_mut(key) else { continue };
        for (name, value) in pairs {
            let is_variable = key == "env" && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let variable = if is_variable { name.clone() } else { made(id, name) };
            hide(format!("{key}.{name}"), name, value, variable);
        }
    }
    if let Some(Value::Array(args)) = shown.get_mut("args") {
        let mut flag = String::new();
        for (at, arg) in args.iter_mut().enumerate() {
            let text = arg.as_str().unwrap_or_default().to_owned();
            let is_flag = text.starts_with('-') && !text.contains('=');
            if !is_flag {
                hide(format!("args[{at}]"), &flag, arg, made(id, &format!("ARG_{at}")));
            }
            flag = if is_flag { text } else { String::new() };
        }
    }
    for (key, variable) in [("command", "COMMAND"), ("url", "URL_SECRET")] {
        if let Some(text) = shown.get_mut(key) {
            hide(key.to_owned(), "", text, made(id, variable));
        }
    }
    (found, shown)
}

/// A name for a variable that holds a secret of server `id`.
fn made(id: &str, name: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("{id}_{name}").chars().map(clean).collect()
}

/// Where the first secret of `text` stands, the value of what is called `name`. What stands in a placeholder is none.
fn secret(name: &str, text: &str) -> Option<Range<usize>> {
    let text = &masked(text);
    let whole = is_secret_name(name).then(|| value_at(text, 0)).flatten();
    whole.or_else(|| assigned(text)).or_else(|| password(text)).or_else(|| random(text))
}

/// What stands for each byte of a placeholder.
const MASK: char = '\0';

/// `text` with its placeholders masked, byte for byte.
fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        let opens = text[at..].starts_with("${");
        depth += usize::from(opens);
        if depth > 0 {
            out.extend(std::iter::repeat_n(MASK, c.len_utf8()));
        } else {
            out.push(c);
        }
        if c == '}' {
            depth = depth.saturating_sub(1);
        }
    }
    out
}

/// The value at byte `at` of `text`, up to its end, unless it is none that could be secret.
fn value_at(text: &str, at: usize) -> Option<Range<usize>> {
    let value = text.get(at..)?;
    let skipped = value.len() - value.trim_start().len();
    let value = value.trim();
    let scheme =
        ["Bearer ", "Basic ", "Token "].iter().find(|scheme| value.starts_with(**scheme)).map_or(0, |it| it.len());
    let word = &value[scheme..];
    let is_plain = word.is_empty() || word.parse::<f64>().is_ok() || matches!(word, "true" | "false");
    let start = at + skipped + scheme;
    (!is_plain && !word.contains(MASK)).then_some(start..start + word.len())
}

/// The value in `name=value` or `name: value`, alone or in a list such as that of a URL, where the name is a secret one.
fn assigned(text: &str) -> Option<Range<usize>> {
    let ends = |c: char| matches!(c, '&' | ';' | '?' | '#' | ' ' | ',' | '{' | '"');
    let mut found = text.match_indices(['=', ':']).filter(|(at, _)| !text[at + 1..].starts_with("//"));
    found.find_map(|(at, sign)| {
        let name = text[..at].trim_end_matches('"');
        let name = &name[name.rfind(ends).map_or(0, |start| start + 1)..];
        if !is_secret_name(name) {
            return None;
        }
        // A header's value may hold blanks.
        let start = at + 1 + text[at + 1..].find(|c| c != '"' && c != ' ').unwrap_or(0);
        let stops = |c: char| matches!(c, '&' | ';' | '#' | '"') || (sign == "=" && c == ' ');
        let end = text[start..].find(stops).map_or(text.len(), |length| start + length);
        value_at(&text[..end], start)
    })
}

/// The password in a URL.
fn password(text: &str) -> Option<Range<usize>> {
    let start = text.find("://")? + 3;
    let authority = &text[start..];
    let authority = &authority[..authority.find(['/', '?', '#']).unwrap_or(authority.len())];
    let end = authority.rfind('@')?;
    let colon = authority[..end].find(':')?;
    value_at(&text[..start + end], start + colon + 1)
}

/// A word that is a key by its looks.
fn random(text: &str) -> Option<Range<usize>> {
    let separates = |c: char| "/\\=:,;&?@\"' ".contains(c);
    let mut start = 0;
    text.split_inclusive(separates).find_map(|piece| {
        let word = piece.trim_end_matches(separates);
        let range = start..start + word.len();
        start += piece.len();
        (!word.contains(MASK) && is_random(word)).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_secret_is_found() {
        for (name, text, expected) in [
            ("API_KEY", "hunter2", Some("hunter2")),
            ("Authorization", "Bearer hunter2", Some("hunter2")),
            ("Authorization", "Bearer ${TOKEN}", None),
            ("API_KEY", "${KEY:-}", None),
            ("TOKEN", "${A:-${B}}", None),
            ("", "${A:-ä=b} token=hunter2", Some("hunter2")),
            ("MAX_TOKENS", "4096", None),
            ("USE_TOKEN", "true", None),
            ("LEVEL", "debug", None),
            ("--token", "hunter2", Some("hunter2")),
            ("-u", "server.py", None),
            ("-e", "TOKEN=hunter2", Some("hunter2")),
            ("-e", "LEVEL=debug", None),
            ("--header", "X-Api-Key: hunter two", Some("hunter two")),
            ("", "--api-key=hunter2", Some("hunter2")),
            ("", "{\"token\": \"hunter2\", \"a\": 1}", Some("hunter2")),
            ("", "https://h.test/mcp?a=1&key=hunter2&b=2", Some("hunter2")),
            ("", "postgres://me:hunter2@h.test:5432/db", Some("hunter2")),
            ("", "git+https://h.test/me/tool@main", None),
            ("", "https://h.test/s/ab12cd34ef56gh78ij90/mcp", Some("ab12cd34ef56gh78ij90")),
            ("", "ghp_0123456789abcdef", Some("ghp_0123456789abcdef")),
            ("", "@scope/server-github@1.2.3", None),
            ("", "C:\\Users\\me\\file.js", None),
        ] {
            assert_eq!(secret(name, text).map(|range| &text[range]), expected, "{name} {text}");
        }
    }

    #[test]
    fn every_secret_of_a_text_gets_its_variable() {
        let entry = serde_json::json!({"args": ["--url", "https://h.test/?key=one&token=two", "ok"]});
        let (found, shown) = find("a-b", entry.as_object().expect("an object"));
        assert_eq!(shown["args"][1], "https://h.test/?key=${A_B_ARG_1}&token=${A_B_ARG_1_2}");
        assert_eq!(found.len(), 2);
    }
}
