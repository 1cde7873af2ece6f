//! Detection of a trace's format, if unambiguous.
//!
//! A wrong time unit gives a plausible run that is wrong by a factor of a million. So formats that look alike are never
//! guessed: the error shows the first lines as read in each of them.

use super::formats::TraceFormat;
use super::{csv, disksim, parquet, seconds, UNTIMED};
use crate::compress::{Compression, Input, Pipe};
use crate::error::{shown, LineError, Problem, WorkloadError};
use crate::fields::{split, Separator};
use crate::files;
use crate::lines::Lines;
use crate::number::{time_ps, whole};
use crate::options::TraceOptions;
use crate::standin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lines examined.
const SAMPLE: usize = 1_000;
/// Bytes examined.
const SAMPLE_BYTES: usize = 64 << 10;

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

/// The start of a file.
pub(crate) struct Sample {
    path: PathBuf,
    /// The pipe that the file is, if it is one.
    pub pipe: Option<Arc<Pipe>>,
    pub compression: Compression,
    /// True for a Parquet table, which is read as lines.
    pub table: bool,
    /// Metadata of the table.
    note: Option<String>,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// True if these are all.
    pub whole: bool,
    /// Its first lines that are neither blank nor comments, as the reader of lines sees them; none in binary files.
    pub lines: Vec<Vec<u8>>,
    /// Number of the first line.
    first_number: u64,
}

impl Sample {
    /// Reads a file's first bytes.
    fn of_bytes(path: &Path) -> Result<Self, WorkloadError> {
        let pipe = Pipe::at(path).map_err(|source| WorkloadError::Io { file: path.to_owned(), source })?;
        let mut input = Input::open(path, pipe.as_ref())?;
        let (compression, table, note) = (input.compression, input.table, input.note.take());
        let mut bytes = vec![0; SAMPLE_BYTES];
        let mut filled = 0;
        let mut whole = false;
        while filled < bytes.len() {
            // An error does not matter here: the reader comes to it, too.
            match input.read(&mut bytes[filled..]) {
                Ok(0) => {
                    whole = true;
                    break;
                }
                Ok(n) => filled += n,
                Err(_) => break,
            }
        }
        bytes.truncate(filled);
        let path = path.to_owned();
        Ok(Self { path, pipe, compression, table, note, bytes, whole, lines: Vec::new(), first_number: 0 })
    }

    /// Reads its first lines, too. It is an error if none can be read, or if the first cannot and none may be bad; the
    /// reader handles the others.
    fn with_lines(mut self, may_be_bad: bool) -> Result<Self, WorkloadError> {
        let mut lines = Lines::of(&self.path, self.pipe.as_ref(), false)?;
        let mut bytes = 0;
        let found = loop {
            match lines.advance() {
                Err(WorkloadError::Line(_)) if may_be_bad && (lines.number() as usize) < SAMPLE => {}
                other => break other?,
            }
        };
        if !found {
            return Err(super::empty(&self.path, "it has no line with data"));
        }
        self.first_number = lines.number();
        loop {
            bytes += lines.current().len();
            self.lines.push(lines.current().to_vec());
            if bytes > SAMPLE_BYTES || self.lines.len() == SAMPLE || !lines.advance().unwrap_or(false) {
                return Ok(self);
            }
        }
    }

    /// The first line.
    pub fn first(&self) -> &[u8] {
        self.lines.first().map_or(b"", Vec::as_slice)
    }

    /// The first well-formed line, or else the first: a parser must not learn from a bad line.
    pub fn first_that(&self, fits: impl Fn(&[u8]) -> bool) -> &[u8] {
        self.lines.iter().map(Vec::as_slice).find(|line| fits(line)).unwrap_or_else(|| self.first())
    }

    /// True if the trace states that its times have no meaning.
    pub fn says_untimed(&self) -> bool {
        let comments = (!self.table).then(|| standin::comments(&self.bytes));
        let told = self.note.as_deref().or(comments.as_deref());
        told.is_some_and(|told| told.lines().any(|line| line == UNTIMED))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An error about the first line.
    #[cold]
    pub fn error(&self, problem: Problem) -> WorkloadError {
        WorkloadError::Line(Box::new(LineError {
            file: self.path.clone(),
            unit: "line",
            line: self.first_number,
            text: shown(self.first()),
            field: problem.field,
            value: problem.value,
            problem: problem.problem,
        }))
    }
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
        let stand_in = standin::mark_of(path, &sample.bytes, sample.note.as_deref());
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
    let message =
        if disksim::resembles(sample.first()) { five_columns(&sample.lines) } else { unknown(sample.first()) };
    Err(WorkloadError::Format { file: path.to_owned(), message })
}

/// Message for a file that fits no format, with a remedy.
#[cold]
fn unknown(first: &[u8]) -> String {
    let mut message = format!("the format is not recognised\n  first line: {}\n", shown(first));
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

/// Message with the first lines of a five-column file as read in each format of that family.
#[cold]
fn five_columns(lines: &[Vec<u8>]) -> String {
    let mut sample = Sums::default();
    // A line of another kind further on does not matter here: the reader reports it once the format is given.
    let _ = lines.iter().all(|line| sample.add(line));
    let mut message = format!(
        "five columns of numbers, which DiskSim, MQSim and SSDSim write alike but in different units; give the \
         format\n first line: {}\n  read as         the first {} lines would last    mean request\n",
        shown(&lines[0]),
        sample.lines
    );
    for format in [TraceFormat::Disksim, TraceFormat::Disksim4k, TraceFormat::Mqsim, TraceFormat::Ssdsim] {
        message += &sample.row(format);
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
