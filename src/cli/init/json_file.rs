//! The entry in a JSON file. The file is edited as a syntax tree, so comments, order, indentation and trailing commas
//! stay as they are.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::entry::{Change, Entry, Merged, NAME, Refusal};

/// Comments and trailing commas are common in these files; other liberties are slips.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Merges `entry` into the object `key` of `text`.
///
/// # Errors
/// The text is no JSON, or has something else where the entry belongs.
pub(crate) fn merge(text: &str, key: &str, typed: bool, entry: &Entry) -> Result<Merged, Refusal> {
    check(text, key)?;
    let root = tree(text)?;
    let servers = root.object_value_or_set().object_value_or_set(key);
    let change = match servers.object_value(NAME) {
        None => {
            servers.append(NAME, value(typed, entry));
            Change::Added
        }
        Some(existing) if update(&existing, entry) => Change::Updated,
        Some(_) => Change::None,
    };
    let mut text = root.to_string();
    if !text.ends_with('\n') && change == Change::Added {
        text.push('\n');
    }
    Ok(Merged { text, change })
}

/// The value that `text` stands for; `null` for one that is empty.
///
/// # Errors
/// The text is no JSON.
pub(crate) fn parse(text: &str) -> Result<serde_json::Value, Refusal> {
    tree(text)?;
    Ok(literal(text))
}

/// `text` as a tree to edit.
///
/// # Errors
/// The text is no JSON.
pub(crate) fn tree(text: &str) -> Result<CstRootNode, Refusal> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| broken(text, &error))
}

/// Refuses texts in which a member of `keys` is no object, or stands twice.
pub(crate) fn check_objects(text: &str, keys: &[&str]) -> Result<(), Refusal> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| broken(text, &error))?;
    match &parsed.value {
        None => Ok(()),
        Some(Value::Object(root)) => keys.iter().try_for_each(|key| member(text, root, key).map(|_| ())),
        Some(other) => Err(Refusal::at(text, other.start(), "an object is expected here")),
    }
}

/// Refuses texts that have something else where the entry belongs.
fn check(text: &str, key: &str) -> Result<(), Refusal> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| broken(text, &error))?;
    let root = match &parsed.value {
        None => return Ok(()),
        Some(Value::Object(root)) => root,
        Some(other) => return Err(Refusal::at(text, other.start(), "an object is expected here")),
    };
    let Some(servers) = member(text, root, key)? else { return Ok(()) };
    let Some(entry) = member(text, servers, NAME)? else { return Ok(()) };
    match entry.properties.iter().find(|property| property.name.as_str() == "url") {
        Some(url) => Err(Refusal::at(text, url.start(), format!("`{NAME}` is a remote server here"))),
        None => Ok(()),
    }
}

/// The object under `key`, which may be absent but not twice and nothing else.
fn member<'o, 't>(text: &str, object: &'o Object<'t>, key: &str) -> Result<Option<&'o Object<'t>>, Refusal> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == key);
    let Some(first) = found.next() else { return Ok(None) };
    if let Some(second) = found.next() {
        return Err(Refusal::at(text, second.start(), format!("`{key}` stands here a second time")));
    }
    match &first.value {
        Value::Object(object) => Ok(Some(object)),
        other => Err(Refusal::at(text, other.start(), format!("`{key}` is no object"))),
    }
}

fn broken(text: &str, error: &jsonc_parser::errors::ParseError) -> Refusal {
    let message = error.kind().to_string();
    let mut characters = message.chars();
    let message: String = characters.next().into_iter().flat_map(char::to_lowercase).chain(characters).collect();
    Refusal::at(text, error.range().start, message)
}

fn value(typed: bool, entry: &Entry) -> CstInputValue {
    let mut members = Vec::new();
    if typed {
        members.push(("type".to_owned(), "stdio".into()));
    }
    members.push(("command".to_owned(), entry.command.as_str().into()));
    members.push(("args".to_owned(), arguments(entry)));
    if !entry.env.is_empty() {
        let env = entry.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        members.push(("env".to_owned(), CstInputValue::Object(env)));
    }
    CstInputValue::Object(members)
}

fn arguments(entry: &Entry) -> CstInputValue {
    CstInputValue::Array(entry.args.iter().map(|argument| argument.as_str().into()).collect())
}

/// Brings what evokore decides up to date; tells whether anything changed.
fn update(existing: &CstObject, entry: &Entry) -> bool {
    let args = serde_json::Value::from(entry.args.clone());
    let mut changed = set(existing, "command", &entry.command.as_str().into(), entry.command.as_str().into());
    changed |= set(existing, "args", &args, arguments(entry));
    if !entry.env.is_empty() {
        let env = existing.object_value_or_set("env");
        for (name, value) in &entry.env {
            changed |= set(&env, name, &value.as_str().into(), value.as_str().into());
        }
    }
    changed
}

fn set(object: &CstObject, name: &str, wanted: &serde_json::Value, value: CstInputValue) -> bool {
    match object.get(name) {
        Some(property) if literal(&property.value().map(|value| value.to_string()).unwrap_or_default()) == *wanted => {
            return false;
        }
        Some(property) => property.set_value(value),
        None => drop(object.append(name, value)),
    }
    true
}

/// The value that `text` stands for; `null` for what is no plain JSON, which equals nothing we write.
fn literal(text: &str) -> serde_json::Value {
    jsonc_parser::parse_to_serde_value(text, &OPTIONS).unwrap_or_default()
}
