//! BAST: each logical block that is updated has a log block of its own.
//!
//! Source: Chung et al., block-associative sector translation, as described in chang11 (LCTES, 2.2: set-associative mapping with
//! N = 1 and K = 1; II, Algorithm 1); with no limit but the free blocks it is the L-FTL of jung13 (7.2.1, 7.6: one data block
//! and one update block).
//! Faithful: one log block for a logical block; pages in a log block in the order of their coming; a full log block is merged
//! before the next write; when log blocks run out, one is merged for another logical block; switch, partial and full merges.
//! Assumed: the log block that was not written for the longest time is merged (the sources do not say which); a page that is
//! the next one of its data block goes there, and does not need a log block. Simplified: logical pages are flash pages, and no
//! program or erase may fail.

use super::zones::Zones;
use super::{LogRule, Mapping, Priority};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "block mapping with log blocks, one for each logical block that is updated (BAST; L-FTL)",
    source: "chang11 (LCTES) 2.2, and II, Algorithm 1; jung13 7.2.1, 7.6",
    note: "the log block not written for the longest time is merged when they run out; the next page in order goes to the data \
        block; logical pages are flash pages",
};

/// Options of BAST.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Log blocks of each GC domain (`collect.scope`) at most, from 1; with "fast", whose sequential one counts, from 2. Absent: all
    /// blocks that are spare.
    pub log_blocks: Option<u32>,
    /// Logical blocks of a map zone, from 1; needs `zone_tables`. Absent: the drive is not cut into zones, and the whole table is in memory.
    pub zone_blocks: Option<u32>,
    /// Tables of map zones that memory holds, from 1; needs `zone_blocks`. The others lie in flash.
    pub zone_tables: Option<u32>,
}

/// BAST.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bast {
    page_bytes: u32,
    rule: LogRule,
    zones: Option<Zones>,
}

impl Bast {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let rule = LogRule {
            logical_blocks: Some(1),
            log_blocks: Some(1),
            most: options.log_blocks,
            zone_blocks: options.zone_blocks,
            sequential: false,
            one_by_one: false,
            priority: Priority::LeastRecentlyWritten,
        };
        let zones = Zones::new(options.zone_blocks, options.zone_tables, build)?;
        Ok(Self { page_bytes: build.geometry.page_bytes, rule, zones })
    }
}

impl Mapping for Bast {
    fn unit_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn fixes_pages(&self) -> bool {
        true
    }

    fn logs(&self) -> Option<LogRule> {
        Some(self.rule)
    }

    fn zones(&self) -> Option<&Zones> {
        self.zones.as_ref()
    }

    fn zones_mut(&mut self) -> Option<&mut Zones> {
        self.zones.as_mut()
    }
}
