//! The tables of `generated/`: tab-separated, a head line that names the command, a line that names the columns.

use evokore_catalog::permission::{Access, decide};
use evokore_catalog::profile::{Activation, ProfileEntry, SchemaMode};
use evokore_catalog::project::always_visible_compiled;
use evokore_catalog::search::Segment;
use evokore_catalog::tool::Source as Origin;

use super::MADE_BY;
use crate::budgets::list_cost;
use crate::model::Model;
use crate::tokens::{Encoding, show};
use crate::tools::Tool;

/// A table being written.
struct Table(String);

impl Table {
    fn new(columns: &[&str]) -> Table {
        Table(format!("# {MADE_BY}\n# {}\n", columns.join("\t")))
    }

    fn row(&mut self, cells: &[String]) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace(['\t', '\n', '\r'], " ")).collect();
        self.0.push_str(&cells.join("\t"));
        self.0.push('\n');
    }
}

fn text(value: impl ToString) -> String {
    value.to_string()
}

pub(super) fn inputs(model: &Model) -> String {
    let mut table = Table::new(&["path", "sha256"]);
    for (path, digest) in &model.inputs {
        table.row(&[text(path), text(digest)]);
    }
    table.0
}

pub(super) fn token_counts(model: &Model) -> String {
    let mut table = Table::new(&["kind", "name", "what", "sha256 of the counted text", "cl100k_base", "o200k_base"]);
    for (label, digest, [cl100k, o200k]) in model.counter.ledger() {
        let mut cells: Vec<String> = label.splitn(3, '\t').map(text).collect();
        cells.resize(3, "-".to_owned());
        cells.extend([text(digest), show(cl100k), show(o200k)]);
        table.row(&cells);
    }
    table.0
}

pub(super) fn profiles(model: &Model) -> String {
    let encoding = model.encoding.name();
    let other = Encoding::ALL.into_iter().find(|it| *it != model.encoding).unwrap_or_default();
    let mut table = Table::new(&[
        "profile",
        "activation",
        "schema mode",
        "tools",
        "bytes of known JSON",
        &format!("full {encoding}"),
        &format!("deferred {encoding}"),
        &format!("visible {encoding}"),
        &format!("full {}", other.name()),
        "budget",
        "headroom",
        "visible budget",
        "answer",
        "schema",
        "first use",
        "first use budget",
    ]);
    for projection in &model.profiles {
        let entry = &projection.entry;
        let headroom = entry.token_budget.map(|budget| i64::from(budget) - i64::from(list_cost(entry)));
        table.row(&[
            text(entry.name),
            text(match entry.activation {
                Activation::List => "list",
                Activation::Stable => "stable",
            }),
            text(match entry.schema_mode {
                Some(SchemaMode::Deferred) => "deferred",
                Some(SchemaMode::Full) => "full",
                None => "-",
            }),
            text(entry.tokens.tools),
            text(entry.tokens.bytes),
            text(entry.tokens.full),
            text(entry.tokens.deferred),
            text(entry.tokens.visible),
            text(projection.counts.full.of(other)),
            show(entry.token_budget),
            headroom.map_or_else(|| "-".to_owned(), text),
            show(projection.visible_budget),
            text(projection.session.answer),
            text(projection.session.schema),
            text(projection.session.total()),
            show(projection.session_budget),
        ]);
    }
    table.0
}

/// The server of a tool, or `native`.
fn origin(model: &Model, tool: &Tool) -> String {
    match tool.origin {
        Origin::Native(_) => text("native"),
        Origin::Proxied { server, .. } => {
            model.servers.get(usize::from(server)).map_or_else(|| text("-"), |server| text(server.id))
        }
    }
}

pub(super) fn projection(model: &Model, profile: &ProfileEntry) -> String {
    let mut table = Table::new(&["position", "tool", "source", "full", "deferred", "visible"]);
    let shown = model.tools.iter().enumerate().filter(|(index, _)| always_visible_compiled(profile, *index));
    for (position, (_, tool)) in shown.enumerate() {
        table.row(&[
            text(position + 1),
            text(tool.name),
            origin(model, tool),
            text(tool.counts.full.of(model.encoding)),
            text(tool.counts.deferred.of(model.encoding)),
            text(tool.counts.visible.of(model.encoding)),
        ]);
    }
    table.0
}

pub(super) fn skills(model: &Model) -> String {
    let mut table = Table::new(&["category", "name", "version", "tokens of the body", "path", "description"]);
    for skill in model.skills {
        table.row(&[
            text(skill.category),
            text(skill.name),
            text(if skill.version.is_empty() { "-" } else { skill.version }),
            text(skill.tokens),
            text(skill.path),
            text(skill.description),
        ]);
    }
    table.0
}

/// Which words find which tool, as the search index has them: stemmed, stop words gone.
pub(super) fn keywords(model: &Model) -> String {
    let mut table = Table::new(&["term", "tools that have it"]);
    let vocabulary = Segment::new(model.tool_index.clone()).map(|segment| segment.vocabulary()).unwrap_or_default();
    for (term, holders) in vocabulary {
        let tools: Vec<&str> =
            holders.iter().filter_map(|index| Some(model.tools.get(usize::from(*index))?.name)).collect();
        table.row(&[term, tools.join(" ")]);
    }
    table.0
}

/// Who may call what: one column without a role, one for each role, and the most that each mode leaves.
pub(super) fn permissions(model: &Model) -> String {
    let (roles, modes) = (model.policy.roles, model.policy.modes);
    let mut columns = vec![text("tool"), text("without a role")];
    columns.extend(roles.iter().map(|role| text(role.name)));
    columns.extend(modes.iter().map(|mode| format!("in mode {}", mode.name)));
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for tool in &model.tools {
        let accesses = model.policy.accesses(tool.name, tool.annotations, tool.informs());
        let mut cells = vec![text(tool.name), text(decide(&accesses, None, None, Access::Allow).name())];
        cells.extend(roles.iter().map(|role| text(decide(&accesses, Some(role), None, Access::Allow).name())));
        cells.extend(modes.iter().map(|mode| {
            let left = mode.judge(tool.name, tool.annotations, tool.informs()).access();
            text(left.unwrap_or(Access::Allow).name())
        }));
        table.row(&cells);
    }
    table.0
}
