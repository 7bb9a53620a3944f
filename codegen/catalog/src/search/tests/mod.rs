//! Tables and properties of each step, and of the whole.

mod answers;
mod properties;
mod segments;
mod steps;

use serde_json::json;

use super::{Document, Segment, write_segment};

/// A few tools, as different as tools are.
fn tools() -> Vec<Document> {
    let path = json!({"properties": {"path": {"type": "string", "description": "Where the file lies"}}});
    let issue = json!({"properties": {"labels": {"items": {"enum": ["bug", "wish"]}}}});
    vec![
        Document::of_tool("fs_read_file", "Read the contents of a file as text", &path),
        Document::of_tool("fs_search_files", "Search for files by pattern, in all folders below one", &path),
        Document::of_tool("github_create_issue", "Open a new issue in a GitHub repository", &issue),
        Document::of_tool("clock_now", "The current time in a time zone", &json!({})),
    ]
}

const TOOLS: [&str; 4] = ["fs_read_file", "fs_search_files", "github_create_issue", "clock_now"];

fn segment(documents: &[Document]) -> Segment {
    Segment::new(write_segment(documents).unwrap()).unwrap()
}
