//! HP Labs traces as recorded (Ruemmler and Wilkes 1993): a header of text, then big-endian records.
//!
//! The header ends with a form feed. A record of 56 bytes is fourteen words: size and kind, identity, seconds and
//! microseconds, start and end of the service, bytes, sector, device, driver, cylinder, flags (bit 0 = read), two more.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use crate::device::DeviceTable;
use crate::error::{Problem, WorkloadError};
use wordline_base::Op;

const MAGIC: &[u8] = b"$$TR_IOREC";
const RECORD: usize = 56;
/// Shortest and longest record that is believed to be one.
const LENGTHS: std::ops::RangeInclusive<u32> = 4..=4096;
const MICROSECOND: u128 = 1_000_000;

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| {
        sample.bytes.starts_with(MAGIC).then(|| "it begins with $$TR_IOREC: HP Labs".to_owned())
    },
    resembles: nothing,
    binary: true,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "Two disks in the workstation's trace. Records of other sizes than 56 bytes are left out and counted.",
    open: |opening: &Opening| {
        let units = Units { time: 6, address: 256, size: 1 }.with(opening.options)?;
        let bytes = &opening.sample.bytes;
        let end = memchr::memmem::find(bytes, b"\n\x0c").filter(|_| bytes.starts_with(MAGIC));
        let Some(end) = end else {
            let message =
                "an SRT trace begins with $$TR_IOREC and a header of text, which ends with a form feed".to_owned();
            return Err(WorkloadError::Format { file: opening.sample.path().to_owned(), message });
        };
        Ok(Opened { skip: end + 2, ..Opened::records(Srt { units }, units.time, 4) })
    },
};

struct Srt {
    units: Units,
}

/// Word `n` of a record.
fn word(record: &[u8], n: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|byte| record[4 * n + byte]))
}

impl Parser for Srt {
    fn length(&self, head: &[u8]) -> Result<usize, Box<Problem>> {
        let length = word(head, 0);
        if LENGTHS.contains(&length) {
            return Ok(length as usize);
        }
        Err(Problem::new("size", length.to_string().as_bytes(), "is no size of a record; they have 56 bytes"))
    }

    fn parse(&mut self, record: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        if record.len() != RECORD {
            return Ok(None);
        }
        let [seconds, micros, bytes, sector, device, flags] = [2, 3, 6, 7, 8, 11].map(|n| word(record, n));
        // The number of the disk is the second byte from below.
        let disk = (device >> 8 & 0xff) as u8;
        Ok(Some(Parsed {
            time: (u128::from(seconds) * MICROSECOND + u128::from(micros)) * 10_u128.pow(self.units.time),
            offset: self.units.offset_of("sector", sector.to_string().as_bytes(), sector.into())?,
            bytes: self.units.size_of("bytes", bytes.to_string().as_bytes(), bytes.into())?,
            device: devices.number(&[disk], |raw| raw[0].to_string()),
            op: if flags & 1 == 1 { Op::Read } else { Op::Write },
            fua: false,
        }))
    }
}
