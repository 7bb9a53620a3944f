//! One child server: its transport, when it starts, and the keys of other programs that have no meaning here.

use evokore_catalog::server::{Boot, Dialect, Limits};
use jsonc_parser::ast::{ObjectProp, Value};

use super::guard::{self, Guard};
use super::oauth::{self, OAuth};
use super::rate_limit::{self, RateLimit};
use super::tool_rules::{self, ToolRule};
use super::{foreign, inherit, limits, placeholder};
use crate::json::{Reader, Spanned, key_span, span};
use crate::problem::Problem;

/// A child server as written.
#[derive(Debug, Clone)]
pub struct Server {
    /// Server id.
    pub id: Spanned<String>,
    /// How it is reached.
    pub transport: Transport,
    /// `disabled: true` or `enabled: false`.
    pub disabled: bool,
    /// `optional`.
    pub optional: bool,
    /// `boot`, with the place of the word.
    pub boot: Spanned<Boot>,
    /// `bootTimeoutMs`, `listTimeoutMs`, `callTimeoutMs` (or `timeout`), `idleTimeoutMs`, `cooldownMs`, `maxInFlight`.
    pub limits: Limits,
    /// `maxResultBytes`.
    pub max_result_bytes: Option<u32>,
    /// `maxResultTokens`.
    pub max_result_tokens: Option<u32>,
    /// `tools`, when it is an object.
    pub tools: Vec<ToolRule>,
    /// `inheritEnv`.
    pub inherit_env: Vec<String>,
    /// `envFile`.
    pub env_file: Option<String>,
    /// `oauth`; counts for a server with a `url`.
    pub oauth: OAuth,
    /// `rateLimit`.
    pub rate_limit: Option<RateLimit>,
    /// `lock` and `hostileContent`.
    pub guard: Guard,
    /// `description`.
    pub description: String,
}

/// How a child server is reached.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A program.
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)>, cwd: Option<String> },
    /// An endpoint.
    Http { url: String, headers: Vec<(String, String)>, dialect: Dialect },
}

/// What `type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stdio,
    Http,
    Sse,
}

const KINDS: &[(&str, Kind)] = &[
    ("stdio", Kind::Stdio),
    ("http", Kind::Http),
    ("streamable-http", Kind::Http),
    ("streamableHttp", Kind::Http),
    ("sse", Kind::Sse),
];

const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "type",
    "transport",
    "url",
    "headers",
    "disabled",
    "enabled",
    "optional",
    "boot",
    "bootTimeoutMs",
    "listTimeoutMs",
    "callTimeoutMs",
    "timeout",
    "idleTimeoutMs",
    "cooldownMs",
    "maxInFlight",
    "maxResultBytes",
    "maxResultTokens",
    "tools",
    "inheritEnv",
    "envFile",
    "oauth",
    "rateLimit",
    "lock",
    "hostileContent",
    "description",
];

/// Most characters of a server id, so that exposed names keep room for the tool's own name.
const LONGEST_ID: usize = 40;

/// Texts and lists of one entry, before it is clear what transport they make.
#[derive(Default)]
struct Parts {
    kind: Option<Spanned<Kind>>,
    command: Option<Spanned<String>>,
    args: Vec<Spanned<String>>,
    env: Vec<(Spanned<String>, Spanned<String>)>,
    cwd: Option<Spanned<String>>,
    url: Option<Spanned<String>>,
    headers: Vec<(Spanned<String>, Spanned<String>)>,
    disabled: bool,
    broken: bool,
}

pub(super) fn read(reader: &mut Reader<'_>, entry: &ObjectProp<'_>) -> Option<Server> {
    let id = entry.name.as_str();
    let place = format!("server `{id}`");
    let id_is_fine = check_id(reader, entry);
    let object = reader.object(&place, &entry.value)?;
    let mut server = Server {
        id: Spanned { value: id.to_owned(), range: key_span(entry) },
        transport: Transport::Http { url: String::new(), headers: Vec::new(), dialect: Dialect::Either },
        disabled: false,
        optional: false,
        boot: Spanned { value: Boot::Eager, range: key_span(entry) },
        limits: Limits::ABSENT,
        max_result_bytes: None,
        max_result_tokens: None,
        tools: Vec::new(),
        inherit_env: Vec::new(),
        env_file: None,
        oauth: OAuth::default(),
        rate_limit: None,
        guard: Guard::default(),
        description: String::new(),
    };
    let mut parts = Parts::default();
    for property in reader.members(object) {
        if !transport_member(reader, property, &place, &mut parts) {
            other_member(reader, property, &place, &mut server, &mut parts);
        }
    }
    server.disabled = parts.disabled;
    server.transport = transport(reader, entry, &place, parts)?;
    id_is_fine.then_some(server)
}

