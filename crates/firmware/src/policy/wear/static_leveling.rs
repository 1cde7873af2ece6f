//! Static wear leveling: the least worn block whose data stay is moved, from one difference in P/E cycles down to another.
//!
//! Source: the second level of wear leveling in Numonyx's data sheet of the NAND08GW3C2A (9.4): data that stay long are copied to
//! another block when the difference between the most and the fewest cycles of a block reaches a threshold. Chang and Huang
//! (LCTES 2011, 2.4) name designs that choose the block with the fewest cycles, and one (Chang, Hsieh and Kuo) that moves only
//! blocks that were not erased lately. They find (5.4) that data often move from one young block into another.
//! Faithful: the threshold and the choice. Assumed: only blocks are moved that were not erased while the host wrote as much as all
//! blocks hold; GC erases the others soon anyway. So a block is moved once at most in that time, and without writes of the host the
//! task comes to rest. Data move only when a block is free that is more worn by `stop_cycles`, and where they open a block, they
//! open the most worn free one of its plane (`Upkeep::opens_worn`). Assumed, too: the second threshold; blocks are compared in
//! their domain of GC, which their data do not leave; blocks that are being written stay. Simplified: the choice takes no time.
//! Data that GC moves go to the same open blocks, so a part of the data comes to a block that GC has opened. In a drive with one
//! domain pages go to any plane, perhaps to one whose free blocks are all young.

use super::{Occasion, Upkeep, UpkeepView};
use crate::policy::{About, Build};
use crate::ConfigError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ABOUT: About = About {
    summary: "static wear leveling: moves the least worn block with data that stay into a worn one, from `start_cycles` P/E \
        cycles of difference down to `stop_cycles`",
    source: "Numonyx's data sheet of the NAND08GW3C2A, 9.4; Chang and Huang, LCTES 2011, 2.4",
    note: "threshold and choice as published; assumed: only blocks that were not erased in the last drive write are moved, and \
        only if a worn block is free; a part of the data comes to blocks that GC has opened for what it moves",
};

/// Options of static wear leveling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Difference in P/E cycles at which wear leveling starts, at least 1. It is between the most worn block of a domain (the
    /// drive, or the plane with collect.scope = "plane") and its least worn full block that was not erased while the host wrote as
    /// much as all blocks hold.
    pub start_cycles: u32,
    /// Wear leveling goes on until the difference is smaller, 1 to start_cycles. Data move only to a block that has this many P/E
    /// cycles more.
    pub stop_cycles: u32,
    /// Outstanding page moves per block, 1 to 65,535.
    pub window_pages: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { start_cycles: 16, stop_cycles: 12, window_pages: 8 }
    }
}

/// Static wear leveling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Static {
    options: Options,
    active: bool,
    /// Blocks of the drive.
    blocks: u32,
    /// Mapping units that the host has written.
    written: u64,
    /// As counted at the last look; counts begin anew when measuring starts.
    counted: u64,
    /// By block; empty before the first look, since configurations of any size are built to be checked.
    seen: Vec<Seen>,
    /// By domain, at the last look.
    #[serde(skip)]
    domains: Vec<Domain>,
}

/// What is known of a block's last erase.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// P/E cycles of the block.
    cycles: u32,
    /// Units that the host had written when it was first seen with these cycles.
    at: u64,
}

/// A domain.
#[derive(Clone, Copy, Debug, Default)]
struct Domain {
    /// The most P/E cycles of a block.
    most: u32,
    /// The most P/E cycles of a free block, plus 1; 0 if none is free.
    free: u32,
}

/// A block, as the decision needs it.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u32,
    domain: u32,
    cycles: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Free,
    Full,
    /// Being written or moved.
    Other,
}

