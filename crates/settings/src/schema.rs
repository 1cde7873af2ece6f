//! A reader of the JSON schemas that schemars derives: `$ref`, options, maps, arrays, flattened structs, untagged and
//! internally tagged enums are read as in Rust.

use crate::index::{Group, Id, Index, Node};
use schemars::{generate::SchemaSettings, JsonSchema};
use self_cell::self_cell;
use serde_json::{Map, Value};
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use crate::index::Word;

/// The schemas that were asked for: to derive one takes longer than to read a file by it.
static DERIVED: Mutex<BTreeMap<TypeId, Arc<Schema>>> = Mutex::new(BTreeMap::new());

self_cell!(
    /// The schema of a whole configuration type.
    pub(crate) struct Schema {
        owner: Value,
        #[covariant]
        dependent: Index,
    }
);

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
        let schema = Arc::new(Schema::from(generator.into_root_schema_for::<T>().to_value()));
        Arc::clone(derived().entry(kind).or_insert(schema))
    }

    /// The schema that a document holds.
    pub fn from(document: Value) -> Schema {
        Schema::new(document, |document| Index::new(document))
    }

    /// The document.
    pub fn document(&self) -> &Value {
        self.borrow_owner()
    }

    /// The view of the whole.
    pub fn view(&self) -> View<'_> {
        let index = self.borrow_dependent();
        View { index, id: index.root() }
    }
}

/// One value's schema: the schema object and all those that it refers to, which apply at the same time.
#[derive(Clone, Copy)]
pub(crate) struct View<'s> {
    index: &'s Index<'s>,
    id: Id,
}

/// The kind of value that a schema expects.
pub(crate) enum Shape<'s> {
    /// Anything goes; serde decides.
    Any,
    /// One of some words.
    Choice(&'s [Word<'s>]),
    /// A value of one of these JSON types, none of them array or object.
    Scalar(&'s [&'s str]),
    /// An array.
    Array,
    /// A table: struct, map or tagged enum.
    Table,
    /// Any one of several forms.
    Either(Vec<View<'s>>),
}

/// An internally tagged enum: the key that names the variant, and the variants.
#[derive(Clone, Copy)]
pub(crate) struct Tagged<'s> {
    pub tag: &'s str,
    index: &'s Index<'s>,
    group: &'s Group<'s>,
}

/// One variant of an internally tagged enum.
#[derive(Clone, Copy)]
pub(crate) struct Variant<'s> {
    pub name: &'s str,
    pub doc: &'s str,
    pub view: View<'s>,
}

impl<'s> Tagged<'s> {
    /// The variants.
    pub fn variants(self) -> impl Iterator<Item = Variant<'s>> {
        let Tagged { index, group, .. } = self;
        let both = group.names.iter().zip(&group.branches);
        both.map(move |(word, &id)| Variant { name: word.name, doc: word.doc, view: View { index, id } })
    }

    pub fn variant(self, name: &str) -> Option<Variant<'s>> {
        self.variants().find(|v| v.name == name)
    }

    pub fn names(self) -> Vec<&'s str> {
        self.group.names.iter().map(|word| word.name).collect()
    }
}

