//! Dynamic wear leveling: the free block with the fewest P/E cycles.
//!
//! Source: Agrawal et al. (USENIX ATC 2008), section 3.5; "wear-aware block selection" of choi18 (Table 1).
//! Faithful: the least worn free block of the plane; among equals, the one that has been free longest. Simplified: it
//! levels the wear of freed blocks only and does not move cold data (no static wear leveling).

use super::FreeBlock;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "dynamic wear leveling: the free block with the fewest P/E cycles; among equals, the one free longest",
    source: "Agrawal et al., USENIX ATC 2008, 3.5; choi18 Table 1",
    note: "levels the wear of freed blocks only; cold data are not moved",
};

/// Least-erased has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Wear-aware choice of free blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeastErased;

impl LeastErased {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl FreeBlock for LeastErased {
    #[inline]
    fn rank(&mut self, erases: u32, order: u32) -> u64 {
        u64::from(erases) << 32 | u64::from(order)
    }
}
