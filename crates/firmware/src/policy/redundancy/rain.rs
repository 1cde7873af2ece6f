//! RAIN: parity across dies, and reads that are rebuilt from it while their die works for a background task.
//!
//! Source: kim18 (5.2, the compared system RAIN): parity rebuilds data when access to the chip is blocked by background
//! tasks; it takes capacity of its own; nothing limits how many dies of a group collect at a time. The paper takes the idea
//! from Yan et al. (FAST 2017). Its host priority is another family's affair (`dispatch.policy = "priority"`).
//! Faithful: host reads avoid busy dies, parity costs space and programs, and any number of dies may collect at a time.
//! Ours, since the paper does not say: the unit of parity is the superblock. A row is the pages of one offset in one plane
//! of each die, and the page of a row that is written last is its parity, so that no die waits for another. Until then the
//! controller's memory holds the parity. The dies of a superblock erase their blocks in turn: at once, they would all be busy and no
//! read could be rebuilt. A read is rebuilt if its die works for a background task when it arrives, and all
//! other dies of its row are free sooner: after the commands that they run and, behind a commit stage, those sent to them. Simplified:
//! parity takes no time to compute, what waits for the dies at an arbiter is not counted, and no error is corrected with it.

use super::{checked_stripe, AroundView, Redundancy, Stripe};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "superblocks with a page of parity in each row; a host read is rebuilt from the other dies if its own works for \
        a background task and they are free sooner",
    source: "kim18 5.2 (RAIN), after Yan et al., FAST 2017",
    note: "parity of superblocks, and the rule when to rebuild, are ours; parity takes no computing time",
};

/// Options of RAIN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Dies of a superblock, at least 2; must divide the dies of the drive. Neighbours in a superblock are on different
    /// channels. With parity, one page of as many is parity: fewer dies cost more space, and rebuild reads more often. Absent: all.
    pub dies: Option<u32>,
    /// Host reads are rebuilt; else parity is only written.
    pub rebuild_reads: bool,
    /// The dies of a superblock erase their blocks one after the other, so that reads of each can be rebuilt; else all at once.
    pub erase_in_turn: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { dies: None, rebuild_reads: true, erase_in_turn: true }
    }
}

/// Parity across dies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rain {
    stripe: Stripe,
    rebuilds: bool,
    in_turn: bool,
}

impl Rain {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { stripe: checked_stripe(options.dies, true, build)?, rebuilds: options.rebuild_reads, in_turn: options.erase_in_turn })
    }
}

impl Redundancy for Rain {
    fn stripe(&self) -> Option<Stripe> {
        Some(self.stripe)
    }

    fn erases_in_turn(&self) -> bool {
        self.in_turn
    }

    fn has_ways_around(&self) -> bool {
        self.rebuilds
    }

    fn goes_around(&mut self, view: &AroundView) -> bool {
        view.wait_of_others < view.wait
    }
}
