//! The straight way of programs and moves where a page has one unit, and each plane collects for itself: commands of one page.
//!
//! `straight_moves` has this way for all drives. Where one unit fills a page, and nothing waits that could share its command, each step is
//! one operation in a known slot: the read of a victim becomes its write, and this the next read of its job, in the same slot. So the
//! functions here have no loops, detours or commands that are put together; what they cannot do at once they leave to
//! `straight_moves`, before anything has happened. Only programs of the host in several planes at once are many operations; they end here, too,
//! and `straight_rows` binds and begins them.
//!
//! [`Kernel::moves_pages`] is the one place that says which drives may go this way.

use super::ready::Ready;
use super::{stream_of, Fault, HostDone, Kernel};
use crate::map::Place;
use crate::ops::{FlashOp, Role, Taken, NONE};
use crate::space::BoundPage;
use crate::task::{Action, Class, Task, CLASSES};
use wordline_base::{EventQueue, Time};
use wordline_flash::PageAddress;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

/// Where the oldest operation waits that a die could begin: for a plane of the drive, which is the one at a place in the die. Others of its
/// class wait for other planes of the die, as bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) die: u32,
    pub(super) at: u32,
    pub(super) plane: u32,
    pub(super) others: u32,
}

/// What a write of GC becomes: the next read of its job.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextRead {
    place: Place,
    bytes: u32,
    ready: Time,
    sequence: u64,
}

impl NextRead {
    /// It takes the place of a write of its job.
    #[inline(always)]
    pub(super) fn replaces(self, op: &mut FlashOp) {
        let Self { place, bytes, ready, sequence } = self;
        (op.class, op.source, op.bytes, op.ready, op.sequence) = (GC_READ, place, bytes, ready, sequence);
        (op.unit, op.stamp) = (0, 0);
        let (owner, next) = (op.owner, op.next);
        let new = FlashOp { class: GC_READ, source: place, owner, bytes, ready, sequence, next, ..FlashOp::default() };
        debug_assert_eq!(*op, new, "the rest is as in any read of GC");
    }
}

impl Kernel {
    /// True if programs and moves of this drive may go straight page by page.
    pub(super) fn moves_pages(&self) -> bool {
        self.would_move_pages() && self.moves_straight()
    }

    /// The same, were programs and moves to go straight.
    pub(super) fn would_move_pages(&self) -> bool {
        self.plan.units_per_program == 1 && self.plan.domains > 1 && !self.avoids_short
    }

    /// True if programs and moves go straight page by page.
    #[must_use]
    pub fn is_straight_in_pages(&self) -> bool {
        self.straight_pages
    }

    /// Ends the command of a class of a die, as [`Kernel::end_move_straight`], if it read or programmed one page for GC; false if not, and nothing
    /// has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(always)]
    pub(super) fn end_page_of_gc(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if class != GC_READ && class != GC_WRITE {
            return Ok(false);
        }
        self.end_and_go_on(die, class, queue)?;
        Ok(true)
    }

    /// The command of a die that read or programmed one page for GC has ended, and the oldest operation that waits there begins: one function,
    /// since most commands of GC go this way.
    #[inline(never)]
    fn end_and_go_on(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        if class == GC_READ {
            self.end_page_read(die);
        } else {
            self.end_moved_page(die);
        }
        if self.dirty.is_empty() {
            self.dispatch_page_here(die, queue)?;
        } else {
            self.mark(die);
        }
        self.run_straight(queue)
    }

    /// The command of a die that read a page of a victim has ended: its unit waits to be written if it is still valid.
    #[inline(always)]
    pub(super) fn end_page_read(&mut self, die: u32) {
        let slot = self.leave_lone(die, GC_READ).pages[0];
        let FlashOp { source, owner, .. } = *self.slab.get(slot);
        if !self.map.is_valid(source) {
            self.drop_page_read(slot);
            return;
        }
        let job = self.jobs.read_ended(owner);
        let (plane, rests) = (job.domain, job.rests());
        let write = self.write_behind_read(slot, source);
        self.wait_in_plane(die, plane, GC_WRITE, slot, write);
        if !rests {
            self.read_on(die, owner);
        }
    }

    /// A job may read its next page.
    #[inline(never)]
    fn read_on(&mut self, die: u32, job: u32) {
        self.mark(die);
        self.move_on_straight(job, 0);
    }

