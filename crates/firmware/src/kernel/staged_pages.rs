//! The straight way of all commands through the commit stage where a page has one unit, and each plane collects for itself.
//!
//! What `straight_pages` is to `straight_moves`, this is to `staged_moves`: each step is one operation in a known slot, which waits for a plane
//! in the stage, then at its die. The read of a victim becomes its write, and this the next read of its job, in the same slot; a die that
//! becomes idle takes the oldest of what was sent to it, and the policy looks once at the operations for the dies that have room
//! (`look`). What this cannot do at once it leaves to the general path, before anything has happened.
//!
//! [`Kernel::goes_by_stage_in_planes`] is the one place that says which drives may go this way, and that of `staged_units`, which has what is
//! different where several units fill a page.

use super::ready::Ready;
use super::straight::{Ended, Next};
use super::straight_pages::Seat;
use super::{Fault, Kernel};
use crate::ops::{FlashOp, Role, Taken};
use crate::policy::collect::Copyback;
use crate::policy::dispatch::Sight;
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, Task, CLASSES};
use std::ops::Range;
use wordline_base::{EventQueue, Time};
use wordline_flash::PageAddress;

const GC_READ: Class = Class::new(Task::GC, Action::Read);
const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

/// What the end of a command has come to at its die.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has not ended: nothing has happened.
    Not,
    /// The next one has to be found.
    Idle,
    /// The next one has begun.
    Begun,
}

impl Kernel {
    /// True if commands of this drive may go straight through its commit stage plane by plane: nothing but the stage holds operations up,
    /// what is asked about pages is known from an open block, and what lacks company waits for a plane.
    pub(super) fn goes_by_stage_in_planes(&self) -> bool {
        let plain_map = self.table.is_none() && self.parity.is_none() && !self.follows_units;
        let plain_blocks = self.space.is_plain() && !self.blocks.has_superblocks() && !self.binds_apart;
        let plain_order = self.takes_oldest && self.cores.is_none() && self.read_limit == u32::MAX;
        let plain_gc = !self.instant
            && self.row_units == 0
            && self.turns.is_none()
            && self.schedule.is_none()
            && self.collect.copyback() == Copyback::Off;
        let by_plane = self.plan.domains > 1 && !self.avoids_short;
        let by_dies = self.goes_straight_by_stage() && self.dispatch.sees() == Sight::Oldest;
        let in_planes = by_dies && by_plane && plain_map && plain_blocks && plain_order && plain_gc;
        in_planes && (self.plan.units_per_program == 1 || matches!(self.placement.at(0), Constraint::Plane(_)))
    }

    /// True if they may go page by page: one unit fills a page.
    pub(super) fn goes_by_stage_in_pages(&self) -> bool {
        self.plan.units_per_program == 1 && self.goes_by_stage_in_planes()
    }

    /// True if all commands may go straight through the commit stage page by page.
    #[must_use]
    pub fn is_straight_by_stage_in_pages(&self) -> bool {
        self.by_stage_in_pages
    }

    /// Ends the command of a die that read for the host, as [`Kernel::complete`] would, if it was a plain read. Mostly another such read comes next, which
    /// begins.
    #[inline(always)]
    pub(super) fn end_read_by_stage(&mut self, die: u32, queue: &mut EventQueue) -> Result<Turn, Fault> {
        let quiet = self.shared_count == 0 && self.dirty.is_empty();
        let Some((done, next)) = self.end_lone_read(die, quiet) else { return Ok(Turn::Not) };
        (self.ended_as, self.only) = (Ended::Alone, done);
        if let Some(stage) = &mut self.stage {
            stage.end_page(die, Class::HOST_READ);
        }
        let Next::Read(read) = next else { return Ok(Turn::Idle) };
        self.begin_next_read::<true>(die, read, queue)?;
        Ok(Turn::Begun)
    }

