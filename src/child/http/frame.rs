//! What a frame of ours is, as far as sending it depends on that.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::mirror::Mirror;

/// What follows makes sense only after it.
pub(super) const INITIALIZED: &str = "notifications/initialized";

/// What is to be done with a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A request that is to be answered.
    Request(Head),
    /// [`INITIALIZED`].
    Initialized,
    /// `notifications/cancelled` for this request.
    Cancelled(u64),
    /// Anything else: a notification, an answer to the server.
    Aside,
}

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: u64,
    pub(super) method: String,
    /// The headers that 2026-07-28 has repeat what the body says, if the request is of that revision.
    pub(super) modern: Option<Echo>,
}

/// What a server of 2026-07-28 compares with the body (basic/transports/streamable-http, Standard Headers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Echo {
    /// `Mcp-Method`.
    pub(super) method: HeaderValue,
    /// `Mcp-Name`: the tool or prompt, the resource's URI, or the task's id.
    pub(super) name: Option<HeaderValue>,
    /// `Mcp-Param-…`: arguments of a tool.
    pub(super) params: Vec<(HeaderName, HeaderValue)>,
}

impl Head {
    pub(super) fn is_hello(&self) -> bool {
        self.method == "initialize"
    }

    /// Whether its answer may take as long as a task works: it holds no place that others need.
    pub(super) fn is_patient(&self) -> bool {
        self.method == "tasks/result"
    }

    /// Whether asking twice does no more than asking once. What a tool does is not known here.
    pub(super) fn is_idempotent(&self) -> bool {
        self.method != "tools/call"
    }
}

impl Echo {
    /// What is repeated of a request, if its `_meta` says that it is of 2026-07-28.
    fn of(method: &str, params: Option<&RawValue>, mirror: Option<&Mirror>) -> Option<Echo> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            name: Option<&'a RawValue>,
            #[serde(borrow)]
            uri: Option<&'a RawValue>,
            #[serde(borrow)]
            arguments: Option<&'a RawValue>,
            #[serde(borrow, rename = "taskId")]
            task: Option<&'a RawValue>,
            #[serde(rename = "_meta")]
            meta: Option<Meta>,
        }
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
            version: Option<IgnoredAny>,
        }
        let params: Params<'_> = serde_json::from_str(params?.get()).ok()?;
        params.meta?.version?;
        let name = match method {
            "tools/call" | "prompts/get" => params.name,
            "resources/read" => params.uri,
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.task,
            _ => None,
        };
        let name = name.and_then(|name| serde_json::from_str::<String>(name.get()).ok());
        let repeated = match (method, &name) {
            ("tools/call", Some(tool)) => mirror.map(|mirror| mirror.headers(tool, params.arguments)),
            _ => None,
        };
        let name = name.and_then(|name| HeaderValue::from_str(&plain(&name)).ok());
        Some(Echo { method: HeaderValue::from_str(method).ok()?, name, params: repeated.unwrap_or_default() })
    }
}

/// A text as a header may carry it: as it is, or in Base64 between marks (Value Encoding).
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain =
        text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) && text.trim() == text && !looks_encoded;
    if is_plain { text.into() } else { format!("=?base64?{}?=", STANDARD.encode(text)).into() }
}

impl Frame {
    /// Reads a frame. All of them are our own. Which arguments are repeated in headers is in `mirror`.
    pub(super) fn read(frame: &[u8], mirror: Option<&Mirror>) -> Frame {
        #[derive(Deserialize)]
        struct Raw<'a> {
            id: Option<u64>,
            #[serde(borrow)]
            method: Option<Cow<'a, str>>,
            #[serde(borrow)]
            params: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Cancelled {
            #[serde(rename = "requestId")]
            id: u64,
        }
        // What is neither a request nor a notification carries an id of the server's making.
        let Ok(raw) = serde_json::from_slice::<Raw<'_>>(frame) else { return Frame::Aside };
        match (raw.id, raw.method.as_deref()) {
            (Some(id), Some(method)) => {
                Frame::Request(Head { id, method: method.to_owned(), modern: Echo::of(method, raw.params, mirror) })
            }
            (None, Some(INITIALIZED)) => Frame::Initialized,
            (None, Some("notifications/cancelled")) => {
                let cancelled = raw.params.and_then(|params| serde_json::from_str::<Cancelled>(params.get()).ok());
                cancelled.map_or(Frame::Aside, |cancelled| Frame::Cancelled(cancelled.id))
            }
            _ => Frame::Aside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::call::ChildReply;
    use crate::child::frames;

    #[test]
    fn tells_our_frames_apart() {
        let request = frames::request(7, "tools/list", "{}");
        let read = |frame: &[u8]| Frame::read(frame, None);
        let Frame::Request(head) = read(&request) else { panic!("{request:?}") };
        assert_eq!((head.id, head.method.as_str(), head.is_idempotent()), (7, "tools/list", true));
        assert_eq!(head.modern, None, "the handshake era knows no such headers");
        assert_eq!(read(&frames::notification(INITIALIZED)), Frame::Initialized);
        assert_eq!(read(&frames::cancelled(9, "why")), Frame::Cancelled(9));
        let reply = ChildReply::Result("{}".into());
        for answer in [frames::reply(b"\"s\"", &reply), frames::reply(b"3", &reply)] {
            assert_eq!(read(&answer), Frame::Aside);
        }
    }

    #[test]
    fn requests_of_2026_07_28_are_repeated_in_headers() {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        for (method, params, name) in [
            ("tools/list", String::new(), None),
            ("tools/call", r#""name":"a b","uri":"u","#.to_owned(), Some("a b")),
            ("tools/call", r#""name":"\u00e9","#.to_owned(), Some("=?base64?w6k=?=")),
            ("tools/call", r#""name":" a","#.to_owned(), Some("=?base64?IGE=?=")),
            ("tools/call", r#""name":"=?base64?","#.to_owned(), Some("=?base64?")),
            ("tools/call", r#""name":"=?base64?=","#.to_owned(), Some("=?base64?PT9iYXNlNjQ/PQ==?=")),
            ("resources/read", r#""name":"n","uri":"a://b","#.to_owned(), Some("a://b")),
            ("tasks/get", r#""taskId":"7","uri":"u","#.to_owned(), Some("7")),
        ] {
            let frame = frames::request(1, method, &format!("{{{params}{meta}}}"));
            let Frame::Request(Head { modern: Some(echo), .. }) = Frame::read(&frame, None) else {
                panic!("{frame:?}")
            };
            assert_eq!(
                (echo.method.to_str().ok(), echo.name.as_ref().and_then(|name| name.to_str().ok())),
                (Some(method), name)
            );
        }
    }
}
