//! The client program, as child servers meet it: what they may ask it, and what it can be asked.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use super::call::ChildReply;
use super::logging::Level;
use super::task;
use evokore_catalog::members::Members;

/// JSON-RPC: the other side does not know the method.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters are wrong.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: it did not work out.
pub(super) const INTERNAL_ERROR: i64 = -32603;

/// What a client can be asked for (client § Elicitation, Sampling, Roots).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Something that only a person knows.
    Elicitation,
    /// Words of a model.
    Sampling,
    /// The folders that are open.
    Roots,
}

impl Topic {
    /// The topic of a method; `None` if a client cannot be asked for it.
    pub fn of(method: &str) -> Option<Topic> {
        match method {
            "elicitation/create" => Some(Topic::Elicitation),
            "sampling/createMessage" => Some(Topic::Sampling),
            "roots/list" => Some(Topic::Roots),
            _ => None,
        }
    }

    /// The method that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            Topic::Elicitation => "elicitation/create",
            Topic::Sampling => "sampling/createMessage",
            Topic::Roots => "roots/list",
        }
    }

    fn capability(self) -> &'static str {
        match self {
            Topic::Elicitation => "elicitation",
            Topic::Sampling => "sampling",
            Topic::Roots => "roots",
        }
    }
}

/// A request of a child server for its client.
#[derive(Debug, Clone)]
pub struct Question {
    /// What it asks for.
    pub topic: Topic,
    /// The `params` member as it came; in that of an elicitation, which is looked into, each member stands once.
    pub params: Option<Bytes>,
}

impl Question {
    /// A request of a server.
    pub fn new(topic: Topic, params: Option<Bytes>) -> Question {
        // Readers differ on which one of twins counts.
        let once = |params: &Bytes| {
            let members = Members::parse(std::str::from_utf8(params).ok()?).ok()?;
            let all = members.0.len();
            let members = members.unique();
            (members.0.len() < all).then(|| Bytes::from(members.to_json()))
        };
        let params = params.map(|params| match topic {
            Topic::Elicitation => once(&params).unwrap_or(params),
            _ => params,
        });
        Question { topic, params }
    }
}

/// The answer to come; `None`: this client is not there any more, and another may be asked. Dropped before, the client is
/// told that nobody waits any more.
pub type Answering = Pin<Box<dyn Future<Output = Option<ChildReply>> + Send>>;

/// How soon a client can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// Never again.
    Gone,
    /// When it comes back, if it does.
    Away,
    /// Now.
    There,
}

/// For the roots a client need not ask anybody.
const ROOTS: Duration = Duration::from_secs(5);

/// The client program behind one call, or behind the process.
pub trait Client: fmt::Debug + Send + Sync {
    /// What it offers, as children are told.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// Whether a call of it may be answered by a task of 2026-07-28.
    fn takes_tasks(&self) -> bool {
        false
    }

    /// Why it cannot be asked this: the answer for the child. `None`: it can.
    fn refusal(&self, question: &Question) -> Option<ChildReply> {
        self.capabilities().refusal(question)
    }

    /// How soon it can be asked.
    fn presence(&self) -> Presence {
        Presence::There
    }

    /// How long it may take to answer for the sake of a call, if that is less than the call may take.
    fn limit(&self, topic: Topic) -> Option<Duration> {
        (topic == Topic::Roots).then_some(ROOTS)
    }

    /// What it says to every child; only the client of the process does.
    fn news(&self) -> Option<watch::Receiver<News>> {
        None
    }

    /// From which level on it wants log messages, if it has said so.
    fn level(&self) -> Option<Level>;

