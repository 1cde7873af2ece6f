//! SAST (also called NK): N neighbouring logical blocks share up to K log blocks.
//!
//! Source: Park et al., set-associative sector translation, as described in chang11 (LCTES, 2.2, figure 1; V: NK 16:32); with
//! N = 2 and K = 8 it is the H-FTL of jung13 (7.6).
//! Faithful: groups of N logical blocks with up to K log blocks; pages of a group in its newest log block in the order of their
//! coming; all log blocks of a group are merged together (figure 1) when it needs one more than K, or when log blocks run out.
//! Option: only the oldest one of the group is merged then.
//! Assumed: when they run out, the group that was not written for the longest time is merged (the sources do not say which); a
//! page that is the next one of its data block goes there, and does not need a log block. Simplified: logical pages are flash
//! pages, and no program or erase may fail.

use super::zones::Zones;
use super::{LogRule, Mapping, Priority};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "block mapping with log blocks; neighbouring logical blocks share some (SAST, or NK; H-FTL)",
    source: "chang11 (LCTES) 2.2, figure 1, and V; jung13 7.6",
    note: "all log blocks of a group are merged together, or the oldest; the group not written for the longest time when they run out; the next \
        page in order goes to the data block; logical pages are flash pages",
};

/// Options of SAST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Logical blocks of a group (N), from 1.
    pub group_blocks: u32,
    /// Log blocks of a group at most (K), from 1.
    pub group_log_blocks: u32,
    /// True if all log blocks of a group are merged together, false if only its oldest one is.
    pub whole_groups: bool,
    /// Log blocks of each GC domain (`collect.scope`) at most, from 1; with "fast", whose sequential one counts, from 2. Absent: all
    /// blocks that are spare.
    pub log_blocks: Option<u32>,
    /// Logical blocks of a map zone, from 1; needs `zone_tables`. Absent: the drive is not cut into zones, and the whole table is in memory.
    pub zone_blocks: Option<u32>,
    /// Tables of map zones that memory holds, from 1; needs `zone_blocks`. The others lie in flash.
    pub zone_tables: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { group_blocks: 16, group_log_blocks: 32, whole_groups: true, log_blocks: None, zone_blocks: None, zone_tables: None }
    }
}

/// SAST.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sast {
    page_bytes: u32,
    rule: LogRule,
    zones: Option<Zones>,
}

impl Sast {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let counts = [("group_blocks", options.group_blocks), ("group_log_blocks", options.group_log_blocks)];
        if let Some((key, _)) = counts.into_iter().find(|&(_, count)| count == 0) {
            return Err(ConfigError::new(format!("mapping.{key}"), 0, "must be at least 1"));
        }
        let rule = LogRule {
            logical_blocks: Some(options.group_blocks),
            log_blocks: Some(options.group_log_blocks),
            most: options.log_blocks,
            zone_blocks: options.zone_blocks,
            sequential: false,
            one_by_one: !options.whole_groups,
            priority: Priority::LeastRecentlyWritten,
        };
        let zones = Zones::new(options.zone_blocks, options.zone_tables, build)?;
        Ok(Self { page_bytes: build.geometry.page_bytes, rule, zones })
    }
}

impl Mapping for Sast {
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
