//! No static wear leveling: data stay where they are, and their blocks stay young.
//!
//! Source: Agrawal et al. (USENIX ATC 2008), whose baseline moves no data for wear.
//! Faithful: nothing is moved for wear. The choice of free blocks (`free_block`) may level the wear of those that are freed.

use super::{Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "no block is moved for its wear",
    source: "Agrawal et al., USENIX ATC 2008 (baseline)",
    note: "free_block.policy still levels the wear of blocks that are freed",
};

/// No static wear leveling has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No static wear leveling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Upkeep for None {
    fn occasion(&self) -> Occasion {
        Occasion::Never
    }

    fn next(&mut self, _: &UpkeepView<'_>) -> Option<u32> {
        Option::None
    }

    fn window(&self) -> u32 {
        0
    }

    fn most(&self) -> u32 {
        0
    }
}
