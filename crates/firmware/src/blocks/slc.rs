//! Blocks in SLC mode (pSLC): fewer pages, faster ones. A block gets its mode when it is opened, and loses it with its erase.

use super::{Block, Blocks};

impl Blocks {
    /// Lets a block in SLC mode count so many units more than its valid ones where victims are chosen: those that it lacks for a
    /// full block of another mode. Nothing is closed yet.
    pub(crate) fn weigh_slc(&mut self, units: u32) {
        self.slc_weight = units;
    }

    /// Units that a block counts more than its valid ones where victims are chosen.
    #[inline]
    pub(super) fn weight(&self, block: u32) -> u32 {
        if self.records[block as usize].slc {
            self.slc_weight
        } else {
            0
        }
    }

    /// Programs that fill a block.
    #[inline]
    pub(crate) fn programs_of(&self, block: u32) -> u32 {
        self.programs_in(self.get(block))
    }

    pub(super) fn programs_in(&self, record: &Block) -> u32 {
        if record.slc {
            self.slc_programs
        } else {
            self.programs_per_block
        }
    }

    /// As [`Self::programmed`], of a block that may be in SLC mode.
    #[cold]
    pub(crate) fn programmed_in_mode(&mut self, block: u32) -> bool {
        self.programmed(block);
        self.get(block).write_point == self.programs_of(block)
    }

    /// Units that a program of a block writes.
    #[inline]
    pub(crate) fn units_of_program(&self, block: u32) -> u32 {
        self.units_in(self.get(block))
    }

    pub(super) fn units_in(&self, record: &Block) -> u32 {
        if record.slc {
            self.units_per_page
        } else {
            self.units_per_program
        }
    }

    /// Blocks of a domain in SLC mode.
    #[must_use]
    pub fn slc_in_domain(&self, domain: u32) -> u32 {
        self.domains[domain as usize].slc
    }

    /// Blocks of the drive in SLC mode.
    #[must_use]
    pub fn slc_blocks(&self) -> u32 {
        self.domains.iter().map(|domain| domain.slc).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{Opening, Sizes};
    use crate::policy::free_block::fifo::Fifo;
    use crate::policy::free_block::{FreeBlockConfig, FreeBlockPolicy};
    use crate::policy::Build;
    use crate::task::{Task, Tasks};
    use wordline_flash::{Geometry, GeometryConfig};

    /// A plane of six blocks: four programs of three units, or two of one unit in SLC mode.
    fn blocks() -> (Blocks, FreeBlockPolicy) {
        let geometry = Geometry::new(&GeometryConfig::default()).unwrap();
        let build = Build {
            geometry: &geometry,
            units_per_program: 3,
            plane_local: false,
            domains: 1,
            blocks_together: 1,
            tasks: Tasks::BASIC,
            seed: 1,
        };
        let mut free_block =
            serde_json::from_str::<FreeBlockConfig>(r#"{"policy": "fifo"}"#).unwrap().build(&build).unwrap();
        let sizes = Sizes {
            planes: 1,
            planes_per_domain: 1,
            blocks_per_plane: 6,
            programs_per_block: 4,
            units_per_program: 3,
            units_per_page: 1,
            slc_programs: 2,
        };
        (Blocks::new(sizes, true, &mut free_block), free_block)
    }

    /// Opens a block, fills it with valid units, and closes it.
    fn fill(blocks: &mut Blocks, slc: bool) -> u32 {
        let block = blocks
            .open(0, Opening { task: Task::HOST, worn: false, slc }, &mut FreeBlockPolicy::Fifo(Fifo))
            .expect("one is free");
        for program in 1..=blocks.programs_of(block) {
            (0..blocks.units_of_program(block)).for_each(|_| blocks.gain(block, 0));
            assert_eq!(blocks.programmed_in_mode(block), program == blocks.programs_of(block));
        }
        blocks.close(block);
        block
    }

    #[test]
    fn a_block_keeps_its_mode_until_its_erase() {
        let (mut blocks, mut free_block) = blocks();
        let (slc, other) = (fill(&mut blocks, true), fill(&mut blocks, false));
        assert_eq!((blocks.get(slc).valid, blocks.get(other).valid, blocks.slc_blocks()), (2, 12, 1));
        (0..2).for_each(|_| assert_eq!(blocks.lose(slc), 0));
        blocks.take(slc);
        assert_eq!(blocks.slc_blocks(), 1);
        blocks.erased(slc, &mut free_block);
        assert_eq!((blocks.slc_blocks(), blocks.get(slc).slc, blocks.programs_of(slc)), (0, false, 4));
    }

    #[test]
    fn a_block_of_a_fixed_cache_ranks_by_what_was_overwritten() {
        let (mut blocks, _) = blocks();
        blocks.weigh_slc(12 - 2);
        let (slc, other) = (fill(&mut blocks, true), fill(&mut blocks, false));
        (0..3).for_each(|_| assert_eq!(blocks.lose(other), 0));
        let view = blocks.view(0);
        assert_eq!((view.valid(slc), view.valid(other)), (12, 9), "the block of the cache counts as full");
        assert_eq!(view.by_rank().collect::<Vec<_>>(), [other, slc]);
        assert!(view.gains(other) && !view.gains(slc), "a program has three units");
        // Without the weight it is the one with the fewest valid units.
        let (mut blocks, _) = self::blocks();
        let (slc, other) = (fill(&mut blocks, true), fill(&mut blocks, false));
        (0..3).for_each(|_| assert_eq!(blocks.lose(other), 0));
        assert_eq!(blocks.view(0).by_rank().collect::<Vec<_>>(), [slc, other]);
    }
}
