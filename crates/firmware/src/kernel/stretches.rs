//! Stretches: consecutive units of a write of the host that are one operation, from the write buffer to the end of their program.
//!
//! Where nobody looks at single units, those of one page come together, wait together and go to flash together. A stretch counts as
//! its units do: in the order of operations, in the lengths of queues, in the ordinals of the buffer. What concerns a unit alone
//! (it is overwritten or given back while it waits, or the page has no room for all) divides it first. So all that a drive
//! does is the same as with an operation for each unit, to the last event.
//!
//! [`Kernel::goes_in_stretches`] is the one place that says which drives may have them.

use super::{stream_of, Fault, Kernel, Waits};
use crate::map::Place;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::placement::{Constraint, PlacementPolicy};
use crate::task::{Class, CLASSES};
use std::ops::Range;

impl Kernel {
    /// True if units of the host may form stretches: nothing that this drive uses looks at single units that wait or are written.
    pub(super) fn goes_in_stretches(&self) -> bool {
        self.timed && !self.avoids_stretches && self.may_have_stretches()
    }

    /// True if this drive may have them at some time.
    pub(super) fn may_have_stretches(&self) -> bool {
        let plain_map = !self.follows_units && self.table.is_none() && self.parity.is_none() && !self.has_slc;
        let plain_blocks = !self.binds_apart && !self.blocks.has_superblocks() && !self.fails;
        let plain_order =
            !self.detours && !self.follows_ends && !self.mixes && self.stage.is_none() && self.after.is_none();
        let plain_places = self.placement.fixed() || matches!(self.placement, PlacementPolicy::LeastBusy(_));
        self.plan.units_per_page > 1
            && !self.outside
            && self.buffer.is_used()
            && plain_map
            && plain_blocks
            && plain_order
            && plain_places
    }

    /// True if units of the host may form stretches.
    #[must_use]
    pub fn has_stretches(&self) -> bool {
        self.stretches
    }

    /// Lets all units be operations of their own, to compare both.
    #[doc(hidden)]
    pub fn avoid_stretches(&mut self) {
        self.avoids_stretches = true;
        self.stretches = false;
    }

    /// Writes whole units into the buffer for a request that need not wait for them, from the first on, as one stretch; returns how many.
    /// None if [`Kernel::write`] has to write the first.
    #[inline(never)]
    pub fn write_stretch(&mut self, now: wordline_base::Time, units: Range<u32>) -> u32 {
        if self.notes.is_some() {
            return 0;
        }
        let Some(stretch) = self.buffer.take_stretch(units.start, units.end) else { return 0 };
        self.now = now;
        self.counters.host_units += u64::from(stretch.units);
        self.more_units += stretch.units - 1;
        let sequence = self.sequence + 1;
        self.sequence += u64::from(stretch.units);
        let mut op = FlashOp {
            ready: now,
            sequence,
            unit: units.start,
            units: stretch.units as u16,
            ordinal: stretch.ordinal,
            held: stretch.cell,
            class: Class::HOST_WRITE,
            buffered: true,
            ..FlashOp::default()
        };
        if let Some(shadow) = &mut self.shadow {
            op.stamp = shadow.versions(stretch.units);
        }
        let slot = self.slab.insert(op);
        self.buffer.pend(stretch.cell, stretch.units, slot);
        self.queue_stretch(slot, units.start, stretch.units);
        self.buffer.wait_together(units.start, stretch.ordinal, stretch.units);
        self.push_out();
        stretch.units
    }

    /// Puts a stretch into its queue.
    #[inline]
    fn queue_stretch(&mut self, slot: u32, first: u32, units: u32) {
        let class = Class::HOST_WRITE;
        if let Constraint::Plane(plane) = self.placement.at(self.page_number(first)) {
            let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
            fifo.push(&mut self.slab, slot);
            fifo.len += units - 1;
            let die = self.planes_per_die.quotient(plane);
            self.dies[die as usize].waiting.set(class, self.planes_per_die.remainder(plane));
            self.mark(die);
        } else {
            let index = self.shared_row(class);
            let fifo = &mut self.shared[index];
            fifo.push(&mut self.slab, slot);
            fifo.len += units - 1;
            self.count_shared(class, units as i32);
            self.shared_dirty |= !(self.pages_fill && self.is_lonely(slot, class, &self.shared[index], 0));
        }
    }

