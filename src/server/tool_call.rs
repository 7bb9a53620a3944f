//! One `tools/call`, or a request about resources, prompts and tasks: from its parameters to the frames of its progress and
//! its answer.

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::front::Request;
use super::in_flight::InFlight;
use super::lists::List;
use crate::calls::outcome::Outcome;
use crate::calls::{self, CallContext, CallRequest, Era};
use crate::child::Method;
use crate::offers;
use crate::tasks;
use crate::wire::envelope::INTERNAL_ERROR;
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;
use evokore_catalog::members::Members;

/// Progress messages of one call that may wait to be written.
const PROGRESS_QUEUE: usize = 64;

/// A call that has been read, and waits for its task.
pub(super) struct Call {
    id: String,
    era: Era,
    what: What,
    /// `_meta` for the child server.
    meta: Option<Box<RawValue>>,
    /// The client's progress token, if it wants progress.
    token: Option<Box<RawValue>>,
    /// The approval token of `_meta`.
    approval: Option<String>,
}

/// What is asked.
enum What {
    Tool(Parameters),
    /// Anything else: the method and its `params`, `_meta` apart.
    Offer(Method, Box<RawValue>),
    /// A list that must wait for servers to start.
    List(List),
}

impl Call {
    /// Reads the parameters of a `tools/call`.
    pub(super) fn read(request: Request<'_>) -> Result<Call, &'static str> {
        Ok(Call::of(request, What::Tool(Parameters::read(request.params)?)))
    }

    /// Reads the parameters of a request about resources, prompts or tasks.
    pub(super) fn read_ask(method: Method, request: Request<'_>) -> Result<Call, &'static str> {
        const NEEDED: &str = "`params` must be an object";
        let mut params = match request.params {
            Some(params) => params.clone().unique(),
            None if method == Method::ListTasks => Members::default(),
            None => return Err(NEEDED),
        };
        params.0.retain(|(key, _)| key != "_meta");
        let params = RawValue::from_string(params.to_json()).map_err(|_| NEEDED)?;
        Ok(Call::of(request, What::Offer(method, params)))
    }

    /// A list whose answer must wait.
    pub(super) fn of_list(list: List, request: Request<'_>) -> Call {
        Call::of(request, What::List(list))
    }

    fn of(request: Request<'_>, what: What) -> Call {
        Call {
            id: request.id.to_owned(),
            era: request.era,
            what,
            meta: request.meta.for_child(),
            token: request.meta.progress_token().map(ToOwned::to_owned),
            approval: request.meta.approval_token(),
        }
    }

    /// Calls, and sends progress and the answer; nothing once the client has given the call up
    /// (basic/utilities/cancellation). A defect ends the call, not the server.
    pub(super) async fn run(self, ctx: CallContext, out: &Outbox, in_flight: &InFlight) {
        let _unanswered = Unanswered { id: &self.id, out, in_flight };
        let cancelled = ctx.cancelled.clone();
        let outcome = self.outcome(ctx, out).await;
        // Looked at first: after a cancellation the id may already be another request's.
        if !cancelled.is_cancelled() && in_flight.finish(&self.id) {
            out.send(self.answer(outcome)).await;
        }
    }

    /// Calls and forwards progress; all of it is queued before this returns, so none follows the answer.
    async fn outcome(&self, mut ctx: CallContext, out: &Outbox) -> Outcome {
        let mut incoming = self.token.as_ref().map(|_| {
            let (progress, incoming) = mpsc::channel(PROGRESS_QUEUE);
            ctx.progress = Some(progress);
            incoming
        });
        let outcome = {
            let call = self.answered_by(&ctx);
            tokio::pin!(call);
            loop {
                tokio::select! {
                    biased;
                    Some((params, token)) = next(&mut incoming, self.token.as_deref()) => {
                        progress(out, token, &params).await;
                    }
                    outcome = &mut call => break outcome,
                }
            }
        };
        let is_wanted = !ctx.cancelled.is_cancelled();
        drop(ctx);
        if let (Some(mut incoming), Some(token)) = (incoming, &self.token) {
            while let Ok(params) = incoming.try_recv() {
                progress(out, token, &params).await;
            }
            // Somebody goes on sending: the call has become a task, which the token outlives.
            if is_wanted && !incoming.is_closed() {
                let (out, token) = (out.clone(), token.clone());
                tokio::spawn(async move {
                    while let Some(params) = incoming.recv().await {
                        progress(&out, &token, &params).await;
                    }
                });
            }
        }
        outcome
    }

    async fn answered_by(&self, ctx: &CallContext) -> Outcome {
        let meta = self.meta.as_deref();
        match &self.what {
            What::Tool(Parameters { name, arguments, others }) => {
                let (arguments, others) = (arguments.as_deref(), others.as_deref());
                let token = self.approval.as_deref();
                calls::call(ctx, CallRequest { name, arguments, others, meta, token }).await
            }
            What::Offer(method, params) => {
                let params = Members::parse(params.get()).unwrap_or_default();
                let request = offers::Request { method: *method, params, meta };
                if method.is_about_tasks() { tasks::ask(ctx, request).await } else { offers::ask(ctx, request).await }
            }
            What::List(list) => Outcome::Result(list.late_result(&ctx.app).await),
        }
    }

    fn answer(&self, outcome: Outcome) -> Frame {
        match outcome {
            Outcome::Result(bytes) if self.era == Era::Modern => Frame::result(&self.id, complete(bytes, self.hints())),
            Outcome::Result(bytes) => Frame::result(&self.id, [bytes]),
            Outcome::RawError(bytes) => Frame::raw_error(&self.id, bytes),
            Outcome::Error { code, message } => Frame::error(Some(&self.id), code, &message),
        }
    }

    /// What a result says about how long it holds, if it is of a kind that must (2026-07-28, server/utilities/caching).
    fn hints(&self) -> &'static str {
        match self.what {
            What::Offer(Method::ReadResource, _) => r#""ttlMs":0,"cacheScope":"private","#,
            _ => "",
        }
    }
}

/// Sends one progress message under the client's token, type and all.
async fn progress(out: &Outbox, token: &RawValue, params: &[u8]) {
    let text = std::str::from_utf8(params).unwrap_or("{}");
    if let Ok(mut members) = Members::parse(text) {
        for (_, value) in members.0.iter_mut().filter(|(key, _)| key == "progressToken") {
            *value = token;
        }
        out.send(Frame::notification("notifications/progress", Some(&members.to_json()))).await;
    }
}

async fn next<'a>(
    incoming: &mut Option<mpsc::Receiver<Bytes>>,
    token: Option<&'a RawValue>,
) -> Option<(Bytes, &'a RawValue)> {
    match incoming.as_mut().zip(token) {
        Some((incoming, token)) => Some((incoming.recv().await?, token)),
        None => None,
    }
}