/// Reads a member that says how the server is reached; false when `property` is none.
fn transport_member(reader: &mut Reader<'_>, property: &ObjectProp<'_>, place: &str, parts: &mut Parts) -> bool {
    let (key, value) = (property.name.as_str(), &property.value);
    let what = format!("`{key}` of {place}");
    match key {
        "type" | "transport" | "transportType" => {
            let kind = reader.choice(&what, value, KINDS);
            parts.broken |= kind.is_none();
            parts.kind = kind.map(|value_| Spanned { value: value_, range: span(value) });
        }
        "command" => {
            parts.command = command(reader, &what, value);
            parts.broken |= parts.command.is_none();
        }
        "args" => parts.args = reader.texts(&what, value).unwrap_or_default(),
        "env" => match value {
            Value::Array(_) => reader.report(
                Problem::error(format!("{what} must be an object of strings, but is a list"))
                    .hint("to hand variables through by name, list them in `inheritEnv`"),
                span(value),
            ),
            _ => parts.env = reader.text_map(&what, value),
        },
        "cwd" => parts.cwd = reader.text(&what, value),
        "url" | "httpUrl" | "serverUrl" => {
            parts.url = reader.text(&what, value);
            parts.broken |= parts.url.is_none();
        }
        "headers" => parts.headers = reader.text_map(&what, value),
        _ => return false,
    }
    true
}

fn other_member(
    reader: &mut Reader<'_>,
    property: &ObjectProp<'_>,
    place: &str,
    server: &mut Server,
    parts: &mut Parts,
) {
    let (key, value) = (property.name.as_str(), &property.value);
    let what = format!("`{key}` of {place}");
    if limits::member(reader, key, &what, value, &mut server.limits) {
        return;
    }
    match key {
        "disabled" => parts.disabled |= reader.flag(&what, value).unwrap_or(false),
        "enabled" => parts.disabled |= !reader.flag(&what, value).unwrap_or(true),
        "optional" => server.optional = reader.flag(&what, value).unwrap_or(false),
        "boot" => {
            let choices = [("eager", Boot::Eager), ("lazy", Boot::Lazy)];
            let boot = reader.choice(&what, value, &choices).unwrap_or_default();
            server.boot = Spanned { value: boot, range: span(value) };
        }
        "maxResultBytes" => server.max_result_bytes = reader.positive(&what, value).map(|number| number.value),
        "maxResultTokens" => server.max_result_tokens = reader.positive(&what, value).map(|number| number.value),
        // A list is another program's way to withhold tools.
        "tools" if !matches!(value, Value::Array(_)) => server.tools = tool_rules::read(reader, &what, value),
        "inheritEnv" => server.inherit_env = inherit::read(reader, &what, value),
        "envFile" => {
            let file = reader.text(&what, value);
            file.iter().for_each(|file| placeholder::check(reader, &what, file));
            server.env_file = file.map(|file| file.value);
        }
        // A flag is another program's.
        "oauth" if matches!(value, Value::Object(_)) => server.oauth = oauth::read(reader, place, value),
        "rateLimit" => server.rate_limit = rate_limit::read(reader, place, value),
        "lock" | "hostileContent" => guard::member(reader, key, &what, value, &mut server.guard),
        "description" => server.description = reader.text(&what, value).map_or_else(String::new, |text| text.value),
        _ => match foreign::hint(key) {
            Some(hint) => reader.report(
                Problem::note(format!("{what} is another program's key and is ignored")).hint(hint),
                key_span(property),
            ),
            None => parts.broken |= reader.unknown_key(property, KEYS, place),
        },
    }
}

