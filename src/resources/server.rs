//! The documents about the server itself.

use std::collections::BTreeMap;

use evokore_catalog::server::{Boot, Dialect, LockKind, OAuth, Rate, RateLimit, ServerSpec, Transport};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::redact;
use crate::app::App;
use crate::catalog::CATALOG;
use crate::child::{ChildStatus, ConnectionType, Status};
use crate::listing::projection;

/// What there is to say about a running server in a few numbers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Version of evokore.
    pub version: &'static str,
    /// Discovery mode.
    pub discovery_mode: &'static str,
    /// Active profile.
    pub profile: &'static str,
    /// Active role.
    pub role: Option<&'static str>,
    /// Active mode.
    pub steering_mode: &'static str,
    /// What lets calls be made that need approval: `operator` or `token`.
    pub approvals: &'static str,
    /// Tools that can be called now, proxied ones included.
    pub tool_count: usize,
    /// Skills.
    pub skill_count: usize,
    /// Every configured child server, in configured order.
    pub child_servers: Vec<Child>,
}

/// A child server in an [`Overview`].
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// Server id.
    pub id: &'static str,
    /// What it is doing.
    pub status: Status,
    /// How it is reached.
    pub connection_type: ConnectionType,
    /// Its tools.
    pub registered_tool_count: usize,
    /// Its resources, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_count: Option<usize>,
    /// Its prompts, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_count: Option<usize>,
    /// Failures of its connection.
    pub error_count: u32,
}

impl Child {
    fn of(status: &ChildStatus) -> Child {
        Child {
            id: status.id,
            status: status.status,
            connection_type: status.connection_type,
            registered_tool_count: status.registered_tools,
            resource_count: Some(status.resources).filter(|count| *count > 0),
            prompt_count: Some(status.prompts).filter(|count| *count > 0),
            error_count: status.error_count,
        }
    }
}

/// The state of this moment.
pub fn overview(app: &App) -> Overview {
    let settings = &app.settings;
    let merged = app.merged();
    let usable = merged.iter().filter(|tool| tool.is_listable() && projection::is_permitted(settings, *tool));
    Overview {
        version: env!("CARGO_PKG_VERSION"),
        discovery_mode: settings.mode.name(),
        profile: settings.profile.entry.name,
        role: settings.role.map(|role| role.name),
        steering_mode: settings.steering.name,
        approvals: CATALOG.policy.approvals.name(),
        tool_count: usable.count(),
        skill_count: app.skills.snapshot().len(),
        child_servers: app.server_status().iter().map(Child::of).collect(),
    }
}

pub(super) fn status(app: &App) -> String {
    pretty(&overview(app))
}

pub(super) fn categories(app: &App) -> String {
    let snapshot = app.skills.snapshot();
    let categories: Vec<Value> =
        snapshot.categories().into_iter().map(|(name, count)| json!({"name": name, "count": count})).collect();
    pretty(&json!({"totalSkills": snapshot.len(), "categories": categories}))
}

pub(super) fn config(app: &App) -> String {
    let servers: Map<String, Value> = CATALOG.servers.iter().map(|spec| (spec.id.to_owned(), server(spec))).collect();
    let profiles: Vec<&str> = CATALOG.profiles.iter().map(|profile| profile.name).collect();
    pretty(&json!({
        "servers": servers,
        "discovery": {"activeProfile": app.settings.profile.entry.name, "profiles": profiles},
        "inputsSha256": CATALOG.inputs_sha256,
    }))
}

/// One server as its entry in the configuration says, secrets left out. Defaults are not repeated.
pub(super) fn server(spec: &ServerSpec) -> Value {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    match spec.transport {
        Transport::Stdio { command, args, env, cwd } => {
            put("type", json!("stdio"));
            put("command", json!(redact::argument(command)));
            put("args", json!(redact::arguments(args)));
            put("env", json!(values(env)));
            if let Some(cwd) = cwd {
                put("cwd", json!(redact::argument(cwd)));
            }
        }
        Transport::Http { url, headers, dialect } => {
            put("type", json!(if dialect == Dialect::Sse { "sse" } else { "http" }));
            put("url", json!(redact::url(url)));
            put("headers", json!(values(headers)));
            if spec.oauth != OAuth::ABSENT {
                let OAuth { client_id, scopes, redirect_port, .. } = spec.oauth;
                put("oauth", json!({ "clientId": client_id, "scopes": scopes, "redirectPort": redirect_port }));
            }
        }
    }
    if !spec.inherit_env.is_empty() {
        put("inheritEnv", json!(spec.inherit_env));
    }
    if let Some(file) = spec.env_file {
        put("envFile", json!(redact::argument(file)));
    }
    if spec.disabled {
        put("disabled", json!(true));
    }
    if spec.optional {
        put("optional", json!(true));
    }
    if spec.boot == Boot::Lazy {
        put("boot", json!("lazy"));
    }
    for (key, limit) in [("maxResultBytes", spec.max_result_bytes), ("maxResultTokens", spec.max_result_tokens)] {
        if let Some(limit) = limit {
            put(key, json!(limit));
        }
    }
    if !spec.tools.is_empty() {
        let tools =
            spec.tools.iter().map(|tool| (tool.name.to_owned(), json!({"maxResultTokens": tool.max_result_tokens})));
        put("tools", Value::Object(tools.collect()));
    }
    if let Some(limit) = spec.rate_limit {
        put("rateLimit", rate_limit(&limit));
    }
    match spec.lock {
        LockKind::None => {}
        LockKind::Digest => drop(put("lock", json!("digest"))),
        LockKind::Full => drop(put("lock", json!("full"))),
    }
    if !spec.description.is_empty() {
        put("description", json!(spec.description));
    }
    Value::Object(entry)
}

/// A limit in the notation that says everything.
fn rate_limit(limit: &RateLimit) -> Value {
    let bucket = |rate: &Rate| {
        let Rate { burst, refill, interval_ms } = rate;
        let members = [("maxTokens", burst), ("refillRate", refill), ("refillIntervalMs", interval_ms)];
        members.into_iter().map(|(key, number)| (key.to_owned(), json!(number))).collect::<Map<_, _>>()
    };
    let mut shown = limit.server.as_ref().map(bucket).unwrap_or_default();
    if !limit.tools.is_empty() {
        let tools: Map<_, _> =
            limit.tools.iter().map(|(tool, rate)| ((*tool).to_owned(), Value::Object(bucket(rate)))).collect();
        shown.insert("toolLimits".to_owned(), Value::Object(tools));
    }
    Value::Object(shown)
}

/// Names with where their values come from.
fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), redact::secret(value))).collect()
}

fn pretty(value: &impl Serialize) -> String {
    // None of these types can fail to serialize; an empty text would show it all the same.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
