//! TRIM invalidates: the logical pages are unmapped at once, and GC need not move them.
//!
//! Source: jung13 (5.6, TRIM); ATA DATA SET MANAGEMENT, NVMe Dataset Management (deallocate).
//! Faithful: whole logical pages within the range are unmapped; one that the range covers in part keeps its data, as
//! the standards allow. Simplified: the command costs its transfer and no flash operations.

use super::Trim;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "the logical pages of the range are unmapped at once",
    source: "jung13 5.6; NVMe Dataset Management",
    note: "logical pages covered in part keep their data; no flash operations",
};

/// Invalidate has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// TRIM that invalidates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Invalidate;

impl Invalidate {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Trim for Invalidate {
    fn invalidates(&mut self, _: u32, _: u32) -> bool {
        true
    }
}
