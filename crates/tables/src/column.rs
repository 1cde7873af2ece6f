//! A column: its name, its meaning, and the function that reads its values from rows.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
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

    /// Its type in Arrow.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        match self.value {
            Value::U64(_) => DataType::UInt64,
            Value::U32(_) => DataType::UInt32,
            Value::F64(_) | Value::Maybe(_) => DataType::Float64,
            Value::Bool(_) => DataType::Boolean,
            Value::Text(_) => DataType::Utf8,
        }
    }

    /// True if values may be missing.
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        matches!(self.value, Value::Maybe(_))
    }

    fn array(&self, rows: &[R]) -> ArrayRef {
        match &self.value {
            Value::U64(get) => Arc::new(UInt64Array::from(rows.iter().map(get).collect::<Vec<_>>())),
            Value::U32(get) => Arc::new(UInt32Array::from(rows.iter().map(get).collect::<Vec<_>>())),
            Value::F64(get) => Arc::new(Float64Array::from(rows.iter().map(get).collect::<Vec<_>>())),
            Value::Maybe(get) => Arc::new(rows.iter().map(get).collect::<Float64Array>()),
            Value::Bool(get) => Arc::new(BooleanArray::from(rows.iter().map(get).collect::<Vec<_>>())),
            Value::Text(get) => Arc::new(StringArray::from_iter_values(rows.iter().map(get))),
        }
    }
}

/// The columns of a table as Arrow knows them, each with its meaning.
#[must_use]
pub fn schema<R>(columns: &[Column<R>]) -> SchemaRef {
    let field = |column: &Column<R>| {
        let doc = HashMap::from([("doc".to_owned(), column.doc.clone())]);
        Field::new(&column.name, column.data_type(), column.is_nullable()).with_metadata(doc)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Rows as columns.
///
/// # Errors
/// Never, since the schema is that of the columns; what Arrow would say is handed on.
pub fn batch<R>(schema: &SchemaRef, columns: &[Column<R>], rows: &[R]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema.clone(), columns.iter().map(|column| column.array(rows)).collect())
}
