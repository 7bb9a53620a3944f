//! The native tools that find, describe and account for other tools.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{NativeResult, arguments};
use crate::calls::CallContext;
use crate::catalog::CATALOG;
use crate::child::{ChildStatus, Status};
use crate::discovery::{self, Answer, EXACT};
use crate::listing::merged::ToolRef;
use crate::listing::projection::{self, Revealed};
use crate::session::When;
use crate::settings::{DiscoveryMode, Settings};
use evokore_catalog::answers::{self, DEFAULT_LIMIT};
use evokore_catalog::permission::ApprovalMode;
use evokore_catalog::profile::Activation;

/// Most tools that one `describe_tool` call describes.
const MAX_DESCRIBED: usize = 50;

#[derive(Serialize)]
struct Discovered<'a> {
    query: &'a str,
    mode: &'static str,
    /// Tools that this search added to the session's list.
    activated: usize,
    matches: Vec<Match<'a>>,
    /// Words of the query that no tool has.
    unmatched: &'a [String],
    /// Servers whose tools cannot be found yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    starting: Vec<&'static str>,
}

#[derive(Serialize)]
struct Match<'a> {
    name: &'a str,
    server: &'static str,
    /// Relative to the best match, 0 to 1.
    score: f64,
    description: &'a str,
    /// Whether the client's list shows it now.
    listed: bool,
    #[serde(rename = "inputSchema", skip_serializing_if = "Option::is_none")]
    input_schema: Option<Box<RawValue>>,
}

pub(super) fn discover_tools(arguments: &Map<String, Value>, ctx: &CallContext) -> Result<NativeResult, NativeResult> {
    let query = arguments::text(arguments, "query")?;
    let limit = arguments::number(arguments, "limit", DEFAULT_LIMIT, 1, 25)?;
    let settings = &ctx.app.settings;
    let merged = ctx.app.merged();
    let answer = discovery::search(settings, &merged, query, limit);
    let stable = settings.profile.entry.activation == Activation::Stable;
    let schemas = arguments::flag(arguments, "schemas")?;
    let activated = if stable { 0 } else { activate(ctx, &answer) };
    let revealed = ctx.session.as_ref().map_or(Revealed::NONE, |session| session.revealed());
    let best = answer.found.iter().map(|found| found.score).filter(|score| *score < EXACT).fold(f32::EPSILON, f32::max);
    let matches: Vec<Match<'_>> = answer
        .found
        .iter()
        .map(|found| Match {
            name: found.tool.name(),
            server: found.tool.server_id(),
            score: (f64::from((found.score / best).min(1.0)) * 100.0).round() / 100.0,
            description: found.tool.description(),
            listed: projection::is_visible(settings, found.tool, &revealed),
            input_schema: schemas.then(|| input_schema(&ctx.app.settings, found.tool)).flatten(),
        })
        .collect();
    let structured = Discovered {
        query,
        mode: settings.mode.name(),
        activated,
        matches,
        unmatched: &answer.unmatched,
        starting: starting(ctx),
    };
    Ok(NativeResult::ok(as_text(&structured), &structured))
}

/// Adds the found proxied tools to the session's list. Natives and tools that the profile shows need none, and in the
/// modern era the list must not vary, so there the answer alone reveals them.
fn activate(ctx: &CallContext, answer: &Answer<'_>) -> usize {
    let settings = &ctx.app.settings;
    let Some(session) = ctx.session.as_ref().filter(|_| settings.mode == DiscoveryMode::Dynamic) else { return 0 };
    if session.revealed() == Revealed::All {
        return 0;
    }
    let hidden = answer
        .found
        .iter()
        .filter(|found| found.tool.server().is_some() && !projection::is_visible(settings, found.tool, &Revealed::NONE))
        .map(|found| found.tool.name());
    let added = session.activate(hidden);
    if added > 0 {
        session.tools_changed(When::Debounced);
    }
    added
}

/// Servers that are on their way up for the first time.
fn starting(ctx: &CallContext) -> Vec<&'static str> {
    let status = ctx.app.server_status();
    status.iter().filter(|server| server.status == Status::Booting).map(|server| server.id).collect()
}

fn as_text(answer: &Discovered<'_>) -> String {
    let mut text = match answer.matches.len() {
        0 => format!("No tool matches \"{}\".", answer.query),
        count => answers::found_head(count, answer.activated),
    };
    for found in &answer.matches {
        text.push_str(&answers::found_line(found.name, found.server, found.description));
        if let Some(schema) = &found.input_schema {
            text.push_str(&format!("\n  {schema}"));
        }
    }
    if !answer.unmatched.is_empty() {
        text.push_str(&format!("\nNo tool knows: {}.", answer.unmatched.join(", ")));
    }
    if !answer.starting.is_empty() {
        text.push_str(&format!("\nStill starting: {}; search again for their tools.", answer.starting.join(", ")));
    }
    if answer.matches.iter().any(|found| !found.listed) {
        text.push_str(answers::HOW_TO_CALL);
    }
    text
}

