//! Parquet tables, read as the lines of a CSV trace that [`ParquetText`](crate::parquet_text::ParquetText) makes of them.

use super::csv;
use super::detect::Sample;
use super::formats::Format;

/// Why a file is a table.
pub(crate) const SIGN: &str = "it begins and ends as a Parquet table does";

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| sample.table.then(|| SIGN.to_owned()),
    notes: "As `csv`; nested columns and dates are left out. Numbers of lines in messages count the header as 1.",
    ..csv::FORMAT
};
