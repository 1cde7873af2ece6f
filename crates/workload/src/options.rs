//! `[trace]`: which file to replay and how to read it. The field comments are the user's documentation.

use crate::reader::formats::TraceFormat;
use crate::reader::table::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The unit of a trace's time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TimeUnit {
    /// Seconds.
    #[serde(rename = "s")]
    S,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Microseconds.
    #[serde(rename = "us")]
    Us,
    /// 100 ns ticks (FILETIME).
    #[serde(rename = "100ns")]
    Tick,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Picoseconds.
    #[serde(rename = "ps")]
    Ps,
}

impl TimeUnit {
    /// The power of ten that makes it picoseconds.
    #[must_use]
    pub fn power(self) -> u32 {
        match self {
            TimeUnit::S => 12,
            TimeUnit::Ms => 9,
            TimeUnit::Us => 6,
            TimeUnit::Tick => 5,
            TimeUnit::Ns => 3,
            TimeUnit::Ps => 0,
        }
    }

    /// The name written in a workload file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::S => "s",
            TimeUnit::Ms => "ms",
            TimeUnit::Us => "us",
            TimeUnit::Tick => "100ns",
            TimeUnit::Ns => "ns",
            TimeUnit::Ps => "ps",
        }
    }
}

/// What to do with the devices of a trace that has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Devices {
    /// Their addresses mean the same bytes of the drive.
    #[default]
    Merge,
    /// They lie one behind another on the drive, in order of first appearance, each rounded up to 1 MiB. The file is
    /// scanned once beforehand.
    Stack,
}

/// What to do with a time stamp before the one of the line above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backwards {
    /// Stop with an error that names the line.
    #[default]
    Error,
    /// Let the request arrive together with the one before it.
    Clamp,
}

/// What to do with a request of zero bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ZeroSize {
    /// Stop with an error that names the line.
    #[default]
    Error,
    /// Leave the request out.
    Skip,
}

/// What to do with a request beyond the end of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PastEnd {
    /// Stop with an error that names the line.
    #[default]
    Error,
    /// Take the address modulo the drive's size (rounded down to a whole MiB, which keeps alignment). A request across
    /// the end becomes two, the second at address 0.
    Wrap,
    /// Multiply every address by drive size / trace extent, larger or smaller. Offsets keep their alignment up to 4 KiB;
    /// a request that would cross the end moves back to end there. Sizes stay, so shrunk sequential runs overlap.
    Scale,
}

/// When a trace's requests reach the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// At their time stamps.
    #[default]
    Timestamps,
    /// As fast as the queue takes them, in the trace's order.
    Asap,
}

/// How several files make one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Join {
    /// By their time stamps; of requests at the same time the one of the earlier file comes first. All files are open at
    /// once. Formats without time stamps go by `order`.
    #[default]
    Time,
    /// One file behind another, in the order given.
    Order,
}

/// What to do with time stamps so coarse that many requests share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// The n requests of one stamp follow each other at 1/n of its unit.
    Even,
    /// They fall at random within its unit, in the order of the file; the same at every reading.
    Random,
    /// They arrive together.
    None,
}

/// What to do with lines that a pattern does not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unmatched {
    /// They cannot be read: an error, unless `skip_bad` allows for it.
    #[default]
    Error,
    /// They are no requests and are left out.
    Skip,
}

/// Which column of a CSV trace holds what; a column that is not named here is looked for under its usual names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Columns {
    /// Arrival time; needs `time_unit` unless the name ends in `_s`, `_ms`, `_us`, `_ns` or `_ps`. Usual names: `time_s`,
    /// `time_ms`, `time_us`, `time_ns`.
    pub time: Option<String>,
    /// Operation: R, W, T, F or read, write, trim, discard, flush, in any case; other words by `read_is` and `write_is`.
    /// Usual name: `op`.
    pub op: Option<String>,
    /// First byte. Usual name: `offset_bytes`.
    pub offset_bytes: Option<String>,
    /// First block, of `address_block_bytes` (512) each; instead of `offset_bytes`. Usual name: `lba`.
    pub lba: Option<String>,
    /// Size in bytes. Usual name: `size_bytes`.
    pub size_bytes: Option<String>,
    /// Size in blocks of `size_block_bytes` (512) each; instead of `size_bytes`. Usual name: `blocks`.
    pub blocks: Option<String>,
    /// Device name. Usual name: `device`; may be absent.
    pub device: Option<String>,
    /// Force unit access: 1, true or yes against 0, false, no or nothing. Usual name: `fua`; may be absent.
    pub fua: Option<String>,
}

