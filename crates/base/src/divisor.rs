//! Division by a number that is fixed for a drive: a multiplication instead of a division on the path of every operation.
//!
//! Source: Robison, "N-bit unsigned division via N-bit multiply-add" (ARITH 2005): a factor that is rounded down fits into the
//! word for every divisor, 1 included, so that no case needs a branch. With 2^64 - 1 = m x d + r, the quotient of any 32-bit n
//! is the upper half of m x (n + 1): (n + 1) x (r + 1) is below 2^64, too little to reach the next quotient below.

use serde::{Deserialize, Serialize};

/// A fixed divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divisor {
    divisor: u32,
    /// (2^64 - 1) / divisor.
    factor: u64,
}

impl Divisor {
    /// Prepares division by `divisor`.
    ///
    /// # Panics
    /// When it is 0.
    #[must_use]
    pub fn new(divisor: u32) -> Self {
        assert!(divisor > 0, "division by zero");
        Self { divisor, factor: u64::MAX / u64::from(divisor) }
    }

    /// The divisor.
    #[inline]
    #[must_use]
    pub fn get(self) -> u32 {
        self.divisor
    }

    /// Quotient of `n`.
    #[inline]
    #[must_use]
    pub fn quotient(self, n: u32) -> u32 {
        ((u128::from(self.factor) * u128::from(u64::from(n) + 1)) >> 64) as u32
    }

    /// Remainder of `n`.
    #[inline]
    #[must_use]
    pub fn remainder(self, n: u32) -> u32 {
        n - self.quotient(n) * self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn agrees_with_the_processor() {
        let mut random = Stream::new(3, "divisor", 0);
        let edges = [1, 2, 3, 5, 255, 256, 328, 65_535, 65_536, u32::MAX / 2, u32::MAX - 1, u32::MAX];
        let divisors = edges.into_iter().chain((0..2_000).map(|_| (random.bits() >> 32) as u32 | 1));
        for d in divisors.collect::<Vec<_>>() {
            let fast = Divisor::new(d);
            let last = u32::MAX / d * d;
            let drawn = (0..200).map(|_| (random.bits() >> 32) as u32 >> random.below(32)).collect::<Vec<_>>();
            for n in edges
                .into_iter()
                .chain(drawn)
                .chain([0, d, d - 1, d.wrapping_add(1), d.wrapping_mul(2)])
                .chain([last, last - 1])
            {
                assert_eq!((fast.quotient(n), fast.remainder(n)), (n / d, n % d), "{n} / {d}");
            }
        }
    }
}
