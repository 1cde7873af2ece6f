//! AGC: collections of log blocks are done ahead, in idle periods of the host.
//!
//! Source: jung13 (7.4.2, 7.5.1): look-ahead, proactive block compaction, incremental collection.
//! Faithful: as `schedule.rs` says, which tells what is simplified, too. A collection that was interrupted goes on in the next idle period; if the host comes to wait for
//! it, it goes on at once. By default only full log blocks are compacted in long periods (7.5.1.2); with `compacts = "any"`
//! others are, too, which the source does not do.

use super::on_demand::Options as OnDemandOptions;
use super::schedule::{Compacts, Rule, Scheduler};
use super::Collect;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "as on-demand; besides, log blocks are merged ahead in idle periods: those that the next request will need, if that is known \
        and there is time, or in long ones full ones; each operation may be the last before the host (AGC)",
    source: "jung13 7.4.2, 7.5.1",
    note: "needs a mapping with log blocks; one request is previewed; the metadata program of an erase counts in the estimate alone",
};

/// Options of AGC, alone or with DGC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Options {
    /// An idle period is long if it lasts for more, in microseconds; 0 to 1e12. The source has 1 s.
    pub idle_us: f64,
    /// In long idle periods full log blocks are merged while a domain has fewer free blocks than this; at least 1. Absent: twice
    /// stop_blocks.
    pub threshold_blocks: Option<u32>,
    /// What is merged then: log blocks that are full ("full"), or those that are merged first on demand, full or not ("any").
    pub compacts: Compacts,
    /// Those of garbage collection on demand; start_blocks is the GC threshold of the translation layer.
    #[serde(flatten)]
    pub on_demand: OnDemandOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self { idle_us: 1e6, threshold_blocks: None, compacts: Compacts::Full, on_demand: OnDemandOptions::default() }
    }
}

/// AGC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Agc(Scheduler);

impl Agc {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let rule = Rule { advanced: true, delayed: false, compacts: options.compacts, steps: None };
        Scheduler::new(rule, options.idle_us, options.threshold_blocks, &options.on_demand, build).map(Self)
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.0.restore(saved.0)
    }
}

impl Collect for Agc {
    scheduled!();
}
