//! The search segment over the tools: which words find which. Documents are numbered like the catalog's tools.

use evokore_catalog::search::{Document, write_segment};
use serde_json::Value;

use crate::problem::Problem;
use crate::tools::Tool;

/// The segment over the tools whose definitions are known. The tools of digest locks are found once their server is
/// up, in the runtime's own segment; here they are empty documents, and the segment ends with the last known one.
pub fn over_tools(tools: &[Tool], problems: &mut Vec<Problem>) -> Vec<u8> {
    let known = tools.iter().rposition(|tool| tool.json.is_some()).map_or(0, |last| last + 1);
    let documents: Vec<Document> = tools[..known].iter().map(document).collect();
    write_segment(&documents).unwrap_or_else(|error| {
        problems.push(Problem::error(format!("the search index of the tools cannot be written: {error}")));
        Vec::new()
    })
}

fn document(tool: &Tool) -> Document {
    let Some(json) = tool.json else { return Document::default() };
    let definition: Value = serde_json::from_str(json.visible).unwrap_or_default();
    Document::of_tool(tool.name, tool.description, definition.get("inputSchema").unwrap_or(&Value::Null))
}
