//! Text of blkparse in its default layout: `maj,min cpu seq time pid action RWBS sector + n [process]`.
//!
//! One request causes several events: only those of one action count. Lines of different CPUs are interleaved and not
//! quite in order of time; a wrapped clock gives stamps decades ahead; a summary follows at the end.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::{nearest, option, Problem, WorkloadError};
use crate::format_options::FormatOptions;
use crate::number::{time_ps, whole};
use wordline_base::Op;

/// Fields that are looked at.
const FIELDS: usize = 10;
/// The actions that may count as a request.
pub(crate) const ACTIONS: [&str; 5] = ["Q", "G", "I", "D", "C"];
/// Requests to sort by time in: more than the processors' buffers hold between two turns.
pub(crate) const WINDOW: u32 = 1 << 16;
/// A gap that only a clock that wrapped can make: 10^6 s, eleven days.
pub(crate) const WRAPPED: u128 = 1_000_000_000_000_000_000;

pub(crate) const FORMAT: Format = Format {
    recognise,
    resembles: nothing,
    binary: false,
    takes: &["action", "address_block_bytes", "size_block_bytes"],
    notes: "One action counts, `D` by default, or a request would count several times; other events, messages and the summary at \
            the end are left out and counted. Sorted by time within 65,536 requests. A request 10^6 s or more behind the one before \
            has a stamp that wrapped: left out and counted. Flushes without data are flushes, discards are trims, pass-through \
            commands are left out.",
    open: |opening: &Opening| {
        let units = Units { time: 12, address: 512, size: 512 }.with(opening.options)?;
        let action = wanted_action(opening.options, &ACTIONS)?.into_bytes();
        let parser = Blkparse { units, action, summary: false };
        Ok(Opened { sort_window: WINDOW, wrapped: Some(WRAPPED), ..Opened::lines(parser, units.time) })
    },
};

/// The action that counts, D unless the options name another of those that a format has.
pub(crate) fn wanted_action(options: &FormatOptions, actions: &[&str]) -> Result<String, WorkloadError> {
    let action = options.action.as_deref().unwrap_or("D");
    if actions.contains(&action) {
        return Ok(action.to_owned());
    }
    let near = nearest(action, actions.iter().copied());
    Err(option("trace.action", format!("{action:?}"), format!("must be one of {}{near}", actions.join(", "))))
}

struct Blkparse {
    units: Units,
    action: Vec<u8>,
    /// The last lines belong to the summary.
    summary: bool,
}

/// The first fields of a line, and how many of them there are.
#[inline]
fn leading(line: &[u8]) -> ([&[u8]; FIELDS], usize) {
    let mut fields = [&b""[..]; FIELDS];
    let mut count = 0;
    let mut at = 0;
    while count < FIELDS {
        while at < line.len() && matches!(line[at], b' ' | b'\t') {
            at += 1;
        }
        let from = at;
        while at < line.len() && !matches!(line[at], b' ' | b'\t') {
            at += 1;
        }
        if from == at {
            break;
        }
        fields[count] = &line[from..at];
        count += 1;
    }
    (fields, count)
}

/// True if a field is a device, `8,16`.
#[inline]
fn is_device(field: &[u8]) -> bool {
    let comma = memchr::memchr(b',', field);
    comma.is_some_and(|at| at > 0 && at + 1 < field.len())
        && field.iter().all(|byte| byte.is_ascii_digit() || *byte == b',')
}

fn recognise(sample: &Sample) -> Option<String> {
    let first = sample.lines.iter().find(|line| !line.starts_with(b"Input file "))?;
    let (fields, count) = leading(first);
    let fits = count > 5
        && is_device(fields[0])
        && [1, 2, 4].iter().all(|&at| whole(fields[at]).is_ok())
        && fields[3].contains(&b'.')
        && time_ps(fields[3], 12).is_ok()
        && fields[5].len() <= 2
        && fields[5].iter().all(u8::is_ascii_alphabetic);
    fits.then(|| "a device, processor, sequence, time, process and action: blkparse".to_owned())
}

/// What the letters of a request mean: operation, if it is one to replay, and force unit access.
///
/// An F in front is a flush before it, one behind the operation is force unit access; D discards, E discards securely.
fn rwbs(letters: &[u8]) -> (Option<Op>, bool) {
    let (flush, rest) = match letters {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let op = match rest.first() {
        Some(b'R') => Some(Op::Read),
        Some(b'W') => Some(Op::Write),
        Some(b'D') => Some(Op::Trim),
        _ if flush => Some(Op::Flush),
        _ => None,
    };
    (op, rest.iter().skip(1).any(|letter| *letter == b'F') && op != Some(Op::Flush))
}

impl Blkparse {
    /// A line that is no event: before or behind them, or wrong.
    #[cold]
    fn other(&mut self, line: &[u8]) -> Result<Option<Parsed>, Box<Problem>> {
        let text = line.trim_ascii_start();
        let ends = [&b"CPU"[..], b"Total (", b"Throughput (", b"Events (", b"Skips:"];
        if ends.iter().any(|start| text.starts_with(start)) {
            self.summary = true;
        }
        if self.summary || text.starts_with(b"Input file ") {
            return Ok(None);
        }
        let problem =
            "is no event of blkparse's default layout: maj,min cpu seq time pid action RWBS sector + n [process]";
        Err(Problem::new("line", b"", problem))
    }
}

impl Parser for Blkparse {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let (fields, count) = leading(line);
        if count < 6 || !is_device(fields[0]) {
            return self.other(line);
        }
        self.summary = false;
        if fields[5] != self.action {
            return Ok(None);
        }
        let (Some(op), fua) = rwbs(fields[6]) else { return Ok(None) };
        let plain = fields[8] == b"+";
        // A pass-through command shows its bytes in brackets instead of sectors.
        if !plain && op != Op::Flush {
            return match fields[7].starts_with(b"(") || fields[8].starts_with(b"(") {
                true => Ok(None),
                false => Err(Problem::new("sectors", fields[8], "here `+` and the number of sectors belong")),
            };
        }
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (self.units.offset("sector", fields[7])?, self.units.size("sectors", fields[9])?),
        };
        let time = self.units.time_ps("time", fields[3])?;
        let device = devices.number(fields[0], words::as_written);
        Ok(Some(Parsed { time, device, offset, bytes, op, fua }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_request() {
        let cases: [(&[u8], Option<Op>, bool); 11] = [
            (b"R", Some(Op::Read), false),
            (b"RA", Some(Op::Read), false),
            (b"WS", Some(Op::Write), false),
            (b"WFS", Some(Op::Write), true),
            (b"FWFSM", Some(Op::Write), true),
            (b"FWS", Some(Op::Write), false),
            (b"D", Some(Op::Trim), false),
            (b"DE", Some(Op::Trim), false),
            (b"FN", Some(Op::Flush), false),
            (b"FF", Some(Op::Flush), false),
            (b"N", None, false),
        ];
        for (letters, op, fua) in cases {
            assert_eq!(rwbs(letters), (op, fua), "{}", String::from_utf8_lossy(letters));
        }
    }
}
