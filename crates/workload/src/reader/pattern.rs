//! Any text, read by a regular expression with named groups.

use super::parser::{never, nothing, Format, Opened, Opening, Parsed, Parser};
use super::units::Units;
use super::words::{as_written, truth, OpWords};
use crate::device::DeviceTable;
use crate::error::{nearest, option, Problem, WorkloadError};
use crate::format_options::{FormatOptions, Unmatched};
use regex::bytes::{CaptureLocations, Regex, RegexBuilder};
use wordline_base::Op;

/// All names that a group may have.
const GROUPS: [&str; 8] = ["time", "op", "offset", "lba", "size", "blocks", "device", "fua"];
/// Memory of a compiled pattern, in bytes.
const LARGEST: usize = 1 << 20;

pub(crate) const FORMAT: Format = Format {
    recognise: never,
    resembles: nothing,
    binary: false,
    takes: &["pattern", "unmatched", "read_is", "write_is", "address_block_bytes", "size_block_bytes"],
    notes: "Groups `time`, `op`, `offset` or `lba`, `size` or `blocks`, `device`, `fua`; `time_unit` is required. \
            `unmatched = \"skip\"` leaves out lines that do not match. An expression that starts with `^` is faster.",
    open: |opening: &Opening| {
        let parser = Pattern::new(opening.options)?;
        let (unit, timed) = (parser.units.time, parser.time.is_some());
        Ok(Opened { timed, ..Opened::lines(parser, unit) })
    },
};

struct Pattern {
    regex: Regex,
    found: CaptureLocations,
    units: Units,
    words: OpWords,
    unmatched: Unmatched,
    time: Option<usize>,
    op: usize,
    offset: usize,
    size: usize,
    device: Option<usize>,
    fua: Option<usize>,
}

#[cold]
fn wrong(pattern: &str, problem: impl Into<String>) -> WorkloadError {
    option("trace.pattern", format!("{pattern:?}"), problem)
}

impl Pattern {
    fn new(options: &FormatOptions) -> Result<Self, WorkloadError> {
        let Some(text) = options.pattern.as_deref() else {
            return Err(option(
                "trace.format",
                "\"pattern\"",
                "needs `pattern`, a regular expression with named groups",
            ));
        };
        let built = RegexBuilder::new(text).size_limit(LARGEST).build();
        let regex = built.map_err(|error| wrong(text, format!("no regular expression: {error}")))?;
        let names: Vec<Option<&str>> = regex.capture_names().collect();
        if let Some(name) = names.iter().flatten().find(|name| !GROUPS.contains(name)) {
            let near = nearest(name, GROUPS);
            return Err(wrong(text, format!("no group may be called {name:?}; they are {}{near}", GROUPS.join(", "))));
        }
        let group = |name: &str| names.iter().position(|found| *found == Some(name));
        let either = |bytes: &str, blocks: &str, what: &str| match (group(bytes), group(blocks)) {
            (Some(at), None) => Ok((at, 1)),
            (None, Some(at)) => Ok((at, 512)),
            (None, None) => Err(wrong(text, format!("needs a group for the {what}: (?<{bytes}>…) or (?<{blocks}>…)"))),
            _ => Err(wrong(text, format!("has groups `{bytes}` and `{blocks}`; give one of the two"))),
        };
        let (offset, address) = either("offset", "lba", "address")?;
        let (size, block) = either("size", "blocks", "size")?;
        let op = group("op").ok_or_else(|| wrong(text, "needs a group for the operation: (?<op>…)"))?;
        let time = group("time");
        if time.is_some() && options.time_unit.is_none() {
            let problem = "is not given; a pattern does not define its time unit: s, ms, us, 100ns, ns or ps";
            return Err(option("trace.time_unit", "nothing", problem));
        }
        Ok(Self {
            found: regex.capture_locations(),
            units: Units { time: 0, address, size: block }.with(options)?,
            words: OpWords::new(options, "a pattern")?,
            unmatched: options.unmatched,
            time,
            op,
            offset,
            size,
            device: group("device"),
            fua: group("fua"),
            regex,
        })
    }
}

impl Parser for Pattern {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        if self.regex.captures_read(&mut self.found, line).is_none() {
            return match self.unmatched {
                Unmatched::Skip => Ok(None),
                Unmatched::Error => {
                    let problem =
                        "is not matched by the pattern; `unmatched = \"skip\"` (--load-set trace.unmatched=skip) \
                                   leaves such lines out";
                    Err(Problem::new("line", b"", problem))
                }
            };
        }
        // A group that takes no part in the match is empty.
        let group = |at: usize| self.found.get(at).map_or(&b""[..], |(from, to)| &line[from..to]);
        let op = self.words.op(group(self.op))?;
        let flush = op == Op::Flush;
        Ok(Some(Parsed {
            time: self.time.map_or(Ok(0), |at| self.units.time_ps("time", group(at)))?,
            offset: if flush { 0 } else { self.units.offset("offset", group(self.offset))? },
            bytes: if flush { 0 } else { self.units.size("size", group(self.size))? },
            device: self.device.map_or(0, |at| devices.number(group(at), as_written)),
            op,
            fua: self.fua.map_or(Ok(false), |at| truth(group(at)))?,
        }))
    }
}
