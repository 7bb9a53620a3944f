//! Rendering the tools of a child server, once, when it has booted or changed its list. Lenient: a bad entry costs
//! one entry, and what can be mended without changing a call's meaning is mended, so that no strict client loses the
//! whole list over it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use evokore_catalog::documents;
use evokore_catalog::lock::drift::Drift;
use evokore_catalog::name;
use evokore_catalog::permission::{Access, Accesses};
use evokore_catalog::render::{self, Definition};
use evokore_catalog::search::{Document, Segment, write_segment};
use evokore_catalog::tool::Annotations;
use serde_json::Value;
use serde_json::value::RawValue;

use super::drift::Judgement;
use super::merged::{Advertised, LiveServer, LiveTool, ToolRef, needs_task};
use super::projection;
use crate::catalog::{CATALOG, TOOL_BY_NAME};
use crate::child::{ChildTool, SkippedTool, Taken};
use crate::log;
use crate::settings::Settings;
use evokore_catalog::members::Members;

/// Renders the list of server `server`, which has been judged; the second part is what could not be used as it came,
/// with the reasons.
pub fn render(server: u16, tools: &[ChildTool], judgement: Judgement) -> (LiveServer, Taken) {
    let id = CATALOG.servers[usize::from(server)].id;
    let mut by_name = BTreeMap::new();
    let mut taken = Taken::default();
    // Whatever was not judged is treated as the worst.
    let judged = judgement.tools.into_iter().chain(std::iter::repeat((Drift::New, true)));
    for (tool, (drift, is_dangerous)) in tools.iter().zip(judged) {
        let skip = |reason| SkippedTool { name: tool.name.clone(), reason };
        match render_tool(id, tool, drift, is_dangerous) {
            Err(reason) => taken.skipped.push(skip(reason)),
            Ok(Rendered { live, document, fault }) => match by_name.entry(live.exposed.clone()) {
                Entry::Vacant(free) => {
                    free.insert((live, document));
                    taken.notes.extend(fault.map(|fault| format!("tool `{}` is listed mended: {fault}", tool.name)));
                }
                Entry::Occupied(_) => taken.skipped.push(skip("listed twice; the first one counts".to_owned())),
            },
        }
    }
    let (tools, documents): (Vec<LiveTool>, Vec<Document>) = by_name.into_values().unzip();
    (LiveServer { tools, index: segment(id, &documents), report: judgement.report }, taken)
}

/// Renders the tools of `live`, server `server`, that need approval, with the argument for a token.
pub fn advertise(settings: &Settings, server: u16, live: &mut LiveServer) {
    for (index, tool) in live.tools.iter_mut().enumerate() {
        if projection::access(settings, ToolRef::Live(server, index, tool)) == Access::RequireApproval {
            tool.advertised = Advertised::of(&tool.full, &tool.described);
        }
    }
}

/// The search segment over `documents`; an empty one when it cannot be made.
fn segment(id: &str, documents: &[Document]) -> Option<Segment> {
    let made = write_segment(documents).map_err(|error| error.to_string());
    made.and_then(|bytes| Segment::new(bytes).map_err(|error| error.to_string()))
        .inspect_err(|error| log::warn(&format!("the tools of server `{id}` cannot be searched: {error}")))
        .ok()
}

/// A tool ready to be listed and searched.
struct Rendered {
    live: LiveTool,
    document: Document,
    /// What was wrong with its definition.
    fault: Option<String>,
}

fn render_tool(id: &str, tool: &ChildTool, drift: Drift, is_dangerous: bool) -> Result<Rendered, String> {
    let definition = Definition::parse(tool.raw.get()).map_err(|error| error.to_string())?;
    let fault = definition.fault();
    let text: Cow<'_, str> = match &fault {
        None => Cow::Borrowed(tool.raw.get()),
        Some(fault) => Cow::Owned(mended(tool.raw.get()).ok_or_else(|| fault.clone())?),
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
        accesses: accesses(&exposed),
        drift,
        is_dangerous,
        needs_task: needs_task(full.as_bytes()),
        advertised: None,
        described: full.clone().into(),
        full: full.into(),
        deferred: deferred.into(),
        exposed: exposed.into(),
    };
    Ok(Rendered { live, document, fault })
}

/// The exposed name of a child's tool.
pub fn exposed_name(id: &str, tool: &str) -> String {
    let ids: Vec<&str> = CATALOG.servers.iter().map(|server| server.id).collect();
    let is_native = |name: &str| TOOL_BY_NAME.get(name).is_some_and(|index| *index < CATALOG.natives);
    name::exposed_name(id, tool, &ids, is_native)
}

/// What each role may do with the tool exposed as `name`: as compiled, or as for a tool without hints if the build does
/// not know it, since a server that calls its tools harmless is not to be believed.
fn accesses(name: &str) -> Cow<'static, Accesses> {
    match TOOL_BY_NAME.get(name) {
        Some(index) => Cow::Borrowed(CATALOG.tools[usize::from(*index)].accesses),
        None => Cow::Owned(CATALOG.policy.accesses(name, Annotations::default(), false)),
    }
}

