//! Writes of a mapping with log blocks: each goes to the data block of its logical block if it has the next page there, else to
//! a log block.
//!
//! Writes of a logical block keep their order: none goes on before those ahead of it are bound, or wait in the same tail.

use super::{Fault, Kernel};
use crate::blocks::{Opening, Status};
use crate::lots::Lots;
use crate::map::Place;
use crate::ops::{FlashOp, Role, Slab, NONE};
use crate::policy::mapping::SequenceView;
use crate::policy::placement::Constraint;
use crate::task::Task;
use std::cmp::Ordering;

/// What the writes that wait for a logical block allow.
enum Step {
    /// One of them goes to the data block.
    Send(u32),
    /// The next page of the data block stays empty, since a later one is to be copied and nothing will come for it.
    Fill(u32),
    /// One went to a log block, or was not needed any more: look again.
    Again,
    /// Nothing.
    Wait,
}

/// Writes of the host from one on that wait for a logical block and are of consecutive pages.
fn in_order(slab: &Slab, lots: &Lots, first: u32) -> u32 {
    let (mut slot, mut pages) = (first, 0);
    let page = lots.page_of(slab.get(first).unit);
    while slot != NONE {
        let op = slab.get(slot);
        if !op.class.moves() {
            if lots.page_of(op.unit) != page + pages {
                break;
            }
            pages += 1;
        }
        slot = op.next;
    }
    pages
}

impl Kernel {
    /// Does the next step for a logical block with log blocks; true if there may be another.
    pub(super) fn advance_logged(&mut self, lot: u32) -> bool {
        let Some(lots) = &self.lots else { return false };
        if lots.work(lot).sent {
            return false;
        }
        let waits = lots.work(lot).job == NONE && self.waits_to_merge(lot);
        if waits && !self.is_interrupted_at(lot) {
            return self.begin_lot(lot);
        }
        let Some(lots) = &self.lots else { return false };
        if lots.work(lot).waiting.head == NONE {
            self.leave_logged(lot);
            return false;
        }
        match self.next_step(lot) {
            Step::Send(slot) => {
                let lacks_data = self.lots.as_ref().is_some_and(|lots| lots.data(lot).is_none());
                if !lacks_data || self.open_first_data_block(lot) {
                    self.send_write(lot, slot);
                }
                false
            }
            Step::Fill(page) => {
                self.send_filler(lot, page);
                false
            }
            Step::Again => true,
            Step::Wait => false,
        }
    }

    /// A checkpoint of the merge of a logical block.
    fn is_interrupted_at(&mut self, lot: u32) -> bool {
        let Some(domain) = self.logs.as_ref().map(|logs| logs.domain(lot)) else { return false };
        self.is_interrupted(domain)
    }

    /// Looks at the writes that wait for a logical block, in their order.
    fn next_step(&mut self, lot: u32) -> Step {
        let Some(lots) = &self.lots else { return Step::Wait };
        let is_coming = self.logs.as_ref().is_some_and(|logs| logs.is_coming(lot));
        let data = lots.data(lot);
        let next = data.map_or(0, |data| self.blocks.get(data).write_point);
        let takes = data.is_none_or(|data| self.blocks.get(data).status == Status::Open);
        let (mut copy, mut beyond, mut copies, mut in_turn) = (None, false, 0, true);
        let mut slot = lots.work(lot).waiting.head;
        while slot != NONE {
            let op = *self.slab.get(slot);
            let page = lots.page_of(op.unit);
            if !self.may_wait(&op) {
                self.remove_from_lot(lot, slot);
                return Step::Again;
            }
            if op.class.moves() {
                copies += 1;
                match page.cmp(&next) {
                    Ordering::Equal => copy = Some(slot),
                    Ordering::Greater => beyond = true,
                    Ordering::Less => unreachable!("the data block has passed page {page}, which is to be copied"),
                }
            } else if in_turn {
                if takes && page == next && !is_coming {
                    return Step::Send(slot);
                }
                let (mapping, slab) = (&mut self.mapping, &self.slab);
                let starts = |domain, holder| {
                    mapping.starts_sequence(&SequenceView { lot, domain, pages: in_order(slab, lots, slot), holder })
                };
                if let Some(tail) = self.logs.as_mut().and_then(|logs| logs.tail_for(lot, page, starts)) {
                    self.take_from_lot(lot, slot);
                    self.wait_in_tail(tail, lot, slot);
                    return Step::Again;
                }
                in_turn = false;
            }
            slot = op.next;
        }
        // Wear leveling makes no way for the host: nobody would tell it to go on.
        let job = self.lots.as_ref().map_or(NONE, |lots| lots.work(lot).job);
        let is_merged = job != NONE && self.jobs.get(job).task == Task::GC;
        if (copy.is_some() || beyond) && is_merged && self.is_interrupted_at(lot) {
            return Step::Wait;
        }
        if let Some(slot) = copy {
            return Step::Send(slot);
        }
        let Some(lots) = &self.lots else { return Step::Wait };
        let unit = lots.unit_at(lot, next);
        let being_read = || self.jobs.get(lots.work(lot).job).on_the_way > copies;
        if beyond && (self.map.place(unit).is_none() || !being_read()) {
            return Step::Fill(next);
        }
        Step::Wait
    }

