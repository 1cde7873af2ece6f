//! Block mapping: a logical block of consecutive pages lies in one block, each page at its own offset.
//!
//! Source: Ban, US patents 5,404,485 (1995) and 5,937,425 (1999), with a replacement block for each logical block as in
//! jung13 (7.2.1, one data block and one update block) and chang11 (LCTES, 2.2: block-level mapping).
//! Faithful: a block for each logical block, in memory; a page that was written is written again in another block, in
//! place. The old data before it are copied first, those behind it when the block is needed (full merge), and a block
//! whose pages were all written again is erased without copies (switch merge). NAND wants pages in order, so pages without
//! data before a written one are programmed empty.
//! Assumed: a logical block has one replacement block at a time; the next rewrite of a page waits for the merge. The victim
//! policy chooses the logical block to merge, when GC wants free blocks. The placement puts logical blocks where others put
//! pages. Simplified: logical pages are flash pages, and no program or erase may fail.

use super::Mapping;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "block mapping: a logical block lies in one block, each page at its own offset; a rewrite goes to a \
        replacement block, and GC merges the two",
    source: "Ban, US 5,404,485 (1995) and US 5,937,425 (1999); jung13 7.2.1; chang11 (LCTES) 2.2",
    note: "one replacement block for each logical block; logical pages are flash pages; skipped pages are programmed \
        empty, since NAND wants pages in order",
};

/// Block mapping has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Block mapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Block {
    page_bytes: u32,
}

impl Block {
    pub(super) fn new(_: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { page_bytes: build.geometry.page_bytes })
    }
}

impl Mapping for Block {
    fn unit_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn fixes_pages(&self) -> bool {
        true
    }
}
