//! DGC: collections of log blocks that the host would wait for are delayed to idle periods.
//!
//! Source: jung13 (7.4.2, 7.5.2): update block replacement, retroactive block compaction.
//! Faithful: a group that needs another log block gets a free block as one (a delay block), and its merge joins a list; the newest data are in
//! the newest log block; all blocks of a group are merged together in the next idle period, one operation at a time; when no
//! block can be given, the host waits for a merge. Ours: merges that GC wants since free blocks are short join the list, too, the
//! groups that are merged first on demand.

use super::on_demand::Options as OnDemandOptions;
use super::schedule::{Compacts, Rule, Scheduler};
use super::Collect;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "merges of log blocks that the host would wait for are delayed to idle periods while free blocks can stand in; there each \
        operation may be the last before the host (DGC)",
    source: "jung13 7.4.2, 7.5.2",
    note: "needs a mapping with log blocks; merges for want of free blocks are delayed, too",
};

/// Options of DGC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Options {
    /// Those of garbage collection on demand; start_blocks is the GC threshold of the translation layer.
    #[serde(flatten)]
    pub on_demand: OnDemandOptions,
}

/// DGC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dgc(Scheduler);

impl Dgc {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Scheduler::new(Rule { advanced: false, delayed: true, compacts: Compacts::Full, steps: None }, 0.0, None, &options.on_demand, build).map(Self)
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.0.restore(saved.0)
    }
}

impl Collect for Dgc {
    scheduled!();
}
