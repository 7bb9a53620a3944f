//! Native tools: the definitions in `src/native/*.tools.json`, checked and put in order.

use std::collections::BTreeSet;
use std::ops::Range;

use evokore_catalog::name::is_safe;
use evokore_catalog::render::Definition;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::strict_problem;
use crate::problem::Problem;
use crate::source::Source;

/// One native tool.
#[derive(Debug, Clone)]
pub struct NativeTool {
    /// Its name, which is also its exposed name.
    pub name: String,
    /// Its definition as written.
    pub json: &'static str,
}

/// Reads the files, in the order given; tools keep the order of their file.
pub fn read(sources: &[Source], problems: &mut Vec<Problem>) -> Vec<NativeTool> {
    let mut tools = Vec::new();
    let mut names = BTreeSet::new();
    for source in sources {
        for json in elements(source, problems) {
            let Some(tool) = check(source, json, problems) else { continue };
            if names.insert(tool.name.clone()) {
                tools.push(tool);
            } else {
                let message = format!("the native tool `{}` is defined twice", tool.name);
                problems.push(Problem::error(message).at(source, range_of(source, json)).hint("rename one of them"));
            }
        }
    }
    tools
}

/// The elements of the list a file holds.
fn elements<'s>(source: &'s Source, problems: &mut Vec<Problem>) -> Vec<&'s str> {
    match serde_json::from_str::<Vec<&RawValue>>(&source.text) {
        Ok(list) => list.into_iter().map(RawValue::get).collect(),
        Err(error) => {
            problems.push(
                strict_problem(source, "list of tool definitions", &error).hint(
                    "a file of native tools is one JSON list of objects with `name`, `description`, `inputSchema`",
                ),
            );
            Vec::new()
        }
    }
}

fn range_of(source: &Source, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(source.text.as_ptr() as usize);
    start..start + 1
}

fn check(source: &Source, json: &str, problems: &mut Vec<Problem>) -> Option<NativeTool> {
    let mut report = |message: String, hint: &str| {
        problems.push(Problem::error(message).at(source, range_of(source, json)).hint(hint));
    };
    let definition = match Definition::parse(json) {
        Ok(definition) => definition,
        Err(error) => {
            report(format!("this is no tool definition: {error}"), "write an object with a `name`");
            return None;
        }
    };
    let name = definition.name();
    let is_snake = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_safe(name) || !is_snake {
        report(
            format!("`{name}` is no name for a native tool"),
            "use lower-case words joined by `_`, at most 64 characters",
        );
        return None;
    }
    if let Some(fault) = definition.fault() {
        report(format!("the definition of `{name}` is malformed: {fault}"), "follow the protocol's type `Tool`");
        return None;
    }
    if definition.title().is_empty() || definition.description().is_empty() {
        report(
            format!("the definition of `{name}` needs a `title` and a `description`"),
            "a person chooses by the title, a model by the description",
        );
    }
    let schema = definition.value("inputSchema").unwrap_or(Value::Null);
    for required in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let required = required.as_str().unwrap_or_default();
        if schema.get("properties").and_then(|properties| properties.get(required)).is_none() {
            report(
                format!("`{name}` requires the argument `{required}`, which is not among its properties"),
                "add it to `properties`, or take it out of `required`",
            );
        }
    }
    Some(NativeTool { name: name.to_owned(), json: json.to_owned().leak() })
}
