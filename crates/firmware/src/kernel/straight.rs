//! The straight way of plain reads: from the host to the start of their command, and from its end back to the host.
//!
//! Where the map is in memory and nobody looks at single reads, little can happen to one. Its die is busy, so that it waits there;
//! or idle and without work, so that it starts. The end of its command brings its data, and the oldest read that waits there
//! comes next. The functions here do these moments with the same slots, books, queues and events as the general path, in the
//! same order, but without marks, survey and arbiter. A write of a part of a unit begins as such a read. All other moments are left to
//! the general path, one request or one end at a time. So the state of the kernel is the same after each step, whichever way it took.
//!
//! [`Kernel::goes_straight`] is the one place that says which drives may go this way. `straight_moves` has programs and
//! the moves of GC.

use super::{Fault, HostDone, Kernel};
use crate::ops::{Fifo, FlashOp, Role, Taken, NONE};
use crate::policy::dispatch::Sight;
use crate::task::{Action, Class, Task, CLASSES};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};
use wordline_flash::{Kind, PageAddress};

const GC_READ: Class = Class::new(Task::GC, Action::Read);

/// What comes next at a die whose command has ended.
#[derive(Clone, Copy)]
pub(super) enum Next {
    /// The general path has to look at it.
    General,
    /// Nothing waits there.
    Nothing,
    /// The oldest read of a plane, which was taken out of its queue.
    Read(Found),
    /// The same of more than a unit of the host: it waits still, and has to be looked at. Others wait for these planes, as bits.
    Wide(u32, u32),
}

/// A read that was taken out of the queue of its plane, while others wait for these planes of its die, as bits.
#[derive(Clone, Copy)]
pub(super) struct Found {
    slot: u32,
    /// Its plane in the die.
    at: u32,
    source: u32,
    owner: u32,
    bytes: u32,
    others: u32,
}

/// How the end of a command was handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Ended {
    /// Not at all: nothing has happened.
    #[default]
    Not,
    /// What is done is in the list.
    Listed,
    /// What is done before all that is in the list is told alone.
    Alone,
}

/// Where a unit lies, and whether its die is busy.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub source: u32,
    pub plane: u32,
    pub die: u32,
    pub busy: bool,
}

impl Kernel {
    /// True if plain reads of this drive may go straight: nothing that it uses looks at single reads, or holds them up.
    pub(super) fn goes_straight(&self) -> bool {
        self.notes.is_none() && self.would_go_straight()
    }

    /// The same, were nothing noted.
    pub(super) fn would_go_straight(&self) -> bool {
        let plain_map = self.table.is_none() && !self.has_slc;
        let plain_order = !self.detours && !self.follows_ends && !self.attentive && !self.mixes && self.hold_below == 0;
        let unwatched = !self.outside && !self.holding.asks && self.read_limit == u32::MAX;
        self.timed && !self.avoids_straight && !self.fails && plain_map && plain_order && unwatched
    }

    /// Finds out which operations may go straight, and on which way, when what decides on it has changed.
    pub(super) fn find_ways(&mut self) {
        self.straight = self.goes_straight();
        self.straight_noted = self.goes_straight_noted();
        self.straight_moves_noted = self.moves_straight_noted();
        self.straight_pages_noted = self.moves_pages_noted();
        self.straight_moves = self.moves_straight();
        self.straight_pages = self.moves_pages();
        self.straight_rows = self.writes_rows();
        self.straight_by_stage = self.goes_straight_by_stage();
        self.by_stage_of_oldest = self.straight_by_stage && self.dispatch.sees() == Sight::Oldest;
        self.by_stage_in_planes = self.goes_by_stage_in_planes();
        self.by_stage_in_pages = self.goes_by_stage_in_pages();
    }

    /// True if plain reads go straight.
    #[must_use]
    pub fn is_straight(&self) -> bool {
        self.straight || self.straight_by_stage || self.straight_noted
    }

