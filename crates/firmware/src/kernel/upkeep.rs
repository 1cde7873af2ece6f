//! Background tasks that move blocks: when each is asked for work, and its jobs.

use super::Kernel;
use crate::blocks::Status;
use crate::policy::guest::failed;
use crate::policy::upkeep::{Erased, Occasion, UpkeepView};
use crate::stays::Stays;
use crate::task::Task;
use wordline_base::Stream;
use wordline_flash::{Kind, PageAddress};

impl Kernel {
    /// The fewest page reads of a block that a task of the drive waits for; a drive without such a task pays one
    /// comparison a command.
    pub(super) fn fewest_reads(&self) -> u32 {
        let limit = |task| match self.upkeep.occasion(task) {
            Occasion::Reads(reads) => reads,
            Occasion::Never | Occasion::Erase | Occasion::Cache { .. } => u32::MAX,
        };
        self.plan.tasks.background().map(limit).min().unwrap_or(u32::MAX)
    }

    /// Gives each block with data a random number of earlier page reads below `below`: a past that was not simulated.
    /// Returns how many blocks have data.
    pub fn invent_reads(&mut self, below: u32, random: &mut Stream) -> u32 {
        let mut given = 0;
        for block in 0..self.flash.geometry().blocks() {
            if self.blocks.get(block).write_point > 0 {
                self.flash.set_block_reads(block, random.below(u64::from(below)) as u32);
                given += 1;
            }
        }
        self.reads_reached |= below > self.read_limit;
        given
    }

    /// A command for reads is about to start: the blocks may reach the reads that a task waits for. True if tasks were asked.
    #[inline]
    pub(super) fn watch_reads(&mut self, die: u32) -> bool {
        let reaches = |page: &PageAddress| self.flash.page_record(die, page).reads.saturating_add(1) >= self.read_limit;
        let reached = self.command.pages().iter().any(reaches);
        if reached {
            self.watch_blocks(die);
        }
        reached
    }

    /// The same for a read of one page, before its command.
    #[inline]
    pub(super) fn watch_read(&mut self, die: u32, page: PageAddress, bytes: u32) -> bool {
        let reached = self.flash.page_record(die, &page).reads.saturating_add(1) >= self.read_limit;
        if reached {
            self.command.clear(Kind::Read);
            self.command.add(page, bytes);
            self.watch_blocks(die);
        }
        reached
    }

    /// The same if a block does.
    #[cold]
    fn watch_blocks(&mut self, die: u32) {
        let planes = self.flash.geometry().planes_per_die;
        let reached = self.command.pages().iter().any(|page| {
            let block = (die * planes + page.plane) * self.blocks_per_plane.get() + page.block;
            // Of a superblock that is being written nothing is moved.
            let waits = self.blocks.has_superblocks() && self.blocks.get(block).status == Status::Open;
            !waits && self.flash.block_record(block).reads.saturating_add(1) >= self.read_limit
        });
        if reached {
            self.ask_for_reads();
        }
    }

    /// A superblock is full: tasks that look at reads may move it from now on.
    pub(super) fn watch_closed(&mut self, block: u32) {
        let reached = |block: u32| self.flash.block_record(block).reads >= self.read_limit;
        if self.read_limit < u32::MAX && self.blocks.together(block).any(reached) {
            self.ask_for_reads();
        }
    }

    /// A block may have as many reads as a task waits for.
    fn ask_for_reads(&mut self) {
        self.reads_reached = true;
        for task in self.plan.tasks.background() {
            if matches!(self.upkeep.occasion(task), Occasion::Reads(_)) {
                self.ask(task);
            }
        }
    }

    /// Lets a background task start jobs while it wants and has room.
    pub(super) fn ask(&mut self, task: Task) {
        let most = self.upkeep.most(task);
        while !self.refused.has(task) && self.jobs.of_task(task) < most {
            let stays = Stays::new(&self.blocks, &self.map, self.lots.as_deref(), self.logs.as_deref());
            let blocks = (&self.blocks, &self.space, stays);
            let view = UpkeepView::new(blocks, &self.flash, self.counters.by_host(), self.rests.is_long_enough(task));
            let Some(block) = self.upkeep.next(task, &view) else {
                let has_failed = self.upkeep.troubles().any(|(_, trouble)| failed(trouble));
                self.heed(has_failed);
                return;
            };
            if self.logs.is_none() && self.waits_for_lot(task, block) {
                return;
            }
            let domain = self.blocks.domain_of_plane(self.blocks.plane_of(block));
            if !self.is_complete(block, domain) || !self.start_job(task, domain, block) {
                // It is asked again when a block becomes free.
                self.refused = self.refused.with(task);
            }
        }
    }

    /// Makes a block one that can be moved; false if its empty pages are promised to others.
    fn is_complete(&mut self, block: u32, domain: u32) -> bool {
        if self.lots.is_some() {
            return true;
        }
        match self.blocks.get(block).status {
            Status::Closed => true,
            Status::Open if self.space.may_close_early(&self.blocks, block) => {
                self.space.close_early(&self.blocks, block);
                self.blocks.close(block);
                self.victim.closed(&self.blocks.view(domain), block);
                self.heed(failed(self.victim.trouble()));
                true
            }
            _ => false,
        }
    }

    /// A block was erased for a task: tasks that follow erases are told, and may have the data of another block moved there.
    #[cold]
    pub(super) fn tell_erase(&mut self, block: u32, by: Task) {
        for task in self.follow_erases.iter() {
            let stays = Stays::new(&self.blocks, &self.map, self.lots.as_deref(), self.logs.as_deref());
            let blocks = (&self.blocks, &self.space, stays);
            let view = UpkeepView::new(blocks, &self.flash, self.counters.by_host(), false);
            let Some(from) = self.upkeep.erased(task, &view, Erased { block, task: by }) else {
                let has_failed = self.upkeep.troubles().any(|(_, trouble)| failed(trouble));
                self.heed(has_failed);
                continue;
            };
            let domain = self.blocks.domain_of_plane(self.blocks.plane_of(from));
            if self.logs.is_some() {
                // Another task may have taken the block.
                let into = (self.blocks.get(block).status == Status::Free).then_some(block);
                self.move_lot(task, from, into);
            } else if !self.waits_for_lot(task, from) && self.is_complete(from, domain) {
                // If its domain has no room now, the data stay.
                self.start_job(task, domain, from);
            }
        }
    }

    /// A block was erased: tasks that found no room, or look at erases, are asked.
    pub(super) fn ask_after_erase(&mut self, task: Task) {
        let refused = std::mem::take(&mut self.refused);
        for other in self.plan.tasks.background() {
            if other == task || refused.has(other) || self.upkeep.occasion(other) == Occasion::Erase {
                self.ask(other);
            }
        }
    }
}
