//! The straight way of programs, and of all operations of GC, through the commit stage.
//!
//! As in [`super::straight_moves`], but for drives whose dispatch policy gives dies a depth. Mostly the operations of one queue alone may go:
//! then the policy is asked about these without a list, and one that finds its die without any other starts there at once. A die that becomes
//! idle takes the oldest of what was sent to it without a survey. All other moments are left to the general path.
//!
//! [`Kernel::goes_straight_by_stage`] is the one place that says which drives may go this way.

use super::dispatch::SHARED_WRITES;
use super::ready::Ready;
use super::stage::{Offer, Queue, Stage};
use super::{stream_of, Fault, Kernel, Waits};
use crate::map::Place;
use crate::ops::{FlashOp, Role, NONE};
use crate::policy::placement::Constraint;
use crate::task::{Action, Class, Task, ROWS};
use wordline_base::EventQueue;
use wordline_flash::Kind;

const GC_WRITE: Class = Class::new(Task::GC, Action::Program);

/// What starts at an idle die straight from the stage.
#[derive(Clone, Copy, Debug)]
enum Lone {
    /// A read or an erase.
    Operation(u32),
    /// The oldest writes of a queue, up to the last, which fill a page of a plane.
    Page { last: u32, plane: u32 },
}

impl Kernel {
    /// As [`Kernel::pump`]: mostly nothing may go, or the operations of one queue.
    #[inline]
    pub(super) fn pump_by_stage(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        if self.by_stage_in_planes {
            self.pump_pages(queue)
        } else if self.is_calm() {
            self.pump_calm(queue)
        } else {
            self.run(queue)
        }
    }

    /// The same if no die and no shared queue has to be looked at.
    #[inline]
    pub(super) fn pump_calm(&mut self, queue: &mut EventQueue) -> Result<(), Fault> {
        match self.offer_of_stage() {
            Offer::Queue(at) => self.send_alone(at as usize, queue)?,
            Offer::Task(task) => self.send_of(task, queue)?,
            Offer::Several => self.run_stage(),
            Offer::Nothing => {}
        }
        if !self.rests_by_stage() {
            return self.run(queue);
        }
        if !self.has_scheduled() {
            self.schedule_processors(queue);
        }
        Ok(())
    }

    /// What may go from the stage. A look at the oldest operations finds nothing to send if no die has room for what waits for it, and
    /// writes that may go to several dies lack company.
    #[inline(always)]
    pub(super) fn offer_of_stage(&mut self) -> Offer {
        if self.stage.as_ref().is_none_or(|stage| !stage.is_due()) {
            return Offer::Nothing;
        }
        self.look_for_offer()
    }

    /// The same when something may have become possible.
    #[inline(never)]
    fn look_for_offer(&mut self) -> Offer {
        if !self.by_stage_of_oldest || self.now >= self.control_due {
            return if self.stage_rests() { Offer::Nothing } else { Offer::Several };
        }
        if self.buffer.has_due() {
            self.list_due();
        }
        let Some(stage) = self.stage.as_ref().filter(|stage| stage.may_gain()) else {
            self.settle_stage();
            return Offer::Nothing;
        };
        let mut offer = stage.offer_of_bound();
        let mut roams = false;
        if stage.shows_roaming() || offer != Offer::Nothing {
            for &at in stage.roaming() {
                let queue = stage.queue(at as usize);
                let task = queue.class.task();
                if !stage.lets(task) {
                    // Its company is looked for when it can go.
                    roams = true;
                } else if self.has_company(queue) {
                    roams = true;
                    let alone = offer == Offer::Nothing;
                    offer = if alone { Offer::Queue(at) } else { stage.offer_with(offer, task) };
                }
            }
        }
        if offer == Offer::Nothing {
            if let Some(stage) = &mut self.stage {
                stage.roams = roams;
                stage.settle();
            }
        }
        offer
    }

    /// True if queues of writes are listed when these no longer wait for others to fill their page: by policies that see but the oldest
    /// operations, a queue that cannot send any is not missed.
    #[inline]
    pub(super) fn lists_late(&self) -> bool {
        self.by_stage_of_oldest
    }

    #[inline]
    fn settle_stage(&mut self) {
        if let Some(stage) = &mut self.stage {
            stage.settle();
        }
    }

