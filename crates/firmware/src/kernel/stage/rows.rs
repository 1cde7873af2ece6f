//! The rows of the commit stage: the queues that are listed, by the task and the die that they wait for; and the dies that may have room
//! for them, as the bits of words.

use super::{Offer, Queue, Stage};
use crate::ops::NONE;
use crate::task::{ByTask, Class, Task, Tasks, CLASSES};

/// A queue that is listed, and the number of its first operation in the order of becoming ready.
#[derive(Clone, Copy, Debug)]
struct First {
    number: u64,
    at: u32,
}

/// Queues that are listed of a task and a die.
#[derive(Clone, Debug)]
pub(in crate::kernel) struct Row {
    firsts: Vec<First>,
    /// Number of the first operation of all in the order of becoming ready; the highest if there is none.
    pub oldest: u64,
    /// The queue of that operation.
    pub lead: u32,
}

impl Default for Row {
    fn default() -> Self {
        Self { firsts: Vec::new(), oldest: u64::MAX, lead: NONE }
    }
}

impl Row {
    /// Its queues.
    #[inline]
    pub fn queues(&self) -> impl Iterator<Item = u32> + '_ {
        self.firsts.iter().map(|first| first.at)
    }

    /// A queue joins those that are listed.
    #[inline]
    fn add(&mut self, at: usize, number: u64) {
        self.firsts.push(First { number, at: at as u32 });
        if number < self.oldest {
            (self.oldest, self.lead) = (number, at as u32);
        }
    }

    /// A queue leaves them.
    #[inline]
    fn remove(&mut self, at: usize) {
        if let [first] = self.firsts.as_slice() {
            assert!(first.at as usize == at, "it was filled");
            self.firsts.clear();
            (self.oldest, self.lead) = (u64::MAX, NONE);
            return;
        }
        let found = self.firsts.iter().position(|first| first.at as usize == at).expect("it was filled");
        self.firsts.swap_remove(found);
        (self.oldest, self.lead) = (u64::MAX, NONE);
        for first in &self.firsts {
            if first.number < self.oldest {
                (self.oldest, self.lead) = (first.number, first.at);
            }
        }
    }

    /// Another operation of a queue is its first.
    #[inline]
    pub(super) fn renumber(&mut self, at: usize, number: u64) {
        let mut found = false;
        let (mut oldest, mut lead) = (u64::MAX, NONE);
        for first in &mut self.firsts {
            if first.at as usize == at {
                (first.number, found) = (number, true);
            }
            if first.number < oldest {
                (oldest, lead) = (first.number, first.at);
            }
        }
        assert!(found, "it was filled");
        (self.oldest, self.lead) = (oldest, lead);
    }
}

/// What may go to dies, as far as these may have room.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct Ways {
    /// The tasks of which something waits for such a die.
    pub tasks: Tasks,
    /// These dies, a bit each; all bits if the drive has more than a word has.
    dies: u64,
}

impl Ways {
    /// The die that is the only one.
    #[inline(always)]
    pub fn only_die(self) -> Option<u32> {
        self.dies.is_power_of_two().then_some(self.dies.trailing_zeros())
    }
}

/// Dies of a word, a bit each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dies {
    /// Those that may have room.
    pub open: u64,
    /// Those that operations wait for, by task.
    pub awaited: ByTask<u64>,
}

impl Stage {
    /// A queue is looked at from now on.
    #[inline(always)]
    pub fn fill(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.is_listed = true;
        let Queue { class, fifo, awaits: die, row, .. } = *queue;
        if die == NONE {
            return self.roaming.push(at as u32);
        }
        self.bound[row as usize].add(at, fifo.number());
        self.bound_count += 1;
        self.dies[die as usize / 64].awaited[class.task().index()] |= 1 << (die % 64);
    }

    /// A queue has lost its last operation, or its writes wait for others to fill their page.
    pub fn drain(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.is_listed = false;
        let Queue { class, awaits: die, row, .. } = *queue;
        if die == NONE {
            let found = self.roaming.iter().position(|&other| other as usize == at).expect("it was filled");
            self.roaming.swap_remove(found);
            return;
        }
        self.leave_row(at, row as usize, class.task(), die);
    }

    /// A queue leaves its row.
    #[inline]
    pub(super) fn leave_row(&mut self, at: usize, row: usize, task: Task, die: u32) {
        let row = &mut self.bound[row];
        row.remove(at);
        self.bound_count -= 1;
        if row.firsts.is_empty() {
            self.dies[die as usize / 64].awaited[task.index()] &= !(1 << (die % 64));
        }
    }

    /// Another operation of a queue is the first.
    pub fn first_changes(&mut self, at: usize) {
        let Queue { fifo, awaits, row, .. } = self.queues[at];
        if awaits != NONE {
            self.bound[row as usize].renumber(at, fifo.number());
        }
    }

