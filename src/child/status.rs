//! What people and clients are told about a server.

use serde::Serialize;

use evokore_catalog::hostile::Finding;
use evokore_catalog::lock::diff::{Change, Difference};
use evokore_catalog::server::{Boot, OnDrift, ServerSpec, Transport};

use super::idle::Idle;
use super::server::{Phase, Server};
use super::tools::SkippedTool;

/// Bytes of stderr in a status.
const QUOTED_STDERR: usize = 2000;
/// Members of a changed tool that a status names.
const MAX_MEMBERS: usize = 20;

/// The state of one configured server. Serializes under the names that `proxy_server_status` promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildStatus {
    /// Server id.
    pub id: &'static str,
    /// What it is doing.
    pub status: Status,
    /// How it is reached.
    pub connection_type: ConnectionType,
    /// Failures of the connection since it last came up; errors of tools are none.
    pub error_count: u32,
    /// Milliseconds since 1970 of its last message; `null` before the first.
    pub last_ping: Option<i64>,
    /// Tools that clients can be offered.
    #[serde(rename = "registeredToolCount")]
    pub registered_tools: usize,
    /// Resources of its last list.
    #[serde(rename = "resourceCount", skip_serializing_if = "is_none")]
    pub resources: usize,
    /// Templates of resources.
    #[serde(rename = "resourceTemplateCount", skip_serializing_if = "is_none")]
    pub templates: usize,
    /// Prompts.
    #[serde(rename = "promptCount", skip_serializing_if = "is_none")]
    pub prompts: usize,
    /// Starts after the first.
    pub restarts: u32,
    /// Why it is not connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Name and version it gave itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub server: String,
    /// Protocol version that was agreed on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// Entries of its list that are not offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_tools: Vec<SkippedTool>,
    /// What was odd about its lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How its tools stand to its lock, if they are not what was locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftStatus>,
    /// What its definitions hold that should be looked at.
    #[serde(rename = "hostileContent", skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Lines on its stdout that were no messages.
    #[serde(skip_serializing_if = "is_zero")]
    pub noise_lines: u64,
    /// The first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
    /// Messages that nobody waited for: late or second answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub stray_messages: u64,
    /// Log messages that were lost because there were too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped_log_messages: u64,
    /// Calls that are refused for a while because they failed for its sake.
    #[serde(skip_serializing_if = "is_none")]
    pub cooling_calls: usize,
    /// Why the latest of them failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown_reason: Option<String>,
    /// The end of its stderr, unless it is connected and well.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr_tail: String,
}

/// Which tools of a server are not what its lock says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftStatus {
    /// What becomes of them: `warn`, `approve` or `block`.
    pub on_drift: &'static str,
    /// The tools, by the server's own names.
    pub tools: Vec<DriftedTool>,
}

/// One tool that is not what its lock says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftedTool {
    /// Its name; of a renamed tool, the new one.
    pub name: String,
    /// `changed`, `new`, `gone` or `renamed`.
    pub change: &'static str,
    /// The former name of a renamed tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The locked tool whose definition a changed one has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// The members of a changed one that are different, where the lock tells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}

impl DriftStatus {
    /// From the differences, which are some.
    pub(crate) fn of(on_drift: OnDrift, differences: &[Difference]) -> DriftStatus {
        let on_drift = OnDrift::NAMES.iter().find(|(_, value)| *value == on_drift).map_or("", |(name, _)| name);
        let tool = |difference: &Difference| {
            let tool = |change| DriftedTool {
                name: difference.name.clone(),
                change,
                from: None,
                like: None,
                members: Vec::new(),
            };
            match &difference.change {
                Change::Added => tool("new"),
                Change::Removed => tool("gone"),
                Change::Renamed { from } => DriftedTool { from: Some(from.clone()), ..tool("renamed") },
                Change::Changed { members, like } => DriftedTool {
                    like: like.clone(),
                    members: members.iter().flatten().take(MAX_MEMBERS).map(|member| member.path.clone()).collect(),
                    ..tool("changed")
                },
            }
        };
        DriftStatus { on_drift, tools: differences.iter().map(tool).collect() }
    }
}

/// What a server is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Has been started and has not answered yet.
    Booting,
    /// Answers.
    Connected,
    /// Could not be started, or does not answer.
    Error,
    /// Was up; starts again by itself.
    Disconnected,
    /// Starts on its next call.
    Idle,
    /// Optional, and its variables are not set.
    Waiting,
    /// Switched off by its entry.
    Disabled,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionType {
    /// A process and its standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl ConnectionType {
    fn of(spec: &ServerSpec) -> ConnectionType {
        match spec.transport {
            Transport::Stdio { .. } => ConnectionType::Stdio,
            Transport::Http { .. } => ConnectionType::Http,
        }
    }
}

