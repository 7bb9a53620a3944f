//! What is noted of one call: the decision on it and, if it was made, its end.

use std::time::Instant;

use bytes::Bytes;
use evokore_catalog::permission::Access;

use super::Audit;
use super::event::{Arguments, Event, Kind, Outcome};
use super::writer::{Ended, Ticket};
use crate::calls::outcome::Outcome as Answer;
use crate::session::SessionId;

/// What refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The policy.
    Policy,
    /// The tool is not what was locked, or has hostile content.
    Guard,
    /// A person has not approved.
    Approval,
    /// The rate limit.
    RateLimit,
    /// The rest after a failure.
    Cooldown,
    /// The state that the client has sent back is not good for the call.
    State,
    /// Nobody has the tool, or its server does not come up.
    Nobody,
}

impl By {
    fn name(self) -> &'static str {
        match self {
            By::Policy => "policy",
            By::Guard => "guard",
            By::Approval => "approval",
            By::RateLimit => "rate_limit",
            By::Cooldown => "cooldown",
            By::State => "state",
            By::Nobody => "nobody",
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            By::Approval => Outcome::ApprovalNeeded,
            By::Nobody => Outcome::Failure,
            _ => Outcome::Denied,
        }
    }
}

/// A call that is being decided on. Costs next to nothing while the log is off.
#[derive(Debug)]
pub struct Audited<'a> {
    audit: &'a Audit,
    number: u64,
    session: Option<SessionId>,
    tool: &'a str,
    server: Option<&'static str>,
    access: Option<Access>,
    /// When it was allowed, and its event, until its end is noted.
    since: Option<(Instant, Option<Ticket>)>,
}

impl<'a> Audited<'a> {
    /// A call of the tool exposed as `tool`.
    pub fn new(audit: &'a Audit, session: Option<SessionId>, tool: &'a str) -> Audited<'a> {
        Audited { number: audit.next_call(), audit, session, tool, server: None, access: None, since: None }
    }

    /// The same with who has the tool and what the role may do with it.
    #[must_use]
    pub fn of(mut self, server: &'static str, access: Access) -> Audited<'a> {
        (self.server, self.access) = (Some(server), Some(access));
        self
    }

    /// It is refused.
    pub fn refused(&self, by: By, arguments: Option<&[u8]>) {
        if self.audit.is_on() {
            let arguments = arguments.map_or(Arguments::None, |text| Arguments::Given(Bytes::copy_from_slice(text)));
            let event = Event { by: Some(by.name()), arguments, ..self.event(Kind::Call, by.outcome()) };
            self.audit.record(event);
        }
    }

    /// It is made.
    pub fn allowed(&mut self, arguments: Option<&Bytes>) {
        if self.audit.is_on() {
            let since = Instant::now();
            let arguments = arguments.map_or(Arguments::None, |bytes| Arguments::Given(bytes.clone()));
            let ticket = self.audit.call(Event { arguments, ..self.event(Kind::Call, Outcome::Allowed) });
            self.since = Some((since, ticket));
        }
    }

    /// It is answered.
    pub fn answered(&mut self, answer: &Answer) {
        if self.since.is_some() {
            let outcome = if is_failure(answer) { Outcome::Failure } else { Outcome::Success };
            self.ended(outcome, None);
        }
    }

    /// It has failed for want of an answer; `why` must hold nothing of what the child said.
    pub fn failed(&mut self, why: &str) {
        self.ended(Outcome::Failure, Some(why));
    }

    fn ended(&mut self, outcome: Outcome, reason: Option<&str>) {
        if let Some((since, ticket)) = self.since.take() {
            let ms = u64::try_from(since.elapsed().as_millis()).ok();
            if ticket.is_some_and(|ticket| self.audit.end_of(ticket, Ended { outcome, ms, reason })) {
                return;
            }
            let event = Event { ms, ..self.event(Kind::CallEnd, outcome) };
            self.audit.record(match reason {
                Some(reason) => event.because(reason),
                None => event,
            });
        }
    }

    fn event(&self, kind: Kind, outcome: Outcome) -> Event {
        Event {
            session: self.session,
            call: Some(self.number),
            server: self.server,
            access: self.access,
            ..Event::new(kind, outcome).tool(self.tool)
        }
    }
}

impl Drop for Audited<'_> {
    fn drop(&mut self) {
        self.ended(Outcome::Failure, Some("given up before it was answered"));
    }
}

/// Whether an answer is an error, to the client program or to the model.
fn is_failure(answer: &Answer) -> bool {
    let Answer::Result(bytes) = answer else { return true };
    // Results may be large: only one that says `"isError": true` somewhere is read.
    let is_said = memchr::memmem::find_iter(bytes, br#""isError""#).any(|at| {
        let after = bytes[at + br#""isError""#.len()..].trim_ascii_start();
        after.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().starts_with(b"true"))
    });
    #[derive(serde::Deserialize)]
    struct Result {
        #[serde(default, rename = "isError")]
        is_error: bool,
    }
    is_said && serde_json::from_slice::<Result>(bytes).is_ok_and(|result| result.is_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_texts_about_them() {
        for (result, expected) in [
            (r#"{"content":[],"isError":true}"#, true),
            (r#"{"isError" : true}"#, true),
            (r#"{"isError":false}"#, false),
            (r#"{"content":[{"text":"\"isError\":true"}]}"#, false),
            (r#"{"structuredContent":{"isError":true}}"#, false),
            (r#"{"structuredContent":{"isError":true},"isError":true}"#, true),
            ("{}", false),
        ] {
            assert_eq!(is_failure(&Answer::Result(result.into())), expected, "{result}");
        }
        assert!(is_failure(&Answer::invalid_params("x")));
    }
}
