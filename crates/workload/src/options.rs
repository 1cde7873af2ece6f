//! `[trace]`: which file to replay and how to read it. The field comments are the user's documentation.

use crate::format_options::{Columns, FormatOptions, TimeUnit, Unmatched};
use crate::reader::formats::TraceFormat;
use crate::reader::table::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Handling of a trace with several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Devices {
    /// All devices share the same addresses of the drive.
    #[default]
    Merge,
    /// Devices follow each other on the drive, in order of first appearance, each rounded up to 1 MiB. The file is
    /// scanned once beforehand.
    Stack,
    /// Each device on a member of an array of joined drives (`array.kind = "join"`): the devices in the order of their names, or
    /// as `member_devices` says. Devices of one member follow each other there, each rounded up to 1 MiB. The file is scanned
    /// once beforehand.
    Members,
}

/// Handling of a time stamp earlier than that of the previous line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backwards {
    /// Stop with an error that names the line.
    #[default]
    Error,
    /// Let the request arrive with the previous request.
    Clamp,
}

/// Handling of a request of zero bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ZeroSize {
    /// Stop with an error that names the line.
    #[default]
    Error,
    /// Leave the request out.
    Skip,
}

/// Handling of a request beyond the end of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PastEnd {
    /// Stop with an error that names the line.
    #[default]
    Error,
    /// Take the address modulo the drive's size (rounded down to a whole MiB, which keeps alignment). A request across
    /// the end is split in two, the second part at address 0.
    Wrap,
    /// Multiply every address by drive size / trace extent, larger or smaller. Offsets keep their alignment up to 4
    /// KiB; a request that would cross the end is moved back to end there. Sizes are unchanged, so shrunk sequential
    /// runs overlap.
    Scale,
}

/// Arrival times of a trace's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// At their time stamps.
    #[default]
    Timestamps,
    /// As fast as the queue accepts them, in the trace's order.
    Asap,
}

/// Joining several files to one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// Merged by time stamp; at equal times, the request of the earlier file comes first. All files are open at once.
    /// Formats without time stamps use `order`.
    #[default]
    Time,
    /// One file after another, in the order given.
    Order,
}

/// Handling of coarse time stamps that several requests share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// The n requests of one time stamp are spaced by 1/n of its unit.
    Even,
    /// Random times within the unit, in the order of the file; the same at every read.
    Random,
    /// All arrive at the time stamp.
    None,
}

