//! The answers to `initialize` and `server/discover`. What is in them is known when the program is built, so they are
//! written here as bytes, and rmcp is not started for a client that only lists and calls tools.

use rmcp::model::InitializeRequestParams;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::meta::{LATEST_HANDSHAKE, MODERN, SUPPORTED};
use crate::instructions::INSTRUCTIONS;
use evokore_catalog::members::Members;

/// Name that clients see in `serverInfo`.
const NAME: &str = "evokore";

/// What this server offers, as the members of a JSON object. [`super::handler::Handler`] has the same as rmcp's type; a
/// test compares them.
const CAPABILITIES: &str = concat!(
    r#""logging":{},"completions":{},"prompts":{"listChanged":true},"#,
    r#""resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true}"#
);
/// What is added for 2025-11-25, and what for 2026-07-28. Whether a server has tasks is not known yet, and what is known
/// may change: each tool of the list says for itself whether it can be called as one, or its answer does.
const TASKS: &str = r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;
const TASKS_EXTENSION: &str = r#","extensions":{"io.modelcontextprotocol/tasks":{}}"#;

/// The `result` of `initialize`, and what rmcp is told about the client. A version that is not spoken is answered with
/// the newest that has a handshake (lifecycle, Version Negotiation).
///
/// # Errors
/// What is wrong with the parameters.
pub(super) fn initialize(params: Option<&RawValue>) -> Result<(String, Client), &'static str> {
    const NEEDED: &str = "`initialize` needs `params.protocolVersion`, a text such as \"2025-11-25\"";
    let params = params.ok_or(NEEDED)?;
    let members = Members::parse(params.get()).map_err(|_| NEEDED)?;
    let asked: String =
        members.last("protocolVersion").and_then(|raw| serde_json::from_str(raw.get()).ok()).ok_or(NEEDED)?;
    let spoken = SUPPORTED.iter().copied().filter(|version| *version != MODERN).find(|version| *version == asked);
    let version = spoken.unwrap_or(LATEST_HANDSHAKE);
    let tasks = if version == LATEST_HANDSHAKE { TASKS } else { "" };
    let result = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{{{CAPABILITIES}{tasks}}},"serverInfo":{},"instructions":{}}}"#,
        server_info(),
        instructions()
    );
    Ok((result, Client { params: params.to_owned(), version }))
}

/// The `result` of `server/discover` (2026-07-28).
pub(super) fn discover() -> String {
    format!(
        concat!(
            r#"{{"resultType":"complete","supportedVersions":{},"capabilities":{{{}{}}},"instructions":{},"#,
            r#""ttlMs":3600000,"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#
        ),
        json!(SUPPORTED),
        CAPABILITIES,
        TASKS_EXTENSION,
        instructions(),
        server_info()
    )
}

/// A client that has introduced itself.
#[derive(Debug, Clone)]
pub(super) struct Client {
    params: Box<RawValue>,
    version: &'static str,
}

impl Client {
    /// What it calls itself.
    pub(super) fn name(&self) -> Option<String> {
        let info = Members::parse(self.params.get()).ok()?.last("clientInfo")?;
        serde_json::from_str(Members::parse(info.get()).ok()?.last("name")?.get()).ok()
    }

    /// What it declared.
    pub(super) fn capabilities(&self) -> Option<&RawValue> {
        Members::parse(self.params.get()).ok()?.last("capabilities")
    }

    /// Its parameters as rmcp's type, under the version that was agreed on. `None`: they lack what rmcp insists on,
    /// which costs a lenient client nothing that this server offers.
    pub(super) fn for_rmcp(&self) -> Option<InitializeRequestParams> {
        let mut params: Value = serde_json::from_str(self.params.get()).ok()?;
        params["protocolVersion"] = self.version.into();
        serde_json::from_value(params).ok()
    }
}

fn server_info() -> String {
    format!(r#"{{"name":"{NAME}","title":"{NAME}","version":"{}"}}"#, env!("CARGO_PKG_VERSION"))
}

fn instructions() -> String {
    Value::from(INSTRUCTIONS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(params: &str) -> Result<String, &'static str> {
        let params: Box<RawValue> = serde_json::from_str(params).unwrap();
        let (result, _) = initialize(Some(&params))?;
        let result: Value = serde_json::from_str(&result).unwrap();
        assert_eq!(result["instructions"], INSTRUCTIONS);
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
        let is_latest = result["protocolVersion"] == LATEST_HANDSHAKE;
        assert_eq!(result["capabilities"].get("tasks"), is_latest.then_some(&tasks));
        Ok(result["protocolVersion"].as_str().unwrap().to_owned())
    }

    #[test]
    fn versions_are_negotiated() {
        for (asked, agreed) in [
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("1.0", "2025-11-25"),
        ] {
            assert_eq!(version(&format!(r#"{{"protocolVersion":"{asked}"}}"#)).as_deref(), Ok(agreed));
        }
        for params in ["{}", r#"{"protocolVersion":5}"#] {
            assert!(version(params).is_err(), "{params}");
        }
    }

    #[test]
    fn discover_is_json() {
        let result: Value = serde_json::from_str(&discover()).unwrap();
        assert_eq!(result["supportedVersions"], json!(SUPPORTED));
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["capabilities"]["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    }

    #[test]
    fn rmcp_is_told_the_same() {
        let params: Box<RawValue> = serde_json::from_str(
            r#"{"protocolVersion":"2030-01-01","capabilities":{"roots":{}},"clientInfo":{"name":"n","version":"1"}}"#,
        )
        .unwrap();
        let client = initialize(Some(&params)).unwrap().1.for_rmcp().unwrap();
        assert_eq!(client.protocol_version.as_str(), LATEST_HANDSHAKE);
        assert_eq!(client.client_info.name, "n");
        let capabilities = serde_json::to_value(super::super::handler::capabilities()).unwrap();
        assert_eq!(capabilities, serde_json::from_str::<Value>(&format!("{{{CAPABILITIES}}}")).unwrap());
    }
}
