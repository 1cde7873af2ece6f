//! Dual pool: blocks of hot data and blocks of cold data are in two pools; the most worn block of the hot pool takes the data of the
//! least worn one of the cold pool, and stays in that pool until it is no longer worn beside others.
//!
//! Source: the dual-pool algorithm of Chang (SAC 2007) and of Chang and Du (TODAES 15(1), 2009), which chang11 (LCTES 2011) 2.4 names.
//! The papers were not at hand: the rules are those on which two public programs agree that follow them, a translation layer for an
//! EEPROM and a wear-leveling version of a public FTL simulator.
//! Faithful: as these have it, each block counts its erases, and its *effective* ones since it was last swapped. After an erase there are
//! three checks. Dirty swap: the most erases in the hot pool exceed the fewest in the cold pool by more than TH; the data of the
//! hot block leave it, those of the cold one move there, both change pools, and their effective erases begin at 0. Cold pool resize:
//! the most effective erases in the cold pool exceed the fewest in the hot pool by more than TH; that block becomes hot. Hot pool
//! resize: the most and the fewest erases in the hot pool differ by more than 2 TH; the least worn one becomes cold.
//! Assumed: at first every second block is in each pool; each erase of GC has one of each check; erases for the swap itself are not
//! effective; each domain of GC, which data do not leave, has pools of its own, and swaps two blocks at a time. A swap waits while the
//! hot block is being written, or is free and not the one just erased; the cold block is the least worn one that can be moved.
//! Simplified: where the mapping has no log blocks, data go to the most worn free block; with page mapping they share it with what GC
//! moves. All counts are in memory (the papers keep most in flash), and the choice takes no time.

use super::{Erased, Occasion, Upkeep, UpkeepView, MOST_ERASES};
use crate::policy::{About, Build};
use crate::task::Task;
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub(crate) const ABOUT: About = About {
    summary: "dual pool: when the most worn block of the hot pool is more than `threshold_cycles` above the least worn one of the cold \
        pool, data that stay move there and both change pools; blocks change pools by erases since, too",
    source: "Chang and Du, TODAES 15(1), 2009, from public programs that follow it; chang11 (LCTES 2011) 2.4",
    note: "dirty swap and both resizes as two public programs have them; the papers were not at hand; counts are in memory; without log \
        blocks data go to the most worn free block",
};

/// Options of the dual pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Difference in P/E cycles between the most worn block of the hot pool and the least worn one of the cold pool beyond which
    /// data are swapped, and in effective erases beyond which a cold block becomes hot, at least 1; twice as much makes a hot one cold.
    /// Of blocks of a domain (the drive, or the plane with collect.scope = "plane").
    pub threshold_cycles: u32,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold_cycles: 16, window_pages: 8 }
    }
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Seen {
    is_hot: bool,
    /// Erases since it was last swapped, without those for a swap.
    effective: u32,
}

/// A pool of a domain: blocks by P/E cycles, and by effective erases.
#[derive(Clone, Debug, Default)]
struct Pool {
    by_cycles: BTreeSet<(u32, u32)>,
    by_effective: BTreeSet<(u32, u32)>,
}

impl Pool {
    fn insert(&mut self, block: u32, cycles: u32, effective: u32) {
        self.by_cycles.insert((cycles, block));
        self.by_effective.insert((effective, block));
    }

    /// True if the block was in it.
    fn remove(&mut self, block: u32, cycles: u32, effective: u32) -> bool {
        self.by_effective.remove(&(effective, block));
        self.by_cycles.remove(&(cycles, block))
    }
}

/// The dual-pool algorithm.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DualPool {
    options: Options,
    /// Blocks of the drive.
    blocks: u32,
    /// By block; empty before the first erase, since configurations of any size are built to be checked.
    seen: Vec<Seen>,
    /// By domain: the hot block of a swap, while its data leave it.
    leaving: Vec<Option<u32>>,
    /// By domain: the cold pool and the hot one; empty before the first erase.
    #[serde(skip)]
    pools: Vec<[Pool; 2]>,
}

