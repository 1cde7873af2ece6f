//! The reference of all keys of a configuration type.

use crate::bounds::{integer_range, plain};
use crate::schema::{Field, Schema, Shape, Tagged, View};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// One key of a configuration, as its reference describes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyDoc {
    /// The dotted key: `victim.d`; `job[].rw` within an array of tables, `namespace.*.size_gib` within a map.
    pub key: String,
    /// The kind of value in words: `integer`, `number`, `one of a, b`, `array of integer`.
    pub kind: String,
    /// The value used when the key is absent; `None` if there is none or if it is "nothing".
    pub default: Option<Value>,
    /// True if the key must be given wherever its section is.
    pub required: bool,
    /// The documentation: the doc comment of the field, or else of its type.
    pub doc: String,
    /// The words that may be written, if only some may: those of a plain enum, or the variants of a tagged one.
    pub choices: Vec<Choice>,
    /// The variant that this option belongs to, if it belongs to one.
    pub variant: Option<VariantOf>,
}

/// One of the words that a key accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The word.
    pub name: String,
    /// Its meaning: the doc comment of the variant.
    pub doc: String,
}

/// The variant of a tagged enum that an option belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariantOf {
    /// The dotted key of the tag: `victim.policy`.
    pub tag: String,
    /// The variant's name: `greedy`.
    pub name: String,
}

/// Lists every key that a configuration of type `T` may have, in the order of the fields. Sections are
/// listed before their keys, as `table` or `array of tables`, for their documentation.
pub fn keys<T: JsonSchema + Serialize + 'static>() -> Vec<KeyDoc> {
    flatten(Schema::of::<T>().view())
}

/// Lists the keys below a view.
pub(crate) fn flatten(view: View<'_>) -> Vec<KeyDoc> {
    let mut walk = Walk { found: Vec::new(), open: Vec::new() };
    walk.table("", view, None, None);
    walk.found
}

struct Walk<'s> {
    found: Vec<KeyDoc>,
    /// The tables being listed: a table within itself is listed once.
    open: Vec<View<'s>>,
}

impl<'s> Walk<'s> {
    fn table(&mut self, prefix: &str, view: View<'s>, variant: Option<&VariantOf>, default: Option<&Value>) {
        if self.open.iter().any(|open| open.same(view)) {
            return;
        }
        self.open.push(view);
        let tagged = view.tagged();
        for enumeration in &tagged {
            self.tag(prefix, enumeration, variant, default);
        }
        // An option is of its own variant only, so the options are listed variant by variant.
        let fields = view.fields(&|_| None);
        for field in fields.list.iter().filter(|f| f.owner.is_none()) {
            self.field(prefix, field, variant, default);
        }
        for enumeration in &tagged {
            for option in enumeration.variants() {
                self.variant(prefix, enumeration.tag, option.name, option.view, default);
            }
        }
        if let Some(others) = fields.others.filter(|others| !matches!(others.shape(), Shape::Any)) {
            let name = Field { name: "*", view: others, required: false, owner: None };
            self.field(prefix, &name, variant, None);
        }
        self.open.pop();
    }

    fn variant(&mut self, prefix: &str, tag: &str, name: &str, view: View<'s>, default: Option<&Value>) {
        let own = VariantOf { tag: under(prefix, tag), name: name.to_string() };
        let is_default = default.and_then(|value| value.get(tag)?.as_str()) == Some(name);
        let default = default.filter(|_| is_default);
        let fields = view.fields(&|_| None);
        for field in fields.list.iter().filter(|f| f.name != tag && f.owner.is_none()) {
            self.field(prefix, field, Some(&own), default);
        }
        // A variant that holds an enum with a tag of its own.
        for nested in view.tagged() {
            self.tag(prefix, &nested, Some(&own), default);
            for option in nested.variants() {
                self.variant(prefix, nested.tag, option.name, option.view, default);
            }
        }
    }

