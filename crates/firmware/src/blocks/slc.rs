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
