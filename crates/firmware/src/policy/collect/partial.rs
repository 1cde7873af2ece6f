//! Partial garbage collection: merges of log blocks go in steps, which writes pay for.
//!
//! Source: jung13 (7.2.2, 7.6): partial garbage collection of P-FTL, which balances the pages that are gained and used up with the help of a
//! buffer; thresholds of 3 % and 1 % of free blocks.
//! Faithful: below the higher threshold merges go in steps beside the host; below the lower one, or when the buffer is full, they go on to
//! their end and writes wait. Assumed (the source does not say it): a step moves one page or erases one block, which takes about as long as the
//! erase that bounds a step of such layers; each page that the host writes to a log block pays for `steps_per_page` of them; without writes
//! nothing is done, since the idle periods are left to AGC and DGC. Simplified: pages that stay empty are no steps.

use super::on_demand::{OnDemand, Options as OnDemandOptions};
use super::schedule::{Compacts, Rule, Steps};
use super::{Collect, SpaceView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "merges of log blocks go in steps of one page or one erase, as many as the pages that the host writes pay for, while free \
        blocks are few; whole ones on demand (P-FTL)",
    source: "jung13 7.2.2, 7.6",
    note: "needs a mapping with log blocks; what a step is, and that writes pay for them, is assumed",
};

/// Options of partial garbage collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Options {
    /// Log blocks are merged in steps while a domain has fewer free blocks than this; more than start_blocks. Absent: twice stop_blocks.
    pub threshold_blocks: Option<u32>,
    /// Steps that a page written to a log block pays for, 1 to 1,000: each moves a page or erases a block.
    pub steps_per_page: u32,
    /// Those of garbage collection on demand; start_blocks is the threshold below which merges are not divided.
    #[serde(flatten)]
    pub on_demand: OnDemandOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold_blocks: None, steps_per_page: 1, on_demand: OnDemandOptions::default() }
    }
}

/// Partial garbage collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partial {
    on_demand: OnDemand,
    steps: Steps,
}

impl Partial {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let on_demand = options.on_demand.by_steps("merges that go in steps", build)?;
        let below = options.threshold_blocks.unwrap_or(on_demand.stop().saturating_mul(2));
        if below <= on_demand.start() {
            let problem = format!(
                "must be more than start_blocks = {}, below which merges are not divided into steps",
                on_demand.start()
            );
            return Err(ConfigError::new("collect.threshold_blocks", below, problem));
        }
        if !(1..=1_000).contains(&options.steps_per_page) {
            return Err(ConfigError::new("collect.steps_per_page", options.steps_per_page, "must lie between 1 and 1000"));
        }
        Ok(Self { on_demand, steps: Steps { below, per_page: options.steps_per_page } })
    }

    /// Resumes in the domains in which GC was active.
    pub(super) fn restore(&mut self, saved: Self) -> Result<(), String> {
        self.on_demand.restore(saved.on_demand)
    }
}

impl Collect for Partial {
    fn wants(&mut self, view: &SpaceView) -> bool {
        self.on_demand.wants(view)
    }

    fn schedule(&self) -> Option<Rule> {
        Some(Rule { advanced: false, delayed: false, compacts: Compacts::Full, steps: Some(self.steps) })
    }

    figures_of!(on_demand);
}
