//! The straight way of programs, and of the moves of GC: from the end of a command to the start of the next one of its die.
//!
//! What `straight` does for reads of the host, where it can be done for programs, too: nothing that the drive uses looks at single
//! operations, each stream has an open block of its own in each plane, and the oldest operation goes first. The end of a
//! program gives its units back; the end of a read of GC queues its units to be written; either lets the job read on; and the oldest
//! operation that waits for the die is bound and started. Slots, books, queues and events are those of the general path, in the same order,
//! so the two may alternate. What is rare (an erase, a collection that starts or ends, writes that wait for any die, units that do
//! not fill their page) is left to it.
//!
//! [`Kernel::moves_straight`] is the one place that says which drives may go this way.

use super::ready::Ready;
use super::{stream_of, Fault, HostDone, Kernel, Waits};
use crate::map::Place;
use crate::ops::{FlashOp, Role, NONE};
use crate::policy::collect::Copyback;
use crate::policy::placement::Constraint;
use crate::space::Stream;
use crate::task::{Action, Class, Task, CLASSES};
use std::ops::Range;
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};
use wordline_flash::{Kind, MAX_PLANES};

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

/// What a die leaves when its command has ended.
pub(super) struct Left {
    /// The first operations of so many pages.
    pub(super) pages: [u32; MAX_PLANES],
    count: usize,
    /// When GC had let go of the die before.
    collector_end: Time,
}

impl Left {
    /// The first operation of each page.
    #[inline(always)]
    pub(super) fn slots(&self) -> &[u32] {
        &self.pages[..self.count]
    }

    /// When GC had let go of the die before.
    #[inline(always)]
    pub(super) fn collector_end(&self) -> Time {
        self.collector_end
    }
}

impl Kernel {
    /// True if programs and moves of this drive may go straight: reads do, and nothing that it uses looks at single writes, holds
    /// them up, or gives them pages in another way than the next of an open block.
    pub(super) fn moves_straight(&self) -> bool {
        self.goes_straight() && self.would_move_straight()
    }

    /// The same, were reads to go straight.
    pub(super) fn would_move_straight(&self) -> bool {
        let plain_map = !self.follows_units && self.parity.is_none() && self.lots.is_none();
        let plain_blocks = self.space.is_plain() && !self.blocks.has_superblocks() && !self.binds_apart;
        let plain_order = self.takes_oldest && self.stage.is_none() && self.after.is_none() && self.wishes.is_none();
        let plain_gc = !self.instant
            && self.row_units == 0
            && self.turns.is_none()
            && self.schedule.is_none()
            && self.collect.copyback() == Copyback::Off;
        plain_map && plain_blocks && plain_order && plain_gc
    }

    /// True if programs and moves go straight.
    #[must_use]
    pub fn is_straight_in_moves(&self) -> bool {
        self.straight_moves
    }

    /// Ends the command of a class of a die, as [`Kernel::complete`] and [`Kernel::pump`] would, if it was a read or program of the host
    /// or of GC; false if it has to take the general path, and nothing has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(always)]
    pub(super) fn end_move_straight(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if !self.straight_moves {
            return Ok(false);
        }
        // Writes of whole pages mostly follow each other.
        let mut in_rows = false;
        match class {
            Class::HOST_READ if self.has_read_to_merge(die) => self.end_read_to_merge(die),
            Class::HOST_READ => self.end_reads(die),
            Class::HOST_WRITE if self.straight_pages => {
                self.end_pages_of_host(die);
                in_rows = true;
            }
            Class::HOST_WRITE => in_rows = self.end_program(die),
            GC_READ => self.end_moved_read(die),
            GC_WRITE => self.end_moved_program(die),
            _ => return Ok(false),
        }
        if in_rows && self.dirty.is_empty() && self.dispatch_row(die, queue)? {
            self.run_straight(queue)?;
            return Ok(true);
        }
        self.go_on_moving(die, queue)?;
        Ok(true)
    }

    /// A command of a die has ended: its oldest operation starts, and what other dies may have to do is looked at.
    #[inline(always)]
    pub(super) fn go_on_moving(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.dirty.is_empty() {
            self.dispatch_any(die, queue)?;
        } else {
            self.mark(die);
        }
        self.run_straight(queue)
    }

    /// A die is idle again after a command of a class: counts its time; gives the operations of the command.
    #[inline(always)]
    pub(super) fn leave_die(&mut self, die: u32, class: Class) -> Left {
        let count = self.dies[die as usize].count;
        self.leave_die_with(die, class, count.into())
    }

