//! `WWW-Authenticate` (RFC 9110, 11.6.1): what a server says about the login that it wants.

use hyper::header::WWW_AUTHENTICATE;
use hyper::{HeaderMap, StatusCode};

use super::scope;

/// What the challenge `Bearer` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where the protected resource is described (RFC 9728, 5.1).
    pub(super) resource_metadata: Option<String>,
    /// What to ask for.
    pub(super) scope: Option<String>,
    /// Why a request was refused (RFC 6750, 3.1).
    error: Option<String>,
}

/// The scopes that an answer says a token lacks (RFC 6750, 3.1: `insufficient_scope`), if it does; none if it does not
/// say which.
pub(in crate::child::http) fn lacking(status: StatusCode, headers: &HeaderMap) -> Option<Vec<String>> {
    if status != StatusCode::FORBIDDEN {
        return None;
    }
    let Challenge { scope, error, .. } = Challenge::of(headers);
    error.filter(|error| error == "insufficient_scope")?;
    Some(scope::read(&scope.unwrap_or_default()))
}

impl Challenge {
    pub(super) fn of(headers: &HeaderMap) -> Challenge {
        let mut found = Challenge::default();
        for text in headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()) {
            found.read(text);
        }
        found
    }

    fn read(&mut self, mut text: &str) {
        let mut is_bearer = false;
        loop {
            text = text.trim_start_matches([' ', '\t', ',']);
            let end = text.find(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | '='));
            let word = &text[..end.unwrap_or(text.len())];
            text = &text[word.len()..];
            let Some(rest) = text.trim_start().strip_prefix('=').filter(|_| !word.is_empty()) else {
                if word.is_empty() {
                    return;
                }
                // A word without a value is the name of a scheme.
                is_bearer = word.eq_ignore_ascii_case("bearer");
                continue;
            };
            let (value, rest) = value(rest.trim_start());
            text = rest;
            let slot = match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => &mut self.resource_metadata,
                "scope" => &mut self.scope,
                "error" => &mut self.error,
                _ => continue,
            };
            if is_bearer && slot.is_none() {
                *slot = Some(value);
            }
        }
    }
}

/// A token or quoted string at the beginning of `text`, and what follows.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c.is_ascii_whitespace() || c == ',').unwrap_or(text.len());
        // Credentials in base64 may begin with what looks like a name and end in `=`.
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_bearer_says() {
        let full =
            r#"Basic realm="a, Bearer scope=b", bEARER  Error = "x\"y" , scope="a b",resource_metadata=https://a/b"#;
        for (text, metadata, scope) in [
            (full, Some("https://a/b"), Some("a b")),
            ("Bearer", None, None),
            (r#"Bearer resource_metadata="https://a", scope="#, Some("https://a"), Some("")),
            (r#"Bearer scope="open"#, None, Some("open")),
            (r#"Digest scope="no", resource_metadata="no""#, None, None),
            ("Negotiate abc==, Bearer scope=x", None, Some("x")),
            ("=,=", None, None),
            ("", None, None),
        ] {
            let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, text.parse().expect("a value"))]);
            let found = Challenge::of(&headers);
            assert_eq!((found.resource_metadata.as_deref(), found.scope.as_deref()), (metadata, scope), "{text}");
        }
    }

    #[test]
    fn tells_want_of_scopes_from_other_refusals() {
        for (status, text, expected) in [
            (403, r#"Bearer error="insufficient_scope", scope="a  b a""#, Some(&["a", "b"][..])),
            (403, "Basic x, bearer scope=a, error=insufficient_scope", Some(&["a"])),
            (403, r#"Bearer error="insufficient_scope""#, Some(&[])),
            (403, r#"Bearer error="invalid_token", scope="a""#, None),
            (403, r#"DPoP error="insufficient_scope", scope="a""#, None),
            (401, r#"Bearer error="insufficient_scope", scope="a""#, None),
        ] {
            let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, text.parse().expect("a value"))]);
            let found = lacking(StatusCode::from_u16(status).expect("a status"), &headers);
            assert_eq!(
                found,
                expected.map(|scopes| scopes.iter().map(|scope| (*scope).to_owned()).collect()),
                "{text}"
            );
        }
    }
}