/// What the rules look at: P/E cycles of a block, whether it is in use, and whether it has data that can be moved.
struct Look<C, U, M> {
    cycles: C,
    is_in_use: U,
    may_move: M,
}

impl DualPool {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { threshold_cycles, window_pages } = *options;
        if !(1..=u32::MAX / 2).contains(&threshold_cycles) {
            return Err(ConfigError::new("wear.threshold_cycles", threshold_cycles, "must be 1 to 2,147,483,647"));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("wear.window_pages", window_pages, "must be 1 to 65,535"));
        }
        if build.blocks_together > 1 {
            let problem = "does not go with superblocks, whose blocks are erased together: leave redundancy.policy out, or use \
                wear.policy = \"static\"";
            return Err(ConfigError::new("wear.policy", "dual-pool", problem));
        }
        Ok(Self::with(options, build.geometry.blocks(), build.domains))
    }

    fn with(options: &Options, blocks: u32, domains: u32) -> Self {
        let leaving = vec![None; domains as usize];
        Self { options: options.clone(), blocks, seen: Vec::new(), leaving, pools: Vec::new() }
    }

    /// Takes over the pools of a drive with as many blocks and domains.
    pub(super) fn restore(&mut self, saved: Self) {
        let exists = |&block: &u32| block < self.blocks;
        let lasts = |seen: &Seen| seen.effective < MOST_ERASES;
        let fits = (saved.seen.is_empty() || saved.seen.len() == self.blocks as usize) && saved.seen.iter().all(lasts);
        if fits && self.leaving.len() == saved.leaving.len() && saved.leaving.iter().flatten().all(exists) {
            (self.seen, self.leaving) = (saved.seen, saved.leaving);
        }
    }

    /// Puts all blocks in use, each with its domain and P/E cycles, into their pools.
    fn fill(&mut self, all: impl Iterator<Item = (u32, u32, u32)>) {
        if self.seen.is_empty() {
            let every_second = |block| Seen { is_hot: block % 2 == 0, effective: 0 };
            self.seen = (0..self.blocks).map(every_second).collect();
        }
        self.pools.resize(self.leaving.len(), Default::default());
        for (block, domain, cycles) in all {
            let Seen { is_hot, effective } = self.seen[block as usize];
            self.pools[domain as usize][usize::from(is_hot)].insert(block, cycles, effective);
        }
    }

    /// Takes note of an erase, after which its block has so many P/E cycles.
    fn note(&mut self, Erased { block, task }: Erased, domain: u32, cycles: u32) {
        let seen = &mut self.seen[block as usize];
        let pool = &mut self.pools[domain as usize][usize::from(seen.is_hot)];
        pool.remove(block, cycles - 1, seen.effective);
        seen.effective += u32::from(task != Task::WEAR);
        pool.insert(block, cycles, seen.effective);
    }

    /// A block goes to the other pool; in a swap its effective erases begin anew.
    fn change(&mut self, domain: u32, block: u32, cycles: u32, is_swap: bool) {
        let pools = &mut self.pools[domain as usize];
        let seen = &mut self.seen[block as usize];
        pools[usize::from(seen.is_hot)].remove(block, cycles, seen.effective);
        seen.is_hot = !seen.is_hot;
        if is_swap {
            seen.effective = 0;
        }
        pools[usize::from(seen.is_hot)].insert(block, cycles, seen.effective);
    }

    /// The block that data leave after an erase, if any.
    fn decide<C, U, M>(
        &mut self,
        Erased { block, task }: Erased,
        domain: u32,
        look: &Look<C, U, M>,
    ) -> Option<u32>
    where
        C: Fn(u32) -> u32,
        U: Fn(u32) -> bool,
        M: Fn(u32) -> bool,
    {
        let at = domain as usize;
        if task == Task::WEAR && self.leaving[at] == Some(block) {
            // The hot block of a swap is empty.
            self.leaving[at] = None;
            return self.swap(domain, block, look);
        }
        if task != Task::GC {
            return None;
        }
        // The swap did not begin if its block still has data that can be moved, or was erased for GC; it came to nothing if its erase
        // failed.
        let is_moving = |hot| hot != block && !(look.may_move)(hot) && (look.is_in_use)(hot);
        let is_under_way = self.leaving[at].is_some_and(is_moving);
        let from = if is_under_way {
            None
        } else {
            self.leaving[at] = None;
            self.begin_swap(domain, block, look)
        };
        self.resize_cold(domain, look);
        self.resize_hot(domain, look);
        from
    }

    /// Looks whether the pools call for a dirty swap, when a block was erased; gives the block that data leave.
    fn begin_swap<C, U, M>(&mut self, domain: u32, erased: u32, look: &Look<C, U, M>) -> Option<u32>
    where
        C: Fn(u32) -> u32,
        U: Fn(u32) -> bool,
        M: Fn(u32) -> bool,
    {
        let hot = &self.pools[domain as usize][1].by_cycles;
        let &(most, _) = hot.iter().rev().find(|&&(_, block)| (look.is_in_use)(block))?;
        let worn = || hot.range((most, 0)..).map(|&(_, block)| block);
        if worn().any(|block| block == erased) {
            return self.swap(domain, erased, look);
        }
        let from = worn().find(|&block| (look.may_move)(block))?;
        self.coldest(domain, most, look)?;
        self.leaving[domain as usize] = Some(from);
        Some(from)
    }

    /// The least worn block of the cold pool that can be moved, if it is worn enough less than a hot one.
    fn coldest<C, U, M>(&self, domain: u32, most: u32, look: &Look<C, U, M>) -> Option<u32>
    where
        M: Fn(u32) -> bool,
    {
        // From this many cycles on they are near enough.
        let end = most.saturating_sub(self.options.threshold_cycles);
        let far = self.pools[domain as usize][0].by_cycles.range(..(end, 0));
        far.map(|&(_, block)| block).find(|&block| (look.may_move)(block))
    }

    /// An empty hot block takes the data of a cold one, if that is worn enough less: both change pools. Gives the cold block.
    fn swap<C, U, M>(&mut self, domain: u32, hot: u32, look: &Look<C, U, M>) -> Option<u32>
    where
        C: Fn(u32) -> u32,
        M: Fn(u32) -> bool,
    {
        let most = (look.cycles)(hot);
        if !self.seen[hot as usize].is_hot {
            return None;
        }
        let cold = self.coldest(domain, most, look)?;
        self.change(domain, hot, most, true);
        self.change(domain, cold, (look.cycles)(cold), true);
        Some(cold)
    }

    /// A block of the cold pool that is erased like hot ones becomes hot.
    fn resize_cold<C, U, M>(&mut self, domain: u32, look: &Look<C, U, M>)
    where
        C: Fn(u32) -> u32,
        U: Fn(u32) -> bool,
    {
        let [cold, hot] = &self.pools[domain as usize];
        let is_in_use = |&&(_, block): &&(u32, u32)| (look.is_in_use)(block);
        let most = cold.by_effective.iter().rev().find(is_in_use).map(|&(most, _)| most);
        let fewest = hot.by_effective.iter().find(is_in_use).map(|&(fewest, _)| fewest);
        let Some((most, fewest)) = most.zip(fewest) else { return };
        if most.saturating_sub(fewest) > self.options.threshold_cycles {
            let first = cold.by_effective.range((most, 0)..).find(is_in_use).map(|&(_, block)| block);
            first.into_iter().for_each(|block| self.change(domain, block, (look.cycles)(block), false));
        }
    }

    /// A block of the hot pool that has fallen far behind becomes cold.
    fn resize_hot<C, U, M>(&mut self, domain: u32, look: &Look<C, U, M>)
    where
        C: Fn(u32) -> u32,
        U: Fn(u32) -> bool,
    {
        let [_, hot] = &self.pools[domain as usize];
        let is_in_use = |&&(_, block): &&(u32, u32)| (look.is_in_use)(block);
        let most = hot.by_cycles.iter().rev().find(is_in_use);
        let Some((&(most, _), &(fewest, block))) = most.zip(hot.by_cycles.iter().find(is_in_use)) else { return };
        if most - fewest > 2 * self.options.threshold_cycles {
            self.change(domain, block, (look.cycles)(block), false);
        }
    }
}

