//! Queueing: an operation goes into the queue of its class that its constraint selects.

use super::wishes::WISHED;
use super::Kernel;
use crate::buffer::Due;
use crate::map::Place;
use crate::ops::{Fifo, FlashOp};
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, CLASSES, ROWS};

impl Kernel {
    /// Puts an operation into the queue of its class, where its constraint says.
    #[inline]
    pub(super) fn enqueue(&mut self, slot: u32) {
        self.sequence += 1;
        let op = self.slab.get_mut(slot);
        op.sequence = self.sequence;
        op.ready = self.now;
        let FlashOp { class, buffered, ordinal, unit, source, .. } = *op;
        if buffered && self.notes.is_some() {
            self.witness_wait(slot, self.place_of(class, unit, source));
        }
        if self.detours {
            // What jobs write was paid for when its page had been read.
            let was_paid_for = self.straight_by_stage && (class.moves() || self.cores.is_none());
            if !was_paid_for && self.is_computed(slot) {
                return;
            }
            self.send_from_processor(slot, class, self.place_of(class, unit, source));
        } else {
            self.commit(slot, class, self.place_of(class, unit, source));
        }
        if buffered && class == Class::HOST_WRITE {
            self.buffer.wait(slot, ordinal);
            self.push_out();
        }
    }

    /// The constraint of an operation of a class with the unit and source given, unless an external policy places it.
    #[inline]
    pub(super) fn place_of(&self, class: Class, unit: u32, source: u32) -> Constraint {
        match class.action() {
            Action::Erase => Constraint::Plane(self.blocks.plane_of(source)),
            Action::Program if !class.moves() || self.plan.domains == 1 => self.placement.at(self.page_number(unit)),
            Action::Read | Action::Program => Constraint::Plane(self.plane_of(source)),
        }
    }

    /// The number of a unit's page, by which the placement finds its place.
    #[inline]
    pub(super) fn page_number(&self, unit: u32) -> u32 {
        match &self.parity {
            None => self.units_together.quotient(unit),
            Some(parity) => parity.page_number(unit),
        }
    }

    /// Sends an operation on that waits for no processor, or no longer.
    #[inline]
    pub(super) fn send_from_processor(&mut self, slot: u32, class: Class, constraint: Constraint) {
        if self.straight_by_stage && (class.is_write() || self.stage.as_ref().is_some_and(|stage| stage.is_due())) {
            // No write passes the stage, nor does anything while it is to be looked at; and nothing else holds it up.
            self.put_on_stage(slot, class, constraint, false);
        } else {
            self.send_aside(slot, constraint);
        }
    }

    /// Puts an operation into its queue, into the commit stage, around a busy die, or beside those that wait for their turn in
    /// their block.
    #[inline(never)]
    pub(super) fn send_aside(&mut self, slot: u32, constraint: Constraint) {
        let op = *self.slab.get(slot);
        if self.may_go_around(&op) && self.goes_around(slot) {
            return;
        }
        let asks = op.class == Class::HOST_WRITE && self.places_each;
        let constraint = if asks {
            let constraint = self.place_write(self.units_together.quotient(op.unit), slot, op.owner);
            let constraint = self.seek_place(slot, constraint);
            if op.buffered && self.notes.is_some() {
                self.witness_wait(slot, constraint);
            }
            constraint
        } else if self.wishes.is_some() && op.class == WISHED {
            self.wish_of(&op)
        } else {
            constraint
        };
        if self.waits_for_writes(slot, &op, constraint) {
            return;
        }
        if self.lots.is_some() && op.class.is_write() {
            self.wait_in_lot(slot);
        } else if self.waits_for_transaction(slot, op.class, constraint) {
            // It is committed with others.
        } else if self.waits_for_bank(slot, op.class, constraint) {
            // It goes when its die is done with other requests.
        } else if self.stage.is_some() && !self.passes_stage(&op, constraint) {
            self.put_on_stage(slot, op.class, constraint, false);
        } else {
            self.commit(slot, op.class, constraint);
        }
    }

    /// A write request of the host begins.
    #[inline]
    pub fn begin_write(&mut self, request: u32) {
        if self.places_each {
            self.placement.begin(request);
        }
    }

