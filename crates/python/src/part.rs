//! Parts of a result: for those who need a few figures of many results, reading the whole of each would take as long as small runs.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Keys that are wanted of an object. A key without any below it is wanted as a whole.
#[derive(Debug, Default)]
pub struct Wanted(BTreeMap<String, Wanted>);

impl Wanted {
    /// From dotted keys.
    pub fn new(keys: &[String]) -> Self {
        let mut all = Self::default();
        for key in keys {
            key.split('.').fold(&mut all, |at, word| at.0.entry(word.to_owned()).or_default());
        }
        all
    }

    /// The wanted parts of a document, as they are written there; what is not there is left out.
    ///
    /// # Errors
    /// If it is not JSON, or no object where keys are wanted of one.
    pub fn of(&self, text: &str) -> serde_json::Result<String> {
        let mut document = serde_json::Deserializer::from_str(text);
        let mut found = String::new();
        Part { wanted: self, into: &mut found }.deserialize(&mut document)?;
        document.end()?;
        Ok(found)
    }

    /// The same of a document that is not laid out as text.
    pub fn of_value(&self, value: &Value) -> Value {
        let Value::Object(found) = value else { return value.clone() };
        if self.0.is_empty() {
            return value.clone();
        }
        self.0.iter().filter_map(|(key, below)| Some((key.clone(), below.of_value(found.get(key)?)))).collect()
    }
}

/// A value, whose wanted parts go into a text. Numbers keep all their digits, since they are not read.
struct Part<'a> {
    wanted: &'a Wanted,
    into: &'a mut String,
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if !self.wanted.0.is_empty() {
            return deserializer.deserialize_any(self);
        }
        let whole: &RawValue = Deserialize::deserialize(deserializer)?;
        self.into.push_str(whole.get());
        Ok(())
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or null")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.into.push_str("null");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { wanted, into } = self;
        let mut before = '{';
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let Some(below) = wanted.0.get(key.as_ref()) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            into.push(before);
            before = ',';
            into.push_str(&Value::from(key.as_ref()).to_string());
            into.push(':');
            map.next_value_seed(Part { wanted: below, into: &mut *into })?;
        }
        if before == '{' {
            into.push(before);
        }
        into.push('}');
        Ok(())
    }
}
