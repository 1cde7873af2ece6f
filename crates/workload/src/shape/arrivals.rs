//! Arrivals of requests: gaps and bursts.

use super::{share, Moments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Histogram;

/// Lengths of the windows for counting arrivals, in ps and in s.
const WINDOWS: [(u64, f64); 4] =
    [(10_000_000_000, 0.01), (100_000_000_000, 0.1), (1_000_000_000_000, 1.0), (10_000_000_000_000, 10.0)];

/// Time between consecutive requests, over all devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalInfo {
    /// Mean gap in µs.
    pub mean_us: f64,
    /// Median gap in µs, at most 0.4 % too large.
    pub p50_us: f64,
    /// 90th percentile of the gaps in µs, at most 0.4 % too large. None below ten gaps.
    pub p90_us: Option<f64>,
    /// 99th percentile of the gaps in µs, at most 0.4 % too large. None below a hundred gaps.
    pub p99_us: Option<f64>,
    /// Longest gap in µs.
    pub max_us: f64,
    /// Share of requests that arrive at the same instant as the previous one, 0 to 1.
    pub together_share: f64,
    /// Coefficient of variation of the gaps, standard deviation / mean: 0 for even spacing, 1 for a Poisson process,
    /// above 1 for bursts. None if all requests arrive together.
    pub variation: Option<f64>,
    /// Burstiness on four time scales.
    pub dispersion: Vec<Dispersion>,
}

/// Burstiness in windows of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dispersion {
    /// Length of the windows in s; they follow each other from the first request on.
    pub window_s: f64,
    /// Whole windows in the trace.
    pub windows: u64,
    /// Most requests in one of them; none without a whole window.
    pub most: Option<u64>,
    /// Index of dispersion (Fano factor): variance / mean of the number of requests in a window. 0 for even spacing, 1
    /// for a Poisson process, above 1 for bursts. None below two windows.
    pub index: Option<f64>,
}

/// Counts the requests in windows of one length.
#[derive(Clone, Debug, Default)]
struct Windows {
    length: u64,
    /// End of the current window.
    end: u128,
    count: u64,
    most: u64,
    sum: u64,
    squares: u128,
}

impl Windows {
    fn new(length: u64) -> Self {
        Self { length, end: u128::from(length), ..Self::default() }
    }

    #[inline]
    fn add(&mut self, time: u128) {
        if time >= self.end {
            self.close(time);
        }
        self.count += 1;
    }

    fn close(&mut self, time: u128) {
        self.sum += self.count;
        self.squares += u128::from(self.count) * u128::from(self.count);
        self.most = self.most.max(self.count);
        self.count = 0;
        let length = u128::from(self.length);
        // A division of 128 bits is slow, and ordinary traces do not need it.
        let before = match u64::try_from(time) {
            Ok(time) => u128::from(time / self.length),
            Err(_) => time / length,
        };
        self.end = (before + 1) * length;
    }

    /// Drops the last window, which the trace does not fill.
    fn info(&self, window_s: f64) -> Dispersion {
        let windows = (self.end / u128::from(self.length) - 1) as u64;
        let mean = self.sum as f64 / windows as f64;
        let variance = self.squares as f64 / windows as f64 - mean * mean;
        Dispersion {
            window_s,
            windows,
            most: (windows > 0).then_some(self.most),
            index: (windows > 1).then(|| (variance / mean).max(0.0)),
        }
    }
}

/// Collects arrival statistics of a trace.
pub(crate) struct Arrivals {
    last: Option<u128>,
    gaps: Histogram,
    moments: Moments,
    together: u64,
    windows: [Windows; WINDOWS.len()],
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            last: None,
            gaps: Histogram::default(),
            moments: Moments::default(),
            together: 0,
            windows: WINDOWS.map(|(length, _)| Windows::new(length)),
        }
    }
}

impl Arrivals {
    /// Counts a request `time` ps after the first; times must not decrease.
    #[inline]
    pub fn add(&mut self, time: u128) {
        if let Some(last) = self.last {
            let gap = u64::try_from(time - last).unwrap_or(u64::MAX);
            self.gaps.record(gap);
            self.moments.add(gap as f64);
            self.together += u64::from(gap == 0);
        }
        self.last = Some(time);
        self.windows.iter_mut().for_each(|windows| windows.add(time));
    }

    /// The gaps; none below two requests.
    pub fn info(&self) -> Option<ArrivalInfo> {
        let us = |ps: u64| ps as f64 / 1e6;
        let mean = self.moments.mean()?;
        Some(ArrivalInfo {
            mean_us: mean / 1e6,
            p50_us: us(self.gaps.ranked(0.5)?),
            p90_us: self.gaps.quantile(0.9).map(us),
            p99_us: self.gaps.quantile(0.99).map(us),
            max_us: us(self.gaps.max()?),
            together_share: share(self.together, self.gaps.count())?,
            variation: self.moments.deviation().filter(|_| mean > 0.0).map(|deviation| deviation / mean),
            dispersion: self.windows.iter().zip(WINDOWS).map(|(windows, (_, s))| windows.info(s)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u128 = 1_000_000_000;

    fn of(times: impl IntoIterator<Item = u128>) -> ArrivalInfo {
        let mut arrivals = Arrivals::default();
        times.into_iter().for_each(|time| arrivals.add(time));
        arrivals.info().unwrap()
    }

    #[test]
    fn even_arrivals_do_not_vary() {
        // One every millisecond for 100 s, and the one that ends the last window.
        let info = of((0..=100_000).map(|n| n * MS));
        assert_eq!((info.mean_us, info.variation, info.together_share), (1000.0, Some(0.0), 0.0));
        let windows: Vec<_> = info.dispersion.iter().map(|d| (d.windows, d.most, d.index)).collect();
        let even = |windows, each| (windows, Some(each), Some(0.0));
        assert_eq!(windows, [even(10_000, 10), even(1000, 100), even(100, 1000), even(10, 10_000)]);
    }

    #[test]
    fn bursts_by_hand() {
        // Ten together at 0 s, none for three windows of a second, one at 4 s.
        let info = of([0; 10].into_iter().chain([4000 * MS]));
        assert_eq!(info.together_share, 0.9);
        assert_eq!((info.p50_us, info.max_us, info.mean_us), (0.0, 4e6, 4e5));
        // Nine gaps of 0 and one of 4 s: mean 0.4 s, deviation 1.2 s.
        assert!((info.variation.unwrap() - 3.0).abs() < 1e-12);
        let second = &info.dispersion[2];
        // Counts 10, 0, 0, 0: mean 2.5, variance 25 - 6.25.
        assert_eq!((second.windows, second.most), (4, Some(10)));
        assert!((second.index.unwrap() - 18.75 / 2.5).abs() < 1e-12);
        let ten = &info.dispersion[3];
        assert_eq!((ten.windows, ten.most, ten.index), (0, None, None));
    }

    #[test]
    fn one_request_has_no_gaps_and_instants_do_not_vary() {
        let mut one = Arrivals::default();
        one.add(5);
        assert_eq!(one.info(), None);
        assert_eq!(of([0, 0, 0]).variation, None);
        // Beyond 64 bits.
        let late = of([0, 1 << 70]);
        assert_eq!(late.dispersion[2].windows, ((1_u128 << 70) / (1000 * MS)) as u64);
    }
}
