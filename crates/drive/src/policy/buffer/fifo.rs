//! A write-back buffer, first in, first out.
//!
//! Source: dirik09 (section 4, the drive's write buffer); kim18 (4.2), where small writes are combined until they fill
//! a page.
//! Faithful: a write is acknowledged once its data are in the buffer; reads of buffered units are served from it;
//! flush drains it and a FUA write waits for flash. Units leave in the order of arrival at their die; a page that is
//! not full waits until its oldest unit is in the oldest quarter of the buffer; a unit written again before it leaves
//! replaces the older version. Simplified: DRAM access takes no time.

use super::{capacity_problem, units_of, Buffer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_firmware::policy::{About, Build};
use wordline_firmware::ConfigError;

pub(crate) const ABOUT: About = About {
    summary: "write-back: a write is acknowledged once it is in the buffer; logical pages are combined into full flash \
        pages and leave in FIFO order",
    source: "dirik09 4; kim18 4.2",
    note: "a rewrite of a buffered logical page replaces it; DRAM access takes no time",
};

/// Options of the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Size of the buffer in KiB.
    pub capacity_kib: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { capacity_kib: 8_192 }
    }
}

/// A write-back buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fifo {
    capacity_kib: u32,
}

impl Fifo {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        if let Some(problem) = capacity_problem(options.capacity_kib, build) {
            return Err(ConfigError::new("buffer.capacity_kib", options.capacity_kib, problem));
        }
        Ok(Self { capacity_kib: options.capacity_kib })
    }
}

impl Buffer for Fifo {
    fn units(&self, unit_bytes: u32) -> u32 {
        units_of(self.capacity_kib, unit_bytes)
    }
}
