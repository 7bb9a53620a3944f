//! `oauth` of a server with a `url`: what a login there needs that is not found out by itself.
//!
//! ```json
//! { "clientId": "abc", "clientSecret": "${SECRET}", "scopes": ["read"], "redirectPort": 8123 }
//! ```

use evokore_catalog::template::needed;
use jsonc_parser::ast::Value;

use super::placeholder;
use crate::json::{Reader, Spanned, span};
use crate::problem::Problem;

/// `oauth` as written.
#[derive(Debug, Clone, Default)]
pub struct OAuth {
    /// `clientId`.
    pub client_id: Option<String>,
    /// `clientSecret`, a text with a placeholder.
    pub client_secret: Option<String>,
    /// `scopes`.
    pub scopes: Vec<String>,
    /// `redirectPort` (or `callbackPort`).
    pub redirect_port: Option<u16>,
}

const KEYS: &[&str] = &["clientId", "clientSecret", "scopes", "redirectPort", "callbackPort"];

/// Reads `value`, the `oauth` of `place`.
pub(super) fn read(reader: &mut Reader<'_>, place: &str, value: &Value<'_>) -> OAuth {
    let what = format!("`oauth` of {place}");
    let mut oauth = OAuth::default();
    let Some(object) = reader.object(&what, value) else { return oauth };
    for property in reader.members(object) {
        let key = property.name.as_str();
        let member = format!("`{key}` in {what}");
        match key {
            "clientId" => oauth.client_id = text(reader, &member, &property.value).map(|text| text.value),
            "clientSecret" => {
                let secret = text(reader, &member, &property.value);
                oauth.client_secret = secret.filter(|secret| is_named(reader, &member, secret)).map(|text| text.value);
            }
            "scopes" => {
                let scopes = reader.texts(&member, &property.value).unwrap_or_default();
                oauth.scopes =
                    scopes.into_iter().filter(|scope| is_scope(reader, &member, scope)).map(|s| s.value).collect();
            }
            "redirectPort" | "callbackPort" => oauth.redirect_port = port(reader, &member, &property.value),
            _ => {
                reader.unknown_key(property, KEYS, &what);
            }
        }
    }
    if let (Some(_), None) = (&oauth.client_secret, &oauth.client_id) {
        reader.report(
            Problem::error(format!("{what} has a `clientSecret` and no `clientId`"))
                .hint("give both, as the authorization server gave them to you"),
            span(value),
        );
    }
    oauth
}

fn text(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<Spanned<String>> {
    let text = reader.text(what, value)?;
    placeholder::check(reader, what, &text);
    Some(text)
}

/// Secrets are named, never written: what is written gets into the executable.
fn is_named(reader: &mut Reader<'_>, what: &str, secret: &Spanned<String>) -> bool {
    let is_named = secret.value.contains("${") && !needed(&secret.value).is_empty();
    if !is_named {
        reader.report(
            Problem::error(format!("{what} holds the secret itself, which would get into the executable"))
                .hint("write `${NAME}` and set that variable"),
            secret.range.clone(),
        );
    }
    is_named
}

/// RFC 6749, 3.3: printable ASCII without space, quotation mark and backslash.
fn is_scope(reader: &mut Reader<'_>, what: &str, scope: &Spanned<String>) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    let is_scope = !scope.value.is_empty() && scope.value.bytes().all(is_fine);
    if !is_scope {
        reader.report(
            Problem::error(format!("{what} has `{}`, which is no scope", scope.value))
                .hint("write each scope as a text of its own, without spaces"),
            scope.range.clone(),
        );
    }
    is_scope
}

fn port(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<u16> {
    let number = reader.positive(what, value)?;
    let port = u16::try_from(number.value).ok();
    if port.is_none() {
        reader.report(
            Problem::error(format!("{what} is {}, which is no port", number.value)).hint("give a port up to 65535"),
            number.range,
        );
    }
    port
}