impl Upkeep for DualPool {
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
        let (domain, cycles) = (view.domain(erased.block), view.erases(erased.block));
        if self.pools.is_empty() {
            // As before this erase.
            let before = |block| (block, view.domain(block), view.erases(block) - u32::from(block == erased.block));
            self.fill(view.in_use().map(before));
        }
        self.note(erased, domain, cycles);
        let look = Look {
            cycles: |block| view.erases(block),
            is_in_use: |block| view.is_in_use(block),
            may_move: |block| view.is_full(block) && view.valid(block) > 0,
        };
        self.decide(erased, domain, &look)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    /// Six blocks, of which 0, 2 and 4 are in the hot pool, and their P/E cycles.
    struct Six {
        policy: DualPool,
        cycles: [u32; 6],
    }

    impl Six {
        fn new(threshold_cycles: u32, cycles: [u32; 6]) -> Self {
            let mut policy = DualPool::with(&Options { threshold_cycles, ..Options::default() }, 6, 1);
            policy.fill((0..).zip(cycles).map(|(block, cycles)| (block, 0, cycles)));
            Self { policy, cycles }
        }

        /// What leaves its block when one is erased for a task; those given have data.
        fn erased(&mut self, task: Task, block: u32, full: &[u32]) -> Option<u32> {
            self.cycles[block as usize] += 1;
            let erased = Erased { block, task };
            self.policy.note(erased, 0, self.cycles[block as usize]);
            let look = Look {
                cycles: |block: u32| self.cycles[block as usize],
                is_in_use: |_| true,
                may_move: |block| full.contains(&block),
            };
            self.policy.decide(erased, 0, &look)
        }

