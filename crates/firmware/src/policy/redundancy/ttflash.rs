//! TTFlash: parity over consecutive logical pages, and at most one die of a group collected at a time.
//!
//! Source: Yan et al., "Tiny-tail flash", FAST 2017, as choi18 (3.3, redundancy) and kim18 (5.2, ttFlash) describe it: reads
//! of a die that is collected are served from the redundant data of others, and the number of active collections is limited to
//! one per parity group.
//! Faithful: parity is of logical pages whose planes are fixed, moved data stay in their plane, dies of a group take turns, and a
//! read goes around a die that works for GC, or that GC holds.
//! Ours, since neither chapter says it: how parity is kept up to date. A write reads the data that it overwrites, and the
//! controller's memory gathers what has changed in a stripe until the stripe leaves it; then the old parity is read and the
//! new one written. Where a request writes a whole stripe, or the stripe is new, nothing is read. Which data belong together follows
//! from `placement.order`. Simplified: the memory survives a loss of power and serves no reads, parity takes no time to compute, and no
//! error is corrected with it. The original collects by copyback and keeps writes in capacitor-backed memory:
//! here these are `collect.copyback` and `buffer`.

use super::{raid_problem, AroundView, Raid, Redundancy};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "a page of parity for so many consecutive logical pages, each in another die; one die of a group at most is \
        collected at a time, and host reads go around it",
    source: "choi18 3.3 and kim18 5.2, after Yan et al., FAST 2017",
    note: "how parity is kept up to date is ours; parity takes no computing time",
};

/// Options of TTFlash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Pages of a stripe, parity included, each in another die: 2 to 64; must divide the planes of the drive. Consecutive
    /// pages of `placement.order` form a stripe. Absent: the channels of the drive.
    pub dies: Option<u32>,
    /// Host reads are rebuilt; else parity is only written.
    pub rebuild_reads: bool,
    /// At most one die of a group is collected at a time.
    pub collect_in_turn: bool,
    /// Stripes whose changes the controller's memory can hold, at least 1: what a stripe has of new data, and the change of its
    /// parity. Those that are on their way to flash come on top. With fewer than a page has mapping units, requests that
    /// write whole stripes read old data, too.
    pub open_stripes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { dies: None, rebuild_reads: true, collect_in_turn: true, open_stripes: 1_024 }
    }
}

/// Parity of logical pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TtFlash {
    raid: Raid,
    rebuilds: bool,
    in_turn: bool,
}

impl TtFlash {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let dies = options.dies.unwrap_or(build.geometry.channels);
        if let Some(problem) = raid_problem(dies, build) {
            let from = "the channels of the drive";
            return Err(ConfigError::new("redundancy.dies", dies, problem).derived(options.dies.is_some(), from));
        }
        if options.open_stripes == 0 {
            return Err(ConfigError::new("redundancy.open_stripes", 0, "must be at least 1"));
        }
        let raid = Raid { dies, open: options.open_stripes };
        Ok(Self { raid, rebuilds: options.rebuild_reads, in_turn: options.collect_in_turn })
    }
}

impl Redundancy for TtFlash {
    fn raid(&self) -> Option<Raid> {
        Some(self.raid)
    }

    fn collects_in_turn(&self) -> bool {
        self.in_turn
    }

    fn has_ways_around(&self) -> bool {
        self.rebuilds
    }

    fn goes_around(&mut self, view: &AroundView) -> bool {
        view.held || view.wait_of_others < view.wait
    }
}