    /// The program of a die with units of the host has ended, as [`Kernel::end_program`]: each page has one.
    #[inline(always)]
    pub(super) fn end_pages_of_host(&mut self, die: u32) {
        let left = self.leave_die(die, Class::HOST_WRITE);
        let mut done = HostDone { request: NONE, units: 0, bytes: 0, gc_affected: false };
        for &slot in left.slots() {
            let FlashOp { owner, next, units, buffered, held, ordinal, delayed, ready, .. } = self.slab.take(slot);
            debug_assert!(next == NONE, "a page has one operation");
            let units = u32::from(units);
            if buffered {
                self.buffer.leave(held, ordinal, units);
                self.more_units -= units - 1;
            }
            if owner != done.request && done.units > 0 {
                self.done.push(done);
                (done.units, done.gc_affected) = (0, false);
            }
            done.request = owner;
            done.units += units;
            done.gc_affected |= delayed || ready < left.collector_end();
        }
        self.done.push(done);
    }

    /// The read of a place becomes the write of its unit, in the same slot.
    #[inline(always)]
    pub(super) fn becomes_write(&mut self, slot: u32, source: Place) {
        let change = self.write_behind_read(slot, source);
        change(self.slab.get_mut(slot));
    }

    /// How the read of a place becomes the write of its unit.
    #[inline(always)]
    pub(super) fn write_behind_read(&mut self, slot: u32, source: Place) -> impl FnOnce(&mut FlashOp) {
        self.sequence += 1;
        if self.shadow.is_some() {
            self.stamp_read(slot, source);
        }
        let (unit, ready, sequence) = (self.map.unit_at(source), self.now, self.sequence);
        move |op| (op.class, op.unit, op.bytes, op.ready, op.sequence) = (GC_WRITE, unit, 0, ready, sequence)
    }

    /// The version of what was read.
    #[cold]
    fn stamp_read(&mut self, slot: u32, source: Place) {
        if let Some(shadow) = &self.shadow {
            self.slab.get_mut(slot).stamp = shadow.at(source);
        }
    }

    /// A page of a victim was read whose unit is not wanted any more.
    #[inline(never)]
    fn drop_page_read(&mut self, slot: u32) {
        let owner = self.slab.get(slot).owner;
        self.slab.remove(slot);
        self.jobs.read_ended(owner);
        self.settle_units(self.jobs.get(owner).domain, 1);
        self.move_on_straight(owner, 1);
    }

    /// The program of a die with a unit of a victim has ended: mostly its job reads the next one.
    #[inline(always)]
    pub(super) fn end_moved_page(&mut self, die: u32) {
        let slot = self.leave_lone(die, GC_WRITE).pages[0];
        let owner = self.slab.get(slot).owner;
        let Some((plane, rests, read)) = self.read_behind_write(owner) else {
            self.end_of_reads(slot, owner);
            return;
        };
        self.wait_in_plane(die, plane, GC_READ, slot, |op| read.replaces(op));
        if !rests {
            self.read_on(die, owner);
        }
    }

    /// The same where its job does not read at once.
    #[inline(never)]
    fn end_of_reads(&mut self, slot: u32, job: u32) {
        self.slab.remove(slot);
        self.move_on_straight(job, 1);
    }

    /// A unit of a job was written. Gives the next read of the job, the plane where it has to wait, and whether the job rests then; none if the
    /// job does not read at once.
    #[inline(always)]
    pub(super) fn read_behind_write(&mut self, owner: u32) -> Option<(u32, bool, NextRead)> {
        let Self { counters, jobs, map, .. } = self;
        counters.moved[Task::GC.index()] += 1;
        let (place, job) = jobs.read_next(owner, map)?;
        let (plane, rests) = (job.domain, job.rests());
        debug_assert_eq!(plane, self.blocks.plane_of(job.block), "each plane is a domain");
        map.expect(map.unit_at(place));
        map.expect_after(place);
        self.sequence += 1;
        let read = NextRead { place, bytes: self.plan.unit_bytes, ready: self.now, sequence: self.sequence };
        Some((plane, rests, read))
    }

    /// Changes an operation and puts it into the queue of its class in a plane of a die.
    #[inline(always)]
    fn wait_in_plane(&mut self, die: u32, plane: u32, class: Class, slot: u32, change: impl FnOnce(&mut FlashOp)) {
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        if fifo.push_changed(&mut self.slab, slot, change) {
            self.dies[die as usize].waiting.set(class, plane - die * self.planes_per_die.get());
        }
    }

    /// As [`Kernel::dispatch_any`] for a die that may be busy.
    #[inline(never)]
    pub(super) fn dispatch_idle_page(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.dies[die as usize].busy || self.dispatch_row(die, queue)? {
            return Ok(());
        }
        self.dispatch_page(die, queue)
    }

    /// As [`Kernel::dispatch_any`].
    #[inline(never)]
    pub(super) fn dispatch_page(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.dispatch_page_here(die, queue)
    }

