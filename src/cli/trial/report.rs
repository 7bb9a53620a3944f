//! How the answers of the server are shown.

use std::time::Duration;

use serde_json::Value;

use crate::catalog::CATALOG;
use crate::cli::client::Answer;
use crate::cli::output::{Align, Output, Style, columns, count, number, one_line};
use crate::settings::Settings;

/// What the handshake and the first list showed.
pub(crate) struct Shown {
    version: String,
    protocol: String,
    initialized: Duration,
    listed: Duration,
    tools: usize,
    bytes: usize,
}

impl Shown {
    /// From the two answers and when they came, counted from the start of the process.
    pub(crate) fn new(hello: &Value, list: &Answer, initialized: Duration, listed: Duration) -> Shown {
        let text = |pointer: &str| hello.pointer(pointer).and_then(Value::as_str).unwrap_or("?").to_owned();
        Shown {
            version: one_line(&format!("{} {}", text("/serverInfo/name"), text("/serverInfo/version")), 60),
            protocol: text("/protocolVersion"),
            initialized,
            listed,
            tools: list.result.get("tools").and_then(Value::as_array).map_or(0, Vec::len),
            bytes: list.bytes,
        }
    }
}

/// A child server as the status tells it.
pub(crate) struct Server {
    /// Server id.
    pub(crate) id: String,
    status: String,
    tools: u64,
    reason: String,
}

impl Server {
    /// All servers that `proxy_server_status` told of, in configured order.
    pub(crate) fn all(result: &Value) -> Vec<Server> {
        let servers = result.pointer("/structuredContent/servers").and_then(Value::as_array);
        servers.into_iter().flatten().map(Server::of).collect()
    }

    fn of(entry: &Value) -> Server {
        let text = |key: &str| one_line(entry.get(key).and_then(Value::as_str).unwrap_or_default(), 200);
        Server {
            id: text("id"),
            status: text("status"),
            tools: entry.get("registeredToolCount").and_then(Value::as_u64).unwrap_or(0),
            // What would help stands on its other lines, and `evokore doctor` tells it.
            reason: entry.get("reason").and_then(Value::as_str).map(first_line).unwrap_or_default(),
        }
    }

    /// Whether it may still come up.
    pub(crate) fn is_booting(&self) -> bool {
        self.status == "booting"
    }
}

fn first_line(text: &str) -> String {
    one_line(text.lines().next().unwrap_or_default(), 200)
}

fn heading(out: Output, title: &str, rest: &str) -> String {
    format!("\n{}{rest}\n", out.paint(Style::Bold, title))
}

/// Who answered, how fast, and what the profiles cost.
pub(crate) fn opening(settings: &Settings, source: &str, shown: &Shown, out: Output) -> String {
    let profile = settings.profile;
    let mut text = format!(
        "{} speaks MCP {}; profile {} ({source})\n",
        shown.version,
        shown.protocol,
        out.paint(Style::Bold, profile.entry.name),
    );
    text.push_str(&heading(out, "start-up", ", counted from the start of the process"));
    let rows = [
        vec!["initialize".to_owned(), milliseconds(shown.initialized), String::new()],
        vec![
            "tools/list".to_owned(),
            milliseconds(shown.listed),
            format!("{}, {} bytes", count(shown.tools, "tool"), number(shown.bytes)),
        ],
    ];
    push_lines(&mut text, columns("  ", &[Align::Left, Align::Right, Align::Left], &rows));

    text.push_str(&heading(out, "profiles", &format!(", counted with {}", CATALOG.tokenizer)));
    let mut rows = vec![["", "profile", "tools", "full", "deferred", "model"].map(str::to_owned).to_vec()];
    for entry in CATALOG.profiles {
        let mark = if entry.name == profile.entry.name { "*" } else { "" };
        let tokens = entry.tokens;
        let counts = [tokens.tools, tokens.full, tokens.deferred, tokens.visible].map(|n| number(n as usize));
        rows.push([mark.to_owned(), entry.name.to_owned()].into_iter().chain(counts).collect());
    }
    let aligns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    push_lines(&mut text, columns("  ", &aligns, &rows));
    text.push_str(&out.paint(
        Style::Dim,
        "  full: whole definitions; deferred: placeholders; model: what a model sees of whole ones\n",
    ));
    text
}

