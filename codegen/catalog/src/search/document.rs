//! A tool or skill as search sees it: which terms stand how often in which field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::field::Field;
use super::terms::{MAX_TEXT_BYTES, Stems, content_words, head};

/// How much text one document takes, in bytes; what is added after that is not read. Generous for what people write, and
/// a bound for what a child server sends.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// How much of a skill's body is read, in bytes. Later chapters rarely say what a skill is for.
const MAX_BODY_BYTES: usize = 12_000;

/// How deep a schema is read; parameters further down say little about what the tool is for.
const MAX_SCHEMA_DEPTH: usize = 4;

/// The terms of one tool or skill. Adding the same texts in another order makes the same document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Occurrences by field, for each term.
    pub(super) counts: BTreeMap<String, [u32; Field::COUNT]>,
    /// Words in each field.
    pub(super) lengths: [u32; Field::COUNT],
    /// The words before stemming, from which misspelt queries are corrected.
    pub(super) words: BTreeSet<String>,
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
        for heading in headings(head(body, MAX_TEXT_BYTES)) {
            document.add(Field::Details, heading);
        }
        document.add(Field::Body, head(body, MAX_BODY_BYTES));
        document
    }

    /// Adds a text to a field, which may have others already.
    pub fn add(&mut self, field: Field, text: &str) {
        let text = head(text, MAX_DOCUMENT_BYTES.saturating_sub(self.bytes));
        self.bytes += text.len() + 1;
        let stems = Stems::default();
        for word in content_words(text) {
            let counts = self.counts.entry(stems.stem(&word.text).into_owned()).or_default();
            counts[field as usize] += 1;
            self.lengths[field as usize] += 1;
            self.words.insert(word.text.into_owned());
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

/// The headings of a Markdown text: lines that open with one to six `#` and a space, outside of code blocks.
fn headings(markdown: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    markdown.lines().filter_map(move |line| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        (!in_code && (1..=6).contains(&level) && title.starts_with(' ')).then_some(title)
    })
}