    /// As [`Kernel::is_quiet`]: of what that looks at, the rest is for drives whose reads do not go straight.
    #[inline(always)]
    pub(super) fn is_quiet_straight(&self) -> bool {
        let stuck = self.stalled && self.busy == 0;
        let quiet = !stuck && !self.shared_dirty && self.dirty.is_empty() && self.fault.is_none();
        debug_assert_eq!(quiet, self.is_quiet(), "something else holds reads up");
        quiet
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
    #[inline(always)]
    pub fn read_straight(
        &mut self,
        now: Time,
        request: u32,
        unit: u32,
        bytes: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if !self.straight {
            return Ok(self.straight_by_stage && self.read_straight_by_stage(now, (request, unit, bytes), queue)?);
        }
        if self.buffer.holds(unit) || !self.is_quiet_straight() {
            return Ok(false);
        }
        let Some(spot) = self.spot_of(unit) else { return Ok(false) };
        self.now = now;
        self.read_at(spot, FlashOp { unit, owner: request, bytes, ..FlashOp::default() }, queue)?;
        Ok(true)
    }

    /// The same for so many bytes of a unit and of the next one, where each lies in a page of its own.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn read_two_straight(
        &mut self,
        now: Time,
        request: u32,
        first: u32,
        bytes: [u32; 2],
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if !self.straight || self.plan.units_per_page > 1 || !self.is_quiet_straight() {
            return Ok(false);
        }
        if self.buffer.holds(first) || self.buffer.holds(first + 1) {
            return Ok(false);
        }
        let Some(spots) = self.spots_of(first) else { return Ok(false) };
        self.now = now;
        for (unit, (spot, bytes)) in (first..).zip(spots.into_iter().zip(bytes)) {
            self.read_at(spot, FlashOp { unit, owner: request, bytes, ..FlashOp::default() }, queue)?;
        }
        Ok(true)
    }