    /// Ends a program of the host, or a command of one page that read or programmed for GC, as [`Kernel::complete`] would; false if it has to be
    /// ended elsewhere, and nothing has happened yet. Plain reads of the host have [`Kernel::end_read_by_stage`].
    #[inline(always)]
    pub(super) fn end_pages_by_stage(&mut self, die: u32, class: Class) -> bool {
        let state = &self.dies[die as usize];
        let (slot, count) = (state.pages[0], state.count);
        debug_assert!(!state.mixed, "no command has operations of several tasks");
        match class {
            GC_READ if count == 1 => {
                self.leave_page(die, GC_READ);
                self.page_was_read(slot);
            }
            GC_WRITE if count == 1 => {
                self.leave_page(die, GC_WRITE);
                self.page_was_moved(slot);
            }
            Class::HOST_WRITE => {
                if let Some(stage) = &mut self.stage {
                    stage.end_pages(die, Class::HOST_WRITE, count.into());
                }
                self.end_pages_of_host(die);
            }
            _ => return false,
        }
        true
    }

    /// A command of one page of a class has ended at a die.
    #[inline(always)]
    fn leave_page(&mut self, die: u32, class: Class) {
        self.leave_lone(die, class);
        if let Some(stage) = &mut self.stage {
            stage.end_page(die, class);
        }
    }

    /// The page of a victim was read: its unit waits in the stage to be written if it is still valid.
    #[inline(always)]
    fn page_was_read(&mut self, slot: u32) {
        let FlashOp { source, owner, .. } = *self.slab.get(slot);
        if !self.map.is_valid(source) {
            return self.page_is_out(slot);
        }
        let job = self.jobs.read_ended(owner);
        let (plane, rests) = (job.domain, job.rests());
        let write = self.write_behind_read(slot, source);
        self.stage_changed(slot, GC_WRITE, Constraint::Plane(plane), write);
        if !rests {
            self.arrived(owner, 0);
        }
    }

    /// The same if it is not valid any more.
    #[inline(never)]
    fn page_is_out(&mut self, slot: u32) {
        let op = *self.slab.get(slot);
        self.moved_out(slot, &op);
    }

    /// The unit of a victim was written: mostly its job reads the next one.
    #[inline(always)]
    fn page_was_moved(&mut self, slot: u32) {
        let owner = self.slab.get(slot).owner;
        let Some((plane, rests, read)) = self.read_behind_write(owner) else {
            self.slab.remove(slot);
            self.arrived(owner, 1);
            return;
        };
        self.stage_changed(slot, GC_READ, Constraint::Plane(plane), |op| read.replaces(op));
        if !rests {
            self.arrived(owner, 0);
        }
    }

    /// Writes whole units for a request, as [`Kernel::write`] would one after the other, where there is no write buffer, and commands go through
    /// the stage page by page.
    pub fn write_by_stage_in_pages(&mut self, now: Time, request: u32, units: Range<u32>) {
        self.now = now;
        self.counters.host_units += u64::from(units.end - units.start);
        let class = Class::HOST_WRITE;
        for unit in units {
            let stamp = self.shadow.as_mut().map_or(0, |shadow| shadow.version());
            let place = self.placement.at(self.units_together.quotient(unit));
            self.sequence += 1;
            let (sequence, ready) = (self.sequence, now);
            let op = FlashOp { class, unit, owner: request, stamp, sequence, ready, ..FlashOp::default() };
            self.stage_new(op, place);
        }
    }

    /// An operation waits in the stage, behind the others of its class and place: as [`Kernel::put_on_stage`].
    #[inline(always)]
    pub(super) fn stage_page(&mut self, slot: u32, class: Class, place: Constraint) {
        self.stage_changed(slot, class, place, |_| {});
    }

    /// The same as what `change` makes of it, which is of the class given.
    #[inline(always)]
    fn stage_changed(&mut self, slot: u32, class: Class, place: Constraint, change: impl FnOnce(&mut FlashOp)) {
        let Some(stage) = &mut self.stage else { return };
        let at = stage.at(class, place);
        stage.push(&mut self.slab, slot, (at, class), change);
    }

    /// The same of a new one.
    #[inline(always)]
    pub(super) fn stage_new(&mut self, op: FlashOp, place: Constraint) {
        let Some(stage) = &mut self.stage else { return };
        let at = stage.at(op.class, place);
        let class = op.class;
        stage.push_new(&mut self.slab, op, (at, class));
    }

