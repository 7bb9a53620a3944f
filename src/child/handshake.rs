//! What is said to a child before the first call: `initialize`, `notifications/initialized`, and its lists.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::connection::Connection;
use super::error::{ChildError, quoted};
use super::frames;
use super::modern;
use super::news;
use super::offers::Offers;
use super::tools::{Kind, Listing, Pages};

/// The version we ask for.
const PREFERRED: &str = "2025-11-25";
/// The versions of the handshake era. What we use of them is the same in all.
const KNOWN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", PREFERRED];

/// A child that is remembered to know no handshake answers within this, or may be another one meanwhile.
const RECOGNITION: Duration = Duration::from_secs(5);

/// JSON-RPC's code for a method that the other side does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// What a child said about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello {
    /// Protocol version.
    pub(super) protocol: String,
    /// Name and version, as far as it gave them.
    pub(super) server: String,
    /// It takes `logging/setLevel`.
    pub(super) logs: bool,
    /// What it has besides tools.
    pub(super) offers: Offers,
}

/// Gets to know the child; each step may take `limit`. One that is known to speak 2026-07-28 is asked in it at once, any
/// other when it answers that it knows no handshake. Where that is not true any more, one request is lost.
pub(super) async fn greet(
    connection: &Connection,
    id: &'static str,
    limit: Duration,
    is_modern: bool,
) -> Result<Hello, ChildError> {
    if is_modern && let Ok(hello) = modern::discover(connection, id, limit.min(RECOGNITION)).await {
        return Ok(hello);
    }
    match initialize(connection, id, limit).await {
        Err(error) if modern::knows_no_handshake(&error) => {
            modern::discover(connection, id, limit).await.map_err(|why| match why {
                // It is neither; what it said first is what it is about.
                ChildError::Refused { .. } => error,
                why => why,
            })
        }
        outcome => outcome,
    }
}

/// Shakes hands.
async fn initialize(connection: &Connection, id: &'static str, limit: Duration) -> Result<Hello, ChildError> {
    let info = json!({"name": format!("evokore-proxy-{id}"), "version": env!("CARGO_PKG_VERSION")});
    let client = connection.client();
    let offers = client.as_ref().map(|client| client.capabilities()).unwrap_or_default();
    let params =
        format!(r#"{{"protocolVersion":"{PREFERRED}","capabilities":{},"clientInfo":{info}}}"#, offers.as_json());
    let result = connection.request("initialize", &params, limit).await?;
    let hello = read_hello(&result).map_err(|what| ChildError::Protocol { id, what })?;
    connection.learn(hello.offers);
    connection.send(frames::notification("notifications/initialized")).await?;
    if let Some(client) = client {
        news::follow(connection, &*client, &offers, hello.logs);
    }
    Ok(hello)
}

fn read_hello(result: &[u8]) -> Result<Hello, String> {
    #[derive(Deserialize)]
    struct Raw {
        #[serde(rename = "protocolVersion")]
        protocol: String,
        #[serde(default, rename = "serverInfo")]
        server: Value,
        #[serde(default)]
        capabilities: Value,
    }
    let raw: Raw = serde_json::from_slice(result)
        .map_err(|error| format!("answered `initialize` with something else: {error}"))?;
    if !KNOWN.contains(&raw.protocol.as_str()) {
        let (known, found) = (KNOWN.join(", "), quoted(&raw.protocol, 40));
        return Err(format!("speaks protocol version `{found}`; evokore speaks {known} with child servers"));
    }
    let field = |name: &str| raw.server.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let server = quoted(&format!("{} {}", field("name"), field("version")), 120);
    let logs = raw.capabilities.get("logging").is_some_and(Value::is_object);
    Ok(Hello { protocol: raw.protocol, server, logs, offers: Offers::read(&raw.capabilities) })
}

/// Reads a whole list, of tools those that can be called; each page may take `limit`, all of them together `max_bytes`.
pub(super) async fn list(
    connection: &Connection,
    id: &'static str,
    kind: Kind,
    limit: Duration,
    max_bytes: usize,
) -> Result<Listing, ChildError> {
    let listing = walk(connection, id, kind, limit, max_bytes).await?;
    #[cfg(feature = "http")]
    let listing = connection.sifted(kind, listing);
    Ok(listing)
}

async fn walk(
    connection: &Connection,
    id: &'static str,
    kind: Kind,
    limit: Duration,
    max_bytes: usize,
) -> Result<Listing, ChildError> {
    let mut pages = Pages::of(kind);
    let mut params = "{}".to_owned();
    let mut first = true;
    loop {
        let next = match connection.request(kind.method(), &params, limit).await {
            Ok(result) => pages.add(&result, max_bytes).map_err(|what| ChildError::Protocol { id, what }),
            Err(error) => Err(error),
        };
        match next {
            Ok(Some(cursor)) => params = json!({"cursor": cursor}).to_string(),
            Ok(None) => return Ok(pages.finish()),
            // A server without tools need not know the method, nor one without templates its own.
            Err(ChildError::Refused { code: METHOD_NOT_FOUND, .. }) if first => {
                if kind != Kind::Templates {
                    pages.note(format!("does not know `{}`", kind.method()));
                }
                return Ok(pages.finish());
            }
            // The pages so far are better than none.
            Err(error) if !first && is_about_one_page(&error) => {
                pages.note(format!("broke its list of {} off: {error}", kind.nouns().1));
                return Ok(pages.finish());
            }
            Err(error) => return Err(error),
        }
        first = false;
    }
}

fn is_about_one_page(error: &ChildError) -> bool {
    matches!(error, ChildError::Refused { .. } | ChildError::Protocol { .. } | ChildError::TooLarge { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_child_says_of_itself() {
        let hello = |text: &str| read_hello(text.as_bytes()).map(|hello| (hello.protocol, hello.server));
        for version in KNOWN {
            let text = format!(r#"{{"protocolVersion":"{version}","serverInfo":{{"name":"n","version":"1"}},"x":1}}"#);
            assert_eq!(hello(&text), Ok((version.into(), "n 1".into())));
        }
        assert_eq!(
            hello(r#"{"protocolVersion":"2024-11-05","serverInfo":7}"#),
            Ok(("2024-11-05".into(), String::new()))
        );
        for text in [r#"{"protocolVersion":"1.0"}"#, "{}", "7", r#"{"protocolVersion":"2026-07-28"}"#] {
            assert!(hello(text).is_err(), "{text}");
        }
    }
}
