//! Metrics of a run in constant memory: latency histograms, counters, and a time series whose intervals double when it
//! gets too long.

mod waiting;

use waiting::Waiting;
use wordline_base::time::MS;
use wordline_base::{Histogram, Op, Time};

/// The shares at which latencies are told, up to the ninth nine. A sample allows those that leave ten requests beyond
/// ([`Histogram::allows`]).
pub const QUANTILES: [(&str, f64); 10] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
    ("p99_999", 0.999_99),
    ("p99_9999", 0.999_999),
    ("p99_99999", 0.999_999_9),
    ("p99_999999", 0.999_999_99),
    ("p99_9999999", 0.999_999_999),
];

const MOST_INTERVALS: usize = 600;
/// Quarter octaves from a microsecond on; the last bucket takes all that is slower.
pub(crate) const LATENCY_BUCKETS: usize = 96;

/// One interval of the time series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Bytes of completed requests, by operation.
    pub bytes: [u64; 4],
    /// Sum of their latencies, by operation.
    latency_sum: [u64; 4],
    latency_max: [Time; 4],
    buckets: [[u32; LATENCY_BUCKETS]; 4],
    /// Time that requests were outstanding in it, summed over requests.
    outstanding: u128,
    /// Of the requests that were outstanding at its end, the longest time since arrival.
    age_max: Time,
    /// Pages programmed.
    pub programs: u64,
    /// Units written by the host.
    pub host_units: u64,
    /// Free blocks, the fewest seen.
    pub free_blocks: u32,
}

impl Default for Interval {
    fn default() -> Self {
        Self {
            bytes: [0; 4],
            latency_sum: [0; 4],
            latency_max: [0; 4],
            buckets: [[0; LATENCY_BUCKETS]; 4],
            outstanding: 0,
            age_max: 0,
            programs: 0,
            host_units: 0,
            free_blocks: u32::MAX,
        }
    }
}

/// The class of a latency.
pub(crate) fn latency_bucket(latency: Time) -> usize {
    class_of(Histogram::bucket_of(latency))
}

/// The class of the latencies of a bucket of histograms: these divide octaves, too, but into more parts.
#[inline]
fn class_of(bucket: usize) -> usize {
    // The quarter of an octave that begins with the first class but one: 2^20 ps.
    const FIRST: usize = 4 * (20 - Histogram::OCTAVE.ilog2() as usize + 1);
    (bucket / (Histogram::OCTAVE / 4)).saturating_sub(FIRST - 1).min(LATENCY_BUCKETS - 1)
}

/// Upper end of a class, in picoseconds.
pub(crate) fn bucket_top(bucket: usize) -> f64 {
    if bucket == 0 {
        return (1_u64 << 20) as f64;
    }
    let (octave, quarter) = ((bucket - 1) / 4, (bucket - 1) % 4);
    (1_u64 << 20) as f64 * (1_u64 << octave) as f64 * (1.25 + 0.25 * quarter as f64)
}

impl Interval {
    fn merge(&mut self, other: &Self) {
        fn add<N: Copy + std::ops::AddAssign>(mine: &mut [N], theirs: &[N]) {
            mine.iter_mut().zip(theirs).for_each(|(mine, &theirs)| *mine += theirs);
        }
        add(&mut self.bytes, &other.bytes);
        add(&mut self.latency_sum, &other.latency_sum);
        add(self.buckets.as_flattened_mut(), other.buckets.as_flattened());
        self.latency_max = std::array::from_fn(|op| self.latency_max[op].max(other.latency_max[op]));
        self.outstanding += other.outstanding;
        self.age_max = self.age_max.max(other.age_max);
        self.programs += other.programs;
        self.host_units += other.host_units;
        self.free_blocks = self.free_blocks.min(other.free_blocks);
    }

    /// Requests of all operations.
    #[must_use]
    pub fn count(&self) -> u64 {
        Op::ALL.into_iter().map(|op| self.requests(op)).sum()
    }

    /// Requests of an operation: each has a class of latency.
    #[must_use]
    pub fn requests(&self, op: Op) -> u64 {
        self.classes(op).iter().map(|&count| u64::from(count)).sum()
    }

    /// Latency of the requests of some operations.
    #[must_use]
    pub fn latency<'a>(&'a self, ops: &'a [Op]) -> IntervalLatency<'a> {
        IntervalLatency { interval: self, ops }
    }

    /// Requests of an operation by class of latency.
    #[must_use]
    pub(crate) fn classes(&self, op: Op) -> &[u32; LATENCY_BUCKETS] {
        &self.buckets[op as usize]
    }

    /// Requests outstanding on average, in an interval of this length.
    #[must_use]
    pub fn outstanding(&self, length: Time) -> f64 {
        self.outstanding as f64 / length.max(1) as f64
    }

