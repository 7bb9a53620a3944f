//! Consent to calls that the policy does not simply allow.
//!
//! A call whose access is `require_approval` never reaches a child server without a [`Consent`]. It rests on the word of
//! a person: given to the client program where that can ask them (`elicit`), for this call or as a standing approval
//! until the session ends (`grants`), or to `evokore approvals` in a terminal. For the latter the refusal hands out a
//! token (`token`), bound to the tool, its exact arguments, the session and the role, good for one call and five minutes. The
//! model can carry it but not spend it: it works only after a person has approved the request.

mod elicit;
mod grants;
mod request;
mod tickets;
mod token;

pub use token::TOKEN_KEY;
pub(crate) use token::token_in;
pub(super) use token::{digest, take_token};

use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use evokore_catalog::permission::ApprovalMode;

use super::outcome::Outcome;
use super::state::{Approval, Bound, random};
use crate::audit::{Arguments, Audit, Event, Kind, Outcome as Noted};
use crate::child::{Caller, Client, Question};
use crate::state::approvals::{Decision, Pending, Requests, masked};
use crate::state::grants::{Records, Scope};
use elicit::Verdict;
use grants::Grants;
use request::too_many;
use tickets::{Ticket, Tickets};

/// How long a token lives, and how long a person is asked.
pub const LIFETIME: Duration = Duration::from_secs(300);

/// Where the person was who has decided.
const AT_THE_CLIENT: &str = "at the client";

/// Most words of persons that are kept; beyond it the oldest is forgotten.
const MAX_SAID: usize = 64;

/// What a person is asked to agree to.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// Exposed name of the tool.
    pub tool: &'a str,
    /// The server that would be called.
    pub server: &'a str,
    /// The arguments, as JSON.
    pub arguments: Option<&'a str>,
    /// The role that the process has.
    pub role: Option<&'a str>,
    /// What the client calls itself; the person who is asked at the client knows that.
    pub client: Option<&'a str>,
    /// Why they are asked, beside the policy; completes "because …".
    pub reason: Option<&'a str>,
}

/// The question as a person reads it: secrets masked, and every character visible.
impl fmt::Display for Proposal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allow a call of `{}`", self.tool)?;
        if !self.server.is_empty() {
            write!(f, " at the server `{}`", self.server)?;
        }
        if let Some(reason) = self.reason {
            write!(f, ", asked because {reason}")?;
        }
        write!(f, "?\nArguments: {}", masked(self.arguments.unwrap_or("{}")))?;
        self.role.map_or(Ok(()), |role| write!(f, "\nRole: {role}"))
    }
}

/// A call that needs consent.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// What a consent is bound to, beside the session and the role.
    pub(super) bound: Bound<'a>,
    /// Whose call it is.
    pub(super) caller: Caller,
    /// What a person is asked.
    pub(super) proposal: Proposal<'a>,
}

impl Call<'_> {
    fn digest(&self) -> [u8; 32] {
        self.digest_of(self.bound)
    }

    /// The same for any arguments.
    fn digest_of_tool(&self) -> [u8; 32] {
        // No JSON, so it meets no arguments.
        self.digest_of(Bound { arguments: Some("*"), ..self.bound })
    }

    fn digest_of(&self, bound: Bound<'_>) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(digest(bound));
        hash.update(self.caller.map_or(u64::MAX, |session| session.number()).to_be_bytes());
        hash.update(self.proposal.role.unwrap_or_default());
        hash.finalize().into()
    }
}

/// Proof that a person agreed to one call, held by that call alone. Dropped unspent, because a later gate refused the
/// call, it is good for the same call again.
#[derive(Debug)]
pub struct Consent<'a> {
    approvals: &'a Approvals,
    held: Option<Held<'a>>,
}

/// What a consent rests on.
#[derive(Debug)]
enum Held<'a> {
    /// A token, whose request was approved.
    Token(Ticket, Option<Scope>),
    /// What the person at the client has said to a request.
    Word(Agreed),
    /// An earlier consent in the state of a request of 2026-07-28, which gives itself back.
    State(Approval<'a>),
}

impl Consent<'_> {
    /// The call is made: the consent is spent.
    ///
    /// What it says of further calls counts from now on, and only once: a grant that was taken back does not come again
    /// with a consent that was not used.
    pub async fn spend(mut self, call: &Call<'_>) {
        let scope = match self.held.take() {
            Some(Held::Token(held, scope)) => {
                self.approvals.note_about(call, Kind::ApprovalSpent, Noted::Success, &held.id, "");
                self.approvals.requests.remove(&held.id).await;
                scope
            }
            Some(Held::State(approval)) => {
                approval.spend();
                None
            }
            // A word is gone with this; a grant stays.
            Some(Held::Word(agreed)) => agreed.scope,
            None => None,
        };
        self.approvals.grant(call, scope).await;
    }
}

