//! Scopes (RFC 6749, 3.3): what a login asks for. What a server has wanted once is asked for again, or a login for one
//! operation would take another one's away (MCP 2026-07-28, authorization, Step-Up Authorization Flow).

use super::challenge::Challenge;
use super::discovery::{Authority, Resource};
use crate::child::remote::Login;
use crate::state::tokens::Tokens;

/// Asks for a token that renews others, where that is a scope.
const OFFLINE: &str = "offline_access";
/// Scopes of one list that are kept.
const MOST: usize = 64;
/// Bytes of one.
const LONGEST: usize = 256;

/// The scopes of a list with blanks between them, each once. What is no scope is left out.
pub(super) fn read(text: &str) -> Vec<String> {
    let is_scope = |scope: &&str| {
        scope.len() <= LONGEST && scope.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
    };
    let mut found = Vec::new();
    add(&mut found, text.split_ascii_whitespace().filter(is_scope));
    found
}

/// Adds to `scopes` those of `more` that it lacks.
pub(super) fn add<'a>(scopes: &mut Vec<String>, more: impl IntoIterator<Item = &'a str>) {
    for scope in more {
        if scopes.len() < MOST && !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
}

/// Those of `wanted` that are not among `had`.
pub(super) fn without(wanted: &[String], had: &[String]) -> Vec<String> {
    wanted.iter().filter(|scope| !had.contains(scope)).cloned().collect()
}

/// What a login asks for: what is configured, else what the server asks for, else all that it knows; and besides, what
/// the login `before` was given and what the server has wanted since.
pub(super) fn of_login(
    login: &Login,
    challenge: &Challenge,
    resource: &Resource,
    authority: &Authority,
    before: Option<&Tokens>,
) -> String {
    let mut scopes = Vec::new();
    if !login.scopes.is_empty() {
        add(&mut scopes, login.scopes.iter().copied());
    } else if let Some(scope) = &challenge.scope {
        scopes = read(scope);
    } else {
        add(&mut scopes, resource.scopes.iter().map(String::as_str));
    }
    if let Some(before) = before {
        add(&mut scopes, before.scopes.iter().chain(&before.wanted_scopes).map(String::as_str));
    }
    let knows_offline = authority.scopes_supported.iter().any(|known| known == OFFLINE);
    if knows_offline && login.scopes.is_empty() && !scopes.is_empty() {
        add(&mut scopes, [OFFLINE]);
    }
    scopes.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_joined() {
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(read(&format!("a:b/c  a:b/c {long} d\u{e9} \"e ")), ["a:b/c"]);
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(read(&many.join(" ")).len(), MOST);
        let mut scopes = read("a b");
        add(&mut scopes, ["b", "c"]);
        assert_eq!((scopes.join(" "), without(&scopes, &read("c a"))), ("a b c".to_owned(), read("b")));
    }
}