/// A key of a table.
#[derive(Clone, Copy)]
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
    fn at(self, id: Id) -> View<'s> {
        View { id, ..self }
    }

    fn node(self) -> &'s Node<'s> {
        self.index.node(self.id)
    }

    /// The first part's word on a keyword: the nearest to the field wins.
    pub fn keyword(self, name: &str) -> Option<&'s Value> {
        self.node().keyword(name)
    }

    /// Every part's word on a keyword.
    pub fn keywords(self, name: &'static str) -> impl Iterator<Item = &'s Value> {
        self.node().parts.iter().filter_map(move |part| part.get(name))
    }

    /// The documentation; line breaks within a paragraph are only how the source was wrapped.
    pub fn doc(self) -> &'s str {
        self.node().doc()
    }

    /// The value used when the key is absent.
    pub fn default(self) -> Option<&'s Value> {
        self.keyword("default")
    }

    /// True if both are the same schema: how recursion is noticed.
    pub fn same(self, other: View<'_>) -> bool {
        let ends = (self.node().parts.last(), other.node().parts.last());
        matches!(ends, (Some(a), Some(b)) if std::ptr::eq::<Map<String, Value>>(*a, *b))
    }

    /// True if both schemas say the same, documentation and default included.
    pub fn says_as_much_as(self, other: View<'_>) -> bool {
        self.node().parts == other.node().parts
    }

    /// The JSON types allowed, null left out as TOML has none.
    pub fn types(self) -> &'s [&'s str] {
        &self.node().types
    }

    /// The kind of this value.
    pub fn shape(self) -> Shape<'s> {
        let node = self.node();
        if node.is_table {
            return Shape::Table;
        }
        if let Some(words) = &node.words {
            return Shape::Choice(words);
        }
        if let Some(group) = node.groups.first() {
            return Shape::Either(group.branches.iter().map(|&id| self.at(id)).collect());
        }
        match node.types.as_slice() {
            ["array"] => Shape::Array,
            [] => Shape::Any,
            many if many.iter().any(|t| matches!(*t, "array" | "object")) => Shape::Any,
            types => Shape::Scalar(types),
        }
    }

    /// The words that any of the alternatives accepts.
    pub fn words(self) -> Vec<Word<'s>> {
        let branches = self.node().groups.iter().flat_map(|group| &group.branches);
        branches.filter_map(|&id| self.index.node(id).words.as_ref()).flatten().copied().collect()
    }

    /// The schema of the elements of an array, at an index.
    pub fn element(self, index: usize) -> View<'s> {
        let node = self.node();
        self.at(node.first_items.get(index).copied().unwrap_or(node.items))
    }

    /// The enums that are part of this table.
    pub fn tagged(self) -> Vec<Tagged<'s>> {
        self.node().groups.iter().filter_map(|group| self.enumeration(group)).collect()
    }

    fn enumeration(self, group: &'s Group<'s>) -> Option<Tagged<'s>> {
        Some(Tagged { tag: group.tag?, index: self.index, group })
    }

    /// The keys of this table. Where `pick` does not know the variant, the options of all variants are listed.
    pub fn fields(self, pick: Pick<'_>) -> Fields<'s> {
        let mut fields = Fields::default();
        self.collect(pick, None, &mut fields);
        fields
    }

    fn collect(self, pick: Pick<'_>, owner: Option<(&'s str, &'s str)>, into: &mut Fields<'s>) {
        self.own_fields(owner, into);
        for group in &self.node().groups {
            match self.enumeration(group) {
                Some(tagged) => collect_tagged(tagged, pick, into),
                // A flattened enum without a tag: its keys are all allowed, and serde finds the fitting variant.
                None => group.branches.iter().for_each(|&branch| self.at(branch).own_fields_optional(owner, into)),
            }
        }
    }

    fn own_fields(self, owner: Option<(&'s str, &'s str)>, into: &mut Fields<'s>) {
        let node = self.node();
        for property in &node.properties {
            if into.get(property.name).is_none() && !into.is_tag(property.name) {
                let view = self.at(property.schema);
                into.list.push(Field { name: property.name, view, required: property.required, owner });
            }
        }
        into.others = into.others.or(node.others.map(|id| self.at(id)));
    }

    fn own_fields_optional(self, owner: Option<(&'s str, &'s str)>, into: &mut Fields<'s>) {
        let first = into.list.len();
        self.own_fields(owner, into);
        into.list[first..].iter_mut().for_each(|field| field.required = false);
    }

    /// The value schema of a map, if this is a table whose keys are free.
    pub fn map_value(self) -> Option<View<'s>> {
        let fields = self.fields(&|_| None);
        fields.others.filter(|_| fields.list.is_empty() && fields.tags.is_empty())
    }
}

fn collect_tagged<'s>(tagged: Tagged<'s>, pick: Pick<'_>, into: &mut Fields<'s>) {
    let chosen = pick(&tagged).and_then(|name| tagged.variant(&name));
    into.tags.push((tagged, chosen.map(|v| v.name)));
    match chosen {
        Some(variant) => variant.view.collect(pick, Some((tagged.tag, variant.name)), into),
        None => {
            let first = into.list.len();
            let others = into.others.take();
            for variant in tagged.variants() {
                variant.view.collect(pick, Some((tagged.tag, variant.name)), into);
            }
            into.list[first..].iter_mut().for_each(|field| field.required = false);
            into.others = others;
        }
    }
}