    /// The longest time that a request had been outstanding when it completed or the interval ended, in picoseconds.
    #[must_use]
    pub fn age(&self) -> Time {
        self.latency_max.iter().copied().fold(self.age_max, Time::max)
    }
}

/// Latency of some operations in an interval.
#[derive(Clone, Copy, Debug)]
pub struct IntervalLatency<'a> {
    interval: &'a Interval,
    ops: &'a [Op],
}

impl IntervalLatency<'_> {
    fn sum<N: std::iter::Sum<N>>(&self, of: impl Fn(usize) -> N) -> N {
        self.ops.iter().map(|&op| of(op as usize)).sum()
    }

    fn count(&self) -> u64 {
        self.ops.iter().map(|&op| self.interval.requests(op)).sum()
    }

    /// Mean latency in picoseconds.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum(|op| self.interval.latency_sum[op]) as f64 / self.count() as f64)
    }

    /// Largest latency in picoseconds.
    #[must_use]
    pub fn max(&self) -> Option<Time> {
        let largest = self.ops.iter().map(|&op| self.interval.latency_max[op as usize]).max();
        largest.filter(|_| self.count() > 0)
    }

    /// Latency in picoseconds that a share `q` does not exceed, up to a quarter octave too large; `None` where the interval has too
    /// few requests for it.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if !Histogram::allows(self.count(), q) {
            return None;
        }
        let rank = (q * self.count() as f64).ceil() as u64;
        let mut seen = 0;
        for bucket in 0..LATENCY_BUCKETS {
            let n = self.sum(|op| u64::from(self.interval.buckets[op][bucket]));
            seen += n;
            if n > 0 && seen >= rank {
                return Some(bucket_top(bucket).min(self.max()? as f64));
            }
        }
        None
    }
}

/// All intervals of a series.
pub(crate) struct Settled {
    /// When the first one begins, in picoseconds.
    pub start: Time,
    /// Length of each, in picoseconds.
    pub interval: Time,
    /// The intervals; the last one may be unfinished.
    pub intervals: Vec<Interval>,
}

/// A time series in at most 600 intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// When the first interval begins, in picoseconds.
    pub start: Time,
    /// Length of an interval, in picoseconds.
    pub interval: Time,
    /// The intervals that have ended.
    ended: Vec<Interval>,
    /// The last one, at a fixed place: it is written for each request.
    last: Interval,
    /// Its begin and end, kept to spare a division a request.
    begin: Time,
    end: Time,
    waiting: Waiting,
    /// Pages programmed and units written by the host, up to the last request; they count in an interval when it ends.
    written: [u64; 2],
    /// Those that count.
    counted: [u64; 2],
}

impl Series {
    fn new(start: Time) -> Self {
        Self {
            start,
            interval: MS,
            ended: Vec::with_capacity(MOST_INTERVALS),
            last: Interval::default(),
            begin: start,
            end: start + MS,
            waiting: Waiting::default(),
            written: [0; 2],
            counted: [0; 2],
        }
    }

    /// The interval of `now`, which is not before the last one used, and where it begins.
    #[inline]
    fn at(&mut self, now: Time) -> (Time, &mut Interval) {
        if now >= self.end {
            self.grow(now);
        }
        (self.begin, &mut self.last)
    }

    /// A request that arrived before the last interval began completes at `now`: it was outstanding in earlier intervals, too.
    #[cold]
    fn reach_back(&mut self, arrival: Time, now: Time) {
        // How old it is, its latency says there.
        self.last.outstanding += u128::from(now - self.begin);
        let at = (arrival.saturating_sub(self.start) / self.interval) as usize;
        if at < self.ended.len() {
            let end = self.start + (at as u64 + 1) * self.interval;
            // What arrived before the series began counts from its start, but is as old as it is.
            self.waiting.add(at, end - arrival.max(self.start), end - arrival);
        }
    }

    /// Its intervals with what requests of the last one were outstanding before, and what was written in it.
    pub(crate) fn settled(&self) -> Settled {
        let mut series = self.clone();
        series.settle();
        let Self { start, interval, ended: mut intervals, last, .. } = series;
        intervals.push(last);
        Settled { start, interval, intervals }
    }

    /// Its intervals as they stand.
    fn all(&self) -> impl Iterator<Item = &Interval> {
        self.ended.iter().chain(std::iter::once(&self.last))
    }

    fn settle(&mut self) {
        if !self.waiting.is_empty() {
            self.waiting.settle(&mut self.ended, self.interval);
        }
        let [programs, host_units] = [0, 1].map(|of| self.written[of] - self.counted[of]);
        self.last.programs += programs;
        self.last.host_units += host_units;
        self.counted = self.written;
    }

