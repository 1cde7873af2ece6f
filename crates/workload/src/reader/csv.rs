//! CSV with a header line that names the columns.
//!
//! The separator is the most frequent of comma, tab and semicolon in the header. Fields may be in double quotes; a
//! separator inside quotes is not supported.

use super::columns::{column, Kind, Unclear};
use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words::{as_written, truth, OpWords};
use crate::device::DeviceTable;
use crate::error::{nearest, option, Problem, WorkloadError};
use crate::fields::{split, Separator, MOST};
use crate::format_options::{FormatOptions, TimeUnit};
use crate::number::time_ps;
use crate::scan::Scan;
use wordline_base::Op;

const TIMES: [(&str, TimeUnit); 5] = [
    ("time_s", TimeUnit::S),
    ("time_ms", TimeUnit::Ms),
    ("time_us", TimeUnit::Us),
    ("time_ns", TimeUnit::Ns),
    ("time_ps", TimeUnit::Ps),
];

/// All usual column names.
const USUAL: [&str; 12] = [
    "time_s",
    "time_ms",
    "time_us",
    "time_ns",
    "time_ps",
    "op",
    "offset_bytes",
    "lba",
    "size_bytes",
    "blocks",
    "device",
    "fua",
];

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| {
        recognise(sample.first()).then(|| {
            let (separator, names) = header(sample.first()).expect("a recognised header has names");
            format!("a header with {} names, separated by {}", names.len(), separator.name())
        })
    },
    resembles: nothing,
    binary: false,
    takes: &["read_is", "write_is", "columns", "address_block_bytes", "size_block_bytes"],
    notes:
        "Columns are found by their usual names (`time_us`, `op`, `offset_bytes` or `lba`, `size_bytes` or `blocks`, \
            `device`, `fua`), or named in `[trace.columns]`; two that could both be meant are an error.",
    open: |opening: &Opening| {
        let parser = Csv::new(opening.sample.first(), opening.options).map_err(|error| match error {
            HeaderError::Line(problem) => opening.sample.error(*problem),
            HeaderError::Option(error) => error,
        })?;
        let unit = parser.units.time;
        Ok(Opened { skip: 1, timed: !opening.sample.says_untimed(), ..Opened::lines(parser, unit) })
    },
};

/// Parser of CSV lines.
#[derive(Debug)]
pub(crate) struct Csv {
    separator: Separator,
    columns: usize,
    units: Units,
    time: usize,
    op: usize,
    offset: usize,
    size: usize,
    device: Option<usize>,
    fua: Option<usize>,
    words: OpWords,
    /// What the columns of a usual line are, in their order; nothing if lines are never read at once.
    order: Vec<Column>,
}

/// What a column of a usual line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Time,
    Op,
    Offset,
    Size,
    /// Not read.
    Other,
}

/// A read or a write, as most files have them.
#[inline]
fn usual_op(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"Read" | b"read" => Some(Op::Read),
        b"W" | b"Write" | b"write" => Some(Op::Write),
        _ => None,
    }
}

fn unquoted(field: &[u8]) -> &[u8] {
    match field {
        [b'"', inner @ .., b'"'] => inner,
        other => other,
    }
}

/// The names in a header line and their separator; `None` when there is no separator in it.
pub(crate) fn header(line: &[u8]) -> Option<(Separator, Vec<String>)> {
    let count = |byte| memchr::memchr_iter(byte, line).count();
    let best = [b',', b'\t', b';'].into_iter().rev().max_by_key(|&byte| count(byte)).filter(|&byte| count(byte) > 0)?;
    let separator = Separator::Byte(best);
    let mut fields = [&b""[..]; MOST];
    let found = split(line, separator, &mut fields);
    if found > MOST {
        return None;
    }
    let name = |field: &&[u8]| String::from_utf8_lossy(unquoted(field)).trim().to_owned();
    Some((separator, fields[..found].iter().map(name).collect()))
}

/// True if `line` is a header with at least one usual or mapped column name.
pub(crate) fn recognise(line: &[u8]) -> bool {
    let known = |name: &String| USUAL.iter().any(|usual| name.eq_ignore_ascii_case(usual));
    header(line).is_some_and(|(_, names)| names.iter().any(known))
}

