//! The distributions of a stand-in, fitted to published statistics of a trace.

use crate::distribution::normal_pair;
use wordline_base::Stream;

/// A distribution of sizes as a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SizeLaw {
    sizes: Vec<u32>,
    /// Probability of the size at this place or one before it.
    upto: Vec<f64>,
}

impl SizeLaw {
    /// Sizes with their weights, which need no common sum.
    pub fn listed(list: &[(u32, f64)]) -> Self {
        let sum: f64 = list.iter().map(|(_, weight)| weight).sum();
        let mut upto = 0.0;
        let cumulative = list.iter().map(|(_, weight)| {
            upto += weight / sum;
            upto
        });
        Self { sizes: list.iter().map(|(size, _)| *size).collect(), upto: cumulative.collect() }
    }

    /// The distribution of multiples of `unit` up to `most` that says nothing beyond its mean: its weights fall (or rise)
    /// by a constant factor from one size to the next. `mean` lies between `unit` and `most`.
    pub fn geometric(mean: f64, unit: u32, most: u32) -> Self {
        let steps = most / unit;
        let wanted = mean / f64::from(unit);
        if wanted <= 1.0 || steps <= 1 {
            return Self::listed(&[(unit, 1.0)]);
        }
        let weights = |log: f64| {
            // The largest weight is 1, so that none overflows.
            let from = if log > 0.0 { f64::from(steps - 1) * log } else { 0.0 };
            (0..steps).map(move |k| libm::exp(f64::from(k) * log - from))
        };
        let mean_of = |log: f64| {
            let (sum, all) = weights(log)
                .zip(1..)
                .fold((0.0, 0.0), |(sum, all), (weight, k)| (sum + weight * f64::from(k), all + weight));
            sum / all
        };
        // The mean rises with the factor.
        let (mut low, mut high) = (-40.0, 40.0);
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            if mean_of(middle) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let list: Vec<_> = weights((low + high) / 2.0).zip(1..).map(|(weight, k)| (k * unit, weight)).collect();
        Self::listed(&list)
    }

    #[inline]
    pub fn draw(&self, random: &mut Stream) -> u32 {
        let u = random.unit();
        let at = self.upto.partition_point(|&upto| upto <= u);
        self.sizes[at.min(self.sizes.len() - 1)]
    }

    pub fn mean(&self) -> f64 {
        let mut before = 0.0;
        let share = |upto: f64| upto - std::mem::replace(&mut before, upto);
        self.upto.iter().copied().map(share).zip(&self.sizes).map(|(share, &size)| share * f64::from(size)).sum()
    }

    /// Largest size that has any weight to speak of.
    pub fn largest(&self) -> u32 {
        let at = self.upto.partition_point(|&upto| upto < 1.0 - 1e-12);
        self.sizes[at.min(self.sizes.len() - 1)]
    }

    /// True if all sizes are multiples of `bytes`.
    pub fn in_multiples_of(&self, bytes: u32) -> bool {
        self.sizes.iter().all(|size| size.is_multiple_of(bytes))
    }
}

/// A distribution of gaps between arrivals, in ps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum GapLaw {
    /// All alike.
    Even { gap: f64 },
    /// A Poisson process.
    Exponential { mean: f64 },
    /// The logarithm of a gap is normal.
    LogNormal { median: f64, sigma: f64 },
    /// Exponential gaps inside a burst and between two bursts; a gap is of the latter kind with the probability `long`.
    Bursts { short: f64, long_gap: f64, long: f64 },
}

impl GapLaw {
    /// A log-normal law: its mean is `median * exp(sigma^2 / 2)`. The mean must not be below the median.
    pub fn log_normal(mean: f64, median: f64) -> Self {
        if mean == median {
            return Self::Even { gap: mean };
        }
        Self::LogNormal { median, sigma: libm::sqrt(2.0 * libm::log(mean / median)) }
    }

