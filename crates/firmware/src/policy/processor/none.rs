//! The firmware takes no time.
//!
//! Source: the drives of jung13 (chapters 3 and 6) and choi18, which give no computing time.
//! Faithful: an operation goes on in the moment in which its task creates it.

use super::{Processor, Work};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

pub(crate) const ABOUT: About = About {
    summary: "the firmware takes no time",
    source: "choi18 Table 1",
    note: "look-ups and the creation of operations are free",
};

/// No computing time has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// A firmware without computing time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Processor for None {
    fn takes_time(&self) -> bool {
        false
    }

    fn time(&mut self, _: Work) -> Time {
        0
    }
}
