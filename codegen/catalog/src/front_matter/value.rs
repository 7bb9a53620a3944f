//! YAML values whose scalars keep the text that was written: `1.10` stays `1.10`, `10:00` and `yes` stay words.
//!
//! A self-describing read would turn plain scalars into numbers and booleans and lose their spelling. So the text is
//! read twice: once for its shape (null, scalar, list or map), once along that shape asking for text at every scalar.

use std::cell::Cell;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor};

/// A YAML value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing after the colon, `~` or an unquoted `null`.
    Null,
    /// A scalar as it was written, quotes and escapes resolved.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map in the order of the text.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The text of a scalar.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Member `key` of a map; of a key that stands twice the last one counts.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(members) => members.iter().rfind(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// Values one front matter may hold once its aliases are expanded.
const MOST_VALUES: usize = 4096;

/// Says in an error that [`MOST_VALUES`] is exceeded.
pub(super) const TOO_MANY: &str = "too many values";

/// Reads `yaml`; an empty text is [`Value::Null`].
pub(super) fn read(yaml: &str) -> Result<Value, serde_yaml::Error> {
    let budget = Cell::new(MOST_VALUES);
    let shape = ShapeSeed(&budget).deserialize(serde_yaml::Deserializer::from_str(yaml))?;
    ValueSeed(&shape).deserialize(serde_yaml::Deserializer::from_str(yaml))
}

#[derive(Debug)]
enum Shape {
    Null,
    Text,
    List(Vec<Shape>),
    Map(Vec<Shape>),
    /// A value behind a `!tag`, which is dropped.
    Tagged(Box<Shape>),
}

#[derive(Clone, Copy)]
struct ShapeSeed<'a>(&'a Cell<usize>);

impl<'de> DeserializeSeed<'de> for ShapeSeed<'_> {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Shape, D::Error> {
        let left = self.0.get();
        if left == 0 {
            return Err(D::Error::custom(TOO_MANY));
        }
        self.0.set(left - 1);
        reader.deserialize_any(self)
    }
}

macro_rules! scalar {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<E: Error>(self, _: $type) -> Result<Shape, E> { Ok(Shape::Text) })*
    };
}

impl<'de> Visitor<'de> for ShapeSeed<'_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    scalar!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64,
        visit_str: &str);

    fn visit_unit<E: Error>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut shapes = Vec::new();
        while let Some(shape) = list.next_element_seed(self)? {
            shapes.push(shape);
        }
        Ok(Shape::List(shapes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut shapes = Vec::new();
        while map.next_key_seed(TextSeed)?.is_some() {
            shapes.push(map.next_value_seed(self)?);
        }
        Ok(Shape::Map(shapes))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Shape, A::Error> {
        let (_, inner) = tagged.variant::<String>()?;
        Ok(Shape::Tagged(Box::new(inner.newtype_variant_seed(self)?)))
    }
}

struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<String, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for TextSeed {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}

#[derive(Clone, Copy)]
struct ValueSeed<'a>(&'a Shape);

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        match self.0 {
            Shape::Null => reader.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null),
            Shape::Text => TextSeed.deserialize(reader).map(Value::Text),
            Shape::List(_) => reader.deserialize_seq(self),
            Shape::Map(_) => reader.deserialize_map(self),
            Shape::Tagged(_) => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the same value as in the first reading")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let Shape::List(shapes) = self.0 else { return Err(A::Error::custom("a list where none was")) };
        let mut values = Vec::with_capacity(shapes.len());
        for shape in shapes {
            values.extend(list.next_element_seed(ValueSeed(shape))?);
        }
        // The reader insists that the list is read to its end.
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Shape::Map(shapes) = self.0 else { return Err(A::Error::custom("a map where none was")) };
        let mut members = Vec::with_capacity(shapes.len());
        for shape in shapes {
            if let Some(key) = map.next_key_seed(TextSeed)? {
                members.push((key, map.next_value_seed(ValueSeed(shape))?));
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Map(members))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<Value, A::Error> {
        let Shape::Tagged(inner) = self.0 else { return Err(A::Error::custom("a tag where none was")) };
        tagged.variant::<IgnoredAny>()?.1.newtype_variant_seed(ValueSeed(inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(value: &Value) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::Text(text) => format!("{text:?}"),
            Value::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(", ")),
            Value::Map(map) => {
                format!("{{{}}}", map.iter().map(|(k, v)| format!("{k}: {}", show(v))).collect::<Vec<_>>().join(", "))
            }
        }
    }

    #[test]
    fn scalars_keep_their_spelling() {
        for (yaml, expected) in [
            ("a: 1.10", r#"{a: "1.10"}"#),
            ("a: 0755", r#"{a: "0755"}"#),
            ("a: yes\nb: True", r#"{a: "yes", b: "True"}"#),
            ("a: 10:00\nb: 2024-01-01", r#"{a: "10:00", b: "2024-01-01"}"#),
            ("a: 123456789012345678901234567890", r#"{a: "123456789012345678901234567890"}"#),
            ("a: .inf\nb: 1e400", r#"{a: ".inf", b: "1e400"}"#),
            ("a:\nb: ~\nc: null\nd: 'null'", r#"{a: null, b: null, c: null, d: "null"}"#),
            ("123: x\ntrue: y", r#"{123: "x", true: "y"}"#),
            ("[1, [2.0], {k: 0x10}]", r#"["1", ["2.0"], {k: "0x10"}]"#),
            ("a: &x [1.0]\nb: *x", r#"{a: ["1.0"], b: ["1.0"]}"#),
            ("a: !custom 1.0\nb: !list [2.0]\nc: !!str 3.0", r#"{a: "1.0", b: ["2.0"], c: "3.0"}"#),
            ("a: [, ]", "error"),
            ("", "null"),
        ] {
            let shown = read(yaml).map_or_else(|_| "error".to_owned(), |value| show(&value));
            assert_eq!(shown, expected, "{yaml}");
        }
    }

    #[test]
    fn aliases_are_bounded() {
        let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (from, to) in ('a'..='h').zip('b'..='i') {
            bomb.push_str(&format!("{to}: &{to} [{}]\n", vec![format!("*{from}"); 9].join(",")));
        }
        assert!(read(&bomb).unwrap_err().to_string().contains(TOO_MANY));
    }
}
