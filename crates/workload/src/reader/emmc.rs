//! Traces of smartphone eMMC: `lba sectors bytes flags t_request t_process t_submit t_done`.
//!
//! Size in sectors and size in bytes agree, and the four times are in order: the format is detected by this, and every
//! line is checked for it.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::{time_ps, whole};
use wordline_base::Op;

const COLUMNS: usize = 8;
const SECTOR: u64 = 512;
/// Lines that have to fit.
const BELIEVED: usize = 100;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes"],
    notes: "The request's time is the first of the four. Requests were logged when they were served, so times run \
        backwards a little: `backwards = \"clamp\"`. If the clock was set during the trace, add `pace = \"asap\"` to \
        use only the order.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: SECTOR, size: 1 }.with(opening.options)?;
        Ok(Opened::lines(Emmc { units }, units.time))
    },
};

struct Emmc {
    units: Units,
}

fn agrees(sectors: &[u8], bytes: &[u8]) -> bool {
    matches!((whole(sectors), whole(bytes)), (Ok(sectors), Ok(bytes)) if sectors.checked_mul(SECTOR) == Some(bytes))
}

fn fits(line: &[u8]) -> bool {
    let mut fields = [&b""[..]; COLUMNS];
    split(line, Separator::Blanks, &mut fields) == COLUMNS
        && whole(fields[0]).is_ok()
        && agrees(fields[1], fields[2])
        && whole(fields[3]).is_ok_and(|flags| flags < 256)
        && fields[4..].iter().all(|field| field.contains(&b'.') && time_ps(field, 12).is_ok())
}

fn recognise(sample: &Sample) -> Option<String> {
    let all = sample.lines.iter().take(BELIEVED).all(|line| fits(line));
    all.then(|| "eight fields, the size in sectors and in bytes, and four times: eMMC".to_owned())
}

impl Parser for Emmc {
    fn parse(&mut self, line: &[u8], _: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Blanks, &mut fields);
        if count != COLUMNS {
            let columns = "lba, sectors, bytes, flags, t_request, t_process, t_submit, t_done";
            return Err(words::wrong_count(count, "emmc", columns));
        }
        let bytes = self.units.size("bytes", fields[2])?;
        if !agrees(fields[1], fields[2]) {
            return Err(Problem::new("bytes", fields[2], "is not the sectors of the column before times 512"));
        }
        let flags = whole(fields[3]).map_err(|e| Problem::new("flags", fields[3], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("t_request", fields[4])?,
            offset: self.units.offset("lba", fields[0])?,
            bytes,
            device: 0,
            op: if flags & 1 == 1 { Op::Write } else { Op::Read },
            fua: false,
        }))
    }
}
