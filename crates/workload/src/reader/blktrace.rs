//! Binary traces of blktrace: the records of the Linux kernel, versions 7 and 8 (`linux/blktrace_api.h`).
//!
//! Version 7 has 48 bytes: `u32 magic, sequence; u64 time, sector; u32 bytes, action, pid, device, cpu; u16 error, pdu_len`.
//! Version 8 has 64: the action takes 64 bits behind the process, and 12 bytes of padding follow. Behind each come `pdu_len`
//! bytes of another kind. The magic number gives version and byte order.

use super::blkparse::{wanted_action, ACTIONS, WINDOW, WRAPPED};
use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use crate::device::DeviceTable;
use crate::error::Problem;
use wordline_base::Op;

const MAGIC: u32 = 0x6561_7400;
const LENGTH_7: usize = 48;
const LENGTH_8: usize = 64;
/// Bytes that tell the length of a record of version 8.
const HEAD_8: usize = 52;

/// Numbers of the actions in [`ACTIONS`].
const CODES: [u64; 5] = [1, 4, 12, 7, 8];

/// Bits of what kind of request it is, above the 16 of the action.
mod category {
    pub const READ: u64 = 1 << 16;
    pub const WRITE: u64 = 1 << 17;
    pub const FLUSH: u64 = 1 << 18;
    pub const PASS_THROUGH: u64 = 1 << 25;
    pub const NOTIFY: u64 = 1 << 26;
    pub const DISCARD: u64 = 1 << 29;
    pub const FUA: u64 = 1 << 31;
    /// Resets and the like of zones.
    pub const ZONES: u64 = 0b11_1110 << 32;
}

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| {
        let (version, big) = magic(&sample.bytes)?;
        let order = if big { "big" } else { "little" };
        Some(format!("the magic number of blktrace version {version}, {order}-endian"))
    },
    resembles: nothing,
    binary: true,
    takes: &["action", "address_block_bytes", "size_block_bytes"],
    notes: "One file per CPU, `sda.blktrace.0` and so on: give them together (`'sda.blktrace.*'`) to merge them by \
        time. Actions, \
            sorting and wrapped stamps as for blkparse. Files of old kernels with stamps in microseconds: `time_unit = \"us\"`.",
    open: |opening: &Opening| {
        let units = Units { time: 3, address: 512, size: 1 }.with(opening.options)?;
        let action = wanted_action(opening.options, &ACTIONS)?;
        let at = ACTIONS.iter().position(|name| *name == action).unwrap_or_default();
        let parser = Blktrace { units, action: CODES[at] };
        Ok(Opened { sort_window: WINDOW, wrapped: Some(WRAPPED), ..Opened::records(parser, units.time, LENGTH_7) })
    },
};

struct Blktrace {
    units: Units,
    action: u64,
}

/// Version and whether the record is big-endian; `None` when it does not begin with the magic number.
#[inline]
fn magic(record: &[u8]) -> Option<(u32, bool)> {
    let word: [u8; 4] = record.get(..4)?.try_into().ok()?;
    [(u32::from_le_bytes(word), false), (u32::from_be_bytes(word), true)]
        .into_iter()
        .filter(|(word, _)| word & !0xff == MAGIC)
        .map(|(word, big)| (word & 0xff, big))
        .find(|(version, _)| matches!(version, 7 | 8))
}

/// A number of `N` bytes at a place of a record.
#[inline]
fn number<const N: usize>(record: &[u8], at: usize, big: bool) -> u64 {
    let mut bytes = [0; 8];
    for n in 0..N {
        bytes[n] = record[if big { at + N - 1 - n } else { at + n }];
    }
    u64::from_le_bytes(bytes)
}

impl Parser for Blktrace {
    fn length(&self, head: &[u8]) -> Result<usize, Box<Problem>> {
        let Some((version, big)) = magic(head) else {
            let problem = "does not begin with the magic number 0x65617407 or 0x65617408: damaged, or another version";
            return Err(Problem::new("record", b"", problem));
        };
        Ok(match version {
            7 => LENGTH_7 + number::<2>(head, 46, big) as usize,
            _ if head.len() < HEAD_8 => HEAD_8,
            _ => LENGTH_8 + number::<2>(head, 50, big) as usize,
        })
    }

    fn parse(&mut self, record: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let Some((version, big)) = magic(record) else { return Ok(None) };
        let (action, device) = match version {
            7 => (number::<4>(record, 28, big), number::<4>(record, 36, big)),
            _ => (number::<8>(record, 32, big), number::<4>(record, 40, big)),
        };
        let other = category::NOTIFY | category::PASS_THROUGH | category::ZONES;
        if action & 0xff != self.action || action & other != 0 {
            return Ok(None);
        }
        let (sector, length) = (number::<8>(record, 16, big), number::<4>(record, 24, big));
        let op = match action {
            what if what & category::FLUSH != 0 && length == 0 => Op::Flush,
            what if what & category::DISCARD != 0 => Op::Trim,
            what if what & category::WRITE != 0 => Op::Write,
            what if what & category::READ != 0 => Op::Read,
            _ => return Ok(None),
        };
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (
                self.units.offset_of("sector", sector.to_string().as_bytes(), sector)?,
                self.units.size_of("bytes", length.to_string().as_bytes(), length)?,
            ),
        };
        let name = |_: &[u8]| format!("{},{}", device >> 20, device & 0xf_ffff);
        Ok(Some(Parsed {
            time: self.units.time_of(number::<8>(record, 8, big)),
            device: devices.number(&device.to_le_bytes(), name),
            offset,
            bytes,
            op,
            fua: action & category::FUA != 0 && op == Op::Write,
        }))
    }
}
