//! Requests that complete in the last interval of a series and arrived before it.
//!
//! Such a request was outstanding in all intervals between, which may be hundreds where a drive cannot keep up. So arrivals are only added up
//! here, and one sweep over the intervals settles all of them when the last interval ends.

use super::Interval;
use wordline_base::Time;

/// Arrivals in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Arrivals {
    count: u64,
    /// How long they were outstanding in that interval, summed, in picoseconds.
    outstanding: u128,
    /// How old the oldest was at its end, in picoseconds.
    age: Time,
}

/// The arrivals of requests that have completed in the last interval so far, by interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    by_interval: Vec<Arrivals>,
    /// The first interval with any; `usize::MAX` if there are none.
    first: usize,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { by_interval: Vec::new(), first: usize::MAX }
    }
}

impl Waiting {
    /// A request arrived in interval `at`, was outstanding there for a time, and so old at its end.
    #[inline]
    pub(super) fn add(&mut self, at: usize, outstanding: Time, age: Time) {
        self.first = self.first.min(at);
        let arrivals = &mut self.by_interval[at];
        arrivals.count += 1;
        arrivals.outstanding += u128::from(outstanding);
        arrivals.age = arrivals.age.max(age);
    }

    /// There are so many intervals before the last.
    pub(super) fn reach(&mut self, before_last: usize) {
        if self.by_interval.len() < before_last {
            self.by_interval.resize(before_last, Arrivals::default());
        }
    }

    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.first == usize::MAX
    }

    /// Adds what the requests were outstanding in the intervals before the last, which are of this length.
    pub(super) fn settle(&mut self, before_last: &mut [Interval], length: Time) {
        // Requests that arrived in earlier intervals, and how long the oldest of them has been outstanding.
        let (mut waiting, mut age) = (0, 0);
        let first = std::mem::replace(&mut self.first, usize::MAX);
        for (at, interval) in before_last.iter_mut().enumerate().skip(first) {
            let arrivals = self.by_interval.get_mut(at).map(std::mem::take).unwrap_or_default();
            interval.outstanding += u128::from(waiting) * u128::from(length) + arrivals.outstanding;
            // Whoever came in an earlier interval is older.
            age = if waiting > 0 { age + length } else { arrivals.age };
            interval.age_max = interval.age_max.max(age);
            waiting += arrivals.count;
        }
    }
}
