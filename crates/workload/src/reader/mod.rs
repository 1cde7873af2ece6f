//! Reading traces: one record a line, checked, with times counted from the first.

pub(crate) mod alibaba;
pub(crate) mod arc;
mod batch;
pub(crate) mod blkparse;
pub(crate) mod blktrace;
pub(crate) mod cloudphysics;
pub(crate) mod columns;
pub(crate) mod csv;
mod cursor;
pub(crate) mod detect;
pub(crate) mod disksim;
pub(crate) mod emmc;
pub(crate) mod etw;
pub(crate) mod fio;
pub(crate) mod fiu;
pub(crate) mod formats;
pub(crate) mod hp;
mod join;
pub(crate) mod msr;
mod order;
pub(crate) mod parquet;
mod parser;
pub(crate) mod pattern;
pub(crate) mod sample;
mod source;
pub(crate) mod spc;
pub(crate) mod srt;
pub(crate) mod systor;
pub(crate) mod table;
pub(crate) mod tencent;
pub(crate) mod units;
pub(crate) mod vscsi;
pub(crate) mod window;
pub(crate) mod wiscsee;
pub(crate) mod words;

use crate::compress::{is_pipe, Compression};
use crate::error::{empty, nearest, option, Problem, WorkloadError};
use crate::files;
use crate::number::seconds;
use crate::options::{Backwards, TraceOptions, ZeroSize};
use cursor::Cursor;
use detect::Detected;
use formats::TraceFormat;
use join::Joined;
use parser::{Item, Line, Parsed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use source::Shared;
use std::path::{Path, PathBuf};
use table::RowProblem;
use wordline_base::Op;

/// More devices than this are taken for a column that names something else.
const MOST_DEVICES: usize = 10_000;

/// Requests up to this offset cannot exceed 2^64 bytes, whatever their size.
const FURTHEST: u64 = u64::MAX >> 1;

/// One request as recorded in a trace.
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

impl Record {
    /// What a usual line holds, if nothing is wrong with it by itself or behind a request of the time `last`.
    #[inline]
    pub(crate) fn of_usual(line: &Line, base: u128, last: u128) -> Option<Self> {
        let parsed = &line.parsed;
        let right = parsed.bytes != 0 && parsed.offset <= FURTHEST && parsed.time >= last;
        right.then(|| Self::of(parsed, parsed.time - base))
    }

    #[inline]
    fn of(parsed: &Parsed, time_ps: u128) -> Self {
        Self {
            time_ps,
            device: parsed.device,
            offset: parsed.offset,
            bytes: parsed.bytes as u32,
            op: parsed.op,
            fua: parsed.fua,
        }
    }
}

/// Requests and lines of a trace left out or changed while reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LeftOut {
    /// Requests whose time ran backwards and was clamped to the previous time (`backwards = "clamp"`).
    pub clamped: u64,
    /// Requests of zero bytes that were left out (`zero_size = "skip"`).
    pub skipped: u64,
    /// Lines that could not be read and were left out (`skip_bad`).
    pub unreadable: u64,
    /// Requests left out because of a broken time stamp: the clock had wrapped.
    pub wrapped: u64,
    /// Lines that are not requests in this format: other events, messages, a summary.
    pub ignored: u64,
}

impl LeftOut {
    /// True if nothing that is a request was left out or changed.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        Self { ignored: 0, ..self } == Self::default()
    }
}

/// Where requests come from.
#[allow(clippy::large_enum_variant, reason = "there is one a trace")]
enum Feed {
    Files(Joined),
    Table(Cursor),
}

impl Feed {
    #[inline]
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Item>, WorkloadError> {
        match self {
            Feed::Files(files) => files.next(shared),
            Feed::Table(cursor) => cursor.next(shared),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Feed::Files(files) => files.path(),
            Feed::Table(cursor) => cursor.name(),
        }
    }

    #[cold]
    fn error_at(&self, line: u64, field: &'static str, problem: String) -> WorkloadError {
        match self {
            Feed::Files(files) => files.error_at(line, *Problem::new(field, b"", problem)),
            Feed::Table(cursor) => cursor.error(RowProblem { field, value: String::new(), problem }),
        }
    }
}