    /// Writes parts of a unit for a request, and of the next one if there are two, as [`Kernel::write`] and [`Kernel::pump`] would, where there is
    /// no write buffer: what they are merged with is read. False if they have to take the general path, and nothing has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub fn write_parts_straight(
        &mut self,
        now: Time,
        request: u32,
        (first, is_two): (u32, bool),
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if !self.straight_moves || self.places_each || self.buffer.is_used() || !self.is_quiet_straight() {
            return Ok(false);
        }
        if is_two {
            let Some([lead, other]) = self.spots_of(first) else { return Ok(false) };
            self.now = now;
            self.merge_at(lead, request, first, queue)?;
            self.merge_at(other, request, first + 1, queue)?;
            return Ok(true);
        }
        let Some(spot) = self.spot_of(first) else { return Ok(false) };
        self.now = now;
        self.merge_at(spot, request, first, queue)?;
        Ok(true)
    }

    /// Reads a unit that a request writes a part of.
    #[inline(always)]
    fn merge_at(&mut self, spot: Spot, request: u32, unit: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.counters.host_units += 1;
        let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
        let bytes = self.plan.unit_bytes;
        let read = FlashOp { unit, owner: request, bytes, stamp, role: Role::Merge, ..FlashOp::default() };
        self.read_at(spot, read, queue)
    }

    /// Where a unit lies, if its die is busy, or idle without other work.
    #[inline(always)]
    pub(super) fn spot_of(&self, unit: u32) -> Option<Spot> {
        let source = self.map.place(unit)?;
        let plane = self.units_per_plane.quotient(source);
        let die = self.planes_per_die.quotient(plane);
        let state = &self.dies[die as usize];
        let starts = state.busy || (self.shared_count == 0 && state.waiting.is_nothing());
        starts.then_some(Spot { source, plane, die, busy: state.busy })
    }

    /// The same for a unit and the next one. Two in an idle die may share a command, which the general path finds out.
    #[inline(always)]
    fn spots_of(&self, first: u32) -> Option<[Spot; 2]> {
        let (lead, other) = (self.spot_of(first)?, self.spot_of(first + 1)?);
        (other.busy || other.die != lead.die).then_some([lead, other])
    }

    /// Puts a read into the queue of its busy die, or starts it at its idle one.
    #[inline(always)]
    pub(super) fn read_at(&mut self, spot: Spot, op: FlashOp, queue: &mut EventQueue) -> Result<(), Fault> {
        let Spot { source, plane, die, busy } = spot;
        self.sequence += 1;
        let (ready, sequence) = (self.now, self.sequence);
        let read = FlashOp { ready, sequence, source, ..op };
        if busy {
            let fifo = &mut self.queues[plane as usize * CLASSES + Class::HOST_READ.index()];
            if fifo.push_new(&mut self.slab, read).1 {
                self.dies[die as usize].waiting.set(Class::HOST_READ, plane - die * self.planes_per_die.get());
            }
            return Ok(());
        }
        let slot = self.slab.insert(read);
        self.busy += 1;
        let page = self.page_address(plane, self.units_per_block.quotient(source), self.page_of(source));
        self.start_page_read(die, slot, (page, op.bytes), Class::HOST_READ, queue)
    }

    /// Ends the command of a die that has read for the host, as [`Kernel::complete`] and [`Kernel::pump`] would, if it was a plain read; if it has
    /// to take the general path, nothing has happened yet. How it was handled is told beside.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(always)]
    pub(super) fn end_straight(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let quiet = self.shared_count == 0 && self.is_quiet_straight();
        let Some((done, next)) = self.end_lone_read(die, quiet) else {
            self.ended_as = Ended::Not;
            return Ok(());
        };
        (self.ended_as, self.only) = (Ended::Alone, done);
        if let Next::Read(found) = next {
            return self.begin_next_read::<false>(die, found, queue);
        }
        if matches!(next, Next::Nothing) && !self.stalled {
            return Ok(());
        }
        self.go_on_with(die, next, queue)
    }

    /// Ends the command of a die that has read for the host, if it was a plain read of one page; none if not, and nothing has happened yet. Gives
    /// what is done, and what comes next, if nothing else is to be looked at: a read has the die then, but has not begun.
    #[inline(always)]
    pub(super) fn end_lone_read(&mut self, die: u32, quiet: bool) -> Option<(HostDone, Next)> {
        let (now, first) = (self.now, die * self.planes_per_die.get());
        // All that a die has is looked up once.
        let Self { dies, slab, queues, map, plane_use, .. } = self;
        let state = &mut dies[die as usize];
        if state.count != 1 {
            return None;
        }
        debug_assert!(!state.mixed, "no command has operations of several tasks");
        let op = slab.take_if(state.pages[0], |op| op.role == Role::Plain && op.next == NONE)?;
        let FlashOp { owner, units, bytes, .. } = op;
        let gc_affected = op.delayed || op.ready < state.collector_end;
        state.occupied[Class::HOST_READ.index()] += now - state.since;
        if state.counted != END_OF_TIME {
            let from = std::mem::replace(&mut state.counted, now);
            plane_use.add(now - from, now - state.since.max(from));
        }
        let done = HostDone { request: owner, units: u32::from(units), bytes, gc_affected };
        let next = match state.waiting.only_host_reads() {
            Some(0) if quiet => Next::Nothing,
            Some(planes) if quiet => {
                let at = oldest_read(queues, first, planes);
                let others = planes & !(1 << at);
                let lead = read_queue(queues, first + at).lead_of(slab).expect("it waits there");
                let op = lead.op();
                if op.units > 1 || op.role == Role::Part {
                    Next::Wide(first + at, others)
                } else if !map.lies_at(op.unit, op.source) {
                    Next::General
                } else {
                    let Taken { slot, op, last } = lead.take();
                    if last {
                        state.waiting.clear(Class::HOST_READ, at);
                    }
                    let FlashOp { source, owner, bytes, .. } = op;
                    // The die goes on with a command of the same class.
                    (state.since, state.pages[0]) = (now, slot);
                    return Some((done, Next::Read(Found { slot, at, source, owner, bytes, others })));
                }
            }
            _ => Next::General,
        };
        (state.busy, state.count) = (false, 0);
        self.busy -= 1;
        Some((done, next))
    }

    /// A die that has just become idle may have something to do, for which there is no short way.
    #[inline(never)]
    fn go_on_with(&mut self, die: u32, next: Next, queue: &mut EventQueue) -> Result<(), Fault> {
        match next {
            Next::Wide(plane, others) if self.leads_wide(plane) => {
                self.busy += 1;
                self.start_next_read(die, plane, Class::HOST_READ, others, queue)
            }
            Next::General if self.straight_moves => self.go_on_moving(die, queue),
            _ => {
                self.mark(die);
                self.pump(queue)
            }
        }
    }

    /// True if the units of the oldest read of the host that waits for a plane lie where it expects them.
    fn leads_wide(&self, plane: u32) -> bool {
        self.is_current(self.slab.get(self.queues[plane as usize * CLASSES + Class::HOST_READ.index()].head))
    }

    /// Begins a read of the host at its die, which has it as its only one, with partners of other planes.
    /// `STAGED` says that there is a commit stage, which is told of it.
    #[inline(always)]
    pub(super) fn begin_next_read<const STAGED: bool>(
        &mut self,
        die: u32,
        read: Found,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let Found { slot, at, source, owner, bytes, others } = read;
        let class = Class::HOST_READ;
        let block = self.units_per_block.quotient(source);
        let page = self.units_per_page.quotient(source - block * self.plan.units_per_block);
        if others != 0 && self.window > 0 && self.is_joined(die, (owner, page), others) {
            return self.begin_found_joined(die, read, page, queue);
        }
        if let Some(stage) = self.stage.as_mut().filter(|_| STAGED) {
            stage.start_page(die, class);
        }
        if self.shadow.is_some() {
            self.check_shadow(slot)?;
        }
        self.count_direct(class, 1);
        let plane = die * self.planes_per_die.get() + at;
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        self.flash.read_page(self.now, die, page, bytes, queue)?;
        Ok(())
    }

    /// True if any of the reads of the host that wait for planes of a die, as bits, can share the command of one for an owner, of a page.
    #[inline(always)]
    fn is_joined(&self, die: u32, of: (u32, u32), mut others: u32) -> bool {
        let first = die * self.planes_per_die.get();
        while others != 0 {
            let partner = first + others.trailing_zeros();
            others &= others - 1;
            if self.finds_joining(partner, of, Class::HOST_READ).is_some() {
                return true;
            }
        }
        false
    }

    /// Begins a read of the host and those that share its command.
    #[inline(never)]
    fn begin_found_joined(&mut self, die: u32, read: Found, page: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let Found { slot, owner, others, .. } = read;
        let class = Class::HOST_READ;
        self.dies[die as usize].count = 0;
        if self.join_straight(die, slot, (owner, page), class, others)? {
            let pages = self.command.planes();
            if let Some(stage) = &mut self.stage {
                // They take their own places.
                stage.starting += pages as u32;
                stage.count_start(die, class, pages as i32);
            }
            self.count_direct(class, pages as u64);
            self.flash.begin(self.now, die, &self.command, queue)?;
        }
        Ok(())
    }

    /// Starts the oldest read of a class that waits for a plane of a die, with partners of other planes, as bits. The die counts as one
    /// that works.
    #[inline(always)]
    pub(super) fn start_next_read(
        &mut self,
        die: u32,
        plane: u32,
        class: Class,
        others: u32,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let at = plane - die * self.planes_per_die.get();
        let lead = self.queues[plane as usize * CLASSES + class.index()].lead_of(&mut self.slab);
        let Taken { slot, op, last } = lead.expect("it waits there").take();
        if last {
            self.dies[die as usize].waiting.clear(class, at);
        }
        let FlashOp { source, owner, bytes, .. } = op;
        let block = self.units_per_block.quotient(source);
        let page = self.units_per_page.quotient(source - block * self.plan.units_per_block);
        if others != 0 && self.window > 0 && self.join_straight(die, slot, (owner, page), class, others)? {
            return self.begin_joined(die, class, queue);
        }
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        self.start_page_read(die, slot, (page, bytes), class, queue)
    }

    /// Sends reads of several planes to their die, which counts as one that works.
    #[inline(never)]
    pub(super) fn begin_joined(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        self.count_direct(class, self.command.planes() as u64);
        self.dies[die as usize].begin(class, self.now);
        self.flash.begin(self.now, die, &self.command, queue)?;
        Ok(())
    }

    /// Puts a command together of a read and those that wait for other planes and join it; false, and no command, if none does.
    #[inline(always)]
    pub(super) fn join_straight(
        &mut self,
        die: u32,
        slot: u32,
        (owner, page): (u32, u32),
        class: Class,
        mut others: u32,
    ) -> Result<bool, Fault> {
        let first = die * self.planes_per_die.get();
        let mut joined = false;
        while others != 0 {
            let partner = first + others.trailing_zeros();
            others &= others - 1;
            let Some(found) = self.finds_joining(partner, (owner, page), class) else { continue };
            if !joined {
                self.command.clear(Kind::Read);
                self.add_read(die, slot)?;
                joined = true;
            }
            self.take_partner(die, partner, class, found)?;
        }
        Ok(joined)
    }

    /// The first read that waits for a plane, and the one before it, that can share the command of a read of a class, for an owner, of a page.
    #[inline(always)]
    fn finds_joining(&self, plane: u32, (owner, page): (u32, u32), class: Class) -> Option<(u32, u32)> {
        let fifo = &self.queues[plane as usize * CLASSES + class.index()];
        if class == GC_READ && self.passes_over(fifo, plane, page) {
            debug_assert!(!fifo.iter(&self.slab).any(|op| self.page_of(op.source) == page), "it is read in order");
            return None;
        }
        let (any_owner, from) = (!self.keeps_to_request(class), self.first_of_page(page));
        fifo.position(&self.slab, self.window, |op| self.joins(op, from) && (any_owner || op.owner == owner))
    }

    /// True if no read of GC that waits for a plane can be of such a page: one job reads its block from the first page to the last, and the oldest
    /// of its reads is of a later one, or the newest of an earlier one.
    #[inline(always)]
    fn passes_over(&self, fifo: &Fifo, plane: u32, page: u32) -> bool {
        let in_order = self.plan.domains > 1 && self.lots.is_none();
        if !in_order || self.jobs.running(self.jobs.group(Task::GC, plane)) > 1 {
            return false;
        }
        let Some((oldest, newest)) = fifo.ends(&self.slab) else { return true };
        // The place where that page begins in their block.
        let start = self.units_per_block.quotient(oldest.source) * self.plan.units_per_block;
        let place = start + page * self.plan.units_per_page;
        oldest.source >= place + self.plan.units_per_page || newest.source < place
    }

    /// Takes a read out of the queue of a plane into the command that is put together.
    fn take_partner(&mut self, die: u32, plane: u32, class: Class, (before, slot): (u32, u32)) -> Result<(), Fault> {
        let fifo = &mut self.queues[plane as usize * CLASSES + class.index()];
        fifo.take(&mut self.slab, before, slot);
        if fifo.head == NONE {
            self.clear_waiting(plane, class);
        }
        self.add_read(die, slot)
    }

    /// Sends a plain read of one page to its die, as [`Kernel::add_read`] and [`Kernel::start`] would. The die counts as one that works.
    #[inline(always)]
    pub(super) fn start_page_read(
        &mut self,
        die: u32,
        slot: u32,
        (page, bytes): (PageAddress, u32),
        class: Class,
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        if self.shadow.is_some() && class == Class::HOST_READ {
            self.check_shadow(slot)?;
        }
        self.count_direct(class, 1);
        let state = &mut self.dies[die as usize];
        state.begin(class, self.now);
        (state.pages[0], state.count) = (slot, 1);
        self.flash.read_page(self.now, die, page, bytes, queue)?;
        Ok(())
    }
}

/// Where reads of the host wait for a plane.
#[inline(always)]
fn read_queue(queues: &mut [Fifo], plane: u32) -> &mut Fifo {
    &mut queues[plane as usize * CLASSES + Class::HOST_READ.index()]
}

/// Of planes of a die, from its first one on, where reads of the host wait, of which there are some, the one with the oldest. Mostly there are two
/// at most.
#[inline(always)]
fn oldest_read(queues: &[Fifo], first: u32, planes: u32) -> u32 {
    let queues = &queues[first as usize * CLASSES + Class::HOST_READ.index()..];
    let number = |at: u32| queues[at as usize * CLASSES].number();
    let low = planes.trailing_zeros();
    let mut others = planes & (planes - 1);
    if others == 0 {
        return low;
    }
    let (mut found, mut oldest) = (low, number(low));
    while others != 0 {
        let at = others.trailing_zeros();
        others &= others - 1;
        if number(at) < oldest {
            (found, oldest) = (at, number(at));
        }
    }
    found
}