    /// Bursts of `requests` in the mean, fitted to mean and median; nothing when they do not fit.
    pub fn bursts(mean: f64, median: f64, requests: f64) -> Option<Self> {
        let long = 1.0 / requests;
        let long_gap = |short: f64| (mean - (1.0 - long) * short) / long;
        let below_median = |short: f64| {
            let below = |mean: f64| -libm::expm1(-median / mean);
            (1.0 - long) * below(short) + long * below(long_gap(short)) - 0.5
        };
        // With a short gap near 0 nearly all gaps are below the median, with one of the mean too few of them.
        let (mut low, mut high) = (mean * 1e-12, mean);
        if !(below_median(low) > 0.0 && below_median(high) < 0.0) {
            return None;
        }
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if below_median(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(Self::Bursts { short: low, long_gap: long_gap(low), long })
    }

    #[inline]
    pub fn draw(&self, random: &mut Stream, spare: &mut Option<f64>) -> f64 {
        match *self {
            Self::Even { gap } => gap,
            Self::Exponential { mean } => exponential(mean, random),
            Self::LogNormal { median, sigma } => {
                let normal = spare.take().unwrap_or_else(|| {
                    let (now, later) = normal_pair(random);
                    *spare = Some(later);
                    now
                });
                median * libm::exp(sigma * normal)
            }
            Self::Bursts { short, long_gap, long } => {
                let mean = if random.unit() < long { long_gap } else { short };
                exponential(mean, random)
            }
        }
    }

    pub fn describe(&self) -> String {
        let us = |ps: f64| format!("{:.6}", ps / 1e6).trim_end_matches('0').trim_end_matches('.').to_owned();
        match *self {
            Self::Even { gap } => format!("even gaps of {} µs", us(gap)),
            Self::Exponential { mean } => format!("exponential gaps (Poisson arrivals) with a mean of {} µs", us(mean)),
            Self::LogNormal { median, sigma } => {
                format!("log-normal gaps with a median of {} µs and sigma {sigma:.6}", us(median))
            }
            Self::Bursts { short, long_gap, long } => format!(
                "bursts of {:.3} requests on average; exponential gaps with means of {} µs inside a burst and {} µs \
                 between two",
                1.0 / long,
                us(short),
                us(long_gap)
            ),
        }
    }
}

#[inline]
fn exponential(mean: f64, random: &mut Stream) -> f64 {
    -libm::log(1.0 - random.unit()) * mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_that_is_asked_for() {
        for (mean, unit, most) in [
            (4096.0, 4096, 1 << 20),
            (7577.6, 4096, 1 << 20),
            (99_000.0, 4096, 1 << 20),
            (900_000.0, 4096, 1 << 20),
            (700.0, 512, 4096),
            (4096.0, 512, 4096),
        ] {
            let law = SizeLaw::geometric(mean, unit, most);
            assert!((law.mean() / mean - 1.0).abs() < 1e-9, "{mean}: {}", law.mean());
            assert!(law.in_multiples_of(unit) && law.largest() <= most);
        }
        // Two sizes, evenly: the mean lies in the middle.
        assert_eq!(SizeLaw::geometric(768.0, 512, 1024).draw(&mut Stream::new(1, "t", 0)) % 512, 0);
        let listed = SizeLaw::listed(&[(4096, 60.0), (65_536, 20.0)]);
        assert_eq!(listed.mean(), 4096.0 * 0.75 + 65_536.0 * 0.25);
        let mut random = Stream::new(1, "sizes-test", 0);
        let small = (0..100_000).filter(|_| listed.draw(&mut random) == 4096).count();
        assert!((small as f64 / 1e5 - 0.75).abs() < 0.01);
    }

    fn drawn(law: GapLaw) -> (f64, f64) {
        let (mut random, mut spare) = (Stream::new(3, "gaps-test", 0), None);
        let mut gaps: Vec<f64> = (0..400_000).map(|_| law.draw(&mut random, &mut spare)).collect();
        gaps.sort_by(f64::total_cmp);
        (gaps.iter().sum::<f64>() / gaps.len() as f64, gaps[gaps.len() / 2])
    }

    #[test]
    fn gaps_have_mean_and_median() {
        for law in [
            GapLaw::log_normal(2e6, 1e6),
            GapLaw::bursts(10e6, 1e6, 8.0).unwrap(),
            GapLaw::bursts(10e6, 6e6, 8.0).unwrap(),
        ] {
            let (mean, median) = drawn(law);
            let wanted = match law {
                GapLaw::LogNormal { .. } => (2e6, 1e6),
                GapLaw::Bursts { short, .. } if short < 2e6 => (10e6, 1e6),
                _ => (10e6, 6e6),
            };
            assert!((mean / wanted.0 - 1.0).abs() < 0.02, "{law:?}: mean {mean}");
            assert!((median / wanted.1 - 1.0).abs() < 0.02, "{law:?}: median {median}");
        }
        assert_eq!(drawn(GapLaw::log_normal(5.0, 5.0)), (5.0, 5.0));
        // An exponential law has the largest median that fits: 0.693 of the mean.
        assert_eq!(GapLaw::bursts(10.0, 7.0, 8.0), None);
    }
}
