//! `application/x-www-form-urlencoded`: queries and the bodies of OAuth.

/// Pairs as a query or body says them.
pub(super) fn encode(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        push(&mut text, name);
        text.push('=');
        push(&mut text, value);
    }
    text
}

/// One text so that nothing in it means anything but itself.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    push(&mut escaped, text);
    escaped
}

fn push(text: &mut String, value: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// The pairs that a query says. What is no escape stays as it is.
pub(super) fn decode(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (plain(name), plain(value)))
        .collect()
}

fn plain(text: &str) -> String {
    unescaped(&text.replace('+', " "))
}

/// A text in which escapes stand for bytes. What is no escape stays as it is.
pub(in crate::child::http) fn unescaped(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let escape = digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2))).filter(|_| byte == b'%');
        match (escape, byte) {
            (Some((high, low)), _) => {
                found.push((high * 16 + low) as u8);
                at += 2;
            }
            (None, byte) => found.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&found).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let pairs = [("a b", "é&=%+"), ("x", ""), ("url", "https://a/?b#c")];
        let text = encode(&pairs);
        assert_eq!(text, "a%20b=%C3%A9%26%3D%25%2B&x=&url=https%3A%2F%2Fa%2F%3Fb%23c");
        let found = decode(&text);
        assert_eq!(found, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(decode("&a=%zz+%4&b"), [("a".to_owned(), "%zz %4".to_owned()), ("b".to_owned(), String::new())]);
    }
}