/// Why a server that is switched off is not connected.
const SWITCHED_OFF: &str = "`disabled` is true in its entry";
/// Why a server does not even start.
const IN_LINE: &str = "waits until fewer servers boot; `maxConcurrentBoots` of the configuration allows more";
/// Why a lazy server is not connected before it is needed.
const ON_DEMAND: &str = "starts on its first call";

impl ChildStatus {
    /// The state of a server before [`Children::start`](super::Children::start): as right after it, since servers are
    /// started as soon as that delays no answer.
    pub(crate) fn before_start(spec: &ServerSpec) -> ChildStatus {
        let (status, reason) = match (spec.disabled, spec.boot) {
            (true, _) => (Status::Disabled, Some(SWITCHED_OFF.to_owned())),
            (false, Boot::Lazy) => (Status::Idle, Some(ON_DEMAND.to_owned())),
            (false, Boot::Eager) => (Status::Booting, None),
        };
        ChildStatus {
            id: spec.id,
            status,
            connection_type: ConnectionType::of(spec),
            error_count: 0,
            last_ping: None,
            registered_tools: 0,
            resources: 0,
            templates: 0,
            prompts: 0,
            restarts: 0,
            reason,
            server: String::new(),
            protocol: String::new(),
            skipped_tools: Vec::new(),
            notes: Vec::new(),
            drift: None,
            findings: Vec::new(),
            noise_lines: 0,
            noise: None,
            stray_messages: 0,
            dropped_log_messages: 0,
            cooling_calls: 0,
            cooldown_reason: None,
            stderr_tail: String::new(),
        }
    }

    /// The state of `server` at this moment.
    pub(super) fn of(server: &Server) -> ChildStatus {
        let (status, reason) = match server.phase() {
            Phase::Disabled => (Status::Disabled, Some(SWITCHED_OFF.to_owned())),
            Phase::Idle => (Status::Idle, Some(ON_DEMAND.to_owned())),
            Phase::Asleep => {
                let limit = server.idle.as_ref().map(Idle::limit).unwrap_or_default();
                let limit = super::error::seconds(limit);
                (Status::Idle, Some(format!("was not called for {limit}; starts again on its next call")))
            }
            Phase::Queued => (Status::Booting, Some(IN_LINE.to_owned())),
            Phase::Booting => (Status::Booting, None),
            Phase::Late => (
                Status::Error,
                Some(format!("has not answered within {}", super::supervisor::late(server.boot_timeout))),
            ),
            Phase::Up(_) => (Status::Connected, None),
            Phase::Down { reason, was_up: true, .. } => (Status::Disconnected, Some(reason.to_string())),
            Phase::Down { reason, .. } | Phase::Never(reason) => (Status::Error, Some(reason.to_string())),
            Phase::Waiting(missing) => (Status::Waiting, Some(missing.to_string())),
            Phase::Broken => (Status::Error, Some("its task has failed".to_owned())),
            Phase::Stopped => (Status::Disconnected, Some("evokore shuts down".to_owned())),
        };
        let facts = server.facts().clone();
        let stats = &server.stats;
        let is_well = matches!(status, Status::Connected) && facts.errors == 0;
        ChildStatus {
            id: server.spec.id,
            status,
            connection_type: ConnectionType::of(server.spec),
            error_count: facts.errors,
            last_ping: stats.last_heard(),
            registered_tools: facts.registered,
            resources: facts.resources,
            templates: facts.templates,
            prompts: facts.prompts,
            restarts: facts.restarts,
            reason,
            server: facts.server,
            protocol: facts.protocol,
            skipped_tools: facts.skipped,
            notes: [facts.notes, facts.resource_notes, facts.prompt_notes].concat(),
            drift: None,
            findings: Vec::new(),
            noise_lines: stats.noise_lines(),
            noise: stats.noise_sample(),
            stray_messages: stats.stray_messages(),
            dropped_log_messages: stats.dropped_logs(),
            cooling_calls: 0,
            cooldown_reason: None,
            stderr_tail: if is_well { String::new() } else { server.tail.last(QUOTED_STDERR) },
        }
    }
}

fn is_none(n: &usize) -> bool {
    *n == 0
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
