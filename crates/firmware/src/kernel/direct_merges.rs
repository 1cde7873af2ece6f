//! The direct way of untimed merges of log blocks, and of moves beside them: a logical block is copied as a whole.
//!
//! Once nothing else is under way, it is known how a merge of a logical block ends: each page that is still to be copied gets its
//! place in the data block, in order, and a page without data before another one stays empty. So what the job has
//! queued is taken back, and its pages are copied in one loop ([`Kernel::merge_at_once`]). A merge that begins while nothing is queued
//! puts its first page reads off (*deferred*), until it is known whether anything comes between. If so they are queued as if they had been at
//! once. All else (which blocks are opened, erased and merged, and when) is done by the functions of the general way, so that the state is the
//! same.
//!
//! [`Kernel::goes_direct_with_logs`] says which drives may go this way.

use super::Kernel;
use crate::mover::Job;
use crate::ops::NONE;
use crate::task::{Action, Class, Task};
use wordline_flash::Kind;

/// The merge whose logical block is being copied, where merges go the direct way.
#[derive(Clone, Debug, Default)]
pub(super) struct Lone {
    /// The job that began last, if it runs.
    job: Option<u32>,
    /// The job whose page reads were put off, if any, and the number of the last operation then.
    deferred: Option<(u32, u64)>,
    /// Pages that were on their way when a merge was ended at once.
    pages: Vec<u32>,
}

impl Kernel {
    /// A job begins to bring pages of a logical block together.
    pub(super) fn begin_copying(&mut self, slot: u32) {
        if self.direct_logs {
            // Two are not alone.
            self.queue_deferred();
            self.lone.job = Some(slot);
            let Job { task, unread, window, .. } = *self.jobs.get(slot);
            // Only operations of commands that have begun; each has one page.
            if task == Task::GC && unread > 0 && self.slab.live() == self.ended.len() as u32 + self.without_block() {
                self.lone.deferred = Some((slot, self.sequence));
                self.sequence += u64::from(window);
                return;
            }
        }
        self.advance(slot);
    }

    /// A job has brought all pages of a logical block together.
    pub(super) fn end_copying(&mut self, slot: u32) {
        self.lone.job = self.lone.job.filter(|&other| other != slot);
    }

    /// Writes of the host that wait until a log block may be opened.
    fn without_block(&self) -> u32 {
        self.logs.as_ref().map_or(0, |logs| logs.without_block())
    }

    /// The job that copies a logical block, and the logical block, if no other operation is under way but those of `commands` that
    /// have begun, and writes that wait for a log block.
    fn lone_job(&self, commands: u32) -> Option<(u32, u32)> {
        let slot = self.lone.job?;
        let Job { lot, on_the_way, .. } = *self.jobs.get(slot);
        let alone = self.slab.live() == on_the_way + commands + self.without_block()
            && self.lone.deferred.is_none_or(|(deferred, _)| deferred == slot);
        alone.then_some((slot, lot))
    }

    /// Queues the page reads that were put off, unless the merge is still alone.
    pub(super) fn look_at_deferred(&mut self) {
        if self.lone.deferred.is_some() && self.lone_job(self.ended.len() as u32).is_none() {
            self.queue_deferred();
        }
    }

    /// Queues the page reads that were put off, with the numbers that they would have got.
    fn queue_deferred(&mut self) {
        let Some((slot, before)) = self.lone.deferred.take() else { return };
        let last = std::mem::replace(&mut self.sequence, before);
        self.advance(slot);
        debug_assert!(self.sequence <= last, "a window has as many numbers as it has reads");
        self.sequence = last;
    }

    /// Ends the merge of a logical block at once if nothing else is under way, and nothing is to be looked at. True if anything was
    /// done.
    #[cold]
    pub(super) fn merge_at_once(&mut self) -> bool {
        let deferred = self.lone.deferred.is_some();
        // Commands that have begun are operations of the merge, unless its reads were put off.
        let others = if deferred { self.ended.len() as u32 } else { 0 };
        if self.lone_job(others).is_none() {
            self.queue_deferred();
            return deferred;
        }
        while let Some(die) = self.ended.pop_front() {
            if let Err(fault) = self.complete(die) {
                self.fault.get_or_insert(fault);
                return true;
            }
        }
        let due = |kernel: &Self, lot| {
            kernel.logs.as_ref().is_none_or(|logs| logs.is_due())
                || kernel.lots.as_ref().is_none_or(|lots| lots.is_due_beside(lot))
        };
        let Some((slot, _)) = self.lone_job(0).filter(|&(_, lot)| !due(self, lot)) else {
            self.queue_deferred();
            return true;
        };
        self.lone.deferred = None;
        let copied = self.take_back(slot).and_then(|()| self.copy_at_once(slot));
        if let Err(fault) = copied {
            self.fault.get_or_insert(fault);
        }
        true
    }

