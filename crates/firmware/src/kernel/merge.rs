//! Merges: the data of a replaced block are copied to the data block of their logical block, each to its own page.
//!
//! A merge is a job of the page mover on the replaced block. The host needs it up to the page that it writes next: then the job
//! ends there, and the rest stays where it is. GC, a background task, or a write that needs the replaced block gone, let it go
//! on to the end of the block, which is erased then. The copies need no promise of room: their pages in the data block
//! wait for them.

use super::Kernel;
use crate::blocks::Status;
use crate::mover::Job;
use crate::ops::NONE;
use crate::policy::guest::failed;
use crate::task::Task;

impl Kernel {
    /// A task wants the data of a block moved, and the block erased. False if there is no free block for them.
    pub(super) fn start_merge(&mut self, task: Task, block: u32) -> bool {
        let Some(lots) = &self.lots else { return false };
        let Some(lot) = lots.owner(block) else {
            // Nothing of it is valid: its logical block has another one, or none.
            self.erase_unowned(task, block);
            return true;
        };
        let replaces = lots.data(lot) == Some(block);
        if replaces && !self.open_data_block(lot, task) {
            return false;
        }
        self.merge(lot, task);
        if replaces {
            self.collect(self.blocks.domain_of_plane(self.blocks.plane_of(block)));
        }
        true
    }

    /// True if a block cannot be moved yet for a background task, which is asked again when it can: its logical block has a
    /// replaced one already, or a write on its way.
    pub(super) fn waits_for_lot(&mut self, task: Task, block: u32) -> bool {
        let Some(lots) = &mut self.lots else { return false };
        let Some(lot) = lots.owner(block).filter(|&lot| lots.data(lot) == Some(block)) else { return false };
        let has_replaced = lots.replaced(lot).is_some();
        if !has_replaced && !lots.work(lot).sent {
            return false;
        }
        let asked = &mut lots.work_mut(lot).asked;
        *asked = asked.with(task);
        if has_replaced {
            self.merge(lot, Task::GC);
        }
        true
    }

    /// Copies the data of the replaced block up to a page, for a write of the host.
    pub(super) fn copy_up_to(&mut self, lot: u32, page: u32) {
        if let Some(job) = self.merge_job(lot, page, Task::GC) {
            self.advance(job);
        }
    }

    /// The replaced block of a logical block is in the way of a write: it is given up if nothing in it is valid, or emptied. True
    /// if it is gone.
    pub(super) fn free_of_replaced(&mut self, lot: u32, block: u32) -> bool {
        let Some(lots) = &mut self.lots else { return false };
        if self.blocks.get(block).valid > 0 || lots.work(lot).job != NONE {
            self.merge(lot, Task::GC);
            return false;
        }
        lots.forget_replaced(lot);
        self.erase_unowned(Task::GC, block);
        true
    }

    /// The data block of a logical block holds nothing: it is closed, for GC to find.
    pub(super) fn retire_data(&mut self, lot: u32, block: u32) {
        let Some(lots) = &mut self.lots else { return };
        lots.forget_data(lot);
        self.close_block(block);
        self.collect(self.blocks.domain_of_plane(self.blocks.plane_of(block)));
    }

    /// A block takes no more data.
    pub(super) fn close_block(&mut self, block: u32) {
        self.blocks.close(block);
        let domain = self.blocks.domain_of_plane(self.blocks.plane_of(block));
        self.victim.closed(&self.blocks.view(domain), block);
        self.heed(failed(self.victim.trouble()));
    }

    /// Copies all data of the replaced block of a logical block, and erases it then.
    fn merge(&mut self, lot: u32, task: Task) {
        let pages = self.plan.units_per_block;
        let Some(job) = self.merge_job(lot, pages, task) else { return };
        self.take_replaced(job);
        self.advance(job);
    }

    /// The job that copies from the replaced block of a logical block, up to a page at least; a new one is of the task given.
    fn merge_job(&mut self, lot: u32, page: u32, task: Task) -> Option<u32> {
        let lots = self.lots.as_ref()?;
        let (data, block) = (lots.data(lot)?, lots.replaced(lot)?);
        let start = block * self.plan.units_per_block;
        let domain = self.blocks.domain_of_plane(self.blocks.plane_of(data));
        let job = lots.work(lot).job;
        if job != NONE {
            let end = self.jobs.get(job).end;
            if start + page > end {
                let units = self.map.count_valid(end, start + page);
                self.jobs.extend(job, start + page, units);
                self.space.owe(domain, units, 0);
            }
            return Some(job);
        }
        let places = (start + self.blocks.get(data).write_point, start + page);
        let units = self.map.count_valid(places.0, places.1);
        let window = self.window_of(task);
        let job = self.jobs.start((task, window), (block, domain), units, places);
        self.jobs.get_mut(job).lot = lot;
        self.space.owe(domain, units, 1);
        let lots = self.lots.as_mut()?;
        lots.work_mut(lot).job = job;
        lots.count_copying(domain, 1);
        Some(job)
    }

    /// The block of a job is to be erased at its end, if it was not before.
    fn take_replaced(&mut self, job: u32) {
        let Job { task, block, domain, .. } = *self.jobs.get(job);
        if self.blocks.get(block).status == Status::Closed {
            self.blocks.take(block);
            self.count_job(task, block);
            if let Some(lots) = &mut self.lots {
                lots.count_copying(domain, -1);
            }
        }
    }

    /// Erases a closed block without valid data that no logical block has.
    pub(super) fn erase_unowned(&mut self, task: Task, block: u32) {
        let domain = self.blocks.domain_of_plane(self.blocks.plane_of(block));
        self.blocks.take(block);
        self.space.owe(domain, 0, 1);
        let job = self.start_alone(task, domain, block, 0);
        self.advance(job);
    }

    /// A page of a merge has its place, or needs none: its logical block may go on.
    #[cold]
    pub(super) fn page_came(&mut self, job: u32) {
        let lot = self.jobs.get(job).lot;
        if let Some(lots) = &mut self.lots {
            lots.mark(lot);
        }
    }

    /// The job of a merge has moved what it was to move.
    #[cold]
    pub(super) fn end_merge(&mut self, slot: u32) {
        let job = *self.jobs.get(slot);
        let Some(lots) = &mut self.lots else { return };
        lots.work_mut(job.lot).job = NONE;
        lots.mark(job.lot);
        if self.blocks.get(job.block).valid > 0 {
            assert_eq!(self.blocks.get(job.block).status, Status::Closed, "a merge to the end leaves nothing");
            lots.count_copying(job.domain, -1);
            self.jobs.end(slot);
            self.space.end_job(job.task, job.domain);
            // It frees no block, so GC may have waited for its end to start another.
            self.collect(job.domain);
            return;
        }
        lots.forget_replaced(job.lot);
        self.take_replaced(slot);
        let job = self.jobs.get_mut(slot);
        (job.empty, job.lot) = (true, NONE);
        self.erase(slot);
    }
}
