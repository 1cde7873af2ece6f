//! A look at the commit stage by policies that see the oldest operation of each task whose die has room.
//!
//! As the look in [`super::send`], with which it shares what is sent; but nothing is listed. Where all that waits there waits for planes, nothing
//! is asked about writes that may go to several dies.

use super::stage::{First, Queue, Row, Stage, Ways, NO_FIRST};
use super::{stream_of, Kernel};
use crate::ops::{Fifo, NONE};
use crate::policy::dispatch::DispatchPolicy;
use crate::policy::placement::Constraint;
use crate::task::{ByTask, Class, Task, Tasks, CLASSES, TASKS};

/// A queue whose oldest operation may go to a die.
#[derive(Clone, Copy, Debug)]
struct Bound {
    first: First,
    die: u32,
}

/// Nothing may go.
const NOWHERE: Bound = Bound { first: NO_FIRST, die: NONE };

/// What tasks could send next: the oldest operation of each.
#[derive(Clone, Copy, Debug)]
struct Found {
    tasks: Tasks,
    numbers: ByTask<u64>,
    of: ByTask<Bound>,
}

impl Found {
    /// An operation of a task was sent to a die: what was found for others stays, unless it was for the same die. Gives the tasks for which
    /// another has to be found.
    #[inline]
    fn forget(&mut self, task: Task, die: u32) -> Tasks {
        let (mut again, mut others) = (Tasks::default().with(task), self.tasks);
        while let Some(other) = others.pop() {
            if self.of[other.index()].die == die {
                again = again.with(other);
            }
        }
        self.tasks = self.tasks.but(again);
        again
    }
}

/// The task that the policy chooses of host and GC, by the numbers of their oldest operations.
#[inline(always)]
fn rival(policy: &mut DispatchPolicy, stage: &Stage, host: u64, gc: u64) -> Option<Task> {
    policy.of_two([Task::HOST, Task::GC], [host, gc], &stage.outstanding)
}

/// True if the oldest operation of a queue waits for a plane and may go to its die, where each write fills a page: mostly it needs none, or
/// a block is open for it, as these bits of the die say.
#[inline(always)]
fn finds_page(first: First, opened: u64) -> bool {
    if !first.waits_for_plane() {
        return false;
    }
    !first.class().is_write() || opened >> first.bit_of_writes() & 1 == 1
}

impl Kernel {
    /// As [`Kernel::run_stage`] where commands go through the stage plane by plane: mostly nothing there waits for a die with room, or one operation
    /// goes to a die that works. True if nothing is left to do then, if there was nothing before. `PAGES` says that they go page by page.
    #[inline(always)]
    pub(super) fn look_for_pages<const PAGES: bool>(&mut self) -> bool {
        debug_assert_eq!(PAGES, self.by_stage_in_pages, "they go in another way");
        if !PAGES && self.buffer.has_due() {
            self.list_due();
        }
        let Some(stage) = self.stage.as_mut().filter(|stage| stage.roaming().is_empty()) else {
            self.run_stage();
            return false;
        };
        let Some(ways) = stage.ways().filter(|_| self.now < self.control_due) else { return self.look_for_others() };
        let Ways { host, gc } = ways;
        let dies = host | gc;
        if dies == 0 {
            stage.settle_bound();
            return true;
        }
        let die = dies.trailing_zeros();
        let one = PAGES && dies.is_power_of_two();
        if !one || !self.send_at_once(die, (host != 0, gc != 0)) {
            self.send_among::<PAGES>(ways);
        }
        // Writes may have found no page.
        self.dirty.is_empty() && !(self.stalled && self.busy == 0)
    }

    /// The same if other tasks wait, too, dies take several words, or shares of tasks may change.
    #[inline(never)]
    fn look_for_others(&mut self) -> bool {
        if self.now >= self.control_due {
            self.run_stage();
            return false;
        }
        let Some(mut stage) = self.stage.take() else { return false };
        let tasks = self.may_be_sent(&stage, stage.tasks());
        self.send_bound(&mut stage, tasks);
        stage.settle_bound();
        self.stage = Some(stage);
        tasks == Tasks::default() || (self.dirty.is_empty() && !(self.stalled && self.busy == 0))
    }

