//! The `_meta` of a request: which era it speaks, where its progress goes, and what of it a child server gets.

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;

use crate::calls::Era;
use crate::calls::approval::{TOKEN_KEY, token_in};
use crate::child::{Capabilities, Level};
use evokore_catalog::members::Members;

/// The revision whose requests stand alone.
pub(super) const MODERN: &str = "2026-07-28";
/// The newest revision with a handshake.
pub(super) const LATEST_HANDSHAKE: &str = "2025-11-25";
/// All revisions that are spoken, oldest first.
pub(super) const SUPPORTED: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", LATEST_HANDSHAKE, MODERN];

/// Prefix of the protocol's own keys.
const RESERVED: &str = "io.modelcontextprotocol/";
/// Those of them that two neighbours say to each other; the others concern the tool's owner.
const BETWEEN_NEIGHBOURS: [&str; 4] = ["protocolVersion", "clientInfo", "clientCapabilities", "logLevel"];
/// Code of UnsupportedProtocolVersion (2026-07-28, basic § Error Codes).
const UNSUPPORTED_VERSION: i64 = -32022;

/// The `_meta` of a request.
#[derive(Debug, Default)]
pub(super) struct Meta<'a>(Members<'a>);

impl<'a> Meta<'a> {
    /// Reads the `_meta` of `params`.
    pub(super) fn of(params: Option<&Members<'a>>) -> Result<Meta<'a>, &'static str> {
        let Some(params) = params else { return Ok(Meta::default()) };
        match params.last("_meta").filter(|meta| meta.get() != "null") {
            None => Ok(Meta::default()),
            Some(meta) => Members::parse(meta.get()).map(Meta).map_err(|_| "`_meta` must be an object"),
        }
    }

    /// The era of the request: modern when it names its revision itself.
    ///
    /// # Errors
    /// The `error` member of the answer: a revision that is not spoken, or one of the keys that it requires is missing.
    pub(super) fn era(&self) -> Result<Era, Bytes> {
        let Some(version) = self.text("protocolVersion") else { return Ok(Era::Handshake) };
        if !SUPPORTED.contains(&version.as_str()) {
            return Err(json!({
                "code": UNSUPPORTED_VERSION,
                "message": format!("protocol version `{version}` is not spoken"),
                "data": {"supported": SUPPORTED, "requested": version},
            })
            .to_string()
            .into());
        }
        if version != MODERN {
            return Ok(Era::Handshake);
        }
        let capabilities = self.reserved("clientCapabilities");
        if !capabilities.is_some_and(|raw| raw.get().starts_with('{')) {
            return Err(json!({
                "code": crate::calls::outcome::INVALID_PARAMS,
                "message": format!("request _meta is missing or has malformed required fields: {RESERVED}clientCapabilities"),
            })
            .to_string()
            .into());
        }
        Ok(Era::Modern)
    }

    fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.reserved(key)?.get()).ok()
    }

    /// The last member that the protocol names `key`.
    fn reserved(&self, key: &str) -> Option<&'a RawValue> {
        let is_it = |name: &str| name.strip_prefix(RESERVED) == Some(key);
        self.0.0.iter().rev().find(|(name, _)| is_it(name)).map(|(_, value)| *value)
    }

    /// What the client offers for this request.
    pub(super) fn capabilities(&self) -> Capabilities {
        let declared = self.reserved("clientCapabilities");
        declared.map(|raw| Capabilities::of(raw.get())).unwrap_or_default()
    }

    /// From which level on the client wants log messages that belong to this request.
    pub(super) fn log_level(&self) -> Option<Level> {
        self.text("logLevel").and_then(|name| Level::of(&name))
    }

    /// What the client calls itself.
    pub(super) fn client_name(&self) -> Option<String> {
        let info = Members::parse(self.reserved("clientInfo")?.get()).ok()?;
        serde_json::from_str(info.last("name")?.get()).ok()
    }

    /// The client's progress token, a text or a whole number, as it came.
    pub(super) fn progress_token(&self) -> Option<&'a RawValue> {
        self.0.last("progressToken").filter(|token| {
            let token = token.get();
            token.starts_with('"') || token.strip_prefix('-').unwrap_or(token).bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// The approval token.
    pub(super) fn approval_token(&self) -> Option<String> {
        token_in(&self.0)
    }

    /// What a child server gets: everything but what concerns the two of us. `None` when nothing is left.
    pub(super) fn for_child(&self) -> Option<Box<RawValue>> {
        let kept: Vec<_> = self
            .0
            .0
            .iter()
            .filter(|(key, _)| key != "progressToken" && key != TOKEN_KEY && !is_between_neighbours(key))
            .cloned()
            .collect();
        if kept.is_empty() { None } else { RawValue::from_string(Members(kept).to_json()).ok() }
    }
}

fn is_between_neighbours(key: &str) -> bool {
    key.strip_prefix(RESERVED).is_some_and(|rest| BETWEEN_NEIGHBOURS.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(meta: &str, look: impl FnOnce(Meta<'_>) -> T) -> T {
        let params: Box<RawValue> = serde_json::from_str(&format!(r#"{{"_meta":{meta}}}"#)).unwrap();
        look(Meta::of(Some(&Members::parse(params.get()).unwrap())).unwrap())
    }

    #[test]
    fn eras() {
        let code = |meta: &str| {
            with(meta, |meta| meta.era().map_err(|error| String::from_utf8_lossy(&error)[..14].to_owned()))
        };
        assert_eq!(code("{}"), Ok(Era::Handshake));
        assert_eq!(code(r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}"#), Ok(Era::Handshake));
        assert_eq!(
            code(
                r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#
            ),
            Ok(Era::Modern)
        );
        assert_eq!(
            code(r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#),
            Err(r#"{"code":-32602"#.into())
        );
        assert_eq!(
            code(r#"{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}"#),
            Err(r#"{"code":-32022"#.into())
        );
    }

    #[test]
    fn a_child_gets_what_does_not_concern_the_two_of_us() {
        let meta = r#"{"vendor.example/x": 1.10,"progressToken":7,"_evokore_approval_token":"t","io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/related-task":{},"traceparent":"00"}"#;
        with(meta, |meta| {
            let kept = r#"{"vendor.example/x":1.10,"io.modelcontextprotocol/related-task":{},"traceparent":"00"}"#;
            assert_eq!(meta.for_child().unwrap().get(), kept);
            assert_eq!(meta.progress_token().map(RawValue::get), Some("7"));
        });
        with(r#"{"progressToken":1.5}"#, |meta| {
            assert!(meta.for_child().is_none() && meta.progress_token().is_none());
        });
    }
}
