//! The tools of the catalog: rendered once, counted on what was rendered.

use std::collections::BTreeMap;

use evokore_catalog::advertise::advertised;
use evokore_catalog::answers;
use evokore_catalog::canonical::canonical_sha256;
use evokore_catalog::permission::{Access, Policy, decide};
use evokore_catalog::project::DESCRIBE_TOOL;
use evokore_catalog::render::{Definition, render_deferred, render_full, render_visible};
use evokore_catalog::tool::{Annotations, Source as Origin};

use crate::config::Server;
use crate::leak::leak;
use crate::lock::{Body, Lock};
use crate::names::Names;
use crate::native_tools::NativeTool;
use crate::problem::Problem;
use crate::tokens::{Counter, Counts};

/// One tool on its way into the catalog.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Exposed name.
    pub name: &'static str,
    /// Who answers.
    pub origin: Origin,
    /// Title.
    pub title: &'static str,
    /// Description.
    pub description: &'static str,
    /// Behaviour hints.
    pub annotations: Annotations,
    /// Its JSON, unless its lock holds digests only.
    pub json: Option<Json>,
    /// Tokens of the modes.
    pub counts: ModeCounts,
    /// Tokens of what answers say about it.
    pub answers: AnswerCounts,
    /// SHA-256 of the canonical definition.
    pub sha256: &'static str,
    /// The definition holds something dangerous.
    pub is_dangerous: bool,
}

impl Tool {
    /// Whether it is a native tool that only informs.
    pub fn informs(&self) -> bool {
        matches!(self.origin, Origin::Native(_)) && self.annotations.read_only == Some(true)
    }
}

/// The renderings of one definition.
#[derive(Debug, Clone, Copy)]
pub struct Json {
    /// Mode `full`.
    pub full: &'static str,
    /// Mode `deferred`.
    pub deferred: &'static str,
    /// What a model sees of it.
    pub visible: &'static str,
    /// Everything.
    pub described: &'static str,
}

/// Token counts of the modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeCounts {
    /// Mode `full`.
    pub full: Counts,
    /// Mode `deferred`.
    pub deferred: Counts,
    /// What a model sees.
    pub visible: Counts,
}

/// Token counts of what answers say about one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerCounts {
    /// Its line in an answer of `discover_tools`.
    pub found: Counts,
    /// The answer of `describe_tool` about it alone.
    pub described: Counts,
}

impl ModeCounts {
    /// No tokens.
    pub const ZERO: ModeCounts = ModeCounts { full: Counts::ZERO, deferred: Counts::ZERO, visible: Counts::ZERO };

    /// The sums, mode by mode.
    #[must_use]
    pub fn plus(self, other: ModeCounts) -> ModeCounts {
        ModeCounts {
            full: self.full.plus(other.full),
            deferred: self.deferred.plus(other.deferred),
            visible: self.visible.plus(other.visible),
        }
    }
}

/// Renders the three modes of `definition` under the name `exposed`; lists carry its output schema when
/// `list_output` says so. `describe_tool` is never deferred, since it is the way back.
pub fn render(definition: &Definition<'_>, exposed: &str, list_output: bool) -> Json {
    let described: &'static str = render_full(definition, exposed).leak();
    let full: &'static str =
        if list_output { described } else { render_full(&definition.without("outputSchema"), exposed).leak() };
    let deferred = if exposed == DESCRIBE_TOOL { full } else { render_deferred(definition, exposed).leak() };
    Json { full, deferred, visible: render_visible(definition, exposed).leak(), described }
}

/// Counts the three modes of `json`, entered in the ledger under `label`.
pub fn count(counter: &mut Counter, label: &str, json: Json) -> ModeCounts {
    ModeCounts {
        full: counter.count(&format!("{label}\tfull"), json.full),
        deferred: counter.count(&format!("{label}\tdeferred"), json.deferred),
        visible: counter.count(&format!("{label}\tvisible"), json.visible),
    }
}

/// Counts the line that names the tool `exposed` of `server` in an answer of `discover_tools`.
pub fn count_found(counter: &mut Counter, definition: &Definition<'_>, exposed: &str, server: &str) -> Counts {
    let line = answers::found_line(exposed, server, &definition.description());
    counter.count(&format!("tool\t{exposed}\tfound"), &line)
}