/// Finds the columns.
struct Finder<'a> {
    names: Vec<&'a str>,
    /// How the first line splits, for the message when it is no header.
    separator: Separator,
}

impl Finder<'_> {
    /// The error if a name is missing because the first line has no names at all.
    #[cold]
    fn no_header(&self) -> Option<Box<Problem>> {
        let number = self.names.iter().find(|name| time_ps(name.as_bytes(), 0).is_ok())?;
        let problem = format!(
            "`{number}` in the first line is a number and no name, so the file has no header that names its columns, which a CSV \
             trace and `columns` need; put one before it, with {} between the names, or read the file as what it is: by another \
             --format, or by `pattern`",
            self.separator.name()
        );
        Some(Problem::new("header", b"", problem))
    }

    fn find(&self, what: &str, kinds: &[Kind]) -> Result<Option<(usize, usize)>, HeaderError> {
        column(&self.names, what, kinds).map_err(|unclear| match unclear {
            Unclear::Missing { key, name } => {
                if let Some(problem) = self.no_header() {
                    return problem.into();
                }
                let near = nearest(&name, self.names.iter().copied());
                let problem = format!("no such column; the header has {}{near}", self.names.join(", "));
                option(&format!("trace.columns.{key}"), format!("{name:?}"), problem).into()
            }
            Unclear::Several(problem) => Problem::new("header", b"", problem).into(),
        })
    }

    /// The column of one key, whose usual name is the same.
    fn one(&self, what: &str, key: &str, given: Option<&String>) -> Result<Option<usize>, HeaderError> {
        let kind = Kind { key, given: given.map(String::as_str), usual: &[key] };
        Ok(self.find(what, &[kind])?.map(|(_, at)| at))
    }

    /// A column of bytes or of blocks, and its unit.
    fn either(
        &self,
        what: &str,
        bytes: (&str, &Option<String>),
        blocks: (&str, &Option<String>),
    ) -> Result<(usize, u64), HeaderError> {
        let kinds = [bytes, blocks].map(|(key, given)| (key, given.as_deref(), [key]));
        let kinds = kinds.each_ref().map(|(key, given, usual)| Kind { key, given: *given, usual });
        match self.find(what, &kinds)? {
            Some((kind, at)) => Ok((at, [1, 512][kind])),
            None => {
                let keys = format!("`columns.{}` or `columns.{}`", bytes.0, blocks.0);
                Err(self.missing(what, &format!("{} or {}", bytes.0, blocks.0), &keys).into())
            }
        }
    }

    #[cold]
    fn missing(&self, what: &str, names: &str, keys: &str) -> Box<Problem> {
        if let Some(problem) = self.no_header() {
            return problem;
        }
        let first = keys.split('`').nth(1).unwrap_or(keys);
        let problem = format!(
            "no column with {what}: it is looked for as {names}; name the right one of [{}] by {keys} in [trace], or on the \
             command line by --load-set trace.{first}=NAME",
            self.names.join(", ")
        );
        Problem::new("header", b"", problem)
    }
}

/// Either a problem of the header line or one of the options.
pub(crate) enum HeaderError {
    Line(Box<Problem>),
    Option(WorkloadError),
}

impl From<Box<Problem>> for HeaderError {
    fn from(problem: Box<Problem>) -> Self {
        HeaderError::Line(problem)
    }
}

impl From<WorkloadError> for HeaderError {
    fn from(error: WorkloadError) -> Self {
        HeaderError::Option(error)
    }
}

impl Csv {
    /// A parser for a file with the header `line`.
    pub fn new(line: &[u8], options: &FormatOptions) -> Result<Self, HeaderError> {
        let Some((separator, names)) = header(line) else {
            let problem =
                "a CSV trace begins with a header that names its columns, separated by commas, tabs or semicolons \
                           (at most 32)";
            return Err(Problem::new("header", b"", problem).into());
        };
        let finder = Finder { names: names.iter().map(String::as_str).collect(), separator };
        let map = &options.columns;
        let (time, unit) = Self::time_column(&finder, options)?;
        let op = finder.one("the operation", "op", map.op.as_ref())?;
        let op = op.ok_or_else(|| finder.missing("the operation", "op", "`columns.op`"))?;
        let (offset, address) = finder.either("the address", ("offset_bytes", &map.offset_bytes), ("lba", &map.lba))?;
        let (size, block) = finder.either("the size", ("size_bytes", &map.size_bytes), ("blocks", &map.blocks))?;
        let units = Units { time: unit.power(), address, size: block }.with(options)?;
        let mut csv = Self {
            separator,
            columns: names.len(),
            units,
            time,
            op,
            offset,
            size,
            device: finder.one("the device", "device", map.device.as_ref())?,
            fua: finder.one("force unit access", "fua", map.fua.as_ref())?,
            words: OpWords::new(options, "a CSV trace")?,
            order: Vec::new(),
        };
        csv.order = csv.usual_order(options);
        Ok(csv)
    }

