//! Children that speak nothing but 2026-07-28: no handshake, every request says who asks and what the client offers.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::call::ChildReply;
use super::client::{Client, INVALID_PARAMS, METHOD_NOT_FOUND};
use super::connection::Connection;
use super::error::{ChildError, quoted};
use super::handshake::Hello;
use super::offers::Offers;
use evokore_catalog::members::Members;

/// The revision.
pub(super) const VERSION: &str = "2026-07-28";
/// Code of UnsupportedProtocolVersion (basic § Error Codes).
const UNSUPPORTED_VERSION: i64 = -32022;
/// Code of HeaderMismatch: over HTTP, the handshake lacks headers (basic/transports/streamable-http).
pub(super) const HEADER_MISMATCH: i64 = -32020;
/// A subscription that the child has ended is made anew after this.
const RESUBSCRIBE: Duration = Duration::from_secs(5);

/// Whether an error says that a server does not know the handshake: UnsupportedProtocolVersion, no such method, or
/// parameters without the `_meta` that this revision requires.
pub(super) fn knows_no_handshake(error: &ChildError) -> bool {
    matches!(
        error,
        ChildError::Refused { code: UNSUPPORTED_VERSION | HEADER_MISMATCH | METHOD_NOT_FOUND | INVALID_PARAMS, .. }
    )
}

/// Asks a child what it is instead of shaking hands (server/discover), and subscribes to its changes. From then on the
/// connection speaks this revision.
pub(super) async fn discover(connection: &Connection, id: &'static str, limit: Duration) -> Result<Hello, ChildError> {
    connection.speak_modern(true);
    let discovered = match connection.request("server/discover", "{}", limit).await {
        Ok(result) => read(&result).map_err(|what| ChildError::Protocol { id, what }),
        Err(error) => Err(error),
    };
    let (hello, filter) = discovered.inspect_err(|_| connection.speak_modern(false))?;
    connection.learn(hello.offers);
    if let Some(filter) = filter {
        tokio::spawn(subscribe(connection.clone(), filter));
    }
    Ok(hello)
}

/// What a child said of itself, and what it can be asked to tell of.
fn read(result: &[u8]) -> Result<(Hello, Option<String>), String> {
    #[derive(Deserialize)]
    struct Raw {
        #[serde(rename = "supportedVersions")]
        versions: Vec<String>,
        #[serde(default)]
        capabilities: Value,
        #[serde(default, rename = "_meta")]
        meta: Value,
    }
    let raw: Raw = serde_json::from_slice(result)
        .map_err(|error| format!("answered `server/discover` with something else: {error}"))?;
    if !raw.versions.iter().any(|version| version == VERSION) {
        let spoken = quoted(&raw.versions.join(", "), 120);
        return Err(format!(
            "speaks protocol versions `{spoken}`; evokore speaks {VERSION} and those with a handshake"
        ));
    }
    let info = &raw.meta["io.modelcontextprotocol/serverInfo"];
    let field = |name: &str| info.get(name).and_then(Value::as_str).unwrap_or_default();
    let server = quoted(&format!("{} {}", field("name"), field("version")), 120);
    let changes: serde_json::Map<String, Value> = ["tools", "prompts", "resources"]
        .iter()
        .filter(|list| raw.capabilities[**list]["listChanged"] == true)
        .map(|list| (format!("{list}ListChanged"), true.into()))
        .collect();
    let filter = (!changes.is_empty()).then(|| json!({"notifications": changes}).to_string());
    // One asks for updates of resources in the subscription, not by a request of its own.
    let offers = Offers { subscriptions: false, ..Offers::read(&raw.capabilities) };
    Ok((Hello { protocol: VERSION.to_owned(), server, logs: false, offers }, filter))
}

/// Keeps a subscription open as long as the connection lives; what it tells comes as notifications.
async fn subscribe(connection: Connection, filter: String) {
    loop {
        let subscription = connection.request("subscriptions/listen", &filter, super::server::LONGEST_LIMIT);
        let ended = tokio::select! {
            ended = subscription => ended,
            () = connection.over() => return,
        };
        match ended {
            // It does not know how.
            Err(ChildError::Refused { .. }) => return,
            _ => sleep(RESUBSCRIBE).await,
        }
        // What changed meanwhile was not told.
        connection.changes().mark_all();
    }
}

