//! Frames: lines to the client, as segments of bytes that mostly exist already.

use bytes::Bytes;
use serde_json::json;

/// One line to the client, its end included. Segments are written in order, without being joined first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame(pub Vec<Bytes>);

impl Frame {
    /// An answer whose `result` member are `segments`. `id` is the request's id as it came.
    pub fn result(id: &str, segments: impl IntoIterator<Item = Bytes>) -> Frame {
        Frame::member(id, "result", segments)
    }

    /// An answer whose `error` member is `error`, a JSON object.
    pub fn raw_error(id: &str, error: Bytes) -> Frame {
        Frame::member(id, "error", [error])
    }

    /// An answer with an error of ours. Without an id it goes to whoever sent the line.
    pub fn error(id: Option<&str>, code: i64, message: &str) -> Frame {
        Frame::raw_error(id.unwrap_or("null"), json!({"code": code, "message": message}).to_string().into())
    }

    /// A notification; `params` is a JSON object.
    pub fn notification(method: &str, params: Option<&str>) -> Frame {
        let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
        Frame(vec![format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"{params}}}\n").into()])
    }

    /// A request of ours; `id` is JSON, `params` a JSON object.
    pub fn request(id: &str, method: &str, params: Bytes) -> Frame {
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":");
        Frame(vec![head.into(), params, Bytes::from_static(b"}\n")])
    }

    fn member(id: &str, name: &str, segments: impl IntoIterator<Item = Bytes>) -> Frame {
        let head = ["{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"", name, "\":"].concat();
        let mut frame = Vec::with_capacity(3);
        frame.push(Bytes::from(head));
        frame.extend(segments);
        frame.push(Bytes::from_static(b"}\n"));
        Frame(frame)
    }

    /// Bytes in all segments.
    pub fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
