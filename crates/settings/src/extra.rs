//! Additional variants of a tagged enum beyond those in Rust, from a user's own code.

use crate::schema::Schema;
use serde_json::{json, Map, Value};

/// One more variant of an internally tagged enum.
#[derive(Clone, Debug)]
pub struct ExtraVariant {
    /// The top-level key that holds the enum.
    pub section: String,
    /// The key that names the variant.
    pub tag: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// The variant whose options it takes besides its own.
    pub like: Option<String>,
    /// The schemas of its own options. One without a default must be given.
    pub options: Map<String, Value>,
}

impl Schema {
    /// This schema with more variants.
    ///
    /// # Panics
    /// A section holds no enum with that tag.
    pub fn with(&self, extra: &[ExtraVariant]) -> Schema {
        let mut document = self.document().clone();
        for variant in extra {
            assert!(variant.join(&mut document), "'{}' takes no variants by '{}'", variant.section, variant.tag);
        }
        Schema::from(document)
    }
}

impl ExtraVariant {
    /// Adds it to a schema; false if the section holds no such enum.
    fn join(&self, document: &mut Value) -> bool {
        let extra = self;
        let Some(at) = variants_of(document, &extra.section) else { return false };
        let Some(Value::Array(variants)) = document.pointer_mut(&at) else { return false };
        let named = |variant: &&Value| variant["properties"][&extra.tag]["const"].as_str() == extra.like.as_deref();
        let model = extra.like.as_ref().and_then(|_| variants.iter().find(named));
        let mut variant = model.cloned().unwrap_or_else(|| json!({"type": "object"}));
        variant["description"] = json!(extra.doc);
        let required = extra.options.iter().filter(|(_, option)| option.get("default").is_none());
        variant["required"] = [&extra.tag].into_iter().chain(required.map(|(key, _)| key)).cloned().collect();
        if let Some(into) = variant["properties"].as_object_mut() {
            into.extend(extra.options.clone());
        } else {
            variant["properties"] = extra.options.clone().into();
        }
        variant["properties"][&extra.tag] = json!({"type": "string", "const": extra.name});
        variants.push(variant);
        true
    }

    /// Writes out the defaults of the options that a configuration with this variant leaves open.
    pub(crate) fn fill(&self, config: &mut Value) {
        let Some(section) = config.get_mut(&self.section).and_then(Value::as_object_mut) else { return };
        if section.get(&self.tag).and_then(Value::as_str) == Some(&self.name) {
            for (key, option) in &self.options {
                if let Some(default) = option.get("default") {
                    section.entry(key).or_insert_with(|| default.clone());
                }
            }
        }
    }
}

/// The place of the variants of a section.
fn variants_of(document: &Value, section: &str) -> Option<String> {
    let mut at = format!("/properties/{section}");
    loop {
        let schema = document.pointer(&at)?;
        if let Some(word) = ["oneOf", "anyOf"].into_iter().find(|word| schema.get(word).is_some()) {
            return Some(format!("{at}/{word}"));
        }
        at = schema.get("$ref")?.as_str()?.strip_prefix('#')?.to_owned();
    }
}
