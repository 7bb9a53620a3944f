//! Exposed names: how the tool of a child server is called towards clients.
//!
//! The name is `${serverId}_${tool}` whenever that is safe. It is a pure function of the server id, the tool's own
//! name and the configured ids, so it does not depend on which child boots first, and no two servers can meet in one
//! name: a name belongs to the *longest* configured id that prefixes it, and a tool whose plain name would lie in
//! another server's territory (`a` + `b_c` beside a server `a_b`) carries a suffix instead.

use sha2::{Digest, Sha256};

/// Longest exposed name, in characters: what the strictest clients and model interfaces accept.
pub const MAX_NAME: usize = 64;

/// Hexadecimal digits of the suffix of an altered name.
const SUFFIX: usize = 8;

/// The exposed name of `tool` of server `id`.
///
/// `ids` are all configured server ids; `is_native` says whether a name belongs to a native tool. Names outside
/// `[A-Za-z0-9_-]`, over [`MAX_NAME`], reserved by a native tool or in another server's territory are replaced by a
/// cleaned and shortened form with a suffix made from the identity `(id, tool)`.
pub fn exposed_name(id: &str, tool: &str, ids: &[&str], is_native: impl Fn(&str) -> bool) -> String {
    let plain = format!("{id}_{tool}");
    if !tool.is_empty() && is_safe(&plain) && owner(&plain, ids) == Some(id) && !is_native(&plain) {
        return plain;
    }
    let mut clean: String = plain.chars().map(|c| if is_safe_char(c) { c } else { '_' }).collect();
    clean.truncate(MAX_NAME - SUFFIX - 1);
    let mut hash = Sha256::new();
    hash.update(id.as_bytes());
    hash.update([0]);
    hash.update(tool.as_bytes());
    clean.push('_');
    for byte in &hash.finalize()[..SUFFIX / 2] {
        clean.push_str(&format!("{byte:02x}"));
    }
    clean
}

/// The server whose territory `name` lies in: the longest id that prefixes it, followed by `_`.
pub fn owner<'a>(name: &str, ids: &[&'a str]) -> Option<&'a str> {
    ids.iter()
        .filter(|id| name.strip_prefix(**id).is_some_and(|rest| rest.starts_with('_')))
        .max_by_key(|id| id.len())
        .copied()
}

/// Whether clients accept `name` as it is.
pub fn is_safe(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_safe_char)
}

fn is_safe_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(id: &str, tool: &str, ids: &[&str]) -> String {
        exposed_name(id, tool, ids, |name| name == "discover_tools")
    }

    #[test]
    fn plain_where_safe() {
        assert_eq!(name("fs", "read_file", &["fs"]), "fs_read_file");
        assert_eq!(name("a_b", "c", &["a", "a_b"]), "a_b_c");
        assert_eq!(name("a", "c", &["a", "a_b"]), "a_c");
    }

    #[test]
    fn altered_names_are_safe_distinct_and_stable() {
        let long = "x".repeat(80);
        let altered = [
            name("a", "b_c", &["a", "a_b"]),
            name("discover", "tools", &["discover"]),
            name("fake", "a.b", &["fake"]),
            name("fake", "a:b", &["fake"]),
            name("fake", "naïve", &["fake"]),
            name("fake", "", &["fake"]),
            name("fake", &long, &["fake"]),
        ];
        for (at, name) in altered.iter().enumerate() {
            assert!(is_safe(name), "{name}");
            assert!(!altered[..at].contains(name), "{name} twice");
        }
        assert_eq!(altered[2], name("fake", "a.b", &["fake", "other"]));
        assert!(altered[2].starts_with("fake_a_b_"));
        assert_eq!(altered[6].len(), MAX_NAME);
    }

    #[test]
    fn two_servers_never_share_a_name() {
        let ids = ["a", "a_b", "a_b_c"];
        let mut seen = std::collections::BTreeSet::new();
        for id in ids {
            for tool in ["b", "c", "b_c", "c_d", "b_c_d", "d"] {
                assert!(seen.insert(name(id, tool, &ids)), "{id} {tool}");
            }
        }
    }
}
