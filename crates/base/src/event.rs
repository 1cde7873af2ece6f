//! The event queue: a four-ary heap ordered by (time, sequence).
//!
//! Events of one instant come out in the order in which they were put in, so a run never depends on how the heap breaks
//! ties. An entry is one 128-bit key, `time << 64 | sequence << 24 | kind << 20 | index`, which keeps a comparison at two
//! instructions and four entries on one cache line.

use crate::time::Time;
use serde::{Deserialize, Serialize};

const INDEX_BITS: u32 = 20;
const KIND_BITS: u32 = 4;
const PAYLOAD_BITS: u32 = INDEX_BITS + KIND_BITS;
const ARITY: usize = 4;

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

/// A queue of timed events. It allocates only while it grows to its working size.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventQueue {
    heap: Vec<u128>,
    sequence: u64,
}

impl EventQueue {
    /// An empty queue with room for `capacity` pending events.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { heap: Vec::with_capacity(capacity), sequence: 0 }
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Time of the earliest pending event.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.heap.first().map(|key| (key >> 64) as Time)
    }

    /// Adds an event at `time`.
    ///
    /// # Panics
    /// When `index` or `kind` exceed [`MAX_INDEX`], [`MAX_KIND`], or after 2^40 events.
    #[inline]
    pub fn push(&mut self, time: Time, kind: u8, index: u32) {
        assert!(index <= MAX_INDEX && kind <= MAX_KIND && self.sequence < 1 << (64 - PAYLOAD_BITS));
        let payload = self.sequence << PAYLOAD_BITS | u64::from(kind) << INDEX_BITS | u64::from(index);
        self.sequence += 1;
        self.heap.push(u128::from(time) << 64 | u128::from(payload));
        self.sift_up(self.heap.len() - 1);
    }

    /// Takes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let key = *self.heap.first()?;
        let last = self.heap.pop().expect("the heap has a first entry");
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        let payload = key as u64;
        Some(Event {
            time: (key >> 64) as Time,
            kind: (payload >> INDEX_BITS) as u8 & MAX_KIND,
            index: payload as u32 & MAX_INDEX,
        })
    }

    /// Forgets all pending events.
    pub fn clear(&mut self) {
        self.heap.clear();
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize) {
        let key = self.heap[at];
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
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first >= heap.len() {
                break;
            }
            let end = (first + ARITY).min(heap.len());
            let mut least = first;
            let mut least_key = heap[first];
            for (child, &child_key) in heap.iter().enumerate().take(end).skip(first + 1) {
                if child_key < least_key {
                    least = child;
                    least_key = child_key;
                }
            }
            if least_key >= key {
                break;
            }
            heap[at] = least_key;
            at = least;
        }
        heap[at] = key;
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
        assert_eq!(queue.pop(), Some(Event { time: 6, kind: 1, index: MAX_INDEX }));
        for index in 0..100 {
            assert_eq!(queue.pop(), Some(Event { time: 7, kind: 3, index }));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        for seed in 0..50 {
            let mut random = Stream::new(seed, "event-test", 0);
            let mut queue = EventQueue::default();
            let mut list: Vec<(Time, u64, u32)> = Vec::new();
            let mut order = 0;
            for step in 0..2_000_u32 {
                if random.below(3) > 0 {
                    let time = random.below(500);
                    queue.push(time, 0, step);
                    list.push((time, order, step));
                    order += 1;
                } else {
                    list.sort_unstable();
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    let got = queue.pop();
                    assert_eq!(got.map(|e| (e.time, e.index)), expected.map(|e| (e.0, e.2)), "seed {seed}");
                }
                assert_eq!(queue.len(), list.len());
            }
        }
    }
}
