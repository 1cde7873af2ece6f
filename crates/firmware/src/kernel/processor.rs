//! Computing time: operations wait for the processor of their task before they go to their queue.
//!
//! Each task has a processor, which works in the order of coming; an event for each piece of work ends it. Units that a
//! page read of a job brought become writes after the time of their program, so that the job expects them until then.
//! While commands take no time, processors take none either.

use super::staged::Gone;
use super::Kernel;
use crate::map::Place;
use crate::ops::{FlashOp, Role};
use crate::policy::placement::Constraint;
use crate::policy::processor::Work;
use crate::task::{ByTask, Class, Task, TASKS};
use std::collections::VecDeque;
use wordline_base::{EventQueue, Time};

/// The kind of the events that end a piece of work, with the number of the task. The owner of the event queue hands them
/// to [`Kernel::on_processor`]. The number after the tasks is that of the scheduler of the device queue.
pub const PROCESSOR_EVENT: u8 = 4;

/// The number that the events of the device queue's decisions have, instead of that of a task.
pub(super) const DECISION: u32 = TASKS as u32;

/// What goes on when its time is over.
#[derive(Clone, Copy, Debug)]
struct Piece {
    slot: u32,
    /// A page read of a job, which has ended.
    moves: bool,
    due: Time,
}

/// What came of a piece of work whose time is over.
enum Went {
    /// The general path has to end it, and nothing has happened yet.
    General,
    /// All that follows from it has been done.
    Done,
    /// The same, but the next piece of its task lacks its event, at this time.
    On(Time),
}

/// The processor of a task.
#[derive(Clone, Debug, Default)]
struct Core {
    /// What it works on, and what comes after that.
    first: Option<Piece>,
    rest: VecDeque<Piece>,
    free_at: Time,
    /// Writes since the first one of the page that was paid for last.
    writes: u32,
    /// The unit of the last write, and when it came.
    last: (u32, Time),
    /// True if the event of its first piece is to come.
    is_scheduled: bool,
}

/// The processors of a drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Cores {
    of: ByTask<Core>,
    /// Tasks whose processor may lack the event of its first piece, a bit each.
    lacking: u32,
}

impl Core {
    /// Takes the piece that it works on, and begins the next.
    #[inline]
    fn take(&mut self) -> Option<Piece> {
        std::mem::replace(&mut self.first, self.rest.pop_front())
    }

    /// A piece of work comes behind all others.
    #[inline]
    fn push(&mut self, piece: Piece) {
        if self.first.is_none() {
            self.first = Some(piece);
        } else {
            self.rest.push_back(piece);
        }
    }
}

impl Cores {
    /// True if nothing is being worked on.
    pub fn are_idle(&self) -> bool {
        self.of.iter().all(|core| core.first.is_none())
    }

    /// The processor of a task has no event that is to come: it lacks one, if it works on something.
    #[inline(always)]
    fn lacks(&mut self, task: u32) {
        self.lacking |= u32::from(self.of[task as usize].first.is_some()) << task;
    }
}

impl Kernel {
    /// How long the processor works on an operation of a class before it is queued.
    #[inline]
    fn work_on(&mut self, class: Class, role: Role, unit: u32) -> Time {
        let task = class.task();
        // A partial write was looked up with the read of its old data.
        let goes_on = matches!(role, Role::Merge | Role::Change) && class.is_write();
        let mut looks_up = class.is_host() && !matches!(role, Role::Map | Role::Part | Role::Old) && !goes_on;
        let mut generates = true;
        if class.is_write() {
            let (now, units) = (self.now, self.plan.units_per_program);
            let is_first = self.units_per_page.remainder(unit) == 0;
            let Some(cores) = &mut self.cores else { return 0 };
            let core = &mut cores.of[task.index()];
            let before = std::mem::replace(&mut core.last, (unit, now));
            looks_up &= is_first || before != (unit.wrapping_sub(1), now);
            generates = core.writes == 0;
            core.writes = if core.writes + 1 == units { 0 } else { core.writes + 1 };
        }
        let mut time = 0;
        if looks_up {
            time += self.processor.time(Work::LookUp);
        }
        if generates {
            time += self.processor.time(Work::Generate(task));
        }
        time
    }

    /// Lets an operation wait for the processor of its task; false if it can go on at once.
    #[inline(never)]
    pub(super) fn is_computed(&mut self, slot: u32) -> bool {
        if self.cores.is_none() || !self.timed {
            return false;
        }
        let FlashOp { class, role, unit, .. } = *self.slab.get(slot);
        // What jobs write was paid for when its page had been read, and they count it in its queue from then on.
        if class.moves() || class.is_map_write() || self.takes_no_time(class) {
            return false;
        }
        let time = self.work_on(class, role, unit);
        self.compute(class.task(), (slot, false), time)
    }

    /// As [`Kernel::enqueue`] for a read of the host from a place, where reads go straight through the stage.
    #[inline]
    pub(super) fn queue_read(&mut self, place: Place, op: FlashOp) {
        self.sequence += 1;
        let slot = self.slab.insert(FlashOp { sequence: self.sequence, ready: self.now, ..op });
        let is_computed = self.cores.is_some() && {
            let time = self.processor.time_of_read();
            self.compute(Task::HOST, (slot, false), time)
        };
        if !is_computed {
            self.send_aside(slot, Constraint::Plane(self.plane_of(place)));
        }
    }

    /// Lets a page read of a job that has ended wait for the processor of its task; false if it can go on at once.
    #[inline(never)]
    pub(super) fn move_is_computed(&mut self, slot: u32, op: &FlashOp) -> bool {
        if self.cores.is_none() || !self.timed || self.takes_no_time(op.class) {
            return false;
        }
        let task = op.class.task();
        let time = self.processor.time(Work::Generate(task));
        self.compute(task, (slot, true), time)
    }

