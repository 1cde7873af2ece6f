//! A job that ends in steady state, like fio's `steadystate`: one value per interval, and a sliding window over them.

use crate::drive::Completion;
use std::collections::VecDeque;
use wordline_base::time::S;
use wordline_base::{Op, Time};
use wordline_workload::{Steady, SteadyKind};

/// What was found.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The stream, or the first of those judged together.
    pub stream: &'a str,
    /// What was asked for.
    pub steady: &'a Steady,
    /// True if it was steady, and when, in ps.
    pub attained: Option<Time>,
    /// How far the last full window was from steady; `None` when there was none.
    pub measured: Option<f64>,
    /// Slope of that window and the largest deviation in it; in percent of the mean where the limit is.
    pub slope: f64,
    /// See `slope`.
    pub deviation: f64,
    /// Requests per second and bytes per second of the last values, the latest last.
    pub values: &'a VecDeque<(f64, f64)>,
}

/// Watches streams for their steady state.
#[derive(Debug)]
pub(crate) struct Watch {
    steady: Steady,
    /// End of the interval under way; `Time::MAX` before the streams start.
    end: Time,
    requests: u64,
    bytes: u64,
    values: VecDeque<(f64, f64)>,
    scratch: Vec<f64>,
    measured: Option<f64>,
    attained: Option<Time>,
}

impl Watch {
    pub fn new(steady: Steady) -> Self {
        let (values, scratch) = (VecDeque::with_capacity(steady.window), Vec::with_capacity(steady.window));
        Self { steady, end: Time::MAX, requests: 0, bytes: 0, values, scratch, measured: None, attained: None }
    }

    /// The first of its streams starts to be measured.
    pub fn start(&mut self, now: Time) {
        self.end = self.end.min(now.saturating_add(self.steady.ramp).saturating_add(self.steady.interval));
    }

    pub fn attained(&self) -> bool {
        self.attained.is_some()
    }

    /// A request is done. True when that shows the streams to be steady.
    #[inline]
    pub fn completed(&mut self, done: &Completion) -> bool {
        if self.attained.is_some() {
            return false;
        }
        while done.time >= self.end {
            if self.close() {
                self.attained = Some(self.end);
                return true;
            }
            self.end += self.steady.interval;
        }
        if done.time >= self.end - self.steady.interval && done.request.op != Op::Flush {
            self.requests += 1;
            self.bytes += u64::from(done.request.bytes);
        }
        false
    }

    /// Ends an interval; true when the window is steady.
    fn close(&mut self) -> bool {
        let per_second = S as f64 / self.steady.interval as f64;
        if self.values.len() == self.steady.window {
            self.values.pop_front();
        }
        self.values.push_back((self.requests as f64 * per_second, self.bytes as f64 * per_second));
        (self.requests, self.bytes) = (0, 0);
        if self.values.len() < self.steady.window {
            return false;
        }
        let far = self.measure(self.steady.kind);
        self.measured = Some(far);
        far < self.steady.limit
    }

    fn measure(&mut self, kind: SteadyKind) -> f64 {
        let requests = matches!(kind, SteadyKind::Iops | SteadyKind::IopsSlope);
        self.scratch.clear();
        self.scratch.extend(self.values.iter().map(|&(iops, bw)| if requests { iops } else { bw }));
        Steady { kind, ..self.steady.clone() }.measure(&self.scratch)
    }

    pub fn judged<'a>(&'a self, stream: &'a str) -> Judged<'a> {
        let (deviations, slopes) = match self.steady.kind {
            SteadyKind::Iops | SteadyKind::IopsSlope => (SteadyKind::Iops, SteadyKind::IopsSlope),
            SteadyKind::Bw | SteadyKind::BwSlope => (SteadyKind::Bw, SteadyKind::BwSlope),
        };
        let values: Vec<f64> = match deviations {
            SteadyKind::Iops => self.values.iter().map(|value| value.0).collect(),
            _ => self.values.iter().map(|value| value.1).collect(),
        };
        let of = |kind| match self.measured {
            Some(_) => Steady { kind, ..self.steady.clone() }.measure(&values),
            None => 0.0,
        };
        Judged {
            stream,
            steady: &self.steady,
            attained: self.attained,
            measured: self.measured,
            slope: of(slopes),
            deviation: of(deviations),
            values: &self.values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Request;

    fn done(time: Time) -> Completion {
        let request = Request { bytes: 4096, ..Request::default() };
        Completion { request, time, submitted: 0, slot: 0, gc_affected: false }
    }

    #[test]
    fn a_window_slides_until_it_is_steady() {
        let steady =
            Steady { kind: SteadyKind::Iops, limit: 10.0, percent: true, window: 3, interval: 1000, ramp: 2000 };
        let mut watch = Watch::new(steady);
        watch.start(500);
        // Requests an interval, from 2500 on: 10, 20, 20, 20; what is before does not count.
        let mut times: Vec<Time> = (0..7).map(|n| 500 + n * 250).collect();
        for (index, count) in [10, 20, 20, 20, 1].into_iter().enumerate() {
            times.extend((0..count).map(|n| 2500 + index as Time * 1000 + n * 1000 / count));
        }
        let steady_at = times.iter().position(|&time| watch.completed(&done(time)));
        assert_eq!(steady_at, Some(7 + 70), "the first completion behind the fourth interval");
        let judged = watch.judged("a");
        assert_eq!((judged.attained, judged.measured, judged.slope), (Some(6500), Some(0.0), 0.0));
        assert_eq!(judged.values.len(), 3);
        assert!(!watch.completed(&done(9000)), "that is said once");
    }
}
