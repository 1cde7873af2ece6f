//! The list of all formats, with names, order of detection and documentation.

use super::detect::Sample;
use super::{
    alibaba, arc, blkparse, blktrace, cloudphysics, csv, disksim, emmc, etw, fio, fiu, hp, msr, parquet, pattern, spc,
    srt, systor, tencent, vscsi, wiscsee, Parsed,
};
use crate::device::DeviceTable;
use crate::error::{option, Problem, WorkloadError};
use crate::options::TraceOptions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Description of a format.
pub(crate) struct Format {
    /// Evidence that a file has this format only, or `None`. Formats that look like others have no such test.
    pub recognise: fn(&Sample) -> Option<String>,
    /// True if a first line might be of this format, for formats without detection.
    pub resembles: fn(&[u8]) -> bool,
    /// True for a file of binary records.
    pub binary: bool,
    /// Special options that this format supports.
    pub takes: &'static [&'static str],
    /// Its peculiarities, for the documentation; Markdown.
    pub notes: &'static str,
    /// Makes its parser.
    pub open: fn(&Opening) -> Result<Opened, WorkloadError>,
}

/// A format that is neither recognised nor resembled.
pub(crate) fn never(_: &Sample) -> Option<String> {
    None
}

/// No line resembles a format that is recognised.
pub(crate) fn nothing(_: &[u8]) -> bool {
    false
}

/// Parses a line or a record.
pub(crate) trait Parser: Send {
    /// Reads a line, or a binary record; `None` when it is no request.
    fn parse(&mut self, line: &[u8], devices: &mut DeviceTable) -> Result<Option<Parsed>, Box<Problem>>;

    /// Length of the record that begins with `head`, at most 128 KiB; asked again with as many bytes until they suffice.
    fn length(&self, head: &[u8]) -> Result<usize, Box<Problem>> {
        Ok(head.len())
    }
}

/// What there is to make a parser from.
pub(crate) struct Opening<'a> {
    pub format: TraceFormat,
    pub options: &'a TraceOptions,
    pub sample: &'a Sample,
}

/// A parser, and how its file is to be read.
pub(crate) struct Opened {
    pub parser: Box<dyn Parser>,
    /// Bytes at the start of every binary record that hold its length; 0 for lines.
    pub head: usize,
    /// Lines, or bytes of a binary file, before the first request.
    pub skip: usize,
    /// True if there are time stamps.
    pub timed: bool,
    /// Default sort window, in requests.
    pub sort_window: u32,
    /// A gap of time beyond which a request is left out, in picoseconds: its stamp is broken.
    pub wrapped: Option<u128>,
    /// Unit of time stamps, as a power of ten of picoseconds.
    pub unit: u32,
    /// True if equal stamps are spread by default.
    pub spread: bool,
}

impl Opened {
    /// A file of lines with time stamps in order; `unit` is the unit of its stamps.
    pub fn lines(parser: impl Parser + 'static, unit: u32) -> Self {
        let parser = Box::new(parser);
        Self { parser, head: 0, skip: 0, timed: true, sort_window: 0, wrapped: None, unit, spread: false }
    }

    /// A file of binary records whose first `head` bytes hold their length.
    pub fn records(parser: impl Parser + 'static, unit: u32, head: usize) -> Self {
        Self { head, ..Self::lines(parser, unit) }
    }
}

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $id:ident = $name:literal, $about:path;)+) => {
        /// The layout of a trace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum TraceFormat {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $id,)+
            /// A table in memory. No file has this format, so it cannot be written in one.
            #[serde(rename = "table", skip_deserializing)]
            Table,
        }

        impl TraceFormat {
            /// All file formats, in the order of detection.
            pub const ALL: [TraceFormat; [$($name),+].len()] = [$(TraceFormat::$id),+];

            /// The name written in a workload file.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(TraceFormat::$id => $name,)+ TraceFormat::Table => "table" }
            }

            /// Description with columns and units.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(TraceFormat::$id => concat!($($doc),+).trim_ascii(),)+ TraceFormat::Table => "A table in memory." }
            }

            pub(crate) fn about(self) -> &'static Format {
                match self { $(TraceFormat::$id => &$about,)+ TraceFormat::Table => &csv::FORMAT }
            }
        }
    };
}

