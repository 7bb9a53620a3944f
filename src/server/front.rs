//! The loop over the client's lines: what each is, and who answers it. What concerns tools, resources,
//! prompts and tasks is answered here on bytes; everything else goes to rmcp.

use std::sync::Arc;

use bytes::Bytes;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcRequest};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::caller::Caller;
use super::crew::Crew;
use super::handshake;
use super::in_flight::{InFlight, MAX_IN_FLIGHT, Owner};
use super::lane::Protocol;
use super::lists::{self, List};
use super::meta::Meta;
use super::notify::ClientNotifier;
use super::peer::Peer;
use super::tool_call::Call;
use crate::app::App;
use crate::calls::outcome::INVALID_PARAMS;
use crate::calls::{CallContext, Era, bridge};
use crate::child::{ChildReply, Client, Level, Method};
use crate::session::Session;
use crate::wire::envelope::{self, INTERNAL_ERROR, INVALID_REQUEST, Incoming, METHOD_NOT_FOUND};
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;
use crate::wire::salvage;
use evokore_catalog::members::Members;

/// One client on one pair of streams.
pub(super) struct Front {
    pub(super) app: Arc<App>,
    pub(super) session: Arc<Session>,
    pub(super) notifier: Arc<ClientNotifier>,
    pub(super) peer: Peer,
    pub(super) out: Outbox,
    pub(super) in_flight: InFlight,
    pub(super) crew: Crew,
    pub(super) protocol: Protocol,
}

/// A request of the client.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) id: &'a str,
    pub(super) params: Option<&'a Members<'a>>,
    pub(super) meta: &'a Meta<'a>,
    pub(super) era: Era,
}

impl Front {
    /// Deals with one line. Returns once the line is answered or its answer is under way; waits while the client
    /// does not read its answers or, for a moment, while it has too many requests open.
    pub(super) async fn line(&self, line: &[u8]) {
        match envelope::read(line) {
            Incoming::Nothing => {}
            Incoming::Answer { id, result, error } => {
                let bytes = |raw: &RawValue| Bytes::copy_from_slice(raw.get().as_bytes());
                let reply = || match (error, result) {
                    (Some(error), _) => ChildReply::Error(bytes(error)),
                    (None, result) => ChildReply::Result(result.map(bytes).unwrap_or_default()),
                };
                if !id.is_some_and(|id| self.peer.answer(id, reply)) {
                    self.tell_rmcp(line).await;
                }
            }
            Incoming::Invalid { id, code, message } => self.error(id, code, message).await,
            Incoming::Notification { method, params } => self.notification(&method, params, line).await,
            Incoming::Request { id, method, params } => {
                if !self.in_flight.room().await {
                    return self.error(Some(id), INTERNAL_ERROR, &too_many()).await;
                }
                if self.in_flight.holds(id) {
                    return self.error(Some(id), INVALID_REQUEST, "a request with this id has no answer yet").await;
                }
                self.request(id, &method, params, line).await;
            }
        }
    }

    /// A line over the limit of bytes came in; its beginning and its end may tell whose request it was.
    pub(super) async fn too_long(&self, head: &[u8], tail: &[u8], limit: usize) {
        let id = salvage::request_id(head, tail);
        self.error(id, INVALID_REQUEST, &format!("the line is longer than {limit} bytes")).await;
    }

    async fn notification(&self, method: &str, params: Option<&RawValue>, line: &[u8]) {
        match method {
            "notifications/initialized" => {
                self.notifier.ready();
                self.peer.ready();
            }
            "notifications/roots/list_changed" => self.peer.roots_changed(),
            "notifications/cancelled" => {
                let members = params.and_then(|params| Members::parse(params.get()).ok()).unwrap_or_default();
                let owner = members.last("requestId").and_then(|id| self.in_flight.cancel(id.get()));
                if matches!(owner, Some(Owner::Rmcp | Owner::Subscription)) {
                    self.tell_rmcp(line).await;
                }
            }
            _ => self.tell_rmcp(line).await,
        }
    }

