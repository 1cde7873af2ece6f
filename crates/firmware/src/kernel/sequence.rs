//! Cache mode: a die with a free register gets a following command, or the information that there is none.
//!
//! A follower is of the same class, unless an external packer lets reads of another one follow, and for the same planes in the same order.
//! Its existence is checked before anything is bound, since binding cannot be undone.

use super::attend::Batch;
use super::{stream_of, Fault, Kernel, Waits};
use crate::ops::{Fifo, FlashOp, Role, NONE};
use crate::space::Stream;
use crate::task::{Class, Task, CLASSES};
use serde::{Deserialize, Serialize};
use wordline_base::EventQueue;
use wordline_flash::{Command, Kind};

/// A die in cache mode.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Sequence {
    /// The command before the current one.
    pub(super) held: Batch,
    /// The class that leads that, if there is one, and whether it has operations of several tasks.
    pub(super) of_held: (Class, bool),
    /// Followers in a row that went before an older operation for other planes.
    pub(super) passed: u32,
}

impl Default for Sequence {
    fn default() -> Self {
        Self { held: Batch::default(), of_held: (Class::HOST_READ, false), passed: 0 }
    }
}

/// Where the writes of a follower wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the queues of its planes.
    Own,
    /// In a shared queue.
    Shared(usize),
}

impl Kernel {
    /// A register of a die in cache mode is free; `ended` means that the command before the current one has ended.
    pub(super) fn go_on(&mut self, die: u32, ended: bool, queue: &mut EventQueue) -> Result<(), Fault> {
        if ended {
            self.end_held(die)?;
        }
        if !self.bind_follower(die)? {
            self.flash.finish(self.now, die, queue)?;
            return Ok(());
        }
        let class = self.dies[die as usize].class;
        // The last program of a sequence is a plain one.
        self.command.cache = self.command.kind == Kind::Read || self.is_followed(die, class);
        self.count_command(die, class);
        // A plain program at the end of a sequence cannot be suspended either.
        self.running[die as usize] = self.command;
        self.running[die as usize].cache = true;
        self.foresee(class, Some(die));
        self.flash.follow(self.now, die, &self.command, queue)?;
        if self.notes.is_some() {
            let state = &self.dies[die as usize];
            self.witness(die, class, (state.count, state.pages));
        }
        if self.fails {
            self.note_failures(die)?;
        }
        Ok(())
    }

    /// The command before the current one has ended: its operations go back to their tasks.
    pub(super) fn end_held(&mut self, die: u32) -> Result<(), Fault> {
        let Some(sequence) = self.sequences.get_mut(die as usize) else { return Ok(()) };
        let held = std::mem::take(&mut sequence.held);
        let state = &mut self.dies[die as usize];
        let (class, mixed) = if held.count == 0 { (state.class, state.mixed) } else { sequence.of_held };
        let collector_end = state.collector_end;
        if class.task() == Task::GC {
            state.collector_end = self.now;
        }
        let pages = &held.pages[..usize::from(held.count)];
        if mixed {
            return self.hand_back_each(die, pages, collector_end);
        }
        self.hand_back(die, class, pages, collector_end)
    }

    /// Puts the command together that follows on a die; false if there is none.
    fn bind_follower(&mut self, die: u32) -> Result<bool, Fault> {
        let Some((class, place)) = self.chosen(die) else { return Ok(false) };
        if class != self.dies[die as usize].class {
            return if self.crosses { self.cross_to_read(die, class, place) } else { Ok(false) };
        }
        let before = self.running[die as usize];
        if class.is_write() {
            self.follow_with_write(die, class, place, &before)
        } else {
            self.follow_with_read(die, class, place, &before)
        }
    }

    /// True if a follower may go although an older operation waits for other planes.
    pub(super) fn may_pass(&mut self, die: u32, passes: bool) -> bool {
        let most = self.pack.cache().map_or(0, |mode| mode.passes);
        let passed = &mut self.sequences[die as usize].passed;
        *passed = if passes { *passed + 1 } else { 0 };
        *passed <= most
    }

