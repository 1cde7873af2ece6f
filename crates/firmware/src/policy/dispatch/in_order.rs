//! Transactions in the order of arrival: an operation whose package or channel is taken holds up all behind it.
//!
//! Source: jung13 (3.5.1, 3.5.3). Operations of the requests in the queue are put together at run time into flash transactions that
//! use several planes and dies of a package (3.5.1); on a conflict in a package or channel none is committed until the operations
//! before it are completed (3.5.3).
//! Faithful: the oldest operation leads; operations of the same kind that wait for the other planes and dies of its package join it, of
//! any request or of its own only (`pack.across_requests`); planes share a page offset, dies do not; nothing passes the
//! oldest operation but what joins a transaction. Added: writes of units smaller than a page join one whose page they fill. Assumed: a
//! channel is taken while its bus is in use; joining operations are searched among the oldest of their plane (`pack.window`). Simplified:
//! operations of background tasks go to their dies at once, and do not keep
//! transactions away.

use super::Dispatch;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "transactions of whole packages in the order of arrival: one whose package or channel is taken holds up all behind it",
    source: "jung13 3.5.1 and 3.5.3",
    note: "a channel is taken while its bus is in use; background tasks are not held up",
};

/// What a transaction of the host takes for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// All dies of a package, which it interleaves.
    #[default]
    Package,
    /// A die.
    Die,
}

/// Options of transactions in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// What a transaction takes until it ends: a package, whose dies it interleaves, or a die.
    pub unit: Unit,
    /// A transaction also waits while the bus of its channel is in use. If not, it waits for the bus in its package, and does not hold
    /// up others.
    pub wait_for_bus: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { unit: Unit::Package, wait_for_bus: true }
    }
}

/// How transactions are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    /// What each takes for itself.
    pub unit: Unit,
    /// True if it waits for the bus, too.
    pub wait_for_bus: bool,
}

/// Transactions in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InOrder {
    commits: Commits,
}

impl InOrder {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { unit, wait_for_bus } = *options;
        Ok(Self { commits: Commits { unit, wait_for_bus } })
    }
}

impl Dispatch for InOrder {
    fn commits(&self) -> Option<Commits> {
        Some(self.commits)
    }
}
