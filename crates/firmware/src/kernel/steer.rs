//! Writes of a mapping that fixes their pages: they wait beside the queues until it is their turn in their block.
//!
//! The next page of a data block gets, in this order: a write of the host that waits for it; the copy of its old data; if
//! later pages are wanted, a copy that is still to be read, or nothing where there are no data. A write of a page that has been
//! written needs another block. It waits until the logical block has no replaced block any more, and some block is free.

use super::{Fault, Kernel, Waits};
use crate::blocks::Opening;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::placement::Constraint;
use crate::task::{Class, Task, CLASSES};
use std::cmp::{Ordering, Reverse};
use std::ops::Range;
use wordline_flash::Kind;

/// The writes that wait for a logical block, seen from the next page of its data block.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The write of that page.
    next: Option<u32>,
    /// The first page after it that something waits for.
    beyond: Option<u32>,
    /// True if something waits for a page before it.
    behind: bool,
}

impl Kernel {
    /// A write waits for its turn in its block.
    pub(super) fn wait_in_lot(&mut self, slot: u32) {
        let lots = self.lots.as_mut().expect("the mapping fixes pages");
        lots.wait(&mut self.slab, slot);
    }

    /// Looks at the logical blocks for which something has changed.
    #[cold]
    pub(super) fn run_lots(&mut self) {
        let has_logs = self.logs.is_some();
        while let Some(lot) = self.lots.as_mut().and_then(|lots| lots.next_due()) {
            while if has_logs { self.advance_logged(lot) } else { self.advance_lot(lot) } {}
        }
    }

    /// Does the next step for a logical block; true if there may be another.
    fn advance_lot(&mut self, lot: u32) -> bool {
        let Some(lots) = &mut self.lots else { return false };
        if lots.work(lot).sent {
            return false;
        }
        if lots.replaced(lot).is_none() {
            // Its data block can be replaced now.
            let asked = std::mem::take(&mut lots.work_mut(lot).asked);
            asked.iter().for_each(|task| self.ask(task));
        }
        let Some(lots) = &self.lots else { return false };
        if lots.work(lot).waiting.head == NONE {
            self.leave_lot(lot);
            return false;
        }
        let data = lots.data(lot);
        let next = data.map_or(0, |data| self.blocks.get(data).write_point);
        let Seen { next: write, beyond, behind } = self.look_over(lot, next);
        if write.is_none() && beyond.is_none() && !behind {
            return true;
        }
        if data.is_none() {
            return self.open_for_host(lot);
        }
        if let Some(slot) = write {
            self.send_write(lot, slot);
            return false;
        }
        if let Some(page) = beyond {
            self.fill_up_to(lot, next, page);
            return false;
        }
        // What was dropped may have been the last that a merge waited for.
        match self.lots.as_ref().and_then(|lots| lots.replaced(lot)) {
            None => self.open_for_host(lot),
            Some(block) => self.free_of_replaced(lot, block),
        }
    }

    /// Nothing waits for a logical block.
    fn leave_lot(&mut self, lot: u32) {
        let Some(lots) = &mut self.lots else { return };
        if lots.replaced(lot).is_some() {
            return;
        }
        let trimmed = |block: &u32| self.blocks.get(*block).valid == 0 && self.blocks.get(*block).write_point > 0;
        if let Some(block) = lots.data(lot).filter(trimmed) {
            self.retire_data(lot, block);
        }
    }

