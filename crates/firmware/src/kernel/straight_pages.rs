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
use crate::ops::{FlashOp, Role, NONE};
use crate::space::{BoundPage, Stream};
use crate::task::{Action, Class, Task, CLASSES};
use wordline_base::EventQueue;
use wordline_flash::PageAddress;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

impl Kernel {
    /// True if programs and moves of this drive may go straight page by page.
    pub(super) fn moves_pages(&self) -> bool {
        self.plan.units_per_program == 1 && self.plan.domains > 1 && !self.avoids_short && self.moves_straight()
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
        if class == GC_READ {
            self.end_page_read(die);
        } else if class == GC_WRITE {
            self.end_moved_page(die);
        } else {
            return Ok(false);
        }
        if self.dirty.is_empty() {
            self.dispatch_page(die, queue)?;
        } else {
            self.mark(die);
        }
        self.run_straight(queue)?;
        Ok(true)
    }

    /// The command of a die that read a page of a victim has ended: its unit waits to be written if it is still valid.
    #[inline(never)]
    fn end_page_read(&mut self, die: u32) {
        let slot = self.leave_die(die, GC_READ).pages[0];
        let FlashOp { source, owner, .. } = *self.slab.get(slot);
        if !self.map.is_valid(source) {
            self.drop_page_read(slot);
            return;
        }
        let job = self.jobs.read_ended(owner);
        let (plane, rests) = (job.domain, job.cursor < job.end && job.on_the_way >= job.window);
        let write = self.write_behind_read(source);
        self.wait_in_plane(die, plane, GC_WRITE, slot, write);
        if !rests {
            self.mark(die);
            self.move_on_straight(owner, 0);
        }
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
        let change = self.write_behind_read(source);
        change(self.slab.get_mut(slot));
    }

