//! Finding out a trace's format, where it is unmistakable.
//!
//! A wrong unit of time makes a run that is wrong by a factor of a million and looks fine, so formats that look alike are
//! never guessed: the error shows what the first lines would mean in each of them.

use super::{csv, disksim, msr, seconds};
use crate::compress::Compression;
use crate::error::{shown, WorkloadError};
use crate::fields::{split, Separator};
use crate::lines::Lines;
use crate::number::{time_ps, whole};
use crate::options::{TraceFormat, TraceOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Lines that are looked at to describe what a format would mean.
const SAMPLE: usize = 1_000;

/// A trace's format and how it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Detected {
    /// Layout of the lines.
    pub format: TraceFormat,
    /// How the file is compressed.
    pub compression: Compression,
    /// Why this format.
    pub reason: String,
}

/// Finds out the format of the trace at `path` from its first bytes.
///
/// # Errors
/// When the file cannot be read, is not text, has no line, or its format is not unmistakable; the error then says what the
/// first lines would mean in each format that fits.
pub fn detect(path: &Path) -> Result<Detected, WorkloadError> {
    resolve(path, &TraceOptions::default())
}

/// The format that the options give, or else the one that is found.
pub(crate) fn resolve(path: &Path, options: &TraceOptions) -> Result<Detected, WorkloadError> {
    if let Some(table) = &options.table {
        let (format, compression) = (TraceFormat::Table, Compression::Plain);
        return Ok(Detected { format, compression, reason: table.0.describe() });
    }
    let mut lines = Lines::open(path)?;
    let compression = lines.input().compression;
    let found = |format, reason: &str| Ok(Detected { format, compression, reason: reason.to_owned() });
    if let Some(format) = options.format {
        return found(format, "given by `format`");
    }
    if options.columns != Default::default() {
        return found(TraceFormat::Csv, "`columns` are given");
    }
    if !lines.advance()? {
        return Err(super::empty(path, "it has no line with data"));
    }
    let first = lines.current();
    if let Some(separator) = msr::recognise(first) {
        let what = if msr::is_header(first) { "the header of MSR Cambridge" } else { "Read or Write in the fourth" };
        let reason = format!("seven fields separated by {}, {what}", separator.name());
        return found(TraceFormat::Msr, &reason);
    }
    if csv::recognise(first) {
        let (separator, names) = csv::header(first).expect("a recognised header has names");
        return found(
            TraceFormat::Csv,
            &format!("a header with {} names, separated by {}", names.len(), separator.name()),
        );
    }
    let message = if disksim::recognise(first) { five_columns(&mut lines) } else { unknown(first) };
    Err(WorkloadError::Format { file: path.to_owned(), message })
}

/// What a file that fits no format looks like, and what to do.
#[cold]
fn unknown(first: &[u8]) -> String {
    let mut message = format!("the format is not recognised\n  first line: {}\n", shown(first));
    if let Some((separator, names)) = csv::header(first) {
        let number = |name: &String| time_ps(name.as_bytes(), 0).is_ok();
        if names.len() > 1 && !names.iter().any(number) {
            message += &format!(
                "  it looks like a CSV header of {} columns separated by {}, none with a name that is known;\n  say which \
                 is which: `format = \"csv\"` and `[trace.columns]` with time, op, offset_bytes or lba, size_bytes or \
                 blocks, and `time_unit`\n",
                names.len(),
                separator.name()
            );
        }
    }
    let names: Vec<_> = TraceFormat::ALL.iter().map(|format| format.name()).collect();
    message
        + &format!(
            "  formats that can be given by --format, or as `format` in [trace] of a workload file: {}",
            names.join(", ")
        )
}

/// What the first lines of a five-column file would mean in each format of that family.
#[cold]
fn five_columns(lines: &mut Lines) -> String {
    let first = lines.current().to_vec();
    let mut sample = Sample::default();
    // An error further on does not matter here: the reader reports it once the format is given.
    while sample.lines < SAMPLE && sample.add(lines.current()) && lines.advance().unwrap_or(false) {}
    let mut message = format!(
        "five columns of numbers, which DiskSim, MQSim and SSDSim write alike but in different units; the format has to be \
         given\n  first line: {}\n  read as         the first {} lines would last    mean request\n",
        shown(&first),
        sample.lines
    );
    for format in [TraceFormat::Disksim, TraceFormat::Disksim4k, TraceFormat::Mqsim, TraceFormat::Ssdsim] {
        message += &sample.row(format);
    }
    message
        + "  give the right one by --format, as in --format disksim, or as `format` in [trace] of a workload file;\n  where a \
           write is 1 and a read 0, also `read_is = \"0\"` (--load-set 'trace.read_is=\"0\"'); other units by `time_unit`,\n  \
           `address_block_bytes`, `size_block_bytes` (--load-set trace.time_unit=us)"
}

/// Sums over the first lines, without units.
#[derive(Default)]
struct Sample {
    lines: usize,
    /// First and last time in units of 10^-12 of the file's unit.
    first: Option<u128>,
    last: u128,
    blocks: u128,
    fractions: bool,
}

impl Sample {
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

    fn row(&self, format: TraceFormat) -> String {
        let units = disksim::units_of(format);
        let span = self.last.saturating_sub(self.first.unwrap_or(0)) / 10_u128.pow(12 - units.time);
        let bytes = self.blocks.saturating_mul(u128::from(units.size)) / self.lines.max(1) as u128;
        let unit = if units.time == 9 { "ms" } else { "ns" };
        let odd = if self.fractions && units.time == 3 { "   (but times have fractions, which ns do not)" } else { "" };
        let name = format!("\"{}\"", format.name());
        let kib = bytes as f64 / 1024.0;
        format!("    {name:<13} {:>20} s in {unit}    {kib:>8.1} KiB in blocks of {}{odd}\n", seconds(span), units.size)
    }
}