    /// A write waits for a page of a log block. If that is another sequential one, the one before is merged.
    fn wait_in_tail(&mut self, tail: u32, lot: u32, slot: u32) {
        let Some(logs) = &mut self.logs else { return };
        logs.wait(&mut self.slab, tail, lot, slot);
        let domain = logs.domain_of_tail(tail);
        self.merge_retired(domain);
    }

    /// A unit was copied to another place: partial writes that have read it there need not read it again. If they did, a write that
    /// makes a merge begin could have to wait for ever, since the merge moves what it has read.
    #[cold]
    pub(super) fn follow_copied(&mut self, unit: u32, from: Place, to: Place) {
        let (Some(lots), Some(logs)) = (&self.lots, &self.logs) else { return };
        let lot = lots.of_unit(unit);
        let mut heads = [lots.work(lot).waiting.head; 3];
        let mut sent = [None; 2];
        if logs.is_coming(lot) {
            for (at, tail) in logs.tails_of(lot).into_iter().enumerate() {
                (heads[1 + at], sent[at]) = (logs.tail(tail).waiting.head, logs.tail(tail).sent);
            }
        } else {
            heads[1..].fill(NONE);
        }
        let mut follow = |slot: u32| {
            let op = self.slab.get_mut(slot);
            if op.unit == unit && op.role == Role::Merge && op.source == from {
                op.source = to;
            }
            op.next
        };
        for slot in sent.into_iter().flatten() {
            follow(slot);
        }
        for mut slot in heads {
            while slot != NONE {
                slot = follow(slot);
            }
        }
    }

    /// Gives a logical block its first data block for the host, or lets it wait for one. True if it has got one.
    fn open_first_data_block(&mut self, lot: u32) -> bool {
        let Some(block) = self.open_block_near(lot, Task::HOST) else {
            if let Some(lots) = &mut self.lots {
                lots.want_block(lot);
            }
            if let Some(domain) = self.logs.as_ref().map(|logs| logs.domain(lot)) {
                self.press_merge(domain);
            }
            return false;
        };
        if let Some(lots) = &mut self.lots {
            lots.replace(lot, block);
        }
        self.collect(self.blocks.domain_of_plane(self.blocks.plane_of(block)));
        true
    }

    /// Opens a free block of the domain of a logical block for a task, where its placement wants it if there is one.
    pub(super) fn open_block_near(&mut self, lot: u32, task: Task) -> Option<u32> {
        let domain = self.logs.as_ref()?.domain(lot);
        let has_free = |plane: u32| self.blocks.free_in_plane(plane) > 0;
        let wanted = self.planes_for(lot);
        let plane = self
            .plane_to_open(wanted, has_free)
            .or_else(|| self.plane_to_open(self.blocks.planes_of_domain(domain), has_free))?;
        let how = Opening { task, worn: self.plan.open_worn.has(task), slc: false };
        self.blocks.open(plane, how, &mut self.free_block)
    }

    /// Nothing waits for a logical block: if all of it was trimmed, its data block is erased.
    fn leave_logged(&mut self, lot: u32) {
        let (Some(lots), Some(logs)) = (&mut self.lots, &self.logs) else { return };
        if lots.work(lot).job != NONE || logs.is_coming(lot) {
            return;
        }
        let is_empty = |block: &u32| self.blocks.get(*block).valid == 0 && self.blocks.get(*block).write_point > 0;
        let Some(block) = lots.data(lot).filter(is_empty) else { return };
        if lots.units_of(lot, self.plan.units()).any(|unit| self.map.place(unit).is_some()) {
            return;
        }
        lots.forget_data(lot);
        self.close_block(block);
        self.erase_unowned(Task::GC, block);
    }

    /// Looks at the tails for which something has changed.
    #[cold]
    pub(super) fn run_tails(&mut self) {
        while let Some(tail) = self.logs.as_mut().and_then(|logs| logs.next_due()) {
            self.advance_tail(tail);
        }
        if self.schedule.is_some() {
            self.take_paid_steps();
        }
    }