    /// Sends the operation to a die with room that the policy chooses, if those of host or GC may go there that have come first, and there
    /// is room for no other; false if nothing was sent, and if so, nothing has happened yet.
    #[inline(always)]
    fn send_at_once(&mut self, die: u32, (host, gc): (bool, bool)) -> bool {
        let Self { stage: Some(stage), space, dispatch, slab, .. } = self else { return false };
        if !stage.has_one_place(die) {
            return false;
        }
        let opened = space.open_of_die(die);
        let first = if host & gc {
            let [host, gc] = [Task::HOST, Task::GC].map(|task| stage.row_at(task, die).lead);
            if !finds_page(host, opened) || !finds_page(gc, opened) {
                return false;
            }
            let Some(chosen) = rival(dispatch, stage, host.number, gc.number) else { return false };
            if chosen == Task::HOST {
                host
            } else {
                gc
            }
        } else {
            let lead = stage.row_at(if host { Task::HOST } else { Task::GC }, die).lead;
            if !finds_page(lead, opened) {
                return false;
            }
            lead
        };
        let slot = stage.send_first(first, die, slab);
        stage.settle_bound();
        let index = stage.at_die(first);
        self.goes_to_die(slot, first, (die, index));
        true
    }

    /// As [`finds_page`] at a die.
    #[inline(always)]
    fn has_page(&self, first: First, die: u32) -> bool {
        finds_page(first, self.space.open_of_die(die))
    }

    /// Sends what the policy chooses of host and GC, while these may go to dies that may have room. What was found for one stays, unless the
    /// other goes to the same die.
    /// `PAGES` says that commands go page by page.
    #[inline(never)]
    fn send_among<const PAGES: bool>(&mut self, ways: Ways) {
        let Some(mut stage) = self.stage.take() else { return };
        let mut host = self.oldest_at::<PAGES>(&stage, Task::HOST, ways.host);
        let mut gc = self.oldest_at::<PAGES>(&stage, Task::GC, ways.gc);
        loop {
            let chosen = match (host.die != NONE, gc.die != NONE) {
                (false, false) => None,
                (true, false) => Some(Task::HOST),
                (false, true) => Some(Task::GC),
                (true, true) => rival(&mut self.dispatch, &stage, host.first.number, gc.first.number),
            };
            let Some(task) = chosen else { break };
            let Bound { first, die } = if task == Task::HOST { host } else { gc };
            self.send_lead::<PAGES>(&mut stage, first, die);
            let Some(ways) = stage.ways() else { break };
            if task == Task::HOST || host.die == die {
                host = self.oldest_at::<PAGES>(&stage, Task::HOST, ways.host);
            }
            if task == Task::GC || gc.die == die {
                gc = self.oldest_at::<PAGES>(&stage, Task::GC, ways.gc);
            }
        }
        stage.settle_bound();
        self.stage = Some(stage);
    }

    /// Of some tasks those below their limits of which something waits for a die that may have room, or may go to several.
    #[inline]
    pub(super) fn may_be_sent(&self, stage: &Stage, tasks: Tasks) -> Tasks {
        stage.below(if stage.roaming().is_empty() { stage.offered(tasks) } else { tasks })
    }

