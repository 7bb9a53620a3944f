//! What of a tool or a skill is searched: the one place where definitions and skill files become search documents, for
//! the segments of the build and for those the runtime makes of live tools and refreshed skills.

use serde_json::Value;

use crate::search::Document;
use crate::skill_library::Skill;

/// The document of the tool exposed as `name`; `definition` is its JSON, of which the title, the description and the
/// parameters count. A definition that does not parse leaves the name.
pub fn of_tool(name: &str, definition: &str) -> Document {
    let definition: Value = serde_json::from_str(definition).unwrap_or(Value::Null);
    let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or("");
    let (title, description) = (text("title"), text("description"));
    // A title mostly repeats the name in other words, which is what people type.
    let described = if title.is_empty() { description.to_owned() } else { format!("{title}. {description}") };
    Document::of_tool(name, &described, definition.get("inputSchema").unwrap_or(&Value::Null))
}

/// The document of a skill.
pub fn of_skill(skill: &Skill) -> Document {
    let file = &skill.file;
    let labels = file.tags.iter().chain(&file.aliases).chain(&file.hints).chain(&file.category);
    let labels = labels.map(String::as_str).chain([skill.category.as_str(), skill.subcategory.as_str()]);
    Document::of_skill(&skill.name, &skill.description, labels, &file.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_matter;
    use crate::search::{Options, Scratch, Segment, search, write_segment};

    fn found(document: Document, query: &str) -> bool {
        let other = Document::of_tool("unrelated", "nothing of the kind", &Value::Null);
        let bytes = write_segment(&[document, other]).expect("two documents fit");
        let segment = Segment::new(bytes).expect("what was just written can be read");
        let hits = search(&[&segment], query, &Options::default(), &mut Scratch::default());
        hits.ranked.first().is_some_and(|hit| hit.document == 0)
    }

    #[test]
    fn a_tool_is_found_by_each_of_its_parts() {
        let definition = r#"{"name":"x","title":"Weather report","description":"Tells rain.","inputSchema":{"type":"object",
            "properties":{"city":{"type":"string","description":"Where it is asked for"},"unit":{"enum":["kelvin"]}}}}"#;
        for query in ["srv_forecast", "weather", "rain", "city", "asked", "kelvin"] {
            assert!(found(of_tool("srv_forecast", definition), query), "{query}");
        }
        assert!(found(of_tool("srv_forecast", "{broken"), "forecast"));
    }

    #[test]
    fn a_skill_is_found_by_each_of_its_parts() {
        let text = "---\nname: lint\ndescription: Finds faults.\ntags: [style]\naliases: [nitpick]\ncategory: hygiene\n\
                    resolutionHints: [ugly code]\n---\n# Preparation\n\nInstall the formatter.\n";
        let skill = Skill {
            file: front_matter::parse(text.as_bytes()).expect("it is well formed"),
            name: "lint".to_owned(),
            category: "DEV TOOLS".to_owned(),
            subcategory: "web".to_owned(),
            description: "Finds faults.".to_owned(),
            uri: String::new(),
            path: String::new(),
        };
        for query in ["lint", "faults", "style", "nitpick", "hygiene", "ugly", "dev", "web", "preparation", "formatter"]
        {
            assert!(found(of_skill(&skill), query), "{query}");
        }
    }
}