    /// Sends the next write of a tail to the die of its log block.
    fn advance_tail(&mut self, tail: u32) {
        let Some(logs) = &self.logs else { return };
        let state = logs.tail(tail);
        if state.sent.is_some() || state.waiting.head == NONE {
            return;
        }
        let opens = state.open.is_none();
        if opens && !self.open_log_block(tail) {
            return;
        }
        let Some(logs) = &mut self.logs else { return };
        let block = logs.tail(tail).open.expect("it has a log block");
        let slot = logs.send(&self.slab, tail).expect("a write waits");
        let plane = self.blocks.plane_of(block);
        self.send_to(slot, Constraint::Plane(plane));
        if opens {
            // Not before: a log block that nothing is on its way to may be merged.
            self.collect(self.blocks.domain_of_plane(plane));
        }
    }

    /// Gives a tail another log block, or lets it wait for one and starts what it waits for. True if it has got one.
    fn open_log_block(&mut self, tail: u32) -> bool {
        let (Some(lots), Some(logs)) = (&self.lots, &self.logs) else { return false };
        let lot = lots.of_unit(self.slab.get(logs.tail(tail).waiting.head).unit);
        let domain = logs.domain_of_tail(tail);
        let (may_open, is_full) = (logs.may_open(tail), logs.is_full(tail));
        let soon_free = logs.erasing(domain) > 0;
        if may_open {
            if let Some(block) = self.open_block_near(lot, Task::HOST) {
                if let Some(logs) = &mut self.logs {
                    logs.open(tail, block);
                }
                return true;
            }
        }
        let Some(logs) = &mut self.logs else { return false };
        if !is_full && !may_open {
            if let Some(block) = logs.take_back(domain, &self.blocks) {
                logs.open(tail, block);
                return true;
            }
        }
        if self.stand_in(lot, tail) {
            return true;
        }
        self.press_merge(domain);
        let Some(logs) = &mut self.logs else { return false };
        logs.want_block(tail);
        if is_full || !(may_open || soon_free) {
            self.start_log_merge(domain, is_full.then_some(tail));
        }
        false
    }

    /// Gives a tail a block in place of the merge that it would wait for, if merges are delayed and there is one. True if it has got it.
    fn stand_in(&mut self, lot: u32, tail: u32) -> bool {
        if !self.delays_merges() || !self.logs.as_ref().is_some_and(|logs| logs.may_stand_in(tail)) {
            return false;
        }
        let Some(block) = self.open_block_near(lot, Task::HOST) else { return false };
        if let Some(logs) = &mut self.logs {
            logs.open(tail, block);
            logs.delay_for(tail);
            self.counters.delay_blocks += 1;
        }
        true
    }

    /// The tail whose write is in a slot, if that is on its way to a log block.
    #[inline]
    pub(super) fn tail_of(&self, slot: u32) -> Option<u32> {
        let (Some(lots), Some(logs)) = (&self.lots, &self.logs) else { return None };
        logs.tail_of(lots.of_unit(self.slab.get(slot).unit), slot)
    }

    /// Binds the next page of a log block for the write that its tail has sent, unless it is not needed any more; gives the page.
    pub(super) fn bind_in_log(&mut self, die: u32, plane: u32, tail: u32, slot: u32) -> Result<Option<u32>, Fault> {
        let FlashOp { unit, .. } = *self.slab.get(slot);
        let (Some(lots), Some(logs)) = (&mut self.lots, &mut self.logs) else {
            return Err(Fault::books("a write goes to a log block, and there are none".into()));
        };
        let lot = lots.of_unit(unit);
        let block = logs.tail(tail).open.expect("its log block was opened");
        logs.came(tail, lot);
        lots.mark(lot);
        let domain = logs.domain_of_tail(tail);
        while let Some(other) = logs.next_behind(domain) {
            lots.mark(other);
        }
        if logs.lacks_block(domain) && !logs.merge(domain).runs {
            logs.offer_block(domain);
        }
        if !self.still_wanted(slot) {
            return Ok(None);
        }
        if self.schedule.is_some() {
            self.pay_for_steps(domain);
        }
        let page = self.blocks.get(block).write_point;
        let is_full = self.blocks.programmed(block);
        if let Some(logs) = &mut self.logs {
            logs.written(tail);
            if is_full {
                self.blocks.keep(block);
                logs.filled(tail);
                if self.schedule.is_some() {
                    logs.list_full(tail);
                }
            }
        }
        self.place_unit(slot, block * self.plan.units_per_block + page, block, plane)?;
        self.slab.get_mut(slot).next = NONE;
        self.command.add(self.page_address(plane, block, page), self.program_bytes);
        self.attach(die, slot);
        if is_full {
            self.merge_retired(domain);
        }
        Ok(Some(page))
    }
}
