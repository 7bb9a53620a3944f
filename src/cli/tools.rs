//! `evokore tools`: what a profile shows, and what each tool costs.

use evokore_catalog::name;
use evokore_catalog::profile::{SchemaMode, Visibility};
use evokore_catalog::server::LockKind;
use evokore_catalog::tool::ToolTokens;
use serde_json::{Value, json};

use super::arguments::ToolsArguments;
use super::output::{Align, Output, Style, columns, number};
use super::process;
use crate::catalog::CATALOG;
use crate::error::{Exit, Failure};
use crate::listing::merged::{Merged, ToolRef};
use crate::listing::projection::{self, Revealed};
use crate::settings::{DiscoveryMode, Settings};

/// Runs the command.
///
/// # Errors
/// There is no such profile, or a variable means nothing.
pub(crate) fn run(arguments: &ToolsArguments, out: Output) -> Result<Exit, Failure> {
    let settings = process::settings(arguments.profile.as_deref())?;
    let merged = Merged::default();
    let tools: Vec<(ToolRef<'_>, ToolTokens)> = merged
        .iter()
        .filter(|tool| projection::is_visible(&settings, *tool, &Revealed::NONE))
        .filter_map(|tool| match tool {
            ToolRef::Compiled(_, entry) => Some((tool, entry.tokens)),
            ToolRef::Live(..) => None,
        })
        .collect();
    let total = whole_list(&settings, &tools);
    let source = super::profile::source(&settings, arguments.profile.as_deref());
    if arguments.json {
        out.json(&as_json(&settings, source, &tools, total))?;
    } else {
        out.print(&as_text(&settings, source, &tools, total, out))?;
    }
    Ok(Exit::Ok)
}

/// What the list costs: as the build has counted it, unless a role or the mode makes it another list.
fn whole_list(settings: &Settings, tools: &[(ToolRef<'_>, ToolTokens)]) -> ToolTokens {
    let counted = settings.profile.entry.tokens;
    if is_as_counted(settings, tools) {
        return ToolTokens { full: counted.full, deferred: counted.deferred, visible: counted.visible };
    }
    tools.iter().fold(ToolTokens::default(), |sum, (_, tokens)| ToolTokens {
        full: sum.full + tokens.full,
        deferred: sum.deferred + tokens.deferred,
        visible: sum.visible + tokens.visible,
    })
}

/// Whether this is the list that the build has counted.
fn is_as_counted(settings: &Settings, tools: &[(ToolRef<'_>, ToolTokens)]) -> bool {
    settings.mode == DiscoveryMode::Dynamic && tools.len() == settings.profile.entry.tokens.tools as usize
}

/// Ids of the servers whose tools the build does not know.
fn unknown_servers() -> Vec<&'static str> {
    let unlocked = CATALOG.servers.iter().filter(|server| server.lock == LockKind::None && !server.disabled);
    unlocked.map(|server| server.id).collect()
}

/// Whether the list may hold tools of `server`, which the build does not know, from the start.
fn may_show_tools_of(settings: &Settings, server: &str) -> bool {
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    settings.mode == DiscoveryMode::Legacy
        || match settings.profile.entry.visible {
            Visibility::All => true,
            Visibility::AllNative => false,
            Visibility::Named(names) => names.iter().any(|tool| name::owner(tool, &ids) == Some(server)),
        }
}

fn schema_mode(settings: &Settings) -> &'static str {
    match settings.schema_mode {
        SchemaMode::Full => "full",
        SchemaMode::Deferred => "deferred",
    }
}

fn as_json(settings: &Settings, source: &str, tools: &[(ToolRef<'_>, ToolTokens)], total: ToolTokens) -> Value {
    let counts =
        |tokens: ToolTokens| json!({ "full": tokens.full, "deferred": tokens.deferred, "model": tokens.visible });
    let entries: Vec<Value> = tools
        .iter()
        .map(|(tool, tokens)| {
            json!({
                "name": tool.name(),
                "server": tool.server_id(),
                "listedBeforeItsServerIsUp": tool.is_listable(),
                "tokens": counts(*tokens),
            })
        })
        .collect();
    json!({
        "profile": settings.profile.entry.name,
        "profileSource": source,
        "mode": settings.mode.name(),
        "schemaMode": schema_mode(settings),
        "tokenizer": CATALOG.tokenizer,
        "tokenBudget": settings.profile.entry.token_budget,
        "tools": entries,
        "tokens": counts(total),
        "serversWithoutLock": unknown_servers(),
    })
}

fn as_text(
    settings: &Settings,
    source: &str,
    tools: &[(ToolRef<'_>, ToolTokens)],
    total: ToolTokens,
    out: Output,
) -> String {
    let profile = settings.profile.entry;
    let mut text = format!("profile {} ({source})", out.paint(Style::Bold, profile.name));
    if !profile.description.is_empty() {
        text.push_str(&format!(": {}", profile.description));
    }
    text.push_str(&format!(
        "\ndiscovery mode {}, schema mode {}, counted with {}\n\n",
        settings.mode.name(),
        schema_mode(settings),
        CATALOG.tokenizer
    ));
    let row = |name: &str, server: &str, tokens: ToolTokens| {
        let counts = [tokens.full, tokens.deferred, tokens.visible].map(|count| number(count as usize));
        [name.to_owned(), server.to_owned()].into_iter().chain(counts).collect::<Vec<String>>()
    };
    let mut rows = vec![["tool", "server", "full", "deferred", "model"].map(str::to_owned).to_vec()];
    rows.extend(tools.iter().map(|(tool, tokens)| row(tool.name(), tool.server_id(), *tokens)));
    rows.push(row(&super::output::count(tools.len(), "tool"), "", total));
    let aligns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right];
    let lines = columns("  ", &aligns, &rows);
    for (at, line) in lines.iter().enumerate() {
        let is_frame = at == 0 || at + 1 == lines.len();
        let line = if is_frame { out.paint(Style::Bold, line) } else { line.clone() };
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(&remarks(settings, tools));
    text
}

/// The budget, which holds for the list that the build has counted: the profile's, for a client without a role.
fn budget_line(settings: &Settings, tools: &[(ToolRef<'_>, ToolTokens)], budget: u32) -> String {
    let counted = settings.profile.entry.tokens;
    let spent = match settings.profile.entry.schema_mode.unwrap_or_default() {
        SchemaMode::Full => counted.full,
        SchemaMode::Deferred => counted.deferred,
    };
    let [budget, spent, left] = [budget, spent, budget.saturating_sub(spent)].map(|tokens| number(tokens as usize));
    if is_as_counted(settings, tools) {
        format!("budget {budget}, {spent} spent, {left} left\n")
    } else {
        format!("budget {budget}, which holds for the profile's own list ({spent}), not for this one\n")
    }
}

/// What the table does not say.
fn remarks(settings: &Settings, tools: &[(ToolRef<'_>, ToolTokens)]) -> String {
    let mut text = String::new();
    if let Some(budget) = settings.profile.entry.token_budget {
        text.push_str(&budget_line(settings, tools, budget));
    }
    let later = tools.iter().filter(|(tool, _)| !tool.is_listable()).count();
    if later > 0 {
        text.push_str(&format!("{} join the list when their server is up\n", super::output::count(later, "tool")));
    }
    let unknown: Vec<String> = unknown_servers()
        .into_iter()
        .filter(|server| may_show_tools_of(settings, server))
        .map(|server| format!("`{server}`"))
        .collect();
    if !unknown.is_empty() {
        text.push_str(&format!("not counted, since there is no lock: the tools of {}\n", unknown.join(", ")));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}
