//! rmcp's side of the front: the subscriptions of 2026-07-28, and whatever nobody answers.

#![expect(deprecated, reason = "clients of the handshake era are told of `logging`")]

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::{
    CustomRequest, CustomResult, ErrorCode, Implementation, ProtocolVersion, ServerCapabilities, ServerConfig,
    SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};

use super::notify::Subscribers;
use crate::app::App;
use crate::calls::CallContext;
use crate::instructions::INSTRUCTIONS;
use crate::offers;

/// Name that clients see in `serverInfo`.
pub(super) const SERVER_NAME: &str = "evokore";

/// Methods that this server answers; a request for one of them that rmcp could not read has wrong parameters.
const METHODS: [&str; 1] = ["subscriptions/listen"];

/// Resources of one subscription that are watched.
const MAX_WATCHED: usize = 64;

pub(super) struct Handler {
    pub(super) app: Arc<App>,
    pub(super) subscribers: Arc<Subscribers>,
}

type Answer<T> = Result<T, ErrorData>;

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(capabilities())
            .with_server_info(Implementation::new(SERVER_NAME, env!("CARGO_PKG_VERSION")).with_title("evokore"))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&capabilities()))
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Answer<()> {
        let sink = subscription.sink().clone();
        let id = sink.id().clone();
        if !self.subscribers.add(sink) {
            return Err(ErrorData::internal_error("too many subscriptions are open; end one first", None));
        }
        let watch = self.watch(subscription.accepted().resource_subscriptions.iter().flatten());
        let watched = tokio::select! {
            watched = watch => {
                subscription.cancelled().await;
                watched
            }
            () = subscription.cancelled() => Vec::new(),
        };
        self.subscribers.remove(&id);
        let ctx = CallContext::alone(self.app.clone());
        for target in watched {
            offers::unwatch(&ctx, target).await;
        }
        Ok(())
    }

    async fn on_custom_request(&self, request: CustomRequest, _: RequestContext<RoleServer>) -> Answer<CustomResult> {
        let method = request.method;
        Err(if METHODS.contains(&method.as_str()) {
            ErrorData::invalid_params(format!("the parameters of `{method}` are not what it needs"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method `{method}`"), None)
        })
    }
}

impl Handler {
    /// Sees to it that changes of these resources are told of. One that does not exist or cannot be watched is not: the
    /// revision has no way to say so of a single one.
    async fn watch(&self, addresses: impl Iterator<Item = &String>) -> Vec<offers::Target> {
        let ctx = CallContext::alone(self.app.clone());
        let mut watched = Vec::new();
        for address in addresses.take(MAX_WATCHED) {
            if let Ok(Some(target)) = offers::watch(&ctx, address).await {
                watched.push(target);
            }
        }
        watched
    }
}

/// What this server offers.
pub(super) fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_resources()
        .enable_resources_subscribe()
        .enable_resources_list_changed()
        .enable_prompts()
        .enable_prompts_list_changed()
        .enable_completions()
        .enable_logging()
        .build()
}
