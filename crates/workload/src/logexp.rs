//! Logarithm and exponential for drawing random numbers: the same on every machine, and fast.
//!
//! Both use a table, filled by `libm` once, and a short polynomial of additions and multiplications, which IEEE 754 defines
//! to the last bit. Their relative error stays below 2e-12, far below what any number of draws can show; `libm`'s own take
//! three times as long, and the platform's differ between machines.

use std::sync::LazyLock;

const BITS: u32 = 7;
const SIZE: usize = 1 << BITS;

struct Tables {
    /// 1 / c and ln(c) for the middle c of each of the intervals that [1, 2) is cut into.
    log: [(f64, f64); SIZE],
    /// 2^(i / SIZE).
    exp: [f64; SIZE],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut tables = Tables { log: [(1.0, 0.0); SIZE], exp: [1.0; SIZE] };
    for i in 0..SIZE {
        let c = 1.0 + (i as f64 + 0.5) / SIZE as f64;
        tables.log[i] = (1.0 / c, libm::log(c));
        tables.exp[i] = libm::exp2(i as f64 / SIZE as f64);
    }
    // Around 1 the logarithm is the polynomial alone, which keeps its relative precision there. The last interval counts
    // as half of a number just below 1.
    tables.log[0] = (1.0, 0.0);
    tables.log[SIZE - 1] = (0.5, std::f64::consts::LN_2);
    tables
});

/// Natural logarithm and exponential.
#[derive(Clone, Copy)]
pub(crate) struct LogExp(&'static Tables);

impl std::fmt::Debug for LogExp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogExp")
    }
}

impl LogExp {
    pub fn new() -> Self {
        Self(&TABLES)
    }

    /// ln(x) for a normal number x > 0.
    #[inline]
    pub fn ln(self, x: f64) -> f64 {
        let bits = x.to_bits();
        let exponent = (bits >> 52) as i64 - 1023;
        let m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        let (inverse, log) = self.0.log[(bits >> (52 - BITS)) as usize % SIZE];
        let r = m * inverse - 1.0;
        // |r| is at most 1/128.
        let r2 = r * r;
        let series = r - r2 * (0.5 - r * (1.0 / 3.0)) - r2 * r2 * (0.25 - r * 0.2 + r2 * (1.0 / 6.0));
        // The last interval took the number for twice one just below 1, so its ln 2 cancels against the exponent's.
        exponent as f64 * std::f64::consts::LN_2 + log + series
    }

    /// e^x; below e^-700 and above e^700 it stays there.
    #[inline]
    pub fn exp(self, x: f64) -> f64 {
        // ln 2 / SIZE in two parts, the first with so few digits that its multiples are exact.
        const HIGH: f64 = 0.693_147_180_369_123_8 / SIZE as f64;
        const LOW: f64 = 1.908_214_929_270_587_7e-10 / SIZE as f64;
        let x = x.clamp(-700.0, 700.0);
        // Adding and taking away 1.5 * 2^52 rounds to a whole number without a call.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        let steps = x * (SIZE as f64 / std::f64::consts::LN_2) + ROUND - ROUND;
        let r = (x - steps * HIGH) - steps * LOW;
        // |r| is at most ln(2) / 256.
        let series = 1.0 + r + r * r * (0.5 + r * (1.0 / 6.0) + r * r * (1.0 / 24.0));
        let steps = steps as i64;
        let scale = f64::from_bits((((steps >> BITS) + 1023) as u64) << 52);
        self.0.exp[(steps & (SIZE as i64 - 1)) as usize] * series * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_base::Stream;

    #[test]
    fn both_agree_with_libm() {
        let fast = LogExp::new();
        let mut random = Stream::new(1, "logexp-test", 0);
        for _ in 0..1_000_000 {
            let x = (random.unit() - 0.5) * 1400.0;
            let error = fast.exp(x) / libm::exp(x) - 1.0;
            assert!(error.abs() < 2e-12, "exp({x}): {error}");
            for y in [libm::exp(x / 2.0), random.unit() + 0.5, 1.0 + (random.unit() - 0.5) * 1e-6] {
                let exact = libm::log(y);
                let error = fast.ln(y) - exact;
                assert!(error.abs() <= 2e-12 * exact.abs() + 1e-16, "ln({y}): {error}");
            }
        }
        assert_eq!((fast.ln(1.0), fast.exp(0.0)), (0.0, 1.0));
    }
}
