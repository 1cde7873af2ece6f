//! Hot-cold swapping: the most worn block and the least worn one exchange their data when their wear is too far apart.
//!
//! Source: chang11 (LCTES 2011) 2.4 says what is exchanged, and that the most worn block may be erased again and again for it. The
//! rule is that of public notes on wear leveling of NAND firmware: each time GC has erased a block, its P/E cycles are compared with
//! the fewest of a block; beyond a threshold the data of the most worn block with data are copied to a spare block, those of the
//! least worn one follow into the most worn block, and the least worn one is erased. Public simulators swap by the difference
//! between the most and the fewest cycles. The papers behind it were not at hand.
//! Faithful: occasion, threshold, both blocks, the order of the copies, and both erases.
//! Assumed: blocks are compared in their domain of GC, which data do not leave; of blocks with as many cycles the one with the lowest
//! number is taken; a domain swaps two blocks at a time; if a block cannot be moved when it is its turn, the next one by wear is. If
//! the least worn block has come near while the first copy ran, or there is no room, the swap ends half done. Simplified: where
//! the mapping has no log blocks, data go to the most worn free block, which need not be the one that was just erased; with page
//! mapping they share it with what GC moves. The choice takes no time.

use super::{Erased, Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::task::Task;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub(crate) const ABOUT: About = About {
    summary: "hot-cold swapping: when GC has erased a block that is worn more than `threshold_cycles` above the least worn one with \
        data, the most and the least worn block with data exchange these",
    source: "chang11 (LCTES 2011) 2.4, and public notes on wear leveling of NAND firmware",
    note: "occasion, threshold and copies as described there; the papers behind it were not at hand; without log blocks data go to the \
        most worn free block",
};

/// Options of hot-cold swapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Difference in P/E cycles beyond which data are swapped, at least 1. It is between a block that GC has just erased and the least
    /// worn full block of its domain (the drive, or the plane with collect.scope = "plane").
    pub threshold_cycles: u32,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold_cycles: 16, window_pages: 8 }
    }
}

/// Hot-cold swapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HotCold {
    options: Options,
    /// Blocks of the drive.
    blocks: u32,
    /// By domain: the most worn block, while its data leave it.
    leaving: Vec<Option<u32>>,
    /// By domain: its blocks by P/E cycles; empty before the first erase.
    #[serde(skip)]
    by_cycles: Vec<BTreeSet<(u32, u32)>>,
}

impl HotCold {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { threshold_cycles, window_pages } = *options;
        if threshold_cycles == 0 {
            return Err(ConfigError::new("wear.threshold_cycles", threshold_cycles, "must be at least 1"));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("wear.window_pages", window_pages, "must be 1 to 65,535"));
        }
        if build.blocks_together > 1 {
            let problem = "does not go with superblocks, whose blocks are erased together: leave redundancy.policy out, or use \
                wear.policy = \"static\"";
            return Err(ConfigError::new("wear.policy", "hot-cold", problem));
        }
        Ok(Self::with(options, build.geometry.blocks(), build.domains))
    }

    fn with(options: &Options, blocks: u32, domains: u32) -> Self {
        let leaving = vec![None; domains as usize];
        Self { options: options.clone(), blocks, leaving, by_cycles: Vec::new() }
    }

    /// Takes over which blocks data leave in a drive with as many blocks and domains.
    pub(super) fn restore(&mut self, saved: Self) {
        let exists = |&block: &u32| block < self.blocks;
        if self.leaving.len() == saved.leaving.len() && saved.leaving.iter().flatten().all(exists) {
            self.leaving = saved.leaving;
        }
    }

    /// Takes note of a block with its domain and P/E cycles after an erase; `all` are the blocks in use, in the same form.
    fn note(&mut self, all: impl Iterator<Item = (u32, u32, u32)>, (block, domain, cycles): (u32, u32, u32)) {
        if self.by_cycles.is_empty() {
            self.by_cycles.resize(self.leaving.len(), BTreeSet::new());
            all.for_each(|(block, domain, cycles)| {
                self.by_cycles[domain as usize].insert((cycles, block));
            });
            return;
        }
        let order = &mut self.by_cycles[domain as usize];
        order.remove(&(cycles - 1, block));
        order.insert((cycles, block));
    }

    /// The block that data leave after an erase, if any. `may_move` tells whether a block has data that can be moved, and `is_bad` whether
    /// it is not used any more.
    fn decide(
        &mut self,
        Erased { block, task }: Erased,
        (domain, cycles): (u32, u32),
        may_move: impl Fn(u32) -> bool,
        is_bad: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let (leaving, order) = (&mut self.leaving[domain as usize], &self.by_cycles[domain as usize]);
        let &(fewest, least) = order.iter().find(|&&(_, block)| may_move(block))?;
        let is_far = cycles.saturating_sub(fewest) > self.options.threshold_cycles;
        if task == Task::WEAR && *leaving == Some(block) {
            // The second half of a swap.
            *leaving = None;
            return is_far.then_some(least);
        }
        // The first half did not begin if the block still has data that can be moved, or was erased for GC; it came to nothing if its
        // erase failed.
        let is_under_way = leaving.is_some_and(|worn| worn != block && !may_move(worn) && !is_bad(worn));
        if task != Task::GC || is_under_way {
            return None;
        }
        *leaving = None;
        if !is_far {
            return None;
        }
        let most = order.iter().rev().find(|&&(_, block)| may_move(block)).map(|&(most, _)| most)?;
        let (_, worn) = *order.range((most, 0)..).find(|&&(_, block)| may_move(block))?;
        *leaving = (most > fewest).then_some(worn);
        *leaving
    }
}

