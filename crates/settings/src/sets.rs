//! `--set KEY=VALUE`: overrides from the command line, together one layer above all files.

use crate::document::{parse, Data, Entry, Node};
use crate::error::{Origin, SettingsError};
use crate::merge::overlay;

/// Parses all overrides into one document; of two for the same key the later one counts.
pub(crate) fn document(sets: &[String]) -> Result<Option<Node>, SettingsError> {
    let mut whole: Option<Node> = None;
    for set in sets {
        let one = parse_one(set)?;
        whole = Some(match whole {
            Some(before) => overlay(before, one),
            None => one,
        });
    }
    Ok(whole)
}

fn parse_one(set: &str) -> Result<Node, SettingsError> {
    let form = |message: String| SettingsError::SetForm { set: set.to_string(), message };
    let Some((key, value)) = set.split_once('=') else {
        let key = if set.trim().is_empty() { "KEY" } else { set.trim() };
        return Err(form(format!("expected KEY=VALUE, for example --set {key}=VALUE")));
    };
    let path = key_path(key.trim()).ok_or_else(|| {
        form(format!("'{}' is not a key; expected KEY=VALUE, for example --set victim.policy=greedy", key.trim()))
    })?;
    if path.first().is_some_and(|first| first == "extends") {
        return Err(form("'extends' can only be written in a file".to_string()));
    }
    let at = Origin::Set(set.to_string());
    let value = value_node(value.trim()).map_err(form)?;
    let leaf = placed(value, &at);
    let wrap = |node, key| {
        let entry = Entry { key, at: Some(at.clone()), node };
        Node { at: Some(at.clone()), data: Data::Table(vec![entry]) }
    };
    Ok(path.into_iter().rev().fold(leaf, wrap))
}

/// The parts of a dotted key, which may be quoted as in TOML.
fn key_path(key: &str) -> Option<Vec<String>> {
    if key.contains('\n') {
        return None;
    }
    let mut node = parse("", &format!("{key} = 0")).ok()?;
    let mut path = Vec::new();
    while let Data::Table(mut entries) = node.data {
        let entry = entries.pop()?;
        path.push(entry.key);
        node = entry.node;
    }
    Some(path)
}

/// A TOML value; what is none, and does not begin like one that needs an end, is a string as it stands.
fn value_node(text: &str) -> Result<Node, String> {
    if text.is_empty() {
        return Err("the value is empty; an empty string is written \"\", in quotes".to_string());
    }
    let parsed = parse("", &format!("value = {text}"));
    let bare = || Node { at: None, data: Data::Text(text.to_string()) };
    match parsed {
        Ok(Node { data: Data::Table(mut entries), .. }) if entries.len() == 1 => {
            Ok(entries.pop().map_or_else(bare, |entry| entry.node))
        }
        Err(error) if text.starts_with(['"', '\'', '[', '{']) => {
            let said = match error {
                SettingsError::Syntax { message, .. } => message,
                other => other.to_string(),
            };
            Err(format!("the value is {said}"))
        }
        _ => Ok(bare()),
    }
}

/// Gives a value and all within it one place: the command line has no lines and columns.
fn placed(mut node: Node, at: &Origin) -> Node {
    node.at = Some(at.clone());
    match &mut node.data {
        Data::Array(nodes) => nodes.iter_mut().for_each(|n| *n = placed(n.clone(), at)),
        Data::Table(entries) => entries.iter_mut().for_each(|e| {
            e.at = Some(at.clone());
            e.node = placed(e.node.clone(), at);
        }),
        _ => {}
    }
    node
}
