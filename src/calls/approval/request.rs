//! Asking whoever looks at `evokore approvals`: the refusal of a call hands out a token, which is good once a person has
//! agreed to the request that goes with it.

use std::sync::atomic::Ordering::Relaxed;

use evokore_catalog::permission::ApprovalMode;

use super::tickets::{MAX_PENDING, Ticket};
use super::{Approvals, Call, Kind, LIFETIME, Noted, Pending, Proposal, TOKEN_KEY, denied, random};
use crate::calls::outcome::Outcome;
use crate::state::approvals::Decision;

impl Approvals {
    /// The answer to a call that a person has denied in a terminal.
    pub(super) async fn settle_denied(&self, call: &Call<'_>, ticket: &Ticket) -> Outcome {
        self.tickets.take(&ticket.id);
        self.requests.remove(&ticket.id).await;
        self.deny(ticket.call);
        denied(call.proposal.tool)
    }

    /// How many calls were refused because nobody has agreed to them.
    pub fn wanting(&self) -> usize {
        self.wanting.load(Relaxed)
    }

    /// Asks whoever looks at `evokore approvals`: the refusal, which says how consent is given. A call that is asked about
    /// already is not asked about twice.
    ///
    /// `has_person`: the client can ask its person, whose word nothing takes the place of then.
    pub(in crate::calls) async fn request(&self, call: &Call<'_>, had_token: bool, has_person: bool) -> Outcome {
        let Proposal { tool, reason, .. } = call.proposal;
        self.wanting.fetch_add(1, Relaxed);
        for id in self.tickets.take_ended() {
            self.withdraw(&id).await;
        }
        let digest = call.digest();
        if let Some(ticket) = self.tickets.of(&digest) {
            match self.requests.decision(&ticket.id).await {
                None => return refusal(call, &ticket, had_token),
                Some(Decision::Denied) => return self.settle_denied(call, &ticket).await,
                // That is for the call which brings its token.
                Some(Decision::Approved(_)) => {}
            }
        }
        let mut ticket = match random::<16>() {
            Ok(random) => Ticket::new(random, digest, call.caller, LIFETIME),
            Err(why) => return Outcome::error_text(&format!("`{tool}` needs approval, but {why}")),
        };
        // A tool that is not what it was is looked at by a person.
        ticket.is_enough = self.mode == ApprovalMode::Token && !has_person && reason.is_none();
        if !self.tickets.add(&ticket) {
            return too_many(tool);
        }
        if let Err(reason) = self.requests.add(Pending::new(&ticket.id, &call.proposal, LIFETIME)).await {
            self.tickets.take(&ticket.id);
            return Outcome::error_text(&format!(
                "`{tool}` needs a person's approval, but it cannot be asked for: {reason}"
            ));
        }
        self.note_about(
            call,
            Kind::ApprovalRequested,
            Noted::ApprovalNeeded,
            &ticket.id,
            reason.unwrap_or("the policy"),
        );
        refusal(call, &ticket, had_token)
    }

    /// Nobody is asked for request `id` any more.
    pub(super) async fn withdraw(&self, id: &str) {
        self.note(Kind::ApprovalExpired, Noted::Failure, id);
        self.requests.remove(id).await;
    }
}

/// The answer to a call that nobody is asked about, because so many wait.
pub(super) fn too_many(tool: &str) -> Outcome {
    Outcome::error_text(&format!(
        "`{tool}` needs a person's approval, and {MAX_PENDING} calls wait for one already, so nobody is asked about this one. Ask the user to settle some of them, at the client or with `evokore approvals`, then repeat the call"
    ))
}

/// The answer to a call that waits for a person.
fn refusal(call: &Call<'_>, ticket: &Ticket, had_token: bool) -> Outcome {
    let Proposal { tool, reason, .. } = call.proposal;
    let (id, token, minutes) = (&ticket.id, ticket.token(), ticket.left().as_secs().div_ceil(60));
    let because = reason.map_or_else(String::new, |reason| format!(", because {reason}"));
    let again = if had_token { "that token is not valid for this call. " } else { "" };
    let minutes = if minutes == 1 { "1 minute".to_owned() } else { format!("{minutes} minutes") };
    if ticket.is_enough {
        return Outcome::error_text(&format!(
            "{again}`{tool}` needs approval. Make sure that the user wants this call, then repeat it with the same arguments and \"{TOKEN_KEY}\": \"{token}\". The user can deny it with `evokore approvals deny {id}`. The token ends in {minutes}"
        ));
    }
    Outcome::error_text(&format!(
        "{again}`{tool}` needs a person's approval{because}. Ask the user to run `evokore approvals approve {id}`, then repeat the call with the same arguments and \"{TOKEN_KEY}\": \"{token}\". The request ends in {minutes}"
    ))
}