/// A trace to replay: `[trace]` of a workload file.
///
/// Requests are rounded outwards to 512-byte sectors, and time stamps count from the first request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TraceOptions {
    /// The trace: plain, gzip or zstd (told by content). A directory or a pattern such as `sda.blktrace.*` stands for all
    /// its files. A relative path counts from the workload file.
    pub file: PathBuf,
    /// Several files that make one trace, instead of `file`; all of one format.
    pub files: Vec<PathBuf>,
    /// Several files: merged by `time`, or one behind another in their `order`.
    pub join: Join,
    /// Layout of the file. Found out when it is unmistakable; formats that look alike, such as five columns of numbers, need
    /// it.
    pub format: Option<TraceFormat>,
    /// Unit of the time stamps, instead of the format's own: `s`, `ms`, `us`, `100ns`, `ns` or `ps`.
    pub time_unit: Option<TimeUnit>,
    /// Bytes of one unit of the address column, instead of the format's own (1 to 1,048,576).
    pub address_block_bytes: Option<u64>,
    /// Bytes of one unit of the size column, instead of the format's own (1 to 1,048,576).
    pub size_block_bytes: Option<u64>,
    /// What the operation column holds for a read. Formats with a digit there: `"1"` or `"0"`. CSV and patterns: any word,
    /// such as SCSI's `"28"`; needs `write_is` as well.
    pub read_is: Option<String>,
    /// What the operation column holds for a write, such as SCSI's `"2a"`.
    pub write_is: Option<String>,
    /// Columns of a CSV trace under other names than the usual ones.
    pub columns: Columns,
    /// A regular expression with named groups that reads any text: `(?<time>…)`, `(?<op>…)`, `(?<offset>…)` in bytes or
    /// `(?<lba>…)` in blocks, `(?<size>…)` in bytes or `(?<blocks>…)`, and perhaps `(?<device>…)` and `(?<fua>…)`. It may
    /// match anywhere in a line; `^` makes it faster. Needs `time_unit`. Without a group `time` only the order counts.
    pub pattern: Option<String>,
    /// Lines that the pattern does not match: `error` or `skip`.
    pub unmatched: Unmatched,
    /// Which event of a blktrace, blkparse or WiscSee trace counts as the request: `Q` queued, `G`, `I` inserted, `D` issued to
    /// the drive (the default), `C` completed. Only one may, or requests count twice.
    pub action: Option<String>,
    /// Coarse time stamps: spread the requests that share one `even` or at `random` over its unit, or `none`. `even` in Tencent
    /// traces, whose stamps are whole seconds; `none` in others.
    pub spread: Option<Spread>,
    /// Sort requests by time within a window of this many (at most 16,777,216; about 100 bytes each). 65,536 in blkparse
    /// and blktrace files, whose processors take turns; 0 in others.
    pub sort_window: Option<u32>,
    /// Share of the lines that may be unreadable and are left out and counted, 0 to 1; 0 makes the first one an error.
    /// It is the share of the whole trace, judged at its end; before that, reading stops as soon as more are bad than it allows of
    /// 1,000,000 lines, or of those read so far where they are more.
    pub skip_bad: f64,
    /// Keep only this device: `hm_0` (host and disk) in MSR traces, the device number or name in others. All by default.
    pub device: Option<String>,
    /// Several devices: `merge` them on the same addresses, or `stack` them one behind another.
    pub devices: Devices,
    /// Time that runs backwards: `error`, or `clamp` to the time of the line above.
    pub backwards: Backwards,
    /// Requests of zero bytes: `error` or `skip`.
    pub zero_size: ZeroSize,
    /// Requests beyond the end of the drive: `error`, `wrap` or `scale`.
    pub past_end: PastEnd,
    /// Size of the traced device in bytes, for `past_end = "scale"`. Without it the file is scanned once beforehand and the
    /// highest byte found is taken.
    pub extent_bytes: Option<u64>,
    /// `timestamps`, or `asap` for as fast as the queue takes them.
    pub pace: Pace,
    /// Replay this many times as fast as recorded (`pace = "timestamps"`; above 0).
    pub speed: f64,
    /// Most requests in flight under `pace = "asap"`; without it as many as the drive's queue holds.
    pub iodepth: Option<u32>,
    /// How often the trace is replayed, one time behind another; between last and first request lies the trace's mean gap.
    pub loops: u32,
    /// Stop after this many requests, over all loops.
    pub limit: Option<u64>,
    /// A table to read instead of the file, whose name then only stands for it.
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
