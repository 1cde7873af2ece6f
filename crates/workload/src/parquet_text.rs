//! Parquet tables, row group by row group, turned into lines that the reader of named columns takes.
//!
//! So every column may have any name that `columns` can map, and units are told as in CSV. The header is line 1, and the
//! first row line 2. Nested columns and dates are left out.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

/// The first bytes of a table.
pub(crate) const MAGIC: &[u8] = b"PAR1";
/// The name under which a table says what it is.
pub(crate) const NOTE: &str = "wordline";
/// Rows that are turned into text together.
const BATCH: usize = 4096;

/// The text of a table.
pub(crate) struct ParquetText {
    reader: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// The row group to come, and the rows of the present one that were not read.
    group: usize,
    left: usize,
    rows: u64,
    /// Bytes of the file that stand for the rows read so far.
    consumed: Arc<AtomicU64>,
    size: u64,
    text: Vec<u8>,
    at: usize,
}

/// One column and its present batch.
struct Column {
    index: usize,
    unsigned: bool,
    optional: bool,
    reader: Option<ColumnReader>,
    levels: Vec<i16>,
    values: Values,
    /// The next value.
    at: usize,
}

enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does what may panic on a damaged table: the library checks much, and not all. Such a panic becomes an error, and its message is
/// not printed.
fn guarded<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> io::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    match done {
        Ok(done) => done.map_err(|error| damaged(&error)),
        Err(_) => Err(damaged(&ParquetError::General("its pages contradict its schema".to_owned()))),
    }
}

fn damaged(error: &ParquetError) -> io::Error {
    io::Error::other(format!("the Parquet table is damaged or of a kind that is not read: {error}"))
}

/// True if a column can be told as one field of a line.
fn plain(column: &ColumnDescPtr) -> bool {
    let told = !matches!(
        column.logical_type_ref(),
        Some(LogicalType::Decimal { .. } | LogicalType::Date | LogicalType::Float16 | LogicalType::Uuid)
    );
    column.max_rep_level() == 0
        && told
        && column.converted_type() != ConvertedType::DECIMAL
        && !matches!(column.physical_type(), Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY)
}

impl Column {
    fn new(index: usize, column: &ColumnDescPtr) -> Self {
        let unsigned = match column.logical_type_ref() {
            Some(LogicalType::Integer(kind)) => !kind.is_signed,
            _ => matches!(column.converted_type(), ConvertedType::UINT_64 | ConvertedType::UINT_32),
        };
        let values = match column.physical_type() {
            Type::BOOLEAN => Values::Bool(Vec::new()),
            Type::INT32 => Values::Int32(Vec::new()),
            Type::INT64 => Values::Int64(Vec::new()),
            Type::FLOAT => Values::Float(Vec::new()),
            Type::DOUBLE => Values::Double(Vec::new()),
            _ => Values::Bytes(Vec::new()),
        };
        let optional = column.max_def_level() > 0;
        Self { index, unsigned, optional, reader: None, levels: Vec::new(), values, at: 0 }
    }

    /// Reads up to `rows` rows.
    fn fill(&mut self, rows: usize) -> Result<usize, ParquetError> {
        self.at = 0;
        self.levels.clear();
        let levels = self.optional.then_some(&mut self.levels);
        match (&mut self.values, self.reader.as_mut()) {
            (Values::Bool(values), Some(ColumnReader::BoolColumnReader(from))) => batch(from, rows, levels, values),
            (Values::Int32(values), Some(ColumnReader::Int32ColumnReader(from))) => batch(from, rows, levels, values),
            (Values::Int64(values), Some(ColumnReader::Int64ColumnReader(from))) => batch(from, rows, levels, values),
            (Values::Float(values), Some(ColumnReader::FloatColumnReader(from))) => batch(from, rows, levels, values),
            (Values::Double(values), Some(ColumnReader::DoubleColumnReader(from))) => batch(from, rows, levels, values),
            (Values::Bytes(values), Some(ColumnReader::ByteArrayColumnReader(from))) => {
                batch(from, rows, levels, values)
            }
            _ => Err(ParquetError::General("a column of another type than the schema's".to_owned())),
        }
    }