/// Reads a trace of one or several files, or of a table, from its start to its end in constant memory.
pub struct TraceReader {
    feed: Feed,
    detected: Detected,
    shared: Shared,
    backwards: Backwards,
    zero_size: ZeroSize,
    /// Line of the last record, in the file that it came from; or its row, from 1.
    line: u64,
    base: Option<u128>,
    last: u128,
    /// How far back its time ran, if that ended the reading.
    back: Option<u128>,
    requests: u64,
    clamped: u64,
    skipped: u64,
}

impl TraceReader {
    /// Opens the trace at `path`: a file, a directory, or a pattern such as `sda.blktrace.*`. With `files` among the options
    /// it is the folder that these count from.
    ///
    /// # Errors
    /// When a file cannot be read, has no line, or its format is neither given nor unmistakable.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, WorkloadError> {
        if !(0.0..=1.0).contains(&options.skip_bad) {
            return Err(option("trace.skip_bad", options.skip_bad, "must be a share of the lines, 0 to 1"));
        }
        let shared = Shared::of(options);
        let (feed, detected) = match &options.table {
            Some(table) => {
                let reason = table.0.describe();
                let (format, compression) = (TraceFormat::Table, Compression::Plain);
                let detected = Detected { format, compression, reason, stand_in: None };
                (Feed::Table(Cursor::open(path, table, options)?), detected)
            }
            None => {
                let (files, detected) = Joined::open(files::expand(path, options)?, options)?;
                (Feed::Files(files), detected)
            }
        };
        Ok(Self {
            feed,
            detected,
            shared,
            backwards: options.backwards,
            zero_size: options.zero_size,
            line: 0,
            base: None,
            last: 0,
            back: None,
            requests: 0,
            clamped: 0,
            skipped: 0,
        })
    }

    /// The next request; `None` at the end of the trace.
    ///
    /// # Errors
    /// On the first line that is not a request of this format, with file, line, field and what to write instead; at the
    /// end when there was no request at all.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>, WorkloadError> {
        loop {
            let Some(item) = self.feed.next(&mut self.shared)? else { return self.finish() };
            self.line = item.line;
            if let Some(record) = self.check(item)? {
                return Ok(Some(record));
            }
        }
    }

    /// The next lines that are as most are, what to subtract from their times, and the time that none of them may be before. Their
    /// requests are taken only by [`TraceReader::take`], if nothing is wrong with them; if there is none, that says nothing: then
    /// [`TraceReader::next_record`] has the next one.
    #[inline]
    pub(crate) fn usual(&mut self) -> Option<(&[Line], u128, u128)> {
        // The first one sets the base, by the general way.
        let base = self.base?;
        let Feed::Files(files) = &mut self.feed else { return None };
        Some((files.usual(&mut self.shared), base, self.last))
    }

    /// Takes the first lines of these, one at least; `last` is the time of the last one.
    #[inline]
    pub(crate) fn take(&mut self, count: usize, last: u128) {
        let Feed::Files(files) = &mut self.feed else { return };
        self.line = files.take(count, &mut self.shared);
        self.last = last;
        self.requests += count as u64;
    }

    /// Lets all lines go the general way, to compare both.
    #[cfg(test)]
    pub(crate) fn read_slowly(&mut self) {
        if let Feed::Files(files) = &mut self.feed {
            files.read_slowly();
        }
    }

    /// Checks a request against its neighbours.
    #[inline]
    fn check(&mut self, item: Item) -> Result<Option<Record>, WorkloadError> {
        let parsed = item.parsed;
        let names = self.shared.devices.names();
        if names.len() > MOST_DEVICES {
            return Err(self.bad("device", format!("this is device number {}: not a column of devices", names.len())));
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
        Ok(Some(Record::of(&parsed, time - base)))
    }

    #[cold]
    fn runs_backwards(&mut self, time: u128) -> WorkloadError {
        let back = self.last - time;
        self.back = Some(back);
        let sort = match &self.feed {
            Feed::Table(_) => "sort the table by its time",
            Feed::Files(_) => "`sort_window` (--load-set trace.sort_window=N) sorts within this many requests",
        };
        let problem = format!(
            "runs backwards: {} s before the previous request; {sort}, or `backwards = \"clamp\"` (--load-set \
             trace.backwards=clamp) lets such requests arrive with the previous request",
            seconds(back)
        );
        self.bad("time", problem)
    }

    /// By how many picoseconds time ran backwards, if that was the error that ended the reading.
    pub(crate) fn ran_backwards(&self) -> Option<u128> {
        self.back
    }

    #[cold]
    fn finish(&mut self) -> Result<Option<Record>, WorkloadError> {
        self.shared.check_end()?;
        if self.requests > 0 {
            return Ok(None);
        }
        if let (Some((wanted, None)), true) = (&self.shared.filter, self.shared.requests > 0) {
            let names = self.shared.devices.names();
            let near = nearest(wanted, names.iter().map(String::as_str));
            let has = match names.len() {
                0 => "this trace names no devices".to_owned(),
                n if n > 20 => format!("this trace has {n} devices: {}, …", names[..20].join(", ")),
                _ => format!("this trace has {}", names.join(", ")),
            };
            return Err(option("trace.device", format!("{wanted:?}"), format!("no such device; {has}{near}")));
        }
        let why = match (self.shared.requests, self.shared.ignored, self.skipped) {
            (0, 0, _) if matches!(self.feed, Feed::Table(_)) => "it has no row".to_owned(),
            (0, 0, _) => "it has nothing after its header".to_owned(),
            (0, ignored, _) => format!("all its {ignored} lines are other events, or messages{}", self.other_action()),
            (_, _, skipped) => format!("all its {skipped} requests have zero bytes and were left out"),
        };
        Err(empty(self.feed.path(), &why))
    }

    /// A remedy for traces of events without any of the selected kind.
    fn other_action(&self) -> &'static str {
        match self.detected.format.about().takes.contains(&"action") {
            true => "; `action` (--load-set trace.action=Q) chooses which event counts",
            false => "",
        }
    }

    /// An error about the line of the last record.
    #[cold]
    pub(crate) fn bad(&self, field: &'static str, problem: String) -> WorkloadError {
        self.feed.error_at(self.line, field, problem)
    }

    /// Names of the devices seen so far, in order of first appearance; empty when the trace has no such column.
    #[must_use]
    pub fn devices(&self) -> &[String] {
        self.shared.devices.names()
    }

    /// The format and how it was found.
    #[must_use]
    pub fn detected(&self) -> &Detected {
        &self.detected
    }

    /// Number of the line of the last record in its file, or of its row, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// True if the trace has time stamps. Without them all times are 0 and only the order counts.
    #[must_use]
    pub fn timed(&self) -> bool {
        match &self.feed {
            Feed::Files(files) => files.timed(),
            Feed::Table(_) => true,
        }
    }

    /// True if it can be read this once only, as a file of it comes through a pipe.
    pub(crate) fn is_once(&self) -> bool {
        self.files().iter().any(|file| is_pipe(file))
    }

    /// The files, in order; none of a table.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        match &self.feed {
            Feed::Files(files) => files.paths(),
            Feed::Table(_) => &[],
        }
    }

    /// Requests and lines left out or changed so far.
    #[must_use]
    pub fn left_out(&self) -> LeftOut {
        LeftOut {
            clamped: self.clamped,
            skipped: self.skipped,
            unreadable: self.shared.unreadable,
            wrapped: self.shared.wrapped,
            ignored: self.shared.ignored,
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

    /// How far the reading of files has come; it changes whenever [`TraceReader::progress`] does.
    #[inline]
    pub(crate) fn place(&self) -> (usize, u64) {
        match &self.feed {
            Feed::Files(files) => files.place(),
            Feed::Table(_) => (0, 0),
        }
    }

    /// Share of the files read so far, 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        match &self.feed {
            Feed::Files(files) => files.progress(),
            Feed::Table(cursor) => cursor.progress(),
        }
    }
}