/// A malformed definition with the members that the protocol's type of a tool does not allow put right: schemas that
/// are no object schemas, texts that are no texts, hints that are no booleans. The bytes of all else stay. `None` when
/// it is beyond that.
fn mended(text: &str) -> Option<String> {
    let mut definition = Members::parse(text).ok()?.unique();
    let input = raw(object_schema(definition.get("inputSchema"))?)?;
    let annotations = definition.get("annotations").map(hints);
    match definition.0.iter_mut().find(|(key, _)| key == "inputSchema") {
        Some((_, value)) => *value = &input,
        None => definition.0.push((Cow::Borrowed("inputSchema"), &input)),
    }
    definition.0.retain(|(key, value)| match &**key {
        "title" | "description" => value.get().starts_with('"'),
        "_meta" | "annotations" => value.get().starts_with('{'),
        "outputSchema" => object_schema(Some(value))
            .is_some_and(|schema| serde_json::from_str::<Value>(&schema).ok() == parsed(value)),
        _ => true,
    });
    let annotations = annotations.flatten();
    if let Some(annotations) = &annotations
        && let Some((_, value)) = definition.0.iter_mut().find(|(key, _)| key == "annotations")
    {
        *value = annotations;
    }
    let mended = definition.to_json();
    Definition::parse(&mended).ok()?.fault().is_none().then_some(mended)
}

fn raw(json: String) -> Option<Box<RawValue>> {
    RawValue::from_string(json).ok()
}

fn parsed(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

/// The object schema nearest to `found`.
fn object_schema(found: Option<&RawValue>) -> Option<String> {
    const KIND: &str = r#""object""#;
    let kind = raw(KIND.to_owned())?;
    let mut schema = found.and_then(|found| Members::parse(found.get()).ok()).unwrap_or_default().unique();
    // A list of types may hold the right one; any other type is not about arguments at all.
    let is_possible = |found: &RawValue| match parsed(found) {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        found => found == Some(Value::from("object")),
    };
    match schema.0.iter().position(|(key, _)| key == "type") {
        Some(at) if is_possible(schema.0[at].1) => schema.0[at].1 = &kind,
        Some(_) => schema = Members(vec![(Cow::Borrowed("type"), &*kind)]),
        None => schema.0.insert(0, (Cow::Borrowed("type"), &*kind)),
    }
    schema.0.retain(|(key, value)| match &**key {
        "properties" => value.get().starts_with('{'),
        "required" => {
            parsed(value).is_some_and(|list| list.as_array().is_some_and(|list| list.iter().all(Value::is_string)))
        }
        _ => true,
    });
    Some(schema.to_json())
}

/// The annotations without members of the wrong type.
fn hints(found: &RawValue) -> Option<Box<RawValue>> {
    let mut hints = Members::parse(found.get()).ok()?;
    hints.0.retain(|(key, value)| match &**key {
        "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint" => {
            matches!(value.get(), "true" | "false")
        }
        "title" => value.get().starts_with('"'),
        _ => true,
    });
    raw(hints.to_json())
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
        let (live, taken) = render(0, std::slice::from_ref(&tool), Judgement::default());
        assert_eq!(taken, Taken::default());
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
        let object = r#"{"type":"object"}"#;
        for (schema, expected) in [
            ("null", object),
            ("true", object),
            ("[]", object),
            ("{}", object),
            (r#"{"type":"string","minLength":1}"#, object),
            (r#"{"type":null}"#, object),
            (r#"{"type":["null","object"],"x":1.10}"#, r#"{"type":"object","x":1.10}"#),
            (r#"{"$schema":"s","x":9007199254740993}"#, r#"{"type":"object","$schema":"s","x":9007199254740993}"#),
            (r#"{"anyOf":[{"z":1,"a":2}]}"#, r#"{"type":"object","anyOf":[{"z":1,"a":2}]}"#),
            (r#"{"type":"object","properties":[],"required":"x","$defs":{}}"#, r#"{"type":"object","$defs":{}}"#),
            (
                r#"{"type":"object","required":["x",1],"properties":{"x":{}}}"#,
                r#"{"type":"object","properties":{"x":{}}}"#,
            ),
        ] {
            let [text, expected] =
                [schema, expected].map(|schema| format!(r#"{{"name":"a","inputSchema":{schema},"z":1}}"#));
            assert_eq!(mended(&text).as_deref(), Some(&*expected), "{schema}");
        }
        for (rest, expected) in [
            ("", r#","inputSchema":{"type":"object"}"#),
            (
                r#","title":1,"description":[],"_meta":7,"icons":[1.10],"inputSchema":{"type":"object"}"#,
                r#","icons":[1.10],"inputSchema":{"type":"object"}"#,
            ),
            (
                r#","annotations":{"readOnlyHint":"yes","title":2,"other":1.10},"inputSchema":{"type":"object"}"#,
                r#","annotations":{"other":1.10},"inputSchema":{"type":"object"}"#,
            ),
            (
                r#","inputSchema":null,"outputSchema":{"type":"object","z":1.10}"#,
                r#","inputSchema":{"type":"object"},"outputSchema":{"type":"object","z":1.10}"#,
            ),
            (r#","inputSchema":{},"outputSchema":{"type":"array"}"#, r#","inputSchema":{"type":"object"}"#),
            (r#","inputSchema":{},"outputSchema":true"#, r#","inputSchema":{"type":"object"}"#),
        ] {
            let [text, expected] = [rest, expected].map(|rest| format!(r#"{{"name":"a"{rest}}}"#));
            assert_eq!(mended(&text).as_deref(), Some(&*expected), "{rest}");
        }
        assert_eq!(mended(r#"{"name":"a","inputSchema":{"maximum":1e999}}"#), None);
    }
}
