//! The five-column ASCII family: `time device block blocks op`.
//!
//! DiskSim (ms), its variant with sizes in 4 KiB pages, MQSim and SSDSim (both ns, whatever their own settings say)
//! share the columns and differ only in units, so the user must give the format.

use super::parser::{never, nothing, Format, Opened, Opening, Parsed, Parser};
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::{Problem, WorkloadError};
use crate::fields::{split, Separator};
use crate::format_options::FormatOptions;
use crate::number::whole;
use crate::scan::Scan;

const COLUMNS: usize = 5;

/// The formats of this family by name, and their units.
pub(crate) const FAMILY: [(&str, Units); 4] = [
    ("disksim", Units { time: 9, address: 512, size: 512 }),
    ("disksim-4k", Units { time: 9, address: 512, size: 4096 }),
    ("mqsim", Units { time: 3, address: 512, size: 512 }),
    ("ssdsim", Units { time: 3, address: 512, size: 512 }),
];

pub(crate) const FORMAT: Format = Format {
    recognise: never,
    resembles: nothing,
    binary: false,
    takes: &["read_is", "write_is", "address_block_bytes", "size_block_bytes"],
    notes: "Blanks or tabs. The five-column formats look alike and differ in units: an error shows what the file would mean in \
            each. Some converters write 0 = read: `read_is = \"0\"`.",
    open: |opening: &Opening| {
        let parser = DiskSim::new(opening.name, opening.options)?;
        let unit = parser.units.time;
        Ok(Opened::lines(parser, unit))
    },
};

/// Parser of five-column lines.
#[derive(Debug)]
pub(crate) struct DiskSim {
    units: Units,
    read: u8,
    /// Name of its format.
    name: &'static str,
}

/// True if `line` has the five columns of numbers of this family.
pub(crate) fn resembles(line: &[u8]) -> bool {
    let mut fields = [&b""[..]; COLUMNS];
    split(line, Separator::Blanks, &mut fields) == COLUMNS
        && crate::number::time_ps(fields[0], 0).is_ok()
        && fields[1..].iter().all(|field| whole(field).is_ok())
}

impl DiskSim {
    /// A parser for the format of this family that has this name.
    pub fn new(name: &'static str, options: &FormatOptions) -> Result<Self, WorkloadError> {
        let read = words::read_digit(options, b'1')?;
        let (_, units) = FAMILY.into_iter().find(|(member, _)| *member == name).expect("a format of this family");
        Ok(Self { units: units.with(options)?, read, name })
    }

    #[cold]
    fn wrong_count(&self, count: usize) -> Box<Problem> {
        words::wrong_count(count, self.name, "time, device, block number, block count, op")
    }
}

impl Parser for DiskSim {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Blanks, &mut fields);
        if count != COLUMNS {
            return Err(self.wrong_count(count));
        }
        let op = words::digit("op", fields[4], self.read)?;
        whole(fields[1]).map_err(|e| Problem::new("device number", fields[1], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("time", fields[0])?,
            offset: self.units.offset("block number", fields[2])?,
            bytes: self.units.size("block count", fields[3])?,
            device: devices.number(fields[1], words::as_written),
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, devices: &mut DeviceTable) -> Option<Parsed> {
        let time = scan.time(self.units.time)?;
        scan.expect(b' ')?;
        let device = scan.device(devices, 1)?;
        scan.expect(b' ')?;
        let offset = self.units.next_offset(scan)?;
        scan.expect(b' ')?;
        let size = self.units.next_size(scan)?;
        scan.expect(b' ')?;
        let op = words::next_digit(scan, self.read)?;
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Op;

    fn one(name: &'static str, options: &FormatOptions, line: &str) -> Result<Parsed, String> {
        let mut parser = DiskSim::new(name, options).unwrap();
        let parsed = parser.parse(line.as_bytes(), &mut DeviceTable::default());
        parsed.map(Option::unwrap).map_err(|p| format!("{}: {}", p.field, p.problem))
    }

    #[test]
    fn one_line_in_each_dialect() {
        let options = FormatOptions::default();
        let disksim = one("disksim", &options, "1.25 2 100 8 1").unwrap();
        let expected = Parsed { time: 1_250_000_000, device: 0, offset: 51_200, bytes: 4096, op: Op::Read, fua: false };
        assert_eq!(disksim, expected);
        let pages = one("disksim-4k", &options, "1.25\t2\t100\t8\t0").unwrap();
        assert_eq!((pages.time, pages.offset, pages.bytes, pages.op), (1_250_000_000, 51_200, 32_768, Op::Write));
        for name in ["mqsim", "ssdsim"] {
            let ns = one(name, &options, " 1250  2 100 8 1 ").unwrap();
            assert_eq!((ns.time, ns.offset, ns.bytes, ns.op), (1_250_000, 51_200, 4096, Op::Read));
        }
    }

    #[test]
    fn options_override_units_and_polarity() {
        let options = FormatOptions {
            time_unit: Some(crate::format_options::TimeUnit::S),
            address_block_bytes: Some(1),
            size_block_bytes: Some(4096),
            read_is: Some("0".into()),
            ..FormatOptions::default()
        };
        let got = one("mqsim", &options, "2.5 0 100 2 0").unwrap();
        assert_eq!((got.time, got.offset, got.bytes, got.op), (2_500_000_000_000, 100, 8192, Op::Read));
        let wrong = FormatOptions { read_is: Some("R".into()), ..FormatOptions::default() };
        let text = DiskSim::new("mqsim", &wrong).unwrap_err().to_string();
        assert_eq!(text, "trace.read_is = \"R\": must be \"1\" or \"0\" for this format");
        let zero = FormatOptions { size_block_bytes: Some(0), ..FormatOptions::default() };
        let text = DiskSim::new("mqsim", &zero).unwrap_err().to_string();
        assert_eq!(text, "trace.size_block_bytes = 0: must be 1 to 1048576 bytes");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let one = |line| one("disksim", &FormatOptions::default(), line).unwrap_err();
        assert!(one("1 0 1 8").starts_with("columns: has 4 where format disksim has 5"));
        assert!(one("1 0 1 8 2").starts_with("op: must be 1 for a read or 0 for a write"));
        assert!(one("nan 0 1 8 1").starts_with("time: not a finite number"));
        assert!(one("1 0 -1 8 1").starts_with("block number: must not be negative"));
        assert!(one("1 0 99999999999999999 8 1").contains("exceeds 2^64 bytes"));
        assert!(one("1 0 1 8.5 1").starts_with("block count: has a fraction"));
        assert!(one("1 0 1 9999999 1").contains("over 1 GiB"));
    }
}
