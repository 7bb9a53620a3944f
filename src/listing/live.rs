//! Rendering the tools of a child server, once, when it has booted or changed its list. Lenient: a bad entry costs
//! one entry, and what can be mended without changing a call's meaning is mended, so that no strict client loses the
//! whole list over it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use evokore_catalog::documents;
use evokore_catalog::name;
use evokore_catalog::render::{self, Definition};
use evokore_catalog::search::{Document, Segment, write_segment};
use serde_json::Value;
use serde_json::value::RawValue;

use super::merged::{LiveServer, LiveTool};
use crate::catalog::{CATALOG, TOOL_BY_NAME};
use crate::child::{ChildTool, SkippedTool};
use crate::log;
use evokore_catalog::members::Members;

/// Renders the list of server `server`; the second part are the entries that could not be used, with the reason.
pub fn render(server: u16, tools: &[ChildTool]) -> (LiveServer, Vec<SkippedTool>) {
    let id = CATALOG.servers[usize::from(server)].id;
    let mut by_name = BTreeMap::new();
    let mut skipped = Vec::new();
    for tool in tools {
        match render_tool(id, tool) {
            Err(reason) => skipped.push(SkippedTool { name: tool.name.clone(), reason }),
            Ok((live, document)) => match by_name.entry(live.exposed.clone()) {
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert((live, document));
                }
                std::collections::btree_map::Entry::Occupied(_) => skipped.push(SkippedTool {
                    name: tool.name.clone(),
                    reason: "listed twice; the first one counts".to_owned(),
                }),
            },
        }
    }
    let (tools, documents): (Vec<LiveTool>, Vec<Document>) = by_name.into_values().unzip();
    (LiveServer { tools, index: segment(id, &documents) }, skipped)
}

/// The search segment over `documents`; an empty one when it cannot be made.
fn segment(id: &str, documents: &[Document]) -> Option<Segment> {
    let made = write_segment(documents).map_err(|error| error.to_string());
    made.and_then(|bytes| Segment::new(bytes).map_err(|error| error.to_string()))
        .inspect_err(|error| log::warn(&format!("the tools of server `{id}` cannot be searched: {error}")))
        .ok()
}

fn render_tool(id: &str, tool: &ChildTool) -> Result<(LiveTool, Document), String> {
    let definition = Definition::parse(tool.raw.get()).map_err(|error| error.to_string())?;
    let fault = definition.fault();
    let text: Cow<'_, str> = match &fault {
        None => Cow::Borrowed(tool.raw.get()),
        Some(fault) => {
            log::warn(&format!(
                "tool `{}` of server `{id}` is listed in full: its definition is malformed ({fault})",
                tool.name
            ));
            Cow::Owned(mended(tool.raw.get()).ok_or_else(|| fault.clone())?)
        }
    };
    let definition = Definition::parse(&text).map_err(|error| error.to_string())?;
    let exposed = exposed_name(id, &tool.name);
    let full = render::render_full(&definition, &exposed);
    let deferred = if fault.is_some() { full.clone() } else { render::render_deferred(&definition, &exposed) };
    // As the build does it for locked tools, so that a tool is found by the same words before and after its boot.
    let document = documents::of_tool(&exposed, &full);
    let live = LiveTool {
        original: tool.name.as_str().into(),
        description: definition.description().into(),
        annotations: definition.annotations(),
        described: full.clone().into(),
        full: full.into(),
        deferred: deferred.into(),
        exposed: exposed.into(),
    };
    Ok((live, document))
}

/// The exposed name of a child's tool.
fn exposed_name(id: &str, tool: &str) -> String {
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let is_native = |name: &str| TOOL_BY_NAME.get(name).is_some_and(|index| *index < CATALOG.natives);
    name::exposed_name(id, tool, &ids, is_native)
}

