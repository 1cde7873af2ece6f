//! Cache mode: while the array is busy with a page, the bus carries the next page of the same plane.
//!
//! Source: the cache mode commands of jung13 (2.3) and ONFI 4.2 (READ PAGE CACHE, PROGRAM PAGE CACHE).
//! Faithful: a second register overlaps bus and array; a follower has the same kind and plane; the last program of a
//! sequence is a plain one. Simplified: only operations of one task follow each other, and single-plane commands only;
//! the member `planes` has an option for both together.

use super::{checked_passes, CacheMode, Pack};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "reads follow reads, and programs follow programs, of the same plane in cache mode; single-plane commands \
        only",
    source: "jung13 2.3; ONFI 4.2 section 5",
    note: "only operations of one task follow each other",
};

/// Options of cache mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Cache mode: followers in a row before an older operation of the same task and kind that waits for other planes
    /// of the die, 0 to 65,535.
    pub passes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { passes: 16 }
    }
}

/// Cache mode.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cache {
    mode: CacheMode,
}

impl Cache {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { mode: CacheMode { passes: checked_passes(options.passes)? } })
    }
}

impl Pack for Cache {
    #[inline]
    fn window(&self) -> u32 {
        0
    }

    #[inline]
    fn cache(&self) -> Option<CacheMode> {
        Some(self.mode)
    }
}
