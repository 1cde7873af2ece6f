//! One key of a result, and how keys are written down.

use schemars::JsonSchema;
use serde::Serialize;
use wordline_settings::keys as fields_of;

/// A key, or several alike: `by_op.{read,write}.bytes` is two, and `changes[].key` is one of each element of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultKey {
    /// The dotted key.
    pub key: String,
    /// Its meaning.
    pub meaning: String,
    /// Its unit; empty if it has none or the meaning gives it. `object` is a part whose keys are documented elsewhere.
    pub unit: &'static str,
    /// True if name and meaning are kept in later versions.
    pub stable: bool,
    /// Type of its value.
    pub holds: Holds,
    /// True if every result of this layout has it wherever its parent object exists. Keys added later, or present in
    /// some runs only, are not needed.
    pub needed: bool,
    /// True if results of runs may have it.
    pub in_runs: bool,
    /// True if results of replays may have it.
    pub in_replays: bool,
}

/// Type of a value, to check a result that another program may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// A `number`, a `text`, a `boolean`, an `object`, or `any` of them.
    pub of: &'static str,
    /// Nesting in lists: 0 for the value itself, 1 for a list of values, 2 for a list of lists.
    pub depth: u8,
    /// True if `null` is allowed; in a list, in place of an element.
    pub null: bool,
}

impl Holds {
    /// Type implied by the unit: only a key without a unit may be something other than a number.
    pub(super) fn of_unit(unit: &str) -> Self {
        let (of, depth) = match unit.split(", ").next().unwrap_or_default() {
            "object" => ("object", 0),
            "list" if unit == "list" => ("text", 1),
            "list" | "lists" => ("number", 1),
            "list of lists" | "list of pairs" => ("number", 2),
            _ => ("number", 0),
        };
        Self { of, depth, null: false }
    }

    /// Type from a field's kind in words.
    pub(super) fn of_kind(kind: &str) -> Self {
        let (inner, depth) = kind.strip_prefix("array of ").map_or((kind, 0), |inner| (inner, 1));
        let of = match inner.split(' ').next().unwrap_or_default() {
            "integer" | "number" => "number",
            "boolean" => "boolean",
            "string" => "text",
            _ => "any",
        };
        Self { of, depth, null: false }
    }
}

impl ResultKey {
    pub(super) fn text(self) -> Self {
        Self { holds: Holds { of: "text", ..self.holds }, ..self }
    }

    pub(super) fn number(self) -> Self {
        Self { holds: Holds { of: "number", ..self.holds }, ..self }
    }

    pub(super) fn boolean(self) -> Self {
        Self { holds: Holds { of: "boolean", ..self.holds }, ..self }
    }

    pub(super) fn any(self) -> Self {
        Self { holds: Holds { of: "any", ..self.holds }, ..self }
    }

    pub(super) fn needed(self) -> Self {
        Self { needed: true, ..self }
    }

    pub(super) fn or_null(self) -> Self {
        Self { holds: Holds { null: true, ..self.holds }, ..self }
    }
}

pub(super) fn key(key: &str, unit: &'static str, meaning: &str) -> ResultKey {
    ResultKey {
        key: key.to_owned(),
        meaning: meaning.to_owned(),
        unit,
        stable: false,
        holds: Holds::of_unit(unit),
        needed: false,
        in_runs: true,
        in_replays: false,
    }
}

pub(super) fn stable(name: &str, unit: &'static str, meaning: &str) -> ResultKey {
    ResultKey { stable: true, needed: true, ..key(name, unit, meaning) }
}

/// The fields of a struct that is in the result under `prefix`.
pub(super) fn fields<T: JsonSchema + Serialize + 'static>(
    prefix: &str,
    unit: &'static str,
) -> impl Iterator<Item = ResultKey> + use<T> {
    let prefix = prefix.to_owned();
    let leaves = fields_of::<T>().into_iter().filter(|field| field.kind != "table");
    leaves.map(move |field| ResultKey {
        holds: Holds::of_kind(&field.kind),
        ..key(&format!("{prefix}.{}", field.key), unit, &field.doc)
    })
}