/// The `_meta` of a request to such a child: `meta` and what the revision requires; `tasks` tells that the answer may be
/// a task.
pub(super) fn meta(id: &str, meta: Option<&[u8]>, client: Option<&dyn Client>, tasks: bool) -> String {
    let offers = client.map(Client::capabilities).unwrap_or_default();
    let info = json!({"name": format!("evokore-proxy-{id}"), "version": env!("CARGO_PKG_VERSION")});
    let level = client
        .and_then(Client::level)
        .map(|level| format!(r#","io.modelcontextprotocol/logLevel":"{}""#, level.name()));
    let rest = super::frames::members(meta).map(|rest| format!(",{}", String::from_utf8_lossy(rest)));
    format!(
        concat!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"{}","io.modelcontextprotocol/clientInfo":{},"#,
            r#""io.modelcontextprotocol/clientCapabilities":{}{}{}}}"#
        ),
        VERSION,
        info,
        if tasks { offers.with_tasks().into() } else { Cow::Borrowed(offers.as_json()) },
        level.unwrap_or_default(),
        rest.unwrap_or_default(),
    )
}

/// A result by its `resultType`, which only this revision has. A member that says what is the case anyway is taken out.
pub(super) fn sorted(reply: ChildReply) -> ChildReply {
    let ChildReply::Result(bytes) = reply else { return reply };
    let Some(mut members) = std::str::from_utf8(&bytes).ok().and_then(|text| Members::parse(text).ok()) else {
        return ChildReply::Result(bytes);
    };
    match members.last("resultType").map(|kind| kind.get()) {
        Some("\"input_required\"") => ChildReply::InputRequired(bytes),
        Some("\"task\"") => ChildReply::Task(bytes),
        Some("\"complete\"") => {
            members.0.retain(|(key, _)| key != "resultType");
            ChildReply::Result(Bytes::from(members.to_json()))
        }
        _ => ChildReply::Result(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_child_says_of_itself() {
        let text = |versions: &str, capabilities: &str| {
            format!(
                concat!(
                    r#"{{"resultType":"complete","supportedVersions":{},"capabilities":{},"#,
                    r#""_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"n","version":"1"}}}}}}"#
                ),
                versions, capabilities
            )
        };
        for (versions, capabilities, filter) in [
            (r#"["2026-07-28"]"#, "{}", None),
            (r#"["2030-01-01","2026-07-28"]"#, r#"{"tools":{}}"#, None),
            (
                r#"["2026-07-28"]"#,
                r#"{"tools":{"listChanged":true},"prompts":{"listChanged":false}}"#,
                Some(r#"{"notifications":{"toolsListChanged":true}}"#),
            ),
        ] {
            let (hello, found) = read(text(versions, capabilities).as_bytes()).unwrap();
            assert_eq!((hello.protocol.as_str(), hello.server.as_str(), found.as_deref()), (VERSION, "n 1", filter));
        }
        for wrong in [text(r#"["2030-01-01"]"#, "{}"), "{}".to_owned(), "7".to_owned()] {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn results_are_sorted_by_their_type() {
        let result = |text: &'static str| ChildReply::Result(Bytes::from_static(text.as_bytes()));
        for (given, expected) in [
            (result(r#"{"resultType":"complete","z":1.10}"#), result(r#"{"z":1.10}"#)),
            (result(r#"{"z": 1}"#), result(r#"{"z": 1}"#)),
            (result(r#"{"resultType":"task"}"#), ChildReply::Task(Bytes::from_static(br#"{"resultType":"task"}"#))),
            (
                result(r#"{"resultType":"input_required"}"#),
                ChildReply::InputRequired(Bytes::from_static(br#"{"resultType":"input_required"}"#)),
            ),
        ] {
            assert_eq!(sorted(given), expected);
        }
    }

    #[test]
    fn a_request_says_who_asks() {
        let value: Value = serde_json::from_str(&meta("fs", Some(br#"{"a": 1.5}"#), None, false)).unwrap();
        assert_eq!(value["io.modelcontextprotocol/clientCapabilities"], json!({}));
        assert_eq!(value["io.modelcontextprotocol/protocolVersion"], VERSION);
        assert_eq!(value["a"], 1.5);
        let value: Value = serde_json::from_str(&meta("fs", None, None, true)).unwrap();
        let declared = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        assert_eq!(value["io.modelcontextprotocol/clientCapabilities"], declared);
    }
}