impl Static {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let Options { start_cycles, stop_cycles, window_pages } = *options;
        if start_cycles == 0 {
            return Err(ConfigError::new("wear.start_cycles", start_cycles, "must be at least 1"));
        }
        if stop_cycles == 0 || stop_cycles > start_cycles {
            let problem = format!("must be 1 to wear.start_cycles = {start_cycles}; give both");
            return Err(ConfigError::new("wear.stop_cycles", stop_cycles, problem));
        }
        if !(1..=65_535).contains(&window_pages) {
            return Err(ConfigError::new("wear.window_pages", window_pages, "must be 1 to 65,535"));
        }
        Ok(Self::with(options, build.geometry.blocks()))
    }

    fn with(options: &Options, blocks: u32) -> Self {
        Self {
            options: options.clone(),
            active: false,
            blocks,
            written: 0,
            counted: 0,
            seen: Vec::new(),
            domains: Vec::new(),
        }
    }

    /// Takes over whether it is active, and what it has seen of a drive with as many blocks.
    pub(super) fn restore(&mut self, saved: Self) {
        if saved.seen.is_empty() || saved.seen.len() == self.blocks as usize {
            (self.active, self.seen) = (saved.active, saved.seen);
            (self.written, self.counted) = (saved.written, saved.counted);
        }
    }

    /// The block to move next, given all blocks, their units, and the units that the host has written by its count.
    fn decide(
        &mut self,
        blocks: impl Iterator<Item = Block> + Clone,
        units_per_block: u32,
        counted: u64,
    ) -> Option<u32> {
        let since = counted.checked_sub(self.counted).unwrap_or(counted);
        (self.written, self.counted) = (self.written.saturating_add(since), counted);
        let drive_write = self.look(blocks.clone()) * u64::from(units_per_block);
        let Options { start_cycles, stop_cycles, .. } = self.options;
        // The widest difference, and the widest of those whose data can go to a worn block. Of equals the one with the lowest
        // number.
        let (mut widest, mut best) = (0, None);
        for block in blocks.filter(|block| block.state == State::Full && self.stays(block, drive_write)) {
            let domain = self.domains[block.domain as usize];
            let difference = domain.most - block.cycles;
            widest = widest.max(difference);
            if domain.free > block.cycles.saturating_add(stop_cycles) {
                best = best.max(Some((difference, u32::MAX - block.number)));
            }
        }
        let least = if self.active { stop_cycles } else { start_cycles };
        self.active = widest >= least;
        best.filter(|&(difference, _)| self.active && difference >= least).map(|(_, from_last)| u32::MAX - from_last)
    }

    /// Takes note of all blocks, and counts them.
    fn look(&mut self, blocks: impl Iterator<Item = Block> + Clone) -> u64 {
        let mut count = 0;
        self.seen.resize(self.blocks as usize, Seen::default());
        self.domains.clear();
        for block in blocks.clone() {
            // Blocks come by number, domain after domain.
            self.domains.resize(block.domain as usize + 1, Domain::default());
            let domain = &mut self.domains[block.domain as usize];
            count += 1;
            domain.most = domain.most.max(block.cycles);
            if block.state == State::Free {
                domain.free = domain.free.max(block.cycles.saturating_add(1));
            }
        }
        for block in blocks {
            let seen = &mut self.seen[block.number as usize];
            if seen.cycles != block.cycles {
                *seen = Seen { cycles: block.cycles, at: self.written };
            }
        }
        count
    }

    /// True if a block was not erased in the last drive write of the host.
    fn stays(&self, block: &Block, drive_write: u64) -> bool {
        self.written.saturating_sub(self.seen[block.number as usize].at) >= drive_write
    }
}

impl Upkeep for Static {
    fn occasion(&self) -> Occasion {
        Occasion::Erase
    }

    fn next(&mut self, view: &UpkeepView<'_>) -> Option<u32> {
        let view = *view;
        let blocks = view.in_use().map(move |number| {
            let state = if view.is_free(number) {
                State::Free
            } else if view.is_full(number) {
                State::Full
            } else {
                State::Other
            };
            Block { number, domain: view.domain(number), cycles: view.erases(number), state }
        });
        self.decide(blocks, view.units_per_block(), view.host_units())
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
}

#[cfg(test)]
mod tests {
    use super::State::{Free, Full, Other};
    use super::*;
    use crate::task::Tasks;
    use wordline_flash::{Geometry, GeometryConfig};

    fn leveling(start_cycles: u32, stop_cycles: u32) -> Static {
        Static::with(&Options { start_cycles, stop_cycles, ..Options::default() }, 4)
    }

    /// The decision of a domain of four blocks of ten units, with their P/E cycles and states, when the host has written so many
    /// units.
    fn decided(policy: &mut Static, written: u64, all: [(u32, State); 4]) -> Option<u32> {
        let block = |(number, (cycles, state))| Block { number, domain: 0, cycles, state };
        policy.decide((0..).zip(all).map(block), 10, written)
    }

