//! Addresses of children's resources: the child's own URI behind the id of its server, so that no two servers can
//! meet in one, and the way back is to cut the prefix off. Templates are written the same way; whatever a client
//! expands in one, what it gets leads back to the child's own.

use crate::catalog::CATALOG;

/// Begins every address of a child's resource. The server's id and a slash follow, then the URI as it is.
const PREFIX: &str = "evokore://child/";

/// Bytes of an address that is looked up.
pub(super) const MAX_ADDRESS: usize = 64 << 10;

/// Under which address `uri` of server `id` is offered.
pub fn exposed(id: &str, uri: &str) -> String {
    format!("{PREFIX}{id}/{uri}")
}

/// The server and its own URI, if `address` is one of [`exposed`] and the server is configured.
pub(super) fn parse(address: &str) -> Option<(u16, &str)> {
    let (id, uri) = address.strip_prefix(PREFIX)?.split_once('/')?;
    let server = CATALOG.servers.iter().position(|spec| spec.id == id)?;
    Some((u16::try_from(server).ok()?, uri))
}

/// Whether a URI is part of a protocol of its own, which recognises it by its scheme: MCP Apps (`ui://`).
pub(super) fn is_fixed(uri: &str) -> bool {
    uri.starts_with("ui://")
}

/// Whether `uri` may be an expansion of `template` (RFC 6570). What an expression stands for is not read back, so this
/// is generous: `{name}` is anything but nothing within a segment of the path, every other expression anything at all.
pub(super) fn matches(template: &str, uri: &str) -> bool {
    let uri = uri.as_bytes();
    // The places in `uri` up to which it can match so far.
    let mut reached = vec![false; uri.len() + 1];
    reached[0] = true;
    let mut rest = template;
    loop {
        let (literal, after) = rest.split_once('{').unwrap_or((rest, ""));
        reached = past_literal(&reached, uri, literal.as_bytes());
        if literal.len() == rest.len() {
            return reached[uri.len()];
        }
        // An expression that does not end matches nothing.
        let Some((expression, after)) = after.split_once('}') else { return false };
        let is_simple = expression.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '%');
        reached = past_expression(&reached, uri, is_simple);
        rest = after;
    }
}

fn past_literal(reached: &[bool], uri: &[u8], literal: &[u8]) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    for (at, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
        if uri[at..].starts_with(literal) {
            next[at + literal.len()] = true;
        }
    }
    next
}

fn past_expression(reached: &[bool], uri: &[u8], is_simple: bool) -> Vec<bool> {
    let mut next = vec![false; reached.len()];
    let mut open = false;
    for at in 0..reached.len() {
        if is_simple {
            let ends = at > 0 && matches!(uri[at - 1], b'/' | b'?' | b'#');
            open &= !ends;
            next[at] = open;
            open |= reached[at];
        } else {
            open |= reached[at];
            next[at] = open;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back() {
        let id = CATALOG.servers[0].id;
        for uri in ["file:///a%20b/c d", "ui://x/y?z#w", "", "a//b", "evokore://child/other/x", "x://{+path}{?q*}"] {
            assert_eq!(parse(&exposed(id, uri)), Some((0, uri)));
        }
        for address in ["evokore://child/nobody/x", &format!("evokore://child/{id}"), "evokore://server/status", ""] {
            assert_eq!(parse(address), None, "{address}");
        }
    }

    #[test]
    fn templates_match_what_they_expand_to() {
        for (template, uri, expected) in [
            ("weather://{city}/now", "weather://berlin/now", true),
            ("weather://{city}/now", "weather:///now", false),
            ("weather://{city}/now", "weather://a/b/now", false),
            ("weather://{city}/now", "weather://berlin/now/", false),
            ("repo://{owner}/{repo}/contents{/path*}", "repo://a/b/contents/c/d", true),
            ("repo://{owner}/{repo}/contents{/path*}", "repo://a/b/contents", true),
            ("x://{+rest}", "x://a/b?c#d", true),
            ("x://a{?q,r}", "x://a?q=1&r=2", true),
            ("x://{a}-{b}", "x://1-2-3", true),
            ("x://{a}{b}", "x://1", false),
            ("plain://x", "plain://x", true),
            ("plain://x", "plain://xy", false),
            ("broken://{x", "broken://{x", false),
            ("x://é{n}", "x://éü", true),
        ] {
            assert_eq!(matches(template, uri), expected, "{template} {uri}");
        }
    }
}
