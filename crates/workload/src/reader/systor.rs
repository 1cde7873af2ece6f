//! Systor '17 traces: `Timestamp,Response,IOType,LUN,Offset,Size` with a header.
//!
//! Stamps are seconds since 1970; their publishers name times of day in Japan (UTC + 9 h), which means nothing to a replay, as
//! times count from the first request. Commands other than reads and writes have a blank type.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::whole;
use crate::scan::Scan;

const COLUMNS: usize = 6;
const HEADER: &[u8] = b"timestamp,response,iotype,lun,offset,size";

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| {
        is_header(sample.first())
            .then(|| "the header Timestamp,Response,IOType,LUN,Offset,Size of Systor '17".to_owned())
    },
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes:
        "A blank IOType is a command that is neither read nor write: left out and counted. Files of hours and LUNs are \
            read as one trace by a directory or a pattern. Times of day in file names are Japanese.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: 1, size: 1 }.with(opening.options)?;
        let skip = usize::from(is_header(opening.sample.first()));
        Ok(Opened { skip, ..Opened::lines(Systor { units }, units.time) })
    },
};

struct Systor {
    units: Units,
}

fn is_header(line: &[u8]) -> bool {
    let line: Vec<u8> = line.iter().filter(|byte| !byte.is_ascii_whitespace()).copied().collect();
    line.eq_ignore_ascii_case(HEADER)
}

impl Parser for Systor {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Byte(b','), &mut fields);
        if count != COLUMNS {
            return Err(words::wrong_count(count, "systor17", "Timestamp, Response, IOType, LUN, Offset, Size"));
        }
        if fields[2].is_empty() {
            return Ok(None);
        }
        let op = words::letter("IOType", fields[2])?;
        whole(fields[3]).map_err(|e| Problem::new("LUN", fields[3], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("Timestamp", fields[0])?,
            offset: self.units.offset("Offset", fields[4])?,
            bytes: self.units.size("Size", fields[5])?,
            device: devices.number(fields[3], words::as_written),
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, devices: &mut DeviceTable) -> Option<Parsed> {
        let time = scan.time(self.units.time)?;
        scan.expect(b',')?;
        // The response time is a decimal, and of no use here.
        scan.skip_number()?;
        scan.expect(b'.')?;
        scan.skip_number()?;
        scan.expect(b',')?;
        let op = words::next_letter(scan)?;
        scan.expect(b',')?;
        let device = scan.device(devices, 1)?;
        scan.expect(b',')?;
        let offset = self.units.next_offset(scan)?;
        scan.expect(b',')?;
        let size = self.units.next_size(scan)?;
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}
