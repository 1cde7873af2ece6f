//! Out of order: a read of the host goes when its die is free, the oldest first.
//!
//! Source: none of the papers; the comparison that jung13 (6) lacks, between its in-order baseline (VAQ) and its clumps.
//! Faithful: nothing to be faithful to. Chosen: reads wait by physical address as with PAQ, but which others they conflict with does not matter, and a package
//! may have a read of the host in each of its dies. Writes of the host and operations of other tasks go to their dies at once.

use super::{Dispatch, TagRules};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::time::END_OF_TIME;

pub(crate) const ABOUT: About = About {
    summary: "reads of the host go when their die is free, the oldest first: PAQ without its clumps",
    source: "for comparison with jung13 6.4",
    note: "writes and other tasks go to their dies at once",
};

/// Options of going out of order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Reads of several requests share multi-plane commands (plane packing). Needs a `pack.policy` with such commands.
    pub packing: bool,
}

/// Out of order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OutOfOrder {
    packing: bool,
}

impl OutOfOrder {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { packing: options.packing })
    }
}

impl Dispatch for OutOfOrder {
    fn depth(&self) -> Option<u32> {
        Some(1)
    }

    fn tags(&self) -> Option<TagRules> {
        let packs_across = self.packing;
        Some(TagRules { in_order: false, by_package: false, packs_across, decision: 0, bound: END_OF_TIME })
    }
}
