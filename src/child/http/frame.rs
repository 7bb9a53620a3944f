//! What a frame of ours is, as far as sending it depends on that.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

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
}

impl Head {
    pub(super) fn is_hello(&self) -> bool {
        self.method == "initialize"
    }

    /// Whether asking twice does no more than asking once. What a tool does is not known here.
    pub(super) fn is_idempotent(&self) -> bool {
        self.method != "tools/call"
    }
}

impl Frame {
    /// Reads a frame. All of them are our own.
    pub(super) fn read(frame: &[u8]) -> Frame {
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
            (Some(id), Some(method)) => Frame::Request(Head { id, method: method.to_owned() }),
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
        let Frame::Request(head) = Frame::read(&request) else { panic!("{request:?}") };
        assert_eq!((head.id, head.method.as_str(), head.is_idempotent()), (7, "tools/list", true));
        assert_eq!(Frame::read(&frames::notification(INITIALIZED)), Frame::Initialized);
        assert_eq!(Frame::read(&frames::cancelled(9, "why")), Frame::Cancelled(9));
        let reply = ChildReply::Result("{}".into());
        for answer in [frames::reply(b"\"s\"", &reply), frames::reply(b"3", &reply)] {
            assert_eq!(Frame::read(&answer), Frame::Aside);
        }
    }
}
