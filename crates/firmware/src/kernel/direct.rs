//! The direct way of untimed writes: filling and overwriting a drive before a run.
//!
//! Without time, and where each page has its plane, little can come between two writes. So most of the general path is
//! known beforehand: which operation of a die is the oldest that can go, which others join it, and what its end brings. The
//! functions here do these cases with the same queues, slots and records as the general path, in the same order, and leave all
//! others to it, one step at a time. So the state of the kernel is the same after each step, whichever way it took.
//!
//! [`Kernel::goes_direct`] is the one place that says which drives may go this way. Two cases are done here: a die whose
//! writes of the host fill pages, in blocks that are open, while GC has nothing that can go there ([`Kernel::program_direct`]);
//! and a plane that GC has to itself while nothing else can go in the whole drive ([`Kernel::move_direct`]).

use super::{Fault, Kernel};
use crate::map::Place;
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::policy::collect::Copyback;
use crate::policy::placement::Constraint;
use crate::space::Stream;
use crate::task::{Action, Class, Task, Tasks, CLASSES};
use wordline_base::{EventQueue, Time};
use wordline_flash::Kind;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);
const GC_ERASE: Class = Class::new(Task::GC, Action::Erase);

/// Most units of a program that is bound here.
const MOST_UNITS: usize = 16;
/// Most units of a batch that go without queues.
const MOST_AT_ONCE: usize = 8;

/// The bits of a mask, from the lowest.
#[inline]
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}

impl Kernel {
    /// True if untimed writes of this drive may go the direct way: nothing that it uses looks at single operations.
    pub(super) fn goes_direct(&self) -> bool {
        let plain_flash = !self.flash.wears() && !self.fails && self.notes.is_none();
        let plain_map = self.table.is_none()
            && self.parity.is_none()
            && !self.follows_units
            && self.lots.is_none()
            && self.shadow.is_none();
        let plain_blocks =
            self.space.is_plain() && !self.blocks.has_superblocks() && !self.binds_apart && !self.has_slc;
        let plain_order = self.takes_oldest
            && !self.mixes
            && self.row_units == 0
            && !self.detours
            && self.stage.is_none()
            && !self.follows_ends
            && self.after.is_none();
        let plain_gc = !self.holding.asks
            && self.hold_below == 0
            && self.turns.is_none()
            && !self.collect.weighs()
            && self.collect.copyback() == Copyback::Off;
        !self.timed
            && !self.avoids_direct
            && !self.outside
            && self.plan.units_per_program as usize <= MOST_UNITS
            && self.placement.fixed()
            && self.plan.tasks == Tasks::BASIC
            && !self.redundancy.erases_in_turn()
            && self.read_limit == u32::MAX
            && plain_flash
            && plain_map
            && plain_blocks
            && plain_order
            && plain_gc
    }

    /// True if untimed merges of this drive, and writes beside its log blocks, may go the direct way: nothing that it uses looks at
    /// single operations, each command has one page, and there is one die: where several work side by side, wear
    /// leveling comes to what they have done in another order.
    pub(super) fn goes_direct_with_logs(&self) -> bool {
        let plain_flash = !self.flash.wears() && !self.fails && self.notes.is_none() && self.shadow.is_none();
        let plain_map = self.logs.is_some() && self.table.is_none() && self.parity.is_none() && !self.follows_units;
        let plain_order = self.stage.is_none()
            && !self.follows_ends
            && self.after.is_none()
            && self.arounds.is_none()
            && self.cores.is_none()
            && self.wishes.is_none()
            && self.read_limit == u32::MAX;
        let plain_gc = self.schedule.is_none() && !self.holding.asks && self.hold_below == 0 && self.turns.is_none();
        let alone = (self.pack.window() == 0 || self.planes_per_die.get() == 1) && !self.mixes && !self.attentive;
        let page_by_page = self.plan.units_per_program == 1 && self.pages_per_program == 1 && !self.has_slc;
        !self.timed
            && !self.avoids_direct
            && !self.outside
            && plain_flash
            && plain_map
            && plain_order
            && plain_gc
            && alone
            && page_by_page
            && self.flash.geometry().dies() == 1
    }

