//! `generated/`: what a person can judge about the catalog, as text, sorted, one fact a line.

mod store;
mod tables;

use std::collections::BTreeMap;

use crate::model::Model;
use evokore_catalog::pretty::pretty;

pub use store::{Difference, compare, write};

/// What every file of `generated/` says about itself.
pub const MADE_BY: &str = "made by `cargo codegen`; edit the inputs, not this file";

/// All files of `generated/` besides the locks: path below it, text.
pub fn render(model: &Model) -> BTreeMap<String, String> {
    let mut files = BTreeMap::from([
        ("inputs.tsv".to_owned(), tables::inputs(model)),
        ("keywords.tsv".to_owned(), tables::keywords(model)),
        ("native-tools.json".to_owned(), native_tools(model)),
        ("permissions.tsv".to_owned(), tables::permissions(model)),
        ("profiles.tsv".to_owned(), tables::profiles(model)),
        ("skill-graph.json".to_owned(), model.skill_graph.to_json()),
        ("skills.tsv".to_owned(), tables::skills(model)),
        ("token-counts.tsv".to_owned(), tables::token_counts(model)),
    ]);
    for projection in &model.profiles {
        let path = format!("projections/{}.tsv", projection.entry.name);
        files.insert(path, tables::projection(model, &projection.entry));
    }
    files
}

/// The complete definitions of the native tools, output schemas included.
fn native_tools(model: &Model) -> String {
    let tools = model.tools.iter().take(model.natives).filter_map(|tool| tool.json);
    let list: Vec<&str> = tools.map(|json| json.described).collect();
    document("tools", &format!("[{}]", list.join(",")))
}

fn document(key: &str, json: &str) -> String {
    pretty(&format!("{{\"_\":{},\"{key}\":{json}}}", serde_json::Value::from(MADE_BY))) + "\n"
}
