//! Laying one layer over another.

use crate::check::{changes_variant, is_absent, is_kept, pick, Below, Checker};
use crate::document::{Data, Entry, Node};
use crate::error::Origin;
use crate::schema::{Field, Fields, Shape, View};
use serde_json::Value;
use std::collections::BTreeMap;

/// Lays `upper`, which has been checked, over `lower`. Tables merge, everything else is replaced; a table that chooses
/// another variant keeps of the options that the layers below gave to the old one those that both have, and loses the others.
pub(crate) fn merge(view: View<'_>, lower: Node, upper: Node, default: Option<&Value>) -> Node {
    match view.shape() {
        Shape::Array if upper.is_patch() => patch(view, lower, upper),
        Shape::Table if lower.entries().is_some() && upper.entries().is_some() => {
            merge_tables(view, lower, upper, default)
        }
        Shape::Any => overlay(lower, upper),
        Shape::Either(_) => {
            let merged = overlay(lower, upper.clone());
            // Two layers may use two forms that do not mix; then the higher one stands alone.
            let checker = Checker { root: view, complete: true };
            if checker.fits(view, &merged, Below::default()) {
                merged
            } else {
                upper
            }
        }
        _ => upper,
    }
}

fn merge_tables(view: View<'_>, lower: Node, upper: Node, default: Option<&Value>) -> Node {
    let below = Below { lower: Some(&lower), default };
    let chosen = view.fields(&|tagged| pick(&upper, below, tagged));
    let before = view.fields(&|tagged| below.variant(tagged.tag).map(str::to_string));
    let is_lost = |f: &&Field<'_>| changes_variant(f, &upper, below) && !is_kept(f.name, &before, &chosen);
    let dropped: Vec<&str> = before.list.iter().filter(is_lost).map(|f| f.name).collect();
    let mut entries: Vec<Entry> = lower.entries().unwrap_or_default().to_vec();
    entries.retain(|entry| !dropped.contains(&entry.key.as_str()));
    let Data::Table(above) = upper.data else { return upper };
    for entry in above {
        lay_entry(&mut entries, &chosen, entry, default);
    }
    Node { at: table_place(lower.at, upper.at), data: Data::Table(entries) }
}

/// A table that a file has is the file's, though `--set` changes a key of it: what it lacks is missing there.
fn table_place(lower: Option<Origin>, upper: Option<Origin>) -> Option<Origin> {
    match (&lower, &upper) {
        (Some(Origin::File { .. }), Some(Origin::Set(_))) => lower,
        _ => upper,
    }
}

/// Lays one entry of the upper layer over the table below.
fn lay_entry(entries: &mut Vec<Entry>, fields: &Fields<'_>, upper: Entry, default: Option<&Value>) {
    let view = fields.get(&upper.key).map(|f| f.view).or(fields.others);
    let own = view.and_then(View::default).or_else(|| default.and_then(|value| value.get(&upper.key)));
    let place = entries.iter().position(|e| e.key == upper.key);
    let below = place.map(|index| entries.remove(index).node).filter(|node| node.data != Data::Absent);
    // A patch needs something to patch: the elements that the schema has by default.
    let lower = match below {
        None if upper.node.is_patch() => own.and_then(Node::from_json).filter(|node| node.elements().is_some()),
        below => below,
    };
    let node = match (lower, view) {
        (_, Some(view)) if is_absent(view, &upper.node) => Node { at: upper.node.at, data: Data::Absent },
        (Some(lower), Some(view)) => merge(view, lower, upper.node, own),
        // Even without a table below, an array further in may be patched from its default.
        (None, Some(view)) if upper.node.entries().is_some() && matches!(view.shape(), Shape::Table) => {
            let empty = Node { at: upper.node.at.clone(), data: Data::Table(Vec::new()) };
            merge(view, empty, upper.node, own)
        }
        _ => upper.node,
    };
    entries.insert(place.unwrap_or(entries.len()), Entry { key: upper.key, at: upper.at, node });
}

fn patch(view: View<'_>, lower: Node, upper: Node) -> Node {
    let (Data::Array(mut elements), Data::Table(changes)) = (lower.data, upper.data) else {
        // The check has refused a patch without an array below it.
        return Node { at: lower.at, data: Data::Array(Vec::new()) };
    };
    for change in changes {
        if let Some((index, element)) = change.key.parse().ok().and_then(|i: usize| Some((i, elements.get_mut(i)?))) {
            let old = std::mem::replace(element, Node { at: None, data: Data::Boolean(false) });
            *element = merge(view.element(index), old, change.node, None);
        }
    }
    Node { at: lower.at, data: Data::Array(elements) }
}

