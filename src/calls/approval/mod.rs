//! Consent to calls that the policy does not simply allow.
//!
//! A call whose access is `require_approval` never reaches a child server without a [`Consent`], and only
//! [`Approvals::check`] makes one. The refusal hands out a token, bound to the tool and its exact arguments, good for
//! one call and five minutes. The model can carry it but not spend it: it works only after a person has approved the
//! request with `evokore approvals approve ID`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::outcome::Outcome;
use super::state::Bound;
use crate::state::approvals::{Decision, Pending, Requests};
use evokore_catalog::members::Members;

/// The argument that carries a token; it is removed before the child server sees the call.
pub const TOKEN_KEY: &str = "_evokore_approval_token";

/// How long a token lives.
pub const LIFETIME: Duration = Duration::from_secs(300);

/// Most requests that wait at once; beyond it the oldest is withdrawn.
const MAX_PENDING: usize = 64;

/// Takes the approval token out of a call's arguments. Arguments without one stay the bytes they were.
pub(super) fn take_token(arguments: Option<&RawValue>) -> (Option<String>, Option<Cow<'_, str>>) {
    let Some(text) = arguments.map(RawValue::get) else { return (None, None) };
    // A key may be spelt with escapes, so only a text without any backslash can be judged by its bytes.
    if !text.contains(TOKEN_KEY) && !text.contains('\\') {
        return (None, Some(Cow::Borrowed(text)));
    }
    let Ok(mut members) = Members::parse(text) else { return (None, Some(Cow::Borrowed(text))) };
    match members.take(TOKEN_KEY) {
        None => (None, Some(Cow::Borrowed(text))),
        Some(token) => {
            while members.take(TOKEN_KEY).is_some() {}
            (serde_json::from_str(token.get()).ok(), Some(Cow::Owned(members.to_json())))
        }
    }
}

/// Proof that a person agreed to one call, held by that call alone. Dropped unspent, because a later gate refused the
/// call, it leaves the token valid.
#[derive(Debug)]
pub struct Consent<'a> {
    approvals: &'a Approvals,
    held: Option<Waiting>,
}

impl Consent<'_> {
    /// The call is made: the token is spent.
    pub async fn spend(mut self) {
        if let Some(held) = self.held.take() {
            self.approvals.requests.remove(&held.id).await;
        }
    }
}

impl Drop for Consent<'_> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.approvals.lock().push(held);
        }
    }
}

/// Calls that wait for a person.
#[derive(Debug)]
pub struct Approvals {
    requests: Requests,
    waiting: Mutex<Vec<Waiting>>,
}

#[derive(Debug, Clone)]
struct Waiting {
    /// SHA-256 of the token: the token itself is kept by the caller alone.
    token: [u8; 32],
    /// SHA-256 of tool, definition and canonical arguments.
    call: [u8; 32],
    id: String,
    expires: Instant,
}

impl Approvals {
    /// Keeps the requests that a person sees in `requests`.
    pub fn new(requests: Requests) -> Approvals {
        Approvals { requests, waiting: Mutex::default() }
    }

    /// Checks the consent to one call; `reason` is why it is asked for, beside the policy. A refused call leaves valid tokens valid.
    ///
    /// # Errors
    /// The answer that says how consent is given.
    pub(super) async fn check(
        &self,
        bound: Bound<'_>,
        reason: Option<&'static str>,
        token: Option<&str>,
    ) -> Result<Consent<'_>, Outcome> {
        let tool = bound.what;
        let call = digest(bound);
        let known = token.and_then(|token| self.find(token, &call));
        let Some(waiting) = known else { return Err(self.ask(bound, reason, call, token.is_some()).await) };
        match self.requests.decision(&waiting.id).await {
            Some(Decision::Approved) => {
                // Another call may have taken it during the await.
                if self.forget(&waiting.id) {
                    return Ok(Consent { approvals: self, held: Some(waiting) });
                }
                Err(self.ask(bound, reason, call, true).await)
            }
            Some(Decision::Denied) => {
                self.forget(&waiting.id);
                self.requests.remove(&waiting.id).await;
                Err(Outcome::error_text(&format!("the user has denied this call of `{tool}`; do not repeat it")))
            }
            None => Err(Outcome::error_text(&format!(
                "nobody has approved this call of `{tool}` yet. Ask the user to run `evokore approvals approve {}`, then repeat the call",
                waiting.id
            ))),
        }
    }

    fn find(&self, token: &str, call: &[u8; 32]) -> Option<Waiting> {
        let token: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let now = Instant::now();
        // Digests are compared, so the time a comparison takes tells nothing about the token.
        self.lock().iter().find(|w| w.token == token && w.call == *call && w.expires > now).cloned()
    }

    fn forget(&self, id: &str) -> bool {
        let mut waiting = self.lock();
        let before = waiting.len();
        waiting.retain(|known| known.id != id);
        waiting.len() < before
    }

    async fn ask(&self, bound: Bound<'_>, reason: Option<&str>, call: [u8; 32], had_token: bool) -> Outcome {
        let Bound { what: tool, arguments, .. } = bound;
        let mut random = [0u8; 16];
        if let Err(error) = getrandom::fill(&mut random) {
            return Outcome::error_text(&format!(
                "`{tool}` needs approval, but the system gives no random numbers: {error}"
            ));
        }
        let token = hex(&random);
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let id = hex(&hash[..4]);
        let dropped = {
            let mut waiting = self.lock();
            let now = Instant::now();
            let mut dropped: Vec<String> = Vec::new();
            waiting.retain(|known| {
                let alive = known.expires > now;
                if !alive {
                    dropped.push(known.id.clone());
                }
                alive
            });
            if waiting.len() >= MAX_PENDING {
                dropped.push(waiting.remove(0).id);
            }
            waiting.push(Waiting { token: hash, call, id: id.clone(), expires: now + LIFETIME });
            dropped
        };
        for id in dropped {
            self.requests.remove(&id).await;
        }
        if let Err(reason) = self.requests.add(Pending::new(&id, tool, arguments, LIFETIME).because(reason)).await {
            return Outcome::error_text(&format!(
                "`{tool}` needs a person's approval, but it cannot be asked for: {reason}"
            ));
        }
        let because = reason.map_or_else(String::new, |reason| format!(", because {reason}"));
        let again = if had_token { "that token is not valid for this call. " } else { "" };
        Outcome::error_text(&format!(
            "{again}`{tool}` needs a person's approval{because}. Ask the user to run `evokore approvals approve {id}`, then repeat the call with the same arguments and \"{TOKEN_KEY}\": \"{token}\". The request ends in {} minutes",
            LIFETIME.as_secs() / 60
        ))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Binds a token to the tool, its definition where that counts, and its arguments, whatever the order of their keys.
pub(super) fn digest(bound: Bound<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(bound.what.as_bytes());
    hash.update([0, u8::from(bound.definition.is_some())]);
    if let Some(definition) = bound.definition {
        hash.update(Sha256::digest(definition));
    }
    let text = bound.arguments.unwrap_or("{}");
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            value.sort_all_objects();
            hash.update(value.to_string().as_bytes());
        }
        // Not canonical, but still exact.
        Err(_) => hash.update(text.as_bytes()),
    }
    hash.finalize().into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests;
