//! Sizes and alignment of requests.

use super::share;
use crate::reader::units::LARGEST;
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_base::Histogram;

/// Sizes of whole sectors up to this many bytes are counted in an array.
const USUAL: u32 = 1 << 20;
const SECTOR: u32 = 512;
/// Number of further sizes that are counted exactly; later ones are counted with an error of 0.4 %.
const MOST_OTHERS: usize = 65_536;
/// Number of most frequent sizes listed.
const LISTED: usize = 5;
/// Powers of two for the alignment statistics, in bytes.
const GRAINS: [u64; 8] = [512, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];

/// Distribution of request sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeInfo {
    /// Number of requests.
    pub requests: u64,
    /// Mean in bytes.
    pub mean_bytes: f64,
    /// Smallest, in bytes.
    pub min_bytes: u32,
    /// 10th percentile in bytes. Percentiles are exact up to 65,536 different sizes, then up to 0.4 % too large.
    pub p10_bytes: u32,
    /// 25th percentile in bytes.
    pub p25_bytes: u32,
    /// Median in bytes.
    pub p50_bytes: u32,
    /// 75th percentile in bytes.
    pub p75_bytes: u32,
    /// 90th percentile in bytes.
    pub p90_bytes: u32,
    /// 99th percentile in bytes.
    pub p99_bytes: u32,
    /// Largest, in bytes.
    pub max_bytes: u32,
    /// The five most frequent sizes, the smaller first on a tie.
    pub most_frequent: Vec<SizeShare>,
}

/// A size and its frequency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeShare {
    /// Size in bytes.
    pub bytes: u32,
    /// Share of the requests, 0 to 1.
    pub share: f64,
}

/// Counts sizes.
pub(crate) struct Sizes {
    usual: Box<[u64]>,
    others: FxHashMap<u32, u64>,
    rest: Histogram,
    sum: u128,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            usual: vec![0; (USUAL / SECTOR) as usize + 1].into(),
            others: FxHashMap::default(),
            rest: Histogram::default(),
            sum: 0,
        }
    }
}

impl Sizes {
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        self.sum += u128::from(bytes);
        if bytes <= USUAL && bytes.is_multiple_of(SECTOR) {
            self.usual[(bytes / SECTOR) as usize] += 1;
        } else {
            self.add_other(bytes);
        }
    }

    fn add_other(&mut self, bytes: u32) {
        let room = self.others.len() < MOST_OTHERS;
        match self.others.get_mut(&bytes) {
            Some(count) => *count += 1,
            None if room => drop(self.others.insert(bytes, 1)),
            None => self.rest.record(u64::from(bytes)),
        }
    }

    /// Sizes with their counts, in order.
    fn counts(&self) -> Vec<(u32, u64)> {
        let usual = self.usual.iter().enumerate().map(|(sectors, &count)| (sectors as u32 * SECTOR, count));
        let others = self.others.iter().map(|(&bytes, &count)| (bytes, count));
        let (total, mut before) = (self.rest.count() as f64, 0);
        let rest = self.rest.cdf().map(|(bytes, share)| {
            let upto = (share * total).round() as u64;
            (bytes.min(LARGEST) as u32, upto - std::mem::replace(&mut before, upto))
        });
        let mut counts: Vec<_> = usual.chain(others).chain(rest).filter(|&(_, count)| count > 0).collect();
        counts.sort_unstable();
        counts
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.usual.iter_mut().zip(&other.usual).for_each(|(mine, theirs)| *mine += theirs);
        for (&bytes, &count) in &other.others {
            *self.others.entry(bytes).or_default() += count;
        }
        self.rest.merge(&other.rest);
        self.sum += other.sum;
    }

    /// The distribution; none without requests.
    pub fn info(&self) -> Option<SizeInfo> {
        let mut counts = self.counts();
        let requests: u64 = counts.iter().map(|(_, count)| count).sum();
        let (&(min_bytes, _), &(max_bytes, _)) = (counts.first()?, counts.last()?);
        let quantile = |percent: u64| {
            let rank = (u128::from(requests) * u128::from(percent)).div_ceil(100);
            let mut below = 0;
            let reached = counts.iter().find(|(_, count)| {
                below += u128::from(*count);
                below >= rank
            });
            reached.map_or(max_bytes, |&(bytes, _)| bytes)
        };
        let [p10_bytes, p25_bytes, p50_bytes, p75_bytes, p90_bytes, p99_bytes] = [10, 25, 50, 75, 90, 99].map(quantile);
        counts.sort_by_key(|&(bytes, count)| (std::cmp::Reverse(count), bytes));
        let listed = counts.iter().take(LISTED);
        Some(SizeInfo {
            requests,
            mean_bytes: self.sum as f64 / requests as f64,
            min_bytes,
            p10_bytes,
            p25_bytes,
            p50_bytes,
            p75_bytes,
            p90_bytes,
            p99_bytes,
            max_bytes,
            most_frequent: listed
                .map(|&(bytes, count)| SizeShare { bytes, share: count as f64 / requests as f64 })
                .collect(),
        })
    }
}