    async fn request(&self, id: &str, method: &str, params: Option<&RawValue>, line: &[u8]) {
        let members = match params.map(|params| Members::parse(params.get())).transpose() {
            Ok(members) => members,
            Err(_) => return self.error(Some(id), INVALID_PARAMS, "`params` must be an object").await,
        };
        let meta = match Meta::of(members.as_ref()) {
            Ok(meta) => meta,
            Err(message) => return self.error(Some(id), INVALID_PARAMS, message).await,
        };
        let own = !matches!(method, "initialize" | "subscriptions/listen");
        let era = match meta.era() {
            Ok(era) => era,
            Err(error) if own => return self.out.send(Frame::raw_error(id, error)).await,
            // rmcp sees the same fault and says so itself.
            Err(_) => Era::Modern,
        };
        if era == Era::Modern {
            self.peer.meet(|| meta.capabilities());
        }
        let request = Request { id, params: members.as_ref(), meta: &meta, era };
        match method {
            "tools/call" => self.call(Call::read(request), request).await,
            "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
                self.list(method, request).await;
            }
            "resources/subscribe" | "resources/unsubscribe" | "tasks/result" | "tasks/list" if era == Era::Modern => {
                self.error(Some(id), METHOD_NOT_FOUND, &format!("revision 2026-07-28 has no `{method}`")).await;
            }
            "tasks/update" if era == Era::Handshake => {
                self.error(Some(id), METHOD_NOT_FOUND, "only revision 2026-07-28 has `tasks/update`").await;
            }
            "ping" if era == Era::Handshake => self.out.send(Frame::result(id, ["{}".into()])).await,
            "initialize" => self.initialize(id, params).await,
            "server/discover" if era == Era::Modern => {
                self.out.send(Frame::result(id, [handshake::discover().into()])).await;
            }
            "logging/setLevel" if era == Era::Handshake => match level(request.params) {
                Some(level) => {
                    self.peer.set_level(level);
                    self.out.send(Frame::result(id, ["{}".into()])).await;
                }
                None => {
                    let message = "`params.level` must be one of debug, info, notice, warning, error, critical, alert, \
                                   emergency";
                    self.error(Some(id), INVALID_PARAMS, message).await;
                }
            },
            // rmcp goes on answering what 2026-07-28 has done away with (changelog, removals).
            "logging/setLevel" if era == Era::Modern => {
                self.error(Some(id), METHOD_NOT_FOUND, "revision 2026-07-28 has no `logging/setLevel`").await;
            }
            "subscriptions/listen" if names_tasks(request.params) && !meta.capabilities().has_tasks() => {
                self.out.send(Frame::raw_error(id, bridge::undeclared())).await;
            }
            _ => match Method::of(method) {
                Some(method) => self.call(Call::read_ask(method, request), request).await,
                None => self.ask_rmcp(id, method, line).await,
            },
        }
    }

    async fn call(&self, call: Result<Call, &'static str>, request: Request<'_>) {
        match call {
            Err(message) => self.error(Some(request.id), INVALID_PARAMS, message).await,
            Ok(call) => {
                let cancelled = CancellationToken::new();
                self.in_flight.begin(request.id, Owner::Call(cancelled.clone()));
                let ctx = self.context(request, cancelled);
                self.crew.run(call, ctx, &self.out, &self.in_flight);
            }
        }
    }

    fn context(&self, request: Request<'_>, cancelled: CancellationToken) -> CallContext {
        let era = request.era;
        let client: Arc<dyn Client> = match era {
            Era::Handshake => Arc::new(self.peer.clone()),
            Era::Modern => Arc::new(Caller::of(request.meta, self.out.clone())),
        };
        CallContext {
            app: self.app.clone(),
            session: (era == Era::Handshake).then(|| self.session.clone()),
            era,
            client: Some(client),
            progress: None,
            cancelled,
        }
    }

    /// Waits until `deadline` for what has no answer yet.
    pub(super) async fn drain(&self, deadline: Instant) {
        let _ = timeout_at(deadline, self.in_flight.all_answered()).await;
    }

    /// Stops the calls that are not finished and refuses them, so that no request stays without an answer; ends the
    /// subscriptions, each with its answer; and writes out what is queued. Takes as long as the client takes to read.
    pub(super) async fn end(self) {
        // All at once: there is little time, and the way out has room for fewer frames than there may be calls.
        let mut refusals = Frame::default();
        for id in self.in_flight.abandon_calls() {
            let refusal = Frame::error(Some(&id), INTERNAL_ERROR, "the server ends before the call was finished");
            refusals.0.extend(refusal.0);
        }
        self.out.send(refusals).await;
        self.protocol.end().await;
        self.out.flush().await;
    }

    async fn initialize(&self, id: &str, params: Option<&RawValue>) {
        match handshake::initialize(params) {
            Ok((result, client)) => {
                self.peer.greet(client.capabilities());
                let name = client.name();
                if name.as_deref().is_some_and(lists::lists_once) {
                    self.session.list_once();
                }
                if let Some(name) = name {
                    self.session.introduce(name);
                }
                self.protocol.set_client(client);
                self.out.send(Frame::result(id, [result.into()])).await;
            }
            Err(message) => self.error(Some(id), INVALID_PARAMS, message).await,
        }
    }

    async fn list(&self, method: &str, request: Request<'_>) {
        match List::read(method, request, &self.session) {
            Err(message) => self.error(Some(request.id), INVALID_PARAMS, message).await,
            Ok(list) if list.must_wait(&self.app) => self.call(Ok(Call::of_list(list, request)), request).await,
            Ok(list) => self.out.send(Frame::result(request.id, list.result(&self.app))).await,
        }
    }

    /// Hands a line that wants no answer to rmcp, if it has been started and can read it.
    async fn tell_rmcp(&self, line: &[u8]) {
        if self.protocol.is_started()
            && let Ok(message) = serde_json::from_slice(without_mark(line))
        {
            self.protocol.send(message).await;
        }
    }

    /// Hands a request to rmcp.
    async fn ask_rmcp(&self, id: &str, method: &str, line: &[u8]) {
        match serde_json::from_slice::<JsonRpcRequest<ClientRequest>>(without_mark(line)) {
            Ok(request) => {
                let owner = if method == "subscriptions/listen" { Owner::Subscription } else { Owner::Rmcp };
                self.in_flight.begin(id, owner);
                self.protocol.send(ClientJsonRpcMessage::Request(request)).await;
            }
            Err(error) => {
                self.error(Some(id), INVALID_REQUEST, &format!("the request cannot be read: {error}")).await;
            }
        }
    }

    async fn error(&self, id: Option<&str>, code: i64, message: &str) {
        self.out.send(Frame::error(id, code, message)).await;
    }
}

fn too_many() -> String {
    format!("{MAX_IN_FLIGHT} requests are open and none of them gets its answer: wait for one, or cancel one")
}

/// Editors that save JSON with a byte order mark also write lines with one.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

/// Whether a subscription asks for news of tasks.
fn names_tasks(params: Option<&Members<'_>>) -> bool {
    let filter = params.and_then(|params| Members::parse(params.last("notifications")?.get()).ok());
    filter.is_some_and(|filter| filter.last("taskIds").is_some_and(|ids| ids.get() != "null"))
}

fn level(params: Option<&Members<'_>>) -> Option<Level> {
    Level::of(&serde_json::from_str::<String>(params?.last("level")?.get()).ok()?)
}
