//! No folding: the data of the SLC cache stay until GC takes their blocks.
//!
//! Source: Agrawal et al. (USENIX ATC 2008), whose baseline moves data for GC alone.
//! Faithful: nothing is moved for the cache alone.

use super::{Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "only GC takes blocks of the SLC cache",
    source: "Agrawal et al., USENIX ATC 2008 (baseline)",
    note: "a cache of fixed size fills up once, and is then written past until its data are overwritten",
};

/// No folding has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No folding.
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
