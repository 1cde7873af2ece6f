//! I/O logs of fio, versions 2 and 3 (`write_iolog`).
//!
//! Version 2 is `file action offset length` and has no stamps but pauses: `wait` moves the clock by so many microseconds, and
//! requests between two of them arrive together. A log without any is sent as fast as the queue takes it. Version 3 is
//! `timestamp file action offset length` and has no `wait`.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::Units;
use super::words;
use crate::device::DeviceTable;
use crate::error::{Problem, WorkloadError};
use crate::fields::{split, Separator};
use crate::lines::Lines;
use std::path::Path;
use wordline_base::Op;

const MOST: usize = 5;

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| version(sample.first()).map(|n| format!("it begins with: fio version {n} iolog")),
    resembles: nothing,
    binary: false,
    takes: &[],
    notes: "`add`, `open` and `close` are not requests; `sync` and `datasync` are flushes. Version 2: every `wait` \
        moves the clock, \
            also one below the 100 µs under which fio itself passes it over; without any `wait` only the order counts. A device is a \
            file.",
    open: |opening: &Opening| {
        let sample = opening.sample;
        let Some(version) = version(sample.first()) else {
            let problem = "an I/O log of fio begins with `fio version 2 iolog` or `fio version 3 iolog`";
            return Err(sample.error(*Problem::new("header", b"", problem)));
        };
        let units = Units { time: 6, address: 1, size: 1 }.with(opening.options)?;
        let timed = version == 3 || waits(sample.path())?;
        Ok(Opened { skip: 1, timed, ..Opened::lines(Fio { units, version, clock: 0 }, units.time) })
    },
};

struct Fio {
    units: Units,
    version: u8,
    /// The sum of all pauses so far, in picoseconds.
    clock: u128,
}

fn version(line: &[u8]) -> Option<u8> {
    match line.trim_ascii() {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}

/// True if a log of version 2 has a pause anywhere.
fn waits(path: &Path) -> Result<bool, WorkloadError> {
    let mut lines = Lines::open(path)?;
    let mut fields = [&b""[..]; MOST];
    // What cannot be read is told when it is read.
    while lines.advance().unwrap_or(false) {
        if memchr::memmem::find(lines.current(), b"wait").is_some() {
            let line = lines.current().to_vec();
            split(&line, Separator::Blanks, &mut fields);
            if fields[1] == b"wait" {
                return Ok(true);
            }
            fields = [&b""[..]; MOST];
        }
    }
    Ok(false)
}

fn op(action: &[u8]) -> Option<Op> {
    match action {
        b"read" => Some(Op::Read),
        b"write" => Some(Op::Write),
        b"trim" => Some(Op::Trim),
        b"sync" | b"datasync" | b"sync_file_range" => Some(Op::Flush),
        _ => None,
    }
}

impl Fio {
    #[cold]
    fn wrong_action(&self, action: &[u8]) -> Box<Problem> {
        let wait = if self.version == 2 { ", wait" } else { "" };
        let problem = format!("must be read, write, trim, sync, datasync{wait}, add, open or close");
        Problem::new("action", action, problem)
    }

    #[cold]
    fn wrong_count(&self, count: usize) -> Box<Problem> {
        let columns =
            if self.version == 2 { "file, action, offset, length" } else { "timestamp, file, action, offset, length" };
        words::wrong_count(count, "fio-iolog", columns)
    }
}

impl Parser for Fio {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        let mut all = [&b""[..]; MOST];
        let count = split(line, Separator::Blanks, &mut all);
        // Version 3 has the stamp in front.
        let first = usize::from(self.version == 3);
        let (stamp, fields) = all.split_at(first);
        let count = count.saturating_sub(first);
        match (fields[1], count) {
            (b"add" | b"open" | b"close", 2) => return Ok(None),
            (b"wait", 3 | 4) if self.version == 2 => {
                self.clock = self.clock.saturating_add(self.units.time_ps("wait", fields[2])?);
                return Ok(None);
            }
            _ => {}
        }
        let Some(op) = op(fields[1]) else {
            return Err(if count < 2 { self.wrong_count(count + first) } else { self.wrong_action(fields[1]) });
        };
        if count != 4 {
            return Err(self.wrong_count(count + first));
        }
        let flush = op == Op::Flush;
        Ok(Some(Parsed {
            time: match stamp {
                [stamp] => self.units.time_ps("timestamp", stamp)?,
                _ => self.clock,
            },
            offset: if flush { 0 } else { self.units.offset("offset", fields[2])? },
            bytes: if flush { 0 } else { self.units.size("length", fields[3])? },
            device: devices.number(fields[0], words::as_written),
            op,
            fua: false,
        }))
    }
}