    /// The current command of a die becomes the one before the current.
    pub(super) fn hold(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let sequence = &mut self.sequences[die as usize];
        sequence.held = Batch { count: state.count, pages: state.pages };
        sequence.of_held = (state.class, state.mixed);
        state.count = 0;
    }

    fn follow_with_read(&mut self, die: u32, class: Class, place: Waits, before: &Command) -> Result<bool, Fault> {
        let Waits::Plane(oldest) = place else { unreachable!("reads have a plane") };
        if self.asks_of_followers || self.dies[die as usize].mixed {
            return self.follow_with_agreed_read(die, class, oldest, before);
        }
        let first = die * self.flash.geometry().planes_per_die;
        let among = before.pages().iter().any(|page| first + page.plane == oldest);
        let lead = if among { oldest } else { first + before.pages()[0].plane };
        let head = self.queues[lead as usize * CLASSES + class.index()].head;
        if head == NONE {
            return Ok(false);
        }
        let op = *self.slab.get(head);
        if op.role == Role::Copy || !self.is_current(&op) {
            return Ok(false);
        }
        let from = self.first_of_page(self.page_of(op.source));
        let window = self.pack.window();
        let others = before.pages().iter().map(|at| first + at.plane).filter(|&plane| plane != lead);
        let fits = |op: &FlashOp| self.joins(op, from);
        let complete = others.clone().all(|plane| {
            self.queues[plane as usize * CLASSES + class.index()].find(&self.slab, window, fits).is_some()
        });
        if !complete || !self.may_pass(die, !among) {
            return Ok(false);
        }
        self.hold(die);
        self.command.clear(Kind::Read);
        for at in before.pages() {
            let plane = first + at.plane;
            let slot = if plane == lead {
                self.pop(plane, class)
            } else {
                self.take_read(plane, class, window, |kernel, op| kernel.joins(op, from))
            };
            self.add_read(die, slot.expect("it was found just now"))?;
        }
        Ok(true)
    }

    fn follow_with_write(&mut self, die: u32, class: Class, place: Waits, before: &Command) -> Result<bool, Fault> {
        let Some(source) = self.source_of_follower(die, class, before) else { return Ok(false) };
        let first = die * self.flash.geometry().planes_per_die;
        if !self.may_pass(die, self.passes(die, source, place, before)) {
            return Ok(false);
        }
        if self.asks_of_followers && !self.agrees_on_program(die, class, source, before) {
            return Ok(false);
        }
        self.hold(die);
        self.command.clear(Kind::Program);
        for at in before.pages() {
            let plane = first + at.plane;
            let place = match source {
                Source::Own => Waits::Plane(plane),
                Source::Shared(queue) => Waits::Shared(queue, plane),
            };
            self.bind_page(die, plane, class, place)?;
        }
        Ok(true)
    }

    /// True if a write of the same class could follow the assembled program.
    pub(super) fn is_followed(&mut self, die: u32, class: Class) -> bool {
        let Some(source) = self.source_of_follower(die, class, &self.command) else { return false };
        let Some(oldest) = self.place_of_oldest(die, class) else { return false };
        let most = self.pack.cache().map_or(0, |mode| mode.passes);
        let may_pass = !self.passes(die, source, oldest, &self.command) || self.sequences[die as usize].passed < most;
        may_pass && (!self.asks_of_followers || self.agrees_on_program(die, class, source, &{ self.command }))
    }

    /// True if writes from `source` would go before the oldest of their class, which waits at `place`.
    fn passes(&self, die: u32, source: Source, place: Waits, before: &Command) -> bool {
        let first = die * self.flash.geometry().planes_per_die;
        match (source, place) {
            (Source::Own, Waits::Plane(oldest)) => before.pages().iter().all(|page| first + page.plane != oldest),
            (Source::Shared(queue), Waits::Shared(oldest, _)) => queue != oldest,
            _ => true,
        }
    }