/// Lays one tree over another without a schema.
pub(crate) fn overlay(lower: Node, upper: Node) -> Node {
    let patches = upper.is_patch();
    match (lower.data, upper.data) {
        (Data::Table(mut entries), Data::Table(above)) => {
            for entry in above {
                match entries.iter().position(|e| e.key == entry.key) {
                    Some(index) => {
                        let below = entries.remove(index);
                        entries.insert(index, Entry { node: overlay(below.node, entry.node), ..entry });
                    }
                    None => entries.push(entry),
                }
            }
            Node { at: table_place(lower.at, upper.at), data: Data::Table(entries) }
        }
        (Data::Array(mut elements), Data::Table(changes)) if patches && all_within(&changes, elements.len()) => {
            for change in changes {
                if let Some(element) = change.key.parse().ok().and_then(|i: usize| elements.get_mut(i)) {
                    *element = overlay(element.clone(), change.node);
                }
            }
            Node { at: lower.at, data: Data::Array(elements) }
        }
        (_, data) => Node { at: upper.at, data },
    }
}

fn all_within(changes: &[Entry], length: usize) -> bool {
    changes.iter().all(|change| change.key.parse().is_ok_and(|index: usize| index < length))
}

/// Writes out the variant where only the schema's default chooses it: serde itself would find no tag.
pub(crate) fn fill_tags(view: View<'_>, node: &mut Node, default: Option<&Value>) {
    if let (Shape::Array, Data::Array(elements)) = (view.shape(), &mut node.data) {
        elements.iter_mut().enumerate().for_each(|(i, element)| fill_tags(view.element(i), element, None));
        return;
    }
    if !matches!(view.shape(), Shape::Table) || node.entries().is_none() {
        return;
    }
    let below = Below { lower: None, default };
    let fields = view.fields(&|tagged| pick(node, below, tagged));
    let filled = default_entries(&fields, node, default);
    let Data::Table(entries) = &mut node.data else { return };
    entries.extend(filled);
    for entry in entries {
        if let Some(view) = fields.get(&entry.key).map(|f| f.view).or(fields.others) {
            let own = view.default().or_else(|| default.and_then(|value| value.get(&entry.key)));
            fill_tags(view, &mut entry.node, own);
        }
    }
}

/// The tags that `node` lacks, and with each the options that the default gives to its variant.
fn default_entries(fields: &Fields<'_>, node: &Node, default: Option<&Value>) -> Vec<Entry> {
    let lacking: Vec<&str> =
        fields.tags.iter().map(|(tagged, _)| tagged.tag).filter(|tag| node.get(tag).is_none()).collect();
    let options = fields.list.iter().filter(|f| f.owner.is_some_and(|(tag, _)| lacking.contains(&tag)));
    let wanted = lacking.iter().copied().chain(options.map(|f| f.name).filter(|name| node.get(name).is_none()));
    let entry = |key: &str| {
        let node = Node::from_json(default?.get(key)?)?;
        Some(Entry { key: key.to_string(), at: None, node })
    };
    wanted.filter_map(entry).collect()
}

/// Where each value was set: every leaf, by its dotted key. An array without tables is one leaf.
pub(crate) fn origins(node: &Node) -> BTreeMap<String, Origin> {
    let mut found = BTreeMap::new();
    collect_origins(&mut Vec::new(), node, None, &mut found);
    found
}

fn collect_origins(path: &mut Vec<String>, node: &Node, key_at: Option<&Origin>, into: &mut BTreeMap<String, Origin>) {
    match &node.data {
        Data::Table(entries) => {
            for entry in entries {
                path.push(entry.key.clone());
                collect_origins(path, &entry.node, entry.at.as_ref(), into);
                path.pop();
            }
        }
        Data::Array(nodes) if nodes.iter().any(|n| n.entries().is_some()) => {
            for (index, node) in nodes.iter().enumerate() {
                path.push(index.to_string());
                collect_origins(path, node, node.at.as_ref(), into);
                path.pop();
            }
        }
        _ => {
            if let Some(at) = key_at {
                into.insert(crate::report::dotted(path), at.clone());
            }
        }
    }
}
