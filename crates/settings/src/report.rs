//! Messages of a check: unknown keys and wrong values.

use crate::advice::{nearest, split_unit, unit, unit_advice};
use crate::document::{Data, Entry, Node};
use crate::error::{Origin, SettingsError};
use crate::keys::flatten;
use crate::schema::{Fields, Shape, Tagged, View};

/// A dotted key from its parts; parts that TOML would quote are quoted.
pub(crate) fn dotted(path: &[String]) -> String {
    let bare = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let parts: Vec<String> =
        path.iter().map(|part| if bare(part) { part.clone() } else { format!("{part:?}") }).collect();
    parts.join(".")
}

/// The dotted key of a child.
pub(crate) fn join(path: &[String], key: &str) -> String {
    let mut path = path.to_vec();
    path.push(key.to_string());
    dotted(&path)
}

/// The variant chosen and its origin, for messages.
pub(crate) struct Chosen<'a> {
    pub tagged: &'a Tagged<'a>,
    pub variant: &'a str,
    /// Where the tag was written if in a lower layer, `None` inside for the default; nothing if in this table.
    pub from: Option<Option<Origin>>,
}

/// An error on a key that its table does not have.
pub(crate) fn unknown_key(
    root: View<'_>,
    path: &[String],
    entry: &Entry,
    at: Origin,
    fields: &Fields<'_>,
    chosen: &[Chosen<'_>],
) -> SettingsError {
    let (key, found) = (join(path, &entry.key), entry.node.describe_value());
    if let Some(advice) = chosen.iter().find_map(|c| misfit(c, &entry.key)) {
        return SettingsError::Misfit { at, key, found, advice };
    }
    let names = fields.names();
    let advice = unit_advice(&entry.key, &names)
        .or_else(|| nearest(&entry.key, names.iter().copied()).map(|near| did_you_mean(&join(path, near))))
        .or_else(|| elsewhere(root, &entry.key).map(|key| did_you_mean(&key)))
        .unwrap_or_else(|| listing(path, &names, chosen));
    SettingsError::UnknownKey { at, key, found, advice }
}

fn did_you_mean(key: &str) -> String {
    format!("did you mean '{key}'?")
}

/// Advice on a key that other variants have and the chosen one does not.
fn misfit(chosen: &Chosen<'_>, key: &str) -> Option<String> {
    let tag = chosen.tagged.tag;
    let has = |view: View<'_>| view.fields(&|_| None).get(key).is_some();
    let owners: Vec<String> =
        chosen.tagged.variants().filter(|v| has(v.view)).map(|v| format!("'{}'", v.name)).collect();
    if owners.is_empty() {
        return None;
    }
    let from = match &chosen.from {
        None => String::new(),
        Some(None) => " (the default)".to_string(),
        Some(Some(origin)) => format!(" (set at {origin})"),
    };
    let owners = owners.join(" and ");
    Some(format!("does not fit {tag} '{}'{from}; it is an option of {tag} {owners}", chosen.variant))
}

/// A key of that very name in another section.
fn elsewhere(root: View<'_>, word: &str) -> Option<String> {
    let mut keys = flatten(root).into_iter().map(|doc| doc.key);
    keys.find(|key| key.rsplit('.').next() == Some(word) && key.contains('.'))
}

fn listing(path: &[String], names: &[&str], chosen: &[Chosen<'_>]) -> String {
    let section = if path.is_empty() { "top-level keys".to_string() } else { format!("keys of '{}'", dotted(path)) };
    let with: Vec<String> = chosen.iter().map(|c| format!("{} '{}'", c.tagged.tag, c.variant)).collect();
    let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" and ")) };
    if names.is_empty() {
        return format!("there are no {section}{with}");
    }
    format!("the {section}{with} are: {}", names.join(", "))
}

/// An error on a word that is not among the choices.
pub(crate) fn not_a_choice(key: String, node: &Node, at: Origin, choices: &[&str]) -> SettingsError {
    let near = node.text().and_then(|word| nearest(word, choices.iter().copied()));
    let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    let advice = format!("expected {}{near}", one_of(choices));
    SettingsError::BadValue { at, key, found: node.describe(), advice }
}

/// An error on a value of the wrong type.
pub(crate) fn wrong_type(path: &[String], node: &Node, at: Origin, view: View<'_>) -> SettingsError {
    let hint = path.last().and_then(|key| type_hint(key, node, view, &at));
    let advice = match hint {
        Some(hint) => format!("expected {}; {hint}", expected(view)),
        None => format!("expected {}", expected(view)),
    };
    SettingsError::BadValue { at, key: dotted(path), found: node.describe(), advice }
}

