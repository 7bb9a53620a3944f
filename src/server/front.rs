//! The loop over the client's lines: what each is, and who answers it. `tools/list` and `tools/call` are answered here
//! on bytes; everything else goes to rmcp.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::ClientJsonRpcMessage;
use serde_json::value::RawValue;

use super::handshake;
use super::in_flight::{InFlight, Refused};
use super::lane::Protocol;
use super::meta::Meta;
use super::notify::ClientNotifier;
use super::tool_call;
use crate::app::App;
use crate::calls::Era;
use crate::calls::outcome::INVALID_PARAMS;
use crate::child::Status;
use crate::listing::list::{self, ListRequest};
use crate::members::Members;
use crate::session::Session;
use crate::wire::envelope::{self, INVALID_REQUEST, Incoming, Text};
use crate::wire::frame::Frame;
use crate::wire::outbox::Outbox;
use evokore_catalog::permission::Access;
use evokore_catalog::profile::SchemaMode;

/// One client on one pair of streams.
pub(super) struct Front {
    pub(super) app: Arc<App>,
    pub(super) session: Arc<Session>,
    pub(super) notifier: Arc<ClientNotifier>,
    pub(super) out: Outbox,
    pub(super) in_flight: InFlight,
    pub(super) protocol: Protocol,
}

/// A request of the client.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) id: &'a str,
    pub(super) params: Option<&'a RawValue>,
    pub(super) meta: &'a Meta<'a>,
    pub(super) era: Era,
}

impl Front {
    /// Deals with one line. Returns once the line is answered or its answer is under way.
    pub(super) async fn line(&self, line: &[u8]) {
        match envelope::read(line) {
            Incoming::Nothing => {}
            // No request of ours is open that rmcp does not know of.
            Incoming::Answer => self.tell_rmcp(line).await,
            Incoming::Invalid { id, code, message } => self.error(id, code, message).await,
            Incoming::Notification { method, params } => self.notification(&method, params, line).await,
            Incoming::Request { id, method, params } => self.request(id, &method, params, line).await,
        }
    }

    /// A line over the limit came in.
    pub(super) async fn too_long(&self, limit: usize) {
        self.error(None, INVALID_REQUEST, &format!("the line is longer than {limit} bytes")).await;
    }

    async fn notification(&self, method: &str, params: Option<&RawValue>, line: &[u8]) {
        match method {
            "notifications/initialized" => self.notifier.ready(),
            "notifications/cancelled" => {
                let members = params.and_then(|params| Members::parse(params.get()).ok()).unwrap_or_default();
                if let Some(id) = members.get("requestId") {
                    self.in_flight.cancel(id.get());
                }
                self.tell_rmcp(line).await;
            }
            _ => self.tell_rmcp(line).await,
        }
    }

    async fn request(&self, id: &str, method: &str, params: Option<&RawValue>, line: &[u8]) {
        let cancelled = match self.in_flight.begin(id) {
            Ok(token) => token,
            Err(Refused::Duplicate) => {
                return self.error(Some(id), INVALID_REQUEST, "a request with this id is still being answered").await;
            }
            Err(Refused::TooMany) => {
                return self
                    .error(Some(id), INVALID_REQUEST, "too many requests are being answered; wait for some")
                    .await;
            }
        };
        let meta = match Meta::of(params) {
            Ok(meta) => meta,
            Err(message) => return self.answer(id, Frame::error(Some(id), INVALID_PARAMS, message)).await,
        };
        let own = matches!(method, "server/discover" | "tools/list" | "tools/call" | "ping");
        let era = match meta.era() {
            Ok(era) => era,
            Err(error) if own => return self.answer(id, Frame::raw_error(id, error)).await,
            Err(_) => Era::Modern,
        };
        let request = Request { id, params, meta: &meta, era };
        match method {
            "tools/list" => self.list(request).await,
            "tools/call" => tool_call::start(self, request, cancelled).await,
            "ping" if era == Era::Handshake => self.answer(id, Frame::result(id, ["{}".into()])).await,
            "initialize" => self.initialize(id, params).await,
            "server/discover" if era == Era::Modern => {
                self.answer(id, Frame::result(id, [handshake::discover().into()])).await;
            }
            _ => self.to_rmcp(line, Some(id)).await,
        }
    }