    /// The same of a command of one page.
    #[inline(always)]
    pub(super) fn leave_lone(&mut self, die: u32, class: Class) -> Left {
        debug_assert_eq!(self.dies[die as usize].count, 1, "it has more pages");
        self.leave_die_with(die, class, 1)
    }

    /// The same of a command of so many pages.
    #[inline(always)]
    fn leave_die_with(&mut self, die: u32, class: Class, count: usize) -> Left {
        let now = self.now;
        let state = &mut self.dies[die as usize];
        let left = Left { pages: state.pages, count, collector_end: state.collector_end };
        (state.busy, state.count) = (false, 0);
        state.occupied[class.index()] += now - state.since;
        if class.task() == Task::GC {
            state.collector_end = now;
        }
        if state.counted != END_OF_TIME {
            let from = std::mem::replace(&mut state.counted, now);
            self.plane_use.add(now - from, (now - state.since.max(from)) * left.count as Time);
        }
        self.busy -= 1;
        if class.task() == Task::GC && self.awaiting > 0 {
            self.let_go(die);
        }
        left
    }

    /// The command of a die that read pages for the host has ended.
    #[inline(never)]
    pub(super) fn end_reads(&mut self, die: u32) {
        let left = self.leave_die(die, Class::HOST_READ);
        for &slot in left.slots() {
            let op = *self.slab.get(slot);
            let gc_affected = op.ready < left.collector_end;
            if op.is_of_overwriting() {
                self.merged(slot, gc_affected);
            } else {
                self.host_done(slot, &op, op.delayed || gc_affected);
            }
        }
    }

    /// True if the command of a die has read the data that one partial write is merged with, which no buffer holds.
    #[inline(always)]
    fn has_read_to_merge(&self, die: u32) -> bool {
        let state = &self.dies[die as usize];
        let merges = |op: &FlashOp| op.role == Role::Merge && !op.buffered;
        state.count == 1 && merges(self.slab.get(state.pages[0]))
    }

