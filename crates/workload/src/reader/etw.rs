//! Traces of Microsoft's production servers (SNIA IOTTA 158): disk events of ETW as text.
//!
//! A header between `BeginHeader` and `EndHeader` names the columns of every kind of event; later versions of the recorder have
//! one more, so columns are found there and never assumed.

use super::parser::{nothing, Format, Opened, Opening, Parsed, Parser};
use super::sample::Sample;
use super::units::{hexadecimal, Units};
use super::words;
use crate::device::DeviceTable;
use crate::error::Problem;
use crate::fields::{split, Separator, MOST};
use crate::number::whole;
use wordline_base::Op;

const BEGIN: &[u8] = b"BeginHeader";
const END: &[u8] = b"EndHeader";
/// The events that are requests.
const EVENTS: [(&[u8], Op); 2] = [(b"DiskRead", Op::Read), (b"DiskWrite", Op::Write)];

pub(crate) const FORMAT: Format = Format {
    recognise: |sample: &Sample| {
        (sample.first().trim_ascii() == BEGIN).then(|| "it begins with BeginHeader: disk events of ETW".to_owned())
    },
    resembles: nothing,
    binary: false,
    takes: &["address_block_bytes", "size_block_bytes"],
    notes: "The header is required: it names the columns, with or without the later CPU column. DiskRead and \
            DiskWrite are requests; other events, DiskFlush among them, are left out and counted. The event's own stamp counts. A \
            device is a disk number.",
    open: |opening: &Opening| {
        let units = Units { time: 6, address: 1, size: 1 }.with(opening.options)?;
        Ok(Opened::lines(Etw { units, place: Place::Start, layouts: [None; 2] }, units.time))
    },
};

#[derive(PartialEq)]
enum Place {
    Start,
    Header,
    Events,
}

/// Columns of an event.
#[derive(Clone, Copy)]
struct Layout {
    columns: usize,
    time: usize,
    offset: usize,
    size: usize,
    disk: usize,
}

struct Etw {
    units: Units,
    place: Place,
    layouts: [Option<Layout>; 2],
}

/// The kind of event of a line, as an index into [`EVENTS`].
#[inline]
fn event(line: &[u8]) -> Option<usize> {
    let line = line.trim_ascii_start();
    let name = line[..memchr::memchr(b',', line)?].trim_ascii_end();
    EVENTS.iter().position(|(event, _)| *event == name)
}

impl Etw {
    /// A line of the header.
    #[cold]
    fn header(&mut self, line: &[u8]) -> Result<Option<Parsed>, Box<Problem>> {
        let text = line.trim_ascii();
        if self.place == Place::Start {
            if text != BEGIN {
                let problem = "an ETW trace begins with BeginHeader and the columns of its events; without them it cannot be read";
                return Err(Problem::new("header", b"", problem));
            }
            self.place = Place::Header;
        } else if text == END {
            self.place = Place::Events;
        } else if let Some(event) = event(line) {
            self.layouts[event] = Some(layout(line)?);
        }
        Ok(None)
    }
}

#[cold]
fn layout(line: &[u8]) -> Result<Layout, Box<Problem>> {
    let mut fields = [&b""[..]; MOST];
    let columns = split(line, Separator::Byte(b','), &mut fields);
    let find = |name: &'static str| {
        let at = fields.iter().position(|field| field.eq_ignore_ascii_case(name.as_bytes()));
        at.ok_or_else(|| Problem::new("header", name.as_bytes(), "this column is missing"))
    };
    Ok(Layout {
        columns,
        time: find("TimeStamp")?,
        offset: find("ByteOffset")?,
        size: find("IOSize")?,
        disk: find("DiskNum")?,
    })
}

impl Parser for Etw {
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>> {
        if self.place != Place::Events {
            return self.header(line);
        }
        let Some(event) = event(line) else {
            // Files one behind another bring their headers along.
            if line.trim_ascii() == BEGIN {
                self.place = Place::Header;
            }
            return Ok(None);
        };
        let Some(layout) = self.layouts[event] else {
            return Err(Problem::new("event", EVENTS[event].0, "the header does not name its columns"));
        };
        let mut fields = [&b""[..]; MOST];
        let count = split(line, Separator::Byte(b','), &mut fields);
        // The name of the file, the last field, may have commas.
        if count < layout.columns {
            let problem = format!("has {count} where the header has {}", layout.columns);
            return Err(Problem::new("columns", b"", problem));
        }
        let (offset, size, disk) = (fields[layout.offset], fields[layout.size], fields[layout.disk]);
        whole(disk).map_err(|e| Problem::new("DiskNum", disk, e.explain("a whole number")))?;
        Ok(Some(Parsed {
            time: self.units.time_ps("TimeStamp", fields[layout.time])?,
            offset: self.units.offset_of("ByteOffset", offset, hexadecimal("ByteOffset", offset)?)?,
            bytes: self.units.size_of("IOSize", size, hexadecimal("IOSize", size)?)?,
            device: devices.number(disk, words::as_written),
            op: EVENTS[event].1,
            fua: false,
        }))
    }
}
