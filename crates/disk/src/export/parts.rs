//! What a command is for the drive: requests of whole sectors, none for what takes the drive no time.

use crate::protocol::{Command, Kind};
use wordline_base::{Op, Request};

const SECTOR: u64 = 512;
/// The longest request of a trace; a longer one is several.
const MOST: u64 = 1 << 30;

/// The requests, in order. Reads and writes are rounded outwards to sectors, trims inwards. Zeros that may become a hole are a trim of
/// the mapping units that they cover, and writes of the rest; other zeros are a write, whose data the host interface carries, since
/// the model has no command for zeros.
pub fn parts(command: &Command<'_>, unit: u64) -> impl Iterator<Item = Request> {
    let (start, end) = (command.offset, command.offset + command.bytes);
    let outwards = (start / SECTOR * SECTOR, end.next_multiple_of(SECTOR));
    let of = |op, (from, to): (u64, u64)| Some((op, from, to)).filter(|_| to > from);
    let ranges = match command.kind {
        Kind::Read => [of(Op::Read, outwards), None, None],
        Kind::Write => [of(Op::Write, outwards), None, None],
        Kind::Flush => [Some((Op::Flush, 0, 0)), None, None],
        Kind::Trim => [of(Op::Trim, (start.next_multiple_of(SECTOR), end / SECTOR * SECTOR)), None, None],
        Kind::WriteZeroes => {
            let (first, last) = (start.next_multiple_of(unit), end / unit * unit);
            if command.no_hole || last <= first {
                [of(Op::Write, outwards), None, None]
            } else {
                let (head, tail) = ((outwards.0, first), (last, outwards.1));
                [of(Op::Write, head), of(Op::Trim, (first, last)), of(Op::Write, tail)]
            }
        }
        Kind::Cache | Kind::BlockStatus => [None, None, None],
    };
    let fua = command.fua;
    ranges.into_iter().flatten().flat_map(move |(op, from, to)| {
        let steps = if op == Op::Flush { 1 } else { (to - from).div_ceil(MOST) };
        (0..steps).map(move |step| {
            let offset = from + step * MOST;
            let bytes = (to - offset).min(MOST) as u32;
            Request { arrival: 0, offset, bytes, op, fua: fua && op == Op::Write, stream: 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::To;

    fn of(kind: Kind, offset: u64, bytes: u64, no_hole: bool) -> Vec<(Op, u64, u32)> {
        let to = To { cookie: 0, offset };
        let command = Command { kind, to, offset, bytes, fua: false, no_hole, one: false, whole: false, data: &[] };
        parts(&command, 4096).map(|request| (request.op, request.offset, request.bytes)).collect()
    }

    #[test]
    fn data_are_rounded_outwards_and_trims_inwards() {
        assert_eq!(of(Kind::Read, 1000, 100, false), [(Op::Read, 512, 1024)]);
        assert_eq!(of(Kind::Write, 0, 1, false), [(Op::Write, 0, 512)]);
        assert_eq!(of(Kind::Trim, 1000, 2000, false), [(Op::Trim, 1024, 1536)]);
        assert_eq!(of(Kind::Trim, 1, 600, false), []);
        assert_eq!(of(Kind::Flush, 0, 0, false), [(Op::Flush, 0, 0)]);
        assert_eq!(of(Kind::Cache, 0, 4096, false), []);
        assert_eq!(of(Kind::BlockStatus, 0, 4096, false), []);
    }

    #[test]
    fn zeros_trim_whole_units_and_write_the_rest() {
        let zeros = |offset, bytes, no_hole| of(Kind::WriteZeroes, offset, bytes, no_hole);
        assert_eq!(zeros(4096, 8192, false), [(Op::Trim, 4096, 8192)]);
        assert_eq!(zeros(4000, 8400, false), [(Op::Write, 3584, 512), (Op::Trim, 4096, 8192), (Op::Write, 12288, 512)]);
        assert_eq!(zeros(100, 200, false), [(Op::Write, 0, 512)]);
        assert_eq!(zeros(4096, 8192, true), [(Op::Write, 4096, 8192)]);
    }

    #[test]
    fn a_long_range_is_several_requests() {
        let bytes = (5 << 30) - 512;
        let all = of(Kind::Trim, 512, bytes, false);
        assert_eq!(all.len(), 5);
        assert_eq!(all[4], (Op::Trim, 512 + 4 * MOST, (1 << 30) - 512));
        assert_eq!(all.iter().map(|part| u64::from(part.2)).sum::<u64>(), bytes);
    }
}
