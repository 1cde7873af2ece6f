//! CloudPhysics traces as CSV: `version,time,op,size,lbn`, with SCSI commands in hexadecimal.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::scan::Scan;
use wordline_base::Op;

const COLUMNS: usize = 5;
const HEADER: &[u8] = b"version,time,op,size,lbn";

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| {
        is_header(sample.first()).then(|| "the header version,time,op,size,lbn of CloudPhysics".to_owned())
    },
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "SCSI READ and WRITE of 6, 10, 12 and 16 bytes are requests, SYNCHRONIZE CACHE is a flush; other commands are left out \
            and counted.",
    open: |opening: &Opening| {
        let units = Units { time: 6, address: 512, size: 1 }.with(opening.options)?;
        let skip = usize::from(is_header(opening.sample.first()));
        Ok(Opened { skip, ..Opened::lines(Cloudphysics { units }, units.time) })
    },
};

/// What a SCSI command does, of those that a drive replays (SCSI Block Commands: READ, WRITE, WRITE AND VERIFY, SYNCHRONIZE
/// CACHE).
pub(crate) fn scsi(command: u64) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Op::Read),
        0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

struct Cloudphysics {
    units: Units,
}

fn is_header(line: &[u8]) -> bool {
    line.trim_ascii().eq_ignore_ascii_case(HEADER)
}

impl Parser for Cloudphysics {
    fn parse(&mut self, line: &[u8], _: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Byte(b','), &mut fields);
        if count != COLUMNS {
            return Err(words::wrong_count(count, "cloudphysics", "version, time, op, size, lbn"));
        }
        let command = match fields[2] {
            [_] | [_, _] if fields[2].iter().all(u8::is_ascii_hexdigit) => fields[2]
                .iter()
                .fold(0, |value, &digit| value * 16 + u64::from((digit as char).to_digit(16).unwrap_or(0))),
            other => return Err(Problem::new("op", other, "must be a SCSI command in hexadecimal, such as 28 or 2a")),
        };
        let Some(op) = scsi(command) else { return Ok(None) };
        let flush = op == Op::Flush;
        Ok(Some(Parsed {
            time: self.units.time_ps("time", fields[1])?,
            offset: if flush { 0 } else { self.units.offset("lbn", fields[4])? },
            bytes: if flush { 0 } else { self.units.size("size", fields[3])? },
            device: 0,
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, _: &mut DeviceTable) -> Option<Parsed> {
        scan.skip_number()?;
        scan.expect(b',')?;
        let time = scan.time(self.units.time)?;
        scan.expect(b',')?;
        let op = if scan.word(b"28,") {
            Op::Read
        } else if scan.word(b"2a,") {
            Op::Write
        } else {
            return None;
        };
        let size = self.units.next_size(scan)?;
        scan.expect(b',')?;
        let offset = self.units.next_offset(scan)?;
        scan.end()?;
        Some(Parsed { time, device: 0, offset, bytes: size, op, fua: false })
    }
}