/// A malformed definition with the members that the protocol's type of a tool does not allow put right: schemas that
/// are no object schemas, texts that are no texts, hints that are no booleans. `None` when it is beyond that.
fn mended(text: &str) -> Option<String> {
    let mut members = Members::parse(text).ok()?;
    let input = members.take("inputSchema").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let input = RawValue::from_string(object_schema(input).to_string()).ok()?;
    let annotations = members.take("annotations").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let annotations = annotations.and_then(hints).and_then(|hints| RawValue::from_string(hints.to_string()).ok());
    for key in ["title", "description"] {
        if members.get(key).is_some_and(|raw| !raw.get().starts_with('"')) {
            members.take(key);
        }
    }
    if members.get("_meta").is_some_and(|raw| !raw.get().starts_with('{')) {
        members.take("_meta");
    }
    members.take("outputSchema");
    members.0.push((Cow::Borrowed("inputSchema"), &input));
    if let Some(annotations) = &annotations {
        members.0.push((Cow::Borrowed("annotations"), annotations));
    }
    let mended = members.to_json();
    Definition::parse(&mended).ok()?.fault().is_none().then_some(mended)
}

/// The object schema nearest to `found`.
fn object_schema(found: Option<Value>) -> Value {
    let mut schema = match found {
        Some(Value::Object(schema)) if schema.get("type").is_none_or(|kind| kind == "object") => schema,
        _ => serde_json::Map::new(),
    };
    schema.insert("type".to_owned(), Value::from("object"));
    if schema.get("properties").is_some_and(|properties| !properties.is_object()) {
        schema.remove("properties");
    }
    if schema.get("required").is_some_and(|list| !list.as_array().is_some_and(|list| list.iter().all(Value::is_string)))
    {
        schema.remove("required");
    }
    Value::Object(schema)
}

/// The annotations without members of the wrong type.
fn hints(found: Value) -> Option<Value> {
    let Value::Object(mut hints) = found else { return None };
    hints.retain(|key, value| match key.as_str() {
        "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint" => value.is_boolean(),
        "title" => value.is_string(),
        _ => true,
    });
    Some(Value::Object(hints))
}

#[cfg(test)]
mod tests {
    use evokore_catalog::search::{Options, Scratch, search};

    use super::*;

    #[test]
    fn live_tools_are_found_by_the_words_of_locked_ones() {
        let raw = r#"{"name":"fcst","title":"Weather report","description":"Tells rain.","inputSchema":{"type":"object",
            "properties":{"city":{"type":"string"}}}}"#;
        let raw = RawValue::from_string(raw.to_owned()).expect("it is JSON");
        let tool = ChildTool { name: "fcst".to_owned(), raw };
        let (live, skipped) = render(0, std::slice::from_ref(&tool));
        assert!(skipped.is_empty());
        let live = live.index.expect("one tool can be indexed");
        let locked = documents::of_tool(&exposed_name(CATALOG.servers[0].id, "fcst"), tool.raw.get());
        let locked = Segment::new(write_segment(&[locked]).expect("it fits")).expect("it can be read");
        assert_eq!(live.vocabulary(), locked.vocabulary());
        for query in ["fcst", "weather report", "rain", "city"] {
            let hits = search(&[&live], query, &Options::default(), &mut Scratch::default());
            assert_eq!(hits.ranked.len(), 1, "{query}");
        }
    }

    #[test]
    fn mends_what_would_cost_the_whole_list() {
        for (text, expected) in [
            (r#"{"name":"a"}"#, r#"{"name":"a","inputSchema":{"type":"object"}}"#),
            (r#"{"name":"a","inputSchema":null}"#, r#"{"name":"a","inputSchema":{"type":"object"}}"#),
            (r#"{"name":"a","inputSchema":{"type":"string"}}"#, r#"{"name":"a","inputSchema":{"type":"object"}}"#),
            (
                r#"{"name":"a","title":1,"inputSchema":{"properties":{"x":{}},"required":"x"},"outputSchema":[],"annotations":{"readOnlyHint":"yes","other":1}}"#,
                r#"{"name":"a","inputSchema":{"properties":{"x":{}},"type":"object"},"annotations":{"other":1}}"#,
            ),
        ] {
            assert_eq!(mended(text).as_deref(), Some(expected), "{text}");
        }
    }
}
