//! No redundancy: each block is opened, collected and erased by itself.
//!
//! Source: the drives of jung13, choi18 and kim18 but RAIN.
//! Faithful: a read always goes to the page that holds its data.

use super::{AroundView, Redundancy, Stripe};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "each block stands alone; a read goes to the page that holds its data",
    source: "kim18 4.2",
    note: "no parity",
};

/// No redundancy has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No redundancy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Redundancy for None {
    fn stripe(&self) -> Option<Stripe> {
        Option::None
    }

    fn has_ways_around(&self) -> bool {
        false
    }

    fn goes_around(&mut self, _: &AroundView) -> bool {
        false
    }
}