    /// Takes back what a job has queued: page reads, which are done, and copies. Lists the pages that are still to be copied, in order.
    fn take_back(&mut self, slot: u32) -> Result<(), super::Fault> {
        let Job { task, domain, lot, .. } = *self.jobs.get(slot);
        let mut pages = std::mem::take(&mut self.lone.pages);
        pages.clear();
        for plane in self.blocks.planes_of_domain(domain) {
            while let Some(op) = self.pop(plane, Class::new(task, Action::Read)) {
                let source = self.slab.get(op).source;
                self.count_direct(Class::new(task, Action::Read), 1);
                let block = self.units_per_block.quotient(source);
                self.commit_page(Kind::Read, plane, block, self.page_of(source))?;
                self.take_copy(op, &mut pages);
            }
            while let Some(op) = self.pop(plane, Class::new(task, Action::Program)) {
                self.take_copy(op, &mut pages);
            }
        }
        while let Some(op) = self.lots.as_mut().and_then(|lots| lots.work_mut(lot).waiting.pop(&self.slab)) {
            self.take_copy(op, &mut pages);
        }
        if let Some(lots) = &mut self.lots {
            lots.work_mut(lot).sent = false;
        }
        pages.sort_unstable();
        self.lone.pages = pages;
        Ok(())
    }

    /// Removes an operation of a job; lists its page unless the host has overwritten it.
    fn take_copy(&mut self, op: u32, pages: &mut Vec<u32>) {
        let source = self.slab.get(op).source;
        self.slab.remove(op);
        if self.map.is_valid(source) {
            let unit = self.map.unit_at(source);
            pages.extend(self.lots.as_ref().map(|lots| lots.page_of(unit)));
        }
    }

    /// Copies the pages of a logical block that a job has still to copy: those that were on their way, and those that it has not
    /// looked at.
    fn copy_at_once(&mut self, slot: u32) -> Result<(), super::Fault> {
        let job = *self.jobs.get(slot);
        let Job { task, domain, lot, cursor, end, on_the_way, unread, .. } = job;
        let Some(lots) = &self.lots else { return Ok(()) };
        let (Some(data), first) = (lots.data(lot), lots.unit_at(lot, 0)) else { return Ok(()) };
        let before = lots.replaced(lot).unwrap_or(NONE);
        let is_coming = self.logs.as_ref().is_some_and(|logs| logs.is_coming(lot));
        let (upb, plane) = (self.plan.units_per_block, self.blocks.plane_of(data));
        let (start, clock) = (self.blocks.get(data).write_point, self.blocks.clock(domain));
        let (base, base_before) = (data * upb, before.wrapping_mul(upb));
        let on_their_way = self.lone.pages.len() as u32;
        let pages = std::mem::take(&mut self.lone.pages);
        let (mut at, mut copied) = (start, 0);
        // Of the block before: pages copied, when the last was, and pages read, the last of them.
        let (mut of_before, mut left_at, mut read, mut last_read) = (0, 0, 0, 0);
        // What the data block has passed is older than what lies elsewhere.
        let looked_at = pages.iter().copied().map(|page| (page, true));
        for (page, is_read) in looked_at.chain((cursor.max(start)..end).map(|page| (page, false))) {
            let unit = first + page;
            let Some(source) = self.map.place(unit) else { continue };
            at = page + 1;
            copied += 1;
            self.map.bind(unit, base + page);
            self.map.invalidate(source);
            let now = clock.wrapping_add(at - start);
            if source == base_before.wrapping_add(page) {
                (of_before, left_at) = (of_before + 1, now);
                if !is_read {
                    (read, last_read) = (read + 1, page);
                }
            } else {
                let block = self.units_per_block.quotient(source);
                self.blocks.lose_several(block, 1, now);
                if !is_read {
                    self.commit_page(Kind::Read, self.blocks.plane_of(block), block, self.page_of(source))?;
                }
            }
            if is_coming {
                self.follow_copied(unit, source, base + page);
            }
        }
        self.lone.pages = pages;
        let (reads, programs) = (copied - on_their_way, at - start);
        if before != NONE && of_before > 0 {
            self.blocks.lose_several(before, of_before, left_at);
            let of_plane = self.blocks.plane_of(before);
            let (die, last) = (self.planes_per_die.quotient(of_plane), self.page_address(of_plane, before, last_read));
            self.flash.commit_reads(self.now, die, last, read)?;
        }
        self.blocks.gain_several(data, plane, copied);
        if programs > 0 {
            if self.blocks.programmed_several(data, programs) {
                self.blocks.keep(data);
            }
            let (die, address) = (self.planes_per_die.quotient(plane), self.page_address(plane, data, start));
            self.flash.commit_programs(self.now, die, address, programs)?;
        }
        self.count_pages(Class::new(task, Action::Read), reads);
        self.count_pages(Class::new(task, Action::Program), programs);
        self.counters.padded_units += u64::from(programs - copied);
        self.counters.moved[task.index()] += u64::from(copied);
        self.settle_units(domain, on_the_way + unread);
        self.jobs.done(slot);
        self.end_lot_merge(slot, &job);
        Ok(())
    }

    /// Counts so many commands of a class, each of a page.
    pub(super) fn count_pages(&mut self, class: Class, pages: u32) {
        self.counters.commands += u64::from(pages);
        self.counters.count(class, u64::from(pages));
    }
}