    /// Makes one interval of each two that have ended.
    fn halve(&mut self) {
        let halves = self.ended.len().div_ceil(2);
        for half in 0..halves {
            if half > 0 {
                let (done, pair) = self.ended.split_at_mut(2 * half);
                done[half].clone_from(&pair[0]);
            }
            let (done, rest) = self.ended.split_at_mut(2 * half + 1);
            if let Some(other) = rest.first() {
                done[half].merge(other);
            }
        }
        self.ended.truncate(halves);
    }

    #[cold]
    fn grow(&mut self, now: Time) {
        self.settle();
        self.ended.push(self.last.clone());
        self.last = Interval::default();
        while (now - self.start) / self.interval >= MOST_INTERVALS as u64 {
            self.interval *= 2;
            self.halve();
        }
        let index = (now - self.start) / self.interval;
        if self.ended.len() as u64 > index {
            // Halved, it is the one of now again.
            self.last = self.ended.pop().expect("one has just ended");
        }
        while (self.ended.len() as u64) < index {
            self.ended.push(Interval::default());
        }
        self.waiting.reach(self.ended.len());
        self.begin = self.start + index * self.interval;
        self.end = self.begin + self.interval;
    }
}

/// Requests up to this size are small: those whose latency kim18 (5.2) measures.
pub const SMALL: u32 = 64 << 10;

/// Everything that is measured while requests complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// When measuring began, in picoseconds.
    pub start: Time,
    /// Completion of the last request.
    pub end: Time,
    /// Latency by operation, and by size: of at most [`SMALL`] bytes, and of more. In picoseconds.
    pub by_size: [[Histogram; 2]; 4],
    /// Waiting for a queue slot, in picoseconds.
    pub waiting_sum: u128,
    /// The longest wait for a queue slot.
    pub waiting_max: Time,
    /// Requests delayed by GC: an operation waited for a die that GC held, or the request waited for the buffer while
    /// GC held a die that a unit in it waited for.
    pub gc_affected: u64,
    /// Latency of these, by operation, in picoseconds.
    pub affected_latency: [Histogram; 4],
    /// The time series.
    pub series: Series,
    /// A hash over all completions in their order.
    pub hash: u64,
}

/// What the drive knows of a completed request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub op: Op,
    pub bytes: u32,
    pub offset: u64,
    pub latency: Time,
    pub waiting: Time,
    pub gc_affected: bool,
}

