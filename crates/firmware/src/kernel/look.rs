//! A look at the commit stage where all that waits there waits for planes: the policy sees the oldest operation of each task whose die has room.
//!
//! As the look in [`super::send`], with which it shares what is sent; but nothing is asked about writes that may go to several dies.

use super::stage::{Queue, Row, Stage, Ways};
use super::{stream_of, Kernel};
use crate::ops::{Fifo, NONE};
use crate::policy::placement::Constraint;
use crate::task::{ByTask, Class, Task, Tasks, CLASSES};

/// What tasks could send next: the oldest operation of each, by its number, its queue, and its die.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    tasks: Tasks,
    numbers: ByTask<u64>,
    of: ByTask<(u32, u32)>,
}

/// What tasks could send to one die: the oldest operation of each, by its number and its queue.
#[derive(Clone, Copy, Debug, Default)]
struct Rivals {
    tasks: Tasks,
    numbers: ByTask<u64>,
    leads: ByTask<u32>,
}

impl Found {
    /// An operation of a task was sent to a die: what was found for others stays, unless it was for the same die. Gives the tasks for which
    /// another has to be found.
    #[inline]
    fn forget(&mut self, task: Task, die: u32) -> Tasks {
        let (mut again, mut others) = (Tasks::default().with(task), self.tasks);
        while let Some(other) = others.pop() {
            if self.of[other.index()].1 == die {
                again = again.with(other);
            }
        }
        self.tasks = self.tasks.but(again);
        again
    }
}

impl Kernel {
    /// As [`Kernel::run_stage`] where commands go through the stage plane by plane: mostly nothing there waits for a die with room, or one operation
    /// goes to a die that works. True if nothing is left to do then, if there was nothing before.
    #[inline(never)]
    pub(super) fn look_for_pages(&mut self) -> bool {
        if !self.by_stage_in_pages && self.buffer.has_due() {
            self.list_due();
        }
        let Some(stage) = &mut self.stage else { return false };
        if self.now >= self.control_due || !stage.roaming().is_empty() {
            self.run_stage();
            return false;
        }
        let ways = stage.ways(self.dispatch.eligible(stage.tasks(), &stage.outstanding));
        if ways.tasks == Tasks::default() {
            stage.roams = false;
            stage.settle();
            return true;
        }
        self.send_pages(ways);
        // Writes may have found no page.
        self.dirty.is_empty() && !self.stalled
    }

    /// Sends what the policy chooses, of tasks whose operations may go to dies that may have room: mostly these wait for one die.
    #[inline(always)]
    fn send_pages(&mut self, mut ways: Ways) {
        let Some(mut stage) = self.stage.take() else { return };
        while ways.tasks != Tasks::default() {
            let Some(die) = ways.only_die() else {
                self.send_bound(&mut stage, ways.tasks);
                break;
            };
            let chosen = match ways.tasks.only() {
                Some(task) => self.lead_in_row(&stage, task, die).map(|(at, _)| (at, ways.tasks)),
                None => self.lead_of_rivals(&stage, ways.tasks, die),
            };
            let Some((at, tasks)) = chosen else { break };
            self.send_lead(&mut stage, at as usize, die);
            if !stage.may_have_room(die) {
                // No other die had room for what waits.
                break;
            }
            ways = stage.ways(self.dispatch.eligible(tasks.and(stage.tasks()), &stage.outstanding));
        }
        stage.roams = false;
        stage.settle();
        self.stage = Some(stage);
    }

    /// The queue whose oldest operation the policy chooses, of tasks that wait for a die with room, and those of the tasks that can go.
    #[inline(always)]
    fn lead_of_rivals(&mut self, stage: &Stage, tasks: Tasks, die: u32) -> Option<(u32, Tasks)> {
        let (mut rivals, mut left) = (Rivals::default(), tasks);
        while let Some(task) = left.pop() {
            if let Some(lead) = self.lead_in_row(stage, task, die) {
                (rivals.leads[task.index()], rivals.numbers[task.index()]) = lead;
                rivals.tasks = rivals.tasks.with(task);
            }
        }
        let Rivals { tasks, numbers, leads } = rivals;
        let chosen = match tasks.only() {
            None if tasks != Tasks::default() => self.dispatch.next_of(tasks, &numbers, &stage.outstanding),
            only => only,
        };
        chosen.map(|task| (leads[task.index()], tasks))
    }

    /// The queue with the oldest operation of a task that waits for a die with room and can go, and its number: mostly the first of all can.
    #[inline(always)]
    fn lead_in_row(&mut self, stage: &Stage, task: Task, die: u32) -> Option<(u32, u64)> {
        let row = stage.row_at(task, die);
        if self.goes_from(stage, stage.queue(row.lead as usize), die) {
            return Some((row.lead, row.oldest));
        }
        self.oldest_in_row(stage, row, die, u64::MAX)
    }

    /// As [`Kernel::send_oldest`] where no queue may send to several dies, and operations of some tasks may go if their die has room.
    pub(super) fn send_bound(&mut self, stage: &mut Stage, mut tasks: Tasks) {
        let mut found = Found::default();
        loop {
            while let Some(task) = tasks.pop() {
                self.find_bound(stage, task, &mut found);
            }
            let mut others = found.tasks;
            let Some(mut task) = others.pop() else { return };
            if others != Tasks::default() {
                let chosen = self.dispatch.next_of(found.tasks, &found.numbers, &stage.outstanding);
                let Some(chosen) = chosen else { return };
                task = chosen;
            }
            let (at, die) = found.of[task.index()];
            if self.by_stage_in_planes {
                self.send_lead(stage, at as usize, die);
            } else {
                self.send(stage, at as usize, die);
            }
            let again =
                if others == Tasks::default() { std::mem::take(&mut found.tasks) } else { found.forget(task, die) };
            let offered = stage.offered(again.and(stage.tasks()));
            if offered.or(found.tasks) == Tasks::default() {
                return;
            }
            tasks = self.dispatch.eligible(offered, &stage.outstanding);
        }
    }

