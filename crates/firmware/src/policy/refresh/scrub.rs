//! Read scrubbing: the most-read block is moved, from one threshold of reads down to another.
//!
//! Source: kim18 (4.2): greedy by the reads of a block; active above 100,000 reads, inactive below 80,000; valid data are
//! copied as by garbage collection.
//! Faithful: thresholds, choice, and the copying. Assumed: a block that is still being written is closed and moved as
//! well, if garbage collection can do without its empty pages; a superblock is moved once it is full. The paper starts with random
//! read counts: `precondition.block_reads` does; those of a new drive are 0.

use super::{Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "read scrubbing: moves the most-read block, from `start_reads` page reads down to `stop_reads`",
    source: "kim18 4.2",
    note: "thresholds and choice as published; a block that is still being written is closed and moved, too, but a superblock \
        only once it is full",
};

/// Options of read scrubbing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Page reads of a block at which scrubbing starts, at least 1.
    pub start_reads: u32,
    /// Scrubbing goes on until every block has fewer page reads, 1 to start_reads.
    pub stop_reads: u32,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { start_reads: 100_000, stop_reads: 80_000, window_pages: 8 }
    }
}

/// Read scrubbing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scrub {
    options: Options,
    active: bool,
}

impl Scrub {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { start_reads, stop_reads, window_pages } = *options;
        if start_reads == 0 {
            return Err(ConfigError::new("refresh.start_reads", start_reads, "must be at least 1"));
        }
        if stop_reads == 0 || stop_reads > start_reads {
            let problem = format!("must be 1 to refresh.start_reads = {start_reads}");
            return Err(ConfigError::new("refresh.stop_reads", stop_reads, problem));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("refresh.window_pages", window_pages, "must be 1 to 65,535"));
        }
        Ok(Self { options: options.clone(), active: false })
    }
}

impl Scrub {
    /// Takes over whether it is active.
    pub(super) fn restore(&mut self, saved: &Self) {
        self.active = saved.active;
    }
}

impl Upkeep for Scrub {
    fn occasion(&self) -> Occasion {
        Occasion::Reads(self.options.start_reads)
    }

    fn error(&mut self, view: &UpkeepView<'_>) -> f64 {
        let target = self.options.start_reads;
        f64::from(view.most_reads().saturating_sub(target)) / f64::from(target)
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Option<u32> {
        // Of equals the one with the lowest number.
        let (most_read, reads) = view.reads_of_written().max_by_key(|&(block, reads)| (reads, u32::MAX - block))?;
        let Options { start_reads, stop_reads, .. } = self.options;
        self.active = reads >= if self.active { stop_reads } else { start_reads };
        self.active.then_some(most_read)
    }

    fn window(&self) -> u32 {
        self.options.window_pages
    }

    fn most(&self) -> u32 {
        1
    }
}
