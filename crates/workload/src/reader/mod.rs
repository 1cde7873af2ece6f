//! Reading traces: one record a line, checked, with times counted from the first.

pub(crate) mod csv;
pub(crate) mod detect;
pub(crate) mod disksim;
pub(crate) mod msr;
pub(crate) mod table;
pub(crate) mod units;

use crate::device::DeviceTable;
use crate::error::{nearest, option, Problem, WorkloadError};
use crate::lines::Lines;
use crate::options::{Backwards, TraceFormat, TraceOptions, ZeroSize};
use detect::Detected;
use std::path::Path;
use table::{Cursor, RowProblem};
use wordline_base::Op;

/// More devices than this are taken for a column that names something else.
const MOST_DEVICES: usize = 10_000;

/// What a parser makes of one line; the time is in picoseconds since the epoch of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub time: u128,
    pub device: u32,
    pub offset: u64,
    pub bytes: u64,
    pub op: Op,
    pub fua: bool,
}

/// One request as it stands in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Picoseconds since the first request that was kept.
    pub time_ps: u128,
    /// Device, as an index into [`TraceReader::devices`].
    pub device: u32,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Length in bytes, at most 1 GiB; 0 for a flush.
    pub bytes: u32,
    /// What to do.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
}

enum Parser {
    Msr(msr::Msr),
    DiskSim(disksim::DiskSim),
    Csv(csv::Csv),
}

/// Where requests come from.
#[allow(clippy::large_enum_variant, reason = "there is one a trace")]
enum Source {
    Text {
        lines: Lines,
        parser: Parser,
        /// The current line is the first request and not yet parsed.
        held: bool,
    },
    Table(Cursor),
}

impl Source {
    /// The next request, and nothing at the end.
    #[inline]
    fn advance(&mut self, devices: &mut DeviceTable) -> Result<Option<Parsed>, WorkloadError> {
        let (lines, parser, held) = match self {
            Source::Text { lines, parser, held } => (lines, parser, held),
            Source::Table(cursor) => return cursor.advance(devices),
        };
        if !std::mem::take(held) && !lines.advance()? {
            return Ok(None);
        }
        let line = lines.current();
        let parsed = match parser {
            Parser::Msr(parser) => parser.parse(line, devices),
            Parser::DiskSim(parser) => parser.parse(line, devices),
            Parser::Csv(parser) => parser.parse(line, devices),
        };
        parsed.map(Some).map_err(|problem| lines.error(*problem))
    }

    fn path(&self) -> &Path {
        match self {
            Source::Text { lines, .. } => lines.path(),
            Source::Table(cursor) => cursor.name(),
        }
    }
}

/// Reads a trace from its start to its end in constant memory.
pub struct TraceReader {
    source: Source,
    detected: Detected,
    devices: DeviceTable,
    /// Name and, once it has appeared, number of the only device to keep.
    filter: Option<(String, Option<u32>)>,
    backwards: Backwards,
    zero_size: ZeroSize,
    base: Option<u128>,
    last: u128,
    records: u64,
    requests: u64,
    clamped: u64,
    skipped: u64,
}