impl Metrics {
    /// Nothing measured yet, from `start` on.
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self {
            start,
            end: start,
            by_size: Default::default(),
            waiting_sum: 0,
            waiting_max: 0,
            gc_affected: 0,
            affected_latency: Default::default(),
            series: Series::new(start),
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// The workload lasted until then, though nothing more was done.
    #[cold]
    pub(crate) fn lasted(&mut self, until: Time) {
        if until > self.end {
            self.end = until;
            self.series.at(until - 1);
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, now: Time, request: &Measured, programs: u64, host_units: u64, free: u32) {
        let op = request.op as usize;
        self.end = now;
        let bucket = Histogram::bucket_of(request.latency);
        self.by_size[op][usize::from(request.bytes > SMALL)].record_in(bucket, request.latency);
        if request.waiting > 0 {
            self.waiting_sum += u128::from(request.waiting);
            self.waiting_max = self.waiting_max.max(request.waiting);
        }
        if request.gc_affected {
            self.gc_affected += 1;
            self.affected_latency[op].record_in(bucket, request.latency);
        }
        let (begin, interval) = self.series.at(now);
        interval.bytes[op] += u64::from(request.bytes);
        interval.latency_sum[op] += request.latency;
        if request.latency > interval.latency_max[op] {
            interval.latency_max[op] = request.latency;
        }
        interval.buckets[op][class_of(bucket)] += 1;
        if free < interval.free_blocks {
            interval.free_blocks = free;
        }
        if now - request.latency >= begin {
            interval.outstanding += u128::from(request.latency);
        } else {
            self.series.reach_back(now - request.latency, now);
        }
        self.series.written = [programs, host_units];
        for word in [now, request.latency, request.offset, u64::from(request.bytes) << 2 | op as u64] {
            self.hash = (self.hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    /// Bytes of the completed requests of an operation.
    #[must_use]
    pub fn bytes(&self, op: Op) -> u64 {
        self.series.all().map(|interval| interval.bytes[op as usize]).sum()
    }

    /// Completed requests.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.by_size.iter().flatten().map(Histogram::count).sum()
    }

    /// Latency of an operation in all sizes, in picoseconds.
    #[must_use]
    pub fn latency(&self, op: Op) -> Histogram {
        let [small, large] = &self.by_size[op as usize];
        let mut both = small.clone();
        both.merge(large);
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    #[test]
    fn latency_buckets_are_quarter_octaves() {
        let mut last = 0;
        for shift in 0..40 {
            for quarter in 0..4_u64 {
                let latency = ((4 + quarter) << 18) << shift;
                let bucket = latency_bucket(latency);
                assert!(bucket >= last && (bucket == LATENCY_BUCKETS - 1 || bucket_top(bucket) > latency as f64));
                if bucket > 0 && bucket < LATENCY_BUCKETS - 1 {
                    assert!(bucket_top(bucket) <= latency as f64 * 1.26, "{latency} {bucket}");
                }
                last = bucket;
            }
        }
    }

    #[test]
    fn a_series_halves_itself_and_loses_nothing() {
        let mut metrics = Metrics::new(0);
        let request =
            Measured { op: Op::Read, bytes: 4096, offset: 0, latency: 50_000_000, waiting: 0, gc_affected: false };
        for i in 0..5_000_u64 {
            metrics.record(i * MS + MS / 2, &request, i, i, 10);
        }
        let series = metrics.series.settled();
        assert!(series.intervals.len() <= MOST_INTERVALS);
        assert_eq!(series.interval, 16 * MS);
        assert_eq!(series.intervals.iter().map(Interval::count).sum::<u64>(), 5_000);
        assert_eq!(series.intervals.iter().map(|i| i.programs).sum::<u64>(), 4_999);
        let outstanding: u128 = series.intervals.iter().map(|i| i.outstanding).sum();
        assert_eq!(outstanding, 5_000 * 50_000_000);
    }

    /// What is settled at the end of an interval is what each request adds by itself, also where intervals are merged.
    #[test]
    fn what_waited_over_many_intervals_is_added_up_once() {
        let mut random = Stream::new(1, "metrics-waiting", 0);
        // Requests of before the start, too: measuring begins while they are in flight.
        let mut metrics = Metrics::new(5 * MS);
        let mut now = 5 * MS;
        let mut requests = Vec::new();
        for step in 0..4_000 {
            now += random.below(MS / 2) + if step % 500 == 0 { 7 * MS } else { 0 };
            let latency = if random.below(3) == 0 { random.below(now) } else { random.below(MS) };
            metrics.record(
                now,
                &Measured { op: Op::Read, bytes: 4096, offset: 0, latency, waiting: 0, gc_affected: false },
                0,
                0,
                10,
            );
            requests.push((now - latency, now));
        }
        let series = metrics.series.settled();
        assert!(series.interval > MS, "intervals were merged");
        for (at, interval) in series.intervals.iter().enumerate() {
            let (from, to) =
                (series.start + at as u64 * series.interval, series.start + (at as u64 + 1) * series.interval);
            let overlap = |&(begin, end): &(Time, Time)| u128::from(end.min(to).saturating_sub(begin.max(from)));
            assert_eq!(interval.outstanding, requests.iter().map(overlap).sum::<u128>(), "interval {at}");
            let age = |&&(begin, end): &&(Time, Time)| begin < to && end > from;
            let oldest = requests.iter().filter(age).map(|&(begin, end)| end.min(to) - begin).max();
            assert_eq!(interval.age(), oldest.unwrap_or(0), "interval {at}");
        }
    }

    /// One request of each millisecond takes 10 us; the last one arrives at 1.5 ms and completes at 4.25 ms.
    #[test]
    fn a_stalled_request_is_outstanding_where_it_waits() {
        let mut metrics = Metrics::new(0);
        let of = |latency| Measured { op: Op::Write, bytes: 4096, offset: 0, latency, waiting: 0, gc_affected: false };
        for at in [MS / 2, MS + MS / 4, 2 * MS + MS / 2] {
            metrics.record(at, &of(MS / 100), 0, 0, 10);
        }
        metrics.record(4 * MS + MS / 4, &of(2 * MS + 3 * MS / 4), 0, 0, 10);
        let series = metrics.series.settled();
        let told: Vec<_> = series.intervals.iter().map(|i| (i.count(), i.outstanding, i.age())).collect();
        let short = u128::from(MS / 100);
        let whole = u128::from(MS);
        assert_eq!(
            told,
            [
                (1, short, MS / 100),
                (1, short + whole / 2, MS / 2),
                (1, short + whole, MS + MS / 2),
                (0, whole, 2 * MS + MS / 2),
                (1, whole / 4, 2 * MS + 3 * MS / 4),
            ]
        );
        assert_eq!(series.intervals[4].latency(&[Op::Write]).max(), Some(2 * MS + 3 * MS / 4));
        assert_eq!(series.intervals[4].latency(&[Op::Read]).max(), None);
    }
}