    /// How the read of a place becomes the write of its unit.
    #[inline(always)]
    pub(super) fn write_behind_read(&mut self, source: Place) -> impl FnOnce(&mut FlashOp) {
        self.sequence += 1;
        let (unit, ready, sequence) = (self.map.unit_at(source), self.now, self.sequence);
        let stamp = self.shadow.as_ref().map(|shadow| shadow.at(source));
        move |op| {
            (op.class, op.unit, op.bytes, op.ready, op.sequence) = (GC_WRITE, unit, 0, ready, sequence);
            op.stamp = stamp.unwrap_or(op.stamp);
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
    #[inline(never)]
    fn end_moved_page(&mut self, die: u32) {
        let slot = self.leave_die(die, GC_WRITE).pages[0];
        let owner = self.slab.get(slot).owner;
        let Some((plane, rests, read)) = self.read_behind_write(owner) else {
            self.slab.remove(slot);
            self.move_on_straight(owner, 1);
            return;
        };
        self.wait_in_plane(die, plane, GC_READ, slot, |op| *op = read);
        if !rests {
            self.mark(die);
            self.move_on_straight(owner, 0);
        }
    }

    /// A unit of a job was written. Gives the next read of the job, the plane where it has to wait, and whether the job rests then; none if the
    /// job does not read at once.
    #[inline(always)]
    pub(super) fn read_behind_write(&mut self, owner: u32) -> Option<(u32, bool, FlashOp)> {
        let Self { counters, jobs, map, .. } = self;
        counters.moved[Task::GC.index()] += 1;
        let (place, job) = jobs.read_next(owner, map)?;
        let (plane, rests) = (job.domain, place + 1 < job.end && job.on_the_way >= job.window);
        debug_assert_eq!(plane, self.blocks.plane_of(job.block), "each plane is a domain");
        map.expect(map.unit_at(place));
        map.expect_after(place);
        self.sequence += 1;
        let read = FlashOp {
            class: GC_READ,
            source: place,
            owner,
            bytes: self.plan.unit_bytes,
            ready: self.now,
            sequence: self.sequence,
            ..FlashOp::default()
        };
        Some((plane, rests, read))
    }

    /// Changes an operation and puts it into the queue of its class in a plane of a die.
    #[inline(always)]
    fn wait_in_plane(&mut self, die: u32, plane: u32, class: Class, slot: u32, change: impl FnOnce(&mut FlashOp)) {
        self.queues[plane as usize * CLASSES + class.index()].push_changed(&mut self.slab, slot, change);
        self.dies[die as usize].waiting.set(class, plane - die * self.planes_per_die.get());
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
        let state = &self.dies[die as usize];
        debug_assert!(!state.busy, "it looks for work");
        let Some(waiting) = state.waiting.of_host_and_gc().filter(|_| self.shared_count == 0) else {
            self.dispatch(die, queue)?;
            return Ok(());
        };
        let Some((class, plane)) = self.oldest_in_plane::<true>(die, waiting) else { return Ok(()) };
        let others = Ready::planes_of(waiting, class) & !(1 << (plane - die * self.planes_per_die.get()));
        let begins = match class {
            Class::HOST_READ | GC_READ if self.leads_current(plane, class) => {
                self.busy += 1;
                return self.start_next_read::<false>(die, plane, class, others, queue);
            }
            GC_WRITE if self.goes_alone(die, plane, class, others) => self.program_moved_page(die, plane, queue)?,
            Class::HOST_WRITE if self.goes_alone(die, plane, class, others) => {
                self.program_page_of_host(die, plane, queue)?
            }
            _ => false,
        };
        if begins {
            return Ok(());
        }
        self.dispatch_with_others(die, (class, plane), waiting, queue)
    }

    /// True if nothing that waits for other planes can share the program of the oldest write of a class, of the host or of a victim. Each plane has
    /// blocks of its own to write to, so that no other can share it once this one has its page.
    #[inline(always)]
    pub(super) fn goes_alone(&self, die: u32, plane: u32, class: Class, mut others: u32) -> bool {
        if others == 0 || self.window == 0 {
            return true;
        }
        let (stream, first) = (stream_of(class), die * self.planes_per_die.get());
        let page = self.space.next_page(&self.blocks, plane, stream);
        let head = self.queues[plane as usize * CLASSES + class.index()].head;
        while others != 0 {
            let other = first + others.trailing_zeros();
            others &= others - 1;
            // Mostly their pages differ.
            let meets = self.space.next_page(&self.blocks, other, stream) == page;
            if meets && self.write_joins(other, class, page, head) {
                return false;
            }
        }
        true
    }

    /// The same where others may share the command of the oldest operation, or it is no read or program of a page.
    #[inline(never)]
    fn dispatch_with_others(
        &mut self,
        die: u32,
        oldest: (Class, u32),
        waiting: u64,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        self.dispatch_oldest(die, oldest, waiting, queue)
    }

    /// Programs the oldest unit of a victim that waits for a plane; false if it has to be done as elsewhere, and nothing has happened yet.
    #[inline(always)]
    pub(super) fn program_moved_page(&mut self, die: u32, plane: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let Some((block, page)) = self.space.open_page(&self.blocks, plane, Stream::Collector) else {
            return Ok(false);
        };
        // A collection that found nothing looks at each unit that is invalidated.
        if self.starved[plane as usize] {
            return Ok(false);
        }
        let Self { queues, slab, map, .. } = self;
        let fifo = &mut queues[plane as usize * CLASSES + GC_WRITE.index()];
        if !slab.find(fifo.head).is_some_and(|op| map.is_valid(op.source)) {
            return Ok(false);
        }
        let Some((slot, op)) = fifo.pop_alone(slab) else { return Ok(false) };
        if fifo.head == NONE {
            self.dies[die as usize].waiting.clear(GC_WRITE, plane - die * self.planes_per_die.get());
        }
        let FlashOp { unit, source, stamp, .. } = op;
        let place = block * self.plan.units_per_block + page;
        let old = map.bind(unit, place);
        debug_assert_eq!(old, Some(source), "a valid unit lies where it was read");
        map.invalidate(source);
        let closed =
            self.space.move_to_open_page(&mut self.blocks, plane, self.units_per_block.quotient(source), block);
        if let Some(shadow) = &mut self.shadow {
            shadow.moved(unit, place, stamp)?;
        }
        self.begin_page(die, (plane, slot), (block, page, closed), GC_WRITE, queue)?;
        Ok(true)
    }

    /// The same for the oldest unit of the host.
    #[inline(always)]
    pub(super) fn program_page_of_host(&mut self, die: u32, plane: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let Some((block, page)) = self.space.open_page(&self.blocks, plane, Stream::Host) else { return Ok(false) };
        let Self { queues, slab, map, .. } = self;
        let fifo = &mut queues[plane as usize * CLASSES + Class::HOST_WRITE.index()];
        let Some(op) = slab.find(fifo.head) else { return Ok(false) };
        // As `still_wanted` says.
        if op.units == 0 || (op.role == Role::Merge && !map.lies_at(op.unit, op.source)) {
            return Ok(false);
        }
        let Some((slot, op)) = fifo.pop_alone(slab) else { return Ok(false) };
        if fifo.head == NONE {
            self.dies[die as usize].waiting.clear(Class::HOST_WRITE, plane - die * self.planes_per_die.get());
        }
        let closed = self.place_lone_unit((slot, op.unit), block * self.plan.units_per_block + page, block, plane);
        if op.buffered {
            self.buffer.bound(op.held, slot);
        }
        self.begin_page(die, (plane, slot), (block, page, closed), Class::HOST_WRITE, queue)?;
        Ok(true)
    }

    /// Sends the program of a page that was bound for an operation to its idle die. The page may have been the last of its block.
    #[inline(always)]
    fn begin_page(
        &mut self,
        die: u32,
        (plane, slot): (u32, u32),
        (block, page, closed): (u32, u32, bool),
        class: Class,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let state = &mut self.dies[die as usize];
        (state.pages[0], state.count) = (slot, 1);
        if closed {
            self.settle_page(plane, BoundPage { block, page, opened: false, closed, slc: false }, class);
            self.dies[die as usize].begin(class, self.now);
        } else {
            state.begin(class, self.now);
        }
        self.count_direct(class, 1);
        self.busy += 1;
        let page = PageAddress {
            plane: plane - die * self.planes_per_die.get(),
            block: block - plane * self.blocks_per_plane.get(),
            page,
        };
        self.flash.program_lone_page(self.now, die, page, self.program_bytes, queue)?;
        Ok(())
    }
}
