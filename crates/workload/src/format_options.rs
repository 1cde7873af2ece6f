//! What the reader of a format needs of `[trace]`: units, words, columns, pattern. The comments of its public types are
//! the user's documentation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Handling of lines that the pattern does not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unmatched {
    /// An unreadable line: an error, unless `skip_bad` allows it.
    #[default]
    Error,
    /// Not a request: the line is left out.
    Skip,
}

/// Names of the columns of a CSV trace; a column not named here is searched under its usual names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Columns {
    /// Arrival time; needs `time_unit` unless the name ends in `_s`, `_ms`, `_us`, `_ns` or `_ps`. Usual names: `time_s`,
    /// `time_ms`, `time_us`, `time_ns`.
    pub time: Option<String>,
    /// Operation: R, W, T, F or read, write, trim, discard, flush, upper or lower case; other words with `read_is` and
    /// `write_is`. Usual name: `op`.
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
    /// Force unit access: 1, true or yes; or 0, false, no or empty. Usual name: `fua`; may be absent.
    pub fua: Option<String>,
}

/// How the lines of a trace are to be read, where its user says so. Each field is that of `TraceOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct FormatOptions {
    pub time_unit: Option<TimeUnit>,
    pub address_block_bytes: Option<u64>,
    pub size_block_bytes: Option<u64>,
    pub read_is: Option<String>,
    pub write_is: Option<String>,
    pub columns: Columns,
    pub pattern: Option<String>,
    pub unmatched: Unmatched,
    pub action: Option<String>,
}

impl FormatOptions {
    /// The options that only some formats support, with a flag for those given.
    pub fn special(&self) -> [(&'static str, bool); 8] {
        [
            ("read_is", self.read_is.is_some()),
            ("write_is", self.write_is.is_some()),
            ("columns", self.columns != Columns::default()),
            ("pattern", self.pattern.is_some()),
            ("unmatched", self.unmatched != Unmatched::default()),
            ("action", self.action.is_some()),
            ("address_block_bytes", self.address_block_bytes.is_some()),
            ("size_block_bytes", self.size_block_bytes.is_some()),
        ]
    }
}
