//! First come, first served (FCFS) over all tasks.
//!
//! Source: kim18 (5.2) describes FIFO scheduling over all tasks.
//! Faithful: strict order of arrival at each die. This is not kim18's Vanilla, which has *one* queue for all dies: there
//! an operation for a busy die holds up those behind it for idle dies.

use super::{Arbiter, Waiting};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "FCFS: the operation that has waited longest, of any task",
    source: "kim18 5.2",
    note: "strict order of arrival at each die; not Vanilla, whose one queue is held up by an operation for a busy die",
};

/// First come has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// First come, first served.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FirstCome;

impl FirstCome {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Arbiter for FirstCome {
    #[inline]
    fn choose(&mut self, waiting: &[Waiting]) -> usize {
        let mut best = 0;
        for (at, one) in waiting.iter().enumerate().skip(1) {
            if one.sequence < waiting[best].sequence {
                best = at;
            }
        }
        best
    }

    fn takes_oldest(&self) -> bool {
        true
    }
}
