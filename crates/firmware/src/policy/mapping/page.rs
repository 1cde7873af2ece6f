//! Page mapping: one entry for every unit, the whole map in memory.
//!
//! Source: Ban, US patent 5,404,485 (1995), as used by kim18 (4.2) with units of 4 KB and jung13 (3.4) with units of a
//! page.
//! Faithful: any unit can be in any page; units smaller than a page are combined into pages when they are written.
//! Simplified: the map is always in memory, so a lookup costs neither time nor flash reads.

use super::Mapping;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "page mapping: one entry for every logical page (mapping unit) of unit_kib, all in memory",
    source: "Ban, US 5,404,485 (1995); kim18 4.2; jung13 3.4",
    note: "the map is always in memory: a lookup takes no time and no flash reads",
};

/// Options of page mapping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Size of a logical page (mapping unit) in KiB: the page size or a power-of-two fraction of it. Absent: the page
    /// size. A smaller write reads the rest of the mapping unit first.
    pub unit_kib: Option<u32>,
}

/// Page mapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    unit_bytes: u32,
}

/// Bytes of the mapping unit that a section gives.
pub(super) fn unit_bytes(unit_kib: Option<u32>, build: &Build<'_>) -> Result<u32, ConfigError> {
        let page_kib = build.geometry.page_bytes / 1024;
        let unit_kib = unit_kib.unwrap_or(page_kib);
        if !unit_kib.is_power_of_two() || unit_kib > page_kib || page_kib / unit_kib > crate::MAX_UNITS_PER_PAGE {
            let choices: Vec<String> = (0..=crate::MAX_UNITS_PER_PAGE.ilog2())
                .map(|shift| page_kib >> shift)
                .filter(|&kib| kib > 0)
                .map(|kib| kib.to_string())
                .collect();
            return Err(ConfigError::new(
                "mapping.unit_kib",
                unit_kib,
                format!("pages of {page_kib} KiB need a mapping unit of {} KiB", choices.join(", ")),
            ));
        }
        Ok(unit_kib * 1024)
}

impl Page {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { unit_bytes: unit_bytes(options.unit_kib, build)? })
    }
}

impl Mapping for Page {
    #[inline]
    fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }
}