    /// A command of a die has ended where commands go page by page: the oldest operation that was sent to it starts, unless it has begun, and
    /// others are sent from the stage.
    #[inline(always)]
    pub(super) fn go_on_at(&mut self, die: u32, has_begun: bool, queue: &mut EventQueue) -> Result<(), Fault> {
        if !has_begun {
            self.start_next_page_at(die, queue)?;
        }
        if self.is_calm_in_pages() {
            if self.stage_is_quiet() || self.look_for_pages::<true>() {
                debug_assert!(self.is_settled(), "something else is left to do");
                return Ok(());
            }
            return self.take_what_was_sent(queue);
        }
        self.pump_pages(queue)
    }

    /// As [`Kernel::is_calm`] where operations go straight through the stage.
    #[inline(always)]
    pub(super) fn is_calm_by_stage(&self) -> bool {
        if self.by_stage_in_pages {
            self.is_calm_in_pages()
        } else {
            self.is_calm()
        }
    }

    /// The same where commands go page by page: there all of GC takes its time.
    #[inline(always)]
    fn is_calm_in_pages(&self) -> bool {
        let stuck = self.stalled && self.busy == 0;
        let calm = self.dirty.is_empty() && !(stuck | self.shared_dirty) && self.fault.is_none();
        debug_assert_eq!(calm, self.is_calm(), "something else has to be looked at");
        calm
    }

    /// The oldest operation that was sent to an idle die starts, where commands go page by page.
    #[inline(always)]
    fn start_next_page_at(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        if !self.dirty.is_empty() {
            if !self.has_nothing_sent(die) {
                self.mark(die);
            }
            return Ok(());
        }
        self.dispatch_sent_page(die, queue)
    }

    /// The same after the end of commands that end more seldom.
    #[inline(never)]
    pub(super) fn go_on_after(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        self.start_next_at(die, queue)?;
        self.pump_pages(queue)
    }

    /// The oldest operation that was sent to an idle die starts.
    #[inline(always)]
    pub(super) fn start_next_at(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let waiting = self.dies[die as usize].waiting.of_host_and_gc();
        if waiting == Some(0) && self.stage.as_ref().is_some_and(|stage| stage.load(die) == 0) {
            return Ok(());
        }
        if !self.dirty.is_empty() {
            self.mark(die);
        } else if self.by_stage_in_pages {
            self.dispatch_sent_page(die, queue)?;
        } else if let Some((plane, others)) = self.next_read_sent(die, waiting.unwrap_or_default()) {
            self.start_oldest_read(die, plane, Class::HOST_READ, others, queue)?;
        } else {
            self.dispatch_sent(die, queue)?;
        }
        Ok(())
    }

    /// The plane of the oldest read of the host that was sent to a die, and the other planes that such reads wait for, as bits: if nothing
    /// else of what is given waits there, and it reads its page as it is.
    #[inline(always)]
    fn next_read_sent(&self, die: u32, waiting: u64) -> Option<(u32, u32)> {
        let planes = Ready::planes_of(waiting, Class::HOST_READ);
        if u64::from(planes) != waiting || planes == 0 || self.shared_count > 0 {
            return None;
        }
        let first = die * self.planes_per_die.get();
        let at = if planes.is_power_of_two() { planes.trailing_zeros() } else { self.oldest_bit(first, planes.into()) };
        self.leads_read(first + at, Class::HOST_READ).then_some((first + at, planes & !(1 << at)))
    }

    /// As [`Kernel::pump`].
    #[inline(never)]
    pub(super) fn pump_pages(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        self.dispatch_marked(queue)?;
        if !self.is_calm_by_stage() {
            return self.run(queue);
        }
        self.look_and_go_on(queue)
    }

    /// The same if no die has to be looked at: others are sent from the stage, and dies that these go to take them.
    #[inline(always)]
    fn look_and_go_on(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.stage_is_quiet() || self.look_from_elsewhere() {
            debug_assert!(self.is_settled(), "something else is left to do");
            return Ok(());
        }
        self.take_what_was_sent(queue)
    }

    /// True if the policy need not look at the stage.
    #[inline(always)]
    fn stage_is_quiet(&self) -> bool {
        self.stage.as_ref().is_none_or(|stage| !stage.is_due())
    }

