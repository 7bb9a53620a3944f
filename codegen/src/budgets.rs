//! What profiles may cost: the list, what a model sees of it, and the first use of a tool that is not in it.
//!
//! A **first use** is the list, one answer of `discover_tools` and one of `describe_tool`, as the texts that a model
//! reads. Which tools somebody finds cannot be known here, so both answers are about the tools that the profile does
//! not show: the discovery answer is the dearest possible one of the default length, the schema is the median one. What
//! a query adds to its answer (words that no tool knows, schemas on demand) is not counted, nor is `structuredContent`.

use evokore_catalog::answers::{DEFAULT_LIMIT, HOW_TO_CALL, found_head};
use evokore_catalog::profile::{Activation, ProfileEntry, SchemaMode};
use evokore_catalog::project::always_visible_compiled;

use crate::config::Profile;
use crate::json::Spanned;
use crate::problem::Problem;
use crate::profiles::Projection;
use crate::source::Source;
use crate::tokens::{Counter, Encoding};
use crate::tools::Tool;

/// Tokens of a first use, in the encoding of the catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Session {
    /// The list, in the schema mode it is sent in.
    pub list: u32,
    /// An answer of `discover_tools`; 0 when the profile shows every tool.
    pub answer: u32,
    /// An answer of `describe_tool` about one tool; 0 when the profile shows every tool.
    pub schema: u32,
}

impl Session {
    /// The first use in the profile `entry`, whose tools are resolved and counted.
    pub fn of(entry: &ProfileEntry, tools: &[Tool], counter: &mut Counter, encoding: Encoding) -> Session {
        let list = list_cost(entry);
        let hidden: Vec<&Tool> =
            tools.iter().enumerate().filter(|(at, _)| !always_visible_compiled(entry, *at)).map(|(_, it)| it).collect();
        let mut lines: Vec<u32> = hidden.iter().map(|tool| tool.answers.found.of(encoding)).collect();
        let mut schemas: Vec<u32> = hidden.iter().map(|tool| tool.answers.described.of(encoding)).collect();
        lines.sort_unstable_by(|a, b| b.cmp(a));
        schemas.sort_unstable();
        let Some(schema) = schemas.get(schemas.len() / 2) else { return Session { list, ..Session::default() } };
        lines.truncate(DEFAULT_LIMIT);
        let activated = if entry.activation == Activation::Stable { 0 } else { lines.len() };
        let frame = found_head(lines.len(), activated) + HOW_TO_CALL;
        let frame =
            counter.count(&format!("answer\tdiscover_tools\tframe of {}, {activated} new", lines.len()), &frame);
        Session { list, answer: lines.iter().sum::<u32>() + frame.of(encoding), schema: *schema }
    }

    /// All of it.
    pub fn total(&self) -> u32 {
        self.list + self.answer + self.schema
    }
}

fn is_deferred(entry: &ProfileEntry) -> bool {
    entry.schema_mode == Some(SchemaMode::Deferred)
}

/// Tokens of the list in the mode it is sent in.
pub fn list_cost(entry: &ProfileEntry) -> u32 {
    if is_deferred(entry) { entry.tokens.deferred } else { entry.tokens.full }
}

/// Checks that a profile costs no more than its budgets allow.
pub fn check(
    source: &Source,
    profile: &Profile,
    projection: &Projection,
    tools: &[Tool],
    encoding: Encoding,
    problems: &mut Vec<Problem>,
) {
    let entry = &projection.entry;
    let name = entry.name;
    let mut check = |what: String, cost: u32, mode: &str, budget: &Option<Spanned<u32>>, hint: &dyn Fn() -> String| {
        let Some(budget) = budget.as_ref().filter(|budget| cost > budget.value) else { return };
        let (encoding, over, budget, range) =
            (encoding.name(), cost - budget.value, budget.value, budget.range.clone());
        let text = format!("{what} costs {cost} tokens ({encoding}{mode}), {over} over its budget of {budget}");
        problems.push(Problem::error(text).at(source, range).hint(hint()));
    };
    let dearest = |price: fn(&Tool, Encoding) -> u32| {
        let shown = tools.iter().enumerate().filter(|(index, _)| always_visible_compiled(entry, *index));
        let mut dearest: Vec<(u32, &str)> = shown.map(|(_, tool)| (price(tool, encoding), tool.name)).collect();
        dearest.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let list: Vec<String> = dearest.iter().take(5).map(|(cost, name)| format!("`{name}` {cost}")).collect();
        format!("dearest tools: {}; show fewer, or raise the budget", list.join(", "))
    };
    let deferred = is_deferred(entry);
    let mode = if deferred { ", mode deferred" } else { ", mode full" };
    check(format!("the list of profile `{name}`"), list_cost(entry), mode, &profile.token_budget, &|| {
        dearest(if deferred {
            |tool, encoding| tool.counts.deferred.of(encoding)
        } else {
            |tool, encoding| tool.counts.full.of(encoding)
        })
    });
    let what = format!("what a model sees of the list of profile `{name}`");
    check(what, entry.tokens.visible, "", &profile.visible_budget, &|| {
        dearest(|tool, encoding| tool.counts.visible.of(encoding))
    });
    let Session { list, answer, schema } = projection.session;
    let what = format!("a first use of profile `{name}`");
    check(what, projection.session.total(), "", &profile.session_budget, &|| {
        format!(
            "its list {list}, an answer of `discover_tools` {answer}, one of `describe_tool` {schema}; show fewer tools, \
             shorten the first sentences of descriptions, or raise the budget"
        )
    });
}
