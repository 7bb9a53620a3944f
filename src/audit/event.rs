//! What is written: one event, one line. Everything dear about an event (digests, masking, the rule) is worked out here, by
//! the thread that writes.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use evokore_catalog::canonical::exact_sha256;
use evokore_catalog::hostile::visible;
use evokore_catalog::permission::Access;
use serde::Serialize;

use super::chain::Hash;
use super::rule;
use super::writer::Ended;
use crate::calendar::Utc;
use crate::session::SessionId;
use crate::settings::Settings;
use crate::state::preview::preview;

/// Longest preview of arguments, in characters.
const PREVIEW: usize = 500;

/// Characters of a text from elsewhere.
const MAX_TEXT: usize = 300;
/// Characters of the name of a tool, which a client may have made up.
const MAX_NAME: usize = 128;
/// Tools that a line names.
const MAX_NAMED: usize = 100;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A process of evokore serves from now on.
    RunStart,
    /// It has ended as it should.
    RunEnd,
    /// A decision on a call, before anything else happens.
    Call,
    /// The end of a call that was allowed, if that had been written before.
    CallEnd,
    /// A person is asked for an approval.
    ApprovalRequested,
    /// A person has approved.
    ApprovalGranted,
    /// A person has denied.
    ApprovalDenied,
    /// An approval has been used for its call.
    ApprovalSpent,
    /// A standing approval has been taken back.
    ApprovalRevoked,
    /// Nobody has answered in time, or there is no room to wait.
    ApprovalExpired,
    /// A server is not what its lock says.
    Drift,
    /// A child server has been started; `restarts` says how often before.
    ChildStart,
    /// A child server has ended, or could not be started.
    ChildEnd,
    /// Events were lost, because they came faster than they could be written, or could not be written.
    LogLost,
    /// The line before was not finished: a process ended while it wrote.
    LogTorn,
    /// The log did not end as it should when this was written.
    LogBroken,
}

impl Kind {
    /// As written in a line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::RunStart => "run_start",
            Kind::RunEnd => "run_end",
            Kind::Call => "call",
            Kind::CallEnd => "call_end",
            Kind::ApprovalRequested => "approval_requested",
            Kind::ApprovalGranted => "approval_granted",
            Kind::ApprovalDenied => "approval_denied",
            Kind::ApprovalSpent => "approval_spent",
            Kind::ApprovalRevoked => "approval_revoked",
            Kind::ApprovalExpired => "approval_expired",
            Kind::Drift => "drift",
            Kind::ChildStart => "child_start",
            Kind::ChildEnd => "child_end",
            Kind::LogLost => "log_lost",
            Kind::LogTorn => "log_torn",
            Kind::LogBroken => "log_broken",
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The call may be made.
    Allowed,
    /// A person has to be asked first.
    ApprovalNeeded,
    /// It may not.
    Denied,
    /// It went well.
    Success,
    /// It did not.
    Failure,
}

impl Outcome {
    /// All, as written in a line.
    pub const NAMES: [&str; 5] = ["allowed", "approval_needed", "denied", "success", "failure"];

    /// As written in a line.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Allowed => "allowed",
            Outcome::ApprovalNeeded => "approval_needed",
            Outcome::Denied => "denied",
            Outcome::Success => "success",
            Outcome::Failure => "failure",
        }
    }
}

/// An event on its way to the log. What is `None` is left out of the line.
#[derive(Debug, Clone)]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What.
    pub kind: Kind,
    /// What came of it.
    pub outcome: Outcome,
    /// The client's session; requests of 2026-07-28 have none.
    pub session: Option<SessionId>,
    /// The number of the call in this process.
    pub call: Option<u64>,
    /// Exposed name of the tool.
    pub tool: Option<Box<str>>,
    /// Id of the server.
    pub server: Option<&'static str>,
    /// What the role may do with the tool.
    pub access: Option<Access>,
    /// What decided, where it was not the policy alone.
    pub by: Option<&'static str>,
    /// Arguments of the call.
    pub arguments: Arguments,
    /// The request for approval.
    pub approval: Option<Box<str>>,
    /// Of a call that has ended before its event was written: what came of it, so that one line tells both.
    pub end: Option<Outcome>,
    /// How long it took, in milliseconds.
    pub ms: Option<u64>,
    /// More about it, for a person.
    pub reason: Option<Box<str>>,
    /// Tools that it is about.
    pub tools: Vec<String>,
    /// A number that belongs to the kind of event: how often a child was started before, how many events were lost.
    pub count: Option<u64>,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Arguments {
    /// The event is not about any.
    #[default]
    None,
    /// As they came.
    Given(Bytes),
    /// So many bytes, which there was no room to keep until they are written.
    LeftOut(usize),
}

impl Event {
    /// An event of this moment.
    pub fn new(kind: Kind, outcome: Outcome) -> Event {
        Event {
            at: now(),
            kind,
            outcome,
            session: None,
            call: None,
            tool: None,
            server: None,
            access: None,
            by: None,
            arguments: Arguments::None,
            approval: None,
            end: None,
            ms: None,
            reason: None,
            tools: Vec::new(),
            count: None,
        }
    }

    /// The same about this tool.
    #[must_use]
    pub fn tool(mut self, name: &str) -> Event {
        self.tool = Some(cut(name, MAX_NAME).into());
        self
    }

    /// The same with the number of a request for approval.
    #[must_use]
    pub fn approval(mut self, id: &str) -> Event {
        self.approval = Some(id.into());
        self
    }

