//! A latency histogram with a stated error: values up to 2^64 ps in buckets no wider than 1/256 of their value.
//!
//! Log-linear buckets (the layout of HDR histograms): 256 linear buckets an octave, so a percentile read back is at most
//! 0.4 % above the true one and never below it; minimum, maximum, count and sum are exact. The buckets are implemented
//! here and not taken from a crate because recording is on the path of every request and must cost only a shift and an
//! add.

use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 8;
const SUB: usize = 1 << SUB_BITS;
/// `1 - q` of a share with nine nines is off by some 1e-8 of itself, and a billion values have to hold the ninth nine: it is
/// taken as the decimal that was meant.
const DECIMALS: f64 = 1e12;
const ROUNDING: f64 = 1e-10;
/// Values required beyond a quantile to report it.
const BEYOND: f64 = 10.0;

/// A histogram of 64-bit values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

/// How many of `count` values lie beyond their quantile `q`.
fn beyond(count: u64, q: f64) -> f64 {
    ((1.0 - q) * DECIMALS).round() / DECIMALS * count as f64
}

#[inline]
fn bucket_of(value: u64) -> usize {
    if value < SUB as u64 {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros() - SUB_BITS;
    (octave as usize) * SUB + (value >> octave) as usize
}

/// Largest value that falls into `bucket`.
fn top_of(bucket: usize) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let octave = (bucket / SUB - 1) as u32;
    let mantissa = (bucket % SUB + SUB) as u128;
    (((mantissa + 1) << octave) - 1).min(u128::from(u64::MAX)) as u64
}

impl Histogram {
    /// A quantile is too large by at most this share of itself, and never too small.
    pub const ERROR: f64 = 1.0 / SUB as f64;
    /// Buckets of an octave.
    pub const OCTAVE: usize = SUB;

    /// The bucket of a value, of any histogram. Buckets of two octaves next to each other are [`Histogram::OCTAVE`] apart.
    #[inline]
    #[must_use]
    pub fn bucket_of(value: u64) -> usize {
        bucket_of(value)
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_in(bucket_of(value), value);
    }

    /// Records one value whose bucket is known.
    #[inline]
    pub fn record_in(&mut self, bucket: usize, value: u64) {
        debug_assert_eq!(bucket, bucket_of(value), "the bucket is that of the value");
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.reach(bucket),
        }
        self.count += 1;
        self.sum += u128::from(value);
        // Few values are the least or the largest so far.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }

    /// The first value of a bucket beyond all so far.
    #[cold]
    fn reach(&mut self, bucket: usize) {
        self.buckets.resize(bucket + 1, 0);
        self.buckets[bucket] = 1;
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of recorded values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Exact smallest value; `None` without values.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Exact largest value; `None` without values.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// True if a sample of `count` values is large enough to report its quantile `q`: ten values are beyond it.
    ///
    /// This is the single rule for all reported percentiles. With fewer values beyond, a percentile is one of the few
    /// largest values of the sample, and says more of chance than of what was measured.
    #[must_use]
    pub fn allows(count: u64, q: f64) -> bool {
        beyond(count, q) >= BEYOND - ROUNDING
    }

    /// The value that a share `q` of all values does not exceed, at most 0.4 % too large.
    ///
    /// `None` where the sample does not allow it: fewer than `10 / (1 - q)` values.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        Self::allows(self.count, q).then(|| self.ranked(q)).flatten()
    }

    /// The same of a sample of any size, where a description of the sample itself is wanted: with few values it is the largest.
    #[must_use]
    pub fn ranked(&self, q: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = self.count - (beyond(self.count, q) + ROUNDING).floor() as u64;
        let mut seen = 0;
        for (bucket, &n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank.max(1) {
                return Some(top_of(bucket).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// The filled buckets as (largest value, number of values), from the smallest value on.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().enumerate().filter(|(_, &n)| n > 0).map(|(bucket, &n)| (top_of(bucket).min(self.max), n))
    }

    /// Cumulative distribution as (value, share of values not above it), one point a filled bucket.
    pub fn cdf(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let mut seen = 0;
        self.buckets.iter().enumerate().filter(|(_, &n)| n > 0).map(move |(bucket, &n)| {
            seen += n;
            (top_of(bucket).min(self.max), seen as f64 / self.count as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_are_narrow() {
        let mut random = Stream::new(1, "histogram", 0);
        for _ in 0..100_000 {
            let value = random.bits() >> random.below(64);
            let bucket = bucket_of(value);
            assert!(top_of(bucket) >= value);
            assert!(bucket == 0 || top_of(bucket - 1) < value, "{value}");
            assert!((top_of(bucket) - value) as f64 <= value as f64 / 256.0);
        }
    }

    #[test]
    fn a_quantile_takes_ten_values_beyond_it() {
        let mut histogram = Histogram::default();
        histogram.record(7);
        assert!(!Histogram::allows(19, 0.5) && Histogram::allows(20, 0.5));
        for (nines, q) in [0.9, 0.99, 0.999, 0.9999, 0.999_99, 0.999_999, 0.999_999_9, 0.999_999_99, 0.999_999_999]
            .into_iter()
            .enumerate()
        {
            let enough = 10_u64.pow(nines as u32 + 2);
            // As many values as if each had been recorded on its own.
            for count in [enough - 1, enough, enough + 1] {
                histogram.count = count;
                histogram.buckets[7] = count;
                assert_eq!(histogram.quantile(q).is_some(), count >= enough, "{q} of {count}");
                assert_eq!(histogram.ranked(q), Some(7), "{q} of {count}");
            }
        }
    }

    #[test]
    fn quantiles_follow_the_sorted_sample() {
        let mut random = Stream::new(2, "histogram", 0);
        let mut histogram = Histogram::default();
        let mut values: Vec<u64> = (0..10_000).map(|_| random.below(1 << 40)).collect();
        values.iter().for_each(|&v| histogram.record(v));
        values.sort_unstable();
        for q in [0.5, 0.9, 0.99, 0.999] {
            let exact = values[(q * 10_000.0_f64).ceil() as usize - 1];
            let got = histogram.quantile(q).unwrap();
            assert!(got >= exact && got - exact <= exact / 256 + 1, "{q}: {got} {exact}");
        }
        assert_eq!(histogram.quantile(0.9999), None, "one value in 10,000 is no fourth nine");
        assert!(histogram.ranked(0.9999).is_some_and(|told| told >= values[9_998]));
        assert_eq!(histogram.ranked(0.99999), values.last().copied());
        assert_eq!(histogram.max(), values.last().copied());
    }
}
