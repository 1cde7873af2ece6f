//! An SLC cache of fixed size: so many blocks are set aside for it.
//!
//! Source: the practice of client drives; Micron's brief "SSD dynamic write acceleration" and Samsung's white paper on TurboWrite
//! describe caches of a fixed and of a variable size.
//! Faithful: the size; when the cache is full, the host writes past it. Assumed: GC takes a block of the cache only for data
//! that were overwritten in it, as it takes others. Simplified: the blocks are not always the same ones, so all blocks wear alike;
//! products keep a fixed pool, whose blocks bear more P/E cycles.

use super::{check_blocks, SlcCache, SlcSize};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "up to `blocks` blocks take the host's data in SLC mode; they are part of the over-provisioning",
    source: "practice of client drives (Samsung's TurboWrite)",
    note: "a full cache is written past; which blocks they are changes, so all wear alike",
};

/// Options of an SLC cache of fixed size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Blocks of the drive in SLC mode, at most; must be given. A multiple of the blocks of a superblock, if blocks form any, and with
    /// collect.scope = "plane" of the planes.
    pub blocks: Option<u32>,
}

/// An SLC cache of fixed size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fixed {
    blocks: u32,
}

impl Fixed {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Some(blocks) = options.blocks else {
            let step = build.blocks_together * build.domains;
            let problem = format!("needs slc.blocks, the blocks of the cache, such as slc.blocks = {step}");
            return Err(ConfigError::new("slc.policy", "static", problem));
        };
        check_blocks("slc.blocks", blocks, build)?;
        Ok(Self { blocks })
    }
}

impl SlcCache for Fixed {
    fn size(&self) -> Option<SlcSize> {
        Some(SlcSize { most: Some(self.blocks), spare: Some(0), fixed: true })
    }
}
