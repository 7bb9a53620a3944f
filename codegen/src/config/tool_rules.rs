//! What an entry of a child server decides about single tools.

use jsonc_parser::ast::Value;

use crate::json::{Reader, Spanned, key_span};

/// One member of `tools`.
#[derive(Debug, Clone)]
pub struct ToolRule {
    /// The child's own name for the tool.
    pub name: Spanned<String>,
    /// `maxResultTokens`.
    pub max_result_tokens: Option<u32>,
}

const KEYS: &[&str] = &["maxResultTokens"];

/// Reads `value`, known as `what`: an object from a tool's own name to what is decided about it.
pub(super) fn read(reader: &mut Reader<'_>, what: &str, value: &Value<'_>) -> Vec<ToolRule> {
    let Some(tools) = reader.object(what, value) else { return Vec::new() };
    let mut rules = Vec::new();
    for tool in reader.members(tools) {
        let name = tool.name.as_str();
        let place = format!("`{name}` in {what}");
        let Some(members) = reader.object(&place, &tool.value) else { continue };
        let name = Spanned { value: name.to_owned(), range: key_span(tool) };
        let mut rule = ToolRule { name, max_result_tokens: None };
        for member in reader.members(members) {
            let what = format!("`{}` of {place}", member.name.as_str());
            match member.name.as_str() {
                "maxResultTokens" => {
                    rule.max_result_tokens = reader.positive(&what, &member.value).map(|number| number.value);
                }
                _ => drop(reader.unknown_key(member, KEYS, &place)),
            }
        }
        rules.push(rule);
    }
    rules
}
