//! CloudPhysics traces as binary: records of VMware's vscsiStats, version 1 or 2, little-endian.
//!
//! Version 1 is `u32 sn, len, nSG; u16 cmd, ver; u64 lbn, ts`, version 2 `u16 cmd, ver; u32 sn, len, nSG; u64 lbn, ts, rt`;
//! the upper byte of `ver` is the version.

use super::cloudphysics::scsi;
use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use crate::device::DeviceTable;
use crate::error::{Problem, WorkloadError};
use wordline_base::Op;

/// Records that have to fit before a file without a magic number is believed.
const BELIEVED: usize = 100;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: true,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "Commands as in the CSV form. There is no magic number: a file is recognised when each of its first 100 records has \
            the same version and a known command, and time does not run backwards.",
    open: |opening: &Opening| {
        let units = Units { time: 6, address: 512, size: 1 }.with(opening.options)?;
        let Some(version) = [Version::ONE, Version::TWO].into_iter().find(|version| version.fits(&opening.sample.bytes))
        else {
            let message = "the first record is of neither version 1 nor version 2 of the vscsi format".to_owned();
            return Err(WorkloadError::Format { file: opening.sample.path().to_owned(), message });
        };
        Ok(Opened::records(Vscsi { units, version }, units.time, version.bytes))
    },
};

/// Where the fields of a version stand.
#[derive(Clone, Copy)]
struct Version {
    number: u16,
    bytes: usize,
    command: usize,
    version: usize,
    length: usize,
    block: usize,
    time: usize,
}

impl Version {
    const ONE: Self = Self { number: 1, bytes: 32, command: 12, version: 14, length: 4, block: 16, time: 24 };
    const TWO: Self = Self { number: 2, bytes: 40, command: 0, version: 2, length: 8, block: 16, time: 24 };

    fn fits(self, record: &[u8]) -> bool {
        record.len() >= self.bytes && u16_at(record, self.version) >> 8 == self.number
    }
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| record[at + n]))
}

struct Vscsi {
    units: Units,
    version: Version,
}

fn recognise(sample: &Sample) -> Option<String> {
    let version = [Version::ONE, Version::TWO].into_iter().find(|version| version.fits(&sample.bytes))?;
    let mut last = 0;
    let mut known = 0;
    for record in sample.bytes.chunks_exact(version.bytes).take(BELIEVED) {
        let time = u64_at(record, version.time);
        if !version.fits(record) || scsi(u16_at(record, version.command).into()).is_none() || time < last {
            return None;
        }
        last = time;
        known += 1;
    }
    let enough = known == BELIEVED || sample.whole && known > 0 && sample.bytes.len() == known * version.bytes;
    enough.then(|| format!("binary records of {} bytes, each with version {}", version.bytes, version.number))
}

impl Parser for Vscsi {
    fn parse(&mut self, record: &[u8], _: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let version = self.version;
        if !version.fits(record) {
            let problem = format!("is not {} as in the first record", version.number);
            return Err(Problem::new(
                "version",
                (u16_at(record, version.version) >> 8).to_string().as_bytes(),
                problem,
            ));
        }
        let Some(op) = scsi(u16_at(record, version.command).into()) else { return Ok(None) };
        let length = u32::from_le_bytes(std::array::from_fn(|n| record[version.length + n]));
        let block = u64_at(record, version.block);
        let flush = op == Op::Flush;
        Ok(Some(Parsed {
            time: self.units.time_of(u64_at(record, version.time)),
            offset: match flush {
                true => 0,
                false => self.units.offset_of("lbn", block.to_string().as_bytes(), block)?,
            },
            bytes: match flush {
                true => 0,
                false => self.units.size_of("len", length.to_string().as_bytes(), length.into())?,
            },
            device: 0,
            op,
            fua: false,
        }))
    }
}