    /// Sends what the policy chooses of the oldest operations of some tasks, while there are some that a die has room for. What was found for
    /// others stays, unless it was for the same die.
    pub(super) fn send_bound(&mut self, stage: &mut Stage, mut tasks: Tasks) {
        let mut found = Found { tasks: Tasks::default(), numbers: [0; TASKS], of: [NOWHERE; TASKS] };
        loop {
            while let Some(task) = tasks.pop() {
                let bound = self.find_bound(stage, task);
                if bound.die != NONE {
                    found.tasks = found.tasks.with(task);
                    (found.numbers[task.index()], found.of[task.index()]) = (bound.first.number, bound);
                }
            }
            let mut others = found.tasks;
            let Some(mut task) = others.pop() else { return };
            if others != Tasks::default() {
                let chosen = self.dispatch.next_of(found.tasks, &found.numbers, &stage.outstanding);
                let Some(chosen) = chosen else { return };
                task = chosen;
            }
            let Bound { first, die } = found.of[task.index()];
            self.send_lead::<false>(stage, first, die);
            let again =
                if others == Tasks::default() { std::mem::take(&mut found.tasks) } else { found.forget(task, die) };
            tasks = self.may_be_sent(stage, again.and(stage.tasks()));
            if tasks.or(found.tasks) == Tasks::default() {
                return;
            }
        }
    }

    /// The queue with the oldest operation of a task that can go to a die, and that die: mostly the oldest of all can go, and the others need not
    /// be asked about.
    #[inline]
    pub(super) fn oldest_for(&mut self, stage: &Stage, task: Task) -> Option<(usize, u32)> {
        let mut roaming = None;
        let mut number = u64::MAX;
        for &at in stage.roaming() {
            let queue = stage.queue(at as usize);
            if queue.class.task() == task && queue.fifo.number() < number && self.has_company(queue) {
                (number, roaming) = (queue.fifo.number(), Some(queue));
            }
        }
        let mut bound = NOWHERE;
        for (word, mut dies) in (0..).zip(stage.open_for(task)) {
            while dies != 0 {
                let die = word * 64 + dies.trailing_zeros();
                dies &= dies - 1;
                let lead = stage.row_at(task, die).lead;
                if lead.number < number {
                    number = lead.number;
                    bound = Bound { first: lead, die };
                }
            }
        }
        let found = if bound.die != NONE {
            self.goes_from(stage, bound.first, bound.die).then_some((bound.first.at() as usize, bound.die))
        } else {
            let queue = roaming?;
            let die = self.head(stage, queue).and_then(|head| head.die);
            die.map(|die| (queue.first().at() as usize, die))
        };
        found.or_else(|| {
            let Bound { first, die } = self.find_bound(stage, task);
            (die != NONE).then_some((first.at() as usize, die))
        })
    }

    /// Finds the queue with the oldest operation of a task that can go to a die, and that die: as [`Kernel::head`] tells of each queue.
    #[inline]
    fn find_bound(&mut self, stage: &Stage, task: Task) -> Bound {
        let mut best = if stage.roaming().is_empty() { NOWHERE } else { self.oldest_roaming(stage, task) };
        for (word, dies) in stage.open_for(task).enumerate() {
            best = self.older_at(stage, task, (word as u32 * 64, dies), best);
        }
        best
    }

    /// The same among writes that may go to several dies.
    #[inline]
    fn oldest_roaming(&mut self, stage: &Stage, task: Task) -> Bound {
        let mut best = NOWHERE;
        for &at in stage.roaming() {
            let queue = stage.queue(at as usize);
            if queue.class.task() != task || queue.fifo.number() >= best.first.number {
                continue;
            }
            if let Some(die) = self.head(stage, queue).and_then(|head| head.die) {
                best = Bound { first: queue.first(), die };
            }
        }
        best
    }

    /// The same where all dies have a bit in a word: mostly the oldest of all may go.
    #[inline(always)]
    fn oldest_at<const PAGES: bool>(&mut self, stage: &Stage, task: Task, dies: u64) -> Bound {
        if !PAGES && !self.by_stage_in_pages {
            return self.older_at(stage, task, (0, dies), NOWHERE);
        }
        let (mut oldest, mut number, mut left) = (NONE, u64::MAX, dies);
        while left != 0 {
            let die = left.trailing_zeros();
            left &= left - 1;
            let other = stage.row_at(task, die).lead.number;
            if other < number {
                (oldest, number) = (die, other);
            }
        }
        if oldest == NONE {
            return NOWHERE;
        }
        let first = stage.row_at(task, oldest).lead;
        if !self.has_page(first, oldest) {
            return self.oldest_with_care(stage, task, dies);
        }
        Bound { first, die: oldest }
    }

