//! FAST: all logical blocks share all log blocks, and one log block is kept for writes in order.
//!
//! Source: Lee et al., fully-associative sector translation, as described in chang11 (LCTES, 2.2, figure 2; V).
//! Faithful: pages of any logical block in the newest log block in the order of their coming; the oldest log block is merged
//! when they run out, with a full merge for each logical block that has pages in it; one sequential log block, which takes a
//! logical block's pages from the first on, and is switched or merged when another logical block begins.
//! Assumed (the description leaves it open): a page that does not continue the sequential log block goes to the others, and leaves
//! that one as it is; a page that is the next one of its data block goes there, and does not need a log block; the sequential log
//! block is merged at once when it is full. Simplified: logical pages are flash pages, and no program or erase may fail.

use super::zones::Zones;
use super::{LogRule, Mapping, Priority};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "block mapping with log blocks that all logical blocks share, and one for writes in order (FAST)",
    source: "chang11 (LCTES) 2.2, figure 2, and V",
    note: "the oldest log block is merged when they run out; the next page in order goes to the data block; logical pages are \
        flash pages",
};

/// Options of FAST.
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

/// FAST.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fast {
    page_bytes: u32,
    rule: LogRule,
    zones: Option<Zones>,
}

impl Fast {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let rule = LogRule {
            logical_blocks: None,
            log_blocks: None,
            most: options.log_blocks,
            zone_blocks: options.zone_blocks,
            sequential: true,
            one_by_one: true,
            priority: Priority::Oldest,
        };
        let zones = Zones::new(options.zone_blocks, options.zone_tables, build)?;
        Ok(Self { page_bytes: build.geometry.page_bytes, rule, zones })
    }
}

impl Mapping for Fast {
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
