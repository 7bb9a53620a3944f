//! What stands between a call and its child, apart from the permission: rate limit, cooldown, consent.
//!
//! Nobody is asked about a call that would be refused all the same, so the limits are looked at first. What the gates hand
//! out is taken when all of them are open: a person may need minutes, and meanwhile nobody waits for a token that is not used.

use super::approval::{self, Call, Consent, Proposal};
use super::cooldown::Cooldowns;
use super::outcome::Outcome;
use super::state::{Bound, Opened};
use super::{CallContext, Era};
use crate::audit::{Audited, By};
use crate::catalog::CATALOG;
use crate::child::Caller;
use serde_json::value::RawValue;

/// The gates of one call.
pub(super) struct Gates<'g, 'a> {
    pub(super) ctx: &'a CallContext,
    /// The child's own name for the tool.
    pub(super) original: &'g str,
    pub(super) caller: Caller,
    /// The approval token that came with the call.
    pub(super) token: Option<&'g str>,
    /// Why a person is asked, beside the policy.
    pub(super) reason: Option<&'static str>,
    pub(super) cooldowns: &'g Cooldowns,
    /// What is noted of the call.
    pub(super) audited: &'g Audited<'g>,
}

impl<'a> Gates<'_, 'a> {
    /// Passes all of them, and only then spends what they handed out.
    ///
    /// # Errors
    /// The answer of the gate that is closed.
    pub(super) async fn pass(&self, bound: Bound<'_>, opened: &mut Opened<'a>) -> Result<(), Outcome> {
        let asking = Asking { ctx: self.ctx, token: self.token, call: call(self.ctx, bound, self.reason) };
        let mut consent = None;
        if bound.needs_approval {
            let refused = |_: &Outcome| self.refused(By::Approval, bound);
            let heard = asking.heard(opened).await.inspect_err(refused)?;
            let limits = &self.ctx.app.rate_limits;
            limits
                .look(bound.server, self.original, self.caller)
                .inspect_err(|_| self.refused(By::RateLimit, bound))?;
            self.rested(bound)?;
            consent = Some(asking.consent(heard).await.inspect_err(refused)?);
        }
        let limits = &self.ctx.app.rate_limits;
        let permit = limits.take(bound.server, self.original, self.caller);
        let permit = permit.inspect_err(|_| self.refused(By::RateLimit, bound))?;
        self.rested(bound)?;
        permit.spend();
        if let Some(consent) = consent {
            consent.spend(&asking.call).await;
        }
        Ok(())
    }

    fn rested(&self, bound: Bound<'_>) -> Result<(), Outcome> {
        self.cooldowns.check(bound.what, bound.arguments).inspect_err(|_| self.refused(By::Cooldown, bound))
    }

    fn refused(&self, by: By, bound: Bound<'_>) {
        self.audited.refused(by, bound.arguments.map(str::as_bytes));
    }
}

/// Passes the gate of a native tool that needs approval; the others are those of servers.
///
/// # Errors
/// The answer of that gate.
pub(super) async fn pass_native(
    ctx: &CallContext,
    bound: Bound<'_>,
    token: Option<&str>,
    others: Option<&RawValue>,
) -> Result<(), Outcome> {
    let mut opened = match ctx.era {
        Era::Modern => ctx.app.states.open(bound, others)?,
        Era::Handshake => Opened::default(),
    };
    let asking = Asking { ctx, token, call: call(ctx, bound, None) };
    let heard = asking.heard(&mut opened).await?;
    asking.consent(heard).await?.spend(&asking.call).await;
    Ok(())
}

fn call<'c>(ctx: &'c CallContext, bound: Bound<'c>, reason: Option<&'c str>) -> Call<'c> {
    let proposal = Proposal {
        tool: bound.what,
        server: CATALOG.servers.get(usize::from(bound.server)).map_or("", |server| server.id),
        arguments: bound.arguments,
        role: ctx.app.settings.role.map(|role| role.name),
        client: ctx.session.as_ref().and_then(|session| session.client_name()),
        reason,
    };
    Call { bound, caller: ctx.session.as_ref().map(|session| session.id()), proposal }
}

/// Asking for the consent to a call.
struct Asking<'c, 'a> {
    ctx: &'a CallContext,
    token: Option<&'c str>,
    call: Call<'c>,
}

/// What a request brings of consent.
enum Heard<'a> {
    /// The word of a person, to this call or to the round before it.
    Consent(Consent<'a>),
    /// The person has closed the question that came with the round before.
    Closed,
    Nothing,
}

impl<'a> Asking<'_, 'a> {
    /// What came with the request. An answer of a person counts, whatever becomes of the call.
    ///
    /// # Errors
    /// The answer to a call that they do not want.
    async fn heard(&self, opened: &mut Opened<'a>) -> Result<Heard<'a>, Outcome> {
        let approvals = &self.ctx.app.approvals;
        if let Some(approval) = opened.approval.take() {
            return Ok(Heard::Consent(approvals.carried(approval)));
        }
        let Some(asked) = opened.asked.take() else { return Ok(Heard::Nothing) };
        let (said, others) = approvals.answered(&self.call, asked, opened.others.as_deref());
        opened.others = others.or_else(|| Some("{}".to_owned()));
        Ok(said?.map_or(Heard::Closed, Heard::Consent))
    }

    /// The consent of a person. To get it may take minutes; nobody waits once the client has given up.
    ///
    /// # Errors
    /// The answer to a call that has none.
    async fn consent(&self, heard: Heard<'a>) -> Result<Consent<'a>, Outcome> {
        tokio::select! {
            biased;
            () = self.ctx.cancelled.cancelled() => Err(Outcome::error_text("the call was given up")),
            consent = self.asked(heard) => consent,
        }
    }

    async fn asked(&self, heard: Heard<'a>) -> Result<Consent<'a>, Outcome> {
        let (app, call) = (&self.ctx.app, &self.call);
        let is_closed = match heard {
            Heard::Consent(consent) => return Ok(consent),
            Heard::Closed => true,
            Heard::Nothing => false,
        };
        if let Some(consent) = app.approvals.standing(call, self.token).await? {
            return Ok(consent);
        }
        let by_request = self.ctx.era == Era::Handshake;
        // Who has just closed the question is not asked it again at once.
        let client = self.ctx.client.as_deref();
        let asked = client.and_then(|it| Some((it, approval::question(it, by_request, call)?)));
        let has_person = asked.is_some();
        if let Some((client, question)) = asked.filter(|_| !is_closed) {
            match self.ctx.era {
                Era::Handshake => {
                    if let Some(consent) = app.approvals.ask_client(client, question, call).await? {
                        return Ok(consent);
                    }
                }
                Era::Modern => match app.states.seal_question(call.bound, &approval::required(&question)) {
                    Ok(result) => return Err(Outcome::Result(result.into())),
                    Err(why) => crate::log::line(&format!("the client cannot be asked for approval: {why}")),
                },
            }
        }
        Err(app.approvals.request(call, self.token.is_some(), has_person).await)
    }
}