impl Drop for Consent<'_> {
    fn drop(&mut self) {
        match self.held.take() {
            Some(Held::Token(held, _)) => self.approvals.tickets.put_back(held),
            Some(Held::Word(agreed)) => keep(&self.approvals.agreed, agreed),
            Some(Held::State(_)) | None => {}
        }
    }
}

/// Calls that wait for a person, and what persons have agreed to.
#[derive(Debug)]
pub struct Approvals {
    /// What the policy takes for consent of callers that cannot ask their person.
    mode: ApprovalMode,
    requests: Requests,
    audit: Audit,
    tickets: Tickets,
    /// Words whose call a later gate refused.
    agreed: Mutex<Vec<Agreed>>,
    /// What persons have denied: they are not asked again at once.
    denied: Mutex<Vec<Agreed>>,
    grants: Grants,
    /// Calls that were refused because nobody has agreed to them.
    wanting: AtomicUsize,
}

/// A call that a person has agreed to, or has denied.
#[derive(Debug, Clone, Copy)]
struct Agreed {
    call: [u8; 32],
    /// What it says of further calls.
    scope: Option<Scope>,
    expires: Instant,
}

impl Approvals {
    /// Keeps the requests that a person sees in `requests`, and the standing approvals in `records`; what becomes of them
    /// is noted in `audit`.
    pub fn new(requests: Requests, records: Records, audit: Audit, mode: ApprovalMode) -> Approvals {
        Approvals {
            mode,
            requests,
            audit,
            tickets: Tickets::default(),
            agreed: Mutex::default(),
            denied: Mutex::default(),
            grants: Grants::new(records),
            wanting: AtomicUsize::new(0),
        }
    }

    /// The consent that there is already: by a token, a word that was not used, or a standing approval. A refused call
    /// leaves valid tokens valid.
    ///
    /// # Errors
    /// The answer to a call that is denied, or whose token nobody has decided on while nothing else allows it.
    pub(super) async fn standing(&self, call: &Call<'_>, token: Option<&str>) -> Result<Option<Consent<'_>>, Outcome> {
        let digest = call.digest();
        let mut undecided = None;
        if let Some(ticket) = token.and_then(|token| self.tickets.find(token, &digest)) {
            match self.requests.decision(&ticket.id).await {
                // Another call may have taken it during the await.
                Some(Decision::Approved(scope)) if self.tickets.take(&ticket.id) => {
                    return Ok(Some(self.consent(Held::Token(ticket, scope))));
                }
                Some(Decision::Approved(_)) => {}
                Some(Decision::Denied) => return Err(self.settle_denied(call, &ticket).await),
                None if ticket.is_enough && self.tickets.take(&ticket.id) => {
                    self.note_about(call, Kind::ApprovalGranted, Noted::Success, &ticket.id, "by its token alone");
                    return Ok(Some(self.consent(Held::Token(ticket, None))));
                }
                None => undecided = Some(ticket),
            }
        }
        if let Some(agreed) = take(&self.agreed, &digest) {
            return Ok(Some(self.consent(Held::Word(agreed))));
        }
        if let Some(no) = take(&self.denied, &digest) {
            keep(&self.denied, no);
            return Err(denied(call.proposal.tool));
        }
        if self.grants.cover(call).await {
            // Nobody need decide on it any more.
            if let Some(ticket) = undecided.filter(|ticket| self.tickets.take(&ticket.id)) {
                self.withdraw(&ticket.id).await;
            }
            return Ok(Some(Consent { approvals: self, held: None }));
        }
        undecided.map_or(Ok(None), |ticket| {
            Err(Outcome::error_text(&format!(
                "nobody has approved this call of `{}` yet. Ask the user to run `evokore approvals approve {}`, then repeat the call",
                call.proposal.tool, ticket.id
            )))
        })
    }

    /// Asks the person at a client of the handshake era. `None`: they do not decide.
    ///
    /// # Errors
    /// The answer to a call that they do not want, or that they are not asked about because so many wait for them.
    pub(super) async fn ask_client(
        &self,
        client: &dyn Client,
        question: Question,
        call: &Call<'_>,
    ) -> Result<Option<Consent<'_>>, Outcome> {
        let Some(_place) = self.tickets.place(call.caller) else { return Err(too_many(call.proposal.tool)) };
        let verdict = elicit::ask(client, question, LIFETIME).await;
        self.said(call, verdict)
    }

