//! Reading the members of a front matter that are written in more than one way.

use super::value::Value;

/// A text or list of texts; a single text is cut at commas. Empty items are dropped.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Text(text)) => clean(text.split(',')),
        Some(Value::List(list)) => clean(list.iter().filter_map(Value::as_text)),
        _ => Vec::new(),
    }
}

fn clean<'a>(items: impl Iterator<Item = &'a str>) -> Vec<String> {
    items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// A list of whole sentences: a single text is one item.
pub(super) fn sentences(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Text(text)) => clean(std::iter::once(text.as_str())),
        other => texts(other),
    }
}

/// The tools of `allowed-tools`: separated by blanks or commas outside brackets, or a list.
pub(super) fn tools(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Text(text)) => split_tools(text),
        other => texts(other),
    }
}

/// When there is a comma outside brackets, only commas separate; a tool may then hold blanks.
fn split_tools(text: &str) -> Vec<String> {
    let by_comma = pieces(text, |c| c == ',');
    if by_comma.len() > 1 { by_comma } else { pieces(text, char::is_whitespace) }
}

fn pieces(text: &str, separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut depth = 0usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && separates(c)
    });
    clean(parts)
}

/// Requirements as `name` or `name@constraint`, from texts and from maps with `name` and `minVersion` or `version`.
pub(super) fn requirements(value: Option<&Value>) -> Vec<String> {
    named(value, |item| {
        let name = item.get("name")?.as_text()?.trim();
        let at_least = item.get("minVersion").and_then(Value::as_text).map(|version| format!(">={}", version.trim()));
        let stated = || item.get("version").and_then(Value::as_text).map(|version| version.trim().to_owned());
        Some(match at_least.or_else(stated) {
            Some(constraint) => format!("{name}@{constraint}"),
            None => name.to_owned(),
        })
    })
}

/// Names, from texts and from maps with `name`.
pub(super) fn names(value: Option<&Value>) -> Vec<String> {
    named(value, |item| Some(item.get("name")?.as_text()?.trim().to_owned()))
}

fn named(value: Option<&Value>, of_map: impl Fn(&Value) -> Option<String>) -> Vec<String> {
    let one = |item: &Value| match item {
        Value::Text(text) => Some(text.trim().to_owned()),
        other => of_map(other),
    };
    match value {
        Some(Value::List(list)) => list.iter().filter_map(one).filter(|name| !name.is_empty()).collect(),
        Some(Value::Text(_)) => texts(value),
        Some(map) => one(map).into_iter().collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_in_every_spelling() {
        for (text, expected) in [
            ("Read", vec!["Read"]),
            (
                "Bash({baseDir}/scan.sh:*) Bash(git add *) Read",
                vec!["Bash({baseDir}/scan.sh:*)", "Bash(git add *)", "Read"],
            ),
            ("Read, Bash(gh:*, git:*), mcp__fs__read", vec!["Read", "Bash(gh:*, git:*)", "mcp__fs__read"]),
            ("Web Search, Read,", vec!["Web Search", "Read"]),
            ("Broken(a b) c) d", vec!["Broken(a b)", "c)", "d"]),
            ("Open(a, b", vec!["Open(a, b"]),
            ("  ", vec![]),
        ] {
            assert_eq!(split_tools(text), expected, "{text}");
        }
    }
}
