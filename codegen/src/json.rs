//! Reading values out of a JSON text with comments, every complaint pointing at the bytes it is about.

use std::collections::BTreeSet;
use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions};

use crate::problem::{Problem, Severity, did_you_mean};
use crate::source::{Position, Source};

/// A value and the bytes it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its bytes in the source, quotes included.
    pub range: Range<usize>,
}

/// Parses `source`: JSON with comments and trailing commas, nothing looser. `None` for an empty text or after a
/// problem.
pub fn parse<'s>(source: &'s Source, problems: &mut Vec<Problem>) -> Option<Value<'s>> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match jsonc_parser::parse_to_ast(&source.text, &CollectOptions::default(), &options) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            let range = error.range();
            let hint = syntax_hint(error.kind());
            problems.push(
                Problem::error(format!("no valid JSON: {}", lower_first(&error.kind().to_string())))
                    .at(source, range.start..range.end)
                    .maybe_hint(hint.map(str::to_owned)),
            );
            None
        }
    }
}

fn syntax_hint(kind: &ParseErrorKind) -> Option<&'static str> {
    Some(match kind {
        ParseErrorKind::ExpectedComma => "put a comma after the value before it",
        ParseErrorKind::SingleQuotedStringsNotAllowed => "use double quotes",
        ParseErrorKind::UnterminatedObject | ParseErrorKind::UnexpectedCloseBracket => "is a `}` missing?",
        ParseErrorKind::UnterminatedArray | ParseErrorKind::UnexpectedCloseBrace => "is a `]` missing?",
        ParseErrorKind::ExpectedStringObjectProperty | ParseErrorKind::UnexpectedWord => "put it into double quotes",
        ParseErrorKind::String(_) => "a backslash is written `\\\\` in JSON",
        _ => return None,
    })
}

/// The problem that a strict reader's `error` about `source` is; `what` says what the text should have been.
pub fn strict_problem(source: &Source, what: &str, error: &serde_json::Error) -> Problem {
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let at = source.offset(Position { line: narrow(error.line()), column: narrow(error.column()) });
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    Problem::error(format!("no {what}: {}", lower_first(text))).at(source, at..at)
}

