//! `mcp.config.json`: child servers and profiles, as every client writes them and a little more.

mod discovery;
mod foreign;
mod guard;
mod inherit;
mod limits;
mod oauth;
mod placeholder;
mod rate_limit;
mod server;
mod tool_rules;

use jsonc_parser::ast::{Object, ObjectProp, Value};

use crate::json::{Reader, key_span, parse};
use crate::problem::{Problem, Severity};
use crate::source::Source;

pub use discovery::{DEFAULT, Discovery, Profile, Visible};
pub use guard::Guard;
pub use oauth::OAuth;
pub use rate_limit::RateLimit;
pub use server::{Server, Transport};
pub use tool_rules::ToolRule;

/// The configuration as written.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Child servers in the order of the file.
    pub servers: Vec<Server>,
    /// The `discovery` object.
    pub discovery: Discovery,
    /// `maxConcurrentBoots`.
    pub max_concurrent_boots: Option<u32>,
    /// `lock.onDrift` and `hostileContent`, for servers that say nothing else.
    pub guard: Guard,
}

/// Top-level keys that are read, now or by other parts of evokore.
const KEYS: &[&str] = &[
    "servers",
    "mcpServers",
    "discovery",
    "maxConcurrentBoots",
    "lock",
    "hostileContent",
    "skillRegistries",
    "webhooks",
];

/// Top-level keys under which other programs keep their servers, with what to do about each.
const DIALECTS: &[(&str, &str, &str)] = &[
    (
        "mcp",
        "the dialect of OpenCode and of VS Code's settings",
        "move its servers under `servers`, with `command` as one string and the rest in `args`",
    ),
    (
        "context_servers",
        "the dialect of Zed",
        "move its servers under `servers`, with `command`, `args` and `env` side by side",
    ),
    ("mcp_servers", "the dialect of Codex", "move its servers under `servers`"),
];

/// Reads the configuration. An empty file is a configuration without servers.
pub fn read(source: &Source, problems: &mut Vec<Problem>) -> Config {
    let mut config = Config::default();
    let before = problems.len();
    let value = parse(source, problems);
    if let Some(problem) = problems.get_mut(before) {
        problem.hint = other_language(&source.text).or(problem.hint.take());
        return config;
    }
    let mut reader = Reader::new(source, problems);
    if let Some(object) = value.as_ref().and_then(|value| reader.object("the configuration", value)) {
        top_level(&mut reader, object, &mut config);
    }
    let failed = problems[before..].iter().any(|problem| problem.severity == Severity::Error);
    if config.servers.is_empty() && !failed {
        problems.push(
            Problem::note("no child servers are configured: only the native tools are there")
                .in_file(&source.path)
                .hint("add them under `servers`, as `\"id\": { \"command\": …, \"args\": […] }`"),
        );
    }
    config
}

/// What to do about a configuration in another language than JSON.
fn other_language(text: &str) -> Option<String> {
    let has_line = |start: &str| text.lines().any(|line| line.starts_with(start));
    let language = if has_line("[mcp_servers") {
        "the TOML of Codex"
    } else if has_line("mcpServers:") || has_line("servers:") {
        "YAML, as Continue has it"
    } else {
        return None;
    };
    Some(format!("this is {language}; write it as JSON: {{ \"servers\": {{ \"id\": {{ \"command\": … }} }} }}"))
}

fn top_level(reader: &mut Reader<'_>, object: &Object<'_>, config: &mut Config) {
    for property in reader.members(object) {
        match property.name.as_str() {
            "servers" | "mcpServers" => servers(reader, property, &mut config.servers),
            "discovery" => {
                if let Some(object) = reader.object("`discovery`", &property.value) {
                    config.discovery = discovery::read(reader, object);
                }
            }
            "maxConcurrentBoots" => {
                let number = reader.positive("`maxConcurrentBoots`", &property.value);
                config.max_concurrent_boots = number.map(|number| number.value);
            }
            key @ ("lock" | "hostileContent") => {
                guard::member(reader, key, &format!("`{key}`"), &property.value, &mut config.guard);
            }
            "$schema" | "skillRegistries" | "webhooks" => {}
            name => match DIALECTS.iter().find(|(key, ..)| *key == name) {
                Some((_, dialect, hint)) => reader.report(
                    Problem::error(format!("servers under `{name}` are {dialect}, which is not read")).hint(*hint),
                    key_span(property),
                ),
                None if name == "inputs" => reader.report(
                    Problem::note("`inputs` are questions that an editor asks; evokore asks none")
                        .hint("set environment variables, and write `${NAME}` where `${input:…}` stands"),
                    key_span(property),
                ),
                None => _ = reader.unknown_key(property, KEYS, "the configuration"),
            },
        }
    }
}

fn servers(reader: &mut Reader<'_>, property: &ObjectProp<'_>, servers: &mut Vec<Server>) {
    let key = property.name.as_str();
    if let Value::Array(_) = property.value {
        reader.report(
            Problem::error(format!("`{key}` is a list, the dialect of some proxies, which is not read"))
                .hint("write an object: \"id\": { \"command\": …, \"args\": […] }"),
            key_span(property),
        );
        return;
    }
    let Some(object) = reader.object(&format!("`{key}`"), &property.value) else { return };
    let twice = |id: &str| {
        Problem::error(format!("the server id `{id}` is given to two servers"))
            .hint("rename one of them; upper and lower case count as the same")
    };
    for entry in reader.members_or(object, twice) {
        let id = entry.name.as_str();
        if servers.iter().any(|server| server.id.value.eq_ignore_ascii_case(id)) {
            reader.report(twice(id), key_span(entry));
            continue;
        }
        if let Some(server) = server::read(reader, entry) {
            servers.push(server);
        }
    }
}