    /// The same with more about it.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Event {
        self.reason = Some(cut(reason, MAX_TEXT).into());
        self
    }

    /// Notes how the call ended that it is about.
    pub(super) fn add_end(&mut self, ended: Ended<'_>) {
        (self.end, self.ms) = (Some(ended.outcome), ended.ms);
        if let Some(reason) = ended.reason {
            self.reason = Some(cut(reason, MAX_TEXT).into());
        }
    }

    /// Bytes that it holds in memory beside itself.
    pub(super) fn held(&self) -> usize {
        if let Arguments::Given(bytes) = &self.arguments { bytes.len() } else { 0 }
    }
}

/// Milliseconds since 1970. Lines are read long after the process, so no monotonic clock will do.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// What every line of a process says.
#[derive(Debug, Clone)]
pub(super) struct Stamp {
    /// Digits that no other process has.
    pub(super) run: String,
    /// What decides.
    pub(super) settings: Option<Settings>,
}

#[derive(Serialize)]
struct Body<'a> {
    at: u64,
    utc: String,
    event: &'static str,
    outcome: &'static str,
    run: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Written>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    torn: Option<String>,
}

/// Arguments as a line has them.
#[derive(Serialize)]
struct Written {
    bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
}

impl Stamp {
    /// The members of the line for `event`, without braces.
    pub(super) fn body(&self, event: &Event) -> String {
        self.with_torn(event, None)
    }

    /// The members of the line about what is left of another.
    pub(super) fn torn(&self, left: &[u8]) -> String {
        let event = Event::new(Kind::LogTorn, Outcome::Failure)
            .because(&format!("a process ended while it wrote the line before: {} bytes of it are left", left.len()));
        self.with_torn(&event, Some(Hash::of(left).to_string()))
    }

    fn with_torn(&self, event: &Event, torn: Option<String>) -> String {
        let (role, rule) = match (&self.settings, &event.tool, event.access) {
            (Some(settings), Some(tool), Some(_)) => {
                (settings.role.map(|role| role.name), Some(rule::deciding(settings, tool)))
            }
            (Some(settings), ..) => (settings.role.map(|role| role.name), None),
            (None, ..) => (None, None),
        };
        let body = Body {
            at: event.at,
            utc: Utc(event.at).to_string(),
            event: event.kind.name(),
            outcome: event.outcome.name(),
            run: &self.run,
            session: event.session.map(SessionId::number),
            call: event.call,
            role,
            tool: event.tool.as_deref(),
            server: event.server,
            access: event.access.map(Access::name),
            rule,
            by: event.by,
            approval: event.approval.as_deref(),
            arguments: written(&event.arguments),
            end: event.end.map(Outcome::name),
            ms: event.ms,
            reason: event.reason.as_deref().map(visible),
            tools: event.tools.iter().take(MAX_NAMED).map(|name| cut(&visible(name), MAX_NAME)).collect(),
            restarts: event.count.filter(|_| event.kind == Kind::ChildStart),
            lost: event.count.filter(|_| event.kind == Kind::LogLost),
            torn,
        };
        // A struct of texts and numbers cannot fail to be written.
        let json = serde_json::to_string(&body).unwrap_or_default();
        json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
    }
}

fn written(arguments: &Arguments) -> Option<Written> {
    let bytes = match arguments {
        Arguments::None => return None,
        Arguments::LeftOut(bytes) => return Some(Written { bytes: *bytes, sha256: None, preview: None }),
        Arguments::Given(bytes) => bytes,
    };
    // The form that approvals are bound to; what cannot be read is taken as it is.
    let text = String::from_utf8_lossy(bytes);
    Some(Written { bytes: bytes.len(), sha256: Some(exact_sha256(&text)), preview: Some(preview(&text, PREVIEW)) })
}

/// At most so many characters of `text`, on one line.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn body(event: &Event) -> Value {
        let stamp = Stamp { run: "r".to_owned(), settings: None };
        serde_json::from_str(&format!("{{{}}}", stamp.body(event))).expect("JSON")
    }

    #[test]
    fn arguments_are_a_digest_and_a_masked_preview() {
        let given = |text: &str| {
            let arguments = Arguments::Given(Bytes::copy_from_slice(text.as_bytes()));
            body(&Event { arguments, ..Event::new(Kind::Call, Outcome::Allowed) })["arguments"].clone()
        };
        let one = given(r#"{"b": 1, "token": "s3cret", "a": "é"}"#);
        assert_eq!(one["preview"], r#"{"b":1,"token":"***","a":"é"}"#);
        let other = given(r#"{"a":"\u00e9","token":"s3cret","b":1}"#);
        assert_eq!(one["sha256"], other["sha256"], "the order of members does not count");
        assert_ne!(one["sha256"], given(r#"{"a":"\u00e9","token":"other","b":1}"#)["sha256"]);
        assert_eq!(given("{")["preview"], "(not JSON)");
        let long = given(&format!(r#"{{"a":"{}"}}"#, "ü".repeat(100_000)));
        assert!(long["preview"].as_str().is_some_and(|text| text.chars().count() < 600), "bounded");
        let left = Event { arguments: Arguments::LeftOut(9), ..Event::new(Kind::Call, Outcome::Allowed) };
        assert_eq!(body(&left)["arguments"], serde_json::json!({"bytes": 9}));
    }

    #[test]
    fn no_line_is_long() {
        let long = "\u{1}".repeat(5000);
        let event = Event {
            tools: vec![long.clone(); 500],
            arguments: Arguments::Given(format!("{{\"a\":{}}}", Value::from(long.as_str())).into()),
            ..Event::new(Kind::Drift, Outcome::Failure).tool(&long).because(&long)
        };
        let stamp = Stamp { run: "r".to_owned(), settings: None };
        let length = stamp.body(&event).len();
        assert!(length < crate::audit::chain::MAX_LINE - 200, "{length}");
    }
}
