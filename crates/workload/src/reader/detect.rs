//! Detection of a trace's format, if unambiguous.
//!
//! A wrong time unit gives a plausible run that is wrong by a factor of a million. So formats that look alike are never
//! guessed: the error shows the first lines as read in each of them.

use super::formats::TraceFormat;
use super::sample::Sample;
use super::units::Units;
use super::{csv, disksim, parquet};
use crate::compress::Compression;
use crate::error::{shown, WorkloadError};
use crate::fields::{split, Separator};
use crate::files;
use crate::number::{seconds, time_ps, whole};
use crate::options::TraceOptions;
use crate::standin::mark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A trace's format and how it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Detected {
    /// Layout of the file.
    pub format: TraceFormat,
    /// Compression of the file; of several files, the first.
    pub compression: Compression,
    /// Reason for this format, and interpretation of its time stamps if not obvious.
    pub reason: String,
    /// Evidence that it is a stand-in, generated from statistics; `null` for a recorded trace.
    pub stand_in: Option<String>,
}

/// Detects the format of the trace at `path` from its first bytes; of several files, from the first.
///
/// # Errors
/// When the file cannot be read, has no line, or its format is ambiguous; the error then shows the first lines as read
/// in each format that fits.
pub fn detect(path: &Path) -> Result<Detected, WorkloadError> {
    let options = TraceOptions::default();
    let files = files::expand(path, &options)?;
    resolve(&files[0], &options).map(|(detected, _)| detected)
}

/// Evidence that the trace at `path` (of several files, the first) is a stand-in; none for a recorded trace.
///
/// # Errors
/// As [`detect`], with the options that are given.
pub fn stand_in(path: &Path, options: &TraceOptions) -> Result<Option<String>, WorkloadError> {
    let files = files::expand(path, options)?;
    resolve(&files[0], options).map(|(detected, _)| detected.stand_in)
}

/// The format given by the options, or else the detected format, and the start of the file.
pub(crate) fn resolve(path: &Path, options: &TraceOptions) -> Result<(Detected, Sample), WorkloadError> {
    let sample = Sample::of_bytes(path)?;
    let may_be_bad = options.skip_bad > 0.0;
    let found = |format, reason: String, sample: Sample| {
        let stand_in = mark::of(path, &sample.bytes, sample.note.as_deref());
        Ok((Detected { format, compression: sample.compression, reason, stand_in }, sample))
    };
    if sample.table || options.format == Some(TraceFormat::Parquet) {
        return match options.format {
            None | Some(TraceFormat::Csv | TraceFormat::Parquet) if sample.table => {
                found(TraceFormat::Parquet, parquet::SIGN.to_owned(), sample.with_lines(may_be_bad)?)
            }
            _ => {
                let is = if sample.table { "a" } else { "no" };
                Err(WorkloadError::Format { file: path.to_owned(), message: format!("this is {is} Parquet table") })
            }
        };
    }
    let given = match (options.format, &options.pattern) {
        (Some(format), _) => Some((format, "given by `format`")),
        (None, Some(_)) => Some((TraceFormat::Pattern, "`pattern` is given")),
        (None, None) if options.columns != Default::default() => Some((TraceFormat::Csv, "`columns` are given")),
        (None, None) => None,
    };
    if let Some((format, reason)) = given {
        let sample = if format.about().binary { sample } else { sample.with_lines(may_be_bad)? };
        return found(format, reason.to_owned(), sample);
    }
    let recognised = |sample: &Sample, binary: bool| {
        let formats = TraceFormat::ALL.into_iter().filter(|format| format.about().binary == binary);
        formats.filter_map(|format| Some((format, (format.about().recognise)(sample)?))).next()
    };
    if let Some((format, reason)) = recognised(&sample, true) {
        return found(format, reason, sample);
    }
    let sample = sample.with_lines(may_be_bad)?;
    if let Some((format, reason)) = recognised(&sample, false) {
        return found(format, reason, sample);
    }
    let message = if disksim::resembles(sample.first()) { five_columns(&sample) } else { unknown(&sample) };
    Err(WorkloadError::Format { file: path.to_owned(), message })
}