    /// True if untimed writes go the direct way.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Lets all untimed writes take the general path from the next [`Kernel::set_timed`] on, to compare both.
    #[doc(hidden)]
    pub fn avoid_direct(&mut self) {
        (self.avoids_direct, self.avoids_short) = (true, true);
    }

    /// Writes whole units that the host hands over together, as [`Kernel::write`] and [`Kernel::pump`] would.
    ///
    /// # Errors
    /// When a rule is broken.
    pub fn write_direct(&mut self, now: Time, units: &[u32], queue: &mut EventQueue) -> Result<(), Fault> {
        self.now = now;
        self.counters.host_units += units.len() as u64;
        if let Some(planes) = self.go_at_once(units) {
            for (&unit, plane) in units.iter().zip(planes) {
                self.program_unit(plane, unit)?;
            }
            if self.is_quiet() {
                return Ok(());
            }
        } else {
            for &unit in units {
                if !self.buffer.has_room() {
                    self.pump_direct(queue)?;
                }
                self.queue_direct(unit);
            }
        }
        self.pump_direct(queue)
    }

    /// The plane of a unit.
    #[inline]
    fn own_plane(&self, unit: u32) -> u32 {
        let Constraint::Plane(plane) = self.placement.at(self.units_together.quotient(unit)) else {
            unreachable!("each page has its plane")
        };
        plane
    }

    /// The planes of a batch if each of its units fills a program of a die of its own, where nothing else waits and a block is open.
    #[inline]
    fn go_at_once(&self, units: &[u32]) -> Option<[u32; MOST_AT_ONCE]> {
        let special = self.units_per_program.get() > 1 || self.buffer.is_used() || self.stalled || self.fault.is_some();
        if special || units.len() > MOST_AT_ONCE || !self.dirty.is_empty() || !self.ended.is_empty() {
            return None;
        }
        let (mut dies, mut planes) = ([u32::MAX; MOST_AT_ONCE], [0; MOST_AT_ONCE]);
        for (at, &unit) in units.iter().enumerate() {
            planes[at] = self.own_plane(unit);
            let die = self.planes_per_die.quotient(planes[at]);
            let free = self.dies[die as usize].waiting.is_nothing() && self.space.is_open(planes[at], Stream::Host);
            if !free || dies[..at].contains(&die) {
                return None;
            }
            dies[at] = die;
        }
        Some(planes)
    }

    /// Programs a page of a plane with one unit of the host.
    #[inline]
    fn program_unit(&mut self, plane: u32, unit: u32) -> Result<(), Fault> {
        let bound = self.space.bind_open(&mut self.blocks, plane, Stream::Host);
        if let Some(old) = self.map.bind(unit, bound.block * self.plan.units_per_block + bound.page) {
            self.invalidate(old);
        }
        self.blocks.gain(bound.block, plane);
        self.count_direct(Class::HOST_WRITE, 1);
        if bound.closed {
            self.settle_page(plane, bound, Class::HOST_WRITE);
        }
        self.commit_page(Kind::Program, plane, bound.block, bound.page)
    }

    /// Counts a command of a class with so many pages.
    #[inline(always)]
    pub(super) fn count_direct(&mut self, class: Class, planes: u64) {
        let pages = planes * if class.is_write() { u64::from(self.pages_per_program) } else { 1 };
        self.counters.commands += 1;
        self.counters.count(class, pages);
        if planes > 1 {
            self.counters.multi_plane[class.index()] += pages;
        }
    }

    /// Has the NAND read or program a page of a block.
    #[inline]
    pub(super) fn commit_page(&mut self, kind: Kind, plane: u32, block: u32, page: u32) -> Result<(), Fault> {
        let die = self.planes_per_die.quotient(plane);
        let address = self.page_address(plane, block, page);
        Ok(self.flash.commit_page(self.now, die, kind, address)?)
    }

