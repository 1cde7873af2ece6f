//! Static wear leveling by erase recency: a bit for each block tells whether it was erased lately; data leave blocks that were not.
//!
//! Source: Chang, Hsieh and Kuo (IEEE Transactions on Computers 59(1)), as described in chang11 (LCTES 2011): 2.4 ("a
//! periodically-refreshed bitmap to indicate not recently erased blocks"), 5.1 (TH: total erases over blocks whose bit is one), 5.4
//! (it erases such blocks whatever their P/E cycles, and whatever the block that their data go to).
//! Faithful: the bits, the ratio, and that neither the block nor the one that its data go to is chosen by its wear.
//! Assumed, since chang11 does not say it: it acts when the ratio reaches `erases_per_block`, and until it is below; blocks come in the
//! order of their numbers, round and round; all bits are cleared, and erases counted anew, when no block without bit has data
//! that can be moved. Simplified: a bit stands for one block; blocks that are free, being written, or log blocks are passed
//! over, since the mapping empties them itself; the choice takes no time.

use super::{Erased, Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "static wear leveling by bits that tell which blocks were erased lately: when erases over such blocks reach \
        `erases_per_block`, data leave a block that was not",
    source: "Chang, Hsieh and Kuo, IEEE Transactions on Computers 59(1), as described in chang11 (LCTES 2011) 2.4, 5.1, 5.4",
    note: "bits and ratio as described; assumed: blocks are taken in the order of their numbers, and bits are cleared when no block \
        without bit has data to move",
};

/// Options of static wear leveling by erase recency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Erases over blocks that were erased, both since the bits were cleared, from which on data are moved; above 1 (TH).
    pub erases_per_block: f64,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { erases_per_block: 16.0, window_pages: 8 }
    }
}

/// Static wear leveling by erase recency.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recency {
    options: Options,
    /// By block: erased since the bits were cleared.
    bits: Vec<bool>,
    /// How many are set, and erases since they were cleared.
    set: u32,
    erases: u64,
    /// The block at which the next search begins.
    at: u32,
}

impl Recency {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { erases_per_block, window_pages } = *options;
        if !(erases_per_block > 1.0 && erases_per_block.is_finite()) {
            let problem = "must be above 1, since each block that was erased counts once at least; chang11 uses 16";
            return Err(ConfigError::new("wear.erases_per_block", erases_per_block, problem));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("wear.window_pages", window_pages, "must be 1 to 65,535"));
        }
        if build.blocks_together > 1 {
            let problem = "does not go with superblocks, whose blocks are erased together: leave redundancy.policy out, or use \
                wear.policy = \"static\"";
            return Err(ConfigError::new("wear.policy", "recency", problem));
        }
        Ok(Self::with(options, build.geometry.blocks()))
    }

    fn with(options: &Options, blocks: u32) -> Self {
        Self { options: options.clone(), bits: vec![false; blocks as usize], set: 0, erases: 0, at: 0 }
    }

    /// Takes over the bits of a drive with as many blocks.
    pub(super) fn restore(&mut self, saved: Self) {
        let count = |bits: &[bool]| bits.iter().filter(|&&bit| bit).count() as u32;
        if saved.bits.len() == self.bits.len() && count(&saved.bits) == saved.set {
            (self.bits, self.set, self.erases) = (saved.bits, saved.set, saved.erases);
            self.at = saved.at % self.bits.len().max(1) as u32;
        }
    }

    /// Takes note of an erase.
    fn note(&mut self, block: u32) {
        self.set += u32::from(!std::mem::replace(&mut self.bits[block as usize], true));
        self.erases += 1;
    }

    /// The next block that data leave, if any, of those that data may leave.
    fn decide(&mut self, may_leave: impl Fn(u32) -> bool) -> Option<u32> {
        if self.set == 0 || (self.erases as f64) < self.options.erases_per_block * f64::from(self.set) {
            return None;
        }
        let count = self.bits.len() as u32;
        let found = (self.at..count).chain(0..self.at).find(|&block| !self.bits[block as usize] && may_leave(block));
        match found {
            Some(block) => self.at = (block + 1) % count,
            None => {
                self.bits.fill(false);
                (self.set, self.erases) = (0, 0);
            }
        }
        found
    }
}

impl Upkeep for Recency {
    fn occasion(&self) -> Occasion {
        Occasion::Erase
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Option<u32> {
        self.decide(|block| view.is_full(block))
    }

    fn window(&self) -> u32 {
        self.options.window_pages
    }

    fn goes_with_logs(&self) -> bool {
        true
    }

    fn most(&self) -> u32 {
        1
    }

    fn follows_erases(&self) -> bool {
        true
    }

    fn erased(&mut self, _: &UpkeepView<'_>, Erased { block, .. }: Erased) -> Option<u32> {
        self.note(block);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    fn leveling(erases_per_block: f64) -> Recency {
        Recency::with(&Options { erases_per_block, ..Options::default() }, 4)
    }

    #[test]
    fn data_leave_blocks_without_bit_from_the_ratio_on() {
        let mut policy = leveling(3.0);
        let all = |_| true;
        assert_eq!(policy.decide(all), None, "nothing was erased");
        for erases in 1..=3 {
            policy.note(0);
            assert_eq!(policy.decide(|_| true).is_some(), erases == 3, "{erases} erases of one block");
        }
        // Block 1 was next; when it is erased the ratio is 4 to 2.
        policy.note(1);
        assert_eq!(policy.decide(all), None);
        policy.note(0);
        policy.note(0);
        // 6 to 2. Block 2 cannot be left, so block 3 is, and block 2 comes after it.
        assert_eq!(policy.decide(|block| block != 2), Some(3));
        policy.note(3);
        (0..2).for_each(|_| policy.note(3));
        assert_eq!(policy.decide(all), Some(2), "9 to 3");
    }

    #[test]
    fn bits_are_cleared_when_none_is_left_to_move() {
        let mut policy = leveling(2.0);
        (0..4).for_each(|block| policy.note(block));
        (0..4).for_each(|block| policy.note(block));
        assert_eq!(policy.decide(|_| true), None);
        assert_eq!((policy.set, policy.erases), (0, 0));
        assert_eq!(policy.decide(|_| true), None, "nothing was erased since");
        (0..2).for_each(|_| policy.note(1));
        assert_eq!(policy.decide(|block| block == 3), Some(3));
    }

    #[test]
    fn wrong_values_are_refused_with_the_nearest_choice() {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = |blocks_together| Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: false,
            domains: 1,
            blocks_together,
            tasks: Tasks::BASIC,
            seed: 1,
        };
        let wrong = |erases_per_block, window_pages, together| {
            Recency::new(&Options { erases_per_block, window_pages }, &build(together)).unwrap_err().to_string()
        };
        assert!(wrong(1.0, 8, 1).starts_with("wear.erases_per_block = 1: must be above 1"));
        assert_eq!(wrong(2.0, 0, 1), "wear.window_pages = 0: must be 1 to 65,535");
        assert!(wrong(2.0, 8, 2).contains("wear.policy = recency: does not go with superblocks"));
        assert!(Recency::new(&Options::default(), &build(1)).is_ok());
    }
}