    /// Passes a log message of server `server` on, if the client wants it; `params` as they came. Never waits. False if
    /// it was lost.
    fn log(&self, server: &'static str, params: &[u8]) -> bool;

    /// Asks.
    fn ask(&self, question: Question) -> Answering;

    /// Passes a notification of a child on; `params` as they came. Never waits: a client that does not read misses it.
    fn tell(&self, method: &'static str, params: Option<&[u8]>);
}

/// What a client says to all its servers. Children hear of it as long as they run, and when they start again.
#[derive(Debug, Clone, Default)]
pub struct News {
    /// How often the roots have changed.
    pub roots: u64,
    /// From which level on it wants log messages, once it has said so.
    pub level: Option<Level>,
}

/// What a client offers to its servers, as the JSON object that it declared, reduced to what evokore passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    json: Box<str>,
    /// It declared the extension for tasks. That is not part of the object, since it concerns calls alone.
    tasks: bool,
}

impl Default for Capabilities {
    /// Nothing.
    fn default() -> Capabilities {
        Capabilities { json: "{}".into(), tasks: false }
    }
}

impl Capabilities {
    /// Reads the `capabilities` that a client declared; whatever is no object declares nothing.
    pub fn of(declared: &str) -> Capabilities {
        let Ok(members) = Members::parse(declared) else { return Capabilities::default() };
        let mut kept = members.unique();
        kept.0.retain(|(key, value)| {
            matches!(&**key, "elicitation" | "sampling" | "roots" | "extensions") && value.get().starts_with('{')
        });
        let mut tasks = false;
        let extensions = kept.take("extensions").map(|extensions| {
            let mut extensions = Members::parse(extensions.get()).unwrap_or_default();
            tasks = extensions.last(task::EXTENSION).is_some_and(|settings| settings.get().starts_with('{'));
            extensions.0.retain(|(key, _)| key != task::EXTENSION);
            extensions.to_json()
        });
        let mut json = kept.to_json();
        if let Some(extensions) = extensions.filter(|extensions| extensions != "{}") {
            json.pop();
            let comma = if json.len() > 1 { "," } else { "" };
            json.push_str(&format!("{comma}\"extensions\":{extensions}}}"));
        }
        Capabilities { json: json.into(), tasks }
    }

    /// The JSON object.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// Whether the client declared the extension for tasks.
    pub fn has_tasks(&self) -> bool {
        self.tasks
    }

    /// The JSON object with the extension for tasks, whether the client declared it or not.
    pub fn with_tasks(&self) -> String {
        let declared = Members::parse(&self.json).unwrap_or_default();
        let members = |object: &str| object[1..object.len().saturating_sub(1)].trim().to_owned();
        let join = |rest: String, last: String| if rest.is_empty() { last } else { format!("{rest},{last}") };
        let extensions = declared.get("extensions").map(|extensions| members(extensions.get())).unwrap_or_default();
        let extensions = join(extensions, format!("\"{}\":{{}}", task::EXTENSION));
        let mut others = declared;
        others.0.retain(|(key, _)| key != "extensions");
        format!("{{{}}}", join(members(&others.to_json()), format!("\"extensions\":{{{extensions}}}")))
    }

    /// Whether there is anything that the client can be asked.
    pub fn can_be_asked(&self) -> bool {
        let topics = [Topic::Elicitation, Topic::Sampling, Topic::Roots];
        Members::parse(&self.json).is_ok_and(|it| topics.iter().any(|topic| it.get(topic.capability()).is_some()))
    }

    /// The capability that a question needs and that is not declared, as the object of capabilities that would do.
    pub fn lacks(&self, question: &Question) -> Option<serde_json::Value> {
        self.refusal(question).map(|_| {
            let mode = question.params.as_deref().and_then(mode).unwrap_or_else(|| "form".to_owned());
            match question.topic {
                Topic::Elicitation => json!({"elicitation": {mode: {}}}),
                topic => json!({topic.capability(): {}}),
            }
        })
    }

    /// Whether a change of the roots is told.
    pub fn tells_roots(&self) -> bool {
        #[derive(Deserialize)]
        struct Declared {
            roots: Roots,
        }
        #[derive(Deserialize)]
        struct Roots {
            #[serde(rename = "listChanged")]
            list_changed: bool,
        }
        serde_json::from_str::<Declared>(&self.json).is_ok_and(|declared| declared.roots.list_changed)
    }

