//! What a format brings: its description, and a parser that turns its lines or records into requests.

use super::sample::Sample;
use crate::device::DeviceTable;
use crate::error::{Problem, WorkloadError};
use crate::format_options::FormatOptions;
use crate::scan::Scan;
use wordline_base::Op;

/// Description of a format.
pub(crate) struct Format {
    /// Evidence that a file has this format only, or `None`. Formats that look like others have no such test.
    pub recognise: fn(&Sample) -> Option<String>,
    /// True if a first line might be of this format, for formats without detection.
    pub resembles: fn(&[u8]) -> bool,
    /// True for a file of binary records.
    pub binary: bool,
    /// Special options that this format supports.
    pub takes: &'static [&'static str],
    /// Its peculiarities, for the documentation; Markdown.
    pub notes: &'static str,
    /// Makes its parser.
    pub open: fn(&Opening) -> Result<Opened, WorkloadError>,
}

/// A format that is neither recognised nor resembled.
pub(crate) fn never(_: &Sample) -> Option<String> {
    None
}

/// No line resembles a format that is recognised.
pub(crate) fn nothing(_: &[u8]) -> bool {
    false
}

/// A parsed line; the time is in picoseconds since the epoch of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub time: u128,
    pub device: u32,
    pub offset: u64,
    pub bytes: u64,
    pub op: Op,
    pub fua: bool,
}

/// A line, and where it ends: so many bytes behind the start of the first one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    pub parsed: Parsed,
    pub end: u32,
}

/// A request and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub parsed: Parsed,
    /// Number of its line or record.
    pub line: u64,
}

/// Parses a line or a record.
pub(crate) trait Parser: Send {
    /// Reads a line, or a binary record; `None` when it is no request.
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>>;

    /// Reads the next line with its end, if it looks as most lines of the format do. `None` says nothing of it: then [`Parser::parse`]
    /// reads it, and nothing goes on where the scan stopped.
    fn parse_at_once(&self, _scan: &mut Scan, _devices: &mut DeviceTable) -> Option<Parsed> {
        None
    }

    /// Reads the lines that `bytes` begin with in that way, up to one that cannot be, as many as `lines` have room for; gives their number.
    fn parse_many(&self, bytes: &[u8], devices: &mut DeviceTable, lines: &mut [Line]) -> usize {
        let (mut count, mut scan) = (0, Scan::new(bytes));
        for line in lines {
            let Some(parsed) = self.parse_at_once(&mut scan, devices) else { break };
            *line = Line { parsed, end: (bytes.len() - scan.len()) as u32 };
            count += 1;
        }
        count
    }

    /// Length of the record that begins with `head`, at most 128 KiB; asked again with as many bytes until they suffice.
    fn length(&self, head: &[u8]) -> Result<usize, Box<Problem>> {
        Ok(head.len())
    }
}

/// What there is to make a parser from.
pub(crate) struct Opening<'a> {
    /// Name of the format.
    pub name: &'static str,
    pub options: &'a FormatOptions,
    pub sample: &'a Sample,
}

/// A parser, and how its file is to be read.
pub(crate) struct Opened {
    pub parser: Box<dyn Parser>,
    /// Bytes at the start of every binary record that hold its length; 0 for lines.
    pub head: usize,
    /// Lines, or bytes of a binary file, before the first request.
    pub skip: usize,
    /// True if there are time stamps.
    pub timed: bool,
    /// Default sort window, in requests.
    pub sort_window: u32,
    /// A gap of time beyond which a request is left out, in picoseconds: its stamp is broken.
    pub wrapped: Option<u128>,
    /// Unit of time stamps, as a power of ten of picoseconds.
    pub unit: u32,
    /// True if equal stamps are spread by default.
    pub spread: bool,
}

impl Opened {
    /// A file of lines with time stamps in order; `unit` is the unit of its stamps.
    pub fn lines(parser: impl Parser + 'static, unit: u32) -> Self {
        let parser = Box::new(parser);
        Self { parser, head: 0, skip: 0, timed: true, sort_window: 0, wrapped: None, unit, spread: false }
    }

    /// A file of binary records whose first `head` bytes hold their length.
    pub fn records(parser: impl Parser + 'static, unit: u32, head: usize) -> Self {
        Self { head, ..Self::lines(parser, unit) }
    }
}
