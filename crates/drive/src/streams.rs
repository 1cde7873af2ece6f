//! Measurements of each stream of a workload: for results by job, and for jobs that end in steady state.
//!
//! A run that needs neither measures nothing here. Everything is allocated when the run starts, except histograms,
//! which grow with their slowest request.

use crate::drive::Completion;
use crate::jobs::Jobs;
use crate::steady::{Judged, Watch};
use wordline_base::time::{MS, NS, S};
use wordline_base::{Histogram, Op, Time};
use wordline_workload::{Load, LoadStream};

/// Bandwidth and rate are sampled so often, as in fio.
const SAMPLE: Time = 500 * MS;
/// Upper ends of the latency classes of fio's results, in ns; what is slower makes up one more.
pub(crate) const CLASSES: [u64; 31] = {
    let steps = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let mut ends = [0; 31];
    let mut at = 0;
    while at < 30 {
        ends[at] = steps[at % 10] * [1, 1_000, 1_000_000][at / 10];
        at += 1;
    }
    ends[30] = 2_000_000_000;
    ends
};

/// Count, extremes, mean and standard deviation of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Values.
    pub count: u64,
    /// The smallest; `u64::MAX` without values.
    pub min: u64,
    /// The largest.
    pub max: u64,
    sum: u128,
    squares: u128,
}

impl Default for Spread {
    fn default() -> Self {
        Self { count: 0, min: u64::MAX, max: 0, sum: 0, squares: 0 }
    }
}

impl Spread {
    #[inline]
    fn record(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The mean; 0 without values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        self.sum as f64 / self.count as f64
    }

    /// Standard deviation of the sample; 0 for fewer than two values.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let n = self.count as f64;
        // Of whole numbers: the difference is exact before anything is rounded.
        let spread = (u128::from(self.count) * self.squares).saturating_sub(self.sum * self.sum) as f64;
        (spread / n / (n - 1.0)).sqrt()
    }
}

/// Requests and bytes of one sample, and the samples before it.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    requests: u64,
    bytes: u64,
    /// Requests per second, sample by sample.
    pub iops: Spread,
    /// Bandwidth in KiB/s, sample by sample.
    pub bandwidth: Spread,
}

impl Samples {
    fn close(&mut self) {
        let per_second = S / SAMPLE;
        self.iops.record(self.requests * per_second);
        self.bandwidth.record(self.bytes * per_second / 1024);
        (self.requests, self.bytes) = (0, 0);
    }
}

/// Figures of one operation of a stream.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    /// Completed bytes.
    pub bytes: u64,
    /// From arrival to queue slot, in ns.
    pub waiting: Spread,
    /// From queue slot to completion, in ns.
    pub service: Spread,
    /// From arrival to completion, in ns.
    pub latency: Spread,
    /// As `service`, for percentiles, in ps.
    pub histogram: Histogram,
    /// The course of bandwidth and rate.
    pub samples: Samples,
}

impl OpStats {
    fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.waiting.merge(&other.waiting);
        self.service.merge(&other.service);
        self.latency.merge(&other.latency);
        self.histogram.merge(&other.histogram);
        self.samples.iops.merge(&other.samples.iops);
        self.samples.bandwidth.merge(&other.samples.bandwidth);
    }
}

/// Figures of one stream, or of several taken together.
#[derive(Clone, Debug)]
pub struct StreamStats {
    /// Which of the workload's jobs it is a clone of; of several the first. `None` for a trace.
    pub job: Option<usize>,
    /// Name of the stream.
    pub name: String,
    /// Reporting group.
    pub group: u32,
    /// True if it is reported together with its group.
    pub together: bool,
    /// When measuring began, in ps; `Time::MAX` for a stream that did not come so far.
    pub start: Time,
    /// The last completion measured, or the end of its time if it lasted until then.
    pub end: Time,
    /// By operation.
    pub ops: [OpStats; 4],
    /// Requests by the depth at which they were sent: 1, 2, 4, 8, 16, 32, 64 or more.
    pub depths: [u64; 7],
    /// Most requests in flight.
    pub depth: u32,
    /// Requests but flushes by their class of latency, from queue slot to completion.
    pub classes: [u64; CLASSES.len() + 1],
    /// Its steady state, if it was looked for: index in [`Streams::judged`].
    pub watch: Option<usize>,
    ramp: Time,
    next_sample: Time,
}

