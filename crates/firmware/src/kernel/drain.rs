//! Causes of waits for the write buffer.
//!
//! A request that waits for room in the write buffer does not wait for its own operation, but for the units that fill
//! the buffer. So its wait is divided as the buffered units spent that time, summed over all of them: at a die held by
//! GC, at a die held by the host, in the command that writes them. A unit that may go to several dies counts for each
//! of them in equal parts. By Little's law, a full buffer admits its size over the residence time of a unit: the parts
//! give the share of each cause in that residence time.
//!
//! Kept as sums over time, so that a wait costs one difference, independent of its length.

use super::history::{holder, HOLDERS};
use super::stage::Stage;
use super::Kernel;
use crate::ops::{FlashOp, NONE};
use crate::policy::placement::Constraint;
use crate::task::{Class, Task, CLASSES, TASKS};
use wordline_base::Time;
use wordline_flash::Spent;

/// Causes of waits in the write buffer, in this order: dies held by each background task; dies held by host reads, or
/// old data; the bus, in writes of the host; the rest of these writes; dies that are free, which have no page to give,
/// or a page that waits for company or a turn.
pub const DRAINS: usize = TASKS + 3;

/// The states of a die, as [`holder`] counts them, and that in which nobody holds it.
const STATES: usize = HOLDERS + 1;
const FIRST_BACKGROUND: usize = 2;
const IDLE: usize = HOLDERS;

/// Where a buffered unit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Post {
    /// In flash, or never there.
    #[default]
    Gone,
    /// It waits for any die.
    Any,
    /// It waits for any die of a channel.
    Channel(u32),
    /// It waits for a die.
    Die(u32),
    /// A command carries it: its own program, or the read of its old data.
    Under(usize),
}

/// The sums when somebody looked.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    time: Time,
    sums: [u128; STATES],
    ended: [u128; 2],
}

/// Causes of waits of the units in the write buffer.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    channels: u64,
    dies_per_channel: u32,
    /// By operation.
    posts: Vec<Post>,
    /// True once a unit has waited. Before, nobody asks for the states of dies.
    watches: bool,
    /// By die.
    states: Vec<usize>,
    /// Units that wait: for any die, by channel, by die.
    any: u64,
    in_channel: Vec<u64>,
    at_die: Vec<u64>,
    /// Dies by state: all of them, and those of each channel.
    dies: [u64; STATES],
    dies_in_channel: Vec<[u64; STATES]>,
    /// Units by cause of wait, times dies, so that shares of a unit are whole numbers.
    weights: [u64; STATES],
    /// The same times time, up to `since`.
    sums: [u128; STATES],
    since: Time,
    /// Of commands that wrote buffered units and have ended: on the bus or waiting for it, otherwise.
    ended: [u128; 2],
    /// By request: when it began to wait.
    marks: Vec<Mark>,
}

impl Drain {
    pub fn new(requests: usize, channels: u32, dies_per_channel: u32) -> Self {
        let dies = channels * dies_per_channel;
        let idle = |count: u32| only(IDLE, u64::from(count));
        Self {
            channels: channels.into(),
            dies_per_channel,
            posts: Vec::new(),
            watches: false,
            states: vec![IDLE; dies as usize],
            any: 0,
            in_channel: vec![0; channels as usize],
            at_die: vec![0; dies as usize],
            dies: idle(dies),
            dies_in_channel: vec![idle(dies_per_channel); channels as usize],
            weights: [0; STATES],
            sums: [0; STATES],
            since: 0,
            ended: [0; 2],
            marks: vec![Mark::default(); requests],
        }
    }

    /// A unit is about to wait: the states of the dies count from now on. Given are those that are held, with their holders.
    #[inline]
    pub fn watch(&mut self, held: impl Iterator<Item = (u32, usize)>, now: Time) {
        if !self.watches {
            self.watches = true;
            held.for_each(|(die, holder)| self.turn(die, holder, now));
        }
    }

    fn pass(&mut self, now: Time) {
        let passed = u128::from(now - self.since);
        self.since = now;
        if passed > 0 {
            self.sums.iter_mut().zip(self.weights).for_each(|(sum, weight)| *sum += u128::from(weight) * passed);
        }
    }

