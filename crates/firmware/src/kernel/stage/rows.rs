//! The rows of the commit stage: the queues that are listed, by the task and the die that they wait for; and the dies that may have room
//! for them, as the bits of words.

use super::{Offer, Queue, Stage};
use crate::ops::NONE;
use crate::space::Stream;
use crate::task::{ByTask, Class, Task, Tasks, CLASSES};

/// A queue that is listed, and its first operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct First {
    /// Its number in the order of becoming ready; the highest if there is none.
    pub number: u64,
    /// The rest in one word, which is faster to hand about: the queue, its class, the plane of its die, and the bit of its writes among those with
    /// an open block ([`Stream::first_bit`]), from the lowest bits on; the highest bit is set if it waits for no plane.
    rest: u64,
}

/// No queue.
pub(in crate::kernel) const NO_FIRST: First = First { number: u64::MAX, rest: NONE as u64 | NO_PLANE };

const CLASS_BIT: u32 = 32;
const PLANE_BIT: u32 = 40;
const WRITES_BIT: u32 = 48;
const NO_PLANE: u64 = 1 << 63;

impl First {
    /// What is said of a queue beside its number, with the plane of its die that it waits for, if it is one.
    pub(super) fn rest(at: usize, class: Class, plane: Option<u32>, stream: Stream) -> u64 {
        at as u64
            | (class.index() as u64) << CLASS_BIT
            | plane.map_or(NO_PLANE, |plane| u64::from(plane) << PLANE_BIT)
            | u64::from(stream.first_bit() + plane.unwrap_or(0)) << WRITES_BIT
    }

    /// Its queue; [`NONE`] if there is none.
    #[inline(always)]
    pub fn at(self) -> u32 {
        self.rest as u32
    }

    /// The class of its operations.
    #[inline(always)]
    pub fn class(self) -> Class {
        Class::numbered((self.rest >> CLASS_BIT) as u8)
    }

    /// True if they wait for a plane.
    #[inline(always)]
    pub fn waits_for_plane(self) -> bool {
        self.rest & NO_PLANE == 0
    }

    /// The plane of its die that they wait for, if it is one.
    #[inline(always)]
    pub fn plane(self) -> u32 {
        debug_assert!(self.waits_for_plane(), "any plane of its die will do");
        u32::from((self.rest >> PLANE_BIT) as u8)
    }

    /// The bit of its writes among those of their die.
    #[inline(always)]
    pub fn bit_of_writes(self) -> u32 {
        (self.rest >> WRITES_BIT) as u32 % u64::BITS
    }
}

/// Queues that are listed of a task and a die.
#[derive(Clone, Debug)]
pub(in crate::kernel) struct Row {
    /// The first of these are used.
    places: Box<[First]>,
    count: usize,
    /// The queue with the first operation of all in the order of becoming ready.
    pub lead: First,
    /// Where it is among the queues.
    led: usize,
}

impl Default for Row {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Row {
    /// Without queues, of so many that there are.
    pub(super) fn new(queues: usize) -> Self {
        Self { places: vec![NO_FIRST; queues].into(), count: 0, lead: NO_FIRST, led: 0 }
    }

    /// Its queues, with their first operations.
    #[inline]
    pub fn firsts(&self) -> &[First] {
        &self.places[..self.count]
    }

    /// Its queues.
    #[inline]
    pub fn queues(&self) -> impl Iterator<Item = u32> + '_ {
        self.firsts().iter().map(|first| first.at())
    }

    /// A queue joins those that are listed.
    #[inline(always)]
    pub(super) fn add(&mut self, first: First) {
        if first.number < self.lead.number {
            (self.lead, self.led) = (first, self.count);
        }
        self.places[self.count] = first;
        self.count += 1;
    }

    /// Where a queue is among the others.
    #[inline(always)]
    fn position(&self, at: usize) -> usize {
        if self.lead.at() as usize == at {
            return self.led;
        }
        self.firsts().iter().position(|first| first.at() as usize == at).expect("it was filled")
    }

    /// A queue leaves them; true if it was the last.
    #[inline(always)]
    pub(super) fn remove(&mut self, at: usize) -> bool {
        let found = self.position(at);
        self.count -= 1;
        if self.count == 0 {
            (self.lead, self.led) = (NO_FIRST, 0);
            return true;
        }
        self.places[found] = self.places[self.count];
        self.find_lead();
        false
    }

    /// Another operation of a queue is its first.
    #[inline(always)]
    pub(super) fn renumber(&mut self, at: usize, number: u64) {
        let found = self.position(at);
        self.places[found].number = number;
        if self.count == 1 {
            self.lead.number = number;
            return;
        }
        self.find_lead();
    }

    /// Finds the queue with the first operation of all, of which there are some: mostly there are few.
    #[inline(always)]
    fn find_lead(&mut self) {
        let firsts = &self.places[..self.count];
        self.led = if let [first, second] = firsts {
            usize::from(second.number < first.number)
        } else if let [first, second, third] = firsts {
            let (led, number) = if second.number < first.number { (1, second.number) } else { (0, first.number) };
            if third.number < number {
                2
            } else {
                led
            }
        } else if firsts.len() == 1 {
            0
        } else {
            oldest(firsts)
        };
        self.lead = firsts[self.led];
    }
}