impl Upkeep for HotCold {
    fn occasion(&self) -> Occasion {
        Occasion::Erase
    }

    fn next(&mut self, _: &UpkeepView<'_>) -> Option<u32> {
        // It moves data when it is told of an erase.
        None
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

    fn opens_worn(&self) -> bool {
        true
    }

    fn follows_erases(&self) -> bool {
        true
    }

    fn erased(&mut self, view: &UpkeepView<'_>, erased: Erased) -> Option<u32> {
        let seen = |block| (block, view.domain(block), view.erases(block));
        let (_, domain, cycles) = seen(erased.block);
        self.note(view.in_use().map(seen), seen(erased.block));
        let may_move = |block| view.is_full(block) && view.valid(block) > 0;
        self.decide(erased, (domain, cycles), may_move, |block| !view.is_in_use(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    /// Five blocks with these P/E cycles.
    fn swapping(threshold_cycles: u32, cycles: [u32; 5]) -> HotCold {
        let mut policy = HotCold::with(&Options { threshold_cycles, ..Options::default() }, 5, 1);
        policy.by_cycles = vec![(0..).zip(cycles).map(|(block, cycles)| (cycles, block)).collect()];
        policy
    }

    /// What leaves its block after an erase of one that has so many cycles then; the blocks given have data.
    fn erased(policy: &mut HotCold, task: Task, (block, cycles): (u32, u32), full: &[u32]) -> Option<u32> {
        policy.note(std::iter::empty(), (block, 0, cycles));
        policy.decide(Erased { block, task }, (0, cycles), |block| full.contains(&block), |_| false)
    }

    #[test]
    fn the_most_and_the_least_worn_block_exchange_their_data() {
        let mut policy = swapping(4, [1, 2, 9, 9, 4]);
        // Block 4 has come to 5 cycles, 4 more than block 0: not beyond the threshold.
        assert_eq!(erased(&mut policy, Task::GC, (4, 5), &[0, 1, 2, 3]), None);
        // 6 are. The data of block 2, one of the two most worn, leave it first.
        assert_eq!(erased(&mut policy, Task::GC, (4, 6), &[0, 1, 2, 3]), Some(2));
        // They are on their way to block 4, and another swap waits.
        assert_eq!(erased(&mut policy, Task::GC, (3, 10), &[0, 1]), None);
        // The data of block 0 follow into block 2; then that is erased, and nothing follows.
        assert_eq!(erased(&mut policy, Task::WEAR, (2, 10), &[0, 1, 4]), Some(0));
        assert_eq!(erased(&mut policy, Task::WEAR, (0, 2), &[1, 2, 4]), None);
        assert_eq!(policy.by_cycles[0], BTreeSet::from([(2, 0), (2, 1), (6, 4), (10, 2), (10, 3)]));
    }

    #[test]
    fn the_most_worn_block_is_erased_again_and_again() {
        // As the source warns: block 2 has the data that stay by now, and is still the most worn one.
        let mut policy = swapping(4, [1, 1, 9, 9, 4]);
        for (lap, cold) in [(0, 0), (1, 1)] {
            let full = [cold, 2];
            assert_eq!(erased(&mut policy, Task::GC, (3, 10 + lap), &full), Some(2), "lap {lap}");
            assert_eq!(erased(&mut policy, Task::WEAR, (2, 10 + lap), &[cold]), Some(cold), "lap {lap}");
        }
    }

    #[test]
    fn a_swap_that_did_not_begin_is_forgotten() {
        let mut policy = swapping(2, [0, 0, 5, 3, 3]);
        let full = [0, 1, 2, 3];
        assert_eq!(erased(&mut policy, Task::GC, (4, 4), &full), Some(2));
        // There was no room: block 2 still has its data.
        assert_eq!(erased(&mut policy, Task::GC, (4, 5), &full), Some(2));
        // GC has come first.
        assert_eq!(erased(&mut policy, Task::GC, (2, 6), &[0, 1, 3]), Some(3));
        // Meanwhile nothing is left that is young enough.
        assert_eq!(erased(&mut policy, Task::WEAR, (3, 4), &[2]), None);
        assert_eq!(policy.leaving, [None]);
        // The erase of block 0 has failed.
        policy.leaving = [Some(0)].into();
        let (is_full, is_bad) = (|block| [1, 2].contains(&block), |block| block == 0);
        assert_eq!(policy.decide(Erased { block: 4, task: Task::GC }, (0, 5), is_full, is_bad), Some(2));
        policy.leaving = [None].into();
        // Blocks that are alike have nothing to exchange, and other tasks do not count.
        assert_eq!(erased(&mut policy, Task::GC, (3, 5), &[0, 1]), None);
        assert_eq!(erased(&mut policy, Task::REFRESH, (3, 6), &[0, 2]), None);
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
        let wrong = |threshold_cycles, window_pages, together| {
            HotCold::new(&Options { threshold_cycles, window_pages }, &build(together)).unwrap_err().to_string()
        };
        assert_eq!(wrong(0, 8, 1), "wear.threshold_cycles = 0: must be at least 1");
        assert_eq!(wrong(8, 0, 1), "wear.window_pages = 0: must be 1 to 65,535");
        assert!(wrong(8, 8, 2).contains("wear.policy = hot-cold: does not go with superblocks"));
        assert!(HotCold::new(&Options::default(), &build(1)).is_ok());
    }
}
