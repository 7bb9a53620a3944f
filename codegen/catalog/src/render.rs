//! Tool definitions as a list carries them. The compiler renders the tools it knows, the runtime those that join
//! live, with the same functions: what was counted is what is sent.
//!
//! Members are kept as the bytes that came, so numbers, escapes, order of keys and members nobody here knows survive;
//! only blanks between tokens go.

use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::members::Members;
use crate::tool::Annotations;

/// A tool definition: its top-level members, in the author's order, unparsed.
#[derive(Debug, Clone)]
pub struct Definition<'a> {
    members: Members<'a>,
    name: String,
}

/// Why a text is no tool definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotATool(String);

impl fmt::Display for NotATool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotATool {}

impl<'a> Definition<'a> {
    /// Reads a definition: a JSON object with a string `name`. Of a member that stands twice the last one counts.
    ///
    /// # Errors
    /// The text is no JSON object, or has no name.
    pub fn parse(json: &'a str) -> Result<Definition<'a>, NotATool> {
        let members = Members::parse(json).map_err(|error| NotATool(error.to_string()))?.unique();
        match members.get("name").map(|raw| serde_json::from_str(raw.get())) {
            Some(Ok(Value::String(name))) => Ok(Definition { members, name }),
            Some(_) => Err(NotATool("its `name` is no string".to_owned())),
            None => Err(NotATool("it has no `name`".to_owned())),
        }
    }

    /// The author's name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The `title`, else the one among the annotations, else nothing.
    pub fn title(&self) -> String {
        let annotated = || self.value("annotations").and_then(|it| it.get("title")?.as_str().map(str::to_owned));
        self.text("title").or_else(annotated).unwrap_or_default()
    }

    /// The `description`, or nothing.
    pub fn description(&self) -> String {
        self.text("description").unwrap_or_default()
    }

    /// The behaviour hints that are booleans.
    pub fn annotations(&self) -> Annotations {
        let value = self.value("annotations").unwrap_or(Value::Null);
        let hint = |key: &str| value.get(key).and_then(Value::as_bool);
        Annotations {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// Member `key`, parsed.
    pub fn value(&self, key: &str) -> Option<Value> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }

    /// Member `key` as it came.
    pub fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.members.get(key)
    }

    /// The definition without member `key`.
    #[must_use]
    pub fn without(&self, key: &str) -> Definition<'a> {
        let mut definition = self.clone();
        definition.members.take(key);
        definition
    }

    fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().map(str::to_owned)
    }

    /// What the protocol's type of a tool does not allow about this definition, if anything. Such a definition is
    /// never deferred: nobody can say what a placeholder for it would leave out.
    pub fn fault(&self) -> Option<String> {
        if let Some((key, _)) = self.members.0.iter().find(|(_, raw)| serde_json::from_str::<Value>(raw.get()).is_err())
        {
            return Some(format!("`{key}` holds what no JSON reader takes, such as a number out of range"));
        }
        for key in ["title", "description"] {
            if self.value(key).is_some_and(|value| !value.is_string()) {
                return Some(format!("`{key}` is no string"));
            }
        }
        for key in ["annotations", "_meta"] {
            if self.value(key).is_some_and(|value| !value.is_object()) {
                return Some(format!("`{key}` is no object"));
            }
        }
        let annotations = self.value("annotations").unwrap_or(Value::Null);
        for key in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            if annotations.get(key).is_some_and(|value| !value.is_boolean()) {
                return Some(format!("`annotations.{key}` is no boolean"));
            }
        }
        if annotations.get("title").is_some_and(|value| !value.is_string()) {
            return Some("`annotations.title` is no string".to_owned());
        }
        let Some(input) = self.value("inputSchema") else { return Some("it has no `inputSchema`".to_owned()) };
        schema_fault("inputSchema", &input)
            .or_else(|| self.value("outputSchema").and_then(|output| schema_fault("outputSchema", &output)))
    }
}

/// What keeps `schema` from being the object schema that the protocol asks for.
fn schema_fault(key: &str, schema: &Value) -> Option<String> {
    let Some(schema) = schema.as_object() else { return Some(format!("`{key}` is no object")) };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Some(format!("`{key}` is not of type `object`"));
    }
    if schema.get("properties").is_some_and(|properties| !properties.is_object()) {
        return Some(format!("`{key}.properties` is no object"));
    }
    let is_list_of_names = |value: &Value| value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    if schema.get("required").is_some_and(|required| !is_list_of_names(required)) {
        return Some(format!("`{key}.required` is no list of names"));
    }
    None
}

/// The definition as mode `full` lists it: every member, under the exposed name.
pub fn render_full(definition: &Definition<'_>, exposed: &str) -> String {
    let mut out = ObjectText::default();
    for (key, raw) in &definition.members.0 {
        if key == "name" {
            out.member("name", &json_string(exposed));
        } else {
            out.member(key, &minify(raw.get()));
        }
    }
    out.finish()
}

/// The definition as mode `deferred` lists it: a placeholder for the input schema, nothing that describes results.
/// A definition with a [fault](Definition::fault) is rendered in full.
pub fn render_deferred(definition: &Definition<'_>, exposed: &str) -> String {
    if definition.fault().is_some() {
        return render_full(definition, exposed);
    }
    let mut out = ObjectText::default();
    out.member("name", &json_string(exposed));
    for key in ["title", "description", "annotations"] {
        if let Some(raw) = definition.raw(key) {
            out.member(key, &minify(raw.get()));
        }
    }
    out.member("inputSchema", DEFERRED_SCHEMA);
    let meta = definition.raw("_meta").and_then(|meta| Members::parse(meta.get()).ok()).unwrap_or_default();
    let mut marked = ObjectText::default();
    for (key, raw) in meta.unique().0.iter().filter(|(key, _)| key != "schema_deferred") {
        marked.member(key, &minify(raw.get()));
    }
    marked.member("schema_deferred", "true");
    out.member("_meta", &marked.finish());
    out.finish()
}

