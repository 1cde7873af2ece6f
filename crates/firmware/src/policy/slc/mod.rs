//! Family `slc`: how many blocks the host's data open in SLC mode (pSLC), the SLC cache.

use crate::policies;
use crate::policy::{Build, Trouble};
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// The size of an SLC cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcSize {
    /// Blocks of the drive in SLC mode, at most; none for no limit of its own.
    pub most: Option<u32>,
    /// Free blocks of a domain that the cache leaves for other uses; none for as many as GC stops at, and those that are opened
    /// together.
    pub spare: Option<u32>,
    /// True if the blocks are set aside for it: then GC takes them only for the data that were overwritten in them.
    pub fixed: bool,
}

/// A domain (the drive, or a plane), as a limit of the cache sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcView {
    /// The domain.
    pub domain: u32,
    /// Its blocks in SLC mode.
    pub blocks: u32,
    /// Its free blocks.
    pub free: u32,
    /// Mapping units that the host has written to the drive. The count begins anew when measuring starts.
    pub host_units: u64,
    /// Simulated time.
    pub now: Time,
}

/// Decides how large the SLC cache is.
pub trait SlcCache {
    /// Its size; none without a cache.
    fn size(&self) -> Option<SlcSize>;
    /// True if it limits the cache further, or chooses its planes, during a run.
    fn limits(&self) -> bool {
        false
    }
    /// Blocks of a domain in SLC mode beyond which the host opens none in this mode; none for no limit besides its size. Asked when the
    /// drive is built, and when blocks of the domain were opened or erased.
    fn limit(&mut self, _: &SlcView) -> Option<u32> {
        None
    }
    /// The planes of a domain in which the host's blocks are opened in SLC mode; none for all. Asked when [`Self::limit`] is.
    fn planes(&mut self, _: &SlcView) -> Option<Vec<u32>> {
        None
    }
    /// Trouble with its answers, if it is an external policy.
    fn trouble(&self) -> Option<&Trouble> {
        None
    }
}

policies! {
    family "slc" decides "how many blocks take the host's data in SLC mode, as a cache";
    trait SlcCache, config SlcConfig, policy SlcPolicy;
    members {
        /// No SLC cache.
        "none" => none::None,
        /// A fixed number of blocks, set aside.
        "static" => fixed::Fixed,
        /// The free blocks that GC does not need.
        "dynamic" => dynamic::Dynamic,
    }
    guest guest::Guest;
    methods {
        fn size(self: &Self) -> Option<SlcSize>;
        fn limits(self: &Self) -> bool;
        fn limit(self: &mut Self, view: &SlcView) -> Option<u32>;
        fn planes(self: &mut Self, view: &SlcView) -> Option<Vec<u32>>;
        fn trouble(self: &Self) -> Option<&Trouble>;
    }
}

/// Checks a number of blocks that are opened together in each domain.
fn check_blocks(key: &str, blocks: u32, build: &Build<'_>) -> Result<(), ConfigError> {
    match blocks_problem(blocks, build) {
        Some(problem) => Err(ConfigError::new(key, blocks, problem)),
        None => Ok(()),
    }
}

/// What is wrong with a number of blocks that are opened together in each domain, if anything.
fn blocks_problem(blocks: u32, build: &Build<'_>) -> Option<String> {
    let (step, all) = (build.blocks_together * build.domains, build.geometry.blocks());
    if blocks > 0 && blocks.is_multiple_of(step) && blocks <= all {
        return None;
    }
    Some(if step == 1 {
        format!("must be 1 to {all}, the blocks of the drive")
    } else {
        let what = if build.domains > 1 { "planes, which each have their part" } else { "blocks of a superblock" };
        let near = blocks.min(all).next_multiple_of(step).clamp(step, all / step * step);
        format!("must be a multiple of {step}, the {what}, such as {near}")
    })
}