    /// The columns of usual lines: each is read for one thing at most, and there are neither devices nor words of the user.
    fn usual_order(&self, options: &FormatOptions) -> Vec<Column> {
        if self.device.is_some() || self.fua.is_some() || options.read_is.is_some() {
            return Vec::new();
        }
        let mut order = vec![Column::Other; self.columns];
        let read = [
            (self.time, Column::Time),
            (self.op, Column::Op),
            (self.offset, Column::Offset),
            (self.size, Column::Size),
        ];
        for (at, column) in read {
            if order[at] != Column::Other {
                return Vec::new();
            }
            order[at] = column;
        }
        order
    }

    fn time_column(finder: &Finder, options: &FormatOptions) -> Result<(usize, TimeUnit), HeaderError> {
        let of_name = |name: &str| TIMES.iter().find(|(usual, _)| name.to_lowercase().ends_with(&usual[4..]));
        let given = options.columns.time.as_deref();
        let usual = TIMES.map(|(name, _)| name);
        let Some((_, at)) = finder.find("the time", &[Kind { key: "time", given, usual: &usual }])? else {
            let keys = "`columns.time` and `time_unit`";
            return Err(finder.missing("the time", "time_s, time_ms, time_us, time_ns or time_ps", keys).into());
        };
        let name = finder.names[at];
        let unit = options.time_unit.or(of_name(name).map(|(_, unit)| *unit)).ok_or_else(|| {
            option("trace.columns.time", format!("{name:?}"), "its unit is not in its name; give `time_unit`")
        })?;
        Ok((at, unit))
    }

    #[cold]
    fn wrong_count(&self, count: usize) -> Box<Problem> {
        let problem =
            format!("has {count} where the header has {}, separated by {}", self.columns, self.separator.name());
        Problem::new("columns", b"", problem)
    }
}

impl Parser for Csv {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; MOST];
        let count = split(line, self.separator, &mut fields);
        if count != self.columns {
            return Err(self.wrong_count(count));
        }
        let field = |at: usize| unquoted(fields[at]);
        let op = self.words.op(field(self.op))?;
        // A flush concerns the whole drive; its address and size may be left out and mean nothing.
        let flush = op == Op::Flush;
        Ok(Some(Parsed {
            time: self.units.time_ps("time", field(self.time))?,
            offset: if flush { 0 } else { self.units.offset("offset", field(self.offset))? },
            bytes: if flush { 0 } else { self.units.size("size", field(self.size))? },
            device: self.device.map_or(0, |at| devices.number(field(at), as_written)),
            op,
            fua: self.fua.map_or(Ok(false), |at| truth(field(at)))?,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, _: &mut DeviceTable) -> Option<Parsed> {
        let Separator::Byte(separator) = self.separator else { return None };
        // Not a comment, nor a blank line; the first column may be one that is not read.
        if matches!(scan.first()?, b'#' | ..=b' ') {
            return None;
        }
        let (mut time, mut op, mut offset, mut size) = (None, None, None, None);
        for (at, column) in self.order.iter().enumerate() {
            if at > 0 {
                scan.expect(separator)?;
            }
            match column {
                Column::Time => time = Some(scan.time(self.units.time)?),
                Column::Op => op = Some(usual_op(scan.field(separator)?)?),
                Column::Offset => offset = Some(self.units.next_offset(scan)?),
                Column::Size => size = Some(self.units.next_size(scan)?),
                Column::Other => drop(scan.field(separator)?),
            }
        }
        scan.end()?;
        Some(Parsed { time: time?, device: 0, offset: offset?, bytes: size?, op: op?, fua: false })
    }
}