    fn tag(&mut self, prefix: &str, tagged: &Tagged<'_>, variant: Option<&VariantOf>, default: Option<&Value>) {
        let choice = |v: crate::schema::Variant| Choice { name: v.name.to_string(), doc: tidy(v.doc) };
        let default = default.and_then(|value| value.get(tagged.tag)).cloned();
        self.found.push(KeyDoc {
            key: under(prefix, tagged.tag),
            kind: one_of(&tagged.names()),
            required: default.is_none(),
            default,
            doc: String::new(),
            choices: tagged.variants().map(choice).collect(),
            variant: variant.cloned(),
        });
    }

    fn field(&mut self, prefix: &str, field: &Field<'s>, variant: Option<&VariantOf>, within: Option<&Value>) {
        let view = field.view;
        let key = under(prefix, field.name);
        let default = view.default().or_else(|| within.and_then(|value| value.get(field.name)));
        let shown = default.filter(|value| !value.is_null()).cloned();
        let words = if let Shape::Choice(words) = view.shape() { words } else { &[] };
        self.found.push(KeyDoc {
            key: key.clone(),
            kind: kind(view),
            default: shown,
            required: field.required && default.is_none(),
            doc: tidy(view.doc()),
            choices: words.iter().map(|w| Choice { name: w.name.to_string(), doc: tidy(w.doc) }).collect(),
            variant: variant.cloned(),
        });
        self.below(&key, view, variant, default);
    }

    /// Lists what is within a value: the keys of a table, of the tables in an array, of every form it may have.
    fn below(&mut self, key: &str, view: View<'s>, variant: Option<&VariantOf>, default: Option<&Value>) {
        match view.shape() {
            Shape::Table => self.table(key, view, variant, default),
            Shape::Array => {
                let element = view.element(0);
                let recursive = self.open.iter().any(|open| open.same(element));
                if !recursive {
                    self.below(&format!("{key}[]"), element, variant, None);
                }
            }
            Shape::Either(branches) => {
                if self.open.iter().any(|open| open.same(view)) {
                    return;
                }
                self.open.push(view);
                branches.into_iter().for_each(|branch| self.below(key, branch, variant, None));
                self.open.pop();
            }
            _ => {}
        }
    }
}

fn under(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_string()
    } else {
        format!("{prefix}.{key}")
    }
}

/// Line breaks within a paragraph come from the width of the source and mean nothing.
fn tidy(doc: &str) -> String {
    let paragraphs = doc.split("\n\n").map(|p| p.lines().map(str::trim).collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n").trim().to_string()
}

fn one_of(words: &[&str]) -> String {
    match words {
        [only] => format!("\"{only}\""),
        _ => format!("one of {}", words.join(", ")),
    }
}

/// The kind of value, in words.
fn kind(view: View<'_>) -> String {
    match view.shape() {
        Shape::Any => "any value".to_string(),
        Shape::Choice(words) => one_of(&words.iter().map(|w| w.name).collect::<Vec<_>>()),
        Shape::Scalar(types) => format!("{}{}", types.join(" or "), range(view)),
        Shape::Array => match kind(view.element(0)).as_str() {
            "table" => "array of tables".to_string(),
            inner => format!("array of {inner}"),
        },
        Shape::Table => match view.map_value() {
            Some(value) if matches!(value.shape(), Shape::Any) => "table".to_string(),
            Some(value) => format!("map of {}", kind(value)),
            None => "table".to_string(),
        },
        Shape::Either(branches) => {
            let mut kinds: Vec<String> = branches.into_iter().map(kind).collect();
            kinds.dedup();
            kinds.join(" or ")
        }
    }
}

/// The range of the field, if narrower than that of its Rust type.
fn range(view: View<'_>) -> String {
    let (least, most) = integer_range(view.keyword("format").and_then(Value::as_str).unwrap_or(""));
    let told =
        |word, of_type: i128| view.keywords(word).find(|bound| bound.as_f64() != Some(of_type as f64)).map(plain);
    match (told("minimum", least), told("maximum", most)) {
        (Some(a), Some(b)) => format!(" from {a} to {b}"),
        (Some(a), None) => format!(", at least {a}"),
        (None, Some(b)) => format!(", at most {b}"),
        (None, None) => String::new(),
    }
}
