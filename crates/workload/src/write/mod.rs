//! Writing of traces: one request after another, in constant memory, in the formats of other tools.
//!
//! Data that a format cannot express are an error until the user chooses a remedy; loss of precision, such as rounded
//! times, is counted and reported.

mod names;
mod sink;
mod table;
mod text;

use crate::error::{nearest, system_words};
use crate::reader::sample::UNTIMED;
use crate::reader::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sink::Sink;
use std::io;
use std::path::{Path, PathBuf};
use table::Table;
use text::Text;
use wordline_base::Op;

const SECTOR: u64 = 512;

/// An output format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// MSR Cambridge CSV: reads and writes; ticks of 100 ns, counted from the first request.
    Msr,
    /// DiskSim ASCII: reads and writes; milliseconds with as many decimals as necessary, 512-byte blocks.
    Disksim,
    /// DiskSim's columns as read by MQSim: whole nanoseconds.
    Mqsim,
    /// DiskSim's columns as read by SSDSim: whole nanoseconds.
    Ssdsim,
    /// fio's iolog, version 3: all operations; whole microseconds.
    Fio,
    /// CSV with named columns: everything, exactly.
    Csv,
    /// A Parquet table with the same columns, times in picoseconds.
    Parquet,
}

impl OutputFormat {
    /// All formats.
    pub const ALL: [OutputFormat; 7] = [
        OutputFormat::Msr,
        OutputFormat::Disksim,
        OutputFormat::Mqsim,
        OutputFormat::Ssdsim,
        OutputFormat::Fio,
        OutputFormat::Csv,
        OutputFormat::Parquet,
    ];

    /// The user's name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OutputFormat::Msr => "msr",
            OutputFormat::Disksim => "disksim",
            OutputFormat::Mqsim => "mqsim",
            OutputFormat::Ssdsim => "ssdsim",
            OutputFormat::Fio => "fio",
            OutputFormat::Csv => "csv",
            OutputFormat::Parquet => "parquet",
        }
    }

    /// Resolution of its times, in picoseconds.
    #[must_use]
    pub fn resolution_ps(self) -> u64 {
        match self {
            OutputFormat::Msr => 100_000,
            OutputFormat::Fio => 1_000_000,
            OutputFormat::Mqsim | OutputFormat::Ssdsim => 1_000,
            OutputFormat::Disksim | OutputFormat::Csv | OutputFormat::Parquet => 1,
        }
    }

    /// The latest time that its readers can hold, in picoseconds: a signed 64-bit number of its units.
    #[must_use]
    pub fn latest_ps(self) -> u128 {
        let unit = match self {
            OutputFormat::Parquet => return u128::from(u64::MAX),
            OutputFormat::Disksim => 1_000_000_000,
            OutputFormat::Csv => 1_000_000,
            other => u128::from(other.resolution_ps()),
        };
        i64::MAX as u128 * unit
    }

    /// True if it can express `op`.
    #[must_use]
    pub fn says(self, op: Op) -> bool {
        matches!(op, Op::Read | Op::Write)
            || matches!(self, OutputFormat::Fio | OutputFormat::Csv | OutputFormat::Parquet)
    }

    /// True if a file can state that its times mean nothing.
    #[must_use]
    pub fn says_untimed(self) -> bool {
        matches!(self, OutputFormat::Csv | OutputFormat::Parquet)
    }

    /// True if it can mark a write with force unit access.
    #[must_use]
    pub fn says_fua(self) -> bool {
        matches!(self, OutputFormat::Csv | OutputFormat::Parquet)
    }

    /// True if addresses and sizes are in blocks of 512 bytes.
    #[must_use]
    pub fn in_blocks(self) -> bool {
        matches!(self, OutputFormat::Disksim | OutputFormat::Mqsim | OutputFormat::Ssdsim)
    }

    /// The format of the given name, else of the file name's ending.
    ///
    /// # Errors
    /// The name is unknown, or the ending gives no format.
    pub fn choose(given: Option<&str>, file: &str) -> Result<Self, WriteError> {
        let names = || Self::ALL.map(Self::name);
        let by_name = |name: &str| Self::ALL.into_iter().find(|format| format.name() == name.to_lowercase());
        let refuse = |message: String| Err(WriteError::Use(message));
        if let Some(name) = given {
            let known = format!("the formats are {}", names().join(", "));
            return by_name(name)
                .map_or_else(|| refuse(format!("--to {name}: no such format{}; {known}", nearest(name, names()))), Ok);
        }
        let (_, plain) = sink::Packing::of(file);
        match Path::new(plain).extension().and_then(|ending| ending.to_str()).map(str::to_lowercase).as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            Some("iolog" | "fio") => Ok(Self::Fio),
            Some("disksim" | "dis") => Ok(Self::Disksim),
            Some(ending) if by_name(ending).is_some() => Ok(by_name(ending).expect("just found")),
            _ => refuse(format!(
                "{file}: the name does not determine the format; give it by --to: {}",
                names().join(", ")
            )),
        }
    }
}

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Writing to the file or its device failed.
    #[error("{file}: cannot write: {}", system_words(source))]
    Io {
        /// The user's name of the file.
        file: String,
        /// The operating system's message.
        source: io::Error,
    },
    /// The format cannot express a request.
    #[error("{file}: request {number} {what}")]
    Request {
        /// The user's name of the file.
        file: String,
        /// Number of the request, from 1.
        number: u64,
        /// The problem, and the remedy.
        what: String,
    },
    /// Wrong use; the message is complete.
    #[error("{0}")]
    Use(String),
}

