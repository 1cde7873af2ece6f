//! The free block that has been free longest.
//!
//! Source: the allocation of most simulators without wear leveling (Agrawal et al., USENIX ATC 2008, as their
//! baseline).
//! Faithful: strict order of erasing in each plane.

use super::FreeBlock;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "the block that has been free longest, without wear leveling",
    source: "Agrawal et al., USENIX ATC 2008 (baseline)",
    note: "strict order of erases in each plane",
};

/// FIFO has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// First freed, first used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fifo;

impl Fifo {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl FreeBlock for Fifo {
    #[inline]
    fn rank(&mut self, _: u32, order: u32) -> u64 {
        u64::from(order)
    }
}