    /// The answer to a question that these capabilities do not cover.
    pub fn refusal(&self, question: &Question) -> Option<ChildReply> {
        let declared = Members::parse(&self.json).unwrap_or_default();
        let Some(capability) = declared.get(question.topic.capability()) else {
            return Some(missing(question.topic.method()));
        };
        if question.topic != Topic::Elicitation {
            return None;
        }
        // Of a mode that was not declared: "Invalid params" (client/elicitation § Error Handling). Nothing declared
        // means forms.
        let modes = Members::parse(capability.get()).unwrap_or_default();
        let mode = question.params.as_deref().and_then(mode).unwrap_or_else(|| "form".to_owned());
        let is_declared = modes.get(&mode).is_some() || mode == "form" && modes.get("url").is_none();
        let message = || format!("the client does not offer elicitation in mode `{}`", super::error::quoted(&mode, 20));
        (!is_declared).then(|| error(INVALID_PARAMS, &message()))
    }
}

/// The `mode` of an elicitation.
fn mode(params: &[u8]) -> Option<String> {
    let members = Members::parse(std::str::from_utf8(params).ok()?).ok()?;
    serde_json::from_str(members.last("mode")?.get()).ok()
}

/// The answer to a method that the client does not know.
pub(super) fn missing(method: &str) -> ChildReply {
    error(METHOD_NOT_FOUND, &format!("the client does not offer {}", super::error::quoted(method, 64)))
}

/// An answer with an error of ours.
pub(super) fn error(code: i64, message: &str) -> ChildReply {
    ChildReply::Error(json!({"code": code, "message": message}).to_string().into())
}

/// The answer when the client's does not come in time.
pub(super) fn silent(after: Duration) -> ChildReply {
    error(INTERNAL_ERROR, &format!("the client did not answer within {}", super::error::seconds(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_what_is_passed_on() {
        for (declared, kept) in [
            ("{}", "{}"),
            ("7", "{}"),
            (
                r#"{"roots":{"listChanged":true},"tasks":{},"x":{},"sampling":null}"#,
                r#"{"roots":{"listChanged":true}}"#,
            ),
            (r#"{"elicitation":{ "url":{} },"sampling":{}}"#, r#"{"elicitation":{ "url":{} },"sampling":{}}"#),
            (
                r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"a":1.0}},"roots":{}}"#,
                r#"{"roots":{},"extensions":{"io.modelcontextprotocol/ui":{"a":1.0}}}"#,
            ),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, "{}"),
        ] {
            let capabilities = Capabilities::of(declared);
            assert_eq!(capabilities.as_json(), kept, "{declared}");
            assert_eq!(capabilities.has_tasks(), declared.contains(task::EXTENSION));
            let mut expected: serde_json::Value = serde_json::from_str(kept).unwrap();
            expected["extensions"][task::EXTENSION] = json!({});
            assert_eq!(serde_json::from_str::<serde_json::Value>(&capabilities.with_tasks()).unwrap(), expected);
        }
        assert!(Capabilities::of(r#"{"roots":{"listChanged":true}}"#).tells_roots());
        assert!(!Capabilities::of(r#"{"roots":{}}"#).tells_roots());
    }

    #[test]
    fn what_is_not_offered_is_refused_by_its_code() {
        let code = |declared: &str, topic: Topic, params: &str| {
            let question = Question { topic, params: Some(Bytes::from(params.to_owned())) };
            Capabilities::of(declared).refusal(&question).map(|reply| {
                let ChildReply::Error(error) = reply else { panic!("{reply:?}") };
                serde_json::from_slice::<serde_json::Value>(&error).unwrap()["code"].as_i64().unwrap()
            })
        };
        let (form, url) = (r#"{"message":"m","requestedSchema":{}}"#, r#"{"mode":"url","url":"https://x.example"}"#);
        for (declared, topic, params, expected) in [
            ("{}", Topic::Elicitation, form, Some(METHOD_NOT_FOUND)),
            ("{}", Topic::Sampling, "{}", Some(METHOD_NOT_FOUND)),
            (r#"{"sampling":{}}"#, Topic::Roots, "{}", Some(METHOD_NOT_FOUND)),
            (r#"{"sampling":{}}"#, Topic::Sampling, "{}", None),
            (r#"{"elicitation":{}}"#, Topic::Elicitation, form, None),
            (r#"{"elicitation":{}}"#, Topic::Elicitation, url, Some(INVALID_PARAMS)),
            (r#"{"elicitation":{"url":{}}}"#, Topic::Elicitation, url, None),
            (r#"{"elicitation":{"url":{}}}"#, Topic::Elicitation, form, Some(INVALID_PARAMS)),
            (r#"{"elicitation":{"url":{},"form":{}}}"#, Topic::Elicitation, form, None),
        ] {
            assert_eq!(code(declared, topic, params), expected, "{declared} {topic:?} {params}");
        }
    }
}
