//! MCP prompts: finding a way of working, reading a skill, and an overview of the server; with completion.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use evokore_catalog::markdown::cut;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::native::skills::{as_help, unknown_skill};
use crate::resources;
use crate::skills::resolve;

const RESOLVE_WORKFLOW: &str = "resolve-workflow";
const SKILL_HELP: &str = "skill-help";
const SERVER_OVERVIEW: &str = "server-overview";

/// Skills that `resolve-workflow` shows.
const RESOLVED: usize = 3;

/// Characters of each of their texts.
const EXCERPT: usize = 2000;

/// Most values of one completion: the protocol's limit.
const MAX_VALUES: usize = 100;

/// Whether this is the name of a prompt of ours.
pub fn is_own(name: &str) -> bool {
    matches!(name, RESOLVE_WORKFLOW | SKILL_HELP | SERVER_OVERVIEW)
}

/// The prompts that this server has itself, as a `prompts/list` result.
pub fn list() -> Value {
    let argument =
        |name: &str, description: &str| json!([{"name": name, "description": description, "required": true}]);
    json!({"prompts": [
        {
            "name": RESOLVE_WORKFLOW,
            "title": "Find a way of working",
            "description": "The skills that fit an objective best.",
            "arguments": argument("objective", "What you want to achieve"),
        },
        {
            "name": SKILL_HELP,
            "title": "Show a skill",
            "description": "One skill in full.",
            "arguments": argument("skill_name", "`name` or `category/name`"),
        },
        {
            "name": SERVER_OVERVIEW,
            "title": "Server overview",
            "description": "Version, mode, tools, skills and child servers.",
        },
    ]})
}

/// The result of `prompts/get`.
///
/// # Errors
/// What is wrong with the request: no such prompt, a missing argument, no such skill.
pub fn get(app: &App, name: &str, arguments: &Map<String, Value>) -> Result<Value, String> {
    match name {
        RESOLVE_WORKFLOW => Ok(resolve_workflow(app, text(name, arguments, "objective")?)),
        SKILL_HELP => skill_help(app, text(name, arguments, "skill_name")?),
        SERVER_OVERVIEW => Ok(prompt("What this server offers at the moment", &[("assistant", server_overview(app))])),
        _ => {
            let known = [RESOLVE_WORKFLOW, SKILL_HELP, SERVER_OVERVIEW].join("`, `");
            Err(format!("no prompt `{}`; there are `{known}`", cut(name, 100)))
        }
    }
}

/// The result of `completion/complete` for `reference`, which names a prompt or a resource template.
pub fn complete(app: &App, reference: &Value, argument: &str, typed: &str) -> Value {
    let (values, total) = match (reference["name"].as_str(), reference["uri"].as_str(), argument) {
        (Some(RESOLVE_WORKFLOW), _, "objective") | (Some(SKILL_HELP), _, "skill_name") => {
            resolve::completions(&app.skills, &app.skills.snapshot(), typed, MAX_VALUES)
        }
        (_, Some(resources::SKILL_TEMPLATE), variable) => {
            let mut values = resources::completions(app, variable, typed);
            let total = values.len();
            values.truncate(MAX_VALUES);
            (values, total)
        }
        _ => (Vec::new(), 0),
    };
    json!({"completion": {"hasMore": total > values.len(), "total": total, "values": values}})
}

fn text<'a>(prompt: &str, arguments: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    let text = arguments.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("prompt `{prompt}` needs the argument `{key}`: a text that is not empty"))
}

fn prompt(description: &str, messages: &[(&str, String)]) -> Value {
    let messages = messages.iter().map(|(role, text)| json!({"role": role, "content": {"type": "text", "text": text}}));
    json!({"description": description, "messages": messages.collect::<Vec<_>>()})
}

fn resolve_workflow(app: &App, objective: &str) -> Value {
    let snapshot = app.skills.snapshot();
    let answer = resolve::search(&app.skills, &snapshot, objective, RESOLVED);
    let mut text = String::new();
    for found in &answer.found {
        let Some(skill) = snapshot.get(found.at) else { continue };
        let _ = write!(
            text,
            "## {} [{}]\n\n{}\n\n{}\n\n",
            skill.name(),
            skill.shelf(),
            skill.description(),
            cut(skill.body(), EXCERPT)
        );
    }
    if text.is_empty() {
        text.push_str("No skill fits this objective; go by general knowledge.");
    }
    let question = format!("Find the way of working that fits this objective: {objective}");
    prompt("Skills for an objective", &[("user", question), ("assistant", text.trim_end().to_owned())])
}

fn skill_help(app: &App, name: &str) -> Result<Value, String> {
    let snapshot = app.skills.snapshot();
    let Some(skill) = snapshot.find(name).and_then(|at| snapshot.get(at)) else {
        return Err(unknown_skill(name, &resolve::suggestions(&app.skills, &snapshot, name, 3)));
    };
    let question = format!("Show me the skill {}.", skill.name());
    Ok(prompt(&format!("The skill {}", skill.name()), &[("user", question), ("assistant", as_help(&snapshot, skill))]))
}

fn server_overview(app: &App) -> String {
    let overview = resources::overview(app);
    let mut text = format!(
        "evokore {}, mode {}, profile {}: {} tools, {} skills.\n",
        overview.version, overview.discovery_mode, overview.profile, overview.tool_count, overview.skill_count
    );
    if !overview.child_servers.is_empty() {
        text.push_str("\nChild servers:\n");
    }
    for child in &overview.child_servers {
        let status = serde_json::to_value(child.status).unwrap_or_default();
        let _ = writeln!(
            text,
            "- {}: {}, {} tools",
            child.id,
            status.as_str().unwrap_or_default(),
            child.registered_tool_count
        );
    }
    let snapshot = app.skills.snapshot();
    if !snapshot.is_empty() {
        text.push_str("\nSkills by category:\n");
    }
    for (category, count) in snapshot.categories() {
        let _ = writeln!(text, "- {category}: {count}");
    }
    text.trim_end().to_owned()
}
