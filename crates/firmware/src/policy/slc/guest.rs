//! Guest: an external size of the SLC cache.
//!
//! Source: whoever wrote it.
//! Faithful: the size that it gives. Simplified: the size is asked for once, when the drive is built; which blocks are in SLC mode, and
//! when the host's data open one, is as with `static` (blocks that are set aside) or `dynamic`.

use super::{blocks_problem, SlcCache, SlcSize};
use crate::policy::{Build, GuestOptions};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

/// The section of a guest.
pub type Options = GuestOptions;

/// An external size of the SLC cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guest {
    size: Option<SlcSize>,
}

impl Guest {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let size = options.maker("slc")?.slc(&options.options, build);
        let size = size.map_err(|problem| options.error("slc", problem))?;
        match size.and_then(|size| Self::problem(&size, build)) {
            Some(problem) => Err(options.error("slc", problem)),
            None => Ok(Self { size }),
        }
    }

    /// What is wrong with a size, if anything.
    fn problem(size: &SlcSize, build: &Build<'_>) -> Option<String> {
        if let Some((most, problem)) = size.most.and_then(|most| Some((most, blocks_problem(most, build)?))) {
            return Some(format!("its most_blocks is {most}: {problem}"));
        }
        if size.fixed && size.most.is_none() {
            return Some("it sets blocks aside, but does not say how many: its most_blocks is None".into());
        }
        let all = build.geometry.blocks() / build.domains;
        // Those that are opened together must be left for the cache.
        let most = all.saturating_sub(build.blocks_together);
        let free = size.spare.filter(|&free| free > most)?;
        Some(format!("its free_blocks is {free}: more than {most} leave no block for the cache"))
    }
}

impl SlcCache for Guest {
    fn size(&self) -> Option<SlcSize> {
        self.size
    }
}