impl TraceReader {
    /// Opens a trace.
    ///
    /// # Errors
    /// When the file cannot be read, has no line, or its format is neither given nor unmistakable.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, WorkloadError> {
        let detected = detect::resolve(path, options)?;
        if let Some(table) = &options.table {
            return Ok(Self::new(Source::Table(Cursor::open(path, table, options)?), detected, options));
        }
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(empty(path, "it has no line with data"));
        }
        if let (Some(word), TraceFormat::Msr) = (&options.read_is, detected.format) {
            return Err(option(
                "trace.read_is",
                format!("{word:?}"),
                "an MSR trace says Read and Write; leave this out",
            ));
        }
        let mut held = true;
        let parser = match detected.format {
            TraceFormat::Msr => {
                held = !msr::is_header(lines.current());
                Parser::Msr(msr::Msr::new(lines.current(), options)?)
            }
            TraceFormat::Csv => {
                held = false;
                Parser::Csv(csv::Csv::new(lines.current(), options).map_err(|error| match error {
                    csv::HeaderError::Line(problem) => lines.error(*problem),
                    csv::HeaderError::Option(error) => error,
                })?)
            }
            format => Parser::DiskSim(disksim::DiskSim::new(format, options)?),
        };
        Ok(Self::new(Source::Text { lines, parser, held }, detected, options))
    }

    fn new(source: Source, detected: Detected, options: &TraceOptions) -> Self {
        Self {
            source,
            detected,
            devices: DeviceTable::default(),
            filter: options.device.clone().map(|name| (name, None)),
            backwards: options.backwards,
            zero_size: options.zero_size,
            base: None,
            last: 0,
            records: 0,
            requests: 0,
            clamped: 0,
            skipped: 0,
        }
    }

    /// The next request; `None` at the end of the trace.
    ///
    /// # Errors
    /// On the first line that is not a request of this format, with file, line, field and what would be right; at the end
    /// when there was no request at all.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, WorkloadError> {
        loop {
            let Some(parsed) = self.source.advance(&mut self.devices)? else { return self.finish() };
            self.records += 1;
            if let Some(record) = self.check(parsed)? {
                return Ok(Some(record));
            }
        }
    }

    /// Checks a parsed line against filter and neighbours.
    #[inline]
    fn check(&mut self, parsed: Parsed) -> Result<Option<Record>, WorkloadError> {
        let names = self.devices.names();
        if names.len() > MOST_DEVICES {
            return Err(self.bad("device", format!("this is device number {}: not a column of devices", names.len())));
        }
        if let Some((wanted, number)) = &mut self.filter {
            if number.is_none() && names.get(parsed.device as usize).is_some_and(|name| name == wanted) {
                *number = Some(parsed.device);
            }
            if *number != Some(parsed.device) {
                return Ok(None);
            }
        }
        if parsed.bytes == 0 && parsed.op != Op::Flush {
            if self.zero_size == ZeroSize::Skip {
                self.skipped += 1;
                return Ok(None);
            }
            return Err(self.bad(
                "size",
                "is zero; `zero_size = \"skip\"` (--load-set trace.zero_size=skip) leaves such requests out".to_owned(),
            ));
        }
        // The last 512 bytes stay free, so that rounding outwards to sectors cannot overflow either.
        if parsed.offset > u64::MAX - parsed.bytes - 512 {
            return Err(self.bad("offset", format!("{} + size {} exceeds 2^64 bytes", parsed.offset, parsed.bytes)));
        }
        let base = *self.base.get_or_insert(parsed.time);
        let mut time = parsed.time;
        if self.requests > 0 && time < self.last {
            if self.backwards == Backwards::Error {
                return Err(self.runs_backwards(time));
            }
            self.clamped += 1;
            time = self.last;
        }
        self.last = time;
        self.requests += 1;
        Ok(Some(Record {
            time_ps: time - base,
            device: parsed.device,
            offset: parsed.offset,
            bytes: parsed.bytes as u32,
            op: parsed.op,
            fua: parsed.fua,
        }))
    }

    #[cold]
    fn runs_backwards(&self, time: u128) -> WorkloadError {
        let back = self.last - time;
        let problem = format!(
            "runs backwards: {} s before the request above; sort the trace, or `backwards = \"clamp\"` (--load-set \
             trace.backwards=clamp) lets such requests arrive together with the one before",
            seconds(back)
        );
        self.bad("time", problem)
    }

    #[cold]
    fn finish(&self) -> Result<Option<Record>, WorkloadError> {
        if self.requests > 0 {
            return Ok(None);
        }
        if let (Some((wanted, None)), true) = (&self.filter, self.records > 0) {
            let names = self.devices.names();
            let near = nearest(wanted, names.iter().map(String::as_str));
            let has = match names.len() {
                0 => "this trace names no devices".to_owned(),
                n if n > 20 => format!("this trace has {n} devices: {}, …", names[..20].join(", ")),
                _ => format!("this trace has {}", names.join(", ")),
            };
            return Err(option("trace.device", format!("{wanted:?}"), format!("no such device; {has}{near}")));
        }
        let why = match (self.records, self.skipped) {
            (0, _) if matches!(self.source, Source::Table(_)) => "it has no row".to_owned(),
            (0, _) => "it has nothing behind its header".to_owned(),
            (_, skipped) => format!("all its {skipped} requests have zero bytes and were left out"),
        };
        Err(empty(self.source.path(), &why))
    }

    /// An error about the line of the last record.
    #[cold]
    pub(crate) fn bad(&self, field: &'static str, problem: String) -> WorkloadError {
        match &self.source {
            Source::Text { lines, .. } => lines.error(*Problem::new(field, b"", problem)),
            Source::Table(cursor) => cursor.error(RowProblem { field, value: String::new(), problem }),
        }
    }

    /// Names of the devices seen so far, in order of first appearance; empty when the trace has no such column.
    #[must_use]
    pub fn devices(&self) -> &[String] {
        self.devices.names()
    }

    /// The format and how it was found.
    #[must_use]
    pub fn detected(&self) -> &Detected {
        &self.detected
    }

    /// Number of the line or row of the last record, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        match &self.source {
            Source::Text { lines, .. } => lines.number(),
            Source::Table(cursor) => cursor.number(),
        }
    }

    /// Requests that were moved to the time of the one before them (`backwards = "clamp"`).
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Requests of zero bytes that were left out (`zero_size = "skip"`).
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Share of the file read so far, 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        match &self.source {
            Source::Text { lines, .. } => lines.input().progress(),
            Source::Table(cursor) => cursor.progress(),
        }
    }
}

#[cold]
fn empty(path: &Path, why: &str) -> WorkloadError {
    WorkloadError::Empty { file: path.to_owned(), why: why.to_owned() }
}

/// Picoseconds as seconds for a message, without trailing zeros.
pub(crate) fn seconds(ps: u128) -> String {
    let text = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