/// Answers a call whose task panics, so that its caller does not wait forever.
struct Unanswered<'a> {
    id: &'a str,
    out: &'a Outbox,
    in_flight: &'a InFlight,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && self.in_flight.finish(self.id) {
            let message = "the call failed by a defect of this server";
            self.out.try_send(Frame::error(Some(self.id), INTERNAL_ERROR, message));
        }
    }
}

/// The segments of a result with the `resultType` that 2026-07-28 requires, and `hints`, members with commas behind; a child that speaks it has set its own.
fn complete(result: Bytes, hints: &str) -> [Bytes; 2] {
    const MEMBER: &[u8] = br#""resultType""#;
    if result.first() != Some(&b'{') {
        return [Bytes::new(), result];
    }
    // The word may also stand somewhere inside; only then is it worth to read the members.
    if memchr::memmem::find(&result, MEMBER).is_some() {
        let members = std::str::from_utf8(&result).ok().and_then(|text| Members::parse(text).ok());
        if members.is_none_or(|members| members.last("resultType").is_some()) {
            return [Bytes::new(), result];
        }
    }
    let rest = result.slice_ref(result[1..].trim_ascii_start());
    let head = format!("{{{hints}\"resultType\":\"complete\"{}", if rest.starts_with(b"}") { "" } else { "," });
    [Bytes::from(head), rest]
}

/// The `params` of a call, `_meta` apart.
#[derive(Debug)]
struct Parameters {
    name: String,
    arguments: Option<Box<RawValue>>,
    others: Option<Box<RawValue>>,
}

impl Parameters {
    fn read(params: Option<&Members<'_>>) -> Result<Parameters, &'static str> {
        let members = params.ok_or("`params` is missing: it needs `name`")?;
        let name = members.last("name").ok_or("`params.name` is missing: give the name of a tool")?;
        let name: String = serde_json::from_str(name.get()).map_err(|_| "`params.name` must be a text")?;
        let arguments = members.last("arguments").filter(|arguments| arguments.get() != "null");
        if arguments.is_some_and(|arguments| !arguments.get().starts_with('{')) {
            return Err("`params.arguments` must be an object");
        }
        let others = members.0.iter().filter(|(key, _)| !matches!(&**key, "name" | "arguments" | "_meta"));
        let others = Members(others.cloned().collect());
        let others = if others.0.is_empty() { None } else { RawValue::from_string(others.to_json()).ok() };
        Ok(Parameters { name, arguments: arguments.map(ToOwned::to_owned), others })
    }
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
            (
                r#"{"structuredContent":{"resultType":1}}"#,
                r#"{"resultType":"complete","structuredContent":{"resultType":1}}"#,
            ),
        ] {
            assert_eq!(complete(Bytes::from(result), "").concat(), expected.as_bytes());
        }
    }

    #[tokio::test]
    async fn a_call_whose_task_panics_is_answered() {
        use tokio::io::AsyncReadExt as _;
        let (near, mut far) = tokio::io::duplex(1 << 10);
        let (out, in_flight) = (Outbox::start(near), InFlight::default());
        in_flight.begin("7", super::super::in_flight::Owner::Rmcp);
        let (sent, requests) = (out.clone(), in_flight.clone());
        let task = tokio::spawn(async move {
            let _unanswered = Unanswered { id: "7", out: &sent, in_flight: &requests };
            panic!("as a defect would");
        });
        assert!(task.await.is_err_and(|error| error.is_panic()));
        drop(out);
        let mut line = String::new();
        far.read_to_string(&mut line).await.unwrap();
        assert!(line.contains(r#""id":7,"error":{"code":-32603"#) && !in_flight.holds("7"), "{line}");
    }

    #[test]
    fn malformed_parameters_are_named() {
        let fault = |text: &str| {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            Parameters::read(Some(&Members::parse(raw.get()).unwrap())).unwrap_err()
        };
        assert_eq!(fault("{}"), "`params.name` is missing: give the name of a tool");
        assert_eq!(fault(r#"{"name":5}"#), "`params.name` must be a text");
        assert_eq!(fault(r#"{"name":"x","arguments":[]}"#), "`params.arguments` must be an object");
        assert!(Parameters::read(None).is_err());
    }
}