fn check_id(reader: &mut Reader<'_>, entry: &ObjectProp<'_>) -> bool {
    let id = entry.name.as_str();
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let problem = if id.is_empty() {
        Problem::error("a server id is empty").hint("give the server a short name, such as `files`")
    } else if !id.chars().all(is_safe) {
        let clean: String = id.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
        let clean = clean.trim_matches('-');
        let hint = if clean.is_empty() { "files" } else { clean };
        Problem::error(format!("the server id `{id}` has characters that tool names must not have"))
            .hint(format!("use letters, digits, `-` and `_`, such as `{hint}`; it becomes the prefix of its tools"))
    } else if id.len() > LONGEST_ID {
        Problem::error(format!("the server id `{id}` is {} characters long, {LONGEST_ID} are allowed", id.len()))
            .hint("shorten it; exposed tool names have 64 characters for id and tool together")
    } else {
        return true;
    };
    reader.report(problem, key_span(entry));
    false
}

fn command(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<Spanned<String>> {
    match value {
        Value::Array(_) | Value::Object(_) => {
            let dialect = if matches!(value, Value::Array(_)) { "OpenCode" } else { "Zed" };
            reader.report(
                Problem::error(format!("{what} must be a string; this is the dialect of {dialect}"))
                    .hint("write the program as a string and the rest as a list in `args`"),
                span(value),
            );
            None
        }
        _ => {
            let text = reader.text(what, value)?;
            if text.value.trim().is_empty() {
                reader.report(Problem::error(format!("{what} is empty")).hint("name the program to start"), text.range);
                return None;
            }
            Some(text)
        }
    }
}

/// Makes the transport of the parts, or says what is missing.
fn transport(reader: &mut Reader<'_>, entry: &ObjectProp<'_>, place: &str, parts: Parts) -> Option<Transport> {
    check_placeholders(reader, place, &parts);
    if parts.broken {
        return None;
    }
    let kind = parts.kind.as_ref().map(|kind| kind.value);
    let pairs = |list: Vec<(Spanned<String>, Spanned<String>)>| {
        list.into_iter().map(|(key, value)| (key.value, value.value)).collect()
    };
    match (kind, parts.command, parts.url) {
        (None, Some(_), Some(url)) => {
            reader.report(
                Problem::error(format!("{place} has both `command` and `url`"))
                    .hint("keep one of them, or say which with `type`"),
                url.range,
            );
            None
        }
        (None | Some(Kind::Stdio), Some(command), _) => Some(Transport::Stdio {
            command: command.value,
            args: parts.args.into_iter().map(|arg| arg.value).collect(),
            env: pairs(parts.env),
            cwd: parts.cwd.map(|cwd| cwd.value),
        }),
        (None | Some(Kind::Http | Kind::Sse), _, Some(url)) => {
            let dialect = match kind {
                Some(Kind::Sse) => Dialect::Sse,
                Some(Kind::Http) => Dialect::Streamable,
                _ => Dialect::Either,
            };
            Some(Transport::Http { url: url.value, headers: pairs(parts.headers), dialect })
        }
        (kind, ..) => {
            let missing = match kind {
                None => "neither `command` nor `url`",
                Some(Kind::Stdio) => "no `command`",
                Some(Kind::Http | Kind::Sse) => "no `url`",
            };
            reader.report(
                Problem::error(format!("{place} has {missing}"))
                    .hint("a program needs `command` and `args`, a remote server needs `url`"),
                key_span(entry),
            );
            None
        }
    }
}

fn check_placeholders(reader: &mut Reader<'_>, place: &str, parts: &Parts) {
    for (key, text) in [("command", &parts.command), ("cwd", &parts.cwd), ("url", &parts.url)] {
        if let Some(text) = text {
            placeholder::check(reader, &format!("`{key}` of {place}"), text);
        }
    }
    for arg in &parts.args {
        placeholder::check(reader, &format!("an argument of {place}"), arg);
    }
    for (key, list) in [("env", &parts.env), ("headers", &parts.headers)] {
        for (name, text) in list {
            placeholder::check(reader, &format!("`{}` in `{key}` of {place}", name.value), text);
        }
    }
}
