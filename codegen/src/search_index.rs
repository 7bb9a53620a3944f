//! The search segments: which words find which tool or skill. Documents are numbered like the catalog's entries.
//!
//! What of a tool or skill is searched is decided in `evokore-catalog`, since the runtime indexes live tools and
//! refreshed skills in the same way.

use evokore_catalog::documents;
use evokore_catalog::search::{Document, write_segment};
use evokore_catalog::skill_library::Skill;

use crate::problem::Problem;
use crate::tools::Tool;

/// The segment over the tools whose definitions are known. The tools of digest locks are found once their server is
/// up, in the runtime's own segment; here they are empty documents, and the segment ends with the last known one.
pub fn over_tools(tools: &[Tool], problems: &mut Vec<Problem>) -> Vec<u8> {
    let known = tools.iter().rposition(|tool| tool.json.is_some()).map_or(0, |last| last + 1);
    let document =
        |tool: &Tool| tool.json.map_or_else(Document::default, |json| documents::of_tool(tool.name, json.described));
    segment("tools", tools[..known].iter().map(document).collect(), problems)
}

/// The segment over the skills.
pub fn over_skills(skills: &[Skill], problems: &mut Vec<Problem>) -> Vec<u8> {
    segment("skills", skills.iter().map(documents::of_skill).collect(), problems)
}

fn segment(what: &str, documents: Vec<Document>, problems: &mut Vec<Problem>) -> Vec<u8> {
    write_segment(&documents).unwrap_or_else(|error| {
        problems.push(Problem::error(format!("the search index of the {what} cannot be written: {error}")));
        Vec::new()
    })
}