/// Probable cause of a value of the wrong type.
fn type_hint(key: &str, node: &Node, view: View<'_>, at: &Origin) -> Option<String> {
    let types = view.types();
    let numeric = is_numeric(view);
    match &node.data {
        Data::Text(text) if numeric => number_in_text(key, text),
        Data::Text(text) if types.contains(&"boolean") => {
            matches!(text.as_str(), "true" | "false").then(|| format!("write {text} without quotes"))
        }
        Data::Text(word) if matches!(view.shape(), Shape::Table) => {
            let tagged = view.tagged().into_iter().find(|t| t.variant(word).is_some())?;
            Some(format!("write '{key}.{} = \"{word}\"'", tagged.tag))
        }
        Data::Text(word) if !view.words().is_empty() => {
            nearest(word, view.words().iter().map(|w| w.name)).map(|near| format!("did you mean '{near}'?"))
        }
        Data::Table(_) if matches!((view.shape(), at), (Shape::Array, Origin::Set(_))) => {
            Some(format!("address an element by its number, as in '{key}.0'"))
        }
        Data::Table(_) if matches!(view.shape(), Shape::Array) && holds_tables(view) => {
            Some(format!("write [[{key}]], in two pairs of brackets"))
        }
        Data::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => Some(format!("write {x:.0}")),
        Data::Integer(_) | Data::Boolean(_) | Data::Date(_) if types.contains(&"string") => {
            let value = node.describe();
            Some(match at {
                Origin::Set(_) => format!("write '{key}=\"{value}\"', with both kinds of quotes"),
                Origin::File { .. } => format!("write \"{value}\""),
            })
        }
        _ => None,
    }
}

/// True if a number may stand here, alone or as one of several forms.
fn is_numeric(view: View<'_>) -> bool {
    match view.shape() {
        Shape::Either(branches) => branches.into_iter().any(is_numeric),
        _ => view.types().iter().any(|t| matches!(*t, "integer" | "number")),
    }
}

fn holds_tables(view: View<'_>) -> bool {
    matches!(view.element(0).shape(), Shape::Table)
}

/// Advice on `"50us"` or `"50"` where a number belongs.
fn number_in_text(key: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-._".contains(c))).unwrap_or(text.len());
    let (number, suffix) = (&text[..end], text[end..].trim());
    if number.replace('_', "").parse::<f64>().is_err() || suffix.len() > 10 {
        return None;
    }
    if suffix.is_empty() {
        return Some(format!("write {number} without quotes"));
    }
    let Some((_, own)) = split_unit(key) else {
        return Some("write the number alone, without a unit".to_string());
    };
    let carries = format!("the key already carries its unit ({})", own.name);
    let suffix = suffix.replace('/', "_");
    match unit(&suffix) {
        Some(written) if written.name == own.name => Some(format!("{carries}, write {number}")),
        Some(written) => Some(format!("{carries}, convert the value from {} and write the number alone", written.name)),
        None => Some(format!("{carries}, write the number alone")),
    }
}

/// The expected kind of a schema, with its article.
pub(crate) fn expected(view: View<'_>) -> String {
    match view.shape() {
        Shape::Any => "a value".to_string(),
        Shape::Choice(words) => one_of(&words.iter().map(|w| w.name).collect::<Vec<_>>()),
        Shape::Scalar(types) => types.iter().map(|t| article(t)).collect::<Vec<_>>().join(" or "),
        Shape::Array => match view.element(0) {
            tables if matches!(tables.shape(), Shape::Table) => "an array of tables".to_string(),
            numbers if is_numeric(numbers) => "an array of numbers".to_string(),
            _ => article("array").to_string(),
        },
        Shape::Table => article("object").to_string(),
        Shape::Either(branches) => {
            let mut kinds: Vec<String> = Vec::new();
            for kind in branches.into_iter().map(expected) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            kinds.join(" or ")
        }
    }
}

fn article(json_type: &str) -> &str {
    match json_type {
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "string" => "a string",
        "array" => "an array",
        "object" => "a table",
        other => other,
    }
}

/// `one of a, b`, or the only word there is.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [only] => format!("\"{only}\""),
        _ => format!("one of {}", words.join(", ")),
    }
}
