//! The servers in `mcp.config.json`, which is edited as a syntax tree: all else stays as it stands.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::convert::Converted;
use crate::cli::init::entry::Refusal;
use crate::cli::init::json_file;

/// What becomes of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It is new.
    Add,
    /// It takes the place of one with its id.
    Replace,
    /// One with its id is there and stays.
    Skip,
}

/// The configuration with the servers in it.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) text: String,
    /// One for each server, in their order.
    pub(super) changes: Vec<Change>,
}

/// Members of the configuration that hold servers; a new one gets the first.
const KEYS: [&str; 2] = ["servers", "mcpServers"];

/// Merges `servers` into `text`. Those whose id is taken stay away, unless they are to `replace` what is there.
///
/// # Errors
/// The text is no JSON, or has something else where the servers belong.
pub(super) fn merge(text: &str, servers: &[Converted], replace: bool) -> Result<Merged, Refusal> {
    json_file::check_objects(text, &KEYS)?;
    let root = json_file::tree(text)?;
    let mut changes = Vec::with_capacity(servers.len());
    for server in servers {
        let value = input(&Value::Object(server.entry.clone()));
        changes.push(match taken(&root, &server.id) {
            None => {
                let object = root.object_value_or_set();
                let key = KEYS.into_iter().find(|key| object.get(key).is_some()).unwrap_or(KEYS[0]);
                object.object_value_or_set(key).append(&server.id, value);
                Change::Add
            }
            Some((object, name)) if replace => {
                if let Some(property) = object.get(&name) {
                    property.set_value(value);
                }
                Change::Replace
            }
            Some(_) => Change::Skip,
        });
    }
    let mut merged = root.to_string();
    if !merged.ends_with('\n') {
        merged.push('\n');
    }
    let text = if changes.iter().all(|change| *change == Change::Skip) { text.to_owned() } else { merged };
    Ok(Merged { text, changes })
}

/// The server that has `id`, in whichever case: its object and how it writes its id.
fn taken(root: &CstRootNode, id: &str) -> Option<(CstObject, String)> {
    let objects = KEYS.iter().filter_map(|key| root.object_value()?.object_value(key));
    objects.flat_map(|object| object.properties().into_iter().map(move |property| (object.clone(), property))).find_map(
        |(object, property)| Some((object, property.decoded_name()?)).filter(|(_, name)| name.eq_ignore_ascii_case(id)),
    )
}

/// `entries` as a configuration of their own.
pub(super) fn alone(entries: &[(String, Map<String, Value>)]) -> String {
    let servers = entries.iter().map(|(id, entry)| (id.clone(), Value::Object(entry.clone()))).collect();
    let root = Map::from_iter([(KEYS[0].to_owned(), Value::Object(servers))]);
    // JSON of strings and numbers can always be written.
    serde_json::to_string_pretty(&root).unwrap_or_default() + "\n"
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