    /// It has ended: the read becomes the write, as [`Kernel::merged`]. Mostly it goes to the same die, which is looked at next.
    #[inline(always)]
    fn end_read_to_merge(&mut self, die: u32) {
        let left = self.leave_die(die, Class::HOST_READ);
        let slot = left.pages[0];
        self.counters.merge_reads += 1;
        self.sequence += 1;
        let op = self.slab.get_mut(slot);
        op.class = Class::HOST_WRITE;
        op.delayed |= op.ready < left.collector_end;
        (op.ready, op.sequence) = (self.now, self.sequence);
        match self.placement.at(self.units_together.quotient(op.unit)) {
            Constraint::Plane(plane) => {
                let to = self.planes_per_die.quotient(plane);
                self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].push(&mut self.slab, slot);
                self.dies[to as usize].waiting.set(Class::HOST_WRITE, plane - to * self.planes_per_die.get());
                if to != die {
                    self.mark(to);
                }
            }
            place => self.commit(slot, Class::HOST_WRITE, place),
        }
    }

    /// The program of a die with units of the host has ended; true if its last operation filled a page.
    #[inline(never)]
    pub(super) fn end_program(&mut self, die: u32) -> bool {
        let left = self.leave_die(die, Class::HOST_WRITE);
        // Neighbours of one request are told to it together.
        let mut done = HostDone { request: NONE, units: 0, bytes: 0, gc_affected: false };
        let mut last = 0;
        for &first in left.slots() {
            let mut slot = first;
            while slot != NONE {
                let FlashOp { owner, next, units, buffered, held, ordinal, delayed, ready, .. } = self.slab.take(slot);
                let units = u32::from(units);
                last = units;
                if buffered {
                    self.buffer.leave(held, ordinal, units);
                    self.more_units -= units - 1;
                }
                let gc_affected = delayed || ready < left.collector_end;
                if owner != done.request && done.units > 0 {
                    self.done.push(done);
                    (done.units, done.gc_affected) = (0, false);
                }
                done.request = owner;
                done.units += units;
                done.gc_affected |= gc_affected;
                slot = next;
            }
        }
        self.done.push(done);
        last == self.plan.units_per_program
    }

    /// The command of a die that read pages of victims has ended: each unit that is still valid waits to be written.
    #[inline(never)]
    pub(super) fn end_moved_read(&mut self, die: u32) {
        let left = self.leave_die(die, GC_READ);
        for &slot in left.slots() {
            if self.plan.units_per_page == 1 && self.plan.domains > 1 {
                self.end_moved_unit(die, slot);
                continue;
            }
            let FlashOp { source, owner, units, .. } = *self.slab.get(slot);
            self.slab.remove(slot);
            let (units_per_page, domain) = (self.plan.units_per_page, self.jobs.get(owner).domain);
            let plane = self.plane_of(source);
            let page = source - self.units_per_page.remainder(source);
            let (mut found, mut at) = (0, page);
            while let Some(place) = self.map.next_valid(at, page + units_per_page) {
                let stamp = self.shadow.as_ref().map_or(0, |shadow| shadow.at(place));
                let unit = self.map.unit_at(place);
                let write = FlashOp { class: GC_WRITE, unit, source: place, owner, stamp, ..FlashOp::default() };
                self.queue_moved(plane, write);
                (found, at) = (found + 1, place + 1);
            }
            let gone = u32::from(units) - found;
            self.jobs.read_ended(owner);
            if gone > 0 {
                self.settle_units(domain, gone);
            }
            self.move_on_straight(owner, gone);
            if self.units_per_program.get() > 1 {
                self.gather(Task::GC, domain);
            }
        }
    }

    /// The same for one page, which has one unit and moves inside its plane: its read becomes its write, in the slot that would be given
    /// back and taken again.
    #[inline(always)]
    fn end_moved_unit(&mut self, die: u32, slot: u32) {
        let FlashOp { source, owner, .. } = *self.slab.get(slot);
        let plane = self.plane_of(source);
        let is_wanted = self.map.is_valid(source);
        if is_wanted {
            self.becomes_write(slot, source);
            self.queues[plane as usize * CLASSES + GC_WRITE.index()].push(&mut self.slab, slot);
            self.dies[die as usize].waiting.set(GC_WRITE, self.planes_per_die.remainder(plane));
            self.mark(die);
        } else {
            self.slab.remove(slot);
        }
        self.jobs.read_ended(owner);
        let domain = self.jobs.get(owner).domain;
        if !is_wanted {
            self.settle_units(domain, 1);
        }
        self.move_on_straight(owner, u32::from(!is_wanted));
        if self.units_per_program.get() > 1 {
            self.gather(Task::GC, domain);
        }
    }

    /// The program of a die with units of victims has ended.
    #[inline(never)]
    pub(super) fn end_moved_program(&mut self, die: u32) {
        let left = self.leave_die(die, GC_WRITE);
        self.units_were_moved(&left, Self::move_on_straight);
    }

    /// Units of victims were written: neighbours of one job are told to it together, by a function that takes the job and their number.
    #[inline(always)]
    pub(super) fn units_were_moved(&mut self, left: &Left, move_on: impl Fn(&mut Self, u32, u32)) {
        let (mut job, mut units) = (NONE, 0);
        for &first in left.slots() {
            let mut slot = first;
            while slot != NONE {
                let FlashOp { owner, next, .. } = *self.slab.get(slot);
                self.slab.remove(slot);
                if owner != job && units > 0 {
                    self.counters.moved[Task::GC.index()] += u64::from(units);
                    move_on(self, job, std::mem::take(&mut units));
                }
                (job, units, slot) = (owner, units + 1, next);
            }
        }
        self.counters.moved[Task::GC.index()] += u64::from(units);
        move_on(self, job, units);
    }

    /// Units of a job of GC have reached their new places, or need none any more: as [`Kernel::arrived`].
    #[inline(always)]
    pub(super) fn move_on_straight(&mut self, slot: u32, units: u32) {
        self.jobs.get_mut(slot).on_the_way -= units;
        while let Some(place) = self.page_to_read(slot) {
            let units =
                if self.plan.units_per_page == 1 { self.take_unit(slot, place) } else { self.take_page(slot, place) };
            let plane = self.blocks.plane_of(self.jobs.get(slot).block);
            self.queue_in_plane(plane, self.read_for(slot, place, units));
        }
    }

    /// As [`Kernel::take_page`] for a page of one unit.
    #[inline(always)]
    fn take_unit(&mut self, slot: u32, place: u32) -> u32 {
        let job = self.jobs.get_mut(slot);
        job.cursor = place + 1;
        job.on_the_way += 1;
        job.unread -= 1;
        self.jobs.read_queued(slot);
        self.map.expect(self.map.unit_at(place));
        self.map.expect_after(place);
        1
    }

    /// Puts a unit that was read from a plane into the queue of its writes.
    #[inline(always)]
    fn queue_moved(&mut self, plane: u32, op: FlashOp) {
        if self.plan.domains == 1 {
            self.queue_where_placed(op);
        } else {
            self.queue_in_plane(plane, op);
        }
    }

    /// Puts a write into the queue where the placement wants it; gives its slot.
    #[inline(always)]
    fn queue_where_placed(&mut self, op: FlashOp) -> u32 {
        match self.placement.at(self.units_together.quotient(op.unit)) {
            Constraint::Plane(plane) => self.queue_in_plane(plane, op),
            place => {
                self.sequence += 1;
                let slot = self.slab.insert(FlashOp { sequence: self.sequence, ready: self.now, ..op });
                self.commit(slot, op.class, place);
                slot
            }
        }
    }

    /// Writes a whole unit into the buffer, as [`Kernel::write`] would, for a request that need not wait for it; false if that has to write
    /// it, since one of the unit waits in the buffer already.
    #[inline(never)]
    pub fn write_buffered_straight(&mut self, now: Time, unit: u32) -> bool {
        let Ok((ordinal, held)) = self.buffer.enter(unit) else { return false };
        self.now = now;
        self.counters.host_units += 1;
        let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
        let write =
            FlashOp { class: Class::HOST_WRITE, unit, ordinal, held, stamp, buffered: true, ..FlashOp::default() };
        let slot = self.queue_where_placed(write);
        self.buffer.pend(held, 1, slot);
        self.buffer.wait(slot, ordinal);
        self.push_out();
        true
    }

    /// Writes whole units for a request, as [`Kernel::write`] would one after the other, where there is no write buffer: the host waits for
    /// all of them.
    pub fn write_straight(&mut self, now: Time, request: u32, units: Range<u32>) {
        self.now = now;
        self.counters.host_units += u64::from(units.end - units.start);
        if self.units_together.get() == 1 && self.write_round(request, units.clone()) {
            return;
        }
        for unit in units {
            let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
            self.queue_where_placed(FlashOp {
                class: Class::HOST_WRITE,
                unit,
                owner: request,
                stamp,
                ..FlashOp::default()
            });
        }
    }

    /// The same where each unit is a page, and consecutive pages go to the planes round and round in one order; false if they do not, and nothing
    /// has happened.
    #[inline(always)]
    fn write_round(&mut self, request: u32, units: Range<u32>) -> bool {
        let Self { placement, slab, queues, dies, dirty, shadow, sequence, now, planes_per_die, .. } = self;
        let planes = placement.round();
        if planes.is_empty() {
            return false;
        }
        let mut at = units.start as usize % planes.len();
        let mut number = *sequence;
        for unit in units {
            let plane = planes[at];
            debug_assert_eq!(placement.at(unit), Constraint::Plane(plane), "it says the same page by page");
            at = if at + 1 == planes.len() { 0 } else { at + 1 };
            number += 1;
            let write = FlashOp {
                class: Class::HOST_WRITE,
                unit,
                owner: request,
                stamp: shadow.as_mut().map_or(0, |shadow| shadow.version()),
                sequence: number,
                ready: *now,
                ..FlashOp::default()
            };
            let (_, is_first) = queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].push_new(slab, write);
            let to = planes_per_die.quotient(plane);
            let die = &mut dies[to as usize];
            if is_first {
                die.waiting.set(Class::HOST_WRITE, plane - to * planes_per_die.get());
            }
            if !die.busy && !die.queued {
                die.queued = true;
                dirty.push_back(to);
            }
        }
        *sequence = number;
        true
    }

    /// Puts an operation into the queue of its class in a plane, and marks the die if it is idle.
    #[inline(always)]
    fn queue_in_plane(&mut self, plane: u32, op: FlashOp) -> u32 {
        let slot = self.push_direct(plane, op);
        self.mark(self.planes_per_die.quotient(plane));
        slot
    }

    /// As [`Kernel::run`], where mostly dies find work and nothing else is to do.
    #[inline(always)]
    pub(super) fn run_straight(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        while let Some(die) = self.dirty.pop_front() {
            self.dies[die as usize].queued = false;
            if self.straight_pages {
                self.dispatch_idle_page(die, queue)?;
            } else if !self.dies[die as usize].busy {
                self.dispatch_pages(die, queue)?;
            }
        }
        // Of what `is_quiet` looks at, the rest is for other drives.
        if !((self.stalled && self.busy == 0) | self.shared_dirty) && self.fault.is_none() {
            return Ok(());
        }
        self.run(queue)
    }

    /// As [`Kernel::dispatch`] for an idle die, where mostly reads and writes of host and GC wait, each for a plane.
    #[inline(always)]
    fn dispatch_any(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.straight_pages {
            self.dispatch_page(die, queue)
        } else {
            self.dispatch_pages(die, queue)
        }
    }

    /// The same where several units may fill a page, or pages share a command.
    #[inline(never)]
    fn dispatch_pages(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let state = &self.dies[die as usize];
        debug_assert!(!state.busy, "it looks for work");
        let Some(waiting) = state.waiting.of_host_and_gc().filter(|_| self.shared_count == 0) else {
            self.dispatch(die, queue)?;
            return Ok(());
        };
        let Some(oldest) = self.oldest_in_plane::<false>(die, waiting) else { return Ok(()) };
        self.dispatch_oldest(die, oldest, waiting, queue)
    }

    /// Starts the oldest operation that waits for an idle die, with partners among those that wait.
    #[inline(always)]
    pub(super) fn dispatch_oldest(
        &mut self,
        die: u32,
        (class, plane): (Class, u32),
        waiting: u64,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let others = Ready::planes_of(waiting, class) & !(1 << self.planes_per_die.remainder(plane));
        match class {
            Class::HOST_READ | GC_READ if self.leads_current(plane, class) => {
                self.busy += 1;
                return self.start_next_read(die, plane, class, others, queue);
            }
            Class::HOST_READ => self.reroute_oldest(plane),
            Class::HOST_WRITE | GC_WRITE => {
                self.command.clear(Kind::Program);
                self.bind_writes(die, plane, class, others)?;
                if self.command.planes() > 0 {
                    return self.begin_straight(die, class, queue);
                }
            }
            _ => {}
        }
        // An erase, or operations that had become void.
        self.dispatch(die, queue)?;
        Ok(())
    }

    /// True if the data of the oldest read that waits for a plane have not moved.
    #[inline(always)]
    pub(super) fn leads_current(&self, plane: u32, class: Class) -> bool {
        class == GC_READ || {
            let op = self.slab.get(self.queues[plane as usize * CLASSES + class.index()].head);
            if op.units <= 1 {
                self.map.lies_at(op.unit, op.source)
            } else {
                self.is_current(op)
            }
        }
    }

    /// Sends the oldest read of the host that waits for a plane after its data.
    #[cold]
    pub(super) fn reroute_oldest(&mut self, plane: u32) {
        if let Some(slot) = self.pop(plane, Class::HOST_READ) {
            self.reroute(slot);
        }
    }

    /// Binds a page for the oldest writes of a plane, with partners of other planes, as bits: as [`Kernel::issue_write`].
    #[inline(always)]
    pub(super) fn bind_writes(&mut self, die: u32, plane: u32, class: Class, mut others: u32) -> Result<(), Fault> {
        if self.window == 0 {
            others = 0;
        }
        if class == Class::HOST_WRITE {
            let at = plane - die * self.planes_per_die.get();
            if self.bind_row::<false>(die, at, others)? {
                return Ok(());
            }
        }
        let page = if others == 0 { 0 } else { self.space.next_page(&self.blocks, plane, stream_of(class)) };
        let (first, mut to) = (die * self.planes_per_die.get(), plane);
        loop {
            self.bind_page_straight(die, to, class)?;
            if self.command.planes() == 0 {
                return Ok(());
            }
            loop {
                if others == 0 {
                    return Ok(());
                }
                to = first + others.trailing_zeros();
                others &= others - 1;
                if self.write_joins(to, class, page, self.dies[die as usize].pages[0]) {
                    break;
                }
            }
        }
    }

    /// True if the oldest writes of a plane can join the page of a first one in another plane.
    #[inline]
    pub(super) fn write_joins(&self, plane: u32, class: Class, page: u32, first: u32) -> bool {
        let stream = stream_of(class);
        let fifo = &self.queues[plane as usize * CLASSES + class.index()];
        // Writes of a page that came from several requests go by the first.
        let goes_with = || self.slab.get(fifo.head).owner == self.slab.get(first).owner;
        self.space.next_page(&self.blocks, plane, stream) == page
            && self.space.has_room(&self.blocks, plane, stream)
            && fifo.head != NONE
            && self.may_go(fifo, class, self.blocks.domain_of_plane(plane))
            && (!self.keeps_to_request(class) || goes_with())
    }

    /// Fills the next page of a plane with the oldest writes of its queue: as [`Kernel::bind_page`].
    #[inline]
    pub(super) fn bind_page_straight(&mut self, die: u32, plane: u32, class: Class) -> Result<(), Fault> {
        if class == GC_WRITE && self.bind_moved(die, plane)? {
            return Ok(());
        }
        if self.plan.units_per_program > 1 {
            return self.bind_page(die, plane, class, Waits::Plane(plane));
        }
        while let Some(slot) = self.pop(plane, class) {
            let FlashOp { source, units, role, .. } = *self.slab.get(slot);
            if class == GC_WRITE {
                if !self.map.is_valid(source) {
                    self.drop_moved(slot);
                    continue;
                }
            } else if (units == 0 || role == Role::Merge) && !self.still_wanted(slot) {
                continue;
            }
            let stream = stream_of(class);
            let bound = if self.space.is_open(plane, stream) {
                self.space.bind_open(&mut self.blocks, plane, stream)
            } else {
                self.space.bind(&mut self.blocks, plane, (stream, class.task()), &mut self.free_block)
            };
            let place = bound.block * self.plan.units_per_block + bound.page;
            self.place_unit(slot, place, bound.block, plane)?;
            self.slab.get_mut(slot).next = NONE;
            if class == GC_WRITE {
                self.settle_units(self.blocks.domain_of_plane(plane), 1);
            }
            let address = self.page_address(plane, bound.block, bound.page * self.pages_per_program);
            self.command.add(address, self.program_bytes);
            self.attach(die, slot);
            if bound.opened || bound.closed {
                self.settle_page(plane, bound, class);
            }
            return Ok(());
        }
        Ok(())
    }

    /// The same for units of victims that move inside their plane, fill the page, and are all valid: neither the number of valid units of
    /// the plane nor the ranking of blocks changes. False if it has to be done as elsewhere, and nothing has happened yet.
    #[inline(always)]
    fn bind_moved(&mut self, die: u32, plane: u32) -> Result<bool, Fault> {
        let domain = self.blocks.domain_of_plane(plane);
        let most = self.plan.units_per_program;
        let fifo = &self.queues[plane as usize * CLASSES + GC_WRITE.index()];
        // A collection that found nothing looks at each unit that is invalidated.
        let plain = self.plan.domains > 1 && !self.starved[domain as usize] && fifo.len >= most;
        if !plain || !self.space.is_open(plane, Stream::Collector) {
            return Ok(false);
        }
        let head = fifo.head;
        let (mut last, mut next) = (NONE, head);
        for _ in 0..most {
            let op = self.slab.get(next);
            if !self.map.is_valid(op.source) {
                return Ok(false);
            }
            (last, next) = (next, op.next);
        }
        self.cut_queue(plane, GC_WRITE, last, most);
        let bound = self.space.bind_open(&mut self.blocks, plane, Stream::Collector);
        let mut place = bound.block * self.plan.units_per_block + bound.page * most;
        let mut slot = head;
        while slot != NONE {
            slot = self.place_moved(slot, place, bound.block, domain)?;
            place += 1;
        }
        self.space.settle(domain, most);
        self.command
            .add(self.page_address(plane, bound.block, bound.page * self.pages_per_program), self.program_bytes);
        self.attach(die, head);
        if bound.closed {
            self.settle_page(plane, bound, GC_WRITE);
        }
        Ok(true)
    }

    /// Gives a valid unit of a victim its new place, in the domain where it was: as [`Kernel::place_unit`]. Gives the operation behind its own.
    #[inline(always)]
    pub(super) fn place_moved(&mut self, slot: u32, place: Place, block: u32, domain: u32) -> Result<u32, Fault> {
        let FlashOp { unit, source, stamp, next, .. } = *self.slab.get(slot);
        let old = self.map.bind(unit, place);
        debug_assert_eq!(old, Some(source), "a valid unit lies where it was read");
        self.map.invalidate(source);
        self.blocks.moved(self.units_per_block.quotient(source), block, domain);
        if let Some(shadow) = &mut self.shadow {
            shadow.moved(unit, place, stamp)?;
        }
        Ok(next)
    }

    /// Sends the bound writes of a class to their idle die.
    #[inline(always)]
    pub(super) fn begin_straight(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        self.count_direct(class, self.command.planes() as u64);
        self.busy += 1;
        self.dies[die as usize].begin(class, self.now);
        if self.command.is_single() {
            self.flash.program_page(self.now, die, &self.command, queue)?;
        } else {
            self.flash.begin(self.now, die, &self.command, queue)?;
        }
        Ok(())
    }
}
