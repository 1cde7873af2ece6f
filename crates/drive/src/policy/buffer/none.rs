//! No write buffer: a write is acknowledged when it is in flash.
//!
//! Source: the write-through drives of choi18 and jung13 (6.5), which model no buffer.
//! Faithful: flush and FUA are immediate. Units smaller than a page share a page only with writes that wait for the
//! same die.

use super::Buffer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_firmware::policy::{About, Build};
use wordline_firmware::ConfigError;

pub(crate) const ABOUT: About = About {
    summary: "write-through: a write is acknowledged when it is in flash",
    source: "choi18 5; jung13 6.5 (no buffer modelled)",
    note: "logical pages smaller than a flash page share it only with writes that wait for the same die",
};

/// No options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No write buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Buffer for None {
    fn units(&self, _: u32) -> u32 {
        0
    }
}
