//! WiscSee's traces: `pid event read|write|discard offset size time pre_wait sync`, made from blktrace.

use super::blkparse::wanted_action;
use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use wordline_base::Op;

const COLUMNS: usize = 8;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["action"],
    notes: "Events `D` (issued) and `C` (completed); `action` chooses, `D` by default.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: 1, size: 1 }.with(opening.options)?;
        let action = wanted_action(opening.options, &["D", "C"])?.into_bytes();
        Ok(Opened::lines(Wiscsee { units, action }, units.time))
    },
};

struct Wiscsee {
    units: Units,
    action: Vec<u8>,
}

fn op(text: &[u8]) -> Option<Op> {
    match text {
        b"read" => Some(Op::Read),
        b"write" => Some(Op::Write),
        b"discard" => Some(Op::Trim),
        _ => None,
    }
}

fn recognise(sample: &Sample) -> Option<String> {
    let mut fields = [&b""[..]; COLUMNS];
    let fits = split(sample.first(), Separator::Blanks, &mut fields) == COLUMNS
        && matches!(fields[1], b"D" | b"C")
        && op(fields[2]).is_some()
        && matches!(fields[7], b"True" | b"False");
    fits.then(|| {
        "eight fields separated by blanks, an event, an operation and True or False at the end: WiscSee".to_owned()
    })
}

impl Parser for Wiscsee {
    fn parse(&mut self, line: &[u8], _: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Blanks, &mut fields);
        if count != COLUMNS {
            let columns = "pid, event, operation, offset, size, time, pre_wait, sync";
            return Err(words::wrong_count(count, "wiscsee", columns));
        }
        if fields[1] != self.action {
            return match fields[1] {
                b"D" | b"C" => Ok(None),
                other => Err(Problem::new("event", other, "must be D or C")),
            };
        }
        let wrong = || Problem::new("operation", fields[2], "must be read, write or discard");
        Ok(Some(Parsed {
            time: self.units.time_ps("time", fields[5])?,
            offset: self.units.offset("offset", fields[3])?,
            bytes: self.units.size("size", fields[4])?,
            device: 0,
            op: op(fields[2]).ok_or_else(wrong)?,
            fua: false,
        }))
    }
}
