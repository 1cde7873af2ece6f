//! A trace as a Parquet table, written row group by row group.

use super::names::{Names, Style};
use crate::parquet_text::NOTE;
use crate::reader::Record;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::io::{self, Write};
use std::sync::Arc;
use wordline_base::Op;

/// Rows that are buffered and written together; about 10 MB.
const GROUP: usize = 1 << 18;

type Raw = Box<dyn Write + Send>;

/// The columns of a row group.
#[derive(Default)]
struct Columns {
    time: Vec<i64>,
    device: Vec<ByteArray>,
    op: Vec<ByteArray>,
    offset: Vec<i64>,
    size: Vec<i32>,
    fua: Vec<bool>,
}

pub(super) struct Table {
    raw: Option<Raw>,
    writer: Option<SerializedFileWriter<Raw>>,
    note: Option<String>,
    names: Names,
    devices: Vec<ByteArray>,
    words: [ByteArray; 4],
    columns: Columns,
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        // The operating system's error, if there is one inside.
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other.to_string()),
    }
}

impl Table {
    pub fn new(raw: Raw, note: Option<String>) -> Self {
        Self {
            raw: Some(raw),
            writer: None,
            note,
            names: Names::new(Style::Verbatim),
            devices: Vec::new(),
            words: [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| {
                ByteArray::from(match op {
                    Op::Read => "read",
                    Op::Write => "write",
                    Op::Trim => "trim",
                    Op::Flush => "flush",
                })
            }),
            columns: Columns::default(),
        }
    }

    /// Adds a line to the table's metadata, before the first request.
    pub fn add_note(&mut self, line: &str) {
        let before = self.note.take().map_or(String::new(), |note| note + "\n");
        self.note = Some(before + line);
    }

    #[inline]
    pub fn write(&mut self, record: &Record, devices: &[String]) -> io::Result<()> {
        if self.names.learn(devices) {
            let new = &devices[self.devices.len()..];
            self.devices.extend(new.iter().map(|name| ByteArray::from(name.as_str())));
        }
        let columns = &mut self.columns;
        // The format's latest time has 64 bits.
        columns.time.push(record.time_ps as u64 as i64);
        if let Some(device) = self.devices.get(record.device as usize) {
            columns.device.push(device.clone());
        }
        columns.op.push(self.words[record.op as usize].clone());
        columns.offset.push(record.offset as i64);
        columns.size.push(record.bytes as i32);
        columns.fua.push(record.fua);
        if columns.time.len() == GROUP {
            self.group()?;
        }
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut SerializedFileWriter<Raw>, ParquetError> {
        if let Some(raw) = self.raw.take() {
            let device = if self.devices.is_empty() { "" } else { "required binary device (utf8);" };
            let schema = format!(
                "message trace {{
                    required int64 time_ps (uint_64);
                    {device}
                    required binary op (utf8);
                    required int64 offset_bytes (uint_64);
                    required int32 size_bytes (uint_32);
                    required boolean fua;
                }}"
            );
            let time = ColumnPath::from("time_ps");
            let note = self.note.take().map(|note| vec![KeyValue::new(NOTE.to_owned(), note)]);
            let properties = WriterProperties::builder()
                .set_created_by("wordline".to_owned())
                .set_writer_version(WriterVersion::PARQUET_1_0)
                .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
                .set_column_dictionary_enabled(time.clone(), false)
                .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
                .set_key_value_metadata(note)
                .build();
            let schema = Arc::new(parse_message_type(&schema)?);
            self.writer = Some(SerializedFileWriter::new(raw, schema, Arc::new(properties))?);
        }
        Ok(self.writer.as_mut().expect("made when its place to write was taken"))
    }

    /// Writes the buffered rows.
    fn group(&mut self) -> io::Result<()> {
        let columns = std::mem::take(&mut self.columns);
        let written = self.writer().and_then(|writer| write_group(writer, &columns));
        self.columns = columns;
        let Columns { time, device, op, offset, size, fua } = &mut self.columns;
        time.clear();
        device.clear();
        op.clear();
        offset.clear();
        size.clear();
        fua.clear();
        written.map_err(failed)
    }

    /// Ends the table; returns the device names.
    pub fn finish(mut self) -> io::Result<Vec<String>> {
        if !self.columns.time.is_empty() {
            self.group()?;
        }
        self.writer().map_err(failed)?;
        let mut writer = self.writer.take().expect("just made");
        writer.finish().map_err(failed)?;
        writer.inner_mut().flush()?;
        Ok(self.names.finish())
    }
}

fn write_group(writer: &mut SerializedFileWriter<Raw>, columns: &Columns) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let mut texts = [&columns.device, &columns.op].into_iter().filter(|texts| !texts.is_empty());
    let mut longs = [&columns.time, &columns.offset].into_iter();
    while let Some(mut column) = group.next_column()? {
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(to) => to.write_batch(longs.next().unwrap_or(&columns.time), None, None)?,
            ColumnWriter::ByteArrayColumnWriter(to) => {
                to.write_batch(texts.next().unwrap_or(&columns.op), None, None)?
            }
            ColumnWriter::Int32ColumnWriter(to) => to.write_batch(&columns.size, None, None)?,
            ColumnWriter::BoolColumnWriter(to) => to.write_batch(&columns.fua, None, None)?,
            _ => return Err(ParquetError::General("a column of another type than the schema's".to_owned())),
        };
        column.close()?;
    }
    group.close()?;
    Ok(())
}
