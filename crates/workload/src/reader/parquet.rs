//! Parquet tables, read as the lines of a CSV trace that [`ParquetText`](crate::parquet_text::ParquetText) makes of them.

use super::csv;
use super::parser::Format;
use super::sample::Sample;

/// Why a file is a table.
pub(crate) const SIGN: &str = "it begins and ends as a Parquet table does";

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| sample.table.then(|| SIGN.to_owned()),
    notes: "As `csv`; nested columns and dates are left out. Numbers of lines in messages count the header as 1.",
    ..csv::FORMAT
};
