//! A tool or skill as search sees it: which words stand how often in which field.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field::Field;
use super::terms::{content_words, head};
use crate::markdown::headings;

/// How much text one document takes, in bytes; what is added after that is not read. Generous for what people write, and
/// a bound for what a child server sends.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// How much of a skill's body is read, in bytes. Later chapters rarely say what a skill is for.
const MAX_BODY_BYTES: usize = 12_000;

/// How deep a schema is read; parameters further down say little about what the tool is for.
const MAX_SCHEMA_DEPTH: usize = 4;

/// The words of one tool or skill. Adding the same texts in another order makes the same document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// For each word, how often it stands in each field.
    pub(super) words: BTreeMap<String, [u32; Field::COUNT]>,
    /// How many words each field has.
    pub(super) lengths: [u32; Field::COUNT],
    bytes: usize,
}

impl Document {
    /// A tool: its exposed name, its description, and what its input schema says about the parameters.
    pub fn of_tool(name: &str, description: &str, input_schema: &Value) -> Self {
        let mut document = Self::default();
        document.add(Field::Name, name);
        document.add(Field::Description, description);
        document.add_parameters(input_schema, MAX_SCHEMA_DEPTH);
        document
    }

    /// A skill: its name, its description, its labels (tags, aliases, category), and its body in Markdown.
    pub fn of_skill<'a>(name: &str, description: &str, labels: impl IntoIterator<Item = &'a str>, body: &str) -> Self {
        let mut document = Self::default();
        document.add(Field::Name, name);
        document.add(Field::Description, description);
        for label in labels {
            document.add(Field::Labels, label);
        }
        for heading in headings(body) {
            document.add(Field::Details, heading);
        }
        document.add(Field::Body, head(body, MAX_BODY_BYTES));
        document
    }

    /// Adds a text to a field, which may have others already.
    pub fn add(&mut self, field: Field, text: &str) {
        let text = head(text, MAX_DOCUMENT_BYTES.saturating_sub(self.bytes));
        self.bytes += text.len() + 1;
        let field = field as usize;
        for word in content_words(text) {
            self.lengths[field] += 1;
            match self.words.get_mut(&*word.text) {
                Some(counts) => counts[field] += 1,
                None => {
                    let mut counts = [0; Field::COUNT];
                    counts[field] = 1;
                    self.words.insert(word.text.into_owned(), counts);
                }
            }
        }
    }

    /// Adds the parameters of a JSON schema, those of its parts included.
    fn add_parameters(&mut self, schema: &Value, depth: usize) {
        let Some(below) = depth.checked_sub(1) else { return };
        for (name, parameter) in members(schema, "properties") {
            self.add(Field::Labels, name);
            self.add_parameter(parameter, below);
        }
        for (_, definition) in members(schema, "$defs").chain(members(schema, "definitions")) {
            self.add_parameter(definition, below);
        }
        for parts in ["items", "anyOf", "oneOf", "allOf"] {
            match schema.get(parts) {
                Some(Value::Array(parts)) => parts.iter().for_each(|part| self.add_parameter(part, below)),
                Some(part) => self.add_parameter(part, below),
                None => {}
            }
        }
    }

    fn add_parameter(&mut self, parameter: &Value, depth: usize) {
        if self.bytes >= MAX_DOCUMENT_BYTES {
            return;
        }
        let values = parameter.get("enum").and_then(Value::as_array).into_iter().flatten();
        for text in parameter.get("description").into_iter().chain(values).filter_map(Value::as_str) {
            self.add(Field::Details, text);
        }
        self.add_parameters(parameter, depth);
    }
}

/// The members of an object that stands under `keyword`.
fn members<'v>(schema: &'v Value, keyword: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    schema.get(keyword).and_then(Value::as_object).into_iter().flatten()
}