/// Options of writing.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The format.
    pub format: OutputFormat,
    /// Omit what the format cannot express: trims, flushes, and the mark of force unit access.
    pub drop: bool,
    /// Round addresses and sizes outwards to 512-byte blocks if the format has only those.
    pub round: bool,
    /// Lines about the trace, kept if the format has a place for them: comments in CSV, metadata in Parquet.
    pub note: Option<String>,
}

/// The written trace, and its losses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Requests written.
    pub requests: u64,
    /// Omitted trims and flushes.
    pub dropped: u64,
    /// Requests that lost their mark of force unit access.
    pub unmarked: u64,
    /// Requests with a time rounded down to the format's resolution.
    pub times_cut: u64,
    /// Requests rounded outwards to 512-byte blocks.
    pub rounded: u64,
    /// Written device names, in order of first appearance; empty if the trace names none.
    pub devices: Vec<String>,
}

enum Form {
    Text(Box<Text>),
    Table(Box<Table>),
}

/// Writes a trace.
pub struct TraceWriter {
    name: String,
    options: WriteOptions,
    form: Form,
    written: Written,
    /// Requests so far, written or not.
    seen: u64,
}

impl TraceWriter {
    /// Begins a trace at `path`, or on standard output without one. `name` is the user's name of the file: its ending
    /// selects compression (`.gz`, `.zst`), and messages quote it.
    ///
    /// # Errors
    /// The file cannot be created, or a Parquet table would be compressed twice.
    pub fn create(path: Option<&Path>, name: &str, options: WriteOptions) -> Result<Self, WriteError> {
        let (packing, _) = sink::Packing::of(name);
        let table = options.format == OutputFormat::Parquet;
        if table && packing != sink::Packing::Plain {
            let problem = "a Parquet table is compressed inside; leave out the last ending of its name";
            return Err(WriteError::Use(format!("{name}: {problem}")));
        }
        let io = |source| WriteError::Io { file: name.to_owned(), source };
        let raw: Box<dyn io::Write + Send> = match path {
            Some(path) => Box::new(std::fs::File::create(path).map_err(io)?),
            None => Box::new(io::stdout()),
        };
        let form = match table {
            true => Form::Table(Box::new(Table::new(raw, options.note.clone()))),
            false => Form::Text(Box::new(Text::new(
                Sink::new(raw, packing).map_err(io)?,
                options.format,
                options.note.as_deref(),
            ))),
        };
        Ok(Self { name: name.to_owned(), options, form, written: Written::default(), seen: 0 })
    }

    /// The user's path, for messages.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.name)
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> OutputFormat {
        self.options.format
    }