/// Counts what lists and answers hold of the tools that need approval in the active role and mode: their schemas have the
/// argument for a token. The counts of a digest stay those of the definition alone, since its text is not here.
pub fn advertise(tools: &mut [Tool], policy: &Policy, counter: &mut Counter) {
    let (role, mode) = (policy.active_role.and_then(|name| policy.role(name)), policy.mode(policy.active_mode));
    for tool in tools {
        let accesses = policy.accesses(tool.name, tool.annotations, tool.informs());
        let Some(json) = tool.json.filter(|_| decide(&accesses, role, mode, Access::Allow) == Access::RequireApproval)
        else {
            continue;
        };
        let mut count = |what: &str, json: &str| {
            let text = advertised(json)?;
            Some(counter.count(&format!("tool\t{}\tadvertised {what}", tool.name), &text))
        };
        if let Some(counts) = count("full", json.full) {
            tool.counts.full = counts;
        }
        if let Some(counts) = count("visible", json.visible) {
            tool.counts.visible = counts;
        }
        if let Some(text) = advertised(json.described) {
            let answer = answers::described(&[&text], &[]);
            tool.answers.described = counter.count(&format!("tool\t{}\tadvertised described", tool.name), &answer);
        }
    }
}

/// Builds the tools in catalog order: natives, then the locked tools of the servers that can start.
pub fn build(
    natives: &[NativeTool],
    servers: &[Server],
    locks: &[Lock],
    names: &Names,
    list_output: bool,
    counter: &mut Counter,
    problems: &mut Vec<Problem>,
) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    for (index, native) in (0..).zip(natives) {
        let native = Known { name: &native.name, json: native.json, server: "native", list_output };
        tools.extend(native.tool(Origin::Native(index), counter));
    }
    let mut taken: BTreeMap<&'static str, ()> = tools.iter().map(|tool| (tool.name, ())).collect();
    for (index, server) in (0..).zip(servers).filter(|(_, server)| !server.disabled) {
        let Some(lock) = locks.iter().find(|lock| lock.server == server.id.value) else { continue };
        for tool in locked(index, lock, names, counter) {
            if taken.insert(tool.name, ()).is_none() {
                tools.push(tool);
            } else {
                let message = format!("two tools of server `{}` share the exposed name `{}`", lock.server, tool.name);
                problems.push(Problem::error(message).in_file(&lock.path).hint("make the lock anew"));
            }
        }
    }
    if tools.len() > usize::from(u16::MAX) {
        problems.push(Problem::error(format!("{} tools are more than the catalog can hold", tools.len())));
        tools.truncate(usize::from(u16::MAX));
    }
    tools
}

/// A tool whose definition is known.
struct Known<'a> {
    name: &'a str,
    json: &'static str,
    server: &'a str,
    list_output: bool,
}

impl Known<'_> {
    fn tool(&self, origin: Origin, counter: &mut Counter) -> Option<Tool> {
        let definition = Definition::parse(self.json).ok()?;
        let name = self.name;
        let rendered = render(&definition, name, self.list_output);
        let described = answers::described(&[rendered.described], &[]);
        Some(Tool {
            name: leak(name),
            origin,
            title: leak(&definition.title()),
            description: leak(&definition.description()),
            annotations: definition.annotations(),
            json: Some(rendered),
            counts: count(counter, &format!("tool\t{name}"), rendered),
            answers: AnswerCounts {
                found: count_found(counter, &definition, name, self.server),
                described: counter.count(&format!("tool\t{name}\tdescribed"), &described),
            },
            sha256: canonical_sha256(self.json).leak(),
            is_dangerous: false,
        })
    }
}

/// The tools of one lock, sorted by exposed name.
fn locked(server: u16, lock: &Lock, names: &Names, counter: &mut Counter) -> Vec<Tool> {
    // A digest's counts are those of the definition alone.
    let frame = counter.count("answer\tdescribe_tool\tframe", &answers::described(&[], &[]));
    let mut tools: Vec<Tool> = Vec::new();
    for tool in &lock.tools {
        let exposed = names.expose(&lock.server, &tool.name);
        let origin = Origin::Proxied { server, original: leak(&tool.name) };
        match tool.body {
            Body::Full(json) => {
                let known = Known { name: &exposed, json, server: &lock.server, list_output: true };
                tools.extend(known.tool(origin, counter));
            }
            Body::Digest { full, deferred, visible, found } => tools.push(Tool {
                name: leak(&exposed),
                origin,
                title: "",
                description: "",
                annotations: tool.annotations,
                json: None,
                counts: ModeCounts { full, deferred, visible },
                answers: AnswerCounts { found, described: full.plus(frame) },
                sha256: leak(&tool.sha256),
                is_dangerous: false,
            }),
        }
    }
    tools.sort_by_key(|tool| tool.name);
    tools
}
