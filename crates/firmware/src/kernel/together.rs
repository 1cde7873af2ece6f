//! Jobs that empty the blocks of a superblock together: no block is erased before the data of all have moved, since parity
//! protects them until then.

use super::Kernel;
use crate::task::Task;

impl Kernel {
    /// Starts the jobs of a superblock that was promised room.
    #[cold]
    pub(super) fn start_together(&mut self, task: Task, domain: u32, block: u32) {
        self.blocks.take(block);
        let mut all = std::mem::take(&mut self.owners);
        all.clear();
        all.extend(self.blocks.together(block));
        for job in &mut all {
            let block = *job;
            *job = self.start_alone(task, domain, block, self.blocks.get(block).valid);
        }
        all.iter().for_each(|&job| self.advance(job));
        self.owners = all;
    }

    /// The job of a block has moved all its data. With the last one of its superblock its blocks are erased.
    #[cold]
    pub(super) fn erase_together(&mut self, slot: u32) {
        let block = self.jobs.get(slot).block;
        let mut ready = 0;
        for job in self.jobs.of_blocks(self.blocks.together(block)) {
            ready += u32::from(self.jobs.get(job).empty);
        }
        if ready == self.plan.stripe.map_or(1, |stripe| stripe.blocks()) {
            self.erase_next(block);
        }
    }

    /// Erases the blocks of a superblock: all of them, or, if its dies take turns, those of the next die once the one before has
    /// erased its own.
    #[cold]
    pub(super) fn erase_next(&mut self, block: u32) {
        let mut next = std::mem::take(&mut self.owners);
        next.clear();
        next.extend(self.jobs.of_blocks(self.blocks.together(block)));
        let die_of = |job: u32| self.planes_per_die.quotient(self.blocks.plane_of(self.jobs.get(job).block));
        if next.iter().any(|&job| self.jobs.get(job).erasing) {
            next.clear();
        } else if let Some(&first) = next.first().filter(|_| self.redundancy.erases_in_turn()) {
            let die = die_of(first);
            next.retain(|&job| die_of(job) == die);
        }
        next.iter().for_each(|&job| self.erase(job));
        self.owners = next;
    }

    /// The job that stands for those of a superblock; a job itself where there are none.
    #[inline]
    pub(super) fn eldest(&self, slot: u32) -> u32 {
        if !self.blocks.has_superblocks() {
            return slot;
        }
        let block = self.blocks.leader(self.jobs.get(slot).block);
        self.jobs.of_blocks(std::iter::once(block)).next().unwrap_or(slot)
    }
}
