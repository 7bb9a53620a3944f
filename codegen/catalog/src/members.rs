//! A JSON object as its members in the order they came, values left as bytes: for taking out or adding a member
//! without touching the others.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of a JSON object, in order, borrowed from its text.
#[derive(Debug, Clone, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads `text`, which must be a JSON object.
    ///
    /// # Errors
    /// What serde_json found wrong.
    pub fn parse(text: &'a str) -> Result<Members<'a>, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Takes the first member called `key` out.
    pub fn take(&mut self, key: &str) -> Option<&'a RawValue> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// The value of the first member called `key`.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The value of the last member called `key`: the one that counts where a member stands twice.
    pub fn last(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Every member once: of those that share a name the last one counts, and stands where the first one stood.
    #[must_use]
    pub fn unique(self) -> Members<'a> {
        let mut unique: Vec<(Cow<'a, str>, &'a RawValue)> = Vec::with_capacity(self.0.len());
        for (key, raw) in self.0 {
            match unique.iter_mut().find(|(known, _)| *known == key) {
                Some(member) => member.1 = raw,
                None => unique.push((key, raw)),
            }
        }
        Members(unique)
    }

    /// Writes the object, compactly between members; the values keep their own bytes.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&serde_json::Value::from(&**name).to_string());
            out.push(':');
            out.push_str(value.get());
        }
        out.push('}');
        out
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A key, borrowed unless it holds escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_bytes_and_odd_keys() {
        let text = r#"{"zeta":1.10,"__proto__":{"b": 1},"a\"b":9007199254740993,"zeta":null}"#;
        let mut members = Members::parse(text).unwrap();
        assert_eq!(members.to_json(), text);
        assert_eq!(members.take("zeta").map(RawValue::get), Some("1.10"));
        assert_eq!(members.get("zeta").map(RawValue::get), Some("null"));
        assert!(Members::parse("[1]").is_err());
        assert!(Members::parse("{} x").is_err());
    }

    #[test]
    fn the_last_of_a_name_counts() {
        let members = Members::parse(r#"{"a":1,"b":2,"\u0061":3}"#).unwrap();
        assert_eq!(members.unique().to_json(), r#"{"a":3,"b":2}"#);
    }
}
