//! MSR Cambridge traces (SNIA IOTTA 387/388): `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Time in FILETIME ticks of 100 ns, offset and size in bytes. Some copies have blanks instead of commas and lower-case
//! types. The response time is not read: the simulated drive has its own.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use crate::device::DeviceTable;
use crate::error::{Problem, WorkloadError};
use crate::fields::{split, Separator};
use crate::format_options::FormatOptions;
use crate::number::whole;
use crate::scan::Scan;
use wordline_base::Op;

const COLUMNS: usize = 7;

pub(crate) const FORMAT: Format = Format {
    recognise: reason,
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "Blanks instead of commas and a header line are read too. A device is host and disk, `hm_0`. The response time is \
            not read.",
    open: |opening: &Opening| {
        let first = opening.sample.first();
        let parser = Msr::new(opening.sample.first_that(|line| recognise(line).is_some()), opening.options)?;
        let unit = parser.units.time;
        Ok(Opened { skip: usize::from(is_header(first)), ..Opened::lines(parser, unit) })
    },
};

fn reason(sample: &Sample) -> Option<String> {
    let first = sample.first();
    let separator = recognise(first)?;
    let what = if is_header(first) { "the header of MSR Cambridge" } else { "Read or Write in the fourth" };
    Some(format!("seven fields separated by {}, {what}", separator.name()))
}

/// Parser of MSR lines.
#[derive(Debug)]
pub(crate) struct Msr {
    separator: Separator,
    units: Units,
}

/// Read or Write, in any case.
fn op_of(text: &[u8]) -> Option<Op> {
    match text {
        b"Read" => Some(Op::Read),
        b"Write" => Some(Op::Write),
        _ if text.eq_ignore_ascii_case(b"read") => Some(Op::Read),
        _ if text.eq_ignore_ascii_case(b"write") => Some(Op::Write),
        _ => None,
    }
}

fn separator_of(line: &[u8]) -> Separator {
    match memchr::memchr(b',', line) {
        Some(_) => Separator::Byte(b','),
        None => Separator::Blanks,
    }
}

/// The separator, when `line` can be nothing else than a line or the header of an MSR trace.
fn recognise(line: &[u8]) -> Option<Separator> {
    let separator = separator_of(line);
    let mut fields = [&b""[..]; COLUMNS];
    let fits = split(line, separator, &mut fields) == COLUMNS
        && ((is_header(line) && fields[1].eq_ignore_ascii_case(b"hostname"))
            || (whole(fields[0]).is_ok() && op_of(fields[3]).is_some()));
    fits.then_some(separator)
}

/// True if `line` names the columns.
fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"timestamp")
}

impl Msr {
    /// A parser for a file whose lines look like `line`.
    pub fn new(line: &[u8], options: &FormatOptions) -> Result<Self, WorkloadError> {
        let units = Units { time: 5, address: 1, size: 1 }.with(options)?;
        Ok(Self { separator: separator_of(line), units })
    }

    #[cold]
    fn wrong_count(&self, line: &[u8], count: usize) -> Box<Problem> {
        let other = separator_of(line);
        let mut problem = format!(
            "has {count} where an MSR trace has {COLUMNS} (Timestamp, Hostname, DiskNumber, Type, Offset, Size, \
             ResponseTime), separated by {} as the lines at its start",
            self.separator.name()
        );
        if other != self.separator {
            problem += &format!("; this line has {}", other.name());
        }
        Problem::new("columns", b"", problem)
    }
}

impl Parser for Msr {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, self.separator, &mut fields);
        if count != COLUMNS {
            return Err(self.wrong_count(line, count));
        }
        let op = op_of(fields[3]).ok_or_else(|| Problem::new("Type", fields[3], "must be Read or Write"))?;
        whole(fields[2]).map_err(|e| Problem::new("DiskNumber", fields[2], e.explain("a whole number")))?;
        // Host and disk as they stand in the line, with the separator between them.
        let from = fields[1].as_ptr() as usize - line.as_ptr() as usize;
        let to = fields[2].as_ptr() as usize - line.as_ptr() as usize + fields[2].len();
        let name = |_: &[u8]| format!("{}_{}", String::from_utf8_lossy(fields[1]), String::from_utf8_lossy(fields[2]));
        Ok(Some(Parsed {
            time: self.units.time_ps("Timestamp", fields[0])?,
            offset: self.units.offset("Offset", fields[4])?,
            bytes: self.units.size("Size", fields[5])?,
            device: devices.number(&line[from..to], name),
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, devices: &mut DeviceTable) -> Option<Parsed> {
        if self.separator != Separator::Byte(b',') {
            return None;
        }
        let time = scan.time(self.units.time)?;
        scan.expect(b',')?;
        let device = scan.device(devices, 2)?;
        scan.expect(b',')?;
        let op = if scan.word(b"Read,") {
            Op::Read
        } else if scan.word(b"Write,") {
            Op::Write
        } else {
            return None;
        };
        let offset = self.units.next_offset(scan)?;
        scan.expect(b',')?;
        let size = self.units.next_size(scan)?;
        scan.expect(b',')?;
        scan.skip_number()?;
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<Parsed, String> {
        let mut msr = Msr::new(line.as_bytes(), &FormatOptions::default()).unwrap();
        let parsed = msr.parse(line.as_bytes(), &mut DeviceTable::default());
        parsed.map(Option::unwrap).map_err(|p| format!("{}: {}", p.field, p.problem))
    }

    #[test]
    fn both_dialects() {
        let expected = Parsed {
            time: 12_800_000_000_000_000_700_000,
            device: 0,
            offset: 8192,
            bytes: 1024,
            op: Op::Write,
            fua: false,
        };
        assert_eq!(one("128000000000000007,web,3,Write,8192,1024,55"), Ok(expected));
        assert_eq!(one("128000000000000007 web 3 write 8192 1024 55"), Ok(expected));
        assert_eq!(one("128000000000000007,web,3,READ,0,512,55").unwrap().op, Op::Read);
    }

    #[test]
    fn devices_are_host_and_disk() {
        let mut msr = Msr::new(b"1,a,0", &FormatOptions::default()).unwrap();
        let mut devices = DeviceTable::default();
        for (line, number) in [("1,a,0,Read,0,512,1", 0), ("1,a,1,Read,0,512,1", 1), ("1,a,0,Read,0,512,1", 0)] {
            assert_eq!(msr.parse(line.as_bytes(), &mut devices).unwrap().unwrap().device, number);
        }
        assert_eq!(devices.names(), ["a_0", "a_1"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(one("1,web,3,Reed,8192,1024,55").unwrap_err().starts_with("Type: must be Read or Write"));
        assert!(one("x,web,3,Read,8192,1024,55").unwrap_err().starts_with("Timestamp: not a number"));
        assert!(one("1,web,c,Read,8192,1024,55").unwrap_err().starts_with("DiskNumber: not a number"));
        assert!(one("1,web,3,Read,-1,1024,55").unwrap_err().starts_with("Offset: must not be negative"));
        assert!(one("1,web,3,Read,1,1073741825,55").unwrap_err().contains("over 1 GiB"));
        assert!(one("1,web,3,Read,1,512").unwrap_err().contains("has 6 where an MSR trace has 7"));
    }
}
