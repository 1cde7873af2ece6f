//! Tables for Python, by the Arrow C interface: pandas, Polars and all others take their columns as they are.

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, StructArray,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, Field, FieldRef, Schema};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule, to_stream_pycapsule, ArrayIterator};
use std::sync::Arc;

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
        Ok(Self { table: batch.map_err(|error| PyValueError::new_err(error.to_string()))?.into() })
    }

    fn field(&self) -> FieldRef {
        Arc::new(Field::new_struct("", self.table.fields().clone(), false))
    }
}

/// A column of values that Python has, of the named type.
fn column(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    Ok(match kind {
        "float" => Arc::new(Float64Array::from(values.extract::<Vec<Option<f64>>>()?)),
        "int" => Arc::new(Int64Array::from(values.extract::<Vec<Option<i64>>>()?)),
        "bool" => Arc::new(BooleanArray::from(values.extract::<Vec<Option<bool>>>()?)),
        "text" => Arc::new(StringArray::from(values.extract::<Vec<Option<String>>>()?)),
        _ => return Err(PyValueError::new_err(format!("'{kind}' is no type of a column: float, int, bool or text"))),
    })
}

#[pymethods]
impl Frame {
    /// A table of columns, each a name, a type (`float`, `int`, `bool` or `text`) and its values.
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
        let wrong = |error: ArrowError| PyValueError::new_err(error.to_string());
        let options = FormatOptions::new().with_null("");
        let columns = self.table.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let all = self.table.len();
        if let Some(row) = rows.iter().find(|&&row| row >= all) {
            return Err(PyIndexError::new_err(format!("row {row} of {all}")));
        }
        let cell = |formatter: &ArrayFormatter<'_>, row| formatter.value(row).try_to_string().map_err(wrong);
        rows.into_iter().map(|row| columns.iter().map(|column| cell(column, row)).collect()).collect()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.table.column_names()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.field().as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        Ok(to_array_pycapsules(py, self.field(), &self.table, requested_schema)?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let table: ArrayRef = Arc::new(self.table.clone());
        let reader = ArrayIterator::new(std::iter::once(Ok(table)), self.field());
        Ok(to_stream_pycapsule(py, Box::new(reader), requested_schema)?)
    }
}
