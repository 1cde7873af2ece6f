//! The straight way of reads through a processor and the commit stage: from the end of their computing time to the start of their
//! command, and from its end back to the host.
//!
//! As in [`super::straight`], but for drives whose dispatch policy gives dies a depth. A read whose die has room goes to it at once
//! if the policy wants it: its die is busy, so that it waits there, or has nothing at all, so that it starts. The end of a command of
//! plain reads brings their data, and the oldest read that waits there comes next; only where something waits in the stage has the policy
//! to look. The functions here do these moments with the same slots, books, queues and events as the general path, in the same
//! order, but without marks, survey and arbiter. All other moments are left to it.
//!
//! [`Kernel::goes_straight_by_stage`] is the one place that says which drives may go this way.

use super::stage::Stage;
use super::staged_pages::Turn;
use super::straight::Ended;
use super::{Fault, HostDone, Kernel};
use crate::ops::{FlashOp, Role, Taken, NONE};
use crate::policy::dispatch::{Sight, Staged};
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, Task, CLASSES};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};
use wordline_flash::PageAddress;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

/// Where an operation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// To the stage, or to a die while others have come: what is left has to be looked at.
    AmongOthers,
    /// To its die, and nothing else has come.
    ToDie,
}

/// A read that may go straight, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Straight {
    slot: u32,
    class: Class,
    sequence: u64,
    block: u32,
    plane: u32,
    die: u32,
}

/// What comes next at a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The general path has to look at it.
    General,
    /// A read, while other operations may have come.
    AmongOthers,
    /// A read, or nothing.
    Done,
}

impl Kernel {
    /// True if reads of this drive may go straight through its commit stage: nothing else that it uses holds operations up.
    pub(super) fn goes_straight_by_stage(&self) -> bool {
        let holds_all = self.stage.as_ref().is_some_and(|stage| stage.tags.is_none());
        let plain_ways = self.arounds.is_none() && self.lots.is_none() && self.wishes.is_none() && !self.places_each;
        let plain_order = self.after.is_none()
            && self.deadlines.is_none()
            && !self.follows_ends
            && !self.attentive
            && !self.mixes
            && self.hold_below == 0;
        let unwatched = self.notes.is_none() && !self.outside && !self.holding.asks;
        let plain_flash = !self.fails && !self.has_slc;
        self.timed && !self.avoids_straight && holds_all && plain_ways && plain_order && plain_flash && unwatched
    }

