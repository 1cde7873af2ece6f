//! No refresh: blocks keep their data however often they are read.
//!
//! Source: kim18 (4.2), without its read scrubbing.
//! Faithful: nothing is moved for reads; `nand.reliability` may still count the errors that they cause.

use super::{Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "no block is moved for its reads",
    source: "kim18 4.2, without its scrubbing",
    note: "bit errors of nand.reliability still grow with reads",
};

/// No refresh has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No refresh.
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
