//! Cost-benefit: (1 - u) x age over the cost, where u is the share of valid units.
//!
//! Source: Kawaguchi et al. (USENIX 1995): the cost is 2u, since the valid units of a block are read and written, and the age is the time
//! since a unit of the block was last invalidated. Rosenblum and Ousterhout (SOSP 1991, 3.6) have the cost 1 + u, since a log-structured
//! file system reads all of a segment; kim18 (4.2) cites them, and gives no formula.
//! Faithful: the exact maximum of either formula; a block without valid units comes first, as it costs nothing. Simplified: age is counted in
//! pages programmed in the domain instead of seconds, so that the choice does not depend on the speed of the drive, and it is that of Kawaguchi
//! with either cost: for Rosenblum and Ousterhout it is the age of the youngest data.

use super::Victim;
use crate::blocks::VictimView;
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "the largest (1 - u) x age / cost; u = share of valid mapping units, age = pages programmed since the last \
        invalidation, cost = 2u or 1 + u",
    source: "Kawaguchi et al., USENIX 1995 (2u); Rosenblum and Ousterhout, SOSP 1991, 3.6 (1 + u), which kim18 4.2 cites",
    note: "age in programmed pages, not in seconds",
};

/// What it costs to collect a block with the share u of valid units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Cost {
    /// Its valid units are read and written.
    #[default]
    #[serde(rename = "2u")]
    Moves,
    /// All of it is read, and its valid units are written.
    #[serde(rename = "1+u")]
    WholeBlock,
}

/// Options of cost-benefit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The cost of a victim with the share u of valid units: `2u` (Kawaguchi et al.) or `1+u` (Rosenblum and Ousterhout).
    pub cost: Cost,
}

/// Cost-benefit victim choice.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CostBenefit {
    /// Not saved: it is an option.
    #[serde(skip)]
    cost: Cost,
}

impl CostBenefit {
    pub(super) fn new(options: &Options, _: &Build<'_>) -> Result<Self, ConfigError> {
        Ok(Self { cost: options.cost })
    }
}

/// What collecting a block is worth, as a fraction.
struct Worth {
    gain: u128,
    work: u128,
}

impl Worth {
    /// Of a block with so many valid of all units, and this age.
    #[inline]
    fn of(cost: Cost, valid: u32, full: u32, age: u32) -> Self {
        let (valid, full) = (u128::from(valid), u128::from(full));
        let work = match cost {
            Cost::Moves => 2 * valid,
            Cost::WholeBlock => full + valid,
        };
        Self { gain: (full - valid) * (u128::from(age) + 1), work }
    }

    #[inline]
    fn exceeds(&self, other: &Self) -> bool {
        self.gain * other.work > other.gain * self.work
    }
}

impl Victim for CostBenefit {
    fn choose(&mut self, view: &VictimView<'_>) -> Option<u32> {
        // Of all blocks with the same number of valid units the one invalidated longest ago wins, and the ranking keeps it in
        // front: one candidate for each number is enough.
        let full = view.units_per_block();
        let mut best: Option<(u32, Worth)> = None;
        for (valid, block) in view.oldest_by_valid() {
            if valid == 0 {
                return Some(block);
            }
            // However old, a block without a page to gain is not worth its work.
            if !view.gains(block) {
                break;
            }
            let worth = Worth::of(self.cost, valid, full, view.age(block));
            if best.as_ref().is_none_or(|(_, most)| worth.exceeds(most)) {
                best = Some((block, worth));
            }
        }
        best.map(|(block, _)| block)
    }

    fn closed(&mut self, _: &VictimView<'_>, _: u32) {}

    fn ranked(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formulas_by_hand() {
        // u = 0.1 at an age of 11, and u = 0.5 at an age of 61: 49.5 and 30.5 over 2u, 9 and 20.3 over 1 + u.
        let worth = |cost| [Worth::of(cost, 10, 100, 10), Worth::of(cost, 50, 100, 60)];
        let [emptier, older] = worth(Cost::Moves);
        assert!(emptier.exceeds(&older) && !older.exceeds(&emptier));
        let [emptier, older] = worth(Cost::WholeBlock);
        assert!(older.exceeds(&emptier) && !emptier.exceeds(&older));
        // Equals do not exceed each other, so the first found stays.
        assert!(!older.exceeds(&Worth::of(Cost::WholeBlock, 50, 100, 60)));
    }
}
