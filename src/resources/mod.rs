//! MCP resources: three documents about the server, and every skill.
//!
//! What is listed can be read, and nothing else: URIs are looked up, never joined to a path. Answers have the shape of
//! the protocol; `offers` puts those of child servers beside them.

pub(crate) mod redact;
mod server;
#[cfg(test)]
mod tests;

use evokore_catalog::markdown::cut;
use serde_json::{Value, json};

use crate::app::App;
use crate::skills::SkillRef;

pub use server::{Overview, overview};

/// URI of the server's status.
pub const STATUS: &str = "evokore://server/status";
/// URI of the server's configuration without secrets.
pub const CONFIG: &str = "evokore://server/config";
/// URI of the skill categories.
pub const CATEGORIES: &str = "evokore://skills/categories";
/// Template of the skills' URIs.
pub const SKILL_TEMPLATE: &str = "skill://{category}/{name}";

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

/// Characters of a description in the list.
const BRIEF: usize = 500;

/// The resources that this server has itself, as a `resources/list` result.
pub fn list(app: &App) -> Value {
    let about = [
        (
            STATUS,
            "server-status",
            "Server status",
            "Version, mode, numbers of tools and skills, and the state of every child server.",
        ),
        (
            CONFIG,
            "server-config",
            "Server configuration",
            "The configured child servers and profiles, without secrets.",
        ),
        (
            CATEGORIES,
            "skill-categories",
            "Skill categories",
            "The categories of the skill library and how many skills each has.",
        ),
    ];
    let about = about.into_iter().map(|(uri, name, title, description)| {
        json!({"uri": uri, "name": name, "title": title, "description": description, "mimeType": JSON})
    });
    let snapshot = app.skills.snapshot();
    let skills = snapshot.iter().map(|skill| {
        json!({
            "uri": skill.uri(),
            "name": skill.name(),
            "title": format!("Skill: {}", skill.name()),
            "description": cut(skill.description(), BRIEF),
            "mimeType": MARKDOWN,
            "size": skill.body().len(),
        })
    });
    json!({"resources": about.chain(skills).collect::<Vec<_>>()})
}

/// Their templates, as a `resources/templates/list` result.
pub fn templates() -> Value {
    json!({"resourceTemplates": [{
        "uriTemplate": SKILL_TEMPLATE,
        "name": "skill",
        "title": "Skill",
        "description": "The text of a skill by category and name.",
        "mimeType": MARKDOWN,
    }]})
}

/// The result of `resources/read`; `None` when there is no such resource.
pub fn read(app: &App, uri: &str) -> Option<Value> {
    if let Some(page) = app.results.page(uri) {
        let place = json!({"evokore/page": page.number, "evokore/pages": page.of, "evokore/next": page.next()});
        return Some(json!({"contents": [{"uri": uri, "mimeType": page.mime, "text": page.text, "_meta": place}]}));
    }
    let (mime, text) = match uri {
        STATUS => (JSON, server::status(app)),
        CONFIG => (JSON, server::config(app)),
        CATEGORIES => (JSON, server::categories(app)),
        _ => (MARKDOWN, app.skills.snapshot().find_uri(uri)?.body().to_owned()),
    };
    Some(json!({"contents": [{"uri": uri, "mimeType": mime, "text": text}]}))
}

/// What completes the part `variable` of [`SKILL_TEMPLATE`] that starts with `typed`, sorted, each once.
pub fn completions(app: &App, variable: &str, typed: &str) -> Vec<String> {
    let snapshot = app.skills.snapshot();
    let part = |skill: SkillRef<'_>| {
        let (category, name) = skill.uri().strip_prefix("skill://")?.split_once('/')?;
        match variable {
            "category" => Some(category.to_owned()),
            "name" => Some(name.to_owned()),
            _ => None,
        }
    };
    let starts = |part: &String| part.to_lowercase().starts_with(&typed.to_lowercase());
    let parts: std::collections::BTreeSet<String> = snapshot.iter().filter_map(part).filter(starts).collect();
    parts.into_iter().collect()
}
