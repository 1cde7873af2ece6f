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

use super::{Fault, HostDone, Kernel, Waits};
use crate::ops::{FlashOp, Role, NONE};
use crate::policy::dispatch::{Sight, Staged};
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, CLASSES};
use wordline_base::time::END_OF_TIME;
use wordline_base::EventQueue;
use wordline_flash::Kind;

/// Where an operation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// It has to take the general path.
    Nowhere,
    /// To the stage, or to a die while others have come: what is left has to be looked at.
    AmongOthers,
    /// To its die, and nothing else has come.
    ToDie,
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

    /// True if no die and no shared queue has to be looked at, and nothing has gone wrong.
    #[inline]
    fn is_calm(&self) -> bool {
        let special = self.stalled | self.shared_dirty | self.holding.due;
        let waits = !self.dirty.is_empty() || !self.ended.is_empty() || !self.pressed.is_empty();
        !waits && !special && self.fault.is_none()
    }

    /// True if all of this is so, nothing in the stage may go, and each processor has its event.
    #[inline]
    pub(super) fn is_at_peace(&mut self) -> bool {
        self.is_calm() && self.has_scheduled() && self.stage_rests()
    }

    /// Sends a read whose computing time is over to its die, or to the stage, as [`Kernel::send_aside`] and the run after it would.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub(super) fn send_straight(&mut self, slot: u32, queue: &mut EventQueue) -> Result<Gone, Fault> {
        let op = self.slab.get(slot);
        let FlashOp { class, role, source, sequence, unit, units, .. } = *op;
        let plain = class.action() == Action::Read && matches!(role, Role::Plain | Role::Map | Role::Merge);
        if !plain || !self.is_calm() {
            return Ok(Gone::Nowhere);
        }
        let alone = class == Class::HOST_READ && units == 1;
        if !(if alone { self.map.lies_at(unit, source) } else { self.is_current(op) }) {
            return Ok(Gone::Nowhere);
        }
        let block = self.units_per_block.quotient(source);
        let plane = self.blocks_per_plane.quotient(block);
        let die = self.planes_per_die.quotient(plane);
        let busy = self.dies[die as usize].busy;
        let Some(stage) = &mut self.stage else { return Ok(Gone::Nowhere) };
        let waits_first = stage.is_due() || (!busy && stage.load(die) > 0);
        let sees_all = self.dispatch.sees() == Sight::All && !stage.has_nothing();
        if waits_first || sees_all || self.now >= self.control_due {
            return Ok(Gone::Nowhere);
        }
        let only = Staged { class, sequence, die: Some(die) };
        if !stage.has_room(die, class) || !self.dispatch.wants(&only, &stage.outstanding, &self.nominal) {
            self.slab.get_mut(slot).ready = self.now;
            self.put_on_stage(slot, class, Constraint::Plane(plane), false);
            return Ok(Gone::AmongOthers);
        }
        if busy {
            stage.count_waiting(die, class, 1);
            stage.settle();
            self.slab.get_mut(slot).ready = self.now;
            self.queues[plane as usize * CLASSES + class.index()].push(&mut self.slab, slot);
            self.waiting[die as usize].set(class, self.planes_per_die.remainder(plane));
            return Ok(Gone::ToDie);
        }
        stage.settle_before_start();
        self.slab.get_mut(slot).ready = self.now;
        self.command.clear(Kind::Read);
        self.add_read(die, slot)?;
        let others_came = self.start_reads(die, class, queue)?;
        Ok(if others_came { Gone::AmongOthers } else { Gone::ToDie })
    }

    /// Sends the bound reads of a class to their idle die, as [`Kernel::start`] would; true if other operations may have come
    /// meanwhile.
    #[inline]
    fn start_reads(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        if class != Class::HOST_READ {
            self.start(die, class, queue)?;
            return Ok(true);
        }
        let pages = self.command.planes();
        if let Some(stage) = &mut self.stage {
            stage.count_start(die, class, pages as i32);
        }
        self.idle_in_channel[self.flash.channel_of(die) as usize] -= 1;
        self.busy += 1;
        let state = &mut self.dies[die as usize];
        (state.busy, state.class, state.since) = (true, class, self.now);
        let asked = self.read_limit < u32::MAX && self.watch_reads(die);
        self.counters.commands += 1;
        self.counters.ops[class.index()] += pages as u64;
        if pages > 1 {
            self.counters.multi_plane[class.index()] += pages as u64;
        }
        self.flash.begin(self.now, die, &self.command, queue)?;
        Ok(asked)
    }

    /// Ends the command of a die, as [`Kernel::complete`] and [`Kernel::pump`] would, if it was one of plain reads; false if it has to
    /// take the general path, and nothing has happened yet.
    ///
    /// # Errors
    /// When a rule is broken.
    #[inline]
    pub(super) fn end_by_stage(&mut self, die: u32, queue: &mut EventQueue) -> Result<bool, Fault> {
        let state = &mut self.dies[die as usize];
        if state.class != Class::HOST_READ || state.mixed || state.counted != END_OF_TIME {
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
        self.occupied[die as usize][Class::HOST_READ.index()] += self.now - state.since;
        self.idle_in_channel[self.flash.channel_of(die) as usize] += 1;
        self.busy -= 1;
        if let Some(stage) = &mut self.stage {
            stage.count_running(die, Class::HOST_READ, -(count as i32));
        }
        for &slot in &pages[..count] {
            let FlashOp { owner, units, bytes, ready, delayed, .. } = *self.slab.get(slot);
            self.slab.remove(slot);
            let gc_affected = delayed || ready < collector_end;
            self.done.push(HostDone { request: owner, units: u32::from(units), bytes, gc_affected });
        }
        let next = if self.is_calm() { self.next_by_stage(die, queue)? } else { Next::General };
        if next == Next::General {
            self.mark(die);
        }
        if next != Next::Done || !self.stage_rests() {
            self.run(queue)?;
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
        let planes = self.waiting[die as usize].planes(Class::HOST_READ);
        let first = die * self.planes_per_die.get();
        let at = if planes.is_power_of_two() { planes.trailing_zeros() } else { self.oldest_bit(first, planes.into()) };
        let (class, plane) = (Class::HOST_READ, first + at);
        if !self.is_current(self.slab.get(self.queues[plane as usize * CLASSES + class.index()].head)) {
            return Ok(Next::General);
        }
        self.issue_read(die, class, Waits::Plane(plane))?;
        Ok(if self.start_reads(die, class, queue)? { Next::AmongOthers } else { Next::Done })
    }

    /// True if nobody waits in the stage for what has ended; false if the dispatch policy has to look.
    #[inline]
    pub(super) fn stage_rests(&mut self) -> bool {
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.is_due()) else { return true };
        if self.now >= self.control_due {
            return false;
        }
        let sees_oldest = stage.tags.is_none() && self.dispatch.sees() == Sight::Oldest;
        let rests = !stage.may_gain()
            || stage.has_no_way()
            || (sees_oldest && !stage.offers(self.dispatch.eligible(stage.tasks(), &stage.outstanding)));
        if rests {
            // What came to those that cannot go now is looked at when they can.
            stage.roams = (stage.roams | stage.dirty) && !stage.roaming().is_empty();
            stage.settle();
        }
        rests
    }
}