    /// Finds the queue with the oldest operation of a task that waits for a die with room, and that die: as [`Kernel::head`] tells of each
    /// queue.
    #[inline(never)]
    fn find_bound(&mut self, stage: &Stage, task: Task, found: &mut Found) {
        let (mut best, mut before) = ((NONE, NONE), u64::MAX);
        for (word, mut open) in (0..).zip(stage.open_for(task)) {
            while open != 0 {
                let die = word * 64 + open.trailing_zeros();
                open &= open - 1;
                let row = stage.row_at(task, die);
                if row.oldest >= before {
                    continue;
                }
                if self.goes_from(stage, stage.queue(row.lead as usize), die) {
                    (best, before) = ((row.lead, die), row.oldest);
                } else if let Some((at, first)) = self.oldest_in_row(stage, row, die, before) {
                    (best, before) = ((at, die), first);
                }
            }
        }
        if before != u64::MAX {
            found.tasks = found.tasks.with(task);
            (found.numbers[task.index()], found.of[task.index()]) = (before, best);
        }
    }

    /// The same among the queues of one die, with the number of that operation, if it came before another: where the first of all cannot go.
    #[inline(never)]
    fn oldest_in_row(&mut self, stage: &Stage, row: &Row, die: u32, mut before: u64) -> Option<(u32, u64)> {
        let mut best = None;
        for at in row.queues().filter(|&at| at != row.lead) {
            let queue = stage.queue(at as usize);
            let number = queue.fifo.oldest(&self.slab);
            if number < before && self.goes_from(stage, queue, die) {
                before = number;
                best = Some((at, before));
            }
        }
        best
    }

    /// True if the oldest operation of a queue may go to its die: mostly it needs no page, or a block is open for it.
    #[inline(always)]
    fn goes_from(&mut self, stage: &Stage, queue: &Queue, die: u32) -> bool {
        let Constraint::Plane(plane) = queue.place else {
            return self.head(stage, queue).is_some_and(|head| head.die.is_some());
        };
        let class = queue.class;
        let finds = !class.is_write()
            || (self.by_stage_in_planes && self.fills_open_page(&queue.fifo, class, plane))
            || self.finds_page(&{ queue.fifo }, class, plane);
        finds && (self.by_stage_in_pages || stage.has_room(die, class))
    }

    /// True if writes of a class that wait for a plane fill a page of an open block.
    #[inline(always)]
    fn fills_open_page(&self, fifo: &Fifo, class: Class, plane: u32) -> bool {
        fifo.len >= self.plan.units_per_program && self.space.is_open(plane, stream_of(class))
    }

    /// As [`Kernel::send`] where all that waits in the stage waits for planes.
    #[inline(always)]
    fn send_lead(&mut self, stage: &mut Stage, at: usize, die: u32) {
        if self.by_stage_in_pages {
            self.send_page(stage, at, die);
        } else {
            self.send_units(stage, at, die);
        }
    }

    /// The same where several units may fill a page.
    #[inline(never)]
    fn send_units(&mut self, stage: &mut Stage, at: usize, die: u32) {
        let Queue { class, place, .. } = *stage.queue(at);
        let Constraint::Plane(plane) = place else { return self.send(stage, at, die) };
        let most = match class.is_write() {
            true => Some(stage.lacking(die, class)).filter(|&units| units > 0).unwrap_or(self.plan.units_per_program),
            false => 1,
        };
        let from = &mut stage.queue_mut(at).fifo;
        let to = &mut self.queues[plane as usize * CLASSES + class.index()];
        let mut sent = 0;
        while sent < most {
            let Some(slot) = from.pop(&self.slab) else { break };
            self.sequence += 1;
            self.slab.get_mut(slot).sequence = self.sequence;
            to.push(&mut self.slab, slot);
            sent += 1;
        }
        debug_assert!(sent > 0, "a queue that is listed is not empty");
        self.dies[die as usize].waiting.set(class, plane - die * self.planes_per_die.get());
        self.mark(die);
        // As `head_changes`.
        let fifo = *from;
        let goes = || !class.is_write() || self.may_go(&fifo, class, self.blocks.domain_of_plane(plane));
        let next = if fifo.head != NONE && goes() { fifo.number() } else { u64::MAX };
        stage.send_together(at, die, sent, next);
    }

    /// As [`Kernel::send`] where a page has one unit.
    #[inline(always)]
    fn send_page(&mut self, stage: &mut Stage, at: usize, die: u32) {
        let queue = stage.queue_mut(at);
        let (class, Constraint::Plane(plane)) = (queue.class, queue.place) else { return self.send(stage, at, die) };
        let slot = queue.fifo.pop(&self.slab).expect("it waits there");
        let next = queue.fifo.oldest(&self.slab);
        stage.send_first(at, next);
        self.sequence += 1;
        self.slab.get_mut(slot).sequence = self.sequence;
        self.queues[plane as usize * CLASSES + class.index()].push(&mut self.slab, slot);
        self.dies[die as usize].waiting.set(class, plane - die * self.planes_per_die.get());
        self.mark(die);
    }
}
