//! Superblocks: one block of every plane of several dies, opened, closed, collected and erased together.
//!
//! Source: dirik09 (2) names superblocks of blocks in several dies; that GC takes whole ones is the practice of today's drives.
//! Faithful: a superblock is the unit of GC; its blocks are erased after the data of all of them have moved. Simplified:
//! a plane may be one superblock ahead of the others, so that a slow die does not stop the rest; no die fails, so no block
//! of a superblock is ever replaced.

use super::{checked_stripe, AroundView, Redundancy, Stripe};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "one block of every plane of several dies is opened, collected and erased together",
    source: "dirik09 2",
    note: "the unit of GC, as in today's drives; planes may be one superblock ahead of each other; no block of a superblock is \
        replaced",
};

/// Options of superblocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Dies of a superblock, at least 2; must divide the dies of the drive. Neighbours in a superblock are on different
    /// channels. With parity, one page of as many is parity: fewer dies cost more space, and rebuild reads more often. Absent: all.
    pub dies: Option<u32>,
}

/// Superblocks without parity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Superblock {
    stripe: Stripe,
}

impl Superblock {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { stripe: checked_stripe(options.dies, false, build)? })
    }
}

impl Redundancy for Superblock {
    fn stripe(&self) -> Option<Stripe> {
        Some(self.stripe)
    }

    fn has_ways_around(&self) -> bool {
        false
    }

    fn goes_around(&mut self, _: &AroundView) -> bool {
        false
    }
}