    /// The same where one that is looked at may find no page.
    #[inline(never)]
    fn oldest_with_care(&mut self, stage: &Stage, task: Task, dies: u64) -> Bound {
        self.older_at(stage, task, (0, dies), NOWHERE)
    }

    /// The same among some dies, a bit each, the first with a number given, if one came before the best so far.
    #[inline(always)]
    fn older_at(&mut self, stage: &Stage, task: Task, (first, mut dies): (u32, u64), mut best: Bound) -> Bound {
        while dies != 0 {
            let die = first + dies.trailing_zeros();
            dies &= dies - 1;
            let row = stage.row_at(task, die);
            if row.lead.number >= best.first.number {
                continue;
            }
            if self.goes_from(stage, row.lead, die) {
                best = Bound { first: row.lead, die };
            } else if row.firsts().len() > 1 {
                best = self.older_in_row(stage, row, die, best);
            }
        }
        best
    }

    /// The same among the queues of one die where the first of all cannot go.
    #[inline(never)]
    fn older_in_row(&mut self, stage: &Stage, row: &Row, die: u32, mut best: Bound) -> Bound {
        for &first in row.firsts().iter().filter(|first| first.at() != row.lead.at()) {
            if first.number < best.first.number && self.goes_from(stage, first, die) {
                best = Bound { first, die };
            }
        }
        best
    }

    /// True if the oldest operation of a queue may go to its die: mostly it needs no page, or a block is open for it.
    #[inline(always)]
    fn goes_from(&mut self, stage: &Stage, first: First, die: u32) -> bool {
        if self.by_stage_in_pages && self.has_page(first, die) {
            return true;
        }
        self.goes_otherwise(stage, first, die)
    }

    /// The same where no block is open for it, several units may fill a page, or it waits for no plane.
    #[inline(never)]
    fn goes_otherwise(&mut self, stage: &Stage, first: First, die: u32) -> bool {
        if !self.by_stage_in_pages || !first.waits_for_plane() {
            return self.goes_elsewhere(stage, stage.queue(first.at() as usize), die);
        }
        let plane = die * self.planes_per_die.get() + first.plane();
        let opens = self.space.has_room(&self.blocks, plane, stream_of(first.class()));
        self.stalled |= !opens;
        opens
    }

    /// The same where several units may fill a page, or it waits for no plane.
    #[inline]
    fn goes_elsewhere(&mut self, stage: &Stage, queue: &Queue, die: u32) -> bool {
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

    /// As [`Kernel::send`] where all that waits in the stage waits for a die.
    #[inline(always)]
    fn send_lead<const PAGES: bool>(&mut self, stage: &mut Stage, first: First, die: u32) {
        if (PAGES || self.by_stage_in_pages) && first.waits_for_plane() {
            let slot = stage.send_first(first, die, &mut self.slab);
            self.goes_to_die(slot, first, (die, stage.at_die(first)));
        } else if self.by_stage_in_planes {
            self.send_units(stage, first.at() as usize, die);
        } else {
            self.send(stage, first.at() as usize, die);
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

    /// An operation that left the stage waits for its plane, in the queue of a die with an index.
    #[inline(always)]
    fn goes_to_die(&mut self, slot: u32, first: First, (die, index): (u32, usize)) {
        let (class, plane) = (first.class(), first.plane());
        debug_assert_eq!(index, (die * self.planes_per_die.get() + plane) as usize * CLASSES + class.index());
        self.sequence += 1;
        let sequence = self.sequence;
        let is_first = self.queues[index].push_changed(&mut self.slab, slot, |op| op.sequence = sequence);
        let state = &mut self.dies[die as usize];
        if is_first {
            state.waiting.set(class, plane);
        }
        if !state.busy {
            self.mark(die);
        }
    }
}
