//! The event queue, ordered by (time, sequence): a wheel for events that are near, rows for those whose times only grow, and a heap for
//! the others.
//!
//! Events of one instant come out in the order in which they were put in, so a run never depends on where they are
//! kept. An entry is one 128-bit key, `time << 64 | sequence << 24 | kind << 20 | index`, which keeps a comparison at two
//! instructions and four entries on one cache line.
//!
//! What a link carries arrives in order, so such an event goes behind the last one of its kind, in a row. What a die does next mostly
//! comes within half a millisecond, and has a place of the wheel for itself ([`wheel`]). What is later, or finds its place taken, goes to a
//! four-ary heap. The first of wheel and heap is known, as is the first of the rows, so that the next event is found by one comparison.

mod wheel;

use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use wheel::{Wheel, CROWDED};

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;
const PAYLOAD_BITS: u32 = INDEX_BITS + KIND_BITS;
const ARITY: usize = 4;
/// Rows; the kinds of a row are those with the same remainder.
const ROWS: usize = 3;
/// What the number of the next event grows by.
const NEXT: u64 = 1 << PAYLOAD_BITS;
/// No place of the wheel.
const IN_HEAP: usize = usize::MAX;
/// After all events: its time is after [`LATEST`].
const NEVER: u128 = u128::MAX;

/// No event comes after this time.
pub const LATEST: Time = Time::MAX - 1;
/// Largest index an event can carry (about a million dies or queue slots).
pub const MAX_INDEX: u32 = (1 << INDEX_BITS) - 1;
/// Largest event kind.
pub const MAX_KIND: u8 = (1 << KIND_BITS) - 1;

/// An event taken from the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happens, in picoseconds.
    pub time: Time,
    /// What happens; the meaning belongs to the owner of the queue.
    pub kind: u8,
    /// To whom: a die, a queue slot, or whatever the kind says.
    pub index: u32,
}

/// What an event says beside its time, as its key has it: its kind and its index, which are checked once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u32);

impl Mark {
    /// That of a kind and an index.
    ///
    /// # Panics
    /// As [`EventQueue::push`].
    #[inline(always)]
    #[must_use]
    pub fn new(kind: u8, index: u32) -> Self {
        // One number to look at: the bits that have no place.
        if index >> INDEX_BITS | u32::from(kind >> KIND_BITS) != 0 {
            no_place(kind, index);
        }
        Self(u32::from(kind) << INDEX_BITS | index)
    }
}

/// Events whose times only grow.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    /// The first; [`NEVER`] if there is none.
    head: u128,
    /// Those after it.
    rest: VecDeque<u128>,
    /// The latest time of all so far.
    latest: Time,
}

impl Default for Row {
    fn default() -> Self {
        Self { head: NEVER, rest: VecDeque::new(), latest: 0 }
    }
}

