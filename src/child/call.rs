//! What a call to a child server is made of, and what comes back.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::queue::Caller;

/// Takes the raw `params` of each `notifications/progress` of one call, in order, with *our* progress token in them.
///
/// Everything is queued before the call's answer is: whoever has the answer empties the receiver (`try_recv`) before
/// sending it on, so that no progress message follows its result. When the queue is full, further messages of the
/// child are dropped, since progress is only worth having while it is fresh.
pub type ProgressSender = mpsc::Sender<Bytes>;

/// What a child server is asked for by a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// `tools/call`.
    #[default]
    CallTool,
    /// `resources/read`.
    ReadResource,
    /// `resources/subscribe`.
    Subscribe,
    /// `resources/unsubscribe`.
    Unsubscribe,
    /// `prompts/get`.
    GetPrompt,
    /// `completion/complete`.
    Complete,
    /// `tasks/get`.
    GetTask,
    /// `tasks/result`, of the handshake era.
    TaskResult,
    /// `tasks/list`, of the handshake era.
    ListTasks,
    /// `tasks/update`, of 2026-07-28.
    UpdateTask,
    /// `tasks/cancel`.
    CancelTask,
}

impl Method {
    /// As the protocol spells it.
    pub fn name(self) -> &'static str {
        match self {
            Method::CallTool => "tools/call",
            Method::ReadResource => "resources/read",
            Method::Subscribe => "resources/subscribe",
            Method::Unsubscribe => "resources/unsubscribe",
            Method::GetPrompt => "prompts/get",
            Method::Complete => "completion/complete",
            Method::GetTask => "tasks/get",
            Method::TaskResult => "tasks/result",
            Method::ListTasks => "tasks/list",
            Method::UpdateTask => "tasks/update",
            Method::CancelTask => "tasks/cancel",
        }
    }

    /// The method of this name.
    pub fn of(name: &str) -> Option<Method> {
        const ALL: [Method; 11] = [
            Method::CallTool,
            Method::ReadResource,
            Method::Subscribe,
            Method::Unsubscribe,
            Method::GetPrompt,
            Method::Complete,
            Method::GetTask,
            Method::TaskResult,
            Method::ListTasks,
            Method::UpdateTask,
            Method::CancelTask,
        ];
        ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether it asks after a task that there is already.
    pub fn is_about_tasks(self) -> bool {
        matches!(
            self,
            Method::GetTask | Method::TaskResult | Method::ListTasks | Method::UpdateTask | Method::CancelTask
        )
    }
}

/// Who can do with a task in place of the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Taker {
    /// Nobody: the child is not told that it might make one.
    #[default]
    Nobody,
    /// A client of the handshake era, which has asked for one with the member `task` of `params`.
    Handshake,
    /// A client of 2026-07-28, which has declared the extension.
    Modern,
    /// We, who see it to its end for a client that cannot.
    Us,
}

/// One request of a client for a child server, as bytes; a `tools/call` unless it says otherwise.
#[derive(Debug, Clone, Default)]
pub struct ChildCall {
    /// What is asked.
    pub method: Method,
    /// The child's own name for the tool of a `tools/call`; of no use to other methods.
    pub tool: String,
    /// The `arguments` member, a raw JSON object; forwarded untouched.
    pub arguments: Option<Bytes>,
    /// Further members of `params`, a raw JSON object without `name`, `arguments` and `_meta`; the whole of it for
    /// other methods than `tools/call`, `_meta` apart.
    pub others: Option<Bytes>,
    /// The `_meta` member, a raw JSON object without a progress token and without our own keys.
    pub meta: Option<Bytes>,
    /// Where the child's progress goes, if the caller asked for it.
    pub progress: Option<ProgressSender>,
    /// Who is behind the call and can be asked while it runs.
    pub client: Option<Arc<dyn Client>>,
    /// Whose call it is.
    pub caller: Caller,
    /// Who can do with a task in place of the result.
    pub taker: Taker,
    /// A second time does no harm: it may be made again if the server dies of it.
    pub repeatable: bool,
    /// What must still hold when the call is sent, if it may have changed while the call waited.
    pub still: Option<Still>,
    /// Cancelled when the caller gives up: the child is told, and the call ends with an error.
    pub cancelled: CancellationToken,
}

/// A condition of a call, looked at when a connection to send it on is there. Never blocks.
#[derive(Clone)]
pub struct Still(Arc<dyn Fn() -> bool + Send + Sync>);

impl Still {
    /// `holds` says whether the call may be sent.
    pub fn new(holds: impl Fn() -> bool + Send + Sync + 'static) -> Still {
        Still(Arc::new(holds))
    }

    pub(super) fn holds(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Still {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Still")
    }
}

/// What a child server answered, as the bytes that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildReply {
    /// The `result` member.
    Result(Bytes),
    /// The `result` member of a child of 2026-07-28 that needs to know more (basic/patterns/mrtr).
    InputRequired(Bytes),
    /// The `result` member of a `tools/call` that the child has made a task of.
    Task(Bytes),
    /// The `error` member.
    Error(Bytes),
}
