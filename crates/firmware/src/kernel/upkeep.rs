//! Background tasks that move blocks: when each is asked for work, and its jobs.

use super::Kernel;
use crate::blocks::Status;
use crate::policy::guest::failed;
use crate::policy::upkeep::{Occasion, UpkeepView};
use crate::task::Task;

/// When background tasks are asked, so that a drive without them pays one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Occasions {
    /// The fewest page reads of a block that a task waits for.
    pub reads: u32,
    /// Some task looks at every erase.
    pub erases: bool,
}

impl Default for Occasions {
    fn default() -> Self {
        Self { reads: u32::MAX, erases: false }
    }
}

impl Kernel {
    /// Takes note of when the tasks of the drive want to be asked.
    pub(super) fn set_occasions(&mut self) {
        self.occasions = Occasions::default();
        for task in self.plan.tasks.background() {
            match self.upkeep.occasion(task) {
                Occasion::Never => {}
                Occasion::Reads(reads) => self.occasions.reads = self.occasions.reads.min(reads),
                Occasion::Erase => self.occasions.erases = true,
            }
        }
    }

    /// A command for reads is about to start: the blocks may reach the reads that a task waits for.
    #[cold]
    pub(super) fn watch_reads(&mut self, die: u32) {
        let planes = self.flash.geometry().planes_per_die;
        let reached = self.command.pages().iter().any(|page| {
            let block = (die * planes + page.plane) * self.blocks_per_plane.get() + page.block;
            self.flash.block_record(block).reads + 1 >= self.occasions.reads
        });
        if reached {
            self.ask_tasks(|occasion| matches!(occasion, Occasion::Reads(_)));
        }
    }

    /// Asks the background tasks that wait for such an occasion.
    fn ask_tasks(&mut self, suits: impl Fn(Occasion) -> bool) {
        for task in self.plan.tasks.background() {
            if suits(self.upkeep.occasion(task)) {
                self.ask(task);
            }
        }
    }

    /// Lets a background task start jobs while it wants and has room.
    pub(super) fn ask(&mut self, task: Task) {
        let most = self.upkeep.most(task);
        while !self.refused.has(task) && self.jobs.of_task(task) < most {
            let view = UpkeepView::new(&self.blocks, &self.flash);
            let Some(block) = self.upkeep.next(task, &view) else { return };
            let domain = self.blocks.domain_of_plane(self.blocks.plane_of(block));
            if !self.is_complete(block, domain) || !self.start_job(task, domain, block) {
                // It is asked again when a block becomes free.
                self.refused = self.refused.with(task);
            }
        }
    }

    /// Makes a block one that can be moved; false if its empty pages are promised to others.
    fn is_complete(&mut self, block: u32, domain: u32) -> bool {
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