    /// As [`Kernel::is_quiet`] where operations go straight through the stage: of what that looks at, the rest is for other drives.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        // What found no room is looked at when all dies are idle.
        let stuck = self.stalled && self.busy == 0;
        let waits = !self.dirty.is_empty() || !self.ended.is_empty();
        debug_assert!(self.pressed.is_empty() && !self.holding.due, "no command is suspended, and no job held");
        !waits && !(stuck | self.shared_dirty) && self.fault.is_none()
    }

    /// True if a step has left nothing to do, so that [`Kernel::pump`] would change nothing; told only where reads go straight through the
    /// stage.
    #[inline]
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.straight_by_stage && self.has_scheduled() && self.rests_by_stage()
    }

    /// The same where reads go straight through the stage, but for processors, which may lack events.
    #[inline]
    pub(super) fn rests_by_stage(&self) -> bool {
        self.is_calm_by_stage() && self.stage.as_ref().is_some_and(|stage| !stage.is_due())
    }

    /// True if nothing has to be looked at before an operation that comes now.
    #[inline]
    pub(super) fn has_clear_way(&self) -> bool {
        let waits_beside = |stage: &Stage| {
            stage.is_due()
                || (!self.by_stage_in_planes && !stage.has_nothing() && self.dispatch.sees() == Sight::All)
                || self.now >= self.control_due
        };
        self.is_calm_by_stage() && self.stage.as_ref().is_some_and(|stage| !waits_beside(stage))
    }

    /// Where an operation goes whose computing time is over, if it is a read that [`Kernel::send_straight`] may send while its way is
    /// clear; none if it has to take the general path.
    #[inline]
    pub(super) fn finds_straight(&self, slot: u32) -> Option<Straight> {
        let op = self.slab.get(slot);
        let FlashOp { class, role, source, sequence, unit, units, .. } = *op;
        let plain = class.action() == Action::Read && matches!(role, Role::Plain | Role::Map | Role::Merge);
        if !plain {
            return None;
        }
        let alone = class == Class::HOST_READ && units == 1;
        if !(if alone { self.map.lies_at(unit, source) } else { self.is_current(op) }) {
            return None;
        }
        let block = self.units_per_block.quotient(source);
        let plane = self.blocks_per_plane.quotient(block);
        let die = self.planes_per_die.quotient(plane);
        let stage = self.stage.as_ref()?;
        let waits_first = stage.load(die) > 0 && !self.dies[die as usize].busy;
        (!waits_first).then_some(Straight { slot, class, sequence, block, plane, die })
    }

    /// Sends a read to its die, or to the stage, as [`Kernel::send_aside`] and the run after it would.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(always)]
    pub(super) fn send_straight(&mut self, read: Straight, queue: &mut EventQueue) -> Result<Gone, Fault> {
        let Straight { slot, class, sequence, block, plane, die } = read;
        self.slab.get_mut(slot).ready = self.now;
        let Some(stage) = &mut self.stage else { return Ok(Gone::AmongOthers) };
        let only = Staged { class, sequence, die: Some(die) };
        let goes = stage.has_room(die, class)
            && if self.by_stage_of_oldest {
                // Nothing else beside it may go, and its policy sees no more.
                stage.lets(class.task())
            } else {
                self.dispatch.wants(&only, &stage.outstanding, &self.nominal)
            };
        if !goes {
            self.put_on_stage(slot, class, Constraint::Plane(plane), false);
            return Ok(Gone::AmongOthers);
        }
        let (at, state) = (plane - die * self.planes_per_die.get(), &mut self.dies[die as usize]);
        if state.busy {
            stage.count_waiting(die, class, 1);
            stage.settle();
            if self.queues[plane as usize * CLASSES + class.index()].push_here(&mut self.slab, slot) {
                state.waiting.set(class, at);
            }
            return Ok(Gone::ToDie);
        }
        stage.settle_before_start();
        stage.count_start(die, class, 1);
        let op = self.slab.get_mut(slot);
        op.next = NONE;
        let (source, bytes) = (op.source, op.bytes);
        let page = self.units_per_page.quotient(source - block * self.plan.units_per_block);
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        let others_came = self.start_counted_read(die, slot, (page, bytes), class, queue)?;
        Ok(if others_came { Gone::AmongOthers } else { Gone::ToDie })
    }

    /// As [`Kernel::read_straight`] of bytes of a unit for a request, where reads go straight through the stage, and no processor works on
    /// them.
    #[inline(never)]
    pub(super) fn read_straight_by_stage(
        &mut self,
        now: Time,
        (request, unit, bytes): (u32, u32, u32),
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        // Where commands go page by page there are neither.
        let looks = !self.by_stage_in_pages && (self.cores.is_some() || self.table.is_some());
        if looks || self.buffer.holds(unit) {
            return Ok(false);
        }
        self.now = now;
        let Some(source) = self.map.place(unit).filter(|_| self.has_clear_way()) else { return Ok(false) };
        let block = self.units_per_block.quotient(source);
        let plane = self.blocks_per_plane.quotient(block);
        let die = self.planes_per_die.quotient(plane);
        let Some(stage) = &self.stage else { return Ok(false) };
        if stage.load(die) > 0 && !self.dies[die as usize].busy {
            return Ok(false);
        }
        let has_room = stage.has_room(die, Class::HOST_READ);
        self.sequence += 1;
        let (class, sequence) = (Class::HOST_READ, self.sequence);
        let op = FlashOp { ready: now, sequence, unit, source, owner: request, bytes, ..FlashOp::default() };
        if !has_room {
            // Until its die has room, there is nothing more to do than before.
            if self.by_stage_in_planes {
                self.stage_new(op, Constraint::Plane(plane));
            } else {
                let slot = self.slab.insert(op);
                self.put_on_stage(slot, class, Constraint::Plane(plane), false);
            }
            debug_assert!(self.is_settled(), "something else is left to do");
            return Ok(true);
        }
        let slot = self.slab.insert(op);
        let gone = self.send_straight(Straight { slot, class, sequence, block, plane, die }, queue)?;
        if gone == Gone::AmongOthers && !self.is_settled() {
            self.pump_by_stage(queue)?;
        }
        Ok(true)
    }

    /// Sends a read of one page to its idle die, where it has its place, as [`Kernel::add_read`] and [`Kernel::start`] would, without a command
    /// that is put together; true if other operations may have come meanwhile.
    #[inline(always)]
    fn start_counted_read(
        &mut self,
        die: u32,
        slot: u32,
        (page, bytes): (PageAddress, u32),
        class: Class,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        if self.shadow.is_some() && (class == Class::HOST_READ || self.slab.get(slot).role == Role::Map) {
            self.check_shadow(slot)?;
        }
        self.take_for_reads(die, class);
        let state = &mut self.dies[die as usize];
        (state.pages[0], state.count) = (slot, 1);
        let asked = self.read_limit < u32::MAX && self.watch_read(die, page, bytes);
        self.count_direct(class, 1);
        self.flash.read_page(self.now, die, page, bytes, queue)?;
        Ok(asked)
    }

    /// Sends the bound reads of a class to their idle die, as [`Kernel::start`] would; true if other operations may have come
    /// meanwhile.
    #[inline]
    fn start_reads(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        let pages = self.command.planes();
        if let Some(stage) = &mut self.stage {
            stage.count_start(die, class, pages as i32);
        }
        self.take_for_reads(die, class);
        let asked = self.read_limit < u32::MAX && self.watch_reads(die);
        self.count_direct(class, pages as u64);
        self.flash.begin(self.now, die, &self.command, queue)?;
        Ok(asked)
    }

    /// An idle die is to read for a class.
    #[inline(always)]
    fn take_for_reads(&mut self, die: u32, class: Class) {
        self.busy += 1;
        self.dies[die as usize].begin(class, self.now);
    }

    /// Ends the command of a die, as [`Kernel::complete`] and [`Kernel::pump`] would: mostly it goes straight. How it was handled is told beside.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline(never)]
    pub(super) fn end_by_stage(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.by_stage_in_pages {
            let class = self.dies[die as usize].class;
            let mut turn = if class == Class::HOST_READ { self.end_read_by_stage(die, queue)? } else { Turn::Not };
            if turn == Turn::Not && self.end_pages_by_stage(die, class) {
                (turn, self.ended_as) = (Turn::Idle, Ended::Listed);
            }
            if turn != Turn::Not {
                return self.go_on_at(die, turn == Turn::Begun, queue);
            }
        }
        self.ended_as = Ended::Listed;
        self.end_slowly_by_stage(die, queue)
    }

    /// The same of commands that do not go page by page.
    #[inline(never)]
    fn end_slowly_by_stage(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if !self.end_others_by_stage(die, queue)? {
            self.complete(die)?;
            self.pump(queue)?;
        }
        Ok(())
    }

    /// The same if it was one of plain reads, a program of the host, or one of those of [`Kernel::end_units_by_stage`]; false if it has to take
    /// the general path, and nothing has happened yet.
    #[inline(always)]
    fn end_others_by_stage(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let state = &mut self.dies[die as usize];
        if state.class == Class::HOST_WRITE && !state.mixed {
            self.end_program_by_stage(die);
            if self.by_stage_in_planes {
                self.go_on_after(die, queue)?;
                return Ok(true);
            }
            if !self.has_nothing_sent(die) {
                self.mark(die);
            }
            self.pump_by_stage(queue)?;
            return Ok(true);
        }
        let class = self.dies[die as usize].class;
        if self.by_stage_in_planes && (class == GC_READ || class == GC_WRITE) {
            self.end_units_by_stage(die, class, queue)?;
            return Ok(true);
        }
        let state = &mut self.dies[die as usize];
        if state.mixed {
            return Ok(false);
        }
        if class == GC_READ || class == GC_WRITE {
            self.end_moves_by_stage(die, class, queue)?;
            return Ok(true);
        }
        if class != Class::HOST_READ {
            return Ok(false);
        }
        let (count, pages, collector_end) = (usize::from(state.count), state.pages, state.collector_end);
        let plain = |&slot: &u32| {
            let op = self.slab.get(slot);
            op.role == Role::Plain && op.next == NONE
        };
        if !pages[..count].iter().all(plain) {
            return Ok(false);
        }
        (state.busy, state.count) = (false, 0);
        if state.counted != END_OF_TIME {
            let from = std::mem::replace(&mut state.counted, self.now);
            self.plane_use.add(self.now - from, (self.now - state.since.max(from)) * count as Time);
        }
        state.occupied[Class::HOST_READ.index()] += self.now - state.since;
        self.busy -= 1;
        if let Some(stage) = &mut self.stage {
            stage.end_pages(die, Class::HOST_READ, count as u32);
        }
        for &slot in &pages[..count] {
            let FlashOp { owner, units, bytes, ready, delayed, .. } = *self.slab.get(slot);
            self.slab.remove(slot);
            let gc_affected = delayed || ready < collector_end;
            self.done.push(HostDone { request: owner, units: u32::from(units), bytes, gc_affected });
        }
        if self.by_stage_in_planes {
            self.go_on_after(die, queue)?;
            return Ok(true);
        }
        let next = if self.is_calm() { self.next_by_stage(die, queue)? } else { Next::General };
        if next == Next::General {
            self.mark(die);
        }
        match next {
            // Nothing has come meanwhile that has to be looked at.
            Next::Done => self.pump_calm(queue)?,
            Next::General | Next::AmongOthers => self.run(queue)?,
        }
        Ok(true)
    }

    /// Starts the oldest read that waits for an idle die, with partners of other planes, if nothing but reads of the host waits there.
    #[inline]
    fn next_by_stage(&mut self, die: u32, queue: &mut EventQueue) -> Result<Next, Fault> {
        let Some(stage) = &self.stage else { return Ok(Next::General) };
        if stage.load(die) == 0 {
            return Ok(Next::Done);
        }
        if !stage.has_only(die, Class::HOST_READ) {
            return Ok(Next::General);
        }
        let planes = self.dies[die as usize].waiting.planes(Class::HOST_READ);
        let first = die * self.planes_per_die.get();
        let at = if planes.is_power_of_two() { planes.trailing_zeros() } else { self.oldest_bit(first, planes.into()) };
        let (class, plane) = (Class::HOST_READ, first + at);
        let head = self.queues[plane as usize * CLASSES + class.index()].head;
        if !self.is_current(self.slab.get(head)) {
            return Ok(Next::General);
        }
        let others_came = self.start_oldest_read(die, plane, class, planes & !(1 << at), queue)?;
        Ok(if others_came { Next::AmongOthers } else { Next::Done })
    }

    /// Starts the oldest read of a class of a plane, with partners of the other planes given, as bits: as [`Kernel::issue_read`] and
    /// [`Kernel::start`]. All of them take their own places at the die. True if other operations may have come meanwhile.
    #[inline(never)]
    pub(super) fn start_oldest_read(
        &mut self,
        die: u32,
        plane: u32,
        class: Class,
        others: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        self.start_oldest_read_here(die, plane, class, others, queue)
    }

    /// The same where a call would cost too much.
    #[inline(always)]
    pub(super) fn start_oldest_read_here(
        &mut self,
        die: u32,
        plane: u32,
        class: Class,
        others: u32,
        queue: &mut EventQueue,
    ) -> Result<bool, Fault> {
        let at = plane - die * self.planes_per_die.get();
        let Some(lead) = self.queues[plane as usize * CLASSES + class.index()].lead_of(&mut self.slab) else {
            return Ok(false);
        };
        let Taken { slot, op, last } = lead.take();
        if last {
            self.dies[die as usize].waiting.clear(class, at);
        }
        let FlashOp { source, owner, bytes, .. } = op;
        let block = self.units_per_block.quotient(source);
        let page = self.units_per_page.quotient(source - block * self.plan.units_per_block);
        let joined = others != 0 && self.window > 0 && self.join_straight(die, slot, (owner, page), class, others)?;
        if joined {
            return self.start_joined(die, class, queue);
        }
        if let Some(stage) = &mut self.stage {
            stage.start_page(die, class);
        }
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        self.start_counted_read(die, slot, (page, bytes), class, queue)
    }

    /// Sends reads of several planes to their die. All of them take their own places there.
    #[inline(never)]
    pub(super) fn start_joined(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if let Some(stage) = &mut self.stage {
            stage.starting += self.command.planes() as u32;
        }
        self.start_reads(die, class, queue)
    }

    /// True if nobody waits in the stage for what has ended; false if the dispatch policy has to look.
    #[inline]
    pub(super) fn stage_rests(&mut self) -> bool {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.is_due()) else { return true };
        if self.now >= self.control_due {
            return false;
        }
        let sees_oldest = stage.tags.is_none() && self.dispatch.sees() == Sight::Oldest;
        let rests =
            !stage.may_gain() || stage.has_no_way() || (sees_oldest && !stage.offers(stage.below(stage.tasks())));
        if rests {
            // What came to those that cannot go now is looked at when they can.
            stage.roams = (stage.roams | stage.dirty) && !stage.roaming().is_empty();
            stage.settle();
        }
        rests
    }
}
