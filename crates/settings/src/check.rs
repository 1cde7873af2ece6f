//! The check of a layer, or of the merged whole, against the schema.

use crate::bounds::broken_bound;
use crate::document::{Data, Entry, Node};
use crate::error::{Origin, SettingsError};
use crate::report::{dotted, expected, join, not_a_choice, one_of, unknown_key, wrong_type, Chosen};
use crate::schema::{Field, Fields, Shape, Tagged, View};
use serde_json::Value;

type Checked = Result<(), SettingsError>;

/// What is known of a table besides what a layer says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Below<'a> {
    /// The same value in the layers below, merged.
    pub lower: Option<&'a Node>,
    /// The same value in the schema's defaults.
    pub default: Option<&'a Value>,
}

impl<'a> Below<'a> {
    /// What is below a child. The field's own default comes before the one within its table's default.
    pub fn child(self, key: &str, view: View<'a>) -> Below<'a> {
        Below {
            lower: self.lower.and_then(|node| node.get(key)),
            default: view.default().or_else(|| self.default.and_then(|value| value.get(key))),
        }
    }

    /// What is below an element of an array that a `--set` addresses.
    pub fn element(self, index: usize) -> Below<'a> {
        Below {
            lower: self.lower.and_then(|node| node.elements()?.get(index)),
            default: self.default.and_then(|value| value.get(index)),
        }
    }

    /// How many elements the array below has.
    pub fn length(self) -> usize {
        let written = self.lower.and_then(Node::elements).map(<[Node]>::len);
        written.or_else(|| self.default.and_then(Value::as_array).map(Vec::len)).unwrap_or(0)
    }

    /// The variant chosen by what is below.
    pub fn variant(self, tag: &str) -> Option<&'a str> {
        let written = self.lower.and_then(|node| node.get(tag)?.text());
        written.or_else(|| self.default.and_then(|value| value.get(tag)?.as_str()))
    }
}

/// The variant of a tagged enum, as a layer or what is below it says.
pub(crate) fn pick(node: &Node, below: Below<'_>, tagged: &Tagged<'_>) -> Option<String> {
    match node.get(tagged.tag) {
        Some(tag) => tag.text().map(str::to_string),
        None => below.variant(tagged.tag).map(str::to_string),
    }
}

/// The word that takes an option away from the layers below, as if none had set it.
const ABSENT: &str = "absent";

/// True if a value is the word for an option that is not set, and could be nothing else.
pub(crate) fn is_absent(view: View<'_>, node: &Node) -> bool {
    node.text() == Some(ABSENT)
        && match view.shape() {
            Shape::Any | Shape::Table => false,
            Shape::Choice(words) => words.iter().all(|word| word.name != ABSENT),
            Shape::Scalar(types) => !types.contains(&"string"),
            Shape::Array => true,
            Shape::Either(branches) => branches.into_iter().all(|branch| is_absent(branch, node)),
        }
}

/// A table that is checked: its keys, and those of the variants that the layers below chose.
struct Table<'n, 's> {
    node: &'n Node,
    below: Below<'s>,
    fields: Fields<'s>,
    before: Fields<'s>,
}

impl<'s> Table<'_, 's> {
    /// What is below a key, whose schema is `view`.
    fn below(&self, key: &str, view: View<'s>) -> Below<'s> {
        match self.fields.get(key) {
            Some(field)
                if changes_variant(field, self.node, self.below) && !is_kept(key, &self.before, &self.fields) =>
            {
                Below { lower: None, default: view.default() }
            }
            _ => self.below.child(key, view),
        }
    }
}

/// Checks one document.
pub(crate) struct Checker<'s> {
    pub root: View<'s>,
    /// True for the merged whole, where nothing required may be missing.
    pub complete: bool,
}

