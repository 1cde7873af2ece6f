//! HP Labs traces decoded to text: `time disk offset size R|W start end queue`.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::{time_ps, whole};
use crate::scan::Scan;

const COLUMNS: usize = 8;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "The text form of `hp-srt`. Start and end of service, in µs, are ignored.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: 1, size: 1 }.with(opening.options)?;
        Ok(Opened::lines(Hp { units }, units.time))
    },
};

struct Hp {
    units: Units,
}

fn recognise(sample: &Sample) -> Option<String> {
    let mut fields = [&b""[..]; COLUMNS];
    let numbers = |fields: &[&[u8]]| fields.iter().all(|field| whole(field).is_ok());
    let fits = split(sample.first(), Separator::Blanks, &mut fields) == COLUMNS
        && fields[0].contains(&b'.')
        && time_ps(fields[0], 12).is_ok()
        && numbers(&fields[1..4])
        && matches!(fields[4], b"R" | b"W")
        && numbers(&fields[5..]);
    fits.then(|| "eight fields separated by blanks, R or W in the fifth: HP Labs, decoded".to_owned())
}

impl Parser for Hp {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Blanks, &mut fields);
        if count != COLUMNS {
            return Err(words::wrong_count(count, "hp", "time, disk, offset, size, R|W, start, end, queue"));
        }
        let op = words::letter("op", fields[4])?;
        whole(fields[1]).map_err(|e| Problem::new("disk", fields[1], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("time", fields[0])?,
            offset: self.units.offset("offset", fields[2])?,
            bytes: self.units.size("size", fields[3])?,
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
        let op = words::next_letter(scan)?;
        for _ in COLUMNS - 3..COLUMNS {
            scan.expect(b' ')?;
            scan.skip_number()?;
        }
        scan.end()?;
        Some(Parsed { time, device, offset, bytes: size, op, fua: false })
    }
}
