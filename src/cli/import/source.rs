//! Another program's file: its format, whose dialect it is, and the servers in it as they are written there.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cli::init::entry::Refusal;
use crate::cli::init::json_file;

/// Whose dialect a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Plain,
    ClaudeCode,
    Cline,
    Codex,
    Continue,
    Evokore,
    Gemini,
    List,
    OpenCode,
    VsCode,
    Windsurf,
    Zed,
}

impl Dialect {
    /// Name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Dialect::Plain => "the common `mcpServers` form (Claude Desktop, Claude Code, Cursor, …)",
            Dialect::ClaudeCode => "Claude Code",
            Dialect::Cline => "Cline or Roo Code",
            Dialect::Codex => "Codex",
            Dialect::Continue => "Continue",
            Dialect::Evokore => "evokore",
            Dialect::Gemini => "Gemini CLI",
            Dialect::List => "the list form of some proxies",
            Dialect::OpenCode => "OpenCode",
            Dialect::VsCode => "Visual Studio Code (`servers`)",
            Dialect::Windsurf => "Windsurf",
            Dialect::Zed => "Zed",
        }
    }
}

/// A server as another program has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Foreign {
    /// What it is called there.
    pub(super) name: String,
    /// Its entry.
    pub(super) entry: Map<String, Value>,
    /// The project it belongs to, where that is known: servers of a project are started in its folder.
    pub(super) project: Option<PathBuf>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) dialect: Dialect,
    pub(super) servers: Vec<Foreign>,
}

/// Reads `text`, the file `path` (absolute). A member that is no entry is left out.
///
/// # Errors
/// It is written in none of the formats, or holds no servers.
pub(super) fn read(path: &Path, text: &str, home: Option<&Path>) -> Result<Found, Refusal> {
    let root = parse(path, text)?;
    let (dialect, mut servers) =
        found(&root).ok_or_else(|| Refusal::at(text, 0, "there are no MCP servers in this file"))?;
    if let Some(project) = project(path, home) {
        servers.iter_mut().for_each(|server| _ = server.project.get_or_insert_with(|| project.clone()));
    }
    Ok(Found { dialect, servers })
}

fn parse(path: &Path, text: &str) -> Result<Value, Refusal> {
    let ends = |ending: &str| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ending));
    let has_line = |start: &str| text.lines().any(|line| line.starts_with(start));
    if ends("toml") || has_line("[mcp_servers") {
        return toml(text);
    }
    if ends("yaml") || ends("yml") || has_line("mcpServers:") {
        return serde_yaml::from_str(text).map_err(|error| {
            let at = error.location().map_or(0, |it| it.index());
            Refusal::at(text, at, format!("no YAML: {error}"))
        });
    }
    json_file::parse(text)
}

fn toml(text: &str) -> Result<Value, Refusal> {
    let document = text.parse::<toml_edit::DocumentMut>().map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Refusal::at(text, offset, error.message().lines().next().unwrap_or("this is no TOML").to_owned())
    })?;
    Ok(toml_table(document.as_table()))
}

fn toml_table(table: &dyn toml_edit::TableLike) -> Value {
    let members = table.iter().filter_map(|(key, item)| Some((key.to_owned(), toml_item(item)?)));
    Value::Object(members.collect())
}

fn toml_item(item: &toml_edit::Item) -> Option<Value> {
    if let Some(table) = item.as_table_like() {
        return Some(toml_table(table));
    }
    if let Some(tables) = item.as_array_of_tables() {
        return Some(Value::Array(tables.iter().map(|table| toml_table(table)).collect()));
    }
    item.as_value().map(toml_value)
}

fn toml_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(date) => date.value().to_string().into(),
        Toml::Array(items) => items.iter().map(toml_value).collect(),
        Toml::InlineTable(table) => toml_table(table),
    }
}

