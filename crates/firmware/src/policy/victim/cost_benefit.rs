//! Cost-benefit: (1 - u) x age / 2u, where u is the share of valid units.
//!
//! Source: Rosenblum and Ousterhout (SOSP 1991), section 3.6, with the age of Kawaguchi et al. (USENIX 1995): the time
//! since a unit of the block was last invalidated. Used by kim18 (4.2).
//! Faithful: the exact maximum of the formula. Simplified: age is counted in pages programmed in the domain instead of
//! seconds, so that the choice does not depend on the speed of the drive.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "the largest (1 - u) x age / 2u; u = share of valid mapping units, age = pages programmed since the last \
        invalidation",
    source: "Rosenblum and Ousterhout, SOSP 1991, 3.6; Kawaguchi et al., USENIX 1995; kim18 4.2",
    note: "age in programmed pages, not in seconds",
};

/// Cost-benefit has no options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {}

/// Cost-benefit victim choice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CostBenefit;

impl CostBenefit {
    pub(super) fn new(_: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

impl Victim for CostBenefit {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        // Of all blocks with the same number of valid units the one invalidated longest ago wins, and the ranking keeps it in
        // front: one candidate for each number is enough.
        let full = u128::from(view.units_per_block());
        let mut best: Option<(u32, u128, u128)> = None;
        for (valid, block) in view.oldest_by_valid() {
            if valid == 0 {
                return Some(block);
            }
            // However old, a block without a page to gain is not worth its work.
            if !view.gains(block) {
                break;
            }
            let gain = (full - u128::from(valid)) * (u128::from(view.age(block)) + 1);
            let work = 2 * u128::from(valid);
            if best.is_none_or(|(_, best_gain, best_work)| gain * best_work > best_gain * work) {
                best = Some((block, gain, work));
            }
        }
        best.map(|(block, ..)| block)
    }

    fn closed(&mut self, _: &VictimView<'_>, _: u32) {}

    fn ranked(&self) -> bool {
        true
    }
}