/// A trace to replay: `[trace]` of a workload file.
///
/// Requests are rounded outwards to 512-byte sectors, and time stamps count from the first request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceOptions {
    /// The trace file: plain, gzip or zstd (detected from its content). A directory or a pattern such as
    /// `sda.blktrace.*` selects all its files. A relative path starts at the workload file.
    pub file: PathBuf,
    /// Several files of one trace, instead of `file`; all in one format.
    pub files: Vec<PathBuf>,
    /// Several files: merged by `time`, or one after another in their `order`.
    pub join: Join,
    /// Format of the file. Detected if unambiguous; required for formats that look alike, such as five columns of
    /// numbers.
    pub format: Option<TraceFormat>,
    /// Unit of the time stamps, instead of the format's own: `s`, `ms`, `us`, `100ns`, `ns` or `ps`.
    pub time_unit: Option<TimeUnit>,
    /// Bytes per unit of the address column, instead of the format's own (1 to 1,048,576).
    pub address_block_bytes: Option<u64>,
    /// Bytes per unit of the size column, instead of the format's own (1 to 1,048,576).
    pub size_block_bytes: Option<u64>,
    /// Value of the operation column for a read. Formats with a digit in it: `"1"` or `"0"`. CSV and patterns: any
    /// word, such as SCSI's `"28"`; needs `write_is` as well.
    pub read_is: Option<String>,
    /// Value of the operation column for a write, such as SCSI's `"2a"`.
    pub write_is: Option<String>,
    /// Names of the columns of a CSV trace, if they are not the usual ones.
    pub columns: Columns,
    /// A regular expression with named groups for any text format: `(?<time>…)`, `(?<op>…)`, `(?<offset>…)` in bytes or
    /// `(?<lba>…)` in blocks, `(?<size>…)` in bytes or `(?<blocks>…)`, and optionally `(?<device>…)` and `(?<fua>…)`.
    /// It may match anywhere in a line; `^` makes it faster. Needs `time_unit`. Without a group `time`, only the order
    /// of requests is used.
    pub pattern: Option<String>,
    /// Lines that the pattern does not match: `error` or `skip`.
    pub unmatched: Unmatched,
    /// Event of a blktrace, blkparse or WiscSee trace that counts as the request: `Q` queued, `G`, `I` inserted, `D`
    /// issued to the drive (the default), `C` completed. Only one, or requests would count twice.
    pub action: Option<String>,
    /// Coarse time stamps: spread the requests that share one evenly (`even`) or at `random` over its unit, or `none`.
    /// Default: `even` in Tencent traces, whose time stamps are whole seconds; `none` in others.
    pub spread: Option<Spread>,
    /// Sort requests by time within a window of this many requests (at most 16,777,216; about 100 bytes each). Default:
    /// 65,536 in blkparse and blktrace files, whose CPUs are interleaved; 0 in others.
    pub sort_window: Option<u32>,
    /// Allowed share of unreadable lines, 0 to 1; they are left out and counted. 0 makes the first one an error. The
    /// share is checked over the whole trace at its end. Before that, reading stops when the unreadable lines exceed
    /// this share of 1,000,000 lines, or of the lines read so far if these are more.
    pub skip_bad: f64,
    /// Keep only this device: `hm_0` (host and disk) in MSR traces, the device number or name in others. All by default.
    pub device: Option<String>,
    /// Several devices: `merge` them on the same addresses, `stack` them one after another, or each on one of the `members` of an
    /// array.
    pub devices: Devices,
    /// `devices = "members"`: the devices of each member, such as `[["msn_0", "msn_1"], ["msn_2"]]`, with names as `wordline trace
    /// info` lists them. Absent: one device each, in the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub member_devices: Vec<Vec<String>>,
    /// Time that runs backwards: `error`, or `clamp` to the time of the previous line.
    pub backwards: Backwards,
    /// Requests of zero bytes: `error` or `skip`.
    pub zero_size: ZeroSize,
    /// Requests beyond the end of the drive: `error`, `wrap` or `scale`.
    pub past_end: PastEnd,
    /// Size of the traced device in bytes, for `past_end = "scale"`. Without it, the file is scanned once beforehand
    /// for its highest byte.
    pub extent_bytes: Option<u64>,
    /// `timestamps`, or `asap` for as fast as the queue accepts them.
    pub pace: Pace,
    /// Replay this many times as fast as recorded (`pace = "timestamps"`; above 0).
    pub speed: f64,
    /// Queue depth under `pace = "asap"`: most requests in flight. Absent: the drive's queue depth.
    pub iodepth: Option<u32>,
    /// Number of replays, one after another; the trace's mean gap separates the last and the first request.
    pub loops: u32,
    /// Stop after this many requests, over all loops.
    pub limit: Option<u64>,
    /// A table to read instead of the file; the file name is then only its label.
    #[serde(skip)]
    #[schemars(skip)]
    pub table: Option<Table>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            file: PathBuf::new(),
            files: Vec::new(),
            join: Join::Time,
            format: None,
            time_unit: None,
            address_block_bytes: None,
            size_block_bytes: None,
            read_is: None,
            write_is: None,
            columns: Columns::default(),
            pattern: None,
            unmatched: Unmatched::Error,
            action: None,
            spread: None,
            sort_window: None,
            skip_bad: 0.0,
            device: None,
            devices: Devices::Merge,
            member_devices: Vec::new(),
            backwards: Backwards::Error,
            zero_size: ZeroSize::Error,
            past_end: PastEnd::Error,
            extent_bytes: None,
            pace: Pace::Timestamps,
            speed: 1.0,
            iodepth: None,
            loops: 1,
            limit: None,
            table: None,
        }
    }
}

impl TraceOptions {
    /// What the reader of a format needs of them.
    pub(crate) fn for_format(&self) -> FormatOptions {
        FormatOptions {
            time_unit: self.time_unit,
            address_block_bytes: self.address_block_bytes,
            size_block_bytes: self.size_block_bytes,
            read_is: self.read_is.clone(),
            write_is: self.write_is.clone(),
            columns: self.columns.clone(),
            pattern: self.pattern.clone(),
            unmatched: self.unmatched,
            action: self.action.clone(),
        }
    }
}