    #[test]
    fn it_starts_at_one_difference_and_stops_below_the_other() {
        let mut policy = leveling(10, 4);
        let mut at = |written, all| decided(&mut policy, written, all);
        assert_eq!(at(90, [(0, Full), (0, Full), (9, Other), (8, Free)]), None, "nine cycles are too few");
        assert_eq!(at(100, [(0, Full), (0, Full), (9, Other), (10, Free)]), Some(0), "of two equal ones");
        // Its data are in block 3; block 1 is still ten cycles younger.
        assert_eq!(at(100, [(1, Free), (0, Full), (10, Free), (10, Full)]), Some(1));
        // Nothing is left: block 3 is as worn as any, and block 1 has just been erased.
        assert_eq!(at(110, [(1, Full), (1, Free), (10, Full), (10, Full)]), None);
        // Later, with data that stay in block 0: it must fall behind by ten again.
        assert_eq!(at(120, [(3, Full), (9, Other), (10, Full), (11, Free)]), None);
        assert_eq!(at(200, [(3, Full), (11, Other), (10, Full), (12, Free)]), None);
        assert_eq!(at(210, [(3, Full), (13, Other), (10, Full), (13, Free)]), Some(0));
    }

    #[test]
    fn a_block_that_was_erased_a_drive_write_ago_is_left_to_gc() {
        let mut policy = leveling(4, 4);
        let mut at = |written, block0| {
            decided(&mut policy, written, [(block0, Full), (20, Other), (20, Full), (20, Free)])
        };
        // The 40 units of a drive write begin when the block is first seen with its cycles.
        assert_eq!([at(100, 1), at(139, 1), at(140, 1)], [None, None, Some(0)]);
        assert_eq!([at(145, 2), at(184, 2), at(185, 2)], [None, None, Some(0)]);
        // Counts begin anew; the host has written 25 units by then, and 15 more later.
        assert_eq!([at(200, 3), at(10, 3), at(39, 3), at(40, 3)], [None, None, None, Some(0)]);
        // Without writes it is moved once.
        assert_eq!([at(40, 4), at(40, 4), at(40, 5)], [None; 3]);
    }

    #[test]
    fn data_wait_for_a_worn_block() {
        let mut policy = leveling(6, 5);
        let mut at = |all| decided(&mut policy, 50, all);
        // Of the free blocks even the most worn has only four cycles more.
        assert_eq!(at([(0, Full), (0, Full), (7, Full), (4, Free)]), None);
        assert_eq!(at([(0, Full), (0, Full), (7, Full), (5, Free)]), Some(0));
        assert_eq!(at([(1, Free), (0, Full), (7, Full), (5, Other)]), None);
        assert_eq!(at([(1, Free), (0, Full), (7, Free), (5, Full)]), Some(1));
    }

    #[test]
    fn domains_are_apart() {
        let mut policy = leveling(5, 5);
        let mut decide = |written, cycles: [u32; 4], free: [u32; 2]| {
            let state = |number| if free.contains(&number) { Free } else { Full };
            let block =
                |(number, cycles)| Block { number, domain: number / 2, cycles, state: state(number) };
            policy.decide((0..).zip(cycles).map(block), 10, written)
        };
        assert_eq!(decide(10, [20, 24, 0, 4], [1, 3]), None, "the blocks of domain 1 are young, but alike");
        assert_eq!(decide(50, [20, 28, 0, 5], [1, 3]), Some(0), "it is further behind");
        assert_eq!(decide(50, [21, 28, 0, 5], [0, 3]), Some(2));
    }

    #[test]
    fn wrong_values_are_refused_with_the_nearest_choice() {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = Build {
            geometry: &geometry,
            units_per_program: 1,
            plane_local: true,
            domains: geometry.planes(),
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 1,
        };
        let wrong = |start_cycles, stop_cycles, window_pages| {
            let options = Options { start_cycles, stop_cycles, window_pages };
            Static::new(&options, &build).unwrap_err().to_string()
        };
        assert_eq!(wrong(0, 0, 8), "wear.start_cycles = 0: must be at least 1");
        assert_eq!(wrong(8, 9, 8), "wear.stop_cycles = 9: must be 1 to wear.start_cycles = 8; give both");
        assert_eq!(wrong(8, 0, 8), "wear.stop_cycles = 0: must be 1 to wear.start_cycles = 8; give both");
        assert_eq!(wrong(8, 8, 0), "wear.window_pages = 0: must be 1 to 65,535");
        assert!(Static::new(&Options::default(), &build).is_ok());
    }
}