impl<'s> Checker<'s> {
    /// Checks the document `node`. `start` is its beginning, for what has no better place.
    pub fn document(&self, node: &Node, below: Below<'s>, start: &Origin) -> Checked {
        self.value(&mut Vec::new(), self.root, node, below, start)
    }

    fn value(&self, path: &mut Vec<String>, view: View<'s>, node: &Node, below: Below<'s>, near: &Origin) -> Checked {
        let at = node.at.as_ref().unwrap_or(near);
        match view.shape() {
            Shape::Any => finite(path, node, at),
            Shape::Choice(words) => {
                let choices: Vec<&str> = words.iter().map(|w| w.name).collect();
                match node.text() {
                    Some(word) if choices.contains(&word) => Ok(()),
                    _ => Err(not_a_choice(dotted(path), node, at.clone(), &choices)),
                }
            }
            Shape::Scalar(types) => scalar(path, view, types, node, at),
            Shape::Array => self.array(path, view, node, below, at),
            Shape::Table => self.table(path, view, node, below, at),
            Shape::Either(branches) => self.either(path, view, &branches, node, below, at),
        }
    }

    fn array(&self, path: &mut Vec<String>, view: View<'s>, node: &Node, below: Below<'s>, at: &Origin) -> Checked {
        if node.is_patch() {
            return self.patch(path, view, node, below, at);
        }
        let Some(elements) = node.elements() else { return Err(wrong_type(path, node, at.clone(), view)) };
        let bound = |name| view.keyword(name).and_then(Value::as_u64);
        let (least, most) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(u64::MAX));
        if !(least..=most).contains(&(elements.len() as u64)) {
            let advice = format!("expected {}", length_range(least, most));
            return Err(SettingsError::BadValue { at: at.clone(), key: dotted(path), found: node.describe(), advice });
        }
        for (index, element) in elements.iter().enumerate() {
            path.push(index.to_string());
            self.value(path, view.element(index), element, Below::default(), at)?;
            path.pop();
        }
        Ok(())
    }

    /// Checks a `--set` into the elements of an array.
    fn patch(&self, path: &mut Vec<String>, view: View<'s>, node: &Node, below: Below<'s>, at: &Origin) -> Checked {
        let length = below.length();
        for entry in node.entries().unwrap_or_default() {
            let at = entry.at.as_ref().unwrap_or(at);
            let Some(index) = entry.key.parse().ok().filter(|&index: &usize| index < length) else {
                return Err(no_element(path, &entry.key, length, at));
            };
            path.push(entry.key.clone());
            self.value(path, view.element(index), &entry.node, below.element(index), at)?;
            path.pop();
        }
        Ok(())
    }

    fn table(&self, path: &mut Vec<String>, view: View<'s>, node: &Node, below: Below<'s>, at: &Origin) -> Checked {
        let Some(entries) = node.entries() else { return Err(wrong_type(path, node, at.clone(), view)) };
        let fields = view.fields(&|tagged| pick(node, below, tagged));
        self.tags(path, &fields, node, at)?;
        let before = view.fields(&|tagged| below.variant(tagged.tag).map(str::to_string));
        let table = Table { node, below, fields, before };
        for entry in entries.iter().filter(|e| !table.fields.is_tag(&e.key)) {
            self.entry(path, &table, entry, at)?;
        }
        if self.complete {
            self.required(path, &table.fields, node, at)?;
        }
        Ok(())
    }

    /// Checks that every tag written names a variant.
    fn tags(&self, path: &[String], fields: &Fields<'s>, node: &Node, at: &Origin) -> Checked {
        for (tagged, chosen) in &fields.tags {
            match node.get(tagged.tag) {
                Some(tag) if chosen.is_none() => {
                    let at = tag.at.as_ref().unwrap_or(at).clone();
                    return Err(not_a_choice(join(path, tagged.tag), tag, at, &tagged.names()));
                }
                None if self.complete => {
                    let advice = format!("expected {}", one_of(&tagged.names()));
                    return Err(SettingsError::MissingKey { at: at.clone(), key: join(path, tagged.tag), advice });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn entry(&self, path: &mut Vec<String>, table: &Table<'_, 's>, entry: &Entry, at: &Origin) -> Checked {
        let at = entry.at.as_ref().unwrap_or(at);
        let field = table.fields.get(&entry.key);
        let Some(view) = field.map(|f| f.view).or(table.fields.others) else {
            let chosen = chosen_variants(&table.fields, table.node, table.below);
            return Err(unknown_key(self.root, path, entry, at.clone(), &table.fields, &chosen));
        };
        let is_optional = field.is_some_and(|f| !f.required || view.default().is_some());
        if entry.node.data == Data::Absent || is_optional && is_absent(view, &entry.node) {
            return Ok(());
        }
        path.push(entry.key.clone());
        self.value(path, view, &entry.node, table.below(&entry.key, view), at)?;
        path.pop();
        Ok(())
    }

    fn required(&self, path: &[String], fields: &Fields<'s>, node: &Node, at: &Origin) -> Checked {
        let missing = |f: &&Field| f.required && f.view.default().is_none() && node.get(f.name).is_none();
        let Some(field) = fields.list.iter().find(missing) else { return Ok(()) };
        let doc = field.view.doc().lines().next().unwrap_or("");
        let advice = format!("expected {}", expected(field.view));
        let advice = if doc.is_empty() { advice } else { format!("{advice} ({})", doc.trim_end_matches('.')) };
        Err(SettingsError::MissingKey { at: at.clone(), key: join(path, field.name), advice })
    }

    /// True if the value is right as this schema has it.
    pub fn fits(&self, view: View<'s>, node: &Node, below: Below<'s>) -> bool {
        self.value(&mut Vec::new(), view, node, below, &Origin::Set(String::new())).is_ok()
    }

    /// Any branch that fits will do; otherwise the error is that of the branch that was most likely meant.
    fn either(
        &self,
        path: &mut Vec<String>,
        view: View<'s>,
        branches: &[View<'s>],
        node: &Node,
        below: Below<'s>,
        at: &Origin,
    ) -> Checked {
        if branches.iter().any(|&branch| self.fits(branch, node, below)) {
            return Ok(());
        }
        let alike: Vec<View> = branches.iter().copied().filter(|&branch| same_kind(branch, node)).collect();
        let known = |branch: View| {
            let fields = branch.fields(&|_| None);
            node.entries().unwrap_or_default().iter().filter(|e| fields.get(&e.key).is_some()).count()
        };
        match alike.as_slice() {
            [] => Err(wrong_type(path, node, at.clone(), view)),
            [only] if matches!(only.shape(), Shape::Choice(_)) => Err(wrong_type(path, node, at.clone(), view)),
            &[only] => self.value(path, only, node, below, at),
            many => {
                // Of equals `max_by_key` takes the last, and the first is the one to prefer.
                let best = many.iter().rev().max_by_key(|&&branch| known(branch)).copied().unwrap_or(view);
                self.value(path, best, node, below, at)
            }
        }
    }
}

/// True if a field belongs to a variant that this layer chooses anew.
pub(crate) fn changes_variant(field: &Field<'_>, table: &Node, below: Below<'_>) -> bool {
    let Some((tag, _)) = field.owner else { return false };
    let changed = |old: &str| table.get(tag).is_some_and(|new| new.text() != Some(old));
    below.variant(tag).is_some_and(changed)
}

/// True if the variants before and now have this option in common: one whose schema says the same in both, in meaning, kind, range
/// and default.
pub(crate) fn is_kept(key: &str, before: &Fields<'_>, now: &Fields<'_>) -> bool {
    let (before, now) = (before.get(key), now.get(key));
    matches!((before, now), (Some(before), Some(now)) if before.view.says_as_much_as(now.view))
}

fn chosen_variants<'a>(fields: &'a Fields<'a>, table: &Node, below: Below<'_>) -> Vec<Chosen<'a>> {
    let origin = |tag: &str| {
        let lower = below.lower.and_then(|node| node.get(tag)).and_then(|node| node.at.clone());
        let here = table.get(tag).map(|node| node.at.clone());
        match here {
            Some(Some(_)) => None,
            _ => Some(lower),
        }
    };
    let chosen = fields
        .tags
        .iter()
        .filter_map(|(tagged, variant)| Some(Chosen { tagged, variant: (*variant)?, from: origin(tagged.tag) }));
    chosen.collect()
}

fn no_element(path: &[String], index: &str, length: usize, at: &Origin) -> SettingsError {
    let array = dotted(path);
    let advice = match length {
        0 => format!("'{array}' has no elements here"),
        1 => format!("'{array}' has 1 element, number 0"),
        _ => format!("'{array}' has {length} elements, numbered 0 to {}", length - 1),
    };
    SettingsError::BadValue { at: at.clone(), key: array, found: format!("addressed at {index}"), advice }
}

fn length_range(least: u64, most: u64) -> String {
    match (least, most) {
        (a, b) if a == b => format!("exactly {a} elements"),
        (a, u64::MAX) => format!("at least {a} elements"),
        (0, b) => format!("at most {b} elements"),
        (a, b) => format!("{a} to {b} elements"),
    }
}

/// True if a value is of the kind that a branch wants, right or wrong in its details.
fn same_kind(view: View<'_>, node: &Node) -> bool {
    match view.shape() {
        Shape::Any => true,
        Shape::Choice(_) => matches!(node.data, Data::Text(_)),
        Shape::Array => node.elements().is_some() || node.is_patch(),
        Shape::Table => node.entries().is_some(),
        Shape::Scalar(types) => types.iter().any(|t| has_type(node, t) || *t == "integer" && has_type(node, "number")),
        Shape::Either(branches) => branches.iter().any(|&branch| same_kind(branch, node)),
    }
}

fn has_type(node: &Node, json_type: &str) -> bool {
    match &node.data {
        Data::Boolean(_) => json_type == "boolean",
        Data::Integer(_) => matches!(json_type, "integer" | "number"),
        Data::Float(_) => json_type == "number",
        Data::Text(_) => json_type == "string",
        _ => false,
    }
}

fn scalar(path: &[String], view: View<'_>, types: &[&str], node: &Node, at: &Origin) -> Checked {
    if !types.iter().any(|t| has_type(node, t)) {
        return Err(wrong_type(path, node, at.clone(), view));
    }
    finite(path, node, at)?;
    match broken_bound(view, node) {
        None => Ok(()),
        Some(advice) => {
            Err(SettingsError::BadValue { at: at.clone(), key: dotted(path), found: node.describe(), advice })
        }
    }
}

/// Refuses what JSON cannot hold: infinities, NaN, and integers beyond 64 bits.
fn finite(path: &[String], node: &Node, at: &Origin) -> Checked {
    let at = node.at.as_ref().unwrap_or(at);
    let inner = |key: &str, child: &Node| finite(&[path, &[key.to_string()]].concat(), child, at);
    let advice = match &node.data {
        Data::Float(x) if !x.is_finite() => "expected a finite number",
        Data::Integer(i) if *i > u64::MAX.into() => "the largest is 18446744073709551615",
        Data::Integer(i) if *i < i64::MIN.into() => "the smallest is -9223372036854775808",
        Data::Array(nodes) => return nodes.iter().enumerate().try_for_each(|(i, n)| inner(&i.to_string(), n)),
        Data::Table(entries) => return entries.iter().try_for_each(|e| inner(&e.key, &e.node)),
        _ => return Ok(()),
    };
    Err(SettingsError::BadValue { at: at.clone(), key: dotted(path), found: node.describe(), advice: advice.into() })
}
