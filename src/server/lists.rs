//! One request for a list: what it asks for, and the bytes of its answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evokore_catalog::members::Members;
use evokore_catalog::permission::Access;
use evokore_catalog::profile::SchemaMode;
use tokio::time::timeout;

use super::front::Request;
use crate::app::App;
use crate::calls::Era;
use crate::catalog::CATALOG;
use crate::child::Status;
use crate::listing::list::{self, ListRequest};
use crate::listing::projection::Revealed;
use crate::offers;
use crate::session::Session;
use crate::wire::envelope::Text;

/// A list waits at most so long for servers that start: clients give a request up after half a minute or more.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request for a list that has been read.
pub(super) struct List {
    of: Of,
    cursor: Option<String>,
    era: Era,
    lists_once: bool,
    session: Arc<Session>,
}

#[derive(Debug, Clone, Copy)]
enum Of {
    Tools,
    Offers(offers::List),
}

impl List {
    /// Reads a request by its method, which must be that of a list. A client of 2026-07-28 names itself in each request,
    /// one of the handshake era once, to its session.
    ///
    /// # Errors
    /// What is wrong with the parameters.
    pub(super) fn read(method: &str, request: Request<'_>, session: &Arc<Session>) -> Result<List, &'static str> {
        let lists_once = match request.era {
            Era::Handshake => session.lists_once(),
            Era::Modern => request.meta.client_name().is_some_and(|name| lists_once(&name)),
        };
        Ok(List {
            of: offers::List::of(method).map_or(Of::Tools, Of::Offers),
            cursor: cursor(request.params)?.map(Cow::into_owned),
            era: request.era,
            lists_once,
            session: session.clone(),
        })
    }

    /// Whether the answer must wait until the servers have started: the client will not ask again.
    pub(super) fn must_wait(&self, app: &App) -> bool {
        self.lists_once && is_booting(app)
    }

    /// The bytes of the `result` member, of this moment.
    pub(super) fn result(&self, app: &App) -> Vec<Bytes> {
        let tail = self.cache_hints(app);
        match self.of {
            // All in one page: whatever cursor comes is none of ours, and starting over loses nothing.
            Of::Offers(list) => offers::list(app, list, tail),
            Of::Tools => self.tools(app, tail),
        }
    }

    /// The same once the servers have started, or for too long.
    pub(super) async fn late_result(&self, app: &App) -> Bytes {
        let _ = timeout(PATIENCE, async { app.started_children().await.all_listed().await }).await;
        self.result(app).concat().into()
    }

    fn tools(&self, app: &App, tail: &'static str) -> Vec<Bytes> {
        let session = &self.session;
        let (revealed, schema_mode, epoch) = match self.era {
            Era::Handshake => (session.revealed(), session.schema_mode(&app.settings), session.epoch()),
            Era::Modern if self.lists_once => (Revealed::All, app.settings.schema_mode, 0),
            Era::Modern => (Revealed::NONE, app.settings.schema_mode, 0),
        };
        if schema_mode == SchemaMode::Deferred && self.era == Era::Handshake {
            session.arm_probe(&app.settings);
        }
        let cursor = self.cursor.as_deref();
        let list = ListRequest { revealed: &revealed, schema_mode, cursor, epoch, tail };
        list::list(&app.settings, &app.merged(), list)
    }

    /// What a list says about how long it holds (2026-07-28, server/utilities/caching): nothing while servers still
    /// start, a minute after; shared between users only when neither role, mode nor client colours it.
    fn cache_hints(&self, app: &App) -> &'static str {
        if self.era == Era::Handshake {
            return "";
        }
        let settings = &app.settings;
        let is_coloured = settings.role.is_some() || settings.steering.rules.iter().next().is_some();
        let private = is_coloured || settings.unlisted != Access::Allow;
        match (is_booting(app), private || self.lists_once) {
            (true, _) => r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#,
            (false, true) => r#","resultType":"complete","ttlMs":60000,"cacheScope":"private""#,
            (false, false) => r#","resultType":"complete","ttlMs":60000,"cacheScope":"public""#,
        }
    }
}

/// Whether a client of this name is configured as one that never asks for a list again.
pub(super) fn lists_once(name: &str) -> bool {
    CATALOG.clients_that_list_once.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_booting(app: &App) -> bool {
    app.server_status().iter().any(|server| server.status == Status::Booting) || app.children().are_listing()
}

fn cursor<'a>(params: Option<&Members<'a>>) -> Result<Option<Cow<'a, str>>, &'static str> {
    match params.and_then(|params| params.last("cursor")).filter(|cursor| cursor.get() != "null") {
        None => Ok(None),
        Some(cursor) => match serde_json::from_str::<Text<'_>>(cursor.get()) {
            Ok(Text(cursor)) => Ok(Some(cursor)),
            Err(_) => Err("`cursor` must be a text"),
        },
    }
}
