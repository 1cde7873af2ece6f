//! Seeded random streams.
//!
//! Every part that draws random numbers has its own stream, derived from the seed of the run, the name of its family
//! and its instance, so that adding one part never shifts the numbers that another one sees. The generator is
//! xoshiro256++ (Blackman and Vigna); the derivation hashes the name with FNV-1a and spreads the result with
//! SplitMix64.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `instance` of the family `name` in a run with `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str, instance: u64) -> Self {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes().chain(seed.to_le_bytes()).chain(instance.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Self(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, by multiplication; the bias is below `bound / 2^64`.
    ///
    /// # Panics
    /// In debug builds when `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_part_of_their_name() {
        let first = |mut stream: Stream| stream.bits();
        let base = first(Stream::new(1, "victim", 0));
        assert_eq!(base, first(Stream::new(1, "victim", 0)));
        assert_ne!(base, first(Stream::new(2, "victim", 0)));
        assert_ne!(base, first(Stream::new(1, "victims", 0)));
        assert_ne!(base, first(Stream::new(1, "victim", 1)));
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut stream = Stream::new(42, "even", 0);
        let mut seen = [0_u32; 10];
        for _ in 0..100_000 {
            seen[stream.below(10) as usize] += 1;
        }
        // Ten bins of 10,000 expected; five standard deviations are 474.
        assert!(seen.iter().all(|&n| n.abs_diff(10_000) < 474), "{seen:?}");
    }
}