    /// Looks at the writes that wait for a logical block, and takes those out that cannot go.
    fn look_over(&mut self, lot: u32, next: u32) -> Seen {
        'again: loop {
            let Some(lots) = &self.lots else { return Seen::default() };
            let mut seen = Seen::default();
            let mut slot = lots.work(lot).waiting.head;
            while slot != NONE {
                let op = self.slab.get(slot);
                if !self.may_wait(op) {
                    self.remove_from_lot(lot, slot);
                    continue 'again;
                }
                let page = lots.page_of(op.unit);
                match page.cmp(&next) {
                    Ordering::Equal if op.class.is_host() => return Seen { next: Some(slot), ..seen },
                    Ordering::Equal => seen.next = Some(slot),
                    Ordering::Greater => seen.beyond = Some(seen.beyond.map_or(page, |first| first.min(page))),
                    Ordering::Less => seen.behind = true,
                }
                slot = op.next;
            }
            return seen;
        }
    }

    /// Takes a write out of those that wait for a logical block.
    pub(super) fn take_from_lot(&mut self, lot: u32, slot: u32) {
        let Some(lots) = &mut self.lots else { return };
        let number = self.slab.get(slot).sequence;
        let waiting = &mut lots.work_mut(lot).waiting;
        let taken = waiting.take_if(&mut self.slab, u32::MAX, |op| op.sequence == number);
        assert_eq!(taken, Some(slot), "a write waits for its logical block");
    }

    /// False for a copy whose data were overwritten, and for a buffered write whose unit was trimmed: they are over. False also for
    /// a partial write whose old data have moved: it reads them again now. If it did so only when it is its turn, another
    /// write could go on to the next page meanwhile, and two of them take turns for ever.
    pub(super) fn may_wait(&self, op: &FlashOp) -> bool {
        if op.class.moves() {
            return self.map.is_valid(op.source);
        }
        op.units > 0 && (op.role != Role::Merge || self.map.place(op.unit).is_none_or(|place| place == op.source))
    }

    /// Takes a write out that is over, or reads its old data again.
    pub(super) fn remove_from_lot(&mut self, lot: u32, slot: u32) {
        self.take_from_lot(lot, slot);
        let wanted = self.still_wanted(slot);
        assert!(!wanted, "a write is removed that could go");
    }

    /// Sends the write of the next page to the die of its block.
    pub(super) fn send_write(&mut self, lot: u32, slot: u32) {
        self.take_from_lot(lot, slot);
        self.send_in_turn(lot, slot);
    }

    fn send_in_turn(&mut self, lot: u32, slot: u32) {
        let Some(lots) = &mut self.lots else { return };
        lots.work_mut(lot).sent = true;
        let block = lots.data(lot).expect("its page is there");
        self.send_to(slot, Constraint::Plane(self.blocks.plane_of(block)));
    }

    /// Sends a write to the plane of the block whose next page it gets.
    pub(super) fn send_to(&mut self, slot: u32, constraint: Constraint) {
        let FlashOp { class, buffered, .. } = *self.slab.get(slot);
        if buffered && self.notes.is_some() {
            self.witness_wait(slot, constraint);
        }
        if self.stage.is_some() {
            self.put_on_stage(slot, class, constraint, false);
        } else {
            self.commit(slot, class, constraint);
        }
    }

    /// A page behind the next one is wanted: the next one gets its old data, or nothing if there are none.
    fn fill_up_to(&mut self, lot: u32, next: u32, page: u32) {
        let Some(lots) = &self.lots else { return };
        let unit = lots.unit_at(lot, next);
        if self.map.place(unit).is_some() {
            self.copy_up_to(lot, page);
            return;
        }
        self.send_filler(lot, next);
    }

    /// Programs the next page of a data block empty.
    pub(super) fn send_filler(&mut self, lot: u32, next: u32) {
        let Some(lots) = &self.lots else { return };
        let unit = lots.unit_at(lot, next);
        let job = lots.work(lot).job;
        let task = if job == NONE { Task::HOST } else { self.jobs.get(job).task };
        self.sequence += 1;
        let op = FlashOp {
            class: Class::map_write(task),
            role: Role::Filler,
            unit,
            sequence: self.sequence,
            ready: self.now,
            ..FlashOp::default()
        };
        let slot = self.slab.insert(op);
        self.send_in_turn(lot, slot);
    }

    /// Gives a logical block another data block for the host, or lets it wait for one. True if it has got one.
    fn open_for_host(&mut self, lot: u32) -> bool {
        if self.open_data_block(lot, Task::HOST) {
            return true;
        }
        if let Some(lots) = &mut self.lots {
            lots.want_block(lot);
        }
        // A drive that took over another state may lack free blocks from the start.
        let domain = match self.placement.at(lot) {
            Constraint::Plane(plane) => self.blocks.domain_of_plane(plane),
            _ => 0,
        };
        self.collect(domain);
        false
    }

    /// Gives a logical block without replaced block another data block; false if there is none for the task.
    pub(super) fn open_data_block(&mut self, lot: u32, task: Task) -> bool {
        let Some(plane) = self.plane_for(lot, task) else { return false };
        let Some(lots) = &mut self.lots else { return false };
        let how = Opening { task, worn: self.plan.open_worn.has(task), slc: false };
        let block = self.blocks.open(plane, how, &mut self.free_block).expect("a block of the plane is free");
        let before = lots.data(lot);
        lots.replace(lot, block);
        let domain = self.blocks.domain_of_plane(plane);
        if let Some(before) = before {
            self.close_block(before);
        }
        if task == Task::HOST {
            self.collect(domain);
        }
        true
    }

    /// The plane with a free block that the data of a logical block go to.
    fn plane_for(&self, lot: u32, task: Task) -> Option<u32> {
        let keeps = if task == Task::HOST { self.plan.reserve_blocks } else { 0 };
        let may_open = |plane: u32| {
            self.blocks.free_in_plane(plane) > 0
                && self.blocks.free_in_domain(self.blocks.domain_of_plane(plane)) > keeps
        };
        self.plane_to_open(self.planes_for(lot), may_open)
    }

    /// The planes that the placement allows for a logical block.
    pub(super) fn planes_for(&self, lot: u32) -> Range<u32> {
        let geometry = self.flash.geometry();
        let per_channel = geometry.planes_per_die * geometry.dies_per_channel();
        let of = |number: u32, size: u32| number * size..(number + 1) * size;
        match self.placement.at(lot) {
            Constraint::Plane(plane) => plane..plane + 1,
            Constraint::Die(die) => of(die, geometry.planes_per_die),
            Constraint::Channel(channel) => of(channel, per_channel),
            Constraint::Any => 0..geometry.planes(),
        }
    }

    /// Of planes in which a block may be opened one of an idle die, on the channel, then the die, then the plane with the most
    /// free blocks.
    pub(super) fn plane_to_open(&self, mut planes: Range<u32>, may_open: impl Fn(u32) -> bool) -> Option<u32> {
        if planes.len() == 1 {
            return planes.next().filter(|&plane| may_open(plane));
        }
        let geometry = self.flash.geometry();
        let per_channel = geometry.planes_per_die * geometry.dies_per_channel();
        let free = |plane: u32| self.blocks.free_in_plane(plane);
        let sum = |of: u32, size: u32| (of / size * size..of / size * size + size).map(free).sum::<u32>();
        let rank = |&plane: &u32| {
            let busy = self.dies[self.planes_per_die.quotient(plane) as usize].busy;
            let most = [sum(plane, per_channel), sum(plane, geometry.planes_per_die), free(plane)];
            (busy, most.map(Reverse), plane)
        };
        planes.filter(|&plane| may_open(plane)).min_by_key(rank)
    }

    /// The page that the oldest write of a queue has in its block.
    fn page_in_turn(&self, fifo: &Fifo) -> Option<u32> {
        let lots = self.lots.as_ref()?;
        if fifo.head == NONE {
            return None;
        }
        match self.tail_of(fifo.head) {
            Some(tail) => {
                let block = self.logs.as_ref()?.tail(tail).open?;
                Some(self.blocks.get(block).write_point)
            }
            None => Some(lots.page_of(self.slab.get(fifo.head).unit)),
        }
    }

    /// Binds the page of a write whose turn it is, with partners of other planes.
    #[cold]
    pub(super) fn issue_write_in_turn(&mut self, die: u32, class: Class, place: Waits) -> Result<(), Fault> {
        let Waits::Plane(plane) = place else { unreachable!("writes have a plane where pages are fixed") };
        self.command.clear(Kind::Program);
        let Some(page) = self.bind_in_turn(die, plane, class)? else { return Ok(()) };
        if self.pack.window() == 0 {
            return Ok(());
        }
        self.join_in_turn(die, class, page)?;
        if self.mixes {
            for other in self.guests_of(class) {
                let before = self.dies[die as usize].count;
                self.join_in_turn(die, other, page)?;
                self.dies[die as usize].mixed |= self.dies[die as usize].count > before;
            }
        }
        Ok(())
    }

    /// Takes writes of a class along that have the same page in another plane of the die.
    fn join_in_turn(&mut self, die: u32, class: Class, page: u32) -> Result<(), Fault> {
        for partner in self.planes_left(die) {
            let fifo = self.queues[partner as usize * CLASSES + class.index()];
            let joins = self.page_in_turn(&fifo) == Some(page)
                && self.is_of_request(self.pages_so_far(die), self.slab.get(fifo.head));
            if joins && self.agrees(die, fifo.head, partner, page) {
                self.bind_in_turn(die, partner, class)?;
            }
        }
        Ok(())
    }

    /// Binds the page of the oldest write of a plane, unless it is not needed any more; gives the page.
    fn bind_in_turn(&mut self, die: u32, plane: u32, class: Class) -> Result<Option<u32>, Fault> {
        let slot = self.pop(plane, class).expect("the survey saw it");
        if let Some(tail) = self.tail_of(slot) {
            return self.bind_in_log(die, plane, tail, slot);
        }
        let FlashOp { unit, role, .. } = *self.slab.get(slot);
        let lots = self.lots.as_mut().expect("the mapping fixes pages");
        let lot = lots.of_unit(unit);
        let (block, page) = (lots.data(lot).expect("its block was opened"), lots.page_of(unit));
        lots.work_mut(lot).sent = false;
        lots.mark(lot);
        if role != Role::Filler && !self.still_wanted(slot) {
            return Ok(None);
        }
        if self.blocks.get(block).write_point != page {
            return Err(Fault::books(format!("page {page} of block {block} is not the next")));
        }
        if self.blocks.programmed(block) {
            self.blocks.keep(block);
        }
        if role == Role::Filler {
            self.counters.padded_units += 1;
        } else {
            let place = block * self.plan.units_per_block + page;
            self.place_unit(slot, place, block, plane)?;
            if class.moves() {
                if self.logs.is_some() {
                    self.follow_copied(unit, self.slab.get(slot).source, place);
                }
                self.settle_units(self.blocks.domain_of_plane(plane), 1);
            }
        }
        self.slab.get_mut(slot).next = NONE;
        self.command.add(self.page_address(plane, block, page), self.program_bytes);
        self.attach(die, slot);
        Ok(Some(page))
    }
}
