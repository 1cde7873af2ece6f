//! Time stamps made usable: requests sorted within a window, and stamps that are shared spread over their unit.
//!
//! Both hold a bounded number of requests, so that memory stays constant however long the trace is.

use super::parser::Item;
use crate::options::Spread;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wordline_base::Stream;

/// Most requests that share one time stamp and are spread.
pub(crate) const MOST_SHARED: usize = 1 << 22;

/// A request in the window; of equal times the one read first comes first.
#[derive(Debug)]
struct Waiting {
    sequence: u64,
    item: Item,
}

impl Waiting {
    fn key(&self) -> (u128, u64) {
        (self.item.parsed.time, self.sequence)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Sorts requests by time within a window of so many of them.
pub(crate) struct Sorter {
    heap: BinaryHeap<Reverse<Waiting>>,
    window: usize,
    sequence: u64,
    /// The latest time handed out.
    last: Option<u128>,
    /// A gap beyond which a stamp is broken.
    wrapped: Option<u128>,
}

impl Sorter {
    pub fn new(window: u32, wrapped: Option<u128>) -> Self {
        Self { heap: BinaryHeap::new(), window: window as usize, sequence: 0, last: None, wrapped }
    }

    /// Takes a request in; gives the earliest once the window is full.
    #[inline]
    pub fn push(&mut self, item: Item) -> Option<Item> {
        self.sequence += 1;
        // One that belongs before all others need not go through the heap; nor one of a trace that is in order, mostly.
        self.heap.push(Reverse(Waiting { sequence: self.sequence, item }));
        if self.heap.len() > self.window {
            self.pop()
        } else {
            None
        }
    }

    /// The earliest request of the window.
    pub fn pop(&mut self) -> Option<Item> {
        self.heap.pop().map(|Reverse(waiting)| waiting.item)
    }

    /// True if the stamp of the request that comes next is broken: so far ahead that the clock must have wrapped.
    #[inline]
    pub fn is_wrapped(&mut self, item: &Item) -> bool {
        let time = item.parsed.time;
        let far = |last: u128| self.wrapped.is_some_and(|gap| time.saturating_sub(last) > gap);
        if self.last.is_some_and(far) {
            return true;
        }
        self.last = Some(time);
        false
    }
}

/// Spreads requests that share a time stamp over the unit of the stamps.
pub(crate) struct Spreader {
    unit: u128,
    how: Spread,
    /// The requests of one stamp, last one first.
    group: Vec<Item>,
    /// The first request of the next stamp.
    next: Option<Item>,
    times: Vec<u64>,
    random: Stream,
}

impl Spreader {
    /// `power` is the unit of the stamps, as a power of ten of picoseconds.
    pub fn new(power: u32, how: Spread) -> Self {
        let random = Stream::new(0, "trace-spread", 0);
        Self { unit: 10_u128.pow(power), how, group: Vec::new(), next: None, times: Vec::new(), random }
    }

    /// The next request that is ready.
    #[inline]
    pub fn pop(&mut self) -> Option<Item> {
        self.group.pop()
    }

    /// Begins a group with the request that was read too far; `false` when there is none.
    pub fn begin(&mut self) -> bool {
        self.group.extend(self.next.take());
        !self.group.is_empty()
    }

    /// True if the stamp of a request is a whole number of units.
    pub fn is_whole(&self, item: &Item) -> bool {
        item.parsed.time.is_multiple_of(self.unit)
    }

    /// Takes a request of the group in; `false` when it has another stamp, so that the group is complete.
    #[inline]
    pub fn add(&mut self, item: Item) -> bool {
        match self.group.last() {
            Some(last) if last.parsed.time != item.parsed.time => {
                self.next = Some(item);
                false
            }
            _ => {
                self.group.push(item);
                true
            }
        }
    }

    /// Requests in the group.
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Gives the requests of the group their times.
    pub fn finish(&mut self) {
        let count = self.group.len() as u128;
        if self.how == Spread::Random {
            self.times.clear();
            for _ in 0..count {
                self.times.push(self.random.below(self.unit as u64));
            }
            self.times.sort_unstable();
        }
        for (n, item) in self.group.iter_mut().enumerate() {
            item.parsed.time += match self.how {
                Spread::Even => self.unit * n as u128 / count,
                Spread::Random => u128::from(self.times[n]),
                Spread::None => 0,
            };
        }
        self.group.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::Parsed;
    use super::*;
    use wordline_base::Op;

    fn item(time: u128, line: u64) -> Item {
        Item { parsed: Parsed { time, device: 0, offset: 0, bytes: 512, op: Op::Read, fua: false }, line }
    }

    #[test]
    fn a_window_sorts_what_fits_it_and_keeps_the_order_of_equals() {
        let mut sorter = Sorter::new(2, None);
        let mut out = Vec::new();
        for (line, time) in [30, 10, 20, 20, 50, 40].into_iter().enumerate() {
            out.extend(sorter.push(item(time, line as u64)));
        }
        while let Some(item) = sorter.pop() {
            out.push(item);
        }
        let got: Vec<_> = out.iter().map(|item| (item.parsed.time, item.line)).collect();
        assert_eq!(got, [(10, 1), (20, 2), (20, 3), (30, 0), (40, 5), (50, 4)]);
    }

    #[test]
    fn a_stamp_far_ahead_is_broken_and_forgotten() {
        let mut sorter = Sorter::new(0, Some(100));
        let got: Vec<_> = [5, 105, 206, 200].iter().map(|&time| sorter.is_wrapped(&item(time, 0))).collect();
        assert_eq!(got, [false, false, true, false]);
    }

    fn spread(how: Spread) -> Vec<u128> {
        let mut spreader = Spreader::new(1, how);
        let mut times = Vec::new();
        for time in [0, 0, 0, 0, 20] {
            if !spreader.add(item(time, 0)) {
                spreader.finish();
                while let Some(item) = spreader.pop() {
                    times.push(item.parsed.time);
                }
            }
        }
        assert!(spreader.begin());
        assert_eq!(spreader.len(), 1);
        times
    }

    #[test]
    fn shared_stamps_are_spread_over_their_unit() {
        assert_eq!(spread(Spread::Even), [0, 2, 5, 7]);
        assert_eq!(spread(Spread::None), [0, 0, 0, 0]);
        let random = spread(Spread::Random);
        assert!(random.is_sorted() && random.iter().all(|&time| time < 10), "{random:?}");
        assert_eq!(random, spread(Spread::Random), "the same at every reading");
    }
}