    async fn initialize(&self, id: &str, params: Option<&RawValue>) {
        match handshake::initialize(params) {
            Ok((result, client)) => {
                self.protocol.set_client(client);
                self.answer(id, Frame::result(id, [result.into()])).await;
            }
            Err(message) => self.answer(id, Frame::error(Some(id), INVALID_PARAMS, message)).await,
        }
    }

    async fn list(&self, request: Request<'_>) {
        let cursor = match cursor(request.params) {
            Ok(cursor) => cursor,
            Err(message) => {
                return self.answer(request.id, Frame::error(Some(request.id), INVALID_PARAMS, message)).await;
            }
        };
        let (app, session) = (&self.app, &self.session);
        let (activated, schema_mode, epoch) = match request.era {
            Era::Handshake => (session.activated(), session.schema_mode(&app.settings), session.epoch()),
            Era::Modern => (Vec::new(), app.settings.schema_mode, 0),
        };
        let list = ListRequest {
            activated: &activated,
            schema_mode,
            cursor: cursor.as_deref(),
            epoch,
            tail: self.cache_hints(request.era),
        };
        let segments = list::list(&app.settings, &app.merged(), list);
        self.answer(request.id, Frame::result(request.id, segments)).await;
        if schema_mode == SchemaMode::Deferred && request.era == Era::Handshake {
            session.arm_probe(&app.settings);
        }
    }

    /// What a list says about how long it holds (2026-07-28, server/utilities/caching): nothing while servers still
    /// start, a minute after; shared between users only when no role colours it.
    fn cache_hints(&self, era: Era) -> &'static str {
        let settings = &self.app.settings;
        let private = settings.role.is_some() || settings.unlisted != Access::Allow;
        match (era, !is_booting(&self.app), private) {
            (Era::Handshake, ..) => "",
            (Era::Modern, false, _) => r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#,
            (Era::Modern, true, true) => r#","resultType":"complete","ttlMs":60000,"cacheScope":"private""#,
            (Era::Modern, true, false) => r#","resultType":"complete","ttlMs":60000,"cacheScope":"public""#,
        }
    }

    /// Hands a line that wants no answer to rmcp, if it has been started.
    async fn tell_rmcp(&self, line: &[u8]) {
        if self.protocol.is_started() {
            self.to_rmcp(line, None).await;
        }
    }

    /// Hands a line to rmcp. `id`: the request in it, which is answered here when rmcp cannot take it.
    async fn to_rmcp(&self, line: &[u8], id: Option<&str>) {
        let text = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
            Ok(message) => {
                self.protocol.send(message).await;
            }
            Err(error) => {
                if let Some(id) = id {
                    let message = format!("the request cannot be read: {error}");
                    self.answer(id, Frame::error(Some(id), INVALID_REQUEST, &message)).await;
                }
            }
        }
    }

    /// Sends the answer to a request that was begun.
    pub(super) async fn answer(&self, id: &str, frame: Frame) {
        self.out.send(frame).await;
        self.in_flight.finish(id);
    }

    async fn error(&self, id: Option<&str>, code: i64, message: &str) {
        self.out.send(Frame::error(id, code, message)).await;
    }
}

fn is_booting(app: &App) -> bool {
    app.children().status().iter().any(|server| server.status == Status::Booting)
}

fn cursor(params: Option<&RawValue>) -> Result<Option<Cow<'_, str>>, &'static str> {
    let Some(params) = params else { return Ok(None) };
    let members = Members::parse(params.get()).map_err(|_| "`params` must be an object")?;
    match members.last("cursor").filter(|cursor| cursor.get() != "null") {
        None => Ok(None),
        Some(cursor) => match serde_json::from_str::<Text<'_>>(cursor.get()) {
            Ok(Text(cursor)) => Ok(Some(cursor)),
            Err(_) => Err("`cursor` must be a text"),
        },
    }
}
