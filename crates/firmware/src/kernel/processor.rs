//! Computing time: operations wait for the processor of their task before they go to their queue.
//!
//! Each task has a processor, which works in the order of coming; an event for each piece of work ends it. Units that a
//! page read of a job brought become writes after the time of their program, so that the job expects them until then.
//! While commands take no time, processors take none either.

use super::Kernel;
use crate::ops::{FlashOp, Role};
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

/// The processor of a task.
#[derive(Clone, Debug, Default)]
struct Core {
    pieces: VecDeque<Piece>,
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
    /// True if some may lack the event of their first piece.
    lack_events: bool,
}

impl Cores {
    /// True if nothing is being worked on.
    pub fn are_idle(&self) -> bool {
        self.of.iter().all(|core| core.pieces.is_empty())
    }
}

impl Kernel {
    /// How long the processor works on an operation before it is queued.
    fn work_on(&mut self, op: &FlashOp) -> Time {
        let task = op.class.task();
        // A partial write was looked up with the read of its old data.
        let mut looks_up = op.class.is_host()
            && !(matches!(op.role, Role::Map | Role::Part | Role::Old)
                || (op.is_of_overwriting() && op.class.is_write()));
        let mut generates = true;
        if op.class.is_write() {
            let (now, units) = (self.now, self.plan.units_per_program);
            let is_first = self.units_per_page.remainder(op.unit) == 0;
            let Some(cores) = &mut self.cores else { return 0 };
            let core = &mut cores.of[task.index()];
            let before = std::mem::replace(&mut core.last, (op.unit, now));
            looks_up &= is_first || before != (op.unit.wrapping_sub(1), now);
            generates = core.writes == 0;
            core.writes = (core.writes + 1) % units;
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
    #[cold]
    pub(super) fn is_computed(&mut self, slot: u32) -> bool {
        if self.cores.is_none() || !self.timed {
            return false;
        }
        let op = *self.slab.get(slot);
        // What jobs write was paid for when its page had been read, and they count it in its queue from then on.
        if op.class.moves() || op.class.is_map_write() || self.takes_no_time(op.class) {
            return false;
        }
        let time = self.work_on(&op);
        self.compute(op.class.task(), (slot, false), time)
    }

    /// Lets a page read of a job that has ended wait for the processor of its task; false if it can go on at once.
    #[cold]
    pub(super) fn move_is_computed(&mut self, slot: u32, op: &FlashOp) -> bool {
        if self.cores.is_none() || !self.timed || self.takes_no_time(op.class) {
            return false;
        }
        let task = op.class.task();
        let time = self.processor.time(Work::Generate(task));
        self.compute(task, (slot, true), time)
    }

    fn compute(&mut self, task: Task, (slot, moves): (u32, bool), time: Time) -> bool {
        let now = self.now;
        let Some(cores) = &mut self.cores else { return false };
        let core = &mut cores.of[task.index()];
        if time == 0 && core.pieces.is_empty() {
            return false;
        }
        cores.lack_events |= !core.is_scheduled;
        core.free_at = core.free_at.max(now) + time;
        core.pieces.push_back(Piece { slot, moves, due: core.free_at });
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
    #[cold]
    pub(super) fn schedule_processors(&mut self, queue: &mut EventQueue) {
        let Some(cores) = self.cores.as_mut().filter(|cores| cores.lack_events) else { return };
        cores.lack_events = false;
        for (task, core) in (0..).zip(&mut cores.of) {
            if let Some(piece) = core.pieces.front().filter(|_| !core.is_scheduled) {
                queue.push(piece.due, PROCESSOR_EVENT, task);
                core.is_scheduled = true;
            }
        }
    }

    /// The processor of a task has ended a piece of work.
    ///
    /// # Errors
    /// When a rule is broken.
    pub fn on_processor(&mut self, now: Time, task: u32, queue: &mut EventQueue) -> Result<(), super::Fault> {
        self.now = now;
        if task == DECISION {
            self.decide();
            return self.pump(queue);
        }
        while let Some(Piece { slot, moves, .. }) = self.next_computed(task) {
            let op = *self.slab.get(slot);
            if moves {
                self.moved_out(slot, &op);
                continue;
            }
            self.witness_processed(slot, &op);
            self.slab.get_mut(slot).ready = now;
            let constraint = self.place_for(slot);
            self.send_aside(slot, constraint);
            if op.buffered && op.class == Class::HOST_WRITE {
                self.buffer.wait(slot, op.ordinal);
                self.push_out();
            }
        }
        self.pump(queue)
    }

    /// The first piece of work of a task, if its time is over.
    fn next_computed(&mut self, task: u32) -> Option<Piece> {
        let cores = self.cores.as_mut()?;
        cores.lack_events = true;
        let core = &mut cores.of[task as usize];
        core.is_scheduled = false;
        core.pieces.front().filter(|piece| piece.due <= self.now)?;
        core.pieces.pop_front()
    }
}
