//! A column: its name, its meaning, and the function that reads its values from rows.

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Takes a value from a row.
pub type Take<R, T> = Box<dyn Fn(&R) -> T + Send + Sync>;

/// How a value is taken from a row, and its type.
pub enum Value<R> {
    /// A whole number.
    U64(Take<R, u64>),
    /// A small whole number.
    U32(fn(&R) -> u32),
    /// A number.
    F64(Take<R, f64>),
    /// A number, or nothing.
    Maybe(Take<R, Option<f64>>),
    /// A truth value.
    Bool(fn(&R) -> bool),
    /// A word.
    Text(fn(&R) -> &'static str),
}

/// A column of a table.
pub struct Column<R> {
    /// Its name, with the unit at its end.
    pub name: String,
    /// Its meaning.
    pub doc: String,
    /// True if most values differ, so that a dictionary would not pay.
    pub varied: bool,
    /// Its values.
    pub value: Value<R>,
}

impl<R> std::fmt::Debug for Column<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Column").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<R> Column<R> {
    /// A column of values that differ.
    #[must_use]
    pub fn varied(self) -> Self {
        Self { varied: true, ..self }
    }

    fn new(name: impl Into<String>, doc: impl Into<String>, value: Value<R>) -> Self {
        Self { name: name.into(), doc: doc.into(), varied: false, value }
    }

    /// Whole numbers.
    pub fn u64(
        name: impl Into<String>,
        doc: impl Into<String>,
        value: impl Fn(&R) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, doc, Value::U64(Box::new(value)))
    }

    /// Small whole numbers.
    pub fn u32(name: impl Into<String>, doc: impl Into<String>, value: fn(&R) -> u32) -> Self {
        Self::new(name, doc, Value::U32(value))
    }

    /// Numbers.
    pub fn f64(
        name: impl Into<String>,
        doc: impl Into<String>,
        value: impl Fn(&R) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, doc, Value::F64(Box::new(value)))
    }

    /// Numbers that may be missing.
    pub fn maybe(
        name: impl Into<String>,
        doc: impl Into<String>,
        value: impl Fn(&R) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, doc, Value::Maybe(Box::new(value)))
    }

    /// Truth values.
    pub fn bool(name: impl Into<String>, doc: impl Into<String>, value: fn(&R) -> bool) -> Self {
        Self::new(name, doc, Value::Bool(value))
    }

    /// Words.
    pub fn text(name: impl Into<String>, doc: impl Into<String>, value: fn(&R) -> &'static str) -> Self {
        Self::new(name, doc, Value::Text(value))
    }

    /// Its type, as `docs/tables.md` names it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::U64(_) => "u64",
            Value::U32(_) => "u32",
            Value::F64(_) => "f64",
            Value::Maybe(_) => "f64 or missing",
            Value::Bool(_) => "bool",
            Value::Text(_) => "text",
        }
    }

    /// True for numbers with a fraction.
    #[must_use]
    pub fn is_floating(&self) -> bool {
        matches!(self.value, Value::F64(_) | Value::Maybe(_))
    }

    fn field(&self) -> Result<Type, ParquetError> {
        let (physical, logical) = match self.value {
            Value::U64(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Value::U32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Value::F64(_) | Value::Maybe(_) => (Physical::DOUBLE, None),
            Value::Bool(_) => (Physical::BOOLEAN, None),
            Value::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let missing = matches!(self.value, Value::Maybe(_));
        Type::primitive_type_builder(&self.name, physical)
            .with_logical_type(logical)
            .with_repetition(if missing { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build()
    }
}

/// The columns of a table as Parquet knows them.
///
/// # Errors
/// Never, since these types exist; what Parquet would say is handed on.
pub fn schema<R>(name: &str, columns: &[Column<R>]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|column| column.field().map(Arc::new)).collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder(name).with_fields(fields).build()?))
}