    /// Lists queues with buffered units that must go by now, though nothing has woken them yet: newer ones have come that wait for a
    /// processor, or for old data.
    #[cold]
    pub(super) fn list_due(&mut self) {
        let Some(mut stage) = self.stage.take() else { return };
        for (slot, ordinal) in self.buffer.due() {
            let op = self.slab.get(slot);
            if op.ordinal == ordinal && op.class == Class::HOST_WRITE && op.buffered {
                let place = self.placement.placed(self.page_number(op.unit), slot);
                stage.list_alone(stage.at(op.class, place));
            }
        }
        self.stage = Some(stage);
    }

    /// As [`Kernel::run_stage`] where the operations of one queue alone may go.
    pub(super) fn send_alone(&mut self, at: usize, queue: &mut EventQueue) -> Result<(), Fault> {
        let Some(mut stage) = self.stage.take() else { return Ok(()) };
        let nothing_else = self.has_none_at_idle();
        let mut sent = false;
        while let Some(die) = self.next_alone(&stage, at) {
            if nothing_else && !sent {
                if let Some(lone) = self.lone(&stage, at, die) {
                    return self.start_alone_at(stage, at, (die, lone), queue);
                }
            }
            self.send_where_it_waits(&mut stage, at, (die, nothing_else));
            sent = true;
        }
        self.settle_alone(&mut stage);
        self.stage = Some(stage);
        Ok(())
    }

    /// The same where the operations of one task alone may go: mostly one of them goes, and then the task has as many outstanding as it may.
    pub(super) fn send_of(&mut self, task: Task, queue: &mut EventQueue) -> Result<(), Fault> {
        let Some(mut stage) = self.stage.take() else { return Ok(()) };
        let nothing_else = self.has_none_at_idle();
        let mut sent = false;
        while stage.lets(task) {
            let Some((at, die)) = self.oldest_for(&stage, task) else { break };
            if nothing_else && !sent && stage.lets_one(task) {
                if let Some(lone) = self.lone_of_last(&stage, at, die) {
                    return self.start_alone_at(stage, at, (die, lone), queue);
                }
            }
            self.send_where_it_waits(&mut stage, at, (die, nothing_else));
            sent = true;
        }
        self.settle_alone(&mut stage);
        self.stage = Some(stage);
        Ok(())
    }

    /// True if no die and no shared queue has to be looked at: what was sent to dies waits for them.
    #[inline]
    fn has_none_at_idle(&mut self) -> bool {
        self.dirty.is_empty() && !self.shared_dirty && !self.is_idle_with_writes()
    }

    /// As [`Kernel::send`]; `nothing_else` says that no die and no shared queue has to be looked at beside.
    #[inline]
    fn send_where_it_waits(&mut self, stage: &mut Stage, at: usize, (die, nothing_else): (u32, bool)) {
        let looks = self.shared_dirty;
        self.send(stage, at, die);
        if nothing_else && self.dies[die as usize].busy && self.shared_dirty && !looks && self.row_units == 0 {
            // All that a look at the shared queues would find.
            (self.shared_dirty, self.stalled) = (false, true);
        }
    }

    /// The valid units of a page that a job read wait in the stage to be written, behind the others of their place: as [`Kernel::enqueue`] of
    /// each. Gives how many there are.
    #[inline(never)]
    pub(super) fn stage_moved(&mut self, class: Class, source: Place, owner: u32) -> u32 {
        let Some(mut stage) = self.stage.take() else { return 0 };
        let page = source - self.units_per_page.remainder(source);
        let (mut found, mut from, end) = (0, page, page + self.plan.units_per_page);
        // Mostly all of them go to one queue.
        let (mut at, mut together) = (usize::MAX, 0);
        while let Some(place) = self.map.next_valid(from, end) {
            let unit = self.map.unit_at(place);
            let own = stage.at(class, self.place_of(class, unit, place));
            if own != at {
                self.come_to_stage(&mut stage, at, together);
                (at, together) = (own, 0);
            }
            self.sequence += 1;
            let slot = self.slab.insert(FlashOp {
                class,
                unit,
                source: place,
                owner,
                stamp: self.shadow.as_ref().map_or(0, |shadow| shadow.at(place)),
                ready: self.now,
                sequence: self.sequence,
                ..FlashOp::default()
            });
            self.expect_moved_soon(unit);
            stage.queue_mut(at).fifo.push(&mut self.slab, slot);
            (found, together, from) = (found + 1, together + 1, place + 1);
        }
        self.come_to_stage(&mut stage, at, together);
        self.stage = Some(stage);
        found
    }

