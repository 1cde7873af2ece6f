//! A reader of the JSON schemas that schemars derives: `$ref`, options, maps, arrays, flattened structs, untagged and
//! internally tagged enums are read as in Rust.

use schemars::{generate::SchemaSettings, JsonSchema};
use serde_json::{Map, Value};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The schemas that were asked for: to derive one takes longer than to read a file by it.
static DERIVED: Mutex<BTreeMap<TypeId, Arc<Schema>>> = Mutex::new(BTreeMap::new());

/// The schema of a whole configuration type.
#[derive(Clone)]
pub(crate) struct Schema(pub(crate) Value);

impl Schema {
    /// The schema of what `T` reads.
    pub fn of<T: JsonSchema + 'static>() -> Arc<Schema> {
        let derived = || DERIVED.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = TypeId::of::<T>();
        if let Some(known) = derived().get(&kind) {
            return Arc::clone(known);
        }
        // Without the lock: a default of `T` may itself be read from a text.
        let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
        let schema = Arc::new(Schema(generator.into_root_schema_for::<T>().to_value()));
        Arc::clone(derived().entry(kind).or_insert(schema))
    }

    /// The view of the whole.
    pub fn view(&self) -> View<'_> {
        View::new(&self.0, &self.0)
    }
}

/// One value's schema: the schema object and all those that it refers to, which apply at the same time.
#[derive(Clone)]
pub(crate) struct View<'s> {
    root: &'s Value,
    parts: Vec<&'s Map<String, Value>>,
}

/// The kind of value that a schema expects.
pub(crate) enum Shape<'s> {
    /// Anything goes; serde decides.
    Any,
    /// One of some words.
    Choice(Vec<Word<'s>>),
    /// A value of one of these JSON types, none of them array or object.
    Scalar(Vec<&'s str>),
    /// An array.
    Array,
    /// A table: struct, map or tagged enum.
    Table,
    /// Any one of several forms.
    Either(Vec<View<'s>>),
}

/// One of the words of a choice, and what it means.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Word<'s> {
    pub name: &'s str,
    pub doc: &'s str,
}

/// An internally tagged enum: the key that names the variant, and the variants.
#[derive(Clone)]
pub(crate) struct Tagged<'s> {
    pub tag: &'s str,
    pub variants: Vec<Variant<'s>>,
}

/// One variant of an internally tagged enum.
#[derive(Clone)]
pub(crate) struct Variant<'s> {
    pub name: &'s str,
    pub doc: &'s str,
    pub view: View<'s>,
}

impl<'s> Tagged<'s> {
    pub fn variant(&self, name: &str) -> Option<&Variant<'s>> {
        self.variants.iter().find(|v| v.name == name)
    }

    pub fn names(&self) -> Vec<&'s str> {
        self.variants.iter().map(|v| v.name).collect()
    }
}

/// A key of a table.
#[derive(Clone)]
pub(crate) struct Field<'s> {
    pub name: &'s str,
    pub view: View<'s>,
    pub required: bool,
    /// Tag and variant, if the key is an option of a variant.
    pub owner: Option<(&'s str, &'s str)>,
}

/// The keys of a table, given the variants that are chosen.
#[derive(Default)]
pub(crate) struct Fields<'s> {
    pub list: Vec<Field<'s>>,
    /// The enums whose tag is among the keys, with the variant chosen.
    pub tags: Vec<(Tagged<'s>, Option<&'s str>)>,
    /// Schema of other keys, if other keys are allowed.
    pub others: Option<View<'s>>,
}