    /// Queues a whole unit of the host: as [`Kernel::write`].
    #[inline]
    fn queue_direct(&mut self, unit: u32) {
        let mut op = FlashOp { class: Class::HOST_WRITE, unit, ..FlashOp::default() };
        op.buffered = self.buffer.is_used();
        if op.buffered {
            match self.buffer.enter(unit) {
                Ok(taken) => (op.ordinal, op.held) = taken,
                Err(waiting) => {
                    // It replaces what waits there.
                    debug_assert_eq!(self.slab.get(waiting).units, 1, "nothing was given back");
                    self.counters.absorbed_units += 1;
                    return;
                }
            }
        }
        let plane = self.own_plane(unit);
        let (ordinal, held) = (op.ordinal, op.held);
        let slot = self.push_direct(plane, op);
        let fifo = self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()];
        if !op.buffered {
            self.mark(self.planes_per_die.quotient(plane));
            return;
        }
        self.buffer.pend(held, 1, slot);
        if fifo.len >= self.plan.units_per_program || self.buffer.must_go(ordinal) {
            self.mark(self.planes_per_die.quotient(plane));
        }
        self.buffer.wait(slot, ordinal);
        self.push_out();
    }

    /// Puts an operation into the queue of its class in a plane.
    #[inline(always)]
    pub(super) fn push_direct(&mut self, plane: u32, op: FlashOp) -> u32 {
        self.sequence += 1;
        let class = op.class;
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        let (slot, is_first) =
            fifo.push_new(&mut self.slab, FlashOp { sequence: self.sequence, ready: self.now, ..op });
        if is_first {
            let die = self.planes_per_die.quotient(plane);
            self.dies[die as usize].waiting.set(class, self.planes_per_die.remainder(plane));
        }
        slot
    }

    /// As [`Kernel::pump`].
    #[inline]
    fn pump_direct(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        loop {
            while let Some(die) = self.dirty.pop_front() {
                self.dies[die as usize].queued = false;
                self.dispatch_direct(die, queue)?;
            }
            let Some(die) = self.ended.pop_front() else { break };
            if self.dies[die as usize].class == Class::HOST_WRITE {
                self.complete_direct(die);
            } else {
                self.complete(die)?;
            }
        }
        self.pump(queue)?;
        self.done.clear();
        Ok(())
    }

    /// As [`Kernel::dispatch`].
    #[inline]
    fn dispatch_direct(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if let Some((host, gc)) = self.ready_direct(die) {
            if host | gc == 0 {
                return Ok(());
            }
            if gc == 0 {
                if self.program_direct(die, host)? {
                    return Ok(());
                }
            } else if host == 0 && gc.is_power_of_two() && self.dirty.is_empty() && self.ended.is_empty() {
                self.move_direct(die, gc.trailing_zeros())?;
            }
        }
        self.dispatch(die, queue)?;
        Ok(())
    }

    /// The planes of an idle die, as bits, where writes of the host fill a page, and where operations of GC can go; none if
    /// others may go, too.
    #[inline]
    fn ready_direct(&self, die: u32) -> Option<(u32, u32)> {
        let waiting = self.dies[die as usize].waiting;
        let [hosts, writes, [reads, erases]] = [
            [waiting.planes(Class::HOST_READ), waiting.planes(Class::HOST_WRITE)],
            [waiting.planes(GC_WRITE), 0],
            [waiting.planes(GC_READ), waiting.planes(GC_ERASE)],
        ];
        if self.dies[die as usize].busy || hosts[0] != 0 || waiting.of_host_and_gc().is_none() {
            return None;
        }
        let first = die * self.planes_per_die.get();
        let most = self.plan.units_per_program;
        let mut gc = reads | erases;
        for bit in bits(writes[0] & !gc) {
            let fifo = &self.queues[(first + bit) as usize * CLASSES + GC_WRITE.index()];
            if fifo.len >= most {
                gc |= 1 << bit;
            } else if self.jobs.is_released(self.jobs.group(Task::GC, self.blocks.domain_of_plane(first + bit))) {
                return None;
            }
        }
        let mut host = 0;
        for bit in bits(hosts[1]) {
            let fifo = &self.queues[(first + bit) as usize * CLASSES + Class::HOST_WRITE.index()];
            if fifo.len >= most {
                host |= 1 << bit;
            } else {
                // The first is the oldest here, and goes first.
                let op = self.slab.get(fifo.head);
                if !op.buffered || self.buffer.must_go(op.ordinal) {
                    return None;
                }
            }
        }
        Some((host, gc))
    }

    /// Number of the oldest operation of a queue in the order of becoming ready.
    #[inline]
    fn oldest_of(&self, fifo: &Fifo) -> u64 {
        if fifo.head == NONE {
            u64::MAX
        } else {
            self.slab.get(fifo.head).sequence
        }
    }

    /// Programs pages of an idle die with units of the host, in the plane that has waited longest and in others at its page
    /// offset. False if that plane has no open block.
    #[inline]
    fn program_direct(&mut self, die: u32, host: u32) -> Result<bool, Fault> {
        let planes = self.planes_per_die.get();
        let first = die * planes;
        let lead = if host.is_power_of_two() {
            first + host.trailing_zeros()
        } else {
            let queue = |bit: u32| self.queues[(first + bit) as usize * CLASSES + Class::HOST_WRITE.index()];
            let oldest = bits(host).min_by_key(|&bit| self.oldest_of(&queue(bit)));
            first + oldest.unwrap_or(0)
        };
        if !self.space.is_open(lead, Stream::Host) {
            return Ok(false);
        }
        let page = self.space.next_page(&self.blocks, lead, Stream::Host);
        self.command.clear(Kind::Program);
        self.bind_direct(die, lead);
        if self.pack.window() > 0 && !host.is_power_of_two() {
            for partner in bits(host).map(|bit| first + bit).filter(|&partner| partner != lead) {
                if self.space.is_open(partner, Stream::Host)
                    && self.space.next_page(&self.blocks, partner, Stream::Host) == page
                {
                    self.bind_direct(die, partner);
                }
            }
        }
        self.count_direct(Class::HOST_WRITE, self.command.planes() as u64);
        self.busy += 1;
        let state = &mut self.dies[die as usize];
        (state.busy, state.class, state.since) = (true, Class::HOST_WRITE, self.now);
        self.flash.commit(self.now, die, &self.command)?;
        self.ended.push_back(die);
        Ok(true)
    }

    /// Fills the next page of a plane's open block with units of the host that wait there.
    #[inline]
    fn bind_direct(&mut self, die: u32, plane: u32) {
        let most = self.plan.units_per_program;
        let first = self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].head;
        // The units have waited for each other: what is needed of each is asked for before the first is done.
        let mut bound_units = [(NONE, 0, NONE); MOST_UNITS];
        let bound_units = &mut bound_units[..most as usize];
        let mut slot = first;
        for entry in bound_units.iter_mut() {
            let FlashOp { unit, held, next, .. } = *self.slab.get(slot);
            *entry = (slot, unit, held);
            slot = next;
        }
        bound_units.iter().for_each(|&(_, unit, _)| self.expect_overwrite(unit));
        let bound = self.space.bind_open(&mut self.blocks, plane, Stream::Host);
        let place = bound.block * self.plan.units_per_block + bound.page * most;
        let buffered = self.buffer.is_used();
        for (place, &(slot, unit, held)) in (place..).zip(bound_units.iter()) {
            if let Some(old) = self.map.bind(unit, place) {
                self.invalidate(old);
            }
            self.blocks.gain(bound.block, plane);
            if buffered {
                self.buffer.bound(held, slot);
            }
        }
        self.cut_queue(plane, Class::HOST_WRITE, bound_units[bound_units.len() - 1].0, most);
        self.command
            .add(self.page_address(plane, bound.block, bound.page * self.pages_per_program), self.program_bytes);
        self.attach(die, first);
        if bound.closed {
            self.settle_page(plane, bound, Class::HOST_WRITE);
        }
    }

    /// Takes the first operations of a queue, up to one of them, which stay linked.
    #[inline(always)]
    pub(super) fn cut_queue(&mut self, plane: u32, class: Class, last: u32, count: u32) {
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        fifo.cut(&mut self.slab, last, count);
        if fifo.head == NONE {
            self.clear_waiting(plane, class);
        }
    }

    /// The program of a die with units of the host has ended. Nobody waits for them.
    #[inline]
    fn complete_direct(&mut self, die: u32) {
        self.busy -= 1;
        let state = &mut self.dies[die as usize];
        let (count, pages) = (usize::from(state.count), state.pages);
        (state.busy, state.count) = (false, 0);
        for &page in &pages[..count] {
            let mut slot = page;
            while slot != NONE {
                let FlashOp { next, buffered, held, ordinal, .. } = *self.slab.get(slot);
                self.slab.remove(slot);
                if buffered {
                    self.buffer.leave(held, ordinal, 1);
                }
                slot = next;
            }
        }
        self.mark(die);
    }

    /// Moves data of the victims of one plane of a die, while nothing else in the drive can go: until they wait for something
    /// that takes the general path.
    fn move_direct(&mut self, die: u32, bit: u32) -> Result<(), Fault> {
        let plane = die * self.planes_per_die.get() + bit;
        // The die is looked at in any case.
        self.dies[die as usize].queued = true;
        let moved = self.move_on(plane);
        let state = &mut self.dies[die as usize];
        (state.queued, state.collector_end) = (false, self.now);
        moved
    }

    #[inline]
    fn move_on(&mut self, plane: u32) -> Result<(), Fault> {
        let domain = self.blocks.domain_of_plane(plane);
        let group = self.jobs.group(Task::GC, domain);
        let first = plane as usize * CLASSES;
        let [reads, writes, erases] = [GC_READ, GC_WRITE, GC_ERASE].map(|class| first + class.index());
        while !self.starved[domain as usize] && !self.jobs.is_released(group) {
            let read = self.oldest_of(&self.queues[reads]);
            let fills = self.queues[writes].len >= self.plan.units_per_program;
            let write = if fills { self.oldest_of(&self.queues[writes]) } else { u64::MAX };
            let oldest = read.min(write);
            if oldest == u64::MAX || self.oldest_of(&self.queues[erases]) < oldest {
                break;
            }
            if read < write {
                self.read_moved(plane, domain, group)?;
            } else if !self.write_moved(plane, domain)? {
                break;
            }
        }
        Ok(())
    }

    /// Reads the next page of a victim, and queues its valid units to be written.
    #[inline]
    fn read_moved(&mut self, plane: u32, domain: u32, group: u32) -> Result<(), Fault> {
        let slot = self.queues[plane as usize * CLASSES + GC_READ.index()].head;
        let FlashOp { source, owner, units, role, .. } = *self.slab.get(slot);
        debug_assert_eq!(role, Role::Plain, "reads of a victim are plain");
        self.cut_queue(plane, GC_READ, slot, 1);
        self.count_direct(GC_READ, 1);
        let block = self.units_per_block.quotient(source);
        let offset = self.units_per_page.quotient(source - block * self.plan.units_per_block);
        self.commit_page(Kind::Read, plane, block, offset)?;
        self.slab.remove(slot);
        let units_per_page = self.plan.units_per_page;
        let page = block * self.plan.units_per_block + offset * units_per_page;
        let (mut found, mut at) = (0, page);
        while let Some(place) = self.map.next_valid(at, page + units_per_page) {
            let unit = self.map.unit_at(place);
            self.push_direct(plane, FlashOp { class: GC_WRITE, unit, source: place, owner, ..FlashOp::default() });
            found += 1;
            at = place + 1;
        }
        let gone = u32::from(units) - found;
        self.jobs.read_ended(owner);
        self.space.settle(domain, gone);
        self.jobs.get_mut(owner).on_the_way -= gone;
        self.advance_direct(owner, plane);
        if self.units_per_program.get() > 1 && !self.jobs.expects(group) {
            self.gather(Task::GC, domain);
        }
        Ok(())
    }

    /// As [`Kernel::advance`], for a job of GC in a plane.
    #[inline]
    fn advance_direct(&mut self, slot: u32, plane: u32) {
        while let Some(place) = self.page_to_read(slot) {
            let units = self.take_page(slot, place);
            self.push_direct(plane, self.read_for(slot, place, units));
        }
    }

    /// The first valid unit of the next page that a job of GC reads; none if it reads no other now. A job that has read all goes on with what
    /// comes then.
    #[inline(always)]
    pub(super) fn page_to_read(&mut self, slot: u32) -> Option<Place> {
        loop {
            let job = self.jobs.get(slot);
            if job.cursor >= job.end {
                if !job.queued || (job.on_the_way == 0 && !job.empty) {
                    self.advance(slot);
                }
                return None;
            }
            if job.on_the_way >= job.window {
                return None;
            }
            let (cursor, end) = (job.cursor, job.end);
            let next = self.map.next_valid(cursor, end);
            if next.is_some() {
                return next;
            }
            self.jobs.get_mut(slot).cursor = end;
        }
    }

    /// The read of a page with so many valid units for a job of GC, from the place of the first.
    #[inline(always)]
    pub(super) fn read_for(&self, job: u32, place: Place, units: u32) -> FlashOp {
        FlashOp {
            class: GC_READ,
            source: place,
            units: units as u16,
            owner: job,
            bytes: units * self.plan.unit_bytes,
            ..FlashOp::default()
        }
    }

    /// Programs the next page of a plane's open block with moved units. False if there is none, or some units were overwritten
    /// meanwhile.
    #[inline]
    fn write_moved(&mut self, plane: u32, domain: u32) -> Result<bool, Fault> {
        if !self.space.is_open(plane, Stream::Collector) {
            return Ok(false);
        }
        let most = self.plan.units_per_program;
        // Of each unit, its slot, number, old place and job.
        let mut moved = [(NONE, 0, 0, NONE); MOST_UNITS];
        let moved = &mut moved[..most as usize];
        let mut slot = self.queues[plane as usize * CLASSES + GC_WRITE.index()].head;
        for entry in moved.iter_mut() {
            let FlashOp { unit, source, owner, next, .. } = *self.slab.get(slot);
            if !self.map.is_valid(source) {
                return Ok(false);
            }
            *entry = (slot, unit, source, owner);
            slot = next;
        }
        self.cut_queue(plane, GC_WRITE, moved[moved.len() - 1].0, most);
        let bound = self.space.bind_open(&mut self.blocks, plane, Stream::Collector);
        let place = bound.block * self.plan.units_per_block + bound.page * most;
        for (place, &(_, unit, source, _)) in (place..).zip(moved.iter()) {
            let old = self.map.bind(unit, place);
            debug_assert_eq!(old, Some(source), "a valid unit lies where it was read");
            self.map.invalidate(source);
            self.blocks.moved(self.units_per_block.quotient(source), bound.block, domain);
        }
        self.space.settle(domain, most);
        if bound.closed {
            self.settle_page(plane, bound, GC_WRITE);
        }
        self.count_direct(GC_WRITE, 1);
        self.commit_page(Kind::Program, plane, bound.block, bound.page * self.pages_per_program)?;
        let (mut job, mut units) = (NONE, 0);
        for &(slot, _, _, owner) in moved.iter() {
            self.slab.remove(slot);
            if owner != job && units > 0 {
                self.written_direct(job, std::mem::take(&mut units), plane);
            }
            (job, units) = (owner, units + 1);
        }
        self.written_direct(job, units, plane);
        Ok(true)
    }

    /// Units of a job of GC have their new places.
    #[inline]
    fn written_direct(&mut self, job: u32, units: u32, plane: u32) {
        self.counters.moved[Task::GC.index()] += u64::from(units);
        self.jobs.get_mut(job).on_the_way -= units;
        self.advance_direct(job, plane);
    }
}