    /// Weight of one unit at a post; added from now on, or removed.
    fn count(&mut self, post: Post, is_new: bool) {
        let all = self.states.len() as u64;
        let (number, weights) = match post {
            Post::Gone => return,
            Post::Any => (Some(&mut self.any), self.dies),
            Post::Channel(channel) => {
                let weights = self.dies_in_channel[channel as usize].map(|dies| dies * self.channels);
                (Some(&mut self.in_channel[channel as usize]), weights)
            }
            Post::Die(die) => (Some(&mut self.at_die[die as usize]), only(self.states[die as usize], all)),
            Post::Under(state) => (None, only(state, all)),
        };
        let change = |value: &mut u64, by: u64| if is_new { *value += by } else { *value -= by };
        if let Some(number) = number {
            change(number, 1);
        }
        self.weights.iter_mut().zip(weights).for_each(|(weight, by)| change(weight, by));
    }

    fn send(&mut self, operation: u32, post: Post, now: Time) {
        self.pass(now);
        let at = operation as usize;
        // It grows with the slab of operations, and no further.
        if at >= self.posts.len() {
            self.posts.resize(at + 1, Post::Gone);
        }
        let before = std::mem::replace(&mut self.posts[at], post);
        self.count(before, false);
        self.count(post, true);
    }

    /// A unit waits.
    pub fn wait(&mut self, operation: u32, constraint: Constraint, planes_per_die: u32, now: Time) {
        let post = match constraint {
            Constraint::Any => Post::Any,
            Constraint::Channel(channel) => Post::Channel(channel),
            Constraint::Die(die) => Post::Die(die),
            Constraint::Plane(plane) => Post::Die(plane / planes_per_die),
        };
        self.send(operation, post, now);
    }

    /// A command of a class carries a unit.
    pub fn bind(&mut self, operation: u32, class: Class, now: Time) {
        self.send(operation, Post::Under(holder(class)), now);
    }

    /// A unit has left the buffer.
    pub fn leave(&mut self, operation: u32, now: Time) {
        self.send(operation, Post::Gone, now);
    }

    /// A command that wrote buffered units has ended; counted for each of them.
    pub fn ended(&mut self, spent: &Spent, now: Time) {
        let whole = now - spent.begun;
        let bus = (spent.bus + spent.wait_bus).min(whole);
        self.ended[0] += u128::from(bus);
        self.ended[1] += u128::from(whole - bus);
    }

    /// A command of a class has taken a die.
    #[inline]
    pub fn take(&mut self, die: u32, class: Class, now: Time) {
        if self.watches {
            self.turn(die, holder(class), now);
        }
    }

    /// Nobody holds a die any more.
    #[inline]
    pub fn idle(&mut self, die: u32, now: Time) {
        if self.watches {
            self.turn(die, IDLE, now);
        }
    }

    fn turn(&mut self, die: u32, state: usize, now: Time) {
        let before = std::mem::replace(&mut self.states[die as usize], state);
        if before == state {
            return;
        }
        self.pass(now);
        let channel = (die / self.dies_per_channel) as usize;
        let all = self.states.len() as u64;
        let weight = self.any + self.channels * self.in_channel[channel] + all * self.at_die[die as usize];
        for dies in [&mut self.dies, &mut self.dies_in_channel[channel]] {
            dies[before] -= 1;
            dies[state] += 1;
        }
        self.weights[before] -= weight;
        self.weights[state] += weight;
    }

    /// A request starts to wait for the buffer.
    pub fn begin(&mut self, request: u32, now: Time) {
        self.pass(now);
        self.marks[request as usize] = Mark { time: now, sums: self.sums, ended: self.ended };
    }

    /// It waits no more: how long it did for what, in the order of [`DRAINS`], which adds up to all of its wait.
    pub fn end(&mut self, request: u32, now: Time) -> [Time; DRAINS] {
        self.pass(now);
        let Mark { time, sums, ended } = self.marks[request as usize];
        let grown: [u128; STATES] = std::array::from_fn(|state| self.sums[state] - sums[state]);
        let ended: [u128; 2] = std::array::from_fn(|at| self.ended[at] - ended[at]);
        let mut weights = grown;
        weights[..IDLE].rotate_left(FIRST_BACKGROUND);
        let states = divide(now - time, weights, IDLE);
        // Commands that have not ended are taken to be like those that have.
        let read = IDLE - FIRST_BACKGROUND;
        let [bus, program] = divide(states[read + 1], ended, 1);
        let mut causes = [0; DRAINS];
        causes[..=read].copy_from_slice(&states[..=read]);
        causes[read + 1..].copy_from_slice(&[bus, program, states[IDLE]]);
        causes
    }
}

fn only(state: usize, weight: u64) -> [u64; STATES] {
    std::array::from_fn(|at| if at == state { weight } else { 0 })
}

