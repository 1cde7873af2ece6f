//! Every schema within a document, read once: what applies with it, its keys, its alternatives. A file of settings asks for
//! the same schemas many times, and a sweep reads a file for each of its points.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// The place of a schema in an [`Index`].
pub(crate) type Id = usize;

/// The schema that says nothing.
pub(crate) const NOTHING: Id = 0;

/// The schemas within a document.
pub(crate) struct Index<'s> {
    nodes: Vec<Node<'s>>,
}

/// A schema.
#[derive(Default)]
pub(crate) struct Node<'s> {
    /// The schema object and all those that it refers to, which apply at the same time.
    pub parts: Vec<&'s Map<String, Value>>,
    /// The alternatives of each `oneOf` and `anyOf`, null left out.
    pub groups: Vec<Group<'s>>,
    /// Its keys, those of the first part first; a name may come twice.
    pub properties: Vec<Property<'s>>,
    /// The schema of keys outside `properties`, if they are allowed.
    pub others: Option<Id>,
    /// The schemas of the first elements of an array.
    pub first_items: Vec<Id>,
    /// The schema of its other elements.
    pub items: Id,
    /// The JSON types allowed, null left out as TOML has none.
    pub types: Vec<&'s str>,
    /// True if it is a struct, a map or a tagged enum.
    pub is_table: bool,
    /// The words of a choice, if this is one.
    pub words: Option<Vec<Word<'s>>>,
}

/// A key of a table.
pub(crate) struct Property<'s> {
    pub name: &'s str,
    pub schema: Id,
    pub required: bool,
}

/// The schemas of which one applies.
pub(crate) struct Group<'s> {
    pub branches: Vec<Id>,
    /// The key that names the branch, if they are the variants of an internally tagged enum.
    pub tag: Option<&'s str>,
    /// The names and meanings of the variants, in the order of the branches.
    pub names: Vec<Word<'s>>,
}

/// One of the words of a choice, and what it means.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Word<'s> {
    pub name: &'s str,
    pub doc: &'s str,
}

impl<'s> Index<'s> {
    /// Reads a document.
    pub fn new(root: &'s Value) -> Index<'s> {
        let mut reader = Reader { root, known: HashMap::new(), found: vec![None] };
        reader.id(root);
        let mut nodes = vec![Node::default()];
        while let Some(&Some(schema)) = reader.found.get(nodes.len()) {
            let node = reader.node(schema);
            nodes.push(node);
        }
        let mut index = Index { nodes };
        index.name_variants();
        index.find_words();
        index
    }

    /// The schema of the whole document.
    pub fn root(&self) -> Id {
        if self.nodes.len() > 1 {
            1
        } else {
            NOTHING
        }
    }

    pub fn node(&self, id: Id) -> &Node<'s> {
        &self.nodes[id]
    }

    /// Recognises internally tagged enums: every branch requires one key that holds a constant.
    fn name_variants(&mut self) {
        let constants: Vec<Vec<(&'s str, &'s str)>> = self.nodes.iter().map(|node| constants(&node.parts)).collect();
        let docs: Vec<&'s str> = self.nodes.iter().map(Node::doc).collect();
        let constant = |id: Id, tag: &str| constants[id].iter().find(|(name, _)| *name == tag).map(|&(_, value)| value);
        for node in &mut self.nodes {
            for group in &mut node.groups {
                let first = group.branches.first().map_or(&[][..], |&id| &constants[id]);
                let named_by = |tag: &str| group.branches.iter().all(|&id| constant(id, tag).is_some());
                group.tag = first.iter().map(|&(tag, _)| tag).find(|tag| named_by(tag));
                let Some(tag) = group.tag else { continue };
                let word = |&id: &Id| Some(Word { name: constant(id, tag)?, doc: docs[id] });
                group.names = group.branches.iter().filter_map(word).collect();
            }
            node.is_table |= node.groups.iter().any(|group| group.tag.is_some());
        }
    }