    /// Where writes wait that are sure to fill a page in each plane of a command, to follow it.
    fn source_of_follower(&self, die: u32, class: Class, before: &Command) -> Option<Source> {
        if self.dies[die as usize].mixed {
            // A write of one task may make that of another void.
            return None;
        }
        let planes_per_die = self.flash.geometry().planes_per_die;
        let (first, stream) = (die * planes_per_die, stream_of(class));
        let count = before.pages().len() as u32;
        let planes = before.pages().iter().map(|at| first + at.plane);
        let page = self.space.next_page(&self.blocks, first + before.pages()[0].plane, stream);
        if count > 1 && page == 0 {
            // Opening a block in one plane may take the room from the other.
            return None;
        }
        let of_domain = if self.plan.domains == 1 { count } else { 1 };
        if !self.space.lets_write(&self.blocks, first + before.pages()[0].plane, stream, of_domain) {
            // What the host may write is enough for some of the planes only.
            return None;
        }
        let fits = |plane| {
            self.space.has_room(&self.blocks, plane, stream)
                && self.space.next_page(&self.blocks, plane, stream) == page
        };
        if !planes.clone().all(fits) {
            return None;
        }
        // Where a unit may go to several planes, a write in one of them may move the old data of a merge in the next.
        let has_one_plane = class.moves() || self.placement.fixed();
        let lead = first + before.pages()[0].plane;
        let own = |plane: u32| {
            let fifo = &self.queues[plane as usize * CLASSES + class.index()];
            fifo.head != NONE
                && self.may_go(fifo, class, self.blocks.domain_of_plane(plane))
                && self.holds_write(fifo, class, plane)
                && (has_one_plane || plane == lead || self.holds_pages(fifo, class, 1))
        };
        if planes.clone().all(own) {
            return Some(Source::Own);
        }
        if self.shared_waiting[class.row()] == 0 || !planes.clone().all(|plane| self.is_level(die, plane, stream)) {
            return None;
        }
        if self.pack.window() > 0 && count < planes_per_die {
            // Write points that have drifted apart come together again only if each write chooses its plane.
            return None;
        }
        let enough = |index: &usize| {
            let fifo = &self.shared[*index];
            let holds = if count == 1 && !self.is_wish(*index, class) {
                self.holds_write(fifo, class, first)
            } else {
                self.holds_pages(fifo, class, count * self.plan.units_per_program)
            };
            fifo.head != NONE && self.shared_may_go(*index, class) && holds
        };
        self.shared_of(die, class).into_iter().find(enough).map(Source::Shared)
    }

    /// True if a write is certain to get its page when it is bound next.
    pub(super) fn is_sure(&self, op: &FlashOp, class: Class) -> bool {
        if class.moves() {
            return self.map.is_valid(op.source);
        }
        op.units > 0 && (op.role != Role::Merge || self.map.lies_at(op.unit, op.source))
    }

    /// True if a queue can fill a page of a plane, or may be written without filling it.
    fn holds_write(&self, fifo: &Fifo, class: Class, plane: u32) -> bool {
        let group = || self.jobs.group(class.task(), self.blocks.domain_of_plane(plane));
        if class.moves() && !self.jobs.is_released(group()) {
            return self.holds_pages(fifo, class, self.plan.units_per_program);
        }
        fifo.find(&self.slab, fifo.len, |op| self.is_sure(op, class)).is_some()
    }

    /// True if a queue holds `units` writes that stay valid whatever is bound before them.
    fn holds_pages(&self, fifo: &Fifo, class: Class, units: u32) -> bool {
        let (mut slot, mut found) = (fifo.head, 0);
        while slot != NONE && found < units {
            let op = self.slab.get(slot);
            // The old data of a merge could move with a write that goes before it.
            if op.role != Role::Merge && self.is_sure(op, class) {
                found += u32::from(op.units);
            }
            slot = op.next;
        }
        found >= units
    }

    /// With GC per plane: true if no plane of the die is a whole block behind this one.
    fn is_level(&self, die: u32, plane: u32, stream: Stream) -> bool {
        let planes = self.flash.geometry().planes_per_die;
        let level = |plane| self.blocks.valid_in_plane(plane) / self.plan.units_per_block;
        self.plan.domains == 1
            || (die * planes..(die + 1) * planes)
                .filter(|&other| self.space.has_room(&self.blocks, other, stream))
                .all(|other| level(plane) <= level(other))
    }
}
