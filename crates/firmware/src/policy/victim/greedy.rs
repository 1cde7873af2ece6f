//! Greedy: the block with the fewest valid units.
//!
//! Source: Rosenblum and Ousterhout (SOSP 1991), section 3.5; the baseline of choi18 (Table 1). Analysed by Bux and
//! Iliadis (2010) and Desnoyers (2014).
//! Faithful: the true minimum of the domain. Ties go to the block that has had that count for the longest time.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "the block with the fewest valid mapping units; among equals, the one that has had that count longest",
    source: "Rosenblum and Ousterhout, SOSP 1991, 3.5; choi18 Table 1",
    note: "the exact minimum of the drive or plane",
};

/// Greedy has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Greedy victim choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Greedy;

impl Greedy {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Victim for Greedy {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        view.least_valid()
    }

    fn closed(&mut self, _: &VictimView<'_>, _: u32) {}

    fn ranked(&self) -> bool {
        true
    }
}
