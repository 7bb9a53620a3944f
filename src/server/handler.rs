//! rmcp's side of the front: everything but tools. Each method hands over to a module that does not know rmcp.

#![expect(deprecated, reason = "clients of the handshake era are told of `logging`")]

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::notify::Subscribers;
use crate::app::App;
use crate::instructions::INSTRUCTIONS;
use crate::{prompts, resources, results};

/// Name that clients see in `serverInfo`.
pub(super) const SERVER_NAME: &str = "evokore";

/// Methods that this server answers; a request for one of them that rmcp could not read has wrong parameters.
const METHODS: [&str; 12] = [
    "initialize",
    "server/discover",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

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

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        typed(resources::list(&self.app))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        typed(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<ReadResourceResponse> {
        match resources::read(&self.app, &request.uri) {
            Some(contents) => typed::<rmcp::model::ReadResourceResult>(contents).map(Into::into),
            // rmcp turns the code into the one of the request's era.
            None if results::is_uri(&request.uri) => {
                Err(ErrorData::resource_not_found(results::unknown(&request.uri), None))
            }
            None => Err(ErrorData::resource_not_found(format!("no resource `{}`", request.uri), None)),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        typed(prompts::list())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<GetPromptResponse> {
        let arguments = request.arguments.unwrap_or_default();
        let prompt = prompts::get(&self.app, &request.name, &arguments)
            .map_err(|message| ErrorData::invalid_params(message, None))?;
        typed::<rmcp::model::GetPromptResult>(prompt).map(Into::into)
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Answer<CompleteResult> {
        let reference = serde_json::to_value(&request.r#ref).unwrap_or_default();
        typed(prompts::complete(&self.app, &reference, &request.argument.name, &request.argument.value))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Answer<()> {
        let sink = subscription.sink().clone();
        let id = sink.id().clone();
        if !self.subscribers.add(sink) {
            return Err(ErrorData::internal_error("too many subscriptions are open; end one first", None));
        }
        subscription.cancelled().await;
        self.subscribers.remove(&id);
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

/// What this server offers.
pub(super) fn capabilities() -> ServerCapabilities {
    ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .enable_resources()
        .enable_resources_list_changed()
        .enable_prompts()
        .enable_completions()
        .enable_logging()
        .build()
}

/// A value in the protocol's shape as rmcp's type of it. 2026-07-28 requires `resultType`; rmcp takes it away for the
/// handshake era, but does not add it.
fn typed<T: DeserializeOwned>(mut value: Value) -> Answer<T> {
    if let Some(members) = value.as_object_mut() {
        members.insert("resultType".to_owned(), Value::from("complete"));
    }
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(format!("the answer is malformed: {error}"), None))
}