    /// The same where it is a part of what most commands do. Mostly the oldest operation can begin, and alone.
    #[inline(always)]
    fn dispatch_page_here(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let state = &self.dies[die as usize];
        debug_assert!(!state.busy, "it looks for work");
        let Some(waiting) = state.waiting.of_host_and_gc().filter(|_| self.shared_count == 0) else {
            return self.dispatch_otherwise(die, queue);
        };
        if waiting == 0 {
            return Ok(());
        }
        let first = die * self.planes_per_die.get();
        let bit = self.oldest_bit(first, waiting);
        let (class, at) = Ready::of_bit(bit);
        let others = Ready::planes_of(waiting & !(1 << bit), class);
        let seat = Seat { die, at, plane: first + at, others };
        let begins = match class {
            GC_READ => self.read_page_of_gc(seat, queue)?,
            GC_WRITE => self.program_moved_page::<false>(seat, queue)?,
            Class::HOST_WRITE => self.program_page_of_host::<false, false>(seat, queue)?,
            Class::HOST_READ => self.read_page_of_host(seat, queue)?,
            _ => false,
        };
        if begins {
            return Ok(());
        }
        self.dispatch_with_care(die, (waiting, bit), queue)
    }

    /// The same where anything may wait.
    #[inline(never)]
    pub(super) fn dispatch_otherwise(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.dispatch(die, queue)?;
        Ok(())
    }

    /// The same where the oldest operation of those given, which has this bit, has no open block, shares its command with others, or is no read
    /// or program of a page.
    #[inline(never)]
    fn dispatch_with_care(
        &mut self,
        die: u32,
        (waiting, oldest): (u64, u32),
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let Some((class, plane)) = self.oldest_from_bit::<true>(die, waiting, oldest) else { return Ok(()) };
        let at = plane - die * self.planes_per_die.get();
        let seat = Seat { die, at, plane, others: Ready::planes_of(waiting, class) & !(1 << at) };
        let begins = match class {
            GC_WRITE => self.program_moved_page::<false>(seat, queue)?,
            Class::HOST_WRITE => self.program_page_of_host::<false, false>(seat, queue)?,
            _ => false,
        };
        if begins {
            return Ok(());
        }
        self.dispatch_oldest(die, (class, plane), waiting, queue)
    }

    /// Reads for the oldest read of GC that waits for a plane, with partners if others can share the command; false if there is none.
    #[inline(always)]
    fn read_page_of_gc(&mut self, seat: Seat, queue: &mut EventQueue) -> Result<bool, Fault> {
        let fifo = &mut self.queues[seat.plane as usize * CLASSES + GC_READ.index()];
        let Some(lead) = fifo.lead_of(&mut self.slab) else { return Ok(false) };
        let taken = lead.take();
        self.read_taken(seat, GC_READ, taken, queue)
    }

    /// The same of the host; false, too, if its data have moved, and nothing has happened yet.
    #[inline(always)]
    fn read_page_of_host(&mut self, seat: Seat, queue: &mut EventQueue) -> Result<bool, Fault> {
        let Self { queues, slab, map, .. } = self;
        let fifo = &mut queues[seat.plane as usize * CLASSES + Class::HOST_READ.index()];
        let Some(lead) = fifo.lead_of(slab) else { return Ok(false) };
        let FlashOp { unit, source, units, .. } = *lead.op();
        if units > 1 || !map.lies_at(unit, source) {
            return Ok(false);
        }
        let taken = lead.take();
        self.read_taken(seat, Class::HOST_READ, taken, queue)
    }

    /// Begins a read that has left its queue.
    #[inline(always)]
    fn read_taken(&mut self, seat: Seat, class: Class, taken: Taken, queue: &mut EventQueue) -> Result<bool, Fault> {
        let Seat { die, at, plane, others } = seat;
        let Taken { slot, op: FlashOp { source, owner, bytes, .. }, last } = taken;
        if last {
            self.dies[die as usize].waiting.clear(class, at);
        }
        self.busy += 1;
        let block = self.units_per_block.quotient(source);
        let page = source - block * self.plan.units_per_block;
        if others != 0 && self.window > 0 && self.join_straight(die, slot, (owner, page), class, others)? {
            self.begin_joined(die, class, queue)?;
            return Ok(true);
        }
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        self.start_page_read(die, slot, (page, bytes), class, queue)?;
        Ok(true)
    }

    /// The page of the stream's open block that the oldest write of a class that waits for a plane gets, if there is one, and nothing that waits
    /// for other planes can share its program. Each plane has blocks of its own to write to, so that no other can share it once this one has its
    /// page.
    #[inline(always)]
    fn page_for_lone(&self, seat: Seat, class: Class) -> Option<(u32, u32)> {
        let Seat { die, plane, mut others, .. } = seat;
        let stream = stream_of(class);
        let (block, page) = self.space.open_page(&self.blocks, plane, stream)?;
        if others != 0 && self.window != 0 {
            let first = die * self.planes_per_die.get();
            while others != 0 {
                let other = first + others.trailing_zeros();
                others &= others - 1;
                // Mostly their pages differ.
                if self.space.next_page_of_open(&self.blocks, other, stream) == page {
                    let head = self.queues[plane as usize * CLASSES + class.index()].head;
                    if self.write_joins(other, class, page, head) {
                        return None;
                    }
                }
            }
        }
        Some((block, page))
    }

