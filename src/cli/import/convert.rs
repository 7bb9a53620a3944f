//! From another program's entry to one of ours, with a remark on everything that is not the same afterwards.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::source::{Dialect, Foreign};
use super::text::Texts;

/// An entry of ours.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Converted {
    /// Server id.
    pub(super) id: String,
    /// What it is called in the source, if that is no id.
    pub(super) renamed: Option<String>,
    /// Its members.
    pub(super) entry: Map<String, Value>,
    /// What is different from the source, and what could not be kept.
    pub(super) remarks: Vec<String>,
}

/// Members that mean the same here.
const SAME: &[&str] = &[
    "description",
    "optional",
    "boot",
    "bootTimeoutMs",
    "callTimeoutMs",
    "maxResultBytes",
    "maxResultTokens",
    "inheritEnv",
    "rateLimit",
];
/// Members that say which tools are offered: those named, and all but those.
const OFFERED: &[&str] = &["enabledTools", "enabled_tools", "includeTools", "allowedTools", "tools"];
const WITHHELD: &[&str] = &["disabledTools", "disabled_tools", "excludeTools"];
/// Members that say which calls need no question.
const AGREED: &[&str] = &["autoApprove", "alwaysAllow", "trust", "auto_approve", "default_tools_approval_mode"];
/// Members that are only for show, or about the program itself.
const FOR_SHOW: &[&str] = &["gallery", "icon", "source", "settings", "dev", "required", "version"];

/// Converts one entry. `id` is its name here.
///
/// # Errors
/// Why it is no entry of a server.
pub(super) fn convert(id: &str, foreign: &Foreign, dialect: Dialect) -> Result<Converted, String> {
    let renamed = Some(foreign.name.clone()).filter(|name| name != id);
    if dialect == Dialect::Evokore {
        return Ok(Converted { id: id.to_owned(), renamed, entry: foreign.entry.clone(), remarks: Vec::new() });
    }
    let mut from = flattened(&foreign.entry);
    let project = foreign.project.as_deref();
    let mut to = Entry { id, dialect, members: Map::new(), texts: Texts::new(project) };
    if !to.command(&mut from, project) && !to.remote(&mut from) {
        return Err("it has neither a command nor a URL".to_owned());
    }
    if let Some(file) = from.remove("envFile") {
        to.text("envFile", &file);
    }
    to.switches_and_times(&mut from);
    for key in SAME {
        if let Some(value) = from.remove(*key) {
            to.members.insert((*key).to_owned(), value);
        }
    }
    to.lost(from);
    Ok(Converted { id: id.to_owned(), renamed, entry: to.members, remarks: to.texts.remarks })
}

/// The entry without members that are `null`, and with those of an object `transport` or `command` beside the others.
fn flattened(entry: &Map<String, Value>) -> Map<String, Value> {
    let mut flat: Map<String, Value> = entry.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    for key in ["transport", "command"] {
        if let Some(Value::Object(inner)) = flat.get(key).cloned() {
            flat.remove(key);
            for (name, value) in inner {
                let name = if name == "path" { "command".to_owned() } else { name };
                flat.entry(name).or_insert(value);
            }
        }
    }
    flat.retain(|_, value| !value.is_null());
    flat
}

/// An entry that is being made.
struct Entry<'a> {
    id: &'a str,
    dialect: Dialect,
    members: Map<String, Value>,
    texts: Texts<'a>,
}