impl StreamStats {
    fn new(stream: &LoadStream, watch: Option<usize>) -> Self {
        Self {
            job: stream.job,
            name: stream.name.clone(),
            group: stream.manner.group,
            together: stream.manner.together,
            start: Time::MAX,
            end: 0,
            ops: Default::default(),
            depths: [0; 7],
            depth: 0,
            classes: [0; CLASSES.len() + 1],
            watch,
            ramp: stream.manner.ramp,
            next_sample: Time::MAX,
        }
    }

    /// Measured time in ps.
    #[must_use]
    pub fn runtime(&self) -> Time {
        self.end.saturating_sub(self.start)
    }

    #[inline]
    fn record(&mut self, done: &Completion) {
        while done.time >= self.next_sample {
            self.ops.iter_mut().for_each(|op| op.samples.close());
            self.next_sample += SAMPLE;
        }
        let op = &mut self.ops[done.request.op as usize];
        let (latency, service) = (done.time - done.request.arrival, done.time - done.submitted);
        op.bytes += u64::from(done.request.bytes);
        op.waiting.record((latency - service) / NS);
        op.service.record(service / NS);
        op.latency.record(latency / NS);
        op.histogram.record(service);
        op.samples.requests += 1;
        op.samples.bytes += u64::from(done.request.bytes);
        if done.request.op != Op::Flush {
            let class = service / NS;
            self.classes[CLASSES.partition_point(|&end| end <= class)] += 1;
        }
        self.end = done.time;
    }

    fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.ops.iter_mut().zip(&other.ops).for_each(|(mine, theirs)| mine.merge(theirs));
        self.depths.iter_mut().zip(other.depths).for_each(|(mine, theirs)| *mine += theirs);
        self.classes.iter_mut().zip(other.classes).for_each(|(mine, theirs)| *mine += theirs);
        self.depth = self.depth.max(other.depth);
    }
}

/// The streams of a run.
#[derive(Debug, Default)]
pub struct Streams {
    wanted: bool,
    stats: Vec<StreamStats>,
    watches: Vec<Watch>,
    jobs: Option<Jobs>,
}

impl Streams {
    /// With results job by job.
    #[must_use]
    pub fn job_by_job() -> Self {
        Self { wanted: true, ..Self::default() }
    }

    /// The figures of the jobs for the result, if there are several.
    #[must_use]
    pub fn jobs(&self) -> Option<&Jobs> {
        self.jobs.as_ref()
    }

    /// The same, while they are made.
    #[inline]
    pub(crate) fn jobs_mut(&mut self) -> Option<&mut Jobs> {
        self.jobs.as_mut()
    }

    /// True if anything but that is measured; known from the start of the run on.
    #[inline]
    pub(crate) fn active(&self) -> bool {
        !self.stats.is_empty()
    }

    /// True if either is.
    #[inline]
    pub(crate) fn measure(&self) -> bool {
        self.jobs.is_some() || self.active()
    }

    /// A run begins at `start`.
    pub(crate) fn begin(&mut self, load: &Load, start: Time) {
        self.jobs = Jobs::new(load, start);
        let steady = load.streams.iter().any(|stream| stream.manner.steady.is_some());
        if !self.wanted && !steady {
            return;
        }
        for stream in &load.streams {
            let together = |other: &StreamStats| {
                stream.manner.together && other.together && other.group == stream.manner.group && other.watch.is_some()
            };
            let watch = stream.manner.steady.as_ref().map(|steady| {
                let with = self.stats.iter().find(|other| together(other)).and_then(|other| other.watch);
                with.unwrap_or_else(|| {
                    self.watches.push(Watch::new(steady.clone()));
                    self.watches.len() - 1
                })
            });
            self.stats.push(StreamStats::new(stream, watch));
        }
    }

