//! A parsed layer: a tree of values that remember where they were written.

use crate::error::{Origin, SettingsError};
use serde_json::{Map, Number, Value};
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::Spanned;

/// A value and its place; no place means that it is a default.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub at: Option<Origin>,
    pub data: Data,
}

/// One `key = value` of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub at: Option<Origin>,
    pub node: Node,
}

/// The kinds of value. Integers are wide enough for TOML's signed and Rust's unsigned 64 bits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Date(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
    /// An option that a layer takes away from those below it.
    Absent,
}

impl Node {
    /// The entries, if this is a table.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.data {
            Data::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The elements, if this is an array.
    pub fn elements(&self) -> Option<&[Node]> {
        match &self.data {
            Data::Array(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// True for what `--set job.0.rw=read` makes of `job`: a table of indices that changes elements of an array.
    pub fn is_patch(&self) -> bool {
        let from_set = matches!(self.at, Some(Origin::Set(_)));
        let digits = |e: &Entry| e.key.bytes().all(|b| b.is_ascii_digit());
        from_set && self.entries().is_some_and(|entries| !entries.is_empty() && entries.iter().all(digits))
    }

    /// The value in a few words, as messages show it.
    pub fn describe(&self) -> String {
        match &self.data {
            Data::Boolean(b) => b.to_string(),
            Data::Integer(i) => i.to_string(),
            Data::Float(x) if x.is_nan() => "nan".to_string(),
            Data::Float(x) => format!("{x:?}"),
            Data::Text(text) => quoted(text),
            Data::Date(date) => date.clone(),
            Data::Array(nodes) if nodes.len() == 1 => "an array of 1 element".to_string(),
            Data::Array(nodes) => format!("an array of {} elements", nodes.len()),
            Data::Table(_) => "a table".to_string(),
            Data::Absent => "absent".to_string(),
        }
    }

    /// The value for the brackets after a key: `value 8`, `a table`.
    pub fn describe_value(&self) -> String {
        match &self.data {
            Data::Array(_) | Data::Table(_) => self.describe(),
            _ => format!("value {}", self.describe()),
        }
    }

    /// The tree as JSON, which is what serde reads it from.
    pub fn to_json(&self) -> Value {
        match &self.data {
            Data::Boolean(b) => Value::Bool(*b),
            Data::Integer(i) => integer_json(*i),
            Data::Float(x) => Number::from_f64(*x).map_or(Value::Null, Value::Number),
            Data::Text(text) | Data::Date(text) => Value::String(text.clone()),
            Data::Array(nodes) => Value::Array(nodes.iter().map(Node::to_json).collect()),
            Data::Table(entries) => {
                let given = entries.iter().filter(|e| e.node.data != Data::Absent);
                Value::Object(given.map(|e| (e.key.clone(), e.node.to_json())).collect::<Map<_, _>>())
            }
            Data::Absent => Value::Null,
        }
    }

    /// A default from the schema as a tree without places. `None` for null, which TOML does not have.
    pub fn from_json(value: &Value) -> Option<Node> {
        let data = match value {
            Value::Null => return None,
            Value::Bool(b) => Data::Boolean(*b),
            Value::Number(n) => number_data(n),
            Value::String(text) => Data::Text(text.clone()),
            Value::Array(values) => Data::Array(values.iter().filter_map(Node::from_json).collect()),
            Value::Object(map) => Data::Table(
                map.iter()
                    .filter_map(|(key, v)| Some(Entry { key: key.clone(), at: None, node: Node::from_json(v)? }))
                    .collect(),
            ),
        };
        Some(Node { at: None, data })
    }
}

/// An integer that JSON can hold as it is; the check has refused all others before.
fn integer_json(i: i128) -> Value {
    match (i64::try_from(i), u64::try_from(i)) {
        (Ok(small), _) => Value::from(small),
        (_, Ok(large)) => Value::from(large),
        _ => Value::Null,
    }
}

fn number_data(n: &Number) -> Data {
    match (n.as_i64(), n.as_u64()) {
        (Some(i), _) => Data::Integer(i.into()),
        (_, Some(u)) => Data::Integer(u.into()),
        _ => Data::Float(n.as_f64().unwrap_or(f64::NAN)),
    }
}

/// A string in quotes, cut short if it would drown the message, with control characters made visible.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(LONGEST).collect();
    format!("{head:?}...")
}

/// Turns byte offsets of one text into lines and columns.
struct Places<'a> {
    name: &'a str,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Places<'a> {
    /// The line in which a span begins, to be shown below a message; nothing for a text without a name, which is one line.
    fn line_of(&self, span: Option<Range<usize>>, name: &str) -> String {
        let Some(Range { start, .. }) = span.filter(|_| !name.is_empty()) else { return String::new() };
        let line = self.line_starts.partition_point(|&from| from <= start);
        let text = self.text.lines().nth(line - 1).unwrap_or("").trim();
        if text.is_empty() {
            return String::new();
        }
        let shown: String = text.chars().take(100).map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("\n  line {line}: {shown}")
    }

    fn new(name: &'a str, text: &'a str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Places { name, text, line_starts }
    }

    fn at(&self, offset: usize) -> Origin {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        // Columns count characters; an offset within a character is rounded down rather than trusted.
        let column = self.text[start..].char_indices().take_while(|(i, _)| start + i < offset).count() + 1;
        Origin::File { name: self.name.to_string(), line, column }
    }
}

/// Reads bytes as text, or says which byte is not text.
pub(crate) fn decode(name: &str, bytes: Vec<u8>) -> Result<String, SettingsError> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let byte = error.as_bytes()[valid];
            let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
            return Err(not_text(name, &before, &format!("byte 0x{byte:02x}"), "is not UTF-8"));
        }
    };
    match text.find('\0') {
        Some(offset) => Err(not_text(name, &text[..offset], "byte 0x00", "does not occur in text")),
        None => Ok(text),
    }
}

