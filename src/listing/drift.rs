//! What a server that has just listed its tools is told apart by: what is not as it was locked, and what its
//! definitions hold that nobody should read unwarned. Worked out once per list; calls look at flags.

use evokore_catalog::canonical::canonical_sha256;
use evokore_catalog::hostile::{self, Finding, Level, Neighbour, Neighbours};
use evokore_catalog::lock::diff::{self, Change, Difference, Side};
use evokore_catalog::lock::drift::Drift;
use evokore_catalog::render::Definition;
use evokore_catalog::server::LockKind;
use evokore_catalog::tool::{Source, ToolEntry};

use super::merged::Merged;
use crate::catalog::CATALOG;
use crate::child::ChildTool;

/// Findings, and tools that are not as locked, that are kept of one server.
const MAX_TOLD: usize = 100;
/// Names that are told of in one line.
const NAMED: usize = 5;

/// What is to be said of a server's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Tools that are not what the lock says, sorted by name; empty without a lock.
    pub differences: Vec<Difference>,
    /// What the definitions hold, the gravest first.
    pub findings: Vec<Finding>,
}

/// The judgement of one list.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// For each tool in the order of the list: how it stands to the lock, and whether its definition is dangerous.
    pub tools: Vec<(Drift, bool)>,
    /// What is to be said.
    pub report: Report,
}

/// The locked tools of a server; none when it has no lock.
fn locked(server: u16) -> impl Iterator<Item = (&'static str, &'static ToolEntry)> {
    CATALOG.tools.iter().filter_map(move |entry| match entry.source {
        Source::Proxied { server: of, original } if of == server => Some((original, entry)),
        _ => None,
    })
}

/// Judges the list of `server`; `merged` knows the tools of the others.
pub fn judge(server: u16, tools: &[ChildTool], merged: &Merged) -> Judgement {
    let spec = &CATALOG.servers[usize::from(server)];
    let digests: Vec<String> = match spec.lock {
        LockKind::None => Vec::new(),
        _ => tools.iter().map(|tool| canonical_sha256(tool.raw.get())).collect(),
    };
    let known: std::collections::HashMap<&str, &ToolEntry> = locked(server).collect();
    let drift = |tool: &ChildTool, digest: Option<&String>| match (digest, known.get(tool.name.as_str())) {
        (None, _) => Drift::None,
        (Some(digest), Some(entry)) if entry.sha256 == digest => Drift::None,
        (Some(_), Some(_)) => Drift::Changed,
        (Some(_), None) => Drift::New,
    };
    let scanned: Vec<Vec<Finding>> = tools.iter().map(|tool| hostile::scan(tool.raw.get())).collect();
    let judged =
        tools.iter().enumerate().map(|(at, tool)| (drift(tool, digests.get(at)), hostile::is_dangerous(&scanned[at])));
    let judged: Vec<(Drift, bool)> = judged.collect();
    let mut findings: Vec<Finding> = scanned.into_iter().flatten().chain(shadowed(server, tools, merged)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    findings.truncate(MAX_TOLD);
    let mut differences = if spec.lock == LockKind::None { Vec::new() } else { differences(server, tools, &digests) };
    differences.truncate(MAX_TOLD);
    Judgement { tools: judged, report: Report { differences, findings } }
}

fn differences(server: u16, tools: &[ChildTool], digests: &[String]) -> Vec<Difference> {
    let side = |(name, entry): (&'static str, &'static ToolEntry)| Side {
        name,
        sha256: entry.sha256,
        definition: entry.json.map(|json| json.described),
    };
    let before: Vec<Side<'_>> = locked(server).map(side).collect();
    let after = tools.iter().zip(digests).map(|(tool, sha256)| Side {
        name: &tool.name,
        sha256,
        definition: Some(tool.raw.get()),
    });
    diff::diff(&before, &after.collect::<Vec<_>>())
}

/// What looks like, or speaks of, tools of other servers.
fn shadowed(server: u16, tools: &[ChildTool], merged: &Merged) -> Vec<Finding> {
    let id = CATALOG.servers[usize::from(server)].id;
    let others = merged.iter().filter(|tool| tool.server() != Some(server));
    let neighbours = Neighbours::new(others.map(|tool| Neighbour { server: tool.server_id(), name: tool.original() }));
    let own: std::collections::HashSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let is_own = |name: &str| own.contains(name);
    let of = |tool: &ChildTool| {
        let description = Definition::parse(tool.raw.get()).map(|it| it.description()).unwrap_or_default();
        neighbours.shadowed(id, &tool.name, &description, &is_own)
    };
    tools.iter().flat_map(of).collect()
}

impl Report {
    /// What to tell of it, a line each; `becomes` says what becomes of tools that are not as locked.
    pub fn lines(&self, tools: usize, becomes: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.differences.is_empty() {
            let mut kinds: [(&str, Vec<String>); 4] =
                ["changed", "new", "gone", "renamed"].map(|kind| (kind, Vec::new()));
            for Difference { name, change } in &self.differences {
                let name = hostile::visible(name);
                let (kind, told) = match change {
                    Change::Changed { .. } => (0, format!("`{name}`")),
                    Change::Added => (1, format!("`{name}`")),
                    Change::Removed => (2, format!("`{name}`")),
                    Change::Renamed { from } => (3, format!("`{}` to `{name}`", hostile::visible(from))),
                };
                kinds[kind].1.push(told);
            }
            let told: Vec<String> = kinds.iter().filter(|(_, names)| !names.is_empty()).map(told).collect();
            lines.push(format!("is not what was locked, of {tools} tools: {}; {becomes}", told.join("; ")));
        }
        let grave: Vec<&Finding> = self.findings.iter().filter(|finding| finding.level > Level::Notice).collect();
        lines.extend(grave.iter().take(NAMED).map(|finding| format!("has hostile content? {finding}")));
        if grave.len() > NAMED {
            lines.push(format!("has {} more such findings, which its status lists", grave.len() - NAMED));
        }
        lines
    }
}

fn told((kind, names): &(&str, Vec<String>)) -> String {
    let more = names.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{kind} {}{more}", names[..names.len().min(NAMED)].join(", "))
}