        fn hot(&self) -> Vec<u32> {
            (0..6).filter(|&block| self.policy.seen[block as usize].is_hot).collect()
        }

        fn effective(&self) -> Vec<u32> {
            self.policy.seen.iter().map(|seen| seen.effective).collect()
        }
    }

    #[test]
    fn pools_are_taken_over_unless_no_block_can_have_had_such_erases() {
        let mut saved = DualPool::with(&Options::default(), 2, 1);
        saved.seen = vec![Seen { is_hot: true, effective: 3 }, Seen { is_hot: true, effective: MOST_ERASES - 1 }];
        let restored = |saved: &DualPool| {
            let mut own = DualPool::with(&Options::default(), 2, 1);
            own.restore(saved.clone());
            own.seen
        };
        assert_eq!(restored(&saved), saved.seen);
        saved.seen[1].effective = MOST_ERASES;
        assert_eq!(restored(&saved), []);
    }

    #[test]
    fn the_most_worn_hot_block_takes_the_data_of_the_least_worn_cold_one() {
        let mut drive = Six::new(3, [2, 1, 4, 0, 2, 5]);
        // The hot pool has at most 4, the cold one at least 0: beyond 3. Block 2 is full, so its data leave it first.
        assert_eq!(drive.erased(Task::GC, 4, &[0, 1, 2, 3]), Some(2));
        assert_eq!((drive.hot(), drive.effective()), (vec![0, 2, 4], vec![0, 0, 0, 0, 1, 0]));
        // While they do no other swap begins.
        assert_eq!(drive.erased(Task::GC, 0, &[1, 3, 4]), None);
        // Block 2 is empty, and takes the data of block 3. Both change pools, and have no effective erases.
        assert_eq!(drive.erased(Task::WEAR, 2, &[1, 3, 4]), Some(3));
        assert_eq!((drive.hot(), drive.effective()), (vec![0, 3, 4], vec![1, 0, 0, 0, 1, 0]));
        // The erase of block 3 is for the swap, too.
        assert_eq!(drive.erased(Task::WEAR, 3, &[1, 2, 4]), None);
        assert_eq!((drive.cycles, drive.effective()), ([3, 1, 5, 1, 3, 5], vec![1, 0, 0, 0, 1, 0]));
        // Block 2 is the most worn of its pool now, but that is the cold one: it rests. Of the hot ones block 4 comes to 4, 3 more than
        // block 1, then to 5: it has just been erased, and takes the data at once.
        assert_eq!(drive.erased(Task::GC, 4, &[1, 2]), None);
        assert_eq!(drive.erased(Task::GC, 4, &[1, 2]), Some(1));
        assert_eq!((drive.hot(), drive.effective()), (vec![0, 1, 3], vec![1, 0, 0, 0, 0, 0]));
    }