    /// As [`Kernel::look_for_pages`], which is a part of the end of a command where that is the most frequent event.
    #[inline(never)]
    fn look_from_elsewhere(&mut self) -> bool {
        if self.by_stage_in_pages {
            self.look_for_pages::<true>()
        } else {
            self.look_for_pages::<false>()
        }
    }

    /// Dies to which a look has sent something take it.
    #[inline(never)]
    fn take_what_was_sent(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        self.dispatch_marked(queue)?;
        if self.is_settled() {
            return Ok(());
        }
        self.run(queue)
    }

    /// Dies that may find work take it.
    #[inline(always)]
    fn dispatch_marked(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        while let Some(die) = self.dirty.pop_front() {
            self.dies[die as usize].queued = false;
            self.dispatch_sent(die, queue)?;
        }
        Ok(())
    }

    /// As [`Kernel::dispatch`]: the oldest operation that was sent to an idle die starts.
    #[inline(never)]
    pub(super) fn dispatch_sent(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        let state = &self.dies[die as usize];
        if state.busy {
            return Ok(());
        }
        if self.by_stage_in_pages {
            return self.dispatch_sent_page(die, queue);
        }
        let waiting = state.waiting.of_host_and_gc().filter(|&waiting| waiting != 0 && self.shared_count == 0);
        let by_age = |waiting: u64| self.takes_oldest || waiting.is_power_of_two();
        if let Some(waiting) = waiting.filter(|&waiting| by_age(waiting) && self.all_go(die, waiting)) {
            if self.begin_sent(die, waiting, queue)? {
                return Ok(());
            }
        }
        self.dispatch(die, queue)?;
        Ok(())
    }

    /// The same of a die that is idle, where each write fills a page.
    #[inline(always)]
    fn dispatch_sent_page(&mut self, die: u32, queue: &mut EventQueue) -> Result<(), Fault> {
        debug_assert!(self.takes_oldest, "drives with another order do not go this way");
        // No closure decides on it: that would be a call.
        let waiting = self.dies[die as usize].waiting.of_host_and_gc();
        if let (Some(waiting), 0) = (waiting, self.shared_count) {
            // A die has nothing but what it waits for or runs.
            if waiting == 0 || self.all_have_pages(die, waiting) && self.begin_sent_page(die, waiting, queue)? {
                return Ok(());
            }
        }
        self.dispatch_otherwise(die, queue)
    }

    /// As [`Kernel::all_go`] where each write fills a page.
    #[inline(always)]
    fn all_have_pages(&self, die: u32, waiting: u64) -> bool {
        debug_assert!(waiting & Ready::MAP_WRITES == 0, "no mapping table is written");
        waiting & Ready::WRITES & !self.space.open_of_die(die) == 0
    }

    /// The oldest of the operations of host and GC that wait for planes of a die, as bits: its class, its plane, and the other planes of the die
    /// that operations of its class wait for, as bits.
    #[inline(always)]
    fn oldest_of_sent(&self, die: u32, waiting: u64) -> (Class, u32, u32) {
        let first = die * self.planes_per_die.get();
        let bit = if waiting.is_power_of_two() { waiting.trailing_zeros() } else { self.oldest_bit(first, waiting) };
        let (class, at) = Ready::of_bit(bit);
        (class, first + at, Ready::planes_of(waiting, class) & !(1 << at))
    }

    /// Starts the oldest of the operations of host and GC that wait for planes of an idle die, as bits, if it is a read or a program that needs
    /// no look at others; false if not, and nothing has happened yet.
    #[inline(always)]
    fn begin_sent(&mut self, die: u32, waiting: u64, queue: &mut EventQueue) -> Result<bool, Fault> {
        let (class, plane, others) = self.oldest_of_sent(die, waiting);
        match class {
            Class::HOST_READ | GC_READ if self.leads_read(plane, class) => {
                self.start_oldest_read(die, plane, class, others, queue)?;
                Ok(true)
            }
            Class::HOST_WRITE | GC_WRITE if self.is_straight_by_stage_in_units() => {
                self.program_units(die, class, (plane, others), queue)
            }
            _ => Ok(false),
        }
    }