/// Which child servers are up, and why the others are not.
pub(crate) fn servers(servers: &[Server], out: Output) -> String {
    let mut text = heading(out, "servers", "");
    if servers.is_empty() {
        text.push_str("  none to be seen\n");
    }
    let width = servers.iter().map(|server| server.id.chars().count()).max().unwrap_or(0);
    for server in servers {
        let (style, told) = match server.status.as_str() {
            "connected" => (Style::Good, count(usize::try_from(server.tools).unwrap_or(usize::MAX), "tool")),
            "booting" => (Style::Warning, "still starting; its tools join when it is up".to_owned()),
            "waiting" | "disabled" | "disconnected" | "idle" => (Style::Warning, server.reason.clone()),
            _ => (Style::Bad, server.reason.clone()),
        };
        let status = out.paint(style, &format!("{:12}", server.status));
        text.push_str(format!("  {:width$}  {status}  {told}", server.id).trim_end());
        text.push('\n');
    }
    text
}

/// What `discover_tools` answered.
pub(crate) fn search(query: &str, answer: &Answer, out: Output) -> String {
    let rest = format!(" for \"{}\" through discover_tools, {}", one_line(query, 80), milliseconds(answer.took));
    let mut text = heading(out, "search", &rest);
    let matches = answer.result.pointer("/structuredContent/matches").and_then(Value::as_array);
    let get =
        |found: &Value, key: &str, most| one_line(found.get(key).and_then(Value::as_str).unwrap_or_default(), most);
    let rows: Vec<Vec<String>> = matches
        .into_iter()
        .flatten()
        .map(|found| vec![get(found, "name", 64), get(found, "server", 40), get(found, "description", 80)])
        .collect();
    if rows.is_empty() {
        text.push_str("  nothing; tools of servers that are not up cannot be found by what they do\n");
    }
    push_lines(&mut text, columns("  ", &[Align::Left; 3], &rows));
    text
}

/// What a call was answered.
pub(crate) fn call(tool: &str, arguments: &Value, answer: &Answer, out: Output) -> String {
    let mut text = heading(out, "call", &format!(" {tool} {arguments}, {}", milliseconds(answer.took)));
    let answered = answer.result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or("no text");
    let lines: Vec<&str> = answered.lines().filter(|line| !line.trim().is_empty()).collect();
    for line in lines.iter().take(6) {
        text.push_str(&format!("  {}\n", one_line(line, 110)));
    }
    if lines.len() > 6 {
        text.push_str(&out.paint(Style::Dim, &format!("  … {} more\n", count(lines.len() - 6, "line"))));
    }
    text
}

/// How it ended, and what to do next.
pub(crate) fn closing(servers: &[Server], took: Duration, out: Output) -> String {
    let mut text = heading(out, "end", &format!(": {} after its input closed", milliseconds(took)));
    text.push_str(&heading(out, "next", ""));
    let mut rows = vec![
        vec!["evokore init claude".to_owned(), "register it; also claude-desktop, cursor, vscode, codex".to_owned()],
        vec!["evokore tools --profile NAME".to_owned(), "what a profile shows, tool by tool".to_owned()],
    ];
    if servers.iter().any(|server| server.status != "connected") {
        rows.push(vec!["evokore doctor".to_owned(), "why a server is not up, and what would help".to_owned()]);
    }
    push_lines(&mut text, columns("  ", &[Align::Left; 2], &rows));
    text
}

fn push_lines(text: &mut String, lines: Vec<String>) {
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}