    /// Programs the oldest unit of a victim that waits for a plane; false if it has to be done as elsewhere, and nothing has happened yet.
    /// `NOTED` says that accounts of requests are kept.
    #[inline(always)]
    pub(super) fn program_moved_page<const NOTED: bool>(
        &mut self,
        seat: Seat,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        let Seat { die, at, plane, .. } = seat;
        let Some((block, page)) = self.page_for_lone(seat, GC_WRITE) else { return Ok(false) };
        // A collection that found nothing looks at each unit that is invalidated.
        if self.starved[plane as usize] {
            return Ok(false);
        }
        let Self { queues, slab, map, .. } = self;
        let Some(lead) = queues[plane as usize * CLASSES + GC_WRITE.index()].lead_of(slab) else { return Ok(false) };
        if !map.is_valid(lead.op().source) {
            return Ok(false);
        }
        let Taken { slot, op: FlashOp { unit, source, stamp, .. }, last } = lead.take();
        if last {
            self.dies[die as usize].waiting.clear(GC_WRITE, at);
        }
        let place = block * self.plan.units_per_block + page;
        let old = map.bind(unit, place);
        debug_assert_eq!(old, Some(source), "a valid unit lies where it was read");
        map.invalidate(source);
        let from = self.units_per_block.quotient(source);
        let closed = self.space.move_to_open_page(&mut self.blocks, plane, from, (block, page));
        if let Some(shadow) = &mut self.shadow {
            shadow.moved(unit, place, stamp)?;
        }
        self.begin_page::<NOTED>(seat, slot, (block, page, closed), GC_WRITE, queue)?;
        Ok(true)
    }

    /// The same for the oldest unit of the host. `FEEDS` asks whether it lets a collection start that found nothing before, which is done
    /// elsewhere.
    #[inline(always)]
    pub(super) fn program_page_of_host<const FEEDS: bool, const NOTED: bool>(
        &mut self,
        seat: Seat,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        let Seat { die, at, plane, .. } = seat;
        let Some((block, page)) = self.page_for_lone(seat, Class::HOST_WRITE) else { return Ok(false) };
        if FEEDS && self.feeds(plane) {
            return Ok(false);
        }
        let Self { queues, slab, map, .. } = self;
        let Some(lead) = queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].lead_of(slab) else {
            return Ok(false);
        };
        let FlashOp { unit, source, units, role, .. } = *lead.op();
        // As `still_wanted` says.
        if units == 0 || (role == Role::Merge && !map.lies_at(unit, source)) {
            return Ok(false);
        }
        let Taken { slot, op: FlashOp { buffered, held, .. }, last } = lead.take();
        if last {
            self.dies[die as usize].waiting.clear(Class::HOST_WRITE, at);
        }
        let place = block * self.plan.units_per_block + page;
        let closed = self.place_lone_unit((slot, unit), place, (block, page), plane);
        if buffered {
            self.buffer.bound(held, slot);
        }
        self.begin_page::<NOTED>(seat, slot, (block, page, closed), Class::HOST_WRITE, queue)?;
        Ok(true)
    }

    /// Sends the program of a page that was bound for an operation to its idle die. The page may have been the last of its block.
    #[inline(always)]
    fn begin_page<const NOTED: bool>(
        &mut self,
        seat: Seat,
        slot: u32,
        (block, page, closed): (u32, u32, bool),
        class: Class,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let Seat { die, at, plane, .. } = seat;
        let state = &mut self.dies[die as usize];
        (state.pages[0], state.count) = (slot, 1);
        if closed {
            self.begin_last_page(die, plane, (block, page), class);
        } else {
            state.begin(class, self.now);
        }
        self.count_direct(class, 1);
        self.busy += 1;
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        if NOTED {
            self.hear_next(class);
        }
        self.flash.program_lone_page(self.now, die, page, self.program_bytes, queue)?;
        if NOTED {
            self.witness_begun(die, class);
        }
        Ok(())
    }

    /// A die begins to program the last page of a block.
    #[inline(never)]
    fn begin_last_page(&mut self, die: u32, plane: u32, (block, page): (u32, u32), class: Class) {
        self.settle_page(plane, BoundPage { block, page, opened: false, closed: true, slc: false }, class);
        self.dies[die as usize].begin(class, self.now);
    }
}