/// Message for a file that fits no format, with a remedy.
#[cold]
fn unknown(sample: &Sample) -> String {
    let first = sample.first();
    let mut message = format!("the format is not recognised\n  {}\n", first_line(sample));
    if let Some((separator, names)) = csv::header(first) {
        let number = |name: &String| time_ps(name.as_bytes(), 0).is_ok();
        if names.len() > 1 && !names.iter().any(number) {
            message += &format!(
                "  it looks like a CSV header of {} columns separated by {}, none with a known name;\n name the \
                 columns: `format = \"csv\"` and `[trace.columns]` with time, op, offset_bytes or lba, size_bytes or \
                 blocks, and `time_unit`\n",
                names.len(),
                separator.name()
            );
        }
    }
    for format in TraceFormat::ALL.into_iter().filter(|format| (format.about().resembles)(first)) {
        message += &format!(
            "  it might be {}: {}\n  other traces look the same, so give it by --format\n",
            format.name(),
            format.title()
        );
    }
    let names: Vec<_> = TraceFormat::ALL.iter().map(|format| format.name()).collect();
    message
        + &format!(
            "  formats that can be given by --format, or as `format` in [trace] of a workload file: {}",
            names.join(", ")
        )
}

/// The first line with data, with its number if comments or bad lines come before it.
#[cold]
fn first_line(sample: &Sample) -> String {
    let shown = shown(sample.first());
    match sample.first_number() {
        1 => format!("first line: {shown}"),
        number => format!("line {number}, the first with data: {shown}"),
    }
}

/// Message with the first lines of a five-column file as read in each format of that family.
#[cold]
fn five_columns(of: &Sample) -> String {
    let lines = &of.lines;
    let mut sample = Sums::default();
    // A line of another kind further on does not matter here: the reader reports it once the format is given.
    let _ = lines.iter().all(|line| sample.add(line));
    let mut message = format!(
        "five columns of numbers, which DiskSim, MQSim and SSDSim write alike but in different units; give the \
         format\n {}\n  read as         the first {} lines would last    mean request\n",
        first_line(of),
        sample.lines
    );
    for (name, units) in disksim::FAMILY {
        message += &sample.row(name, units);
    }
    message
        + "  give the right one by --format, as in --format disksim, or as `format` in [trace] of a workload file;\n  \
            if a write is 1 and a read 0, also `read_is = \"0\"` (--load-set 'trace.read_is=\"0\"'); other units by \
            `time_unit`,\n  \
           `address_block_bytes`, `size_block_bytes` (--load-set trace.time_unit=us)"
}

/// Sums over the first lines, without units.
#[derive(Default)]
struct Sums {
    lines: usize,
    /// First and last time in units of 10^-12 of the file's unit.
    first: Option<u128>,
    last: u128,
    blocks: u128,
    fractions: bool,
}

impl Sums {
    /// Takes a line in; `false` when it has other columns than expected.
    fn add(&mut self, line: &[u8]) -> bool {
        let mut fields = [&b""[..]; 5];
        if split(line, Separator::Blanks, &mut fields) != 5 {
            return false;
        }
        let (Ok(time), Ok(blocks)) = (time_ps(fields[0], 12), whole(fields[3])) else { return false };
        self.first.get_or_insert(time);
        self.last = time;
        self.blocks += u128::from(blocks);
        self.fractions |= time % 1_000_000_000_000 != 0;
        self.lines += 1;
        true
    }

    fn row(&self, name: &str, units: Units) -> String {
        let span = self.last.saturating_sub(self.first.unwrap_or(0)) / 10_u128.pow(12 - units.time);
        let bytes = self.blocks.saturating_mul(u128::from(units.size)) / self.lines.max(1) as u128;
        let unit = if units.time == 9 { "ms" } else { "ns" };
        let odd = if self.fractions && units.time == 3 { "   (but times have fractions, which ns do not)" } else { "" };
        let name = format!("\"{name}\"");
        let kib = bytes as f64 / 1024.0;
        format!("    {name:<13} {:>20} s in {unit}    {kib:>8.1} KiB in blocks of {}{odd}\n", seconds(span), units.size)
    }
}