/// Divides a time in proportion to weights; without any, all of it goes to part `other`. The parts add up to the time.
pub fn divide<const N: usize>(time: Time, weights: [u128; N], other: usize) -> [Time; N] {
    let whole: u128 = weights.iter().sum();
    let mut parts = [0; N];
    if whole == 0 {
        parts[other] = time;
        return parts;
    }
    // Of times below 2^63, so that the product fits.
    let shift = (u128::BITS - whole.leading_zeros()).saturating_sub(64);
    let whole = whole >> shift;
    let (mut sum, mut before) = (0, 0);
    for (part, weight) in parts.iter_mut().zip(weights) {
        sum += weight;
        let until = (u128::from(time) * (sum >> shift) / whole) as Time;
        *part = until - before;
        before = until;
    }
    parts
}

impl Kernel {
    /// A request starts to wait for the write buffer: for room, or until its content is in flash.
    pub fn await_buffer(&mut self, request: u32, now: Time) {
        self.now = now;
        self.awaiting += 1;
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            accounts.drain.begin(request, now);
        }
    }

    /// Ends the wait for the write buffer of a request that started at `since`. Returns whether GC held up units in the
    /// buffer meanwhile: it held a die that one of them waited for.
    pub fn end_await_buffer(&mut self, request: u32, since: Time, now: Time) -> bool {
        self.now = now;
        self.awaiting -= 1;
        let gc_affected = since < now && (self.held_up > since || self.holds_up());
        if let Some(accounts) = self.notes.as_mut().and_then(|notes| notes.accounts.as_mut()) {
            let room = accounts.drain.end(request, now);
            if let Some(way) = accounts.way_mut(request) {
                way.room = room;
                way.gc_affected |= gc_affected;
            }
        }
        gc_affected
    }

    /// GC is about to release a die while requests wait for the write buffer.
    #[cold]
    pub(super) fn let_go(&mut self, die: u32) {
        if self.held_up < self.now && self.is_awaited(die) {
            self.held_up = self.now;
        }
    }

    /// The last unit has left a shared queue, and may have waited for dies that GC holds.
    #[cold]
    pub(super) fn queue_emptied(&mut self, index: usize) {
        if (0..self.dies.len() as u32)
            .any(|die| self.is_collecting(die) && self.shared_of(die, Class::HOST_WRITE).contains(&index))
        {
            self.held_up = self.now;
        }
    }

    /// The same of a queue of the commit stage whose units could go to several dies.
    #[cold]
    pub(super) fn stage_emptied(&mut self, place: Constraint) {
        let serves = |die: u32| self.places_of(die).contains(&place);
        if (0..self.dies.len() as u32).any(|die| self.is_collecting(die) && serves(die)) {
            self.held_up = self.now;
        }
    }

    /// The places besides its planes where what a die may do waits.
    fn places_of(&self, die: u32) -> [Constraint; 3] {
        [Constraint::Any, Constraint::Channel(self.flash.channel_of(die)), Constraint::Die(die)]
    }

    /// True if GC holds a die that a buffered unit waits for.
    #[cold]
    fn holds_up(&self) -> bool {
        (0..self.dies.len() as u32).any(|die| self.is_collecting(die) && self.is_awaited(die))
    }

    /// True if GC has held a die up to now.
    fn is_collecting(&self, die: u32) -> bool {
        let state = &self.dies[die as usize];
        state.busy && state.class.task() == Task::GC && state.since < self.now
    }

    /// True if a buffered unit has waited for a die: there, or in the commit stage.
    fn is_awaited(&self, die: u32) -> bool {
        if self.stage.as_ref().is_some_and(|stage| self.is_awaited_in(stage, die)) {
            return true;
        }
        let waited = |slot: u32| slot != NONE && self.slab.get(slot).ready < self.now;
        if self.shared_waiting[0] > 0
            && self.shared_of(die, Class::HOST_WRITE).iter().any(|&index| waited(self.shared[index].head))
        {
            return true;
        }
        let planes = self.flash.geometry().planes_per_die;
        let queue = |plane: u32, class: Class| &self.queues[plane as usize * CLASSES + class.index()];
        let ready = self.dies[die as usize].waiting;
        let waits = |class: Class| ready.has(class);
        let mut of_die = die * planes..(die + 1) * planes;
        if waits(Class::HOST_WRITE) && of_die.clone().any(|plane| waited(queue(plane, Class::HOST_WRITE).head)) {
            return true;
        }
        // Among the reads there may be those of old data of buffered units.
        let merges = |plane: u32| {
            let fifo = queue(plane, Class::HOST_READ);
            fifo.find(&self.slab, fifo.len, |op| op.buffered && op.ready < self.now).is_some()
        };
        waits(Class::HOST_READ) && of_die.any(merges)
    }

    /// The same of units in the commit stage alone. They need not wait there in the order of their coming.
    fn is_awaited_in(&self, stage: &Stage, die: u32) -> bool {
        let planes = self.flash.geometry().planes_per_die;
        let of_die = (die * planes..(die + 1) * planes).map(Constraint::Plane);
        let waits = |class: Class, place: Constraint| {
            let fifo = stage.queue(stage.at(class, place)).fifo;
            // A read of old data of a buffered unit, or such a unit itself.
            let counts = |op: &FlashOp| op.ready < self.now && (op.buffered || class == Class::HOST_WRITE);
            fifo.find(&self.slab, fifo.len, counts).is_some()
        };
        self.places_of(die).into_iter().chain(of_die.clone()).any(|place| waits(Class::HOST_WRITE, place))
            || of_die.into_iter().any(|place| waits(Class::HOST_READ, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Action;

    /// Times of GC, reads, bus, programs and idle dies; nothing of other tasks.
    fn told([gc, rest @ ..]: [Time; 5]) -> [Time; DRAINS] {
        let mut all = [0; DRAINS];
        all[0] = gc;
        all[DRAINS - 4..].copy_from_slice(&rest);
        all
    }

    #[test]
    fn a_wait_is_divided_by_what_the_units_wait_for() {
        // Two channels of two dies.
        let mut drain = Drain::new(4, 2, 2);
        drain.watch([].into_iter(), 0);
        drain.take(0, Class::new(Task::GC, Action::Erase), 0);
        drain.take(1, Class::HOST_WRITE, 0);
        // One unit waits for the die under erase, one is written on the next.
        drain.wait(0, Constraint::Plane(1), 2, 0);
        drain.bind(1, Class::HOST_WRITE, 0);
        drain.begin(0, 0);
        drain.begin(1, 60);
        // At 100 the second leaves; its command was on the bus for a quarter of its time.
        drain.ended(&Spent { begun: 0, wait_bus: 5, bus: 20, read: 0, program: 75 }, 100);
        drain.leave(1, 100);
        assert_eq!(drain.end(0, 100), told([50, 0, 12, 38, 0]));
        // From then on only the first is there.
        drain.idle(1, 100);
        // Of the unit's time 40 + 40 at the die, and 40 in the command: two thirds of 80 and one third.
        assert_eq!(drain.end(1, 140), told([53, 0, 6, 21, 0]));
    }

    #[test]
    fn a_unit_that_may_go_to_several_dies_waits_for_each_in_part() {
        let mut drain = Drain::new(1, 2, 2);
        drain.wait(0, Constraint::Any, 2, 0);
        drain.wait(1, Constraint::Channel(1), 2, 0);
        let held = [(2, holder(Class::new(Task::GC, Action::Read))), (3, holder(Class::HOST_READ))];
        drain.watch(held.into_iter(), 0);
        drain.begin(0, 0);
        // Of the first a quarter waits for each die, two of which are free; of the second a half for each of two.
        assert_eq!(drain.end(0, 800), told([100 + 200, 100 + 200, 0, 0, 200]));
    }

    #[test]
    fn parts_add_up_whatever_the_weights() {
        assert_eq!(divide(10, [0, 0, 0], 1), [0, 10, 0]);
        assert_eq!(divide(10, [1, 1, 1], 1), [3, 3, 4]);
        let parts = divide(Time::MAX >> 1, [u128::MAX / 4, u128::MAX / 8, 7], 0);
        assert_eq!(parts.iter().sum::<Time>(), Time::MAX >> 1);
        assert!(parts[0].abs_diff(2 * parts[1]) < 8, "{parts:?}");
    }

    #[test]
    fn units_that_left_count_no_more() {
        let mut drain = Drain::new(1, 1, 2);
        for operation in 0..10 {
            let now = Time::from(10 * operation);
            drain.wait(operation, Constraint::Die(operation % 2), 1, now);
            drain.bind(operation, Class::HOST_READ, now + 5);
            drain.wait(operation, Constraint::Any, 1, now + 7);
            drain.leave(operation, now + 9);
        }
        assert_eq!((drain.weights, drain.any, drain.at_die.as_slice()), ([0; STATES], 0, &[0, 0][..]));
    }
}