impl<'s> Fields<'s> {
    pub fn get(&self, name: &str) -> Option<&Field<'s>> {
        self.list.iter().find(|f| f.name == name)
    }

    pub fn is_tag(&self, name: &str) -> bool {
        self.tags.iter().any(|(t, _)| t.tag == name)
    }

    /// All valid keys, tags first.
    pub fn names(&self) -> Vec<&'s str> {
        let mut names: Vec<&str> = Vec::new();
        let tags = self.tags.iter().map(|(t, _)| t.tag);
        for name in tags.chain(self.list.iter().map(|f| f.name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Chooses the variant of a tagged enum, if it is known.
pub(crate) type Pick<'p> = &'p dyn Fn(&Tagged<'_>) -> Option<String>;

impl<'s> View<'s> {
    fn new(root: &'s Value, schema: &'s Value) -> View<'s> {
        let mut parts = Vec::new();
        gather(root, schema, &mut parts);
        View { root, parts }
    }

    fn child(&self, schema: &'s Value) -> View<'s> {
        View::new(self.root, schema)
    }

    /// The first part's word on a keyword: the nearest to the field wins.
    pub fn keyword(&self, name: &str) -> Option<&'s Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    /// Every part's word on a keyword.
    pub fn keywords(&self, name: &'static str) -> impl Iterator<Item = &'s Value> + use<'s, '_> {
        self.parts.iter().filter_map(move |part| part.get(name))
    }

    /// The documentation; line breaks within a paragraph are only how the source was wrapped.
    pub fn doc(&self) -> &'s str {
        self.keyword("description").and_then(Value::as_str).unwrap_or("")
    }

    /// The value used when the key is absent.
    pub fn default(&self) -> Option<&'s Value> {
        self.keyword("default")
    }

    /// True if both are the same schema: how recursion is noticed.
    pub fn same(&self, other: &View<'_>) -> bool {
        let ends = (self.parts.last(), other.parts.last());
        matches!(ends, (Some(a), Some(b)) if std::ptr::eq::<Map<String, Value>>(*a, *b))
    }

    /// The JSON types allowed, null left out as TOML has none.
    pub fn types(&self) -> Vec<&'s str> {
        match self.keyword("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).filter(|t| *t != "null").collect(),
            _ => Vec::new(),
        }
    }

    /// The kind of this value.
    pub fn shape(&self) -> Shape<'s> {
        if self.is_table() {
            return Shape::Table;
        }
        if let Some(words) = self.choice() {
            return Shape::Choice(words);
        }
        if let Some(branches) = self.groups().into_iter().next() {
            return Shape::Either(branches);
        }
        let types = self.types();
        match types.as_slice() {
            ["array"] => Shape::Array,
            [] => Shape::Any,
            many if many.iter().any(|t| matches!(*t, "array" | "object")) => Shape::Any,
            _ => Shape::Scalar(types),
        }
    }

    fn is_table(&self) -> bool {
        self.types() == ["object"]
            || self.keyword("properties").is_some()
            || self.groups().iter().any(|branches| tagged(branches).is_some())
    }

    /// The words of a choice, if this is one: a plain enum, possibly split by schemars to document each word.
    fn choice(&self) -> Option<Vec<Word<'s>>> {
        if let Some(name) = self.keyword("const").and_then(Value::as_str) {
            return Some(vec![Word { name, doc: self.doc() }]);
        }
        if let Some(names) = self.keyword("enum").and_then(Value::as_array) {
            return names.iter().map(|n| n.as_str().map(|name| Word { name, doc: "" })).collect();
        }
        let groups = self.groups();
        let branches = groups.first()?;
        let words: Option<Vec<Vec<Word>>> = branches.iter().map(View::choice).collect();
        Some(words?.concat())
    }

    /// The words that any of the alternatives accepts.
    pub fn words(&self) -> Vec<Word<'s>> {
        self.groups().iter().flatten().filter_map(View::choice).flatten().collect()
    }

    /// The alternatives of each `oneOf` and `anyOf`, null left out.
    fn groups(&self) -> Vec<Vec<View<'s>>> {
        let mut groups = Vec::new();
        for part in &self.parts {
            for branches in alternatives(part) {
                let real: Vec<_> = branches.iter().filter(|b| !is_null(b)).collect();
                let optional = real.len() < branches.len();
                if !(real.is_empty() || optional && real.len() == 1) {
                    groups.push(real.into_iter().map(|b| self.child(b)).collect());
                }
            }
        }
        groups
    }

    /// The schema of the elements of an array, at an index.
    pub fn element(&self, index: usize) -> View<'s> {
        let fixed = self.keyword("prefixItems").and_then(|items| items.get(index));
        match fixed.or_else(|| self.keyword("items")) {
            Some(schema) => self.child(schema),
            None => View { root: self.root, parts: Vec::new() },
        }
    }

    /// The enums that are part of this table.
    pub fn tagged(&self) -> Vec<Tagged<'s>> {
        self.groups().iter().filter_map(|branches| tagged(branches)).collect()
    }

    /// The keys of this table. Where `pick` does not know the variant, the options of all variants are listed.
    pub fn fields(&self, pick: Pick<'_>) -> Fields<'s> {
        let mut fields = Fields::default();
        self.collect(pick, None, &mut fields);
        fields
    }

    fn collect(&self, pick: Pick<'_>, owner: Option<(&'s str, &'s str)>, into: &mut Fields<'s>) {
        self.own_fields(owner, into);
        for branches in self.groups() {
            match tagged(&branches) {
                Some(tagged) => collect_tagged(tagged, pick, into),
                // A flattened enum without a tag: its keys are all allowed, and serde finds the fitting variant.
                None => branches.iter().for_each(|branch| branch.own_fields_optional(owner, into)),
            }
        }
    }

    fn own_fields(&self, owner: Option<(&'s str, &'s str)>, into: &mut Fields<'s>) {
        let mut has_properties = false;
        for part in &self.parts {
            let required = part.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(name)));
            for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                has_properties = true;
                if into.get(name).is_none() && !into.is_tag(name) {
                    let field = Field { name, view: self.child(schema), required: is_required(name), owner };
                    into.list.push(field);
                }
            }
        }
        into.others = into.others.take().or_else(|| self.other_keys(has_properties));
    }

    fn own_fields_optional(&self, owner: Option<(&'s str, &'s str)>, into: &mut Fields<'s>) {
        let first = into.list.len();
        self.own_fields(owner, into);
        into.list[first..].iter_mut().for_each(|field| field.required = false);
    }

    /// What keys outside `properties` may hold. A struct that says nothing on them has none: strict by default.
    fn other_keys(&self, has_properties: bool) -> Option<View<'s>> {
        if let Some(patterns) = self.keyword("patternProperties").and_then(Value::as_object) {
            return patterns.values().next().map(|schema| self.child(schema));
        }
        match self.keyword("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(self.child(schema)),
            None if has_properties || !self.groups().is_empty() => None,
            None => Some(View { root: self.root, parts: Vec::new() }),
        }
    }

    /// The value schema of a map, if this is a table whose keys are free.
    pub fn map_value(&self) -> Option<View<'s>> {
        let fields = self.fields(&|_| None);
        fields.others.filter(|_| fields.list.is_empty() && fields.tags.is_empty())
    }
}