/// A queue of timed events. It allocates only while it grows to its working size.
#[derive(Clone, Debug)]
pub struct EventQueue {
    wheel: Wheel,
    /// Behind the events [`NEVER`], so that an entry has all its children or none.
    heap: Vec<u128>,
    /// Entries of the heap in use.
    count: usize,
    /// The first of all events in wheel and heap, and its place in the wheel, as [`CROWDED`] if that is known to have more; [`IN_HEAP`] if it has
    /// none.
    top: u128,
    top_at: usize,
    rows: [Row; ROWS],
    /// The first of all events in rows, and its row.
    first: u128,
    first_row: usize,
    /// Events in rows.
    in_rows: usize,
    /// The number of the next event, where a key has it.
    sequence: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl EventQueue {
    /// An empty queue with room for `capacity` pending events.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            wheel: Wheel::default(),
            heap: Vec::with_capacity(capacity),
            count: 0,
            top: NEVER,
            top_at: IN_HEAP,
            rows: Default::default(),
            first: NEVER,
            first_row: 0,
            in_rows: 0,
            sequence: 0,
        }
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wheel.len() + self.count + self.in_rows
    }

    /// Number of events put in so far, those that were forgotten included.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.sequence >> PAYLOAD_BITS
    }

    /// True if no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Time of the earliest pending event.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        let first = self.top.min(self.first);
        (first != NEVER).then_some(time_of(first))
    }

    /// Adds an event at `time`.
    ///
    /// # Panics
    /// When `index` or `kind` exceed [`MAX_INDEX`], [`MAX_KIND`], or after 2^40 events.
    #[inline(always)]
    pub fn push(&mut self, time: Time, kind: u8, index: u32) {
        self.push_marked(time, Mark::new(kind, index));
    }

    /// The same for a kind and an index that have been checked.
    ///
    /// # Panics
    /// After 2^40 events.
    #[inline(always)]
    pub fn push_marked(&mut self, time: Time, mark: Mark) {
        let key = self.key(time, mark);
        self.insert(key);
    }

    /// Adds an event that is mostly the last of its kind. It may come at any time, but costs more if it is not.
    ///
    /// # Panics
    /// As [`EventQueue::push`].
    #[inline(always)]
    pub fn push_in_row(&mut self, time: Time, kind: u8, index: u32) {
        let key = self.key(time, Mark::new(kind, index));
        let at = usize::from(kind) % ROWS;
        let row = &mut self.rows[at];
        if time < row.latest {
            return self.insert(key);
        }
        row.latest = time;
        self.in_rows += 1;
        if row.head == NEVER {
            row.head = key;
            if key < self.first {
                (self.first, self.first_row) = (key, at);
            }
        } else {
            row.rest.push_back(key);
        }
    }

    /// Puts an event in and takes it at once; false if it would not be the first of all, and nothing has happened.
    #[inline(always)]
    pub fn pass(&mut self, time: Time) -> bool {
        debug_assert!(time <= LATEST, "no event comes then");
        // After all others of its instant.
        if time_of(self.top) <= time || time_of(self.first) <= time {
            return false;
        }
        self.count();
        true
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        self.pop_until(LATEST)
    }

    /// Takes the earliest event if it is not after `until`, which is [`LATEST`] at most.
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<Event> {
        debug_assert!(until <= LATEST, "there may be no event");
        // One comparison tells which is the first, and where it is.
        let in_row = self.first < self.top;
        let key = if in_row { self.first } else { self.top };
        let time = time_of(key);
        if time > until {
            return None;
        }
        if in_row {
            self.take_from_row();
        } else {
            self.take_top();
        }
        let payload = key as u64;
        Some(Event { time, kind: (payload >> INDEX_BITS) as u8 & MAX_KIND, index: payload as u32 & MAX_INDEX })
    }

    /// Forgets all pending events.
    pub fn clear(&mut self) {
        self.wheel.clear();
        self.heap.clear();
        (self.count, self.top, self.top_at, self.first, self.in_rows) = (0, NEVER, IN_HEAP, NEVER, 0);
        self.rows.iter_mut().for_each(|row| {
            row.rest.clear();
            (row.head, row.latest) = (NEVER, 0);
        });
    }

    /// The key of an event at `time`, after all others of that time.
    #[inline(always)]
    fn key(&mut self, time: Time, mark: Mark) -> u128 {
        let payload = self.sequence | u64::from(mark.0);
        self.count();
        u128::from(time) << 64 | u128::from(payload)
    }

    /// One event more has got its number.
    #[inline(always)]
    fn count(&mut self) {
        let Some(next) = self.sequence.checked_add(NEXT) else { too_many() };
        self.sequence = next;
    }

    /// Takes the first of all events in rows.
    #[inline]
    fn take_from_row(&mut self) {
        let row = &mut self.rows[self.first_row];
        self.in_rows -= 1;
        if self.in_rows == 0 {
            (row.head, self.first) = (NEVER, NEVER);
            return;
        }
        row.head = row.rest.pop_front().unwrap_or(NEVER);
        let (mut first, mut first_row) = (self.rows[0].head, 0);
        for (at, row) in self.rows.iter().enumerate().skip(1) {
            if row.head < first {
                (first, first_row) = (row.head, at);
            }
        }
        (self.first, self.first_row) = (first, first_row);
    }

    /// Takes the first of all events in wheel and heap.
    #[inline(always)]
    fn take_top(&mut self) {
        let alone = if self.top_at < CROWDED {
            self.wheel.take_alone(self.top, self.top_at)
        } else if self.top_at == IN_HEAP {
            return self.take_from_heap();
        } else {
            None
        };
        (self.top, self.top_at) = alone.unwrap_or_else(|| self.wheel.take_before_others(self.top_at));
        if self.count > 0 {
            self.look_at_heap();
        }
    }

    /// Puts an event into its place of the wheel, or into the heap.
    #[inline(always)]
    fn insert(&mut self, key: u128) {
        let Some(at) = self.wheel.insert(key) else { return self.append(key) };
        if key < self.top {
            (self.top, self.top_at) = (key, at);
        }
    }

    /// The heap may have the first event.
    #[inline(always)]
    fn look_at_heap(&mut self) {
        let first = self.heap.first().copied().unwrap_or(NEVER);
        if first < self.top {
            (self.top, self.top_at) = (first, IN_HEAP);
        }
    }

    /// Puts an event at the end of the heap.
    #[inline(never)]
    fn append(&mut self, key: u128) {
        if self.count == self.heap.len() {
            self.heap.resize(self.count + if self.count == 0 { 1 } else { ARITY }, NEVER);
        }
        self.sift_up(self.count, key);
        self.count += 1;
        self.look_at_heap();
    }

    /// Takes the first event of the heap.
    #[inline(never)]
    fn take_from_heap(&mut self) {
        self.count -= 1;
        let last = std::mem::replace(&mut self.heap[self.count], NEVER);
        if self.count > 0 {
            self.sift_down(last);
        }
        (self.top, self.top_at) = self.wheel.turn_to(self.top);
        self.look_at_heap();
    }

    /// Places `key` from an unused entry upward.
    #[inline]
    fn sift_up(&mut self, mut at: usize, key: u128) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = key;
    }

    /// Places `key` from the root downward.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let mut at = 0;
        while let Some((child, child_key)) = self.children(at).map(least).filter(|&(_, least)| least < key) {
            self.heap[at] = child_key;
            at = at * ARITY + 1 + child;
        }
        self.heap[at] = key;
    }

    /// The children of an entry, if it has any.
    #[inline]
    fn children(&self, at: usize) -> Option<&[u128; ARITY]> {
        self.heap.get(at * ARITY + 1..)?.first_chunk()
    }
}