    /// So many moved units, which may be none, have come to a queue.
    #[inline]
    fn come_to_stage(&self, stage: &mut Stage, at: usize, units: u32) {
        if units == 0 {
            return;
        }
        let Queue { class, place, fifo, .. } = *stage.queue(at);
        let domain = if let Constraint::Plane(plane) = place { self.blocks.domain_of_plane(plane) } else { 0 };
        let lonely = self.lists_late() && !self.may_go(&fifo, class, domain);
        stage.come_together(at, units, lonely);
    }

    /// True if writes that were sent to an idle die may wait there: they found no room, and are looked at with those that are sent.
    #[inline]
    fn is_idle_with_writes(&mut self) -> bool {
        if self.shared_count == 0 {
            return false;
        }
        let [host, gc] = SHARED_WRITES.map(|class| self.shared_waiting[class.row()]);
        host + gc != self.shared_count || SHARED_WRITES.into_iter().any(|class| self.waits_at_idle(class))
    }

    /// The same of writes of a class.
    fn waits_at_idle(&mut self, class: Class) -> bool {
        let (words, first_die) = (self.shared_places.len() / ROWS, 1 + self.flash.geometry().channels as usize);
        let first = self.shared_row(class);
        for word in 0..words {
            let places = &mut self.shared_places[class.row() * words + word];
            let mut left = *places;
            while left != 0 {
                let (bit, at) = (left.trailing_zeros(), word * 64 + left.trailing_zeros() as usize);
                left &= left - 1;
                if self.shared[first + at].head == NONE {
                    *places &= !(1 << bit);
                } else if at < first_die || !self.dies[at - first_die].busy {
                    return true;
                }
            }
        }
        false
    }

    /// True if the units of a page leave the stage in more than one step, where something may come for each of them.
    #[inline]
    pub(super) fn leaves_in_steps(&self, die: u32, class: Class) -> bool {
        self.follows_units && self.stage.as_ref().is_some_and(|stage| stage.lacking(die, class) > 0)
    }

    /// The die for the oldest operation of a queue, if it may go now.
    #[inline]
    fn next_alone(&mut self, stage: &Stage, at: usize) -> Option<u32> {
        let queue = *stage.queue(at);
        if queue.fifo.head == NONE || !stage.lets(queue.class.task()) {
            return None;
        }
        let head = self.head(stage, &queue)?;
        let die = head.die?;
        // A policy that sees the oldest operations alone wants what its task may have.
        let goes = self.by_stage_of_oldest || self.dispatch.wants(&head, &stage.outstanding, &self.nominal);
        goes.then_some(die)
    }

    /// What starts at a die that is idle and for which nothing waits, if all that a queue can send now is that, and it is still to be done.
    #[inline]
    fn lone(&self, stage: &Stage, at: usize, die: u32) -> Option<Lone> {
        let Queue { class, fifo, .. } = stage.queue(at);
        let (class, most) = (*class, self.plan.units_per_program);
        let alone = if class.is_write() {
            // A page of them, and no second one.
            fifo.len == most
                || (class.moves() && fifo.len > most && fifo.len < 2 * most && !self.may_go_alone(fifo, class, 0))
        } else {
            fifo.len == 1
        };
        if !alone {
            return None;
        }
        self.lone_of_last(stage, at, die)
    }

