//! Lists of the ARC paper (Megiddo and Modha, FAST 2003): `start_block blocks ignored request_number`, reads in order, without
//! time stamps.

use super::parser::{never, Format, Opened, Opening, Parsed, Parser};
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator};
use crate::number::whole;
use wordline_base::Op;

const COLUMNS: usize = 4;

pub(crate) const FORMAT: Format = Format {
    recognise: never,
    resembles,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "Only the order counts: requests are sent as fast as the queue accepts them, for any `pace`.",
    open: |opening: &Opening| {
        let units = Units { time: 0, address: 512, size: 512 }.with(opening.options)?;
        Ok(Opened { timed: false, ..Opened::lines(Arc { units }, units.time) })
    },
};

struct Arc {
    units: Units,
}

fn resembles(line: &[u8]) -> bool {
    let mut fields = [&b""[..]; COLUMNS];
    split(line, Separator::Blanks, &mut fields) == COLUMNS && fields.iter().all(|field| whole(field).is_ok())
}

impl Parser for Arc {
    fn parse(&mut self, line: &[u8], _: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; COLUMNS];
        let count = split(line, Separator::Blanks, &mut fields);
        if count != COLUMNS {
            return Err(words::wrong_count(count, "arc", "start block, blocks, ignored, request number"));
        }
        whole(fields[3]).map_err(|e| Problem::new("request number", fields[3], e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: 0,
            offset: self.units.offset("start block", fields[0])?,
            bytes: self.units.size("blocks", fields[1])?,
            device: 0,
            op: Op::Read,
            fua: false,
        }))
    }
}