impl Entry<'_> {
    fn remark(&mut self, text: impl Into<String>) {
        self.texts.remarks.push(text.into());
    }

    fn text(&mut self, key: &str, value: &Value) {
        if let Some(text) = plain(value) {
            let text = self.texts.ours(key, &text);
            self.members.insert(key.to_owned(), text.into());
        }
    }

    /// Takes what starts a program; false if nothing does.
    fn command(&mut self, from: &mut Map<String, Value>, project: Option<&Path>) -> bool {
        let mut words: Vec<String> = match from.remove("command") {
            Some(Value::Array(words)) => words.iter().filter_map(plain).collect(),
            Some(value) => plain(&value).into_iter().collect(),
            None => Vec::new(),
        };
        let args = from.remove("args");
        words.extend(args.iter().filter_map(Value::as_array).flatten().filter_map(plain));
        let Some(program) = words.first().filter(|program| !program.trim().is_empty()).cloned() else { return false };
        if words.len() == 1 && program.contains(' ') && !program.contains(['/', '\\', '"', '\'']) {
            words = program.split_whitespace().map(str::to_owned).collect();
            self.remark("`command` held a whole command line, which is split at its blanks");
        }
        let mut words = words.into_iter();
        if let Some(program) = words.next() {
            let program = self.texts.ours("command", &program);
            let is_relative =
                program.contains(['/', '\\']) && !program.starts_with(['/', '~', '$', '\\']) && !program.contains(':');
            let program = match project.filter(|_| is_relative) {
                Some(project) => project.join(program.trim_start_matches("./")).to_string_lossy().into_owned(),
                None => program,
            };
            if is_relative && project.is_none() {
                self.remark(format!(
                    "the relative command `{program}` starts at the folder of evokore's configuration now"
                ));
            }
            self.members.insert("command".to_owned(), program.into());
        }
        let args: Vec<Value> =
            words.enumerate().map(|(at, arg)| self.texts.ours(&format!("args[{at}]"), &arg).into()).collect();
        if !args.is_empty() {
            self.members.insert("args".to_owned(), args.into());
        }
        self.environment(from);
        let cwd = ["cwd", "workingDirectory", "working_directory"].iter().find_map(|key| from.remove(*key));
        match (cwd.as_ref().and_then(plain), project) {
            (Some(cwd), _) => {
                let cwd = self.texts.ours("cwd", &cwd);
                let cwd = match project {
                    Some(project) if !cwd.starts_with(['~', '$']) => project.join(cwd).to_string_lossy().into_owned(),
                    _ => cwd,
                };
                self.members.insert("cwd".to_owned(), cwd.into());
            }
            (None, Some(project)) => {
                self.members.insert("cwd".to_owned(), project.to_string_lossy().into());
                self.remark(format!("it is started in `{}`, as in its project", project.display()));
            }
            (None, None) => {}
        }
        true
    }

    fn environment(&mut self, from: &mut Map<String, Value>) {
        let mut inherited: Vec<Value> = Vec::new();
        for key in ["env", "environment"] {
            match from.remove(key) {
                Some(Value::Object(env)) => self.pairs("env", &env),
                Some(Value::Array(names)) => {
                    for text in names.iter().filter_map(plain) {
                        match text.split_once('=') {
                            Some((name, value)) => {
                                self.pairs("env", &Map::from_iter([(name.to_owned(), value.into())]));
                            }
                            None => inherited.push(text.into()),
                        }
                    }
                }
                _ => {}
            }
        }
        let names = from.remove("env_vars");
        let name = |value: &Value| plain(value).or_else(|| value.get("name").and_then(plain)).map(Value::from);
        inherited.extend(names.iter().filter_map(Value::as_array).flatten().filter_map(name));
        if !inherited.is_empty() {
            self.members.insert("inheritEnv".to_owned(), inherited.into());
        }
    }

    /// Adds `pairs` to the object `key`.
    fn pairs(&mut self, key: &str, pairs: &Map<String, Value>) {
        for (name, value) in pairs {
            let Some(value) = plain(value) else { continue };
            let value = self.texts.ours(&format!("{key}.{name}"), &value);
            if let Value::Object(object) = self.members.entry(key).or_insert_with(|| json!({})) {
                object.insert(name.clone(), value.into());
            }
        }
    }

    /// Takes what reaches an endpoint; false if nothing does.
    fn remote(&mut self, from: &mut Map<String, Value>) -> bool {
        let (streamable, url) = match from.remove("httpUrl") {
            Some(url) => (true, url),
            None => match ["url", "serverUrl", "uri"].iter().find_map(|key| from.remove(*key)) {
                Some(url) => (false, url),
                None => return false,
            },
        };
        let kind = ["type", "transport", "transportType"].iter().find_map(|key| from.get(*key)?.as_str());
        if kind == Some("sse") && !streamable {
            self.members.insert("type".to_owned(), "sse".into());
            self.remark(
                "it is reached over the older transport `sse`; its Streamable HTTP endpoint is the better one, if it has one",
            );
        } else if streamable || kind.is_some_and(|kind| kind == "http" || kind.starts_with("streamable")) {
            self.members.insert("type".to_owned(), "http".into());
        }
        self.text("url", &url);
        let options = from.remove("requestOptions").or_else(|| from.remove("requestInit"));
        let nested = options.as_ref().and_then(|options| options.get("headers")).cloned();
        for headers in [nested, from.remove("headers"), from.remove("http_headers")].into_iter().flatten() {
            if let Value::Object(headers) = headers {
                self.pairs("headers", &headers);
            }
        }
        if let Some(Value::Object(names)) = from.remove("env_http_headers") {
            let headers = names
                .iter()
                .filter_map(|(header, name)| Some((header.clone(), format!("${{{}}}", plain(name)?).into())));
            self.pairs("headers", &headers.collect());
        }
        if let Some(name) = from.remove("bearer_token_env_var").as_ref().and_then(plain) {
            self.pairs(
                "headers",
                &Map::from_iter([("Authorization".to_owned(), format!("Bearer ${{{name}}}").into())]),
            );
        }
        true
    }

    fn switches_and_times(&mut self, from: &mut Map<String, Value>) {
        let off =
            from.remove("disabled") == Some(Value::Bool(true)) || from.remove("enabled") == Some(Value::Bool(false));
        if off {
            self.members.insert("disabled".to_owned(), true.into());
        }
        let (own, unit) = match self.dialect {
            Dialect::Cline => ("callTimeoutMs", 1000.0),
            // How long its list may take.
            Dialect::OpenCode => ("bootTimeoutMs", 1.0),
            _ => ("callTimeoutMs", 1.0),
        };
        for (key, own, unit) in [
            ("timeout", own, unit),
            ("tool_timeout_sec", "callTimeoutMs", 1000.0),
            ("startup_timeout_sec", "bootTimeoutMs", 1000.0),
            ("startup_timeout_ms", "bootTimeoutMs", 1.0),
            ("connectionTimeout", "bootTimeoutMs", 1.0),
        ] {
            let Some(number) = from.remove(key) else { continue };
            match number.as_f64().map(|number| (number * unit).round()) {
                Some(ms) if (1.0..=86_400_000.0).contains(&ms) => {
                    // Within the bounds above.
                    self.members.insert(own.to_owned(), (ms as u32).into());
                    if unit > 1.0 {
                        self.remark(format!("`{key}` is in seconds there: `{own}` is {ms} milliseconds"));
                    }
                }
                _ => self.remark(format!("`{key}` is {number}, which is no time-out, and is not kept")),
            }
        }
    }

    /// Says what is left and has no place here.
    fn lost(&mut self, from: Map<String, Value>) {
        for (key, value) in from {
            let key = key.as_str();
            let is_all = key == "tools" && value == json!(["*"]);
            let is_empty = value.as_array().is_some_and(Vec::is_empty) || value == Value::Bool(false) || is_all;
            let names = || -> Vec<String> {
                let names = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                names.map(|tool| format!("`{}_{tool}`", self.id)).collect()
            };
            if matches!(key, "type" | "transport" | "transportType") || key.starts_with('_') || is_empty {
                continue;
            }
            let remark = if WITHHELD.contains(&key) {
                format!("`{key}` is not kept: give {} the level `deny` in permissions.yml", shown(&names()))
            } else if OFFERED.contains(&key) {
                format!(
                    "`{key}` is not kept, all its tools are offered: deny the others in permissions.yml, or name {} in a profile",
                    shown(&names())
                )
            } else if AGREED.contains(&key) {
                format!("`{key}` is not kept: who may call what is decided by permissions.yml")
            } else if FOR_SHOW.contains(&key) {
                format!("`{key}` is not kept: it has no meaning here")
            } else {
                format!("`{key}` is not kept: evokore does not know it")
            };
            self.remark(remark);
        }
    }
}

/// The first of `names`.
fn shown(names: &[String]) -> String {
    const MOST: usize = 5;
    match names.len() {
        0 => "its tools".to_owned(),
        count if count > MOST => format!("{} and {} more", names[..MOST].join(", "), count - MOST),
        _ => names.join(", "),
    }
}

/// A text, a number or a truth value as a text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
