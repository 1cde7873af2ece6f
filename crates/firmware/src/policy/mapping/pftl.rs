//! P-FTL: block mapping with a buffer of flash blocks under page mapping, which all logical blocks share.
//!
//! Source: jung13 (7.6): a translation layer with partial garbage collection, whose extra space of 14 or 28 GB is a write buffer under page
//! mapping "instead of employing a block-level mapping scheme"; the layers it names are real-time ones with a buffer for urgent writes.
//! Faithful: data are block mapped; what is written again goes to the buffer, pages of any logical block in the order of their coming; when
//! the buffer is full, writes wait (write buffer thrashing). That it is emptied in steps is up to `collect.policy = "partial"`.
//! Assumed (the source does not say it): the oldest block of the buffer is emptied first, all logical blocks with pages in it one after the
//! other, each with all its pages wherever they lie in the buffer; a page that is the next one of its data block goes there, and does not need
//! the buffer; the buffer lies in flash, as its gigabytes suggest. Simplified: logical pages are flash pages, and no program or erase may
//! fail.

use super::{LogRule, Mapping, Priority};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "block mapping with a buffer of log blocks under page mapping, which all logical blocks share (P-FTL)",
    source: "jung13 7.6",
    note: "with collect.policy = \"partial\" the buffer is emptied in steps; its oldest block first; the next page in order goes to the data \
        block; logical pages are flash pages",
};

/// Options of P-FTL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Blocks of the buffer of each GC domain (`collect.scope`) at most, from 1. Absent: all blocks that are spare.
    pub log_blocks: Option<u32>,
}

/// P-FTL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pftl {
    page_bytes: u32,
    rule: LogRule,
}

impl Pftl {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let rule = LogRule {
            logical_blocks: None,
            log_blocks: None,
            most: options.log_blocks,
            zone_blocks: None,
            sequential: false,
            one_by_one: true,
            priority: Priority::Oldest,
        };
        Ok(Self { page_bytes: build.geometry.page_bytes, rule })
    }
}

impl Mapping for Pftl {
    fn unit_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn fixes_pages(&self) -> bool {
        true
    }

    fn logs(&self) -> Option<LogRule> {
        Some(self.rule)
    }
}