formats! {
    /// blktrace: binary records as the kernel writes them, versions 7 and 8, either byte order; time in ns, 512-byte sectors.
    Blktrace = "blktrace", blktrace::FORMAT;
    /// HP Labs SRT: a text header, then big-endian records of 56 bytes; time in µs, 256-byte sectors.
    HpSrt = "hp-srt", srt::FORMAT;
    /// CloudPhysics vscsi: little-endian records, version 1 of 32 or version 2 of 40 bytes; time in µs, 512-byte blocks, size
    /// in bytes, SCSI commands.
    Vscsi = "vscsi", vscsi::FORMAT;
    /// A Parquet table with the columns of a CSV trace.
    Parquet = "parquet", parquet::FORMAT;
    /// MSR Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; time in 100 ns ticks, Read or Write
    /// in any case, bytes.
    Msr = "msr", msr::FORMAT;
    /// SPC / UMass: `ASU,LBA,Size,Opcode,Timestamp` and optional fields; time in s, 512-byte blocks, size in bytes, r or w in
    /// any case.
    Spc = "spc", spc::FORMAT;
    /// Alibaba 2020: `device_id,opcode,offset,length,timestamp`; R or W, bytes, time in µs since 1970.
    Alibaba = "alibaba", alibaba::FORMAT;
    /// Systor '17: `Timestamp,Response,IOType,LUN,Offset,Size` with a header; time in s since 1970, R or W, bytes.
    Systor17 = "systor17", systor::FORMAT;
    /// CloudPhysics CSV: `version,time,op,size,lbn` with a header; time in µs, SCSI commands in hexadecimal, size in bytes,
    /// 512-byte blocks.
    Cloudphysics = "cloudphysics", cloudphysics::FORMAT;
    /// Microsoft production servers: the text of ETW disk events, columns named in a header up to `EndHeader`; time in µs,
    /// bytes in hexadecimal.
    Etw = "etw", etw::FORMAT;
    /// fio I/O logs: version 2 (`file action offset length`, `wait` in µs) and 3 (`timestamp file action offset length`,
    /// time in µs); bytes.
    Fio = "fio-iolog", fio::FORMAT;
    /// blkparse text in its default layout: `maj,min cpu seq time pid action RWBS sector + n [process]`; time in s, 512-byte
    /// sectors.
    Blkparse = "blkparse", blkparse::FORMAT;
    /// FIU: `time pid process lba blocks R|W major minor md5`; time in ns, 512-byte blocks.
    Fiu = "fiu", fiu::FORMAT;
    /// WiscSee: `pid event read|write|discard offset size time pre_wait sync`; bytes, time in s.
    Wiscsee = "wiscsee", wiscsee::FORMAT;
    /// HP Labs traces decoded to text: `time disk offset size R|W start end queue`; time in s, bytes.
    Hp = "hp", hp::FORMAT;
    /// Smartphone eMMC: `lba sectors bytes flags t_request t_process t_submit t_done`; 512-byte sectors, time in s, bit 0 of the
    /// flags = write.
    Emmc = "emmc", emmc::FORMAT;
    /// DiskSim ASCII: `time device block blocks op`; time in ms, 512-byte blocks, op 1 = read, 0 = write.
    Disksim = "disksim", disksim::FORMAT;
    /// DiskSim ASCII with sizes in 4 KiB pages; addresses stay in 512-byte blocks.
    Disksim4k = "disksim-4k", disksim::FORMAT;
    /// MQSim: DiskSim's columns with time in ns; op 1 = read, 0 = write.
    Mqsim = "mqsim", disksim::FORMAT;
    /// SSDSim: DiskSim's columns with time in ns; op 1 = read, 0 = write.
    Ssdsim = "ssdsim", disksim::FORMAT;
    /// Tencent CBS 2018: `Timestamp,Offset,Size,IOType,VolumeID`; time in whole s, 512-byte sectors, 0 = read, 1 = write.
    Tencent = "tencent", tencent::FORMAT;
    /// ARC lists: `start_block blocks ignored request_number`; 512-byte blocks, reads only, no time stamps.
    Arc = "arc", arc::FORMAT;
    /// CSV: columns named in a header line, separated by commas, tabs or semicolons.
    Csv = "csv", csv::FORMAT;
    /// Any text, read by the regular expression in `pattern`.
    Pattern = "pattern", pattern::FORMAT;
}

/// Special options of some formats, with a flag for those given.
fn special(options: &TraceOptions) -> [(&'static str, bool); 8] {
    [
        ("read_is", options.read_is.is_some()),
        ("write_is", options.write_is.is_some()),
        ("columns", options.columns != Default::default()),
        ("pattern", options.pattern.is_some()),
        ("unmatched", options.unmatched != Default::default()),
        ("action", options.action.is_some()),
        ("address_block_bytes", options.address_block_bytes.is_some()),
        ("size_block_bytes", options.size_block_bytes.is_some()),
    ]
}

/// Refuses options that a format would ignore.
pub(crate) fn check_options(format: TraceFormat, options: &TraceOptions) -> Result<(), WorkloadError> {
    for (key, given) in special(options) {
        if given && !format.about().takes.contains(&key) {
            let takers = TraceFormat::ALL.iter().filter(|other| other.about().takes.contains(&key));
            let names: Vec<_> = takers.map(|other| other.name()).collect();
            let problem =
                format!("does not apply to a trace of format {}; it is for {}", format.name(), names.join(", "));
            let value = serde_json::to_value(options).unwrap_or_default()[key].to_string();
            return Err(option(&format!("trace.{key}"), value, problem));
        }
    }
    Ok(())
}

/// All formats as a table in Markdown.
#[must_use]
pub fn format_table() -> String {
    let mut table = String::from("| format | columns and units | detected | peculiarities |\n|---|---|---|---|\n");
    let bar = |text: &str| text.replace('|', "\\|");
    for format in TraceFormat::ALL {
        let about = format.about();
        let found =
            if std::ptr::fn_addr_eq(about.recognise, never as fn(&Sample) -> Option<String>) { "no" } else { "yes" };
        let _ = writeln!(table, "| `{}` | {} | {found} | {} |", format.name(), bar(format.title()), bar(about.notes));
    }
    table
}