    /// Writes of a queue that waited for others to fill their page may go alone.
    pub fn list_alone(&mut self, at: usize) {
        if !self.queues[at].is_listed && self.queues[at].fifo.head != NONE {
            self.fill(at);
        }
    }

    /// The same for all queues of a class whose writes may go to several dies.
    pub fn list_roaming_alone(&mut self, class: Class) {
        (0..=self.channels as usize + self.loads.len())
            .for_each(|place| self.list_alone(place * CLASSES + class.index()));
    }

    /// Queues that are listed of writes that may go to several dies, or that are not held.
    pub fn roaming(&self) -> &[u32] {
        &self.roaming
    }

    fn row(&self, task: Task, die: u32) -> usize {
        task.index() * self.loads.len() + die as usize
    }

    /// Of some tasks those of which something waits for a die that may have room.
    #[inline]
    pub fn offered(&self, tasks: Tasks) -> Tasks {
        let (mut left, mut offered) = (tasks, Tasks::default());
        while let Some(task) = left.pop() {
            if self.dies.iter().any(|dies| dies.open & dies.awaited[task.index()] != 0) {
                offered = offered.with(task);
            }
        }
        offered
    }

    /// The queue of some tasks whose operations wait for a die that may have room: none, one, or several.
    #[inline]
    pub fn offer_of_bound(&self, tasks: Tasks) -> Offer {
        let (mut offer, mut left) = (Offer::Nothing, tasks);
        while let Some(task) = left.pop() {
            for (word, bits) in (0..).zip(self.open_for(task)) {
                if bits == 0 {
                    continue;
                }
                let row = &self.row_at(task, word * 64 + bits.trailing_zeros()).firsts;
                if !bits.is_power_of_two() || row.len() > 1 || offer != Offer::Nothing {
                    return Offer::Several;
                }
                offer = Offer::Queue(row[0].at);
            }
        }
        offer
    }

    /// As [`Self::offered`], with the dies.
    #[inline(always)]
    pub fn ways(&self, tasks: Tasks) -> Ways {
        let [dies] = self.dies.as_slice() else { return Ways { tasks: self.offered(tasks), dies: u64::MAX } };
        let (mut left, mut ways) = (tasks, Ways { tasks: Tasks::default(), dies: 0 });
        while let Some(task) = left.pop() {
            let open = dies.open & dies.awaited[task.index()];
            if open != 0 {
                ways.tasks = ways.tasks.with(task);
                ways.dies |= open;
            }
        }
        ways
    }

    /// True if a die may have room.
    #[inline]
    pub fn may_have_room(&self, die: u32) -> bool {
        self.loads[die as usize].open
    }

    /// Lists the queues of some tasks that are not empty, and whose die, if they have one, may have room.
    #[inline]
    pub fn list(&self, tasks: Tasks, into: &mut Vec<u32>) {
        into.extend(self.roaming.iter().filter(|&&at| tasks.has(self.queues[at as usize].class.task())));
        for task in tasks.and(self.tasks).iter() {
            for (word, mut bits) in (0..).zip(self.open_for(task)) {
                while bits != 0 {
                    let die = word * 64 + bits.trailing_zeros();
                    into.extend(self.row_at(task, die).queues());
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Queues that are not empty of a task and a die that may have room, of each die whose first operation came before the one
    /// that `look` has found last; it is given the queues of a die, and the number of that one.
    #[inline]
    pub fn look_at_older(&self, task: Task, mut before: u64, mut look: impl FnMut(&Row, u64) -> u64) {
        for (word, mut bits) in (0..).zip(self.open_for(task)) {
            while bits != 0 {
                let row = self.row_at(task, word * 64 + bits.trailing_zeros());
                if row.oldest < before {
                    before = look(row, before);
                }
                bits &= bits - 1;
            }
        }
    }

    /// Dies that may have room, and that operations of a task wait for, a bit each.
    #[inline]
    pub fn open_for(&self, task: Task) -> impl Iterator<Item = u64> + '_ {
        self.dies.iter().map(move |dies| dies.open & dies.awaited[task.index()])
    }

    /// Queues that are listed of a task and a die.
    #[inline]
    pub fn row_at(&self, task: Task, die: u32) -> &Row {
        &self.bound[self.row(task, die)]
    }

    /// The queue with the oldest operation of the host that waits for a die and is held; its operations have one class.
    #[inline]
    pub fn oldest_for_host(&self, die: u32) -> Option<u32> {
        let lead = self.row_at(Task::HOST, die).lead;
        (lead != NONE).then_some(lead)
    }

    /// Lists all queues that are not empty.
    pub fn list_all(&self, into: &mut Vec<u32>) {
        into.extend(self.roaming.iter().copied().chain(self.bound.iter().flat_map(Row::queues)));
    }
}
