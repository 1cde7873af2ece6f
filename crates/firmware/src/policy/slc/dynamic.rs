//! An SLC cache of variable size: free blocks that GC does not need.
//!
//! Source: the practice of client drives; Micron's brief "SSD dynamic write acceleration" describes a cache that uses what the
//! host has not filled.
//! Faithful: the host's data go to blocks in SLC mode while enough blocks are free, and past them otherwise. So the cache is large on
//! an empty drive, and small on a full one. When free blocks run short GC takes blocks of the cache like others: most
//! victim policies prefer them, since they have few valid units. Simplified: a block may change its mode with every erase.

use super::{check_blocks, SlcCache, SlcSize};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "free blocks take the host's data in SLC mode while more than `free_blocks` are left",
    source: "practice of client drives (Micron's dynamic write acceleration)",
    note: "when free blocks run short GC takes blocks of the cache like others; a block may change its mode with every erase",
};

/// Options of an SLC cache of variable size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Free blocks (of the drive, or of each plane with collect.scope = "plane") that the cache leaves. Absent: as many as GC stops at,
    /// and one more, or a superblock.
    pub free_blocks: Option<u32>,
    /// Blocks of the drive in SLC mode, at most. A multiple of the blocks of a superblock, if blocks form any, and with
    /// collect.scope = "plane" of the planes. Absent: no limit.
    pub most_blocks: Option<u32>,
}

/// An SLC cache of variable size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dynamic {
    options: Options,
}

impl Dynamic {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        if let Some(most) = options.most_blocks {
            check_blocks("slc.most_blocks", most, build)?;
        }
        let blocks = build.geometry.blocks() / build.domains;
        if let Some(free) = options.free_blocks.filter(|&free| free > blocks) {
            let problem = format!("must be at most {blocks}, the blocks that there are");
            return Err(ConfigError::new("slc.free_blocks", free, problem));
        }
        Ok(Self { options: options.clone() })
    }
}

impl SlcCache for Dynamic {
    fn size(&self) -> Option<SlcSize> {
        let Options { free_blocks, most_blocks } = self.options;
        Some(SlcSize { most: most_blocks, spare: free_blocks, fixed: false })
    }
}
