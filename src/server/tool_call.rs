//! One `tools/call`: from its parameters to the frames of its progress and its answer.

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::front::{Front, Request};
use crate::calls::outcome::{INVALID_PARAMS, Outcome};
use crate::calls::{self, CallContext, CallRequest, Era};
use crate::members::Members;
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;

/// Progress messages of one call that may wait to be written.
const PROGRESS_QUEUE: usize = 64;

/// Starts a call on a task of its own, so that a slow one holds up nobody.
pub(super) async fn start(front: &Front, request: Request<'_>, cancelled: CancellationToken) {
    let (name, arguments) = match parameters(request.params) {
        Ok(parameters) => parameters,
        Err(message) => return front.answer(request.id, Frame::error(Some(request.id), INVALID_PARAMS, message)).await,
    };
    let (id, meta) = (request.id.to_owned(), request.meta.for_child());
    let token = request.meta.progress_token().map(ToOwned::to_owned);
    let (progress, incoming) = mpsc::channel(PROGRESS_QUEUE);
    let ctx = CallContext {
        app: front.app.clone(),
        session: (request.era == Era::Handshake).then(|| front.session.clone()),
        era: request.era,
        progress: token.as_ref().map(|_| progress),
        cancelled: cancelled.clone(),
    };
    let (out, in_flight) = (front.out.clone(), front.in_flight.clone());
    tokio::spawn(async move {
        let request = CallRequest { name: &name, arguments: arguments.as_deref(), meta: meta.as_deref() };
        let outcome = run(ctx, request, incoming, token, &out).await;
        // A call that the client gave up gets no answer (basic/utilities/cancellation).
        if !cancelled.is_cancelled() {
            out.send(answer(&id, outcome)).await;
        }
        in_flight.finish(&id);
    });
}

/// Runs the call and forwards its progress; all of it is queued before this returns, so none follows the answer.
async fn run(
    ctx: CallContext,
    request: CallRequest<'_>,
    mut incoming: mpsc::Receiver<Bytes>,
    token: Option<Box<RawValue>>,
    out: &Outbox,
) -> Outcome {
    let era = ctx.era;
    let outcome = {
        let call = calls::call(&ctx, request);
        tokio::pin!(call);
        loop {
            tokio::select! {
                biased;
                Some(params) = incoming.recv(), if token.is_some() => forward(out, &params, token.as_deref()).await,
                outcome = &mut call => break outcome,
            }
        }
    };
    drop(ctx);
    while let Ok(params) = incoming.try_recv() {
        forward(out, &params, token.as_deref()).await;
    }
    match outcome {
        Outcome::Result(bytes) if era == Era::Modern => Outcome::Result(complete(bytes)),
        outcome => outcome,
    }
}

/// Sends one progress message under the client's token, type and all.
async fn forward(out: &Outbox, params: &[u8], token: Option<&RawValue>) {
    let text = std::str::from_utf8(params).unwrap_or("{}");
    if let (Ok(mut members), Some(token)) = (Members::parse(text), token) {
        for (_, value) in members.0.iter_mut().filter(|(key, _)| key == "progressToken") {
            *value = token;
        }
        out.send(Frame::notification("notifications/progress", Some(&members.to_json()))).await;
    }
}

/// A result with the `resultType` that 2026-07-28 requires; a child that speaks it has set its own.
fn complete(result: Bytes) -> Bytes {
    const MEMBER: &[u8] = br#""resultType""#;
    if memchr::memmem::find(&result, MEMBER).is_some() || result.first() != Some(&b'{') {
        return result;
    }
    let rest = result[1..].trim_ascii_start();
    let comma: &[u8] = if rest.starts_with(b"}") { b"" } else { b"," };
    [b"{\"resultType\":\"complete\"", comma, rest].concat().into()
}

fn answer(id: &str, outcome: Outcome) -> Frame {
    match outcome {
        Outcome::Result(bytes) => Frame::result(id, [bytes]),
        Outcome::RawError(bytes) => Frame::raw_error(id, bytes),
        Outcome::Error { code, message } => Frame::error(Some(id), code, &message),
    }
}

type Parameters = (String, Option<Box<RawValue>>);

fn parameters(params: Option<&RawValue>) -> Result<Parameters, &'static str> {
    let params = params.ok_or("`params` is missing: it needs `name`")?;
    let members = Members::parse(params.get()).map_err(|_| "`params` must be an object")?;
    let name = members.last("name").ok_or("`params.name` is missing: give the name of a tool")?;
    let name: String = serde_json::from_str(name.get()).map_err(|_| "`params.name` must be a text")?;
    let arguments = members.last("arguments").filter(|arguments| arguments.get() != "null");
    if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
        return Err("`params.arguments` must be an object");
    }
    Ok((name, arguments.map(ToOwned::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modern_results_say_that_they_are_complete() {
        for (result, expected) in [
            (r#"{"content":[]}"#, r#"{"resultType":"complete","content":[]}"#),
            ("{ }", r#"{"resultType":"complete"}"#),
            (r#"{"resultType":"input_required"}"#, r#"{"resultType":"input_required"}"#),
        ] {
            assert_eq!(complete(Bytes::from(result)), expected);
        }
    }

    #[test]
    fn malformed_parameters_are_named() {
        let fault = |text: &str| {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            parameters(Some(&raw)).unwrap_err()
        };
        assert_eq!(fault("{}"), "`params.name` is missing: give the name of a tool");
        assert_eq!(fault(r#"{"name":5}"#), "`params.name` must be a text");
        assert_eq!(fault(r#"{"name":"x","arguments":[]}"#), "`params.arguments` must be an object");
        assert!(parameters(None).is_err());
    }
}
