//! The `discovery` object: profiles, the active one, and how tokens are counted.

use evokore_catalog::profile::{Activation, SchemaMode};
use jsonc_parser::ast::{Object, ObjectProp, Value};

use crate::json::{Reader, Spanned, key_span};
use crate::problem::Problem;
use crate::tokens::Encoding;

/// The `discovery` object as written.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// `activeProfile`.
    pub active_profile: Option<Spanned<String>>,
    /// `profiles`, in the order of the file.
    pub profiles: Vec<Profile>,
    /// `tokenizer`.
    pub tokenizer: Encoding,
    /// `clientsThatListOnce`: names of clients.
    pub clients_that_list_once: Vec<Spanned<String>>,
    /// `listOutputSchemas`: whether lists carry the output schemas of native tools.
    pub list_output_schemas: bool,
}

/// One of `profiles`.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its name.
    pub name: Spanned<String>,
    /// `description`.
    pub description: String,
    /// `alwaysVisible`.
    pub visible: Visible,
    /// `mandatoryInjectionSkills`.
    pub mandatory_skills: Vec<Spanned<String>>,
    /// `tokenBudget`.
    pub token_budget: Option<Spanned<u32>>,
    /// `visibleTokenBudget`.
    pub visible_budget: Option<Spanned<u32>>,
    /// `sessionTokenBudget`.
    pub session_budget: Option<Spanned<u32>>,
    /// `schemaMode`.
    pub schema_mode: Option<SchemaMode>,
    /// `activation`.
    pub activation: Activation,
}

impl Profile {
    /// A profile that says nothing but its name.
    pub fn named(name: Spanned<String>) -> Profile {
        Profile {
            name,
            description: String::new(),
            visible: Visible::AllNative,
            mandatory_skills: Vec::new(),
            token_budget: None,
            visible_budget: None,
            session_budget: None,
            schema_mode: None,
            activation: Activation::List,
        }
    }
}

/// `alwaysVisible` as written.
#[derive(Debug, Clone)]
pub enum Visible {
    /// `"all"`.
    All,
    /// `"all-native"`.
    AllNative,
    /// Exposed names.
    Named(Vec<Spanned<String>>),
}

/// The built-in profile. The configuration may give it a budget or a schema mode, but no other tools.
pub const DEFAULT: &str = "default";

const KEYS: &[&str] = &["activeProfile", "profiles", "tokenizer", "listOutputSchemas", "clientsThatListOnce"];
const PROFILE_KEYS: &[&str] = &[
    "alwaysVisible",
    "description",
    "mandatoryInjectionSkills",
    "tokenBudget",
    "visibleTokenBudget",
    "sessionTokenBudget",
    "schemaMode",
    "activation",
];

pub(super) fn read(reader: &mut Reader<'_>, object: &Object<'_>) -> Discovery {
    let mut discovery = Discovery::default();
    for property in reader.members(object) {
        let value = &property.value;
        match property.name.as_str() {
            "activeProfile" => discovery.active_profile = reader.text("`discovery.activeProfile`", value),
            "profiles" => {
                let Some(profiles) = reader.object("`discovery.profiles`", value) else { continue };
                let members = reader.members(profiles);
                discovery.profiles = members.into_iter().filter_map(|entry| profile(reader, entry)).collect();
            }
            "tokenizer" => {
                let choices = Encoding::ALL.map(|encoding| (encoding.name(), encoding));
                discovery.tokenizer = reader.choice("`discovery.tokenizer`", value, &choices).unwrap_or_default();
            }
            "listOutputSchemas" => {
                discovery.list_output_schemas = reader.flag("`discovery.listOutputSchemas`", value).unwrap_or(false);
            }
            "clientsThatListOnce" => {
                discovery.clients_that_list_once =
                    reader.texts("`discovery.clientsThatListOnce`", value).unwrap_or_default();
            }
            _ => _ = reader.unknown_key(property, KEYS, "`discovery`"),
        }
    }
    discovery
}

fn profile(reader: &mut Reader<'_>, entry: &ObjectProp<'_>) -> Option<Profile> {
    let name = entry.name.as_str();
    let place = format!("profile `{name}`");
    check_name(reader, entry);
    let object = reader.object(&place, &entry.value)?;
    let mut visible = None;
    let mut profile = Profile::named(Spanned { value: name.to_owned(), range: key_span(entry) });
    for property in reader.members(object) {
        let value = &property.value;
        let key = property.name.as_str();
        let what = format!("`{key}` of {place}");
        match key {
            "alwaysVisible" => visible = Some(read_visible(reader, &what, value)),
            "description" => profile.description = reader.text(&what, value).map_or_else(String::new, |it| it.value),
            "mandatoryInjectionSkills" => profile.mandatory_skills = reader.texts(&what, value).unwrap_or_default(),
            "tokenBudget" | "token_budget" | "budget" | "maxTokens" => {
                profile.token_budget = profile.token_budget.or_else(|| reader.positive(&what, value));
            }
            "visibleTokenBudget" => profile.visible_budget = reader.positive(&what, value),
            "sessionTokenBudget" => profile.session_budget = reader.positive(&what, value),
            "schemaMode" => {
                let modes = [("full", SchemaMode::Full), ("deferred", SchemaMode::Deferred)];
                profile.schema_mode = reader.choice(&what, value, &modes);
            }
            "activation" => {
                let ways = [("list", Activation::List), ("stable", Activation::Stable)];
                profile.activation = reader.choice(&what, value, &ways).unwrap_or_default();
            }
            _ => _ = reader.unknown_key(property, PROFILE_KEYS, &place),
        }
    }
    match visible {
        Some(Some(Visible::AllNative)) => {}
        Some(_) if name == DEFAULT => reader.report(
            Problem::error("the profile `default` always shows every native tool and no other")
                .hint("choose another name for this one and set `activeProfile` to it"),
            key_span(entry),
        ),
        Some(visible) => profile.visible = visible.unwrap_or(Visible::AllNative),
        None if name == DEFAULT => {}
        None => reader.report(
            Problem::error(format!("{place} has no `alwaysVisible`"))
                .hint("add a list of tool names, \"all\" or \"all-native\""),
            key_span(entry),
        ),
    }
    Some(profile)
}

/// Names of profiles are typed on command lines and become file names in `generated/`.
fn check_name(reader: &mut Reader<'_>, entry: &ObjectProp<'_>) {
    let name = entry.name.as_str();
    let safe = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !safe || name.is_empty() || name.len() > 64 || name.starts_with('.') {
        reader.report(
            Problem::error(format!("`{name}` is no name for a profile"))
                .hint("use 1 to 64 letters, digits, `-`, `_` or `.`, and no dot in front"),
            key_span(entry),
        );
    }
}

fn read_visible(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Option<Visible> {
    match value {
        Value::Array(_) => reader.texts(what, value).map(Visible::Named),
        Value::StringLit(_) => {
            let words = [("all", false), ("all-native", true)];
            let native = reader.choice(what, value, &words)?;
            Some(if native { Visible::AllNative } else { Visible::All })
        }
        other => {
            reader.wrong(what, "a list of tool names, \"all\" or \"all-native\"", other);
            None
        }
    }
}
