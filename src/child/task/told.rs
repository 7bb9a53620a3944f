//! What the messages of a child say of its tasks.

use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;

use crate::child::call::{ChildCall, ChildReply, Method};
use crate::child::{frames, modern};

/// The answer that tells of a new task is small; a result of more bytes is none.
const MAX_MADE: usize = 16 << 10;

/// The result that a task of 2026-07-28 came to, as the answer of the call itself would have been.
pub fn completed(result: Bytes) -> Bytes {
    match modern::sorted(ChildReply::Result(result)) {
        ChildReply::Result(result)
        | ChildReply::InputRequired(result)
        | ChildReply::Task(result)
        | ChildReply::Error(result) => result,
    }
}

/// A task as a child tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The child's own id.
    pub id: String,
    /// What has become of it.
    pub status: Status,
    /// How often it wants to be asked at most, if it says so.
    pub pause: Option<Duration>,
    /// How long it keeps the task, from its making on; `None`: it does not say, or for ever.
    pub ttl: Option<Duration>,
    /// It is a task of the extension.
    pub is_modern: bool,
}

/// What has become of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It goes on.
    Working,
    /// It goes on when it has been told something.
    InputRequired,
    /// It has a result.
    Completed,
    /// It has an error, or in the handshake era a result that is one.
    Failed,
    /// It was given up.
    Cancelled,
}

impl Status {
    /// Whether it stays so.
    pub fn is_final(self) -> bool {
        !matches!(self, Status::Working | Status::InputRequired)
    }
}

impl Told {
    /// Reads the result that a call has in place of its own because it has become a task.
    pub fn made(result: &[u8]) -> Option<Told> {
        let members = Members::parse(std::str::from_utf8(result).ok()?).ok()?;
        match members.last("task") {
            Some(task) => Told::read(task.get(), false),
            None => Told::read(std::str::from_utf8(result).ok()?, true),
        }
    }

    /// Reads what tells of one task: the result of `tasks/get`.
    pub fn read(task: &str, is_modern: bool) -> Option<Told> {
        let members = Members::parse(task).ok()?;
        let text = |key: &str| serde_json::from_str::<String>(members.last(key)?.get()).ok();
        let duration = |key: &str| {
            let ms: f64 = serde_json::from_str(members.last(key)?.get()).ok()?;
            Duration::try_from_secs_f64(ms / 1000.0).ok()
        };
        let (pause, ttl) = if is_modern { ("pollIntervalMs", "ttlMs") } else { ("pollInterval", "ttl") };
        let status = match text("status").as_deref() {
            Some("input_required") => Status::InputRequired,
            Some("completed") => Status::Completed,
            Some("failed") => Status::Failed,
            Some("cancelled") => Status::Cancelled,
            // What it does not say, or what nobody knows, is not the end.
            _ => Status::Working,
        };
        Some(Told { id: text("taskId")?, status, pause: duration(pause), ttl: duration(ttl), is_modern })
    }
}

/// What an answer says of the task that `call` was about: its id, and how long it may still need its server; `None`
/// if not at all.
pub(in crate::child) fn seen(call: &ChildCall, reply: &ChildReply) -> Option<(String, Option<Lasting>)> {
    let lasting = |told: Told| (told.id, (!told.status.is_final()).then_some(Lasting(told.ttl)));
    let named = || {
        let members = Members::parse(std::str::from_utf8(call.others.as_deref()?).ok()?).ok()?;
        serde_json::from_str::<String>(members.last("taskId")?.get()).ok()
    };
    match (call.method, reply) {
        (Method::CallTool, ChildReply::Task(made)) => Told::made(made).map(lasting),
        (Method::GetTask | Method::CancelTask, ChildReply::Result(task)) => {
            Told::read(std::str::from_utf8(task).ok()?, memchr::memmem::find(task, b"ttlMs").is_some()).map(lasting)
        }
        // Whatever it is, it is over, or unknown.
        (Method::TaskResult, _) | (Method::GetTask, ChildReply::Error(_)) => Some((named()?, None)),
        _ => None,
    }
}