    /// Asks the placement for a place of a write of the host. Where planes take turns, full ones are passed over; if all are full
    /// with what is on its way to them, the least full one takes it.
    fn place_write(&mut self, page: u32, slot: u32, request: u32) -> Constraint {
        let mut place = self.placement.place(page, slot, request);
        let (planes, mut least) = (self.flash.geometry().planes(), (u32::MAX, 0));
        for tried in 0..planes {
            let Constraint::Plane(plane) = place else { return place };
            let coming = self.coming_to(plane);
            if coming < self.most_in(plane) {
                return place;
            }
            least = least.min((coming, tried));
            place = self.place_elsewhere(page, slot, request);
        }
        // Every plane was tried once: as many turns more lead back to it.
        for _ in 0..least.1 {
            place = self.place_elsewhere(page, slot, request);
        }
        place
    }

    /// Valid units that a plane may come to hold where planes take turns: bad blocks, and those that are to replace others, hold
    /// none.
    fn most_in(&self, plane: u32) -> u32 {
        let lacking = self.blocks.bad(self.blocks.domain_of_plane(plane)) + self.blocks.spare(plane);
        self.most_in_plane.saturating_sub(lacking * self.plan.units_per_block)
    }

    #[cold]
    fn place_elsewhere(&mut self, page: u32, slot: u32, request: u32) -> Constraint {
        self.placement.pass_over();
        self.placement.place(page, slot, request)
    }

