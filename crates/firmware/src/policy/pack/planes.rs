//! Multi-plane packing: operations of one kind at one page offset in different planes of a die become one command.
//!
//! Source: the plane addressing rule of jung13 (2.3.3) and its plane-first packing (2.8.8); ONFI multi-plane commands.
//! Host operations in commands of GC: I/O-parallelized GC (Algorithm 2 of choi18). Scope of packing: across the requests of the
//! queue (jung13 3.5.1), or within a request (the baseline of 6.4.4).
//! Faithful: same die, same page offset, different planes, block numbers free; reads, programs and erases. A read of GC takes the
//! oldest waiting read of the host that fits, a program the oldest waiting write of a plane whose write point is the same;
//! data of GC come first on the bus. Simplified: only the oldest operations of a queue are searched (`window`).

use super::{checked_passes, CacheMode, Pack};
use crate::policy::{About, Build};
use crate::task::{Class, Task};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "operations of one task and kind at one page offset in different planes of a die share a multi-plane command",
    source: "jung13 2.3.3 and 2.8.8; ONFI 4.2 section 5; choi18 4.1 (join_gc)",
    note: "without join_gc, host and GC operations never share a command",
};

/// Options of multi-plane packing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Operations of each other plane's queue searched for a partner, 1 to 64.
    pub window: u32,
    /// Pages that background tasks move to any die wait until they fill a program of all planes of a die, as long as
    /// more are to come.
    pub gather: bool,
    /// Operations of different requests of the host share a command. If not, only those of one request do.
    pub across_requests: bool,
    /// Reads and programs of GC take operations of the host along that wait for the other planes of the die and fit: same
    /// kind, same page offset.
    pub join_gc: bool,
    /// Such commands follow each other in cache mode: the bus carries the next one while the array is busy.
    pub cache: bool,
    /// Cache mode: followers in a row before an older operation of the same task and kind that waits for other planes
    /// of the die, 0 to 65,535.
    pub passes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { window: 8, gather: false, across_requests: true, join_gc: false, cache: false, passes: 16 }
    }
}

/// Multi-plane packing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Planes {
    window: u32,
    gather: bool,
    within_request: bool,
    join_gc: bool,
    cache: Option<CacheMode>,
}

impl Planes {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        if !(1..=64).contains(&options.window) {
            return Err(ConfigError::new("pack.window", options.window, "must lie between 1 and 64"));
        }
        let passes = checked_passes(options.passes)?;
        let Options { window, gather, across_requests, join_gc, cache, .. } = *options;
        if !across_requests && cache {
            let problem = "does not go with pack.cache, whose followers come from any request; remove one of them";
            return Err(ConfigError::new("pack.across_requests", false, problem));
        }
        if join_gc && cache {
            let problem = "does not go with pack.cache: a command of two tasks has no followers; remove one of them";
            return Err(ConfigError::new("pack.join_gc", true, problem));
        }
        Ok(Self { window, gather, within_request: !across_requests, join_gc, cache: cache.then_some(CacheMode { passes }) })
    }
}

impl Pack for Planes {
    #[inline]
    fn window(&self) -> u32 {
        self.window
    }

    fn gathers(&self) -> bool {
        self.gather
    }

    fn within_request(&self) -> bool {
        self.within_request
    }

    fn mixes(&self) -> bool {
        self.join_gc
    }

    #[inline]
    fn joins(&mut self, lead: Class, other: Class) -> bool {
        self.join_gc && lead.task() == Task::GC && other.is_host() && lead.action() == other.action()
    }

    #[inline]
    fn cache(&self) -> Option<CacheMode> {
        self.cache
    }
}
