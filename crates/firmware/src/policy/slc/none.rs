//! No SLC cache: all blocks keep all bits of their cells.
//!
//! Source: Agrawal et al. (USENIX ATC 2008), whose drives know no such mode.
//! Faithful: nothing is written in SLC mode.

use super::{SlcCache, SlcSize};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "no block is written in SLC mode",
    source: "Agrawal et al., USENIX ATC 2008 (baseline)",
    note: "the host writes to blocks with all bits of their cells",
};

/// No SLC cache has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// No SLC cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct None;

impl None {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl SlcCache for None {
    fn size(&self) -> Option<SlcSize> {
        Option::None
    }
}
