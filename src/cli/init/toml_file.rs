//! The entry in a TOML file; what else stands there keeps its order, comments and spacing.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::entry::{Change, Entry, Merged, NAME, Refusal};

/// Table of the servers.
const KEY: &str = "mcp_servers";

/// Merges `entry` into the table `mcp_servers` of `text`.
///
/// # Errors
/// The text is no TOML, or has something else where the entry belongs.
pub(crate) fn merge(text: &str, entry: &Entry) -> Result<Merged, Refusal> {
    let mut document = text.parse::<DocumentMut>().map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Refusal::at(text, offset, error.message().lines().next().unwrap_or("this is no TOML").to_owned())
    })?;
    // An editable document does not keep places, so the key is looked for.
    let refuse = |key: &str| Refusal::at(text, text.find(key).unwrap_or(0), format!("`{key}` is no table"));
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let servers = document.entry(KEY).or_insert(Item::Table(implicit));
    let inline = servers.is_inline_table();
    let Some(servers) = servers.as_table_like_mut() else { return Err(refuse(KEY)) };
    let change = match servers.get_mut(NAME) {
        None => {
            servers.insert(NAME, new_entry(entry, inline));
            Change::Added
        }
        Some(existing) => {
            let Some(table) = existing.as_table_like_mut() else { return Err(refuse(NAME)) };
            if table.contains_key("url") {
                let offset = text.find(NAME).and_then(|at| Some(at + text[at..].find("url")?)).unwrap_or(0);
                return Err(Refusal::at(text, offset, format!("`{NAME}` is a remote server here")));
            }
            if update(table, entry) { Change::Updated } else { Change::None }
        }
    };
    if change == Change::None {
        return Ok(Merged { text: text.to_owned(), change });
    }
    let merged = document.to_string();
    // Lines are written with a bare line feed; a file from elsewhere keeps its own line ends.
    let merged = if text.contains("\r\n") { merged.replace("\r\n", "\n").replace('\n', "\r\n") } else { merged };
    Ok(Merged { text: merged, change })
}

fn new_entry(entry: &Entry, inline: bool) -> Item {
    let mut table = Table::new();
    update(&mut table, entry);
    if inline { Item::Value(Value::InlineTable(table.into_inline_table())) } else { Item::Table(table) }
}

/// Brings what evokore decides up to date; tells whether anything changed.
fn update(table: &mut dyn TableLike, entry: &Entry) -> bool {
    let mut changed = set(table, "command", entry.command.as_str().into());
    let is_same = table.get("args").and_then(Item::as_array).is_some_and(|found| {
        found.len() == entry.args.len() && found.iter().zip(&entry.args).all(|(found, arg)| found.as_str() == Some(arg))
    });
    if !is_same {
        table.insert("args", Item::Value(entry.args.iter().map(String::as_str).collect::<Array>().into()));
        changed = true;
    }
    if !entry.env.is_empty() {
        if table.get("env").and_then(Item::as_table_like).is_none() {
            table.insert("env", Item::Value(InlineTable::new().into()));
        }
        if let Some(env) = table.get_mut("env").and_then(Item::as_inline_table_mut) {
            close_up(env, entry);
        }
        if let Some(env) = table.get_mut("env").and_then(Item::as_table_like_mut) {
            for (name, value) in &entry.env {
                changed |= set(env, name, value.as_str().into());
            }
        }
    }
    changed
}

/// The blank before the brace belongs to the last value; it moves on when another follows.
fn close_up(env: &mut InlineTable, entry: &Entry) {
    let grows = entry.env.iter().any(|(name, _)| !env.contains_key(name));
    if let Some((_, last)) = env.iter_mut().last().filter(|_| grows) {
        last.decor_mut().set_suffix("");
    }
}

fn set(table: &mut dyn TableLike, name: &str, value: Value) -> bool {
    match table.get_mut(name) {
        Some(item) if item.as_str() == value.as_str() => return false,
        // The old value's comment at the end of its line stays.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        _ => drop(table.insert(name, Item::Value(value))),
    }
    true
}