/// The servers, wherever they lie.
fn found(root: &Value) -> Option<(Dialect, Vec<Foreign>)> {
    let root = root.as_object()?;
    let object = |key: &str| root.get(key).and_then(Value::as_object);
    let list = |key: &str| root.get(key).and_then(Value::as_array);
    if let Some(servers) = object("mcp_servers") {
        return Some((Dialect::Codex, named(servers)));
    }
    if let Some(servers) = object("context_servers") {
        return Some((Dialect::Zed, named(servers)));
    }
    if let Some(projects) = object("projects") {
        let mut servers = object("mcpServers").map(named).unwrap_or_default();
        for (path, project) in projects {
            let own = project.get("mcpServers").and_then(Value::as_object).map(named).unwrap_or_default();
            servers.extend(own.into_iter().map(|server| Foreign { project: Some(PathBuf::from(path)), ..server }));
        }
        return Some((Dialect::ClaudeCode, servers));
    }
    if let Some(mcp) = object("mcp") {
        return Some(match mcp.get("servers").and_then(Value::as_object) {
            Some(servers) => (Dialect::VsCode, named(servers)),
            None => (Dialect::OpenCode, named(mcp)),
        });
    }
    if let Some(servers) = list("mcpServers").or_else(|| list("servers")) {
        let dialect =
            if root.contains_key("name") || root.contains_key("models") { Dialect::Continue } else { Dialect::List };
        return Some((dialect, listed(servers)));
    }
    if let Some(servers) = object("servers") {
        let dialect = if root.contains_key("discovery") { Dialect::Evokore } else { Dialect::VsCode };
        return Some((dialect, named(servers)));
    }
    if let Some(servers) = object("mcpServers").or_else(|| object("amp.mcpServers")) {
        return Some((flavour(servers), named(servers)));
    }
    // A map of servers and nothing around it.
    let is_entry = |value: &Value| value.get("command").is_some() || value.get("url").is_some();
    (!root.is_empty() && root.values().all(is_entry)).then(|| (Dialect::Plain, named(root)))
}

/// Tells by their members whose `mcpServers` these are.
fn flavour(servers: &Map<String, Value>) -> Dialect {
    let any = |keys: &[&str]| servers.values().any(|entry| keys.iter().any(|key| entry.get(key).is_some()));
    if any(&["autoApprove", "alwaysAllow", "transportType"]) {
        Dialect::Cline
    } else if any(&["httpUrl", "trust", "includeTools", "excludeTools"]) {
        Dialect::Gemini
    } else if any(&["serverUrl"]) {
        Dialect::Windsurf
    } else {
        Dialect::Plain
    }
}

fn named(servers: &Map<String, Value>) -> Vec<Foreign> {
    let entry = |(name, entry): (&String, &Value)| {
        Some(Foreign { name: name.clone(), entry: entry.as_object()?.clone(), project: None })
    };
    servers.iter().filter_map(entry).collect()
}

/// Servers that carry their names with them.
fn listed(servers: &[Value]) -> Vec<Foreign> {
    let entry = |value: &Value| {
        let mut entry = value.as_object()?.clone();
        let name = entry.remove("name").or_else(|| entry.remove("id"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or("server").to_owned();
        Some(Foreign { name, entry, project: None })
    };
    servers.iter().filter_map(entry).collect()
}

/// The project whose file `path` is: the folder of a `.mcp.json`, and of the folders that editors keep in a project. The
/// home holds such files for every project.
fn project(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = path.parent()?;
    let of_editor = [".vscode", ".cursor", ".roo", ".gemini", ".windsurf", ".zed", ".codex"];
    let is_of_editor = folder.file_name().is_some_and(|name| of_editor.iter().any(|known| name == *known));
    let project = if is_of_editor { folder.parent()? } else { folder };
    let is_project =
        is_of_editor || path.file_name().is_some_and(|name| name == ".mcp.json" || name == "opencode.json");
    (is_project && Some(project) != home).then(|| project.to_path_buf())
}
