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

    /// The job of a block has moved all its data. With the last one of its superblock all blocks are erased.
    #[cold]
    pub(super) fn erase_together(&mut self, slot: u32) {
        let block = self.jobs.get(slot).block;
        let mut ready = 0;
        for other in self.blocks.together(block) {
            let Some(job) = self.jobs.of_blocks(std::iter::once(other)).next() else { return };
            if !self.jobs.get(job).erasing {
                return;
            }
            ready += 1;
        }
        debug_assert_eq!(ready, self.plan.stripe.map_or(1, |stripe| stripe.blocks()));
        let all: Vec<u32> = self.jobs.of_blocks(self.blocks.together(block)).collect();
        all.into_iter().for_each(|job| self.erase(job));
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