    /// The same where each write fills a page.
    #[inline(always)]
    fn begin_sent_page(&mut self, die: u32, waiting: u64, queue: &mut EventQueue) -> Result<bool, Fault> {
        let first = die * self.planes_per_die.get();
        let bit = self.oldest_bit(first, waiting);
        let (class, at) = Ready::of_bit(bit);
        let others = Ready::planes_of(waiting & !(1 << bit), class);
        let seat = Seat { die, at, plane: first + at, others };
        match class {
            GC_READ => self.read_sent(seat, GC_READ, queue),
            Class::HOST_READ => self.read_sent(seat, Class::HOST_READ, queue),
            GC_WRITE => {
                let begins = self.program_moved_page::<false>(seat, queue)?;
                self.starts_page(die, GC_WRITE, begins)
            }
            Class::HOST_WRITE => {
                let begins = self.program_page_of_host::<true, false>(seat, queue)?;
                self.starts_page(die, Class::HOST_WRITE, begins)
            }
            _ => Ok(false),
        }
    }

    /// The oldest read of a class that waits for a plane starts, with partners of other planes; false if there is none, or its data have moved, and
    /// nothing has happened yet. All of them take their own places at the die.
    #[inline(always)]
    fn read_sent(&mut self, seat: Seat, class: Class, queue: &mut EventQueue) -> Result<bool, Fault> {
        let Seat { die, at, plane, others } = seat;
        let Self { queues, slab, map, .. } = self;
        let Some(lead) = queues[plane as usize * CLASSES + class.index()].lead_of(slab) else { return Ok(false) };
        let FlashOp { unit, source, units, owner, bytes, .. } = *lead.op();
        if class == Class::HOST_READ && (units > 1 || !map.lies_at(unit, source)) {
            return Ok(false);
        }
        let Taken { slot, last, .. } = lead.take();
        if last {
            self.dies[die as usize].waiting.clear(class, at);
        }
        let block = self.units_per_block.quotient(source);
        let page = source - block * self.plan.units_per_block;
        if others != 0 && self.window > 0 && self.join_straight(die, slot, (owner, page), class, others)? {
            self.start_joined(die, class, queue)?;
            return Ok(true);
        }
        if let Some(stage) = &mut self.stage {
            stage.start_page(die, class);
        }
        self.busy += 1;
        let page = PageAddress { plane: at, block: block - plane * self.blocks_per_plane.get(), page };
        self.start_page_read(die, slot, (page, bytes), class, queue)?;
        Ok(true)
    }

    /// A program of a class takes its own place at its die if it begins; tells whether it does.
    #[inline(always)]
    fn starts_page(&mut self, die: u32, class: Class, begins: bool) -> Result<bool, Fault> {
        if let Some(stage) = self.stage.as_mut().filter(|_| begins) {
            stage.start_page(die, class);
        }
        Ok(begins)
    }

    /// True if the oldest read of a class that waits for a plane reads its page as it is.
    #[inline(always)]
    fn leads_read(&self, plane: u32, class: Class) -> bool {
        if class == GC_READ && self.by_stage_in_planes {
            return true;
        }
        let op = self.slab.get(self.queues[plane as usize * CLASSES + class.index()].head);
        let takes_time = class.is_host() || !self.instant;
        takes_time && op.role != Role::Copy && self.is_current(op)
    }

    /// True if the oldest write of the host in a plane gives a collection something to gain that found nothing before: what this lets come to
    /// the stage finds the place free there that the write has left.
    #[inline(always)]
    pub(super) fn feeds(&self, plane: u32) -> bool {
        if self.starved[self.blocks.domain_of_plane(plane) as usize] {
            return true;
        }
        let unit = self.slab.get(self.queues[plane as usize * CLASSES + Class::HOST_WRITE.index()].head).unit;
        let Some(old) = self.map.place(unit) else { return false };
        let block = self.units_per_block.quotient(old);
        // Mostly a unit stays in its plane.
        let stays = block.wrapping_sub(plane * self.blocks_per_plane.get()) < self.blocks_per_plane.get();
        !stays && self.starved[self.blocks.domain_of_plane(self.blocks.plane_of(block)) as usize]
    }
}