fn collect_tagged<'s>(tagged: Tagged<'s>, pick: Pick<'_>, into: &mut Fields<'s>) {
    let picked = pick(&tagged);
    let chosen = picked.and_then(|name| tagged.variant(&name).cloned());
    into.tags.push((tagged.clone(), chosen.as_ref().map(|v| v.name)));
    match chosen {
        Some(variant) => variant.view.collect(pick, Some((tagged.tag, variant.name)), into),
        None => {
            let first = into.list.len();
            let others = into.others.take();
            for variant in &tagged.variants {
                variant.view.collect(pick, Some((tagged.tag, variant.name)), into);
            }
            into.list[first..].iter_mut().for_each(|field| field.required = false);
            into.others = others;
        }
    }
}

/// Adds a schema and all that apply with it to the parts.
fn gather<'s>(root: &'s Value, schema: &'s Value, parts: &mut Vec<&'s Map<String, Value>>) {
    let Some(object) = schema.as_object() else { return };
    if parts.iter().any(|part| std::ptr::eq(*part, object)) {
        return;
    }
    parts.push(object);
    if let Some(target) =
        object.get("$ref").and_then(Value::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?))
    {
        gather(root, target, parts);
    }
    for all in object.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        gather(root, all, parts);
    }
    for branches in alternatives(object) {
        let mut real = branches.iter().filter(|b| !is_null(b));
        // `Option<T>` is T or null: TOML has no null, so it is T.
        if let (Some(only), None, true) = (real.next(), real.next(), branches.len() > 1) {
            gather(root, only, parts);
        }
    }
}

fn alternatives(part: &Map<String, Value>) -> impl Iterator<Item = &Vec<Value>> {
    ["oneOf", "anyOf"].into_iter().filter_map(|word| part.get(word).and_then(Value::as_array))
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Recognises an internally tagged enum: every branch requires one key that holds a constant.
fn tagged<'s>(branches: &[View<'s>]) -> Option<Tagged<'s>> {
    let constants = branches.first()?.constants();
    let (tag, _) = constants.into_iter().find(|(tag, _)| branches.iter().all(|b| b.constant(tag).is_some()))?;
    let variants = branches
        .iter()
        .filter_map(|view| Some(Variant { name: view.constant(tag)?, doc: view.doc(), view: view.clone() }));
    Some(Tagged { tag, variants: variants.collect() })
}

impl<'s> View<'s> {
    /// The required properties that hold a constant string.
    fn constants(&self) -> Vec<(&'s str, &'s str)> {
        let mut found = Vec::new();
        for part in &self.parts {
            let required = part.get("required").and_then(Value::as_array);
            for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let is_required = required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(name)));
                if let (true, Some(constant)) = (is_required, schema.get("const").and_then(Value::as_str)) {
                    found.push((name.as_str(), constant));
                }
            }
        }
        found
    }

    fn constant(&self, tag: &str) -> Option<&'s str> {
        self.constants().into_iter().find(|(name, _)| *name == tag).map(|(_, constant)| constant)
    }
}
