//! FIU traces: `time pid process lba blocks R|W major minor md5`.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator, MOST};
use crate::number::whole;

const COLUMNS: usize = 9;
/// Digits of an MD5 sum.
const SUM: usize = 32;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "The recorder split every request into lines of 4 KiB, so sizes are 4 KiB and much appears sequential. A \
        device is \
            `major,minor`. Process names may contain blanks. The MD5 sum is ignored.",
    open: |opening: &Opening| {
        let units = Units { time: 3, address: 512, size: 512 }.with(opening.options)?;
        Ok(Opened::lines(Fiu { units }, units.time))
    },
};

struct Fiu {
    units: Units,
}

fn recognise(sample: &Sample) -> Option<String> {
    let mut fields = [&b""[..]; MOST];
    let count = split(sample.first(), Separator::Blanks, &mut fields);
    let fits = (COLUMNS..=MOST).contains(&count)
        && whole(fields[0]).is_ok()
        && matches!(fields[count - 4], b"R" | b"W")
        && fields[count - 1].len() == SUM
        && fields[count - 1].iter().all(u8::is_ascii_hexdigit);
    fits.then(|| "nine fields separated by blanks, R or W in the sixth and an MD5 sum at the end: FIU".to_owned())
}

impl Parser for Fiu {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut fields = [&b""[..]; MOST];
        let count = split(line, Separator::Blanks, &mut fields);
        if !(COLUMNS..=MOST).contains(&count) {
            return Err(words::wrong_count(count, "fiu", "time, pid, process, lba, blocks, R|W, major, minor, md5"));
        }
        // Counted from the end: the name of a process may have blanks.
        let [block, blocks, op, major, minor] = std::array::from_fn(|n| fields[count - 6 + n]);
        for (field, text) in [("major", major), ("minor", minor)] {
            whole(text).map_err(|e| Problem::new(field, text, e.explain("a whole number")))?;
        }
        let from = major.as_ptr() as usize - line.as_ptr() as usize;
        let to = minor.as_ptr() as usize - line.as_ptr() as usize + minor.len();
        let name = |_: &[u8]| format!("{},{}", String::from_utf8_lossy(major), String::from_utf8_lossy(minor));
        Ok(Some(Parsed {
            time: self.units.time_ps("time", fields[0])?,
            offset: self.units.offset("lba", block)?,
            bytes: self.units.size("blocks", blocks)?,
            device: devices.number(&line[from..to], name),
            op: words::letter("op", op)?,
            fua: false,
        }))
    }
}