/// The time of a key.
#[inline(always)]
fn time_of(key: u128) -> Time {
    (key >> 64) as Time
}

#[cold]
#[inline(never)]
fn no_place(kind: u8, index: u32) -> ! {
    panic!("an event of kind {kind} with index {index} has no place");
}

#[cold]
#[inline(never)]
fn too_many() -> ! {
    panic!("there are too many events");
}

/// The least of four keys, and which it is.
#[inline]
fn least(keys: &[u128; ARITY]) -> (usize, u128) {
    let &[a, b, c, d] = keys;
    let left = if b < a { (1, b) } else { (0, a) };
    let right = if d < c { (3, d) } else { (2, c) };
    if right.1 < left.1 {
        right
    } else {
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn events_of_one_instant_keep_their_order() {
        let mut queue = EventQueue::default();
        for index in 0..100 {
            queue.push(7, 3, index);
        }
        queue.push(6, 1, MAX_INDEX);
        assert_eq!(queue.events(), 101);
        assert_eq!(queue.pop(), Some(Event { time: 6, kind: 1, index: MAX_INDEX }));
        for index in 0..100 {
            assert_eq!(queue.pop(), Some(Event { time: 7, kind: 3, index }));
        }
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.events(), 101, "taking them out changes nothing");
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        for seed in 0..150 {
            // From one place of the wheel for several events to many of its rounds.
            let span = 500 << (seed % 3 * 12 + seed / 3 % 4);
            let mut random = Stream::new(seed, "event-test", 0);
            let mut queue = EventQueue::default();
            let mut list: Vec<(Time, u64, u32)> = Vec::new();
            let mut order = 0;
            for step in 0..2_000_u32 {
                if random.below(3) > 0 {
                    // The heap has all times; in the rows they grow, or mostly grow.
                    let time = random.below(span) + [0, u64::from(step), u64::from(step) * span][step as usize % 3];
                    // What passes has been put in and taken out again.
                    if random.below(8) == 0 && queue.pass(time) {
                        assert!(list.iter().all(|event| event.0 > time), "it would be the first");
                        order += 1;
                        assert_eq!(queue.events(), order);
                        continue;
                    }
                    match step % 3 {
                        0 => queue.push(time, 0, step),
                        row => queue.push_in_row(time, row as u8, step),
                    }
                    list.push((time, order, step));
                    order += 1;
                } else {
                    list.sort_unstable();
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    let got = queue.pop();
                    assert_eq!(got.map(|e| (e.time, e.index)), expected.map(|e| (e.0, e.2)), "seed {seed}");
                }
                assert_eq!(queue.len(), list.len());
                assert_eq!(queue.next_time(), list.iter().map(|event| event.0).min());
            }
        }
    }
}
