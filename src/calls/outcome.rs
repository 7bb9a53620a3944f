//! The two forms of an answer. The only place that knows how MCP spells them.

use bytes::Bytes;
use serde_json::{Value, json};

/// JSON-RPC: the method's parameters are wrong. Also MCP's code for an unknown tool (server/tools § Error Handling).
pub const INVALID_PARAMS: i64 = -32602;

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The bytes of the `result` member.
    Result(Bytes),
    /// The bytes of the `error` member, as a child sent them.
    RawError(Bytes),
    /// A protocol error of our own.
    Error {
        /// JSON-RPC code.
        code: i64,
        /// Message for the client program.
        message: String,
    },
}

impl Outcome {
    /// A result that the model should act on: `isError` with one text block.
    pub fn error_text(text: &str) -> Outcome {
        Outcome::Result(json!({"content": [{"type": "text", "text": text}], "isError": true}).to_string().into())
    }

    /// A result with one text block each.
    pub fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Outcome {
        let blocks: Vec<Value> = texts.into_iter().map(|text| json!({"type": "text", "text": text})).collect();
        Outcome::Result(json!({ "content": blocks }).to_string().into())
    }

    /// The same as a result that the model should act on, where a protocol error of ours is about what the model wrote.
    pub fn for_the_model(self) -> Outcome {
        match self {
            Outcome::Error { message, .. } => Outcome::error_text(&message),
            outcome => outcome,
        }
    }

    /// A protocol error about the request's parameters.
    pub fn invalid_params(message: impl Into<String>) -> Outcome {
        Outcome::Error { code: INVALID_PARAMS, message: message.into() }
    }
}