fn lower_first(text: &str) -> String {
    if text.starts_with("EOF") {
        return text.replacen("EOF", "the text ends", 1);
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// A reader of one source.
pub struct Reader<'a> {
    source: &'a Source,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// A reader of `source` that complains into `problems`.
    pub fn new(source: &'a Source, problems: &'a mut Vec<Problem>) -> Reader<'a> {
        Reader { source, problems }
    }

    /// Reports `problem` at the bytes `range`.
    pub fn report(&mut self, problem: Problem, range: Range<usize>) {
        self.problems.push(problem.at(self.source, range));
    }

    /// Reports that `value`, known as `what`, is not `wanted`.
    pub fn wrong(&mut self, what: &str, wanted: &str, value: &Value<'_>) {
        let problem = Problem::error(format!("{what} must be {wanted}, but is {}", shown(value)));
        self.report(problem.maybe_hint(conversion(wanted, value)), span(value));
    }

    /// The members of an object. A later member of the same name is a problem; the first counts. Names that start with
    /// `_` and members that are `null` are passed over.
    pub fn members<'v, 't>(&mut self, object: &'v Object<'t>) -> Vec<&'v ObjectProp<'t>> {
        self.members_or(object, |name| {
            Problem::error(format!("the key `{name}` stands twice in the same object"))
                .hint("delete one of the two; readers of JSON disagree about which one counts")
        })
    }

    /// [`Reader::members`], with the problem that a later member of the same name is.
    pub fn members_or<'v, 't>(
        &mut self,
        object: &'v Object<'t>,
        twice: impl Fn(&str) -> Problem,
    ) -> Vec<&'v ObjectProp<'t>> {
        let mut seen = BTreeSet::new();
        let mut members = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if name.starts_with('_') {
                continue;
            }
            if !seen.insert(name) {
                self.report(twice(name), key_span(property));
            } else if !matches!(property.value, Value::NullKeyword(_)) {
                members.push(property);
            }
        }
        members
    }

    /// Reports the member `property`, which is none of `known`: a slip of the fingers stops the build, anything else
    /// is passed over with a note. Returns whether it was a slip.
    pub fn unknown_key(&mut self, property: &ObjectProp<'_>, known: &[&str], place: &str) -> bool {
        let name = property.name.as_str();
        let problem = match did_you_mean(name, known.iter().copied()) {
            Some(hint) => Problem::error(format!("unknown key `{name}` in {place}")).hint(hint),
            None => Problem::note(format!("the key `{name}` in {place} has no meaning here and is ignored"))
                .hint(format!("keys read here: {}", known.join(", "))),
        };
        let slip = problem.severity == Severity::Error;
        self.report(problem, key_span(property));
        slip
    }

    /// The value as an object.
    pub fn object<'v, 't>(&mut self, what: &str, value: &'v Value<'t>) -> Option<&'v Object<'t>> {
        let object = value.as_object();
        if object.is_none() {
            self.wrong(what, "an object", value);
        }
        object
    }

    /// The value as a text.
    pub fn text(&mut self, what: &str, value: &Value<'_>) -> Option<Spanned<String>> {
        match value {
            Value::StringLit(text) => Some(Spanned { value: text.value.to_string(), range: span(value) }),
            other => {
                self.wrong(what, "a string", other);
                None
            }
        }
    }

    /// The value as true or false.
    pub fn flag(&mut self, what: &str, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::BooleanLit(flag) => Some(flag.value),
            other => {
                self.wrong(what, "true or false", other);
                None
            }
        }
    }

    /// The value as a whole number above zero.
    pub fn positive(&mut self, what: &str, value: &Value<'_>) -> Option<Spanned<u32>> {
        self.number(what, value, 1, "a whole number above 0")
    }

    /// The value as a whole number, which may be zero.
    pub fn whole(&mut self, what: &str, value: &Value<'_>) -> Option<Spanned<u32>> {
        self.number(what, value, 0, "a whole number")
    }

    fn number(&mut self, what: &str, value: &Value<'_>, least: u32, wanted: &str) -> Option<Spanned<u32>> {
        let number = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|number| *number >= least),
            _ => None,
        };
        if number.is_none() {
            self.wrong(what, wanted, value);
        }
        number.map(|number| Spanned { value: number, range: span(value) })
    }

    /// The value as a list of texts; elements of another kind are reported and left out.
    pub fn texts(&mut self, what: &str, value: &Value<'_>) -> Option<Vec<Spanned<String>>> {
        match value {
            Value::Array(list) => {
                let element = format!("an element of {what}");
                Some(list.elements.iter().filter_map(|value| self.text(&element, value)).collect())
            }
            other => {
                self.wrong(what, "a list of strings", other);
                None
            }
        }
    }

    /// The value as an object of texts, in the order of the file.
    pub fn text_map(&mut self, what: &str, value: &Value<'_>) -> Vec<(Spanned<String>, Spanned<String>)> {
        let Value::Object(object) = value else {
            self.wrong(what, "an object of strings", value);
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for property in self.members(object) {
            let name = property.name.as_str();
            if let Some(text) = self.text(&format!("`{name}` in {what}"), &property.value) {
                pairs.push((Spanned { value: name.to_owned(), range: key_span(property) }, text));
            }
        }
        pairs
    }

    /// The value as one of `choices`.
    pub fn choice<T: Copy>(&mut self, what: &str, value: &Value<'_>, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(what, value)?;
        let found = choices.iter().find(|(name, _)| *name == text.value);
        if found.is_none() {
            let names = choices.iter().map(|(name, _)| *name);
            let list = names.clone().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            self.report(
                Problem::error(format!("{what} is `{}`, which is none of {list}", text.value))
                    .maybe_hint(did_you_mean(&text.value, names)),
                text.range,
            );
        }
        found.map(|(_, choice)| *choice)
    }
}

/// The bytes of a value.
pub fn span(value: &Value<'_>) -> Range<usize> {
    let range = value.range();
    range.start..range.end
}

/// The bytes of a member's name, quotes included.
pub fn key_span(property: &ObjectProp<'_>) -> Range<usize> {
    let range = property.name.range();
    range.start..range.end
}

/// A value as messages call it: what it is, or itself where that is short.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::StringLit(_) => "a string".to_owned(),
        Value::NumberLit(number) => number.value.to_owned(),
        Value::BooleanLit(flag) => flag.value.to_string(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::NullKeyword(_) => "null".to_owned(),
    }
}

/// How to write the value that was meant.
fn conversion(wanted: &str, value: &Value<'_>) -> Option<String> {
    match (wanted, value) {
        ("a string", Value::NumberLit(number)) => Some(format!("write it in quotes: \"{}\"", number.value)),
        ("a string", Value::BooleanLit(flag)) => Some(format!("write it in quotes: \"{}\"", flag.value)),
        ("true or false", Value::StringLit(text)) if matches!(&*text.value, "true" | "false") => {
            Some(format!("write it without quotes: {}", text.value))
        }
        ("a whole number" | "a whole number above 0", Value::StringLit(text)) if text.value.parse::<u32>().is_ok() => {
            Some(format!("write it without quotes: {}", text.value))
        }
        _ => None,
    }
}
