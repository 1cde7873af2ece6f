//! Tables for Python, by the Arrow C interface: pandas, Polars and all others take their columns as they are.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    StringArray, StructArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyIndexError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Number;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::Arc;
use wordline_tables::plain::{self, Values};

/// Names of the capsules, by the Arrow C interface.
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A table in memory.
#[pyclass(name = "Frame", module = "wordline._core", frozen)]
pub struct Frame {
    table: StructArray,
}

impl Frame {
    /// The table of some columns of the same length.
    pub fn new(columns: Vec<(&str, ArrayRef)>) -> PyResult<Self> {
        let fields: Vec<Field> =
            columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        let rows = columns.first().map_or(0, |(_, array)| array.len());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        Ok(Self { table: batch.map_err(wrong)?.into() })
    }
}

fn wrong(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn schema_of<'py>(py: Python<'py>, table: &StructArray) -> PyResult<Bound<'py, PyCapsule>> {
    let field = Field::new_struct("", table.fields().clone(), false);
    PyCapsule::new_with_value(py, FFI_ArrowSchema::try_from(&field).map_err(wrong)?, SCHEMA)
}

/// The text of a value; nothing for a missing one.
fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::Float64 => {
            let value = column.as_primitive::<Float64Type>().value(row);
            // As in a result; what has no place there is NaN or infinite.
            Number::from_f64(value).map_or_else(|| value.to_string(), |number| number.to_string())
        }
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        DataType::Dictionary(..) => {
            let one = column.slice(row, 1);
            let word = one.as_any_dictionary();
            cell(word.values(), word.normalized_keys()[0])
        }
        other => unreachable!("no table has a column of {other}"),
    }
}

/// A column of values that Python has, of the named type.
fn column(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match kind {
        "float" => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
        "int" => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
        "uint" => Arc::new(UInt64Array::from(values.extract::<Vec<Option<u64>>>()?)),
        "bool" => Arc::new(BooleanArray::from(values.extract::<Vec<Option<bool>>>()?)),
        "text" => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
        _ => {
            return Err(PyValueError::new_err(format!(
                "'{kind}' is no type of a column: float, int, uint, bool or text"
            )))
        }
    })
}

/// The values of a column as a file has them.
fn values(column: &ArrayRef) -> Values {
    match column.data_type() {
        DataType::Float64 => Values::Float(column.as_primitive::<Float64Type>().iter().collect()),
        DataType::Int64 => Values::Int(column.as_primitive::<Int64Type>().iter().collect()),
        DataType::UInt64 => Values::Unsigned(column.as_primitive::<UInt64Type>().iter().collect()),
        DataType::UInt32 => {
            Values::Unsigned(column.as_primitive::<UInt32Type>().iter().map(|value| value.map(u64::from)).collect())
        }
        DataType::Boolean => Values::Bool(column.as_boolean().iter().collect()),
        _ => {
            let text = |row| (!column.is_null(row)).then(|| cell(column, row));
            Values::Text((0..column.len()).map(text).collect())
        }
    }
}

#[pymethods]
impl Frame {
    /// A table of columns, each a name, a type (`float`, `int`, `uint`, `bool` or `text`) and its values.
    #[new]
    fn __new__(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let made: Vec<ArrayRef> =
            columns.iter().map(|(_, kind, values)| column(kind, values)).collect::<PyResult<_>>()?;
        Self::new(columns.iter().map(|(name, ..)| name.as_str()).zip(made).collect())
    }

    fn __len__(&self) -> usize {
        self.table.len()
    }

    /// The cells of some rows, as texts.
    fn cells(&self, rows: Vec<usize>) -> PyResult<Vec<Vec<String>>> {
        let all = self.table.len();
        if let Some(row) = rows.iter().find(|&&row| row >= all) {
            return Err(PyIndexError::new_err(format!("row {row} of {all}")));
        }
        Ok(rows.into_iter().map(|row| self.table.columns().iter().map(|column| cell(column, row)).collect()).collect())
    }

    /// Writes it as a Parquet file.
    fn write_parquet(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let columns: Vec<(&str, Values)> =
            self.table.column_names().into_iter().zip(self.table.columns().iter().map(values)).collect();
        py.detach(|| plain::write(&path, &columns)).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table.column_names()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_of(py, &self.table)
    }

    /// In its own types: to give others is left to the producer, and receivers can change them.
    #[pyo3(signature = (requested_schema=None))]
    #[expect(unused_variables, reason = "the name belongs to the Arrow C interface")]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(&self.table.to_data()), ARRAY)?;
        Ok((schema_of(py, &self.table)?, array))
    }

    /// In its own types as well.
    #[pyo3(signature = (requested_schema=None))]
    #[expect(unused_variables, reason = "the name belongs to the Arrow C interface")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batch = RecordBatch::from(self.table.clone());
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }
}
