//! A table whose columns only its caller knows, as one Parquet file.

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Values of a column; those that are missing are null.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Floating-point numbers.
    Float(Vec<Option<f64>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Whole numbers from 0 on.
    Unsigned(Vec<Option<u64>>),
    /// True or false.
    Bool(Vec<Option<bool>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

impl Values {
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Self::Float(_) => (Physical::DOUBLE, None),
            Self::Int(_) => (Physical::INT64, None),
            Self::Unsigned(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::Bool(_) => (Physical::BOOLEAN, None),
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
    }
}

/// What is there, and for each row whether it is.
fn parted<T, U>(values: &[Option<T>], convert: impl Fn(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let there = values.iter().flatten().map(convert).collect();
    (there, values.iter().map(|value| i16::from(value.is_some())).collect())
}

/// Writes columns of one length, each with its name, in one row group.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, columns: &[(&str, Values)]) -> Result<(), ParquetError> {
    let fields: Vec<_> =
        columns.iter().map(|(name, values)| values.field(name).map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by("wordline".to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .build();
    let file = File::create(path).map_err(|error| ParquetError::External(Box::new(error)))?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in columns {
        let Some(mut column) = group.next_column()? else { break };
        match (column.untyped(), values) {
            (ColumnWriter::DoubleColumnWriter(to), Values::Float(values)) => {
                let (there, levels) = parted(values, |&value| value);
                to.write_batch(&there, Some(&levels), None)?;
            }
            (ColumnWriter::Int64ColumnWriter(to), Values::Int(values)) => {
                let (there, levels) = parted(values, |&value| value);
                to.write_batch(&there, Some(&levels), None)?;
            }
            (ColumnWriter::Int64ColumnWriter(to), Values::Unsigned(values)) => {
                let (there, levels) = parted(values, |&value| value as i64);
                to.write_batch(&there, Some(&levels), None)?;
            }
            (ColumnWriter::BoolColumnWriter(to), Values::Bool(values)) => {
                let (there, levels) = parted(values, |&value| value);
                to.write_batch(&there, Some(&levels), None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(to), Values::Text(values)) => {
                let (there, levels) = parted(values, |value| ByteArray::from(value.as_str()));
                to.write_batch(&there, Some(&levels), None)?;
            }
            _ => unreachable!("the schema was made of these columns"),
        }
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn values_come_back_with_their_types() {
        let columns = [
            ("latency_us.read.p99", Values::Float(vec![Some(1.5), None])),
            ("job.0.iodepth", Values::Int(vec![Some(-4), Some(8)])),
            ("seed", Values::Unsigned(vec![Some(u64::MAX), Some(0)])),
            ("pack.cache", Values::Bool(vec![None, Some(true)])),
            ("victim.policy", Values::Text(vec![Some("größte".into()), None])),
        ];
        let path = std::env::temp_dir().join(format!("wordline-plain-{}.parquet", std::process::id()));
        write(&path, &columns).expect("the directory for temporary files takes it");
        let reader = SerializedFileReader::new(File::open(&path).expect("it is there")).expect("it is whole");
        let rows: Vec<String> =
            reader.get_row_iter(None).expect("it has rows").map(|row| row.expect("it is whole").to_string()).collect();
        std::fs::remove_file(&path).expect("it is ours");
        let largest = u64::MAX;
        assert_eq!(
            rows,
            [
                format!(
                    "{{latency_us.read.p99: 1.5, job.0.iodepth: -4, seed: {largest}, pack.cache: null, \
                     victim.policy: \"größte\"}}"
                ),
                "{latency_us.read.p99: null, job.0.iodepth: 8, seed: 0, pack.cache: true, victim.policy: null}".into(),
            ]
        );
        let nowhere = write(Path::new("/nonexistent/points.parquet"), &columns);
        assert!(nowhere.is_err());
    }
}