    /// The same of the oldest operation of a queue, or of the oldest writes that fill a page, if no other may be sent now.
    #[inline]
    fn lone_of_last(&self, stage: &Stage, at: usize, die: u32) -> Option<Lone> {
        if self.dies[die as usize].busy || stage.load(die) > 0 {
            return None;
        }
        let Queue { class, place, fifo, .. } = *stage.queue(at);
        match class.action() {
            Action::Program => {
                let most = self.plan.units_per_program;
                let plain = !class.is_map_write() && !self.binds_apart && self.row_units == 0;
                if fifo.len < most || !plain {
                    return None;
                }
                let stream = stream_of(class);
                let plane = match place {
                    Constraint::Plane(plane) => plane,
                    _ => self.best_plane(die, stream)?,
                };
                let starved = self.starved[self.blocks.domain_of_plane(plane) as usize];
                if starved || !self.space.is_open(plane, stream) {
                    return None;
                }
                let last = self.end_of_full_page(fifo.head, class, most)?;
                Some(Lone::Page { last, plane })
            }
            Action::Read => {
                let op = self.slab.get(fifo.head);
                (op.role != Role::Copy && self.is_current(op)).then_some(Lone::Operation(fifo.head))
            }
            Action::Erase => Some(Lone::Operation(fifo.head)),
        }
    }

    /// Starts what is alone at its die, which it leaves the stage for, without waiting there.
    #[inline]
    fn start_alone_at(
        &mut self,
        mut stage: Box<Stage>,
        at: usize,
        (die, lone): (u32, Lone),
        queue: &mut EventQueue,
    ) -> Result<(), Fault> {
        let Queue { class, place, fifo, .. } = *stage.queue(at);
        let (last, units) = match lone {
            Lone::Operation(slot) => (slot, 1),
            Lone::Page { last, .. } => (last, self.plan.units_per_program),
        };
        stage.queue_mut(at).fifo.cut(&mut self.slab, last, units);
        stage.count_staged(at, -(units as i32));
        self.head_changes(&mut stage, at);
        let counted = self.follows_units && class.is_write();
        if counted {
            // What follows from the new places of its units may go to the stage, too.
            stage.count_waiting(die, class, units as i32);
        }
        self.settle_alone(&mut stage);
        self.stage = Some(stage);
        if matches!(place, Constraint::Any | Constraint::Channel(_)) {
            self.stage_turn = (die + 1) % self.flash.geometry().dies();
        }
        match (class.action(), lone) {
            (Action::Program, Lone::Page { plane, .. }) => {
                self.command.clear(Kind::Program);
                self.bind_cut_page(die, plane, class, (fifo.head, counted))?;
            }
            (Action::Read, _) => {
                self.command.clear(Kind::Read);
                self.begin_alone();
                self.add_read(die, fifo.head)?;
            }
            _ => {
                self.command.clear(Kind::Erase);
                self.begin_alone();
                let address = self.address(self.slab.get(fifo.head).source * self.plan.units_per_block);
                self.command.add(address, 0);
                self.attach(die, fifo.head);
            }
        }
        self.start(die, class, queue)
    }

    /// What goes straight to its die leaves the place that it would have waited in, before its command takes one.
    #[inline]
    fn begin_alone(&mut self) {
        if let Some(stage) = &mut self.stage {
            stage.settle_before_start();
        }
    }

    /// Binds the next page of the open block of a plane for writes that just fill it, from the first on, which have left their queue: as
    /// [`Kernel::bind_page`]. `counted` tells whether they were sent to the die before.
    #[inline]
    pub(super) fn bind_cut_page(
        &mut self,
        die: u32,
        plane: u32,
        class: Class,
        (first, counted): (u32, bool),
    ) -> Result<(), Fault> {
        let most = self.plan.units_per_program;
        let bound = self.space.bind_open(&mut self.blocks, plane, stream_of(class));
        let (mut place, mut slot) = (bound.block * self.plan.units_per_block + bound.page * most, first);
        if class == GC_WRITE && self.by_stage_in_planes {
            match &mut self.stage {
                Some(stage) if counted => stage.count_waiting(die, class, -(most as i32)),
                _ => self.begin_alone(),
            }
            let domain = self.blocks.domain_of_plane(plane);
            while slot != NONE {
                slot = self.place_moved(slot, place, bound.block, domain)?;
                place += 1;
            }
        }
        while slot != NONE {
            let FlashOp { next, .. } = *self.slab.get(slot);
            if next == NONE {
                // Up to its last unit, a program counts as one that waits.
                match &mut self.stage {
                    Some(stage) if counted => stage.count_waiting(die, class, -(most as i32)),
                    _ => self.begin_alone(),
                }
            }
            self.place_unit(slot, place, bound.block, plane)?;
            (place, slot) = (place + 1, next);
        }
        if class.moves() {
            self.settle_units(self.blocks.domain_of_plane(plane), most);
        }
        let address = self.page_address(plane, bound.block, bound.page * self.pages_per_program);
        self.command.add(address, self.program_bytes);
        self.attach(die, first);
        if bound.closed {
            self.settle_page(plane, bound, class);
        }
        Ok(())
    }

