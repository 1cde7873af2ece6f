//! AGC and DGC together: collections of log blocks are done ahead in idle periods, and those that are needed before are delayed to one.
//!
//! Source: jung13 (7.5.3, Algorithm 3).
//! Faithful: as `schedule.rs` says, which tells what is simplified, too. What was interrupted comes before what was delayed, which comes before what is done ahead.

use super::agc::Options as AgcOptions;
use super::schedule::{Rule, Scheduler};
use super::Collect;
use crate::policy::{About, Build};
use crate::ConfigError;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "as dgc, and besides as agc: merges of log blocks are delayed to idle periods, and there, once none is left, done ahead (AGC+DGC)",
    source: "jung13 7.5.3, Algorithm 3",
    note: "needs a mapping with log blocks; see agc and dgc",
};

/// Options of both: those of AGC.
pub type Options = AgcOptions;

/// AGC and DGC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgcDgc(Scheduler);

impl AgcDgc {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let rule = Rule { advanced: true, delayed: true, compacts: options.compacts, steps: None };
        Scheduler::new(rule, options.idle_us, options.threshold_blocks, &options.on_demand, build).map(Self)
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.0.restore(saved.0)
    }
}

impl Collect for AgcDgc {
    scheduled!();
}
