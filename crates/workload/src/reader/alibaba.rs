//! Alibaba block traces of 2020: `device_id,opcode,offset,length,timestamp`.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::whole;
use crate::scan::Scan;

const COLUMNS: usize = 5;
/// Digits of a time stamp in microseconds since 1970, in this age.
const DIGITS: usize = 16;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "A thousand volumes in one file: `device` keeps one, `devices = \"stack\"` places them one after another.",
    open: |opening: &Opening| {
        let units = Units { time: 6, address: 1, size: 1 }.with(opening.options)?;
        Ok(Opened::lines(Alibaba { units }, units.time))
    },
};

struct Alibaba {
    units: Units,
}

fn recognise(sample: &Sample) -> Option<String> {
    let mut fields = [&b""[..]; COLUMNS];
    let fits = split(sample.first(), Separator::Byte(b','), &mut fields) == COLUMNS
        && matches!(fields[1], b"R" | b"W")
        && [0, 2, 3, 4].iter().all(|&at| whole(fields[at]).is_ok())
        && fields[4].len() == DIGITS;
    fits.then(|| {
        "five fields separated by commas, R or W in the second, microseconds since 1970 in the last".to_owned()
    })
}

impl Parser for Alibaba {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Byte(b','), &mut fields);
        if count != COLUMNS {
            return Err(words::wrong_count(count, "alibaba", "device_id, opcode, offset, length, timestamp"));
        }
        let op = words::letter("opcode", fields[1])?;
        whole(fields[0]).map_err(|e| Problem::new("device_id", fields[0], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("timestamp", fields[4])?,
            offset: self.units.offset("offset", fields[2])?,
            bytes: self.units.size("length", fields[3])?,
            device: devices.number(fields[0], words::as_written),
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, devices: &mut DeviceTable) -> Option<Parsed> {
        let device = scan.device(devices, 1)?;
        scan.expect(b',')?;
        let op = words::next_letter(scan)?;
        scan.expect(b',')?;
        let offset = self.units.next_offset(scan)?;
        scan.expect(b',')?;
        let size = self.units.next_size(scan)?;
        scan.expect(b',')?;
        let time = scan.time(self.units.time)?;
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}
