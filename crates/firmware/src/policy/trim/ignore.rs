//! TRIM is accepted and does nothing.
//!
//! Source: the drives of jung13 (5.6) that show no effect of TRIM; the standards leave the effect open.
//! Faithful: the command completes, all data stay mapped.

use super::Trim;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "the command completes and all data stay mapped",
    source: "jung13 5.6",
    note: "no logical page is unmapped",
};

/// Ignore has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// TRIM that does nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ignore;

impl Ignore {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Trim for Ignore {
    fn invalidates(&mut self, _: u32, _: u32) -> bool {
        false
    }
}