    fn find_words(&mut self) {
        let words: Vec<_> = (0..self.nodes.len()).map(|id| self.words(id)).collect();
        for (node, words) in self.nodes.iter_mut().zip(words) {
            node.words = words;
        }
    }

    /// The words of a choice, if this is one: a plain enum, possibly split by schemars to document each word.
    fn words(&self, id: Id) -> Option<Vec<Word<'s>>> {
        let node = self.node(id);
        if let Some(name) = node.keyword("const").and_then(Value::as_str) {
            return Some(vec![Word { name, doc: node.doc() }]);
        }
        if let Some(names) = node.keyword("enum").and_then(Value::as_array) {
            return names.iter().map(|n| n.as_str().map(|name| Word { name, doc: "" })).collect();
        }
        let words: Option<Vec<Vec<Word>>> = node.groups.first()?.branches.iter().map(|&b| self.words(b)).collect();
        Some(words?.concat())
    }
}

impl<'s> Node<'s> {
    /// The first part's word on a keyword: the nearest to the field wins.
    pub fn keyword(&self, name: &str) -> Option<&'s Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    /// The documentation; line breaks within a paragraph are only how the source was wrapped.
    pub fn doc(&self) -> &'s str {
        self.keyword("description").and_then(Value::as_str).unwrap_or("")
    }
}

/// Gives each schema its number, as it comes up.
struct Reader<'s> {
    root: &'s Value,
    /// Numbers by the addresses of the schemas.
    known: HashMap<usize, Id>,
    found: Vec<Option<&'s Value>>,
}

impl<'s> Reader<'s> {
    fn id(&mut self, schema: &'s Value) -> Id {
        let Some(object) = schema.as_object() else { return NOTHING };
        let next = self.found.len();
        let id = *self.known.entry(std::ptr::from_ref(object).addr()).or_insert(next);
        if id == next {
            self.found.push(Some(schema));
        }
        id
    }

    fn ids(&mut self, schemas: impl IntoIterator<Item = &'s Value>) -> Vec<Id> {
        schemas.into_iter().map(|schema| self.id(schema)).collect()
    }

    fn node(&mut self, schema: &'s Value) -> Node<'s> {
        let mut parts = Vec::new();
        gather(self.root, schema, &mut parts);
        let mut node = Node { parts, ..Node::default() };
        for part in node.parts.clone() {
            let required = part.get("required").and_then(Value::as_array);
            for (name, schema) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let required = required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(name)));
                node.properties.push(Property { name, schema: self.id(schema), required });
            }
            for branches in alternatives(part) {
                let real: Vec<&Value> = branches.iter().filter(|b| !is_null(b)).collect();
                let optional = real.len() < branches.len();
                if !(real.is_empty() || optional && real.len() == 1) {
                    node.groups.push(Group { branches: self.ids(real), tag: None, names: Vec::new() });
                }
            }
        }
        let first = node.keyword("prefixItems").and_then(Value::as_array);
        node.first_items = self.ids(first.into_iter().flatten());
        node.items = node.keyword("items").map_or(NOTHING, |items| self.id(items));
        node.others = self.others(&node);
        node.types = types(&node);
        node.is_table = node.types == ["object"] || node.keyword("properties").is_some();
        node
    }

    /// What keys outside `properties` may hold. A struct that says nothing on them has none: strict by default.
    fn others(&mut self, node: &Node<'s>) -> Option<Id> {
        if let Some(patterns) = node.keyword("patternProperties").and_then(Value::as_object) {
            return patterns.values().next().map(|schema| self.id(schema));
        }
        match node.keyword("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(self.id(schema)),
            None if !node.properties.is_empty() || !node.groups.is_empty() => None,
            None => Some(NOTHING),
        }
    }
}

fn types<'s>(node: &Node<'s>) -> Vec<&'s str> {
    match node.keyword("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).filter(|t| *t != "null").collect(),
        _ => Vec::new(),
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

/// The required properties that hold a constant string.
fn constants<'s>(parts: &[&'s Map<String, Value>]) -> Vec<(&'s str, &'s str)> {
    let mut found = Vec::new();
    for part in parts {
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