    /// Appends the field of row `row` of the batch; nothing for a null.
    fn field(&mut self, row: usize, most: i16, text: &mut Vec<u8>) {
        if self.optional && self.levels.get(row).is_none_or(|&level| level < most) {
            return;
        }
        let at = self.at;
        self.at += 1;
        let _ = match &self.values {
            Values::Bool(values) => write!(text, "{}", u8::from(values.get(at).is_some_and(|&value| value))),
            Values::Int32(values) => match values.get(at).copied().unwrap_or_default() {
                value if self.unsigned => write!(text, "{}", value as u32),
                value => write!(text, "{value}"),
            },
            Values::Int64(values) => match values.get(at).copied().unwrap_or_default() {
                value if self.unsigned => write!(text, "{}", value as u64),
                value => write!(text, "{value}"),
            },
            Values::Float(values) => write!(text, "{}", values.get(at).copied().unwrap_or_default()),
            Values::Double(values) => write!(text, "{}", values.get(at).copied().unwrap_or_default()),
            Values::Bytes(values) => {
                let bytes = values.get(at).map(ByteArray::data).unwrap_or_default();
                // Characters that would end the field or the line become a blank.
                text.extend(bytes.iter().map(|&byte| if byte < b' ' { b' ' } else { byte }));
                Ok(())
            }
        };
    }
}

fn batch<T: DataType>(
    from: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: Option<&mut Vec<i16>>,
    values: &mut Vec<T::T>,
) -> Result<usize, ParquetError> {
    values.clear();
    let (records, ..) = from.read_records(rows, levels, None, values)?;
    Ok(records)
}

impl ParquetText {
    /// The text of the table in `file`, which has `size` bytes; `consumed` follows how many of them are read.
    pub fn open(file: File, size: u64, consumed: Arc<AtomicU64>) -> io::Result<Self> {
        let reader = guarded(|| SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let chosen: Vec<_> = schema.columns().iter().enumerate().filter(|(_, column)| plain(column)).collect();
        // Tabs, since a name may hold a comma.
        let clean = |name: String| name.replace(|c: char| c.is_control(), " ");
        let names: Vec<_> = chosen.iter().map(|(_, column)| clean(column.path().string())).collect();
        let mut text = names.join("\t").into_bytes();
        text.push(b'\n');
        let columns = chosen.into_iter().map(|(index, column)| Column::new(index, column)).collect();
        Ok(Self { reader, columns, group: 0, left: 0, rows: 0, consumed, size, text, at: 0 })
    }

    /// Wordline's own metadata of the table.
    pub fn note(&self) -> Option<&str> {
        let notes = self.reader.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == NOTE)?.value.as_deref()
    }

    /// Makes the text of the next rows; `false` behind the last one.
    fn refill(&mut self) -> Result<bool, ParquetError> {
        self.text.clear();
        self.at = 0;
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() || self.columns.is_empty() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group)?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            for column in &mut self.columns {
                column.reader = Some(group.get_column_reader(column.index)?);
            }
            self.group += 1;
        }
        let rows = self.left.min(BATCH);
        for column in &mut self.columns {
            let got = column.fill(rows)?;
            if got != rows {
                return Err(ParquetError::General(format!("a column ends {} rows too early", rows - got)));
            }
        }
        let schema = self.reader.metadata().file_metadata().schema_descr_ptr();
        let most: Vec<_> = self.columns.iter().map(|column| schema.column(column.index).max_def_level()).collect();
        for row in 0..rows {
            for (at, (column, most)) in self.columns.iter_mut().zip(&most).enumerate() {
                if at > 0 {
                    self.text.push(b'\t');
                }
                column.field(row, *most, &mut self.text);
            }
            self.text.push(b'\n');
        }
        self.left -= rows;
        self.rows += rows as u64;
        let all = self.reader.metadata().file_metadata().num_rows().max(1) as f64;
        self.consumed.store((self.size as f64 * (self.rows as f64 / all).min(1.0)) as u64, Ordering::Relaxed);
        Ok(true)
    }
}

impl Read for ParquetText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            if !guarded(|| self.refill())? {
                return Ok(0);
            }
        }
        let n = buffer.len().min(self.text.len() - self.at);
        buffer[..n].copy_from_slice(&self.text[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