    /// The queue in which a write of a unit waits.
    #[inline]
    fn queue_of(&mut self, unit: u32) -> &mut Fifo {
        match self.placement.at(self.page_number(unit)) {
            Constraint::Plane(plane) => &mut self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()],
            _ => {
                let index = self.shared_row(Class::HOST_WRITE);
                &mut self.shared[index]
            }
        }
    }

    /// Wakes the die of a unit of a stretch that must go now.
    #[inline]
    pub(super) fn wake_unit(&mut self, unit: u32) {
        match self.placement.at(self.page_number(unit)) {
            Constraint::Plane(plane) => self.mark(self.planes_per_die.quotient(plane)),
            _ => self.shared_dirty = true,
        }
    }

    /// The operation of one unit of an operation that waits: a stretch is divided for it.
    #[inline]
    pub(super) fn alone(&mut self, slot: u32, unit: u32) -> u32 {
        let FlashOp { unit: first, units, .. } = *self.slab.get(slot);
        if units <= 1 {
            return slot;
        }
        let slot = if unit == first { slot } else { self.divide(slot, unit - first) };
        if self.slab.get(slot).units > 1 {
            self.divide(slot, 1);
        }
        slot
    }

    /// Divides a stretch that waits: it keeps its first units, so many, and the others wait behind them; gives their operation.
    #[cold]
    fn divide(&mut self, slot: u32, units: u32) -> u32 {
        let op = self.slab.get_mut(slot);
        let rest = FlashOp {
            sequence: op.sequence + u64::from(units),
            unit: op.unit + units,
            ordinal: op.ordinal + u64::from(units),
            held: op.held + units,
            stamp: op.stamp + units,
            units: op.units - units as u16,
            ..*op
        };
        op.units = units as u16;
        self.more_units -= 1;
        let behind = self.slab.insert(rest);
        let mut fifo = *self.queue_of(rest.unit);
        fifo.push_behind(&mut self.slab, slot, behind);
        *self.queue_of(rest.unit) = fifo;
        self.buffer.pend(rest.held, rest.units.into(), behind);
        behind
    }

    /// Takes the oldest write of the host from where it waits, with `most` units at most.
    #[inline(always)]
    fn pop_stretch(&mut self, plane: u32, place: Waits, most: u32) -> Option<u32> {
        let class = Class::HOST_WRITE;
        let head = match place {
            Waits::Plane(plane) => self.queues[plane as usize * CLASSES + class.index()].head,
            Waits::Shared(index, _) => self.shared[index].head,
        };
        if head == NONE {
            return None;
        }
        let units = u32::from(self.slab.get(head).units);
        if units > 1 {
            self.shorten_queue(head, units, place, most);
        }
        self.pop_write(plane, class, place)
    }

    /// A stretch is about to leave its queue as one operation, with `most` units at most: its other units leave the count.
    #[inline(never)]
    fn shorten_queue(&mut self, head: u32, units: u32, place: Waits, most: u32) {
        if units > most {
            self.divide(head, most);
        }
        let more = units.min(most) - 1;
        match place {
            Waits::Plane(plane) => self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].len -= more,
            Waits::Shared(index, _) => {
                self.shared[index].len -= more;
                self.count_shared(Class::HOST_WRITE, -(more as i32));
            }
        }
    }

    /// Fills the next page of a plane with writes of the host that wait: as [`Kernel::bind_next_page`].
    #[inline(never)]
    pub(super) fn bind_stretches(&mut self, die: u32, plane: u32, place: Waits) -> Result<(), Fault> {
        let class = Class::HOST_WRITE;
        let (mut first, mut last, mut filled) = (NONE, NONE, 0);
        let (mut page, most) = (None, self.plan.units_per_program);
        while filled < most {
            let Some(slot) = self.pop_stretch(plane, place, most - filled) else { break };
            let FlashOp { units, role, .. } = *self.slab.get(slot);
            if (units == 0 || role == Role::Merge) && !self.still_wanted(slot) {
                continue;
            }
            let bound = *page.get_or_insert_with(|| {
                self.space.bind(&mut self.blocks, plane, (stream_of(class), class.task()), &mut self.free_block)
            });
            let at = bound.block * self.plan.units_per_block + bound.page * most + filled;
            if units == 1 {
                self.place_unit(slot, at, bound.block, plane)?;
            } else {
                self.place_stretch(slot, at, bound.block, plane);
            }
            if first == NONE {
                first = slot;
            } else {
                self.slab.get_mut(last).next = slot;
            }
            self.slab.get_mut(slot).next = NONE;
            last = slot;
            filled += u32::from(units);
        }
        let Some(bound) = page else { return Ok(()) };
        let mut bytes = self.program_bytes;
        if filled < most {
            self.counters.padded_units += u64::from(most - filled);
            if !self.flash.timing().loads_whole_pages {
                bytes = filled * self.plan.unit_bytes;
            }
        }
        let address = self.page_address(plane, bound.block, bound.page * self.pages_per_program);
        self.command.add(address, bytes);
        self.attach(die, first);
        self.settle_page(plane, bound, class);
        Ok(())
    }

    /// Gives the units of a stretch their new places: as [`Kernel::place_unit`].
    #[inline]
    pub(super) fn place_stretch(&mut self, slot: u32, place: Place, block: u32, plane: u32) {
        let FlashOp { unit, units, held, stamp, .. } = *self.slab.get(slot);
        let units = u32::from(units);
        let mut done = 0;
        if self.place_at_once(unit, place, units) {
            self.blocks.gain_several(block, plane, units);
            done = units;
        }
        while done < units {
            let (old, mut count) = self.map.places_in_order(unit + done, units - done);
            if let Some(old) = old {
                let old_block = self.units_per_block.quotient(old);
                count = count.min((old_block + 1) * self.plan.units_per_block - old);
                let domain = self.blocks.domain_of_plane(self.blocks.plane_of(old_block));
                let starved = self.starved[domain as usize];
                if starved {
                    // Each unit that is invalidated may let GC find something, and changes what it finds.
                    count = 1;
                }
                self.map.bind_in_order(unit + done, place + done, count);
                self.map.invalidate_in_order(old, count);
                self.blocks.lose_several(old_block, count, self.blocks.clock(domain));
                if starved {
                    self.feed(domain);
                }
            } else {
                self.map.bind_in_order(unit + done, place + done, count);
            }
            self.blocks.gain_several(block, plane, count);
            done += count;
        }
        self.buffer.bound_stretch(held, units);
        if let Some(shadow) = &mut self.shadow {
            (0..units).for_each(|at| shadow.write(unit + at, place + at, stamp + at));
        }
    }

    /// Gives units their new places if their old ones follow each other in a block, too, or none has one, and no collection looks at single
    /// units that are invalidated; false if not, and nothing has happened yet.
    #[inline(always)]
    fn place_at_once(&mut self, unit: u32, place: Place, units: u32) -> bool {
        let Some(old) = self.map.place(unit) else { return self.map.rebind_in_order(unit, None, place, units) };
        let old_block = self.units_per_block.quotient(old);
        let domain = self.blocks.domain_of_plane(self.blocks.plane_of(old_block));
        let together = old + units <= (old_block + 1) * self.plan.units_per_block && !self.starved[domain as usize];
        if !together || !self.map.rebind_in_order(unit, Some(old), place, units) {
            return false;
        }
        self.map.invalidate_in_order(old, units);
        self.blocks.lose_several(old_block, units, self.blocks.clock(domain));
        true
    }
}
