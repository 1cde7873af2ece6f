//! The straight way of plain reads: from the host to the start of their command, and from its end back to the host.
//!
//! Where the map is in memory and nobody looks at single reads, little can happen to one. Its die is busy, so that it waits there;
//! or idle and without work, so that it starts. The end of its command brings its data, and the oldest read that waits there
//! comes next. The functions here do these moments with the same slots, books, queues and events as the general path, in the
//! same order, but without marks, survey and arbiter. All other moments are left to it, one request or one end at a time. So
//! the state of the kernel is the same after each step, whichever way it took.
//!
//! [`Kernel::goes_straight`] is the one place that says which drives may go this way. `straight_moves` has programs and
//! the moves of GC.

use super::{Fault, HostDone, Kernel};
use crate::ops::{FlashOp, Role, NONE};
use crate::task::{Class, CLASSES};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};
use wordline_flash::Kind;

impl Kernel {
    /// True if plain reads of this drive may go straight: nothing that it uses looks at single reads, or holds them up.
    pub(super) fn goes_straight(&self) -> bool {
        let plain_map = self.table.is_none() && !self.has_slc;
        let plain_order = !self.detours && !self.follows_ends && !self.attentive && !self.mixes && self.hold_below == 0;
        let unwatched = self.notes.is_none() && !self.outside && !self.holding.asks && self.read_limit == u32::MAX;
        self.timed && !self.avoids_straight && !self.fails && plain_map && plain_order && unwatched
    }

    /// Finds out which operations may go straight, and on which way, when what decides on it has changed.
    pub(super) fn find_ways(&mut self) {
        self.straight = self.goes_straight();
        self.straight_moves = self.moves_straight();
        self.straight_by_stage = self.goes_straight_by_stage();
    }

    /// True if plain reads go straight.
    #[must_use]
    pub fn is_straight(&self) -> bool {
        self.straight || self.straight_by_stage
    }

    /// Lets all operations take the general path, to compare both.
    #[doc(hidden)]
    pub fn avoid_straight(&mut self) {
        (self.avoids_straight, self.avoids_short) = (true, true);
        self.find_ways();
    }

    /// Reads bytes of one unit for a request, as [`Kernel::read`] and [`Kernel::pump`] would, if its die is busy, or idle without
    /// other work; false if it has to take the general path, and nothing has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn read_straight(
        &mut self,
        now: Time,
        request: u32,
        unit: u32,
        bytes: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if !self.straight || self.buffer.holds(unit) || !self.is_quiet() {
            return Ok(false);
        }
        let Some(source) = self.map.place(unit) else { return Ok(false) };
        let block = self.units_per_block.quotient(source);
        let plane = self.blocks_per_plane.quotient(block);
        let die = self.planes_per_die.quotient(plane);
        let busy = self.dies[die as usize].busy;
        if !busy && (self.shared_count > 0 || !self.waiting[die as usize].is_nothing()) {
            return Ok(false);
        }
        self.now = now;
        self.sequence += 1;
        let (ready, sequence) = (now, self.sequence);
        let op = FlashOp { ready, sequence, unit, source, owner: request, bytes, ..FlashOp::default() };
        let slot = self.slab.insert(op);
        if busy {
            self.queues[plane as usize * CLASSES + Class::HOST_READ.index()].push(&mut self.slab, slot);
            self.waiting[die as usize].set(Class::HOST_READ, self.planes_per_die.remainder(plane));
            return Ok(true);
        }
        self.command.clear(Kind::Read);
        self.add_read(die, slot)?;
        self.begin_straight(die, Class::HOST_READ, queue)?;
        Ok(true)
    }

    /// Ends the command of a die, as [`Kernel::complete`] and [`Kernel::pump`] would, if it was a plain read; false if it has to take
    /// the general path, and nothing has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub(super) fn end_straight(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let state = &mut self.dies[die as usize];
        if !self.straight || state.class != Class::HOST_READ || state.count != 1 || state.counted != END_OF_TIME {
            return Ok(false);
        }
        let slot = state.pages[0];
        let op = self.slab.get(slot);
        if op.role != Role::Plain || op.next != NONE || state.mixed {
            return Ok(false);
        }
        let gc_affected = op.delayed || op.ready < state.collector_end;
        let FlashOp { owner, units, bytes, .. } = *op;
        (state.busy, state.count) = (false, 0);
        self.occupied[die as usize][Class::HOST_READ.index()] += self.now - state.since;
        self.idle_in_channel[self.flash.channel_of(die) as usize] += 1;
        self.busy -= 1;
        self.slab.remove(slot);
        self.done.push(HostDone { request: owner, units: u32::from(units), bytes, gc_affected });
        let still = self.shared_count == 0 && self.is_quiet();
        if !(still && self.next_straight(die, queue)?) {
            self.mark(die);
            self.pump(queue)?;
        }
        Ok(true)
    }

    /// Starts the oldest read that waits for an idle die, with partners of other planes, if nothing but reads of the host waits there;
    /// false if the general path has to look at the die.
    #[inline(always)]
    fn next_straight(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let waiting = self.waiting[die as usize];
        let mut planes = waiting.planes(Class::HOST_READ);
        if waiting.of_host_and_gc() != Some(u64::from(planes)) {
            return Ok(false);
        }
        if planes == 0 {
            return Ok(true);
        }
        let first = die * self.planes_per_die.get();
        let at = if planes.is_power_of_two() { planes.trailing_zeros() } else { self.oldest_bit(first, planes.into()) };
        let (class, plane) = (Class::HOST_READ, first + at);
        let op = *self.slab.get(self.queues[plane as usize * CLASSES + class.index()].head);
        if !self.is_current(&op) {
            return Ok(false);
        }
        let slot = self.pop(plane, class).expect("it waits there");
        self.command.clear(Kind::Read);
        self.add_read(die, slot)?;
        planes &= !(1 << at);
        let window = self.pack.window();
        if planes != 0 && window > 0 {
            let (page, any_owner) = (self.page_of(op.source), !self.keeps_to_request(class));
            while planes != 0 {
                let partner = first + planes.trailing_zeros();
                planes &= planes - 1;
                let fits = |kernel: &Self, other: &FlashOp| {
                    kernel.joins(other, page) && (any_owner || other.owner == op.owner)
                };
                if let Some(slot) = self.take_read(partner, class, window, fits) {
                    self.add_read(die, slot)?;
                }
            }
        }
        self.begin_straight(die, Class::HOST_READ, queue)?;
        Ok(true)
    }
}