fn input_schema(settings: &Settings, tool: ToolRef<'_>) -> Option<Box<RawValue>> {
    #[derive(serde::Deserialize)]
    struct Definition {
        #[serde(rename = "inputSchema")]
        input_schema: Box<RawValue>,
    }
    serde_json::from_slice::<Definition>(projection::described(settings, tool)?)
        .ok()
        .map(|definition| definition.input_schema)
}

pub(super) fn describe_tool(arguments: &Map<String, Value>, ctx: &CallContext) -> Result<NativeResult, NativeResult> {
    // Even a call that is refused below shows that the client knows the way.
    if let Some(session) = &ctx.session {
        session.pass_probe();
    }
    let names = arguments::texts(arguments, "tools")?;
    if names.len() > MAX_DESCRIBED {
        return Err(NativeResult::error(format!(
            "`tools` has {} names; ask for at most {MAX_DESCRIBED} at once",
            names.len()
        )));
    }
    let merged = ctx.app.merged();
    let (mut definitions, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let tool = merged.find(name).filter(|tool| projection::is_permitted(&ctx.app.settings, *tool));
        match tool
            .and_then(|tool| projection::described(&ctx.app.settings, tool))
            .and_then(|json| std::str::from_utf8(json).ok())
        {
            Some(definition) => definitions.push(definition),
            None => unknown.push(name),
        }
    }
    Ok(NativeResult::json(answers::described(&definitions, &unknown)))
}

pub(super) fn proxy_server_status(
    arguments: &Map<String, Value>,
    ctx: &CallContext,
) -> Result<NativeResult, NativeResult> {
    let mut servers: Vec<ChildStatus> = ctx.app.server_status();
    servers.sort_by(|a, b| a.id.cmp(b.id));
    if let Some(id) = arguments::optional_text(arguments, "server_id")? {
        let known: Vec<String> = servers.iter().map(|server| server.id.to_string()).collect();
        servers.retain(|server| *server.id == *id);
        if servers.is_empty() {
            return Err(NativeResult::error(format!("no server `{id}`; configured: {}", known.join(", "))));
        }
    }
    #[derive(Serialize)]
    struct Status {
        #[serde(rename = "totalServers")]
        total: usize,
        servers: Vec<ChildStatus>,
        /// What lets calls be made that need approval, where that is less than a person's word.
        #[serde(skip_serializing_if = "Option::is_none")]
        approvals: Option<&'static str>,
    }
    let approvals = Some(CATALOG.policy.approvals).filter(|mode| *mode != ApprovalMode::Operator);
    serde_json::to_string(&Status { total: servers.len(), servers, approvals: approvals.map(ApprovalMode::name) })
        .map(NativeResult::json)
        .map_err(|error| NativeResult::error(format!("the status cannot be written as JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::App;
    use crate::catalog::CATALOG;
    use crate::child::Children;
    use crate::settings::Settings;
    use crate::skills::Library;

    fn context(profile: &str) -> CallContext {
        let variable = |name: &str| (name == "EVOKORE_DISCOVERY_PROFILE").then(|| profile.to_owned());
        let (settings, _) = Settings::resolve(&CATALOG, &variable).expect("the repository has the profile");
        let app = App::new(settings, Library::default());
        // None is starting: what is said of those is said for a moment only, and not counted.
        app.set_children(Children::none());
        CallContext::alone(app)
    }

    /// The texts and nothing else are what `sessionTokenBudget` counts, so whatever is added to them must be added to
    /// `budgets::Session` as well.
    #[test]
    fn answers_hold_what_the_build_counts() {
        let ctx = context("lean");
        let arguments = json!({ "query": "skill" });
        let found = discover_tools(arguments.as_object().expect("an object"), &ctx).expect("an answer");
        let merged = ctx.app.merged();
        let tools = discovery::search(&ctx.app.settings, &merged, "skill", DEFAULT_LIMIT).found;
        assert!(tools.len() > 1, "native tools know the word");
        let lines = tools.iter().map(|it| {
            let (server, description) = (it.tool.server_id(), it.tool.description());
            assert_eq!(server, "native");
            answers::found_line(it.tool.name(), server, description)
        });
        let expected = answers::found_head(tools.len(), 0) + &lines.collect::<String>() + answers::HOW_TO_CALL;
        assert_eq!(found.text, expected);

        let name = tools[0].tool.name();
        let described = merged.find(name).and_then(ToolRef::described).expect("natives are known");
        let arguments = json!({ "tools": [name] });
        let answer = describe_tool(arguments.as_object().expect("an object"), &ctx).expect("an answer");
        let described = std::str::from_utf8(described).expect("JSON");
        assert_eq!(answer.text, answers::described(&[described], &[]));
    }
}