    /// Takes what the person at a client of 2026-07-28 has said, by the members of its request and the state that came
    /// with it; and those members without it. `None`: they do not decide.
    ///
    /// # Errors
    /// The answer to a call that they do not want.
    pub(super) fn answered<'a>(
        &'a self,
        call: &Call<'_>,
        approval: Approval<'a>,
        others: Option<&str>,
    ) -> (Result<Option<Consent<'a>>, Outcome>, Option<String>) {
        let (verdict, others) = elicit::answered(others);
        if verdict != Verdict::Open {
            // The question is not asked again with the answer that it had; a yes that is not used is kept like any other.
            approval.spend();
        }
        (self.said(call, verdict), others)
    }

    /// The consent that rests on an approval in the state of a request.
    pub(super) fn carried<'a>(&'a self, approval: Approval<'a>) -> Consent<'a> {
        self.consent(Held::State(approval))
    }

    fn said(&self, call: &Call<'_>, verdict: Verdict) -> Result<Option<Consent<'_>>, Outcome> {
        match verdict {
            Verdict::Allowed(scope) => {
                self.note_about(call, Kind::ApprovalGranted, Noted::Success, "", AT_THE_CLIENT);
                let word = Agreed { call: call.digest(), scope, expires: Instant::now() + LIFETIME };
                Ok(Some(self.consent(Held::Word(word))))
            }
            Verdict::Declined => {
                self.note_about(call, Kind::ApprovalDenied, Noted::Denied, "", AT_THE_CLIENT);
                self.deny(call.digest());
                Err(denied(call.proposal.tool))
            }
            Verdict::Open => Ok(None),
        }
    }

    async fn grant(&self, call: &Call<'_>, scope: Option<Scope>) {
        // Of a tool that is not what it was, each call is looked at.
        if let Some(scope) = scope.filter(|_| call.proposal.reason.is_none()) {
            self.note_about(call, Kind::ApprovalGranted, Noted::Success, "", scope.for_the_session());
            self.grants.give(call, scope).await;
        }
    }

    fn consent<'a>(&'a self, held: Held<'a>) -> Consent<'a> {
        Consent { approvals: self, held: Some(held) }
    }

    fn note(&self, kind: Kind, outcome: Noted, id: &str) {
        self.audit.record(Event::new(kind, outcome).approval(id));
    }

    /// Notes what a person is asked or has said about a call.
    fn note_about(&self, call: &Call<'_>, kind: Kind, outcome: Noted, id: &str, why: &str) {
        if self.audit.is_on() {
            let arguments = call.proposal.arguments.unwrap_or("{}").as_bytes();
            let event = Event::new(kind, outcome).tool(call.proposal.tool);
            let event = if why.is_empty() { event } else { event.because(why) };
            let event = if id.is_empty() { event } else { event.approval(id) };
            self.audit.record(Event { arguments: Arguments::Given(Bytes::copy_from_slice(arguments)), ..event });
        }
    }

    fn deny(&self, call: [u8; 32]) {
        keep(&self.denied, Agreed { call, scope: None, expires: Instant::now() + LIFETIME });
    }
}

/// Takes what was said about a call and is still good.
fn take(said: &Mutex<Vec<Agreed>>, call: &[u8; 32]) -> Option<Agreed> {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    said.retain(|known| known.expires > now);
    let at = said.iter().position(|known| known.call == *call)?;
    Some(said.swap_remove(at))
}

/// Keeps what was said; of too much the oldest is forgotten.
fn keep(said: &Mutex<Vec<Agreed>>, word: Agreed) {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() >= MAX_SAID {
        said.remove(0);
    }
    said.push(word);
}

/// The question for the person at this client, if it can be asked: by a request, or else by the result of one of its own.
pub(super) fn question(client: &dyn Client, by_request: bool, call: &Call<'_>) -> Option<Question> {
    elicit::question(client, by_request, &call.proposal)
}

/// The `input_required` result with which a client of 2026-07-28 is asked, without its state.
pub(super) fn required(question: &Question) -> String {
    elicit::required(question)
}

fn denied(tool: &str) -> Outcome {
    Outcome::error_text(&format!("the user has denied this call of `{tool}`; do not repeat it"))
}

#[cfg(test)]
mod tests;
