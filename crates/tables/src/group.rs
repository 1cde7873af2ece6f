//! A row group in the making: values are encoded and compressed as they come, and their pages are kept in memory until the group is
//! complete, since a file has its columns one after the other.

use crate::column::{Column, Value};
use bytes::Bytes;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{get_column_writer, ColumnWriter};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use std::fs::File;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pages of a column, for its writer and for the group.
#[derive(Clone)]
struct Pages(Arc<Mutex<TrackedWrite<Vec<u8>>>>);

impl Pages {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(TrackedWrite::new(Vec::new()))))
    }

    fn lock(&self) -> MutexGuard<'_, TrackedWrite<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<Bytes, ParquetError> {
        let pages = mem::replace(&mut *self.lock(), TrackedWrite::new(Vec::new()));
        Ok(pages.into_inner()?.into())
    }
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        SerializedPageWriter::new(&mut *self.lock()).write_page(page)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        Ok(())
    }
}

/// Values of one column and one batch, as Parquet takes them; kept for their memory.
#[derive(Default)]
struct Values {
    longs: Vec<i64>,
    ints: Vec<i32>,
    floats: Vec<f64>,
    /// 1 for a value, 0 for a missing one.
    present: Vec<i16>,
    truths: Vec<bool>,
    texts: Vec<ByteArray>,
}

/// The rows since the last complete group.
#[derive(Default)]
pub struct Group {
    rows: usize,
    columns: Vec<(ColumnWriter<'static>, Pages)>,
    values: Values,
}

impl Group {
    /// The number of its rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds rows.
    pub fn add<R>(
        &mut self,
        file: &SerializedFileWriter<File>,
        columns: &[Column<R>],
        rows: &[R],
    ) -> Result<(), ParquetError> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.columns.is_empty() {
            self.columns = (file.schema_descr().columns().iter())
                .map(|column| {
                    let pages = Pages::new();
                    let to = Box::new(pages.clone());
                    (get_column_writer(Arc::clone(column), Arc::clone(file.properties()), to), pages)
                })
                .collect();
        }
        for ((writer, _), column) in self.columns.iter_mut().zip(columns) {
            self.values.write(writer, &column.value, rows)?;
        }
        self.rows += rows.len();
        Ok(())
    }

    /// Writes the group to its file; there is a new one then.
    pub fn end(&mut self, file: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let mut group = file.next_row_group()?;
        for (writer, pages) in self.columns.drain(..) {
            let closed = writer.close()?;
            group.append_column(&pages.take()?, closed)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Values {
    fn write<R>(&mut self, writer: &mut ColumnWriter<'_>, value: &Value<R>, rows: &[R]) -> Result<(), ParquetError> {
        match (value, writer) {
            (Value::U64(get), ColumnWriter::Int64ColumnWriter(to)) => {
                let values = refill(&mut self.longs, rows.iter().map(|row| get(row) as i64));
                to.write_batch(values, None, None)?;
            }
            (Value::U32(get), ColumnWriter::Int32ColumnWriter(to)) => {
                let values = refill(&mut self.ints, rows.iter().map(|row| get(row) as i32));
                to.write_batch(values, None, None)?;
            }
            (Value::F64(get), ColumnWriter::DoubleColumnWriter(to)) => {
                let values = refill(&mut self.floats, rows.iter().map(get));
                to.write_batch(values, None, None)?;
            }
            (Value::Maybe(get), ColumnWriter::DoubleColumnWriter(to)) => {
                let present = &mut self.present;
                present.clear();
                let values = rows.iter().filter_map(|row| {
                    let value = get(row);
                    present.push(i16::from(value.is_some()));
                    value
                });
                let values = refill(&mut self.floats, values);
                to.write_batch(values, Some(&self.present), None)?;
            }
            (Value::Bool(get), ColumnWriter::BoolColumnWriter(to)) => {
                let values = refill(&mut self.truths, rows.iter().map(get));
                to.write_batch(values, None, None)?;
            }
            (Value::Text(get), ColumnWriter::ByteArrayColumnWriter(to)) => {
                let bytes = |row| ByteArray::from(Bytes::from_static(get(row).as_bytes()));
                let values = refill(&mut self.texts, rows.iter().map(bytes));
                to.write_batch(values, None, None)?;
            }
            _ => return Err(ParquetError::General("a column of another type than the schema's".to_owned())),
        }
        Ok(())
    }
}

fn refill<T>(to: &mut Vec<T>, values: impl Iterator<Item = T>) -> &[T] {
    to.clear();
    to.extend(values);
    to
}
