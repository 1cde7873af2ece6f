//! Tencent CBS traces of 2018 (SNIA IOTTA 28064): `Timestamp,Offset,Size,IOType,VolumeID`.
//!
//! Stamps are whole seconds, and thousands of requests share one. Played as they are they would arrive in one burst a second,
//! so they are spread over it.

use super::parser::{never, Format, Opened, Opening, Parsed, Parser};
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::whole;
use crate::scan::Scan;

const COLUMNS: usize = 5;

pub(crate) const FORMAT: Format = Format {
    recognise: never,
    resembles,
    binary: false,
    takes: &["read_is", "write_is", "address_block_bytes", "size_block_bytes"],
    notes:
        "Requests of one second are spread evenly over it; `spread = \"random\"` spreads them at random, `\"none\"` \
        lets them arrive together. A second may hold 4,194,304 requests; they are kept in memory.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: 512, size: 512 }.with(opening.options)?;
        let read = words::read_digit(opening.options, b'0')?;
        Ok(Opened { spread: true, ..Opened::lines(Tencent { units, read }, units.time) })
    },
};

struct Tencent {
    units: Units,
    read: u8,
}

fn resembles(line: &[u8]) -> bool {
    let mut fields = [&b""[..]; COLUMNS];
    split(line, Separator::Byte(b','), &mut fields) == COLUMNS
        && fields.iter().all(|field| whole(field).is_ok())
        && matches!(fields[3], [b'0' | b'1'])
}

impl Parser for Tencent {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Byte(b','), &mut fields);
        if count != COLUMNS {
            return Err(words::wrong_count(count, "tencent", "Timestamp, Offset, Size, IOType, VolumeID"));
        }
        let op = words::digit("IOType", fields[3], self.read)?;
        whole(fields[4]).map_err(|e| Problem::new("VolumeID", fields[4], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("Timestamp", fields[0])?,
            offset: self.units.offset("Offset", fields[1])?,
            bytes: self.units.size("Size", fields[2])?,
            device: devices.number(fields[4], words::as_written),
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, devices: &mut DeviceTable) -> Option<Parsed> {
        let time = scan.time(self.units.time)?;
        scan.expect(b',')?;
        let offset = self.units.next_offset(scan)?;
        scan.expect(b',')?;
        let size = self.units.next_size(scan)?;
        scan.expect(b',')?;
        let op = words::next_digit(scan, self.read)?;
        scan.expect(b',')?;
        let device = scan.device(devices, 1)?;
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}
