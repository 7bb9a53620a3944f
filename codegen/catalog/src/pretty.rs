//! JSON for eyes and diffs, without changing a token of it: numbers and escapes stay as they are spelled.

/// Containers that fit into this many characters stay on one line.
const NARROW: usize = 100;

/// `json`, which must be JSON without blanks between its tokens, indented by two blanks a level; short containers of
/// scalars stay on one line.
pub fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    write(json, 0, &mut out);
    out
}

fn write(json: &str, depth: usize, out: &mut String) {
    let (open, close) = match json.as_bytes().first() {
        Some(b'{') => ('{', '}'),
        Some(b'[') => ('[', ']'),
        _ => return out.push_str(json),
    };
    let parts = parts(json.get(1..json.len().saturating_sub(1)).unwrap_or(""));
    if parts.is_empty() || json.len() + depth * 2 <= NARROW && !parts.iter().any(|part| holds_container(part)) {
        return one_line(&parts, (open, close), out);
    }
    out.push(open);
    for (at, part) in parts.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        let (key, value) = member(part, open);
        out.push_str(&key);
        write(value, depth + 1, out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

fn one_line(parts: &[&str], (open, close): (char, char), out: &mut String) {
    let blank = if open == '{' && !parts.is_empty() { " " } else { "" };
    let parts: Vec<String> = parts
        .iter()
        .map(|part| {
            let (key, value) = member(part, open);
            format!("{key}{value}")
        })
        .collect();
    out.push_str(&format!("{open}{blank}{}{blank}{close}", parts.join(", ")));
}

/// The key of a member, with colon and blank, and its value; an element of a list is all value.
fn member(part: &str, open: char) -> (String, &str) {
    if open != '{' {
        return (String::new(), part);
    }
    let colon = walk(part).find(|(_, byte, depth)| *byte == b':' && *depth == 0).map_or(part.len(), |(at, ..)| at);
    (format!("{}: ", &part[..colon]), part.get(colon + 1..).unwrap_or(""))
}

fn holds_container(part: &str) -> bool {
    walk(part).any(|(_, byte, _)| matches!(byte, b'{' | b'['))
}

/// The members or elements between the brackets of a container.
fn parts(inner: &str) -> Vec<&str> {
    if inner.is_empty() {
        return Vec::new();
    }
    let commas = walk(inner).filter(|(_, byte, depth)| *byte == b',' && *depth == 0).map(|(at, ..)| at);
    let mut parts = Vec::new();
    let mut start = 0;
    for comma in commas {
        parts.push(&inner[start..comma]);
        start = comma + 1;
    }
    parts.push(&inner[start..]);
    parts
}

/// The bytes outside of strings, with their place and the number of containers around them.
fn walk(json: &str) -> impl Iterator<Item = (usize, u8, usize)> {
    let (mut in_string, mut escaped, mut depth) = (false, false, 0_usize);
    json.bytes().enumerate().filter_map(move |(at, byte)| {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            return None;
        }
        let around = depth;
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (byte != b'"').then_some((at, byte, around))
    })
}

#[cfg(test)]
mod tests {
    use crate::render::minify;
    use expect_test::expect;

    use super::*;

    #[test]
    fn pretty_text_is_the_same_json() {
        let json = r#"{"a":1e2,"b":"x{,}\" y","c":[],"d":{"e":[1,[2,{"f":{}}]],"g":{"h":"i","j":null}}}"#;
        let text = pretty(json);
        expect![[r#"
            {
              "a": 1e2,
              "b": "x{,}\" y",
              "c": [],
              "d": {
                "e": [
                  1,
                  [
                    2,
                    {
                      "f": {}
                    }
                  ]
                ],
                "g": { "h": "i", "j": null }
              }
            }"#]]
        .assert_eq(&text);
        assert_eq!(minify(&text), json);
    }
}