    #[inline]
    fn compute(&mut self, task: Task, (slot, moves): (u32, bool), time: Time) -> bool {
        let now = self.now;
        let Some(cores) = &mut self.cores else { return false };
        let core = &mut cores.of[task.index()];
        if time == 0 && core.first.is_none() {
            return false;
        }
        cores.lacking |= u32::from(!core.is_scheduled) << task.index();
        core.free_at = core.free_at.max(now) + time;
        core.push(Piece { slot, moves, due: core.free_at });
        true
    }

    /// True if operations of a class are to take no time at all.
    fn takes_no_time(&self, class: Class) -> bool {
        self.instant && class.task() == Task::GC
    }

    /// The drive is at rest: the next write begins a page.
    pub(super) fn rest_processors(&mut self) {
        if let Some(cores) = &mut self.cores {
            cores.of.iter_mut().for_each(|core| core.writes = 0);
        }
    }

    /// True if operations wait for a processor.
    pub(super) fn is_computing(&self) -> bool {
        self.cores.as_ref().is_some_and(|cores| !cores.are_idle())
    }

    /// Puts the events of the processors into the queue that lack one.
    #[inline(never)]
    pub(super) fn schedule_processors(&mut self, queue: &mut EventQueue) {
        let Some(cores) = &mut self.cores else { return };
        let mut lacking = std::mem::take(&mut cores.lacking);
        while lacking != 0 {
            let task = lacking.trailing_zeros();
            lacking &= lacking - 1;
            let core = &mut cores.of[task as usize];
            if let Some(piece) = core.first.filter(|_| !core.is_scheduled) {
                queue.push_in_row(piece.due, PROCESSOR_EVENT, task);
                core.is_scheduled = true;
            }
        }
    }

    /// The processor of a task has ended a piece of work. Pieces that end before anything else happens, and before `until`, are ended
    /// with it; gives the time of the last. They count as events.
    ///
    /// # Errors
    /// When a rule is broken.
    pub fn on_processor(
        &mut self,
        now: Time,
        task: u32,
        until: Time,
        queue: &mut EventQueue,
    ) -> Result<Time, super::Fault> {
        self.now = now;
        if task == DECISION {
            self.decide();
            self.pump(queue)?;
            return Ok(now);
        }
        let mut is_clear = self.straight_by_stage && self.has_clear_way();
        while is_clear {
            match self.goes_on_straight(task, queue)? {
                Went::General => break,
                Went::Done => return Ok(self.now),
                Went::On(due) if due < until && queue.pass(due) => {
                    // Nothing has come to the stage meanwhile; only the time is another.
                    self.now = due;
                    is_clear = due < self.control_due;
                }
                Went::On(due) => {
                    queue.push_in_row(due, PROCESSOR_EVENT, task);
                    if let Some(cores) = &mut self.cores {
                        cores.of[task as usize].is_scheduled = true;
                    }
                    return Ok(self.now);
                }
            }
        }
        self.end_pieces(task, queue)?;
        Ok(self.now)
    }

    /// The same for all pieces of a task whose time is over, on the general path.
    fn end_pieces(&mut self, task: u32, queue: &mut EventQueue) -> Result<(), super::Fault> {
        while let Some(Piece { slot, moves, .. }) = self.next_computed(task) {
            let op = *self.slab.get(slot);
            if moves {
                self.moved_out(slot, &op);
                continue;
            }
            self.witness_processed(slot, &op);
            self.slab.get_mut(slot).ready = self.now;
            self.send_from_processor(slot, op.class, self.place_for(slot));
            if op.buffered && op.class == Class::HOST_WRITE {
                self.buffer.wait(slot, op.ordinal);
                self.push_out();
            }
        }
        self.pump(queue)
    }

    /// Sends the operation straight to its die whose piece of work has ended, if it can go there and no other piece ends now.
    #[inline(always)]
    fn goes_on_straight(&mut self, task: u32, queue: &mut EventQueue) -> Result<Went, super::Fault> {
        let Some(core) = self.cores.as_ref().map(|cores| &cores.of[task as usize]) else { return Ok(Went::General) };
        let Some(piece) = core.first else { return Ok(Went::General) };
        if piece.moves || core.rest.front().is_some_and(|next| next.due <= self.now) {
            return Ok(Went::General);
        }
        let Some(read) = self.finds_straight(piece.slot) else { return Ok(Went::General) };
        let Some(cores) = &mut self.cores else { return Ok(Went::General) };
        let core = &mut cores.of[task as usize];
        core.take();
        core.is_scheduled = false;
        let next = core.first.map(|next| next.due);
        if self.send_straight(read, queue)? == Gone::ToDie {
            return Ok(next.map_or(Went::Done, Went::On));
        }
        if let Some(cores) = &mut self.cores {
            cores.lacks(task);
        }
        self.pump_by_stage(queue)?;
        Ok(Went::Done)
    }

    /// True if no processor lacks the event of its first piece.
    #[inline]
    pub(super) fn has_scheduled(&self) -> bool {
        self.cores.as_ref().is_none_or(|cores| cores.lacking == 0)
    }

    /// The first piece of work of a task, if its time is over.
    fn next_computed(&mut self, task: u32) -> Option<Piece> {
        let now = self.now;
        let cores = self.cores.as_mut()?;
        let core = &mut cores.of[task as usize];
        core.is_scheduled = false;
        let ended = core.first.filter(|piece| piece.due <= now);
        if ended.is_none() {
            cores.lacks(task);
            return None;
        }
        core.take()
    }
}