    /// Valid units of a plane, if all writes of the host that wait there are bound: none of them need overwrite data of the plane.
    fn coming_to(&self, plane: u32) -> u32 {
        let queued = self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].len;
        let at_bank = self.banks.as_ref().map_or(0, |banks| banks.writes_waiting(self.planes_per_die.quotient(plane)));
        let place = Constraint::Plane(plane);
        let on_stage = self.stage.as_ref().map_or(0, |stage| stage.queue(stage.at(Class::HOST_WRITE, place)).fifo.len);
        let comes_here = |slot: u32| {
            let op = self.slab.get(slot);
            op.class == Class::HOST_WRITE && self.placement.placed(self.page_number(op.unit), slot) == place
        };
        let parked = self.after.as_ref().map_or(0, |after| after.parked().filter(|&slot| comes_here(slot)).count());
        let apart = self.transactions.as_ref().map_or(0, |transactions| {
            transactions
                .waiting_at(self.planes_per_die.quotient(plane), &self.slab)
                .filter(|&slot| comes_here(slot))
                .count()
        });
        self.blocks.valid_in_plane(plane) + queued + at_bank + on_stage + (parked + apart) as u32
    }

    /// The constraint of the operation in a slot, which has been queued before. A wish is given up then.
    pub(super) fn place_for(&self, slot: u32) -> Constraint {
        let FlashOp { class, unit, source, .. } = *self.slab.get(slot);
        if class == Class::HOST_WRITE {
            return self.placement.placed(self.page_number(unit), slot);
        }
        self.place_of(class, unit, source)
    }

    /// Puts an operation into the queue of its class at its die, or into a shared one.
    #[inline]
    pub(super) fn commit(&mut self, slot: u32, class: Class, constraint: Constraint) {
        let geometry = self.flash.geometry();
        let channels = geometry.channels as usize;
        match constraint {
            Constraint::Plane(plane) => {
                let die = self.planes_per_die.quotient(plane);
                self.queues[plane as usize * CLASSES + class.index()].push(&mut self.slab, slot);
                self.dies[die as usize].waiting.set(class, self.planes_per_die.remainder(plane));
                // Where commands take time, the units of a request come together, before their dies are looked at.
                let known = self.pages_fill && !self.timed && class.is_write();
                if !(known
                    && self.is_lonely(slot, class, &self.queues[plane as usize * CLASSES + class.index()], plane))
                {
                    self.mark(die);
                }
                if self.attentive && class == Class::HOST_READ {
                    self.press(die);
                }
            }
            Constraint::Any => self.enqueue_shared(class, 0, slot),
            Constraint::Channel(channel) => self.enqueue_shared(class, 1 + channel as usize, slot),
            Constraint::Die(die) => {
                self.enqueue_shared(class, 1 + channels + die as usize, slot);
                if self.stage.is_some() {
                    // It was sent to this die alone.
                    self.mark(die);
                }
            }
        }
    }

    /// True if a queue of writes tells by its length whether they fill a program.
    pub(super) fn fills_pages(&self) -> bool {
        let apart = self.has_slc || self.lots.is_some() || self.wishes.is_some();
        self.plan.units_per_program > 1 && self.stage.is_none() && !apart
    }

    /// True if a write that has just come to a queue can only wait for others to fill its page. Whatever lets it go alone wakes
    /// its die.
    pub(super) fn is_lonely(&self, slot: u32, class: Class, fifo: &Fifo, plane: u32) -> bool {
        if fifo.len >= self.plan.units_per_program || class.is_map_write() {
            return false;
        }
        if class.is_host() {
            // The others of the queue had their look.
            let op = self.slab.get(slot);
            return op.buffered && !self.buffer.must_go(op.ordinal);
        }
        !self.may_go_alone(fifo, class, self.blocks.domain_of_plane(plane))
    }

    #[inline]
    pub(super) fn enqueue_shared(&mut self, class: Class, at: usize, slot: u32) {
        let index = self.shared_row(class) + at;
        self.shared[index].push(&mut self.slab, slot);
        self.note_shared(class, at);
        self.count_shared(class, 1);
        self.shared_dirty |=
            self.stage.is_none() && !(self.pages_fill && self.is_lonely(slot, class, &self.shared[index], 0));
    }

    /// Writes of a class wait in a shared queue, counted in their row.
    #[inline]
    pub(super) fn note_shared(&mut self, class: Class, at: usize) {
        if at > 0 {
            let words = self.shared_places.len() / ROWS;
            self.shared_places[class.row() * words + at / 64] |= 1 << (at % 64);
        }
    }

    /// Shared queues have one write more, or one less.
    #[inline]
    pub(super) fn count_shared(&mut self, class: Class, change: i32) {
        let waiting = &mut self.shared_waiting[class.row()];
        *waiting = waiting.checked_add_signed(change).expect("a write leaves a queue that it is in");
        self.shared_count = self.shared_count.checked_add_signed(change).expect("all rows have as many as each");
    }

    /// An operation of a class has left the queues of a plane, or the shared one of its die.
    #[inline]
    pub(super) fn leaves_queue(&mut self, plane: u32, class: Class) {
        if self.stage.is_some() {
            self.leaves_die(self.planes_per_die.quotient(plane), class);
        }
    }

    /// An operation of a class waits for a die no longer.
    pub(super) fn leaves_die(&mut self, die: u32, class: Class) {
        if let Some(stage) = &mut self.stage {
            stage.count_waiting(die, class, -1);
        }
    }

    /// The first shared queue of a class of writes.
    #[inline]
    pub(super) fn shared_row(&self, class: Class) -> usize {
        class.row() * (self.shared.len() / ROWS)
    }

    /// Wakes the die of the oldest buffered unit if it has waited long enough.
    #[inline]
    pub(super) fn push_out(&mut self) {
        while let Some(due) = self.buffer.take_due() {
            match due {
                Due::Operation(slot, ordinal) => self.wake_buffered(slot, ordinal),
                Due::Unit(unit) => self.wake_unit(unit),
            }
        }
    }

    /// Wakes the die of a buffered unit that must go now, if it still waits.
    #[inline(never)]
    fn wake_buffered(&mut self, slot: u32, ordinal: u64) {
        let op = self.slab.get(slot);
        // The slot may have been used again since its write left the buffer.
        if op.ordinal != ordinal || op.class != Class::HOST_WRITE || !op.buffered {
            return;
        }
        let place = self.placement.placed(self.page_number(op.unit), slot);
        if let Some(stage) = &mut self.stage {
            stage.list_alone(stage.at(Class::HOST_WRITE, place));
            stage.dirty = true;
        }
        match place {
            Constraint::Plane(plane) => self.mark(self.planes_per_die.quotient(plane)),
            _ => self.shared_dirty = true,
        }
    }

    #[inline]
    pub(super) fn plane_of(&self, place: Place) -> u32 {
        self.blocks.plane_of(self.units_per_block.quotient(place))
    }

    /// Notes that a die may find work.
    #[inline]
    pub(super) fn mark(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.busy && !state.queued {
            state.queued = true;
            self.dirty.push_back(die);
        }
    }
}