    #[test]
    fn a_swap_waits_for_blocks_that_can_be_moved() {
        let mut drive = Six::new(2, [9, 0, 1, 1, 1, 9]);
        // Block 0 is being written.
        assert_eq!(drive.erased(Task::GC, 5, &[1, 3]), None);
        // Block 1, the least worn cold one, has no data that can be moved; block 3 has.
        assert_eq!(drive.erased(Task::GC, 0, &[3]), Some(3));
        assert!(drive.policy.seen[3].is_hot && !drive.policy.seen[0].is_hot);
        // There was no room for what was to leave block 2, and GC has emptied it then.
        let mut drive = Six::new(2, [0, 0, 8, 0, 7, 0]);
        assert_eq!(drive.erased(Task::GC, 0, &[1, 2]), Some(2));
        assert_eq!(drive.erased(Task::GC, 2, &[]), None);
        assert_eq!(drive.policy.leaving, [None]);
    }

    #[test]
    fn a_cold_block_with_hot_data_becomes_hot() {
        let mut drive = Six::new(2, [5, 5, 5, 5, 5, 5]);
        // Three effective erases are more than two above those of block 0.
        for (erases, hot) in [(1, vec![0, 2, 4]), (2, vec![0, 2, 4]), (3, vec![0, 2, 3, 4])] {
            assert_eq!(drive.erased(Task::GC, 3, &[]), None);
            assert_eq!((drive.effective()[3], drive.hot()), (erases, hot));
        }
    }

    #[test]
    fn a_hot_block_with_cold_data_becomes_cold() {
        // Block 2 is 4 behind, then 5, more than twice the threshold.
        let mut drive = Six::new(2, [5, 6, 2, 6, 5, 6]);
        assert_eq!((drive.erased(Task::GC, 0, &[]), drive.hot()), (None, vec![0, 2, 4]));
        assert_eq!((drive.erased(Task::GC, 0, &[]), drive.hot()), (None, vec![0, 4]));
        // A block that went bad counts no more.
        let mut drive = Six::new(1, [9, 6, 5, 6, 5, 6]);
        let cycles = drive.cycles;
        let look = Look { cycles: |block| cycles[block as usize], is_in_use: |block| block != 0, may_move: |_| true };
        assert_eq!(drive.policy.decide(Erased { block: 2, task: Task::GC }, 0, &look), None);
        assert_eq!(drive.hot(), [0, 2, 4]);
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
            DualPool::new(&Options { threshold_cycles, window_pages }, &build(together)).unwrap_err().to_string()
        };
        assert_eq!(wrong(0, 8, 1), "wear.threshold_cycles = 0: must be 1 to 2,147,483,647");
        assert_eq!(wrong(8, 70_000, 1), "wear.window_pages = 70000: must be 1 to 65,535");
        assert!(wrong(8, 8, 2).contains("wear.policy = dual-pool: does not go with superblocks"));
        assert!(DualPool::new(&Options::default(), &build(1)).is_ok());
    }
}