/// Where the first operation of all is.
#[inline(never)]
fn oldest(firsts: &[First]) -> usize {
    let (mut led, mut number) = (0, u64::MAX);
    for (index, first) in firsts.iter().enumerate() {
        if first.number < number {
            (led, number) = (index, first.number);
        }
    }
    led
}

/// The dies that may have room, and that operations of host and GC wait for, a bit each.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct Ways {
    pub host: u64,
    pub gc: u64,
}

/// Dies of a word, a bit each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dies {
    /// Those that may have room.
    pub open: u64,
    /// Those that operations wait for, by task.
    pub awaited: ByTask<u64>,
}

impl Queue {
    /// Its first operation, as a row has it.
    #[inline]
    pub fn first(&self) -> First {
        First { number: self.fifo.number(), rest: self.rest }
    }
}

impl Stage {
    /// A queue is looked at from now on.
    #[inline(never)]
    pub fn fill(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.is_listed = true;
        let Queue { class, awaits: die, .. } = *queue;
        if die == NONE {
            return self.roaming.push(at as u32);
        }
        let first = queue.first();
        self.loads[die as usize].rows[class.task().index()].add(first);
        self.bound_count += 1;
        self.dies[die as usize / 64].awaited[class.task().index()] |= 1 << (die % 64);
    }

    /// A queue has lost its last operation, or its writes wait for others to fill their page.
    pub fn drain(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.is_listed = false;
        let Queue { class, awaits: die, .. } = *queue;
        if die == NONE {
            let found = self.roaming.iter().position(|&other| other as usize == at).expect("it was filled");
            self.roaming.swap_remove(found);
            return;
        }
        self.leave_row(at, class.task(), die);
    }

    /// A queue leaves its row.
    #[inline]
    pub(super) fn leave_row(&mut self, at: usize, task: Task, die: u32) {
        self.bound_count -= 1;
        if self.loads[die as usize].rows[task.index()].remove(at) {
            self.dies[die as usize / 64].awaited[task.index()] &= !(1 << (die % 64));
        }
    }

    /// Another operation of a queue is the first.
    pub fn first_changes(&mut self, at: usize) {
        let Queue { class, fifo, awaits: die, .. } = self.queues[at];
        if die != NONE {
            self.loads[die as usize].rows[class.task().index()].renumber(at, fifo.number());
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

    /// What waits for a die that may have room, of tasks that may have another operation outstanding.
    #[inline]
    pub fn offer_of_bound(&self) -> Offer {
        let (mut offer, mut left) = (Offer::Nothing, self.tasks);
        while let Some(task) = left.pop() {
            if !self.lets(task) {
                continue;
            }
            for (word, bits) in (0..).zip(self.open_for(task)) {
                if bits == 0 {
                    continue;
                }
                let row = self.row_at(task, word * 64 + bits.trailing_zeros()).firsts();
                let alone = bits.is_power_of_two() && row.len() == 1 && offer == Offer::Nothing;
                offer = if alone { Offer::Queue(row[0].at()) } else { self.offer_with(offer, task) };
            }
        }
        offer
    }

    /// The same if operations of another queue of a task, or of several, may go beside it.
    #[inline]
    pub fn offer_with(&self, offer: Offer, task: Task) -> Offer {
        let known = match offer {
            Offer::Nothing => task,
            Offer::Queue(at) => self.queues[at as usize].class.task(),
            Offer::Task(known) => known,
            Offer::Several => return Offer::Several,
        };
        if known == task {
            Offer::Task(task)
        } else {
            Offer::Several
        }
    }

    /// Where operations of host and GC may go, as far as these are below their limits; none if other tasks wait, too, or the drive has more
    /// dies than a word.
    #[inline(always)]
    pub fn ways(&self) -> Option<Ways> {
        let [dies] = self.dies.as_slice() else { return None };
        if self.tasks.but(Tasks::BASIC) != Tasks::default() {
            return None;
        }
        let of = |task: Task| if self.lets(task) { dies.open & dies.awaited[task.index()] } else { 0 };
        Some(Ways { host: of(Task::HOST), gc: of(Task::GC) })
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

    /// Dies that may have room, and that operations of a task wait for, a bit each.
    #[inline]
    pub fn open_for(&self, task: Task) -> impl Iterator<Item = u64> + '_ {
        self.dies.iter().map(move |dies| dies.open & dies.awaited[task.index()])
    }

    /// Queues that are listed of a task and a die.
    #[inline]
    pub fn row_at(&self, task: Task, die: u32) -> &Row {
        &self.loads[die as usize].rows[task.index()]
    }

    /// The queue with the oldest operation of the host that waits for a die and is held; its operations have one class.
    #[inline]
    pub fn oldest_for_host(&self, die: u32) -> Option<u32> {
        let lead = self.row_at(Task::HOST, die).lead.at();
        (lead != NONE).then_some(lead)
    }

    /// Lists all queues that are not empty.
    pub fn list_all(&self, into: &mut Vec<u32>) {
        let rows = Task::all().flat_map(|task| self.loads.iter().map(move |load| &load.rows[task.index()]));
        into.extend(self.roaming.iter().copied().chain(rows.flat_map(Row::queues)));
    }
}