    /// Notes in the file, if the format has a place for it, that only the order of the requests counts; before the
    /// first one.
    pub fn mark_untimed(&mut self) {
        match &mut self.form {
            Form::Text(text) => text.comment(UNTIMED),
            Form::Table(table) => table.add_note(UNTIMED),
        }
    }

    /// Requests written so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.written.requests
    }

    /// Writes one request; `devices` are the names known so far, none if the trace has no devices.
    ///
    /// # Errors
    /// The format cannot express the request and the options give no remedy, or writing fails.
    #[inline]
    pub fn write(&mut self, record: &Record, devices: &[String]) -> Result<(), WriteError> {
        self.seen += 1;
        let Some(record) = self.fitting(*record)? else { return Ok(()) };
        let written = match &mut self.form {
            Form::Text(text) => text.write(&record, devices),
            Form::Table(table) => table.write(&record, devices),
        };
        match written {
            Ok(()) => {
                self.written.requests += 1;
                Ok(())
            }
            Err(source) => Err(WriteError::Io { file: self.name.clone(), source }),
        }
    }

    /// The request as the format can express it; nothing if it is to be omitted.
    #[inline]
    fn fitting(&mut self, mut record: Record) -> Result<Option<Record>, WriteError> {
        let format = self.options.format;
        if !format.says(record.op) {
            if !self.options.drop {
                let kind = if record.op == Op::Trim { "trim" } else { "flush" };
                let what = format!("is a {kind}, which the format {} cannot express", format.name());
                return Err(
                    self.cannot(format!("{what}; --drop leaves such requests out, and csv, parquet and fio keep them"))
                );
            }
            self.written.dropped += 1;
            return Ok(None);
        }
        if record.fua && !format.says_fua() {
            if !self.options.drop {
                let what =
                    format!("is marked for force unit access, which the format {} cannot express", format.name());
                return Err(self.cannot(format!("{what}; --drop leaves the mark out, and csv and parquet keep it")));
            }
            record.fua = false;
            self.written.unmarked += 1;
        }
        if format.in_blocks() && !(record.offset | u64::from(record.bytes)).is_multiple_of(SECTOR) {
            if !self.options.round {
                let range = format!("covers {} bytes from {}", record.bytes, record.offset);
                let what = format!("{range}, and the format {} counts in blocks of 512 bytes", format.name());
                return Err(self.cannot(format!("{what}; --round rounds outwards")));
            }
            let end = (record.offset + u64::from(record.bytes)).next_multiple_of(SECTOR);
            record.offset = record.offset / SECTOR * SECTOR;
            record.bytes = (end - record.offset) as u32;
            self.written.rounded += 1;
        }
        if record.time_ps > format.latest_ps() {
            return Err(self.too_late(record.time_ps));
        }
        let resolution = u128::from(format.resolution_ps());
        if resolution > 1 {
            let cut = record.time_ps % resolution;
            self.written.times_cut += u64::from(cut > 0);
            record.time_ps -= cut;
        }
        Ok(Some(record))
    }

    #[cold]
    fn too_late(&self, time_ps: u128) -> WriteError {
        let format = self.options.format;
        let seconds = |ps: u128| ps / 1_000_000_000_000;
        let what = match format {
            OutputFormat::Parquet => {
                "comes more than 213 days after the first, and a Parquet table counts picoseconds in 64 bits; write csv, or cut \
                 the trace by --window"
                    .to_owned()
            }
            _ => format!(
                "comes {} s after the first, and times of format {} end at {} s; check --speed and the unit of the source's \
                 times, or cut the trace by --window",
                // The maximum marks a time that does not fit in 128 bits.
                if time_ps == u128::MAX { "over 10^26".to_owned() } else { seconds(time_ps).to_string() },
                format.name(),
                seconds(format.latest_ps())
            ),
        };
        self.cannot(what)
    }

    #[cold]
    fn cannot(&self, what: String) -> WriteError {
        WriteError::Request { file: self.name.clone(), number: self.seen, what }
    }

    /// Ends the trace and writes the rest.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> Result<Written, WriteError> {
        let devices = match self.form {
            Form::Text(text) => text.finish(),
            Form::Table(table) => table.finish(),
        };
        self.written.devices = devices.map_err(|source| WriteError::Io { file: self.name, source })?;
        Ok(self.written)
    }
}