/// For how long a task lasts from now on, if its server says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::child) struct Lasting(pub(in crate::child) Option<Duration>);

/// The further members of a call of the handshake era with the wish that it become a task.
pub(in crate::child) fn wished_for(others: Option<&[u8]>) -> Bytes {
    match frames::members(others) {
        Some(rest) => [b"{\"task\":{},", rest, b"}"].concat().into(),
        None => Bytes::from_static(b"{\"task\":{}}"),
    }
}

/// The child's own id of the task that an answer of the handshake era tells of in place of a result.
pub(in crate::child) fn made_of(result: &[u8]) -> Option<String> {
    // Most results begin with what tells that they are none.
    if result.len() > MAX_MADE
        || result.starts_with(br#"{"content""#)
        || memchr::memmem::find(result, b"\"taskId\"").is_none()
    {
        return None;
    }
    let members = Members::parse(std::str::from_utf8(result).ok()?).ok()?;
    let task = members.last("task").filter(|_| members.get("content").is_none())?;
    Told::read(task.get(), false).map(|told| told.id)
}

/// The answer of the handshake era to a call, which may be that it has become a task.
pub(in crate::child) fn sorted(reply: ChildReply) -> ChildReply {
    match reply {
        ChildReply::Result(bytes) if made_of(&bytes).is_some() => ChildReply::Task(bytes),
        reply => reply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_tells_of_a_task_is_known() {
        let told = |is_modern| Told {
            id: "1".into(),
            status: Status::Working,
            pause: Some(Duration::from_millis(500)),
            ttl: None,
            is_modern,
        };
        let made = br#"{"task":{"taskId":"1","status":"working","ttl":null,"pollInterval":500}}"#;
        let modern = br#"{"resultType":"task","taskId":"1","status":"working","ttlMs":null,"pollIntervalMs":500}"#;
        assert_eq!((Told::made(made), Told::made(modern)), (Some(told(false)), Some(told(true))));
        for (result, is_task) in [
            (r#"{"task":{"taskId":"1"}}"#, true),
            (r#"{"task":{"taskId":"1"},"content":[]}"#, false),
            (r#"{"content":[{"type":"text","text":"\"taskId\""}]}"#, false),
            (r#"{"task":{"taskId":1}}"#, false),
            (r#"{"taskId":"1"}"#, false),
        ] {
            let reply = sorted(ChildReply::Result(Bytes::from(result)));
            assert_eq!(matches!(reply, ChildReply::Task(_)), is_task, "{result}");
        }
    }

    #[test]
    fn what_is_over_needs_no_server() {
        let about = |method, reply| {
            let others = Some(Bytes::from_static(br#"{"taskId":"1"}"#));
            seen(&ChildCall { method, others, ..ChildCall::default() }, &reply)
        };
        let result = |text: &'static str| ChildReply::Result(Bytes::from_static(text.as_bytes()));
        let error = || ChildReply::Error(Bytes::from_static(b"{}"));
        let minute = Some(Lasting(Some(Duration::from_secs(60))));
        for (method, reply, expected) in [
            (Method::GetTask, result(r#"{"taskId":"1","status":"working","ttl":60000}"#), Some(minute)),
            (Method::GetTask, result(r#"{"taskId":"1","status":"input_required","ttlMs":60000}"#), Some(minute)),
            (Method::GetTask, result(r#"{"taskId":"1","status":"working","ttl":null}"#), Some(Some(Lasting(None)))),
            (Method::GetTask, result(r#"{"taskId":"1","status":"failed"}"#), Some(None)),
            (Method::CancelTask, result(r#"{"taskId":"1","status":"cancelled"}"#), Some(None)),
            (Method::CancelTask, result("{}"), None),
            (Method::CancelTask, error(), None),
            (Method::GetTask, error(), Some(None)),
            (Method::TaskResult, result(r#"{"content":[]}"#), Some(None)),
            (Method::ReadResource, result(r#"{"taskId":"1"}"#), None),
        ] {
            assert_eq!(about(method, reply), expected.map(|lasting| ("1".to_owned(), lasting)), "{method:?}");
        }
    }
}
