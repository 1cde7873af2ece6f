//! SPC traces, as the UMass repository has them: `ASU,LBA,Size,Opcode,Timestamp` and optional fields (SPC trace file
//! format 1.0.1).

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::{time_ps, whole};
use crate::scan::Scan;

const COLUMNS: usize = 5;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes:
        "A device is an application's storage unit (ASU). Optional fields may vary from line to line and are not read.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: 512, size: 1 }.with(opening.options)?;
        Ok(Opened::lines(Spc { units }, units.time))
    },
};

struct Spc {
    units: Units,
}

fn recognise(sample: &Sample) -> Option<String> {
    let mut fields = [&b""[..]; COLUMNS];
    let count = split(sample.first(), Separator::Byte(b','), &mut fields);
    let fits = count >= COLUMNS
        && fields[..3].iter().all(|field| whole(field).is_ok())
        && matches!(fields[3], [b'R' | b'r' | b'W' | b'w'])
        && time_ps(fields[4], 12).is_ok();
    fits.then(|| "fields separated by commas, R or W in the fourth and a time behind it: SPC".to_owned())
}

impl Parser for Spc {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Byte(b','), &mut fields);
        if count < COLUMNS {
            return Err(words::wrong_count(count, "spc", "ASU, LBA, Size, Opcode, Timestamp"));
        }
        let op = words::letter("Opcode", fields[3])?;
        whole(fields[0]).map_err(|e| Problem::new("ASU", fields[0], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("Timestamp", fields[4])?,
            offset: self.units.offset("LBA", fields[1])?,
            bytes: self.units.size("Size", fields[2])?,
            device: devices.number(fields[0], words::as_written),
            op,
            fua: false,
        }))
    }

    #[inline(always)]
    fn parse_at_once(&self, scan: &mut Scan, devices: &mut DeviceTable) -> Option<Parsed> {
        let device = scan.device(devices, 1)?;
        scan.expect(b',')?;
        let offset = self.units.next_offset(scan)?;
        scan.expect(b',')?;
        let size = self.units.next_size(scan)?;
        scan.expect(b',')?;
        let op = words::next_letter(scan)?;
        scan.expect(b',')?;
        let time = scan.time(self.units.time)?;
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}