fn not_text(name: &str, before: &str, byte: &str, why: &str) -> SettingsError {
    let reason = format!("not a text file ({byte} at offset {} {why}); a configuration is TOML in UTF-8", before.len());
    SettingsError::NotText { at: Places::new(name, before).at(before.len()), reason }
}

/// Parses one TOML document.
pub(crate) fn parse(name: &str, text: &str) -> Result<Node, SettingsError> {
    // A byte order mark is no column.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let places = Places::new(name, text);
    let place = |span: Range<usize>| places.at(span.start);
    let table = DeTable::parse(text).map_err(|error| SettingsError::Syntax {
        at: place(error.span().unwrap_or(0..0)),
        message: format!("not valid TOML: {}{}", error.message(), places.line_of(error.span(), name)),
    })?;
    Ok(Node { at: Some(Origin::start_of(name)), data: table_data(table.get_ref(), &place)? })
}

/// Converts a table, its keys in the order in which they were written.
fn table_data(table: &DeTable<'_>, place: &dyn Fn(Range<usize>) -> Origin) -> Result<Data, SettingsError> {
    let mut pairs: Vec<_> = table.iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let mut entries = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let node = convert(value, place)?;
        entries.push(Entry { key: key.get_ref().to_string(), at: Some(place(key.span())), node });
    }
    Ok(Data::Table(entries))
}

fn convert(value: &Spanned<DeValue<'_>>, place: &dyn Fn(Range<usize>) -> Origin) -> Result<Node, SettingsError> {
    let at = place(value.span());
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Boolean(b) => Data::Boolean(*b),
        DeValue::Datetime(date) => Data::Date(date.to_string()),
        DeValue::Array(values) => Data::Array(values.iter().map(|v| convert(v, place)).collect::<Result<Vec<_>, _>>()?),
        DeValue::Table(table) => table_data(table, place)?,
        DeValue::Integer(i) => match i128::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Data::Integer(i),
            Err(_) => return Err(too_large(at, i.as_str())),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Data::Float(x),
            Err(_) => return Err(too_large(at, x.as_str())),
        },
    };
    Ok(Node { at: Some(at), data })
}

fn too_large(at: Origin, number: &str) -> SettingsError {
    SettingsError::Syntax { at, message: format!("the number {} is too large", quoted(number).trim_matches('"')) }
}