    /// A stream starts.
    pub(crate) fn started(&mut self, stream: usize, now: Time) {
        if let Some(jobs) = &mut self.jobs {
            jobs.started(stream, now);
        }
        let Some(stats) = self.stats.get_mut(stream) else { return };
        stats.start = now + stats.ramp;
        stats.end = stats.start;
        stats.next_sample = stats.start + SAMPLE;
        if let Some(watch) = stats.watch {
            self.watches[watch].start(stats.start);
        }
    }

    /// A request was sent, and so many are in flight with it.
    #[inline]
    pub(crate) fn submitted(&mut self, stream: usize, now: Time, in_flight: u32) {
        let stats = &mut self.stats[stream];
        if now >= stats.start {
            stats.depths[(in_flight.ilog2() as usize).min(6)] += 1;
            stats.depth = stats.depth.max(in_flight);
        }
    }

    /// A request is done. True when some streams are steady now, and end.
    #[inline]
    pub(crate) fn completed(&mut self, done: &Completion) -> bool {
        let stats = &mut self.stats[usize::from(done.request.stream)];
        if done.time < stats.start {
            return false;
        }
        stats.record(done);
        stats.watch.is_some_and(|watch| self.watches[watch].completed(done))
    }

    /// The time of a stream is over.
    #[cold]
    pub(crate) fn ended(&mut self, stream: usize, end: Time) {
        if let Some(jobs) = &mut self.jobs {
            jobs.ended(stream, end);
        }
        let Some(stats) = self.stats.get_mut(stream) else { return };
        if stats.start <= end {
            stats.end = stats.end.max(end);
        }
    }

    /// True if a stream is steady, and is to end.
    pub(crate) fn is_steady(&self, stream: usize) -> bool {
        self.stats[stream].watch.is_some_and(|watch| self.watches[watch].attained())
    }

    /// The streams as they are reported: those taken together as one.
    #[must_use]
    pub fn reported(&self) -> Vec<StreamStats> {
        let mut reported: Vec<StreamStats> = Vec::new();
        for stats in &self.stats {
            match reported.last_mut() {
                Some(last) if stats.together && last.together && last.group == stats.group => last.merge(stats),
                _ => reported.push(stats.clone()),
            }
        }
        reported
    }

    /// What was found of the steady states that were looked for.
    pub fn judged(&self) -> impl Iterator<Item = Judged<'_>> {
        self.watches.iter().enumerate().map(|(index, watch)| {
            let first = self.stats.iter().find(|stats| stats.watch == Some(index));
            watch.judged(first.map_or("", |stats| &stats.name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_those_of_the_sample() {
        let mut spread = Spread::default();
        assert_eq!((spread.mean(), spread.deviation()), (0.0, 0.0));
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|value| spread.record(value));
        assert_eq!((spread.count, spread.min, spread.max, spread.mean()), (8, 2, 9, 5.0));
        // Hand: squared deviations add up to 32; 32 / 7.
        assert!((spread.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let mut far = Spread::default();
        [1 << 60, (1 << 60) + 2].into_iter().for_each(|value| far.record(value));
        assert!((far.deviation() - 2.0_f64.sqrt()).abs() < 1e-12, "nothing cancels");
    }

    #[test]
    fn classes_are_fios() {
        assert_eq!(
            (CLASSES[0], CLASSES[9], CLASSES[10], CLASSES[29], CLASSES[30]),
            (2, 1_000, 2_000, 1_000_000_000, 2_000_000_000)
        );
        assert!(CLASSES.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