    /// The queue that alone could send operations has sent them: what is left that may go to several dies waits for room.
    #[inline]
    fn settle_alone(&self, stage: &mut Stage) {
        stage.roams = stage.roaming().iter().any(|&at| self.has_company(stage.queue(at as usize)));
        stage.settle();
    }

    /// Ends a command of GC that read or programmed, as [`Kernel::complete`] and [`Kernel::pump`] would.
    #[inline(never)]
    pub(super) fn end_moves_by_stage(&mut self, die: u32, class: Class, queue: &mut EventQueue) -> Result<(), Fault> {
        let left = self.leave_die(die, class);
        if let Some(stage) = &mut self.stage {
            stage.end_pages(die, class, left.slots().len() as u32);
        }
        if class.is_write() {
            self.units_were_moved(&left, Self::arrived);
        } else {
            left.slots().iter().for_each(|&first| self.pages_were_read(first));
        }
        self.start_next_at(die, queue)?;
        self.pump_by_stage(queue)
    }

    /// Reads of a task that works in the background have ended, from the first on.
    #[inline(always)]
    fn pages_were_read(&mut self, first: u32) {
        let mut slot = first;
        while slot != NONE {
            let op = *self.slab.get(slot);
            match op.role {
                Role::Map => self.map_read(slot, &op, false),
                Role::Copy => self.copied(slot, &op),
                _ if self.move_is_computed(slot, &op) => {}
                _ => self.moved_out(slot, &op),
            }
            slot = op.next;
        }
    }

    /// True if nothing was sent to an idle die.
    #[inline]
    pub(super) fn has_nothing_sent(&self, die: u32) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.load(die) == 0) && self.dies[die as usize].waiting.is_nothing()
    }

    /// Ends the program of a die with units of the host, as [`Kernel::complete`] would.
    #[inline(always)]
    pub(super) fn end_program_by_stage(&mut self, die: u32) {
        let count = self.dies[die as usize].count;
        if let Some(stage) = &mut self.stage {
            stage.end_pages(die, Class::HOST_WRITE, count.into());
        }
        self.end_program(die);
    }

    /// The oldest operation that was sent to an idle die, and where it waits, if any was; none at all if it takes a survey to tell.
    #[inline]
    pub(super) fn oldest_sent(&self, die: u32, waiting: Ready) -> Option<Option<(Class, Waits)>> {
        if self.has_nothing_sent(die) {
            return Some(None);
        }
        let waiting = waiting.of_host_and_gc()?;
        if waiting & Ready::MAP_WRITES != 0 || !self.all_go(die, waiting) {
            return None;
        }
        let (mut oldest, mut found, mut several) = (u64::MAX, None, false);
        if waiting != 0 {
            let first = die * self.planes_per_die.get();
            several = !waiting.is_power_of_two();
            let bit = if several { self.oldest_bit(first, waiting) } else { waiting.trailing_zeros() };
            let (class, plane) = Ready::of_bit(bit);
            let plane = first + plane;
            (oldest, found) = (self.oldest_in(class, plane), Some((class, Waits::Plane(plane))));
        }
        if self.shared_count > 0 {
            let [host, gc] = SHARED_WRITES.map(|class| self.shared_waiting[class.row()]);
            if host + gc != self.shared_count {
                return None;
            }
            let own = 1 + (self.flash.geometry().channels + die) as usize;
            for class in SHARED_WRITES {
                let index = self.shared_row(class) + own;
                let fifo = &self.shared[index];
                if fifo.head == NONE {
                    continue;
                }
                if fifo.len < self.plan.units_per_program.max(self.row_units) {
                    return None;
                }
                let plane = self.best_plane(die, stream_of(class))?;
                several |= found.is_some();
                let sequence = fifo.oldest(&self.slab);
                if sequence < oldest {
                    (oldest, found) = (sequence, Some((class, Waits::Shared(index, plane))));
                }
            }
        }
        (self.takes_oldest || !several).then_some(found)
    }
}
