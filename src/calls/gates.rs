//! What stands between a call and its child, apart from the permission: consent, rate limit, cooldown.

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
        let refused = |by: By| self.audited.refused(by, bound.arguments.map(str::as_bytes));
        let asking = Asking { ctx: self.ctx, token: self.token, call: call(self.ctx, bound, self.reason) };
        let consent = match bound.needs_approval {
            true => Some(asking.consent(opened).await.inspect_err(|_| refused(By::Approval))?),
            false => None,
        };
        let app = &self.ctx.app;
        let permit =
            app.rate_limits.take(bound.server, self.original, self.caller).inspect_err(|_| refused(By::RateLimit))?;
        self.cooldowns.check(bound.what, bound.arguments).inspect_err(|_| refused(By::Cooldown))?;
        permit.spend();
        if let Some(consent) = consent {
            consent.spend(&asking.call).await;
        }
        Ok(())
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
    asking.consent(&mut opened).await?.spend(&asking.call).await;
    Ok(())
}

fn call<'c>(ctx: &CallContext, bound: Bound<'c>, reason: Option<&'c str>) -> Call<'c> {
    let proposal = Proposal {
        tool: bound.what,
        server: CATALOG.servers.get(usize::from(bound.server)).map_or("", |server| server.id),
        arguments: bound.arguments,
        role: ctx.app.settings.role.map(|role| role.name),
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

impl<'a> Asking<'_, 'a> {
    /// The consent of a person. To get it may take minutes; nobody waits once the client has given up.
    async fn consent(&self, opened: &mut Opened<'a>) -> Result<Consent<'a>, Outcome> {
        tokio::select! {
            biased;
            () = self.ctx.cancelled.cancelled() => Err(Outcome::error_text("the call was given up")),
            consent = self.consented(opened) => consent,
        }
    }

    async fn consented(&self, opened: &mut Opened<'a>) -> Result<Consent<'a>, Outcome> {
        let (app, call) = (&self.ctx.app, &self.call);
        if let Some(approval) = opened.approval.take() {
            return Ok(app.approvals.carried(approval));
        }
        let mut is_asked = false;
        if let Some(asked) = opened.asked.take() {
            let (said, others) = app.approvals.answered(call, asked, opened.others.as_deref()).await;
            opened.others = others.or_else(|| Some("{}".to_owned()));
            if let Some(consent) = said? {
                return Ok(consent);
            }
            is_asked = true;
        }
        if let Some(consent) = app.approvals.standing(call, self.token).await? {
            return Ok(consent);
        }
        let by_request = self.ctx.era == Era::Handshake;
        // Who has just closed the question is not asked it again at once.
        let client = self.ctx.client.as_deref().filter(|_| !is_asked);
        if let Some((client, question)) = client.and_then(|it| Some((it, approval::question(it, by_request, call)?))) {
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
        Err(app.approvals.request(call, self.token.is_some()).await)
    }
}