/// The input schema of a deferred tool.
pub const DEFERRED_SCHEMA: &str = r#"{"type":"object","properties":{},"x-evokore-schema-deferred":true}"#;

/// What a model sees of a tool: its name, description and input schema.
pub fn render_visible(definition: &Definition<'_>, exposed: &str) -> String {
    let mut out = ObjectText::default();
    out.member("name", &json_string(exposed));
    for key in ["description", "inputSchema"] {
        if let Some(raw) = definition.raw(key) {
            out.member(key, &minify(raw.get()));
        }
    }
    out.finish()
}

/// `json` without the blanks between its tokens. What it is given must be JSON.
pub fn minify(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            in_string = true;
        } else if c.is_ascii_whitespace() {
            continue;
        }
        out.push(c);
    }
    out
}

fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

/// A JSON object being written, member by member.
#[derive(Default)]
struct ObjectText(String);

impl ObjectText {
    fn member(&mut self, key: &str, json: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&json_string(key));
        self.0.push(':');
        self.0.push_str(json);
    }

    fn finish(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ODD: &str = r#" { "title" : "A \"b\" , c" , "name":"x.y", "description": "d\\",
        "inputSchema": {"type":"object", "properties":{"n":{"maximum":1.0e2, "default": 1.50}}},
        "outputSchema": {"type":"object"}, "annotations": {"readOnlyHint": true, "other": 1},
        "_meta": {"a": 1}, "name": "z" } "#;

    #[test]
    fn full_changes_name_and_blanks_only() {
        let definition = Definition::parse(ODD).unwrap();
        assert_eq!(definition.name(), "z");
        assert_eq!(
            render_full(&definition, "s_z"),
            concat!(
                r#"{"title":"A \"b\" , c","name":"s_z","description":"d\\","#,
                r#""inputSchema":{"type":"object","properties":{"n":{"maximum":1.0e2,"default":1.50}}},"#,
                r#""outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"other":1},"_meta":{"a":1}}"#
            )
        );
    }

    #[test]
    fn deferred_and_visible() {
        let definition = Definition::parse(ODD).unwrap().without("title");
        assert_eq!(
            render_deferred(&definition, "s_z"),
            concat!(
                r#"{"name":"s_z","description":"d\\","annotations":{"readOnlyHint":true,"other":1},"#,
                r#""inputSchema":{"type":"object","properties":{},"x-evokore-schema-deferred":true},"#,
                r#""_meta":{"a":1,"schema_deferred":true}}"#
            )
        );
        assert_eq!(
            render_visible(&definition, "s_z"),
            concat!(
                r#"{"name":"s_z","description":"d\\","#,
                r#""inputSchema":{"type":"object","properties":{"n":{"maximum":1.0e2,"default":1.50}}}}"#
            )
        );
    }

    #[test]
    fn faulty_definitions_are_named_and_stay_whole() {
        for (json, fault) in [
            (r#"{"name":"a"}"#, "it has no `inputSchema`"),
            (r#"{"name":"a","inputSchema":null}"#, "`inputSchema` is no object"),
            (r#"{"name":"a","inputSchema":{"type":"string"}}"#, "`inputSchema` is not of type `object`"),
            (
                r#"{"name":"a","inputSchema":{"type":"object","required":"x"}}"#,
                "`inputSchema.required` is no list of names",
            ),
            (r#"{"name":"a","title":1,"inputSchema":{"type":"object"}}"#, "`title` is no string"),
            (
                r#"{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}"#,
                "`annotations.readOnlyHint` is no boolean",
            ),
            (
                r#"{"name":"a","inputSchema":{"type":"object","x":1e400}}"#,
                "`inputSchema` holds what no JSON reader takes, such as a number out of range",
            ),
            (r#"{"name":"a","inputSchema":{"type":"object"},"outputSchema":[]}"#, "`outputSchema` is no object"),
        ] {
            let definition = Definition::parse(json).unwrap();
            assert_eq!(definition.fault().as_deref(), Some(fault), "{json}");
            assert_eq!(render_deferred(&definition, "a"), json);
        }
        assert_eq!(Definition::parse(ODD).unwrap().fault(), None);
    }

    #[test]
    fn no_tool_is_no_definition() {
        for json in ["", "[]", "{}", r#"{"name":5}"#, r#"{"name":"a"} x"#, r#"{"name":"\ud800"}"#] {
            assert!(Definition::parse(json).is_err(), "{json}");
        }
    }

    /// Any JSON value of modest size.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn rendering_loses_nothing_but_blanks(members in prop::collection::vec((any::<String>(), json()), 0..5), name: String) {
            let mut object: serde_json::Map<String, Value> = members.into_iter().collect();
            object.insert("name".to_owned(), Value::from(name.as_str()));
            let text = serde_json::to_string_pretty(&object).unwrap();
            let definition = Definition::parse(&text).unwrap();
            let full = render_full(&definition, "other");
            object.insert("name".to_owned(), Value::from("other"));
            prop_assert_eq!(&full, &Value::Object(object).to_string());
            for text in [render_deferred(&definition, "other"), render_visible(&definition, "other")] {
                prop_assert!(Definition::parse(&text).is_ok(), "{}", text);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = Definition::parse(&text).map(|definition| render_deferred(&definition, "name"));
            let _ = minify(&text);
        }
    }
}
