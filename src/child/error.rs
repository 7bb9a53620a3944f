//! Why a child server did not answer. Every text says which server, what happened and what to do next.

use std::fmt;
use std::time::Duration;

/// A call that got no answer of the child.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChildError {
    /// There is no such server.
    #[error("no child server has the index {0}")]
    Unknown(u16),
    /// `disabled: true`.
    #[error("child server `{id}` is disabled in the configuration\nhint: remove `disabled` from its entry and rebuild")]
    Disabled {
        /// Server id.
        id: &'static str,
    },
    /// An optional server whose variables are not set.
    #[error(
        "child server `{id}` waits: {missing}\nhint: set it in the environment or in `.env`, then start evokore again"
    )]
    Waiting {
        /// Server id.
        id: &'static str,
        /// Which key needs which variable.
        missing: String,
    },
    /// It has not come up yet.
    #[error("child server `{id}` is still starting, retry\nhint: call again in a few seconds")]
    Starting {
        /// Server id.
        id: &'static str,
    },
    /// It is not running.
    #[error("child server `{id}` is not running: {reason}")]
    NotReady {
        /// Server id.
        id: &'static str,
        /// Why not, with what follows.
        reason: String,
    },
    /// It went away while the call was running.
    #[error(
        "child server `{id}` went away during the call: {what}\nhint: it starts again by itself; make another call, or the same one in a while"
    )]
    Exited {
        /// Server id.
        id: &'static str,
        /// Exit status and the end of its stderr.
        what: String,
    },
    /// No answer in time; the child was told to stop.
    #[error(
        "child server `{id}` did not answer {what} within {}\nhint: `callTimeoutMs` of its entry or \
         EVOKORE_PROXY_REQUEST_TIMEOUT_MS allows more", seconds(*.after)
    )]
    TimedOut {
        /// Server id.
        id: &'static str,
        /// What was asked.
        what: String,
        /// The limit that was reached.
        after: Duration,
    },
    /// No answer in time to a request of ours.
    #[error("child server `{id}` did not answer `{method}` within {}\nhint: `listTimeoutMs` of its entry allows more", seconds(*.after))]
    Silent {
        /// Server id.
        id: &'static str,
        /// What was asked.
        method: String,
        /// The limit that was reached.
        after: Duration,
    },
    /// No place among the calls it works on became free in time.
    #[error(
        "child server `{id}` works on {limit} calls already, and none was finished within {}\nhint: call again later; \
         `maxInFlight` of its entry allows more at the same time", seconds(*.after)
    )]
    Crowded {
        /// Server id.
        id: &'static str,
        /// Calls at the same time.
        limit: usize,
        /// How long the call waited.
        after: Duration,
    },
    /// The caller gave up.
    #[error("the call to child server `{id}` was cancelled")]
    Cancelled {
        /// Server id.
        id: &'static str,
    },
    /// What the call was judged by is not so any more.
    #[error(
        "child server `{id}` has changed its tools while the call waited, and was not called\nhint: make the call again; it is judged anew"
    )]
    Changed {
        /// Server id.
        id: &'static str,
    },
    /// The answer is larger than the limit.
    #[error(
        "child server `{id}` gave too large an answer: {size}, the limit is {limit} bytes\nhint: ask for less, for \
         instance a page or a range; `maxResultBytes` of its entry or EVOKORE_MAX_RESULT_BYTES allows more"
    )]
    TooLarge {
        /// Server id.
        id: &'static str,
        /// What it gave.
        size: Size,
        /// Bytes allowed.
        limit: u64,
    },
    /// It is reached over HTTP, and that did not work.
    #[error("child server `{id}` {what}")]
    Http {
        /// Server id.
        id: &'static str,
        /// What happened and what to do, as the rest of a sentence.
        what: String,
        /// It wants to be left alone for so long.
        wait: Option<Duration>,
        /// The way to it failed, or it was not there for the request: the same may go through a moment later.
        is_passing: bool,
    },
    /// It broke the protocol.
    #[error("child server `{id}` {what}")]
    Protocol {
        /// Server id.
        id: &'static str,
        /// What it did, as the rest of a sentence.
        what: String,
    },
    /// It answered a request of ours with an error.
    #[error("child server `{id}` answered `{method}` with error {code}: {message}")]
    Refused {
        /// Server id.
        id: &'static str,
        /// What was asked.
        method: String,
        /// JSON-RPC code; 0 if it gave none.
        code: i64,
        /// Its message, shortened.
        message: String,
    },
    /// It has nothing of this kind.
    #[error("child server `{id}` offers no {what}")]
    Lacks {
        /// Server id.
        id: &'static str,
        /// What it would need to have.
        what: &'static str,
    },
    /// Too many calls wait for it.
    #[error("child server `{id}` has {limit} calls waiting already\nhint: call again when some have been answered")]
    Busy {
        /// Server id.
        id: &'static str,
        /// How many may wait.
        limit: usize,
    },
}

/// How large an answer is, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// All of it.
    Whole(u64),
    /// What had come when it was given up.
    SoFar(u64),
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Whole(bytes) => write!(f, "it has {bytes} bytes"),
            Size::SoFar(bytes) => write!(f, "{bytes} bytes had come when it was cut off"),
        }
    }
}

impl ChildError {
    /// Whether the server or the way to it failed, so that the same call would most likely end the same way soon.
    pub fn is_of_the_server(&self) -> bool {
        match self {
            ChildError::Exited { .. } | ChildError::TimedOut { .. } | ChildError::Protocol { .. } => true,
            ChildError::Http { is_passing, .. } => *is_passing,
            _ => false,
        }
    }

    /// What it is, in a few words that quote nobody.
    pub fn kind(&self) -> &'static str {
        match self {
            ChildError::Unknown(_) => "no such server",
            ChildError::Disabled { .. } => "the server is disabled",
            ChildError::Waiting { .. } => "the server waits for variables",
            ChildError::Starting { .. } => "the server is still starting",
            ChildError::NotReady { .. } => "the server is not running",
            ChildError::Exited { .. } => "the server went away during the call",
            ChildError::TimedOut { .. } | ChildError::Silent { .. } => "no answer in time",
            ChildError::Crowded { .. } | ChildError::Busy { .. } => "the server has too many calls",
            ChildError::Cancelled { .. } => "the client gave it up",
            ChildError::Changed { .. } => "the tool is not the one that was judged any more",
            ChildError::TooLarge { .. } => "too large an answer",
            ChildError::Http { .. } => "the server could not be reached",
            ChildError::Protocol { .. } => "the server broke the protocol",
            ChildError::Refused { .. } => "the server refused a request",
            ChildError::Lacks { .. } => "the server has nothing of the kind",
        }
    }

    /// How long the server wants to be left alone.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            ChildError::Http { wait, .. } => *wait,
            _ => None,
        }
    }
}

/// A duration for people: whole seconds, one digit below ten, or milliseconds below one.
pub(super) fn seconds(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return format!("{} ms", duration.as_millis());
    }
    let seconds = duration.as_secs_f64();
    if seconds >= 10.0 || seconds.fract() == 0.0 { format!("{seconds:.0} s") } else { format!("{seconds:.1} s") }
}

/// The first `limit` characters of a foreign text on one line, without control characters.
pub(super) fn quoted(text: &str, limit: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut out: String = text.trim().chars().take(limit).map(clean).collect();
    if text.trim().chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}
