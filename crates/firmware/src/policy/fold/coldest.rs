//! Folding of the coldest block: the block of the SLC cache whose data were overwritten longest ago moves first, while the host rests
//! or the cache is nearly full.
//!
//! Source: the practice of client drives, which empty their SLC cache in idle time (Samsung's white paper on TurboWrite, as reviews
//! describe it), and fold while the host writes when it runs full.
//! Faithful: both occasions. Assumed: the choice, and the thresholds; products do not publish theirs. A block that was begun is moved
//! to its end, even if the host comes back. Simplified: data move through the controller; some flash folds inside the die.

use super::{Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::ps_from_us;

pub(crate) const ABOUT: About = About {
    summary: "moves the block of the SLC cache whose data were overwritten longest ago, after `idle_us` without a request of the \
        host, and while fewer than `start_blocks` can still be opened in SLC mode",
    source: "practice of client drives (Samsung's TurboWrite)",
    note: "choice and thresholds are assumed; data move through the controller",
};

/// Options of folding the coldest block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Time without a request of the host in the drive, in microseconds, after which the whole cache is folded; 0 to 1e12.
    pub idle_us: f64,
    /// Blocks that can still be opened in SLC mode (of the drive, or of each plane with collect.scope = "plane"), below which folding
    /// starts although the host works; 0 for never.
    pub start_blocks: u32,
    /// It goes on until so many can be opened; at least start_blocks. Absent: twice as many.
    pub stop_blocks: Option<u32>,
    /// Blocks moved at a time, 1 to 1,024. Blocks of a superblock are moved together, and another is begun while fewer are on their
    /// way.
    pub blocks_at_a_time: u32,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { idle_us: 10_000.0, start_blocks: 0, stop_blocks: None, blocks_at_a_time: 1, window_pages: 8 }
    }
}

/// Folding of the coldest block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Coldest {
    options: Options,
    start: u32,
    stop: u32,
    /// True between the two thresholds, after the first.
    pressed: bool,
}

impl Coldest {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { idle_us, start_blocks: start, stop_blocks, blocks_at_a_time, window_pages } = *options;
        if !(0.0..=1e12).contains(&idle_us) {
            return Err(ConfigError::new("fold.idle_us", idle_us, "must be 0 to 1e12 microseconds"));
        }
        let stop = stop_blocks.unwrap_or(start.saturating_mul(2));
        if stop < start {
            let problem = format!("must be at least fold.start_blocks = {start}");
            return Err(ConfigError::new("fold.stop_blocks", stop, problem));
        }
        if !(1..=1_024).contains(&blocks_at_a_time) {
            return Err(ConfigError::new("fold.blocks_at_a_time", blocks_at_a_time, "must be 1 to 1,024"));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("fold.window_pages", window_pages, "must be 1 to 65,535"));
        }
        Ok(Self { options: options.clone(), start, stop, pressed: false })
    }

    /// Takes over whether the cache is nearly full.
    pub(super) fn restore(&mut self, saved: &Self) {
        self.pressed = saved.pressed;
    }

    /// True if the cache is nearly full in a domain with so many blocks left for it.
    fn presses(&self, left: u32) -> bool {
        left < if self.pressed { self.stop } else { self.start }
    }
}

impl Upkeep for Coldest {
    fn occasion(&self) -> Occasion {
        Occasion::Cache { idle: ps_from_us(self.options.idle_us) }
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Option<u32> {
        self.pressed = view.domains().any(|domain| self.presses(view.slc_left(domain)));
        if !self.pressed && !view.is_idle() {
            return None;
        }
        let wanted = |&block: &u32| view.is_idle() || view.slc_left(view.domain(block)) < self.stop;
        // Of equals the one with the lowest number.
        view.cached().filter(wanted).max_by_key(|&block| (view.age(block), u32::MAX - block))
    }

    fn window(&self) -> u32 {
        self.options.window_pages
    }

    fn most(&self) -> u32 {
        self.options.blocks_at_a_time
    }
}
