//! A look at the commit stage where all that waits there waits for planes: the policy sees the oldest operation of each task whose die has room.
//!
//! As the look in [`super::send`], with which it shares what is sent; but nothing is asked about writes that may go to several dies.

use super::stage::{Queue, Row, Stage};
use super::{stream_of, Kernel};
use crate::policy::dispatch::{StageView, Staged};
use crate::policy::placement::Constraint;
use crate::task::{Task, Tasks, CLASSES, TASKS};

/// What tasks could send next: the queue of the oldest operation, and its die.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    tasks: Tasks,
    of: [(u32, u32); TASKS],
}

impl Found {
    /// What the policy sees of a task.
    #[inline]
    fn head(&self, stage: &Stage, task: Task) -> Staged {
        let (at, die) = self.of[task.index()];
        let Queue { class, first, .. } = *stage.queue(at as usize);
        Staged { class, sequence: first, die: Some(die) }
    }

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
    /// As [`Kernel::run_stage`] where pages go through the stage one by one: mostly nothing there waits for a die with room.
    #[inline]
    pub(super) fn look_for_pages(&mut self) {
        let Some(stage) = &mut self.stage else { return };
        if self.now >= self.control_due || !stage.roaming().is_empty() || self.buffer.has_due() {
            return self.run_stage();
        }
        if stage.offers_bound(stage.tasks()) {
            let Some(mut stage) = self.stage.take() else { return };
            self.send_bound(&mut stage);
            self.stage = Some(stage);
        }
        let Some(stage) = &mut self.stage else { return };
        stage.roams = false;
        stage.settle();
    }

    /// As [`Kernel::send_oldest`] where no queue may send to several dies.
    pub(super) fn send_bound(&mut self, stage: &mut Stage) {
        let (mut again, mut found) = (Tasks::ALL, Found::default());
        loop {
            let mut tasks = self.dispatch.eligible(again.and(stage.tasks()), &stage.outstanding);
            while let Some(task) = tasks.pop() {
                if let Some((at, die)) = self.oldest_bound(stage, task) {
                    found.tasks = found.tasks.with(task);
                    found.of[task.index()] = (at, die);
                }
            }
            let Some(task) = self.chooses(stage, &found) else { return };
            let (at, die) = found.of[task.index()];
            if self.by_stage_in_pages {
                self.send_page(stage, at as usize, die);
            } else {
                self.send(stage, at as usize, die);
            }
            again = found.forget(task, die);
        }
    }

    /// The task whose operation the policy chooses, if any may go.
    #[inline]
    fn chooses(&mut self, stage: &Stage, found: &Found) -> Option<Task> {
        let mut left = found.tasks;
        let first = left.pop()?;
        let only = found.head(stage, first);
        if left == Tasks::default() {
            return self.dispatch.wants(&only, &stage.outstanding, &self.nominal).then_some(first);
        }
        let (mut heads, mut count) = ([only; TASKS], 1);
        while let Some(task) = left.pop() {
            heads[count] = found.head(stage, task);
            count += 1;
        }
        let heads = &heads[..count];
        let view = StageView { staged: heads, dues: &[], outstanding: &stage.outstanding, times: &self.nominal };
        self.dispatch.next(&view).map(|chosen| heads[chosen].class.task())
    }

    /// The queue with the oldest operation of a task that waits for a die with room, and its die: as [`Kernel::head`] tells of each queue.
    #[inline]
    fn oldest_bound(&mut self, stage: &Stage, task: Task) -> Option<(u32, u32)> {
        let (mut best, mut before) = (None, u64::MAX);
        for (word, mut open) in (0..).zip(stage.open_for(task)) {
            while open != 0 {
                let die = word * 64 + open.trailing_zeros();
                open &= open - 1;
                let row = stage.row_at(task, die);
                if row.oldest >= before {
                    continue;
                }
                if self.goes_from(stage, stage.queue(row.lead as usize), die) {
                    (best, before) = (Some((row.lead, die)), row.oldest);
                } else if let Some((at, first)) = self.oldest_in_row(stage, row, die, before) {
                    (best, before) = (Some((at, die)), first);
                }
            }
        }
        best
    }

    /// The same among the queues of one die, with the number of that operation, if it came before another: where the first of all cannot go.
    #[cold]
    fn oldest_in_row(&mut self, stage: &Stage, row: &Row, die: u32, mut before: u64) -> Option<(u32, u64)> {
        let mut best = None;
        for &at in &row.queues {
            let queue = stage.queue(at as usize);
            if queue.first < before && self.goes_from(stage, queue, die) {
                before = queue.first;
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
            || (self.by_stage_in_pages && self.space.is_open(plane, stream_of(class)))
            || self.finds_page(&{ queue.fifo }, class, plane);
        finds && (self.by_stage_in_pages || stage.has_room(die, class))
    }

    /// As [`Kernel::send`] where a page has one unit.
    #[inline]
    fn send_page(&mut self, stage: &mut Stage, at: usize, die: u32) {
        let queue = stage.queue_mut(at);
        let (class, Constraint::Plane(plane)) = (queue.class, queue.place) else { return self.send(stage, at, die) };
        let slot = queue.fifo.pop(&self.slab).expect("it waits there");
        let next = queue.fifo.oldest(&self.slab);
        stage.send_first(at, next);
        self.sequence += 1;
        self.slab.get_mut(slot).sequence = self.sequence;
        self.queues[plane as usize * CLASSES + class.index()].push(&mut self.slab, slot);
        self.dies[die as usize].waiting.set(class, self.planes_per_die.remainder(plane));
        self.mark(die);
    }
}