/// Alignment of requests to a power of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlignmentInfo {
    /// The power of two, in bytes.
    pub bytes: u64,
    /// Share of requests that start at a multiple of it, 0 to 1.
    pub start_share: f64,
    /// Share of requests that start and end at a multiple of it, 0 to 1.
    pub whole_share: f64,
}

/// Counts trailing zero bits of starts, and of starts and sizes together.
#[derive(Clone, Debug)]
pub(crate) struct Alignment {
    starts: [u64; 65],
    whole: [u64; 65],
}

impl Default for Alignment {
    fn default() -> Self {
        Self { starts: [0; 65], whole: [0; 65] }
    }
}

impl Alignment {
    #[inline]
    pub fn add(&mut self, offset: u64, bytes: u32) {
        self.starts[offset.trailing_zeros() as usize] += 1;
        self.whole[(offset | u64::from(bytes)).trailing_zeros() as usize] += 1;
    }

    /// Share of requests that start and end at a multiple of `bytes`; none without requests.
    pub fn whole(&self, bytes: u64) -> Option<f64> {
        share(self.whole[bytes.trailing_zeros() as usize..].iter().sum(), self.whole.iter().sum())
    }

    /// The shares; none without requests.
    pub fn info(&self) -> Vec<AlignmentInfo> {
        let all: u64 = self.starts.iter().sum();
        GRAINS
            .iter()
            .filter_map(|&bytes| {
                let starts = self.starts[bytes.trailing_zeros() as usize..].iter().sum();
                Some(AlignmentInfo { bytes, start_share: share(starts, all)?, whole_share: self.whole(bytes)? })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_the_most_frequent_by_hand() {
        let mut sizes = Sizes::default();
        for (bytes, times) in [(4096, 6), (512, 1), (8192, 2), (700, 1)] {
            (0..times).for_each(|_| sizes.add(bytes));
        }
        let info = sizes.info().unwrap();
        assert_eq!(info.requests, 10);
        assert_eq!(info.mean_bytes, (6.0 * 4096.0 + 512.0 + 2.0 * 8192.0 + 700.0) / 10.0);
        assert_eq!((info.min_bytes, info.max_bytes), (512, 8192));
        // In order: 512, 700, 4096 six times, 8192 twice.
        assert_eq!([info.p10_bytes, info.p25_bytes, info.p50_bytes], [512, 4096, 4096]);
        assert_eq!([info.p75_bytes, info.p90_bytes, info.p99_bytes], [4096, 8192, 8192]);
        let listed: Vec<_> = info.most_frequent.iter().map(|size| (size.bytes, size.share)).collect();
        assert_eq!(listed, [(4096, 0.6), (8192, 0.2), (512, 0.1), (700, 0.1)]);
        assert_eq!(Sizes::default().info(), None);
    }

    #[test]
    fn more_sizes_than_are_counted_cost_no_more_than_the_stated_error() {
        let mut sizes = Sizes::default();
        let all: Vec<u32> = (0..200_000).map(|n| 1_000_001 + 7 * n).collect();
        all.iter().for_each(|&bytes| sizes.add(bytes));
        let info = sizes.info().unwrap();
        assert_eq!(info.requests, 200_000);
        for (told, percent) in [(info.p10_bytes, 10), (info.p50_bytes, 50), (info.p99_bytes, 99)] {
            let exact = f64::from(all[all.len() * percent / 100 - 1]);
            assert!((f64::from(told) / exact - 1.0).abs() < 0.005, "{percent}: {told} for {exact}");
        }
        assert_eq!(sizes.others.len(), MOST_OTHERS);
    }

    #[test]
    fn alignment_by_hand() {
        let mut alignment = Alignment::default();
        for (offset, bytes) in [(0, 4096), (4096, 512), (512, 4096), (65_536, 16_384)] {
            alignment.add(offset, bytes);
        }
        let found = alignment.info();
        let shares = |grain: u64| {
            let of = found.iter().find(|info| info.bytes == grain).unwrap();
            (of.start_share, of.whole_share)
        };
        assert_eq!(shares(512), (1.0, 1.0));
        assert_eq!(shares(4096), (0.75, 0.5));
        assert_eq!(shares(16 << 10), (0.5, 0.25));
        assert_eq!(shares(64 << 10), (0.5, 0.0));
        assert!(Alignment::default().info().is_empty());
    }
}
