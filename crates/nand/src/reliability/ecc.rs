//! How likely an error-correcting code fails, from the raw bit error rate.
//!
//! Simplified: bit errors are independent, and the code corrects any pattern of up to its number of errors and no other
//! (bounded-distance decoding). A soft-decision code is described by the number it corrects about half the time.

use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// A page is never refused when that is less likely than this.
pub const NEGLIGIBLE: f64 = 1e-12;
/// Nor is it ever accepted when the likelihood of that is below this.
const CERTAIN: f64 = 1e-12;
const STEPS: usize = 1024;

/// ln(1 - e^x) for x <= 0, without losing digits at either end.
fn ln_one_minus_exp(x: f64) -> f64 {
    if x > -LN_2 {
        libm::log(-libm::expm1(x))
    } else {
        libm::log1p(-libm::exp(x))
    }
}

/// ln of the binomial probability of `k` hits in `n` trials of probability `p`, 0 < p < 1.
fn ln_binomial(n: u32, k: u32, p: f64) -> f64 {
    let ln_factorial = |x: u32| libm::lgamma(f64::from(x) + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
        + f64::from(k) * libm::log(p)
        + f64::from(n - k) * libm::log1p(-p)
}

/// 1 + r1 + r1 r2 + ... for falling ratios, until nothing more is added.
fn sum_of_ratios(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for ratio in ratios {
        term *= ratio;
        let before = sum;
        sum += term;
        if sum == before {
            break;
        }
    }
    sum
}

/// ln of the probability that more than `correctable` of `bits` bits are wrong, each with probability `rber` (0 to 1).
/// Good to about nine digits of the probability, however small it is; minus infinity where it is 0.
#[must_use]
pub fn ln_codeword_failure(bits: u32, correctable: u32, rber: f64) -> f64 {
    if correctable >= bits || rber <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if rber >= 1.0 {
        return 0.0;
    }
    let (n, first) = (f64::from(bits), correctable + 1);
    let odds = rber / (1.0 - rber);
    // The terms fall away from the mean, so the tail without the mean is the one to sum.
    if f64::from(first) > n * rber {
        let ratios = (first..bits).map(|k| (n - f64::from(k)) / f64::from(k + 1) * odds);
        (ln_binomial(bits, first, rber) + libm::log(sum_of_ratios(ratios))).min(0.0)
    } else {
        let ratios = (1..=correctable).rev().map(|k| f64::from(k) / (n - f64::from(k) + 1.0) / odds);
        ln_one_minus_exp((ln_binomial(bits, correctable, rber) + libm::log(sum_of_ratios(ratios))).min(0.0))
    }
}

/// ln of the probability that at least one of `codewords` codewords fails, from ln of that of one.
#[must_use]
pub fn ln_page_failure(codewords: u32, ln_codeword: f64) -> f64 {
    // Beyond this the chance of two failures is lost in rounding, and exp would soon underflow.
    if ln_codeword < -45.0 {
        return ln_codeword + libm::log(f64::from(codewords));
    }
    ln_one_minus_exp(f64::from(codewords) * ln_one_minus_exp(ln_codeword))
}

/// The code of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Bits of a codeword, at least 1.
    pub bits: u32,
    /// Wrong bits that it corrects.
    pub correctable: u32,
    /// Codewords of a page, at least 1.
    pub codewords: u32,
}

impl Code {
    /// ln of the probability that a page cannot be corrected at a raw bit error rate.
    #[must_use]
    pub fn ln_page_failure(&self, rber: f64) -> f64 {
        ln_page_failure(self.codewords, ln_codeword_failure(self.bits, self.correctable, rber))
    }

    /// The probability that a page cannot be corrected at a raw bit error rate.
    #[must_use]
    pub fn page_failure(&self, rber: f64) -> f64 {
        libm::exp(self.ln_page_failure(rber))
    }

    /// The lowest ln(rate), up to ln 1/2, where `reached` holds; `reached` must not turn false again.
    fn first_ln_rber(reached: impl Fn(f64) -> bool) -> f64 {
        let (mut low, mut high) = (-100.0, -LN_2);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if reached(libm::exp(middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

/// [`Code::ln_page_failure`] over ln of the rate, tabulated where it is neither negligible nor certain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureTable {
    low: f64,
    steps_per_unit: f64,
    ln_failure: Vec<f64>,
}

impl FailureTable {
    /// Tabulates a code.
    #[must_use]
    pub fn new(code: &Code) -> Self {
        let low = Code::first_ln_rber(|rber| code.ln_page_failure(rber) > libm::log(NEGLIGIBLE));
        let high = Code::first_ln_rber(|rber| code.ln_page_failure(rber) > -CERTAIN);
        let step = (high - low) / STEPS as f64;
        let at = |i: usize| code.ln_page_failure(libm::exp(low + step * i as f64));
        // A code so strong that it never fails has no range at all.
        let steps_per_unit = if step > 0.0 { 1.0 / step } else { 0.0 };
        Self { low, steps_per_unit, ln_failure: (0..=STEPS).map(at).collect() }
    }

    /// ln of the page failure probability at ln of a rate (of 1/2 at most), within 0.1 % of the probability; minus
    /// infinity where that is below [`NEGLIGIBLE`].
    #[inline]
    #[must_use]
    pub fn ln_failure(&self, ln_rber: f64) -> f64 {
        if ln_rber <= self.low {
            return f64::NEG_INFINITY;
        }
        let place = (ln_rber - self.low) * self.steps_per_unit;
        let index = place as usize;
        if index >= STEPS {
            return self.ln_failure[STEPS];
        }
        let (from, to) = (self.ln_failure[index], self.ln_failure[index + 1]);
        from + (to - from) * (place - index as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BCH: Code = Code { bits: 8_192, correctable: 72, codewords: 16 };

    /// The tail summed term by term from the other definition of the binomial coefficient, in logarithms, largest last.
    fn slow_ln_tail(bits: u32, correctable: u32, rber: f64) -> f64 {
        let (mut ln_term, mut terms) = (f64::from(bits) * (1.0 - rber).ln(), Vec::new());
        for k in 0..=bits {
            if k > correctable {
                terms.push(ln_term);
            }
            ln_term += (f64::from(bits - k) / f64::from(k + 1)).ln() + rber.ln() - (1.0 - rber).ln();
        }
        let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        terms.sort_by(f64::total_cmp);
        most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln()
    }

    #[test]
    fn small_codes_by_hand() {
        // More than 1 of 3 bits at 0.1: 3 x 0.01 x 0.9 + 0.001 = 0.028.
        assert!((libm::exp(ln_codeword_failure(3, 1, 0.1)) - 0.028).abs() < 1e-14);
        // More than 0 of 4 bits at 0.25: 1 - 0.75^4 = 175/256. The mean is within the tail here.
        assert!((libm::exp(ln_codeword_failure(4, 0, 0.25)) - 175.0 / 256.0).abs() < 1e-14);
        // More than 2 of 5 bits at 1/2: half of all patterns.
        assert!((libm::exp(ln_codeword_failure(5, 2, 0.5)) - 0.5).abs() < 1e-14);
        // More than 9 of 10 bits at 1e-30: 1e-300.
        assert!((ln_codeword_failure(10, 9, 1e-30) - (-690.775_527_898_213_7)).abs() < 1e-9);
        assert_eq!(ln_codeword_failure(8, 8, 0.3), f64::NEG_INFINITY);
        assert_eq!(ln_codeword_failure(8, 0, 0.0), f64::NEG_INFINITY);
        assert_eq!(ln_codeword_failure(8, 7, 1.0), 0.0);
    }

    #[test]
    fn tails_match_the_long_sum() {
        for (bits, correctable) in [(8_192, 72), (8_192, 0), (16_384, 120), (1_000, 8), (72, 1)] {
            for rber in [1e-9, 1e-6, 1e-4, 1e-3, 4e-3, 8.8e-3, 9e-3, 1.2e-2, 3e-2, 0.1, 0.4] {
                let (fast, slow) =
                    (ln_codeword_failure(bits, correctable, rber), slow_ln_tail(bits, correctable, rber));
                // Near 1 the logarithm is close to 0: an absolute error of ln is a relative one of the probability.
                assert!(
                    (fast - slow).abs() < 1e-7,
                    "{bits} bits, {correctable} correctable, {rber}: {fast} is not {slow}"
                );
            }
        }
    }

    #[test]
    fn failure_rises_with_the_rate() {
        let mut before = f64::NEG_INFINITY;
        for step in 0..2_000 {
            let now = BCH.ln_page_failure(libm::exp(-25.0 + 0.012 * f64::from(step)));
            assert!(now >= before, "falls from {before} to {now} at step {step}");
            before = now;
        }
        assert!(before > -1e-9);
    }

    #[test]
    fn pages_are_as_weak_as_any_codeword() {
        // 1 - 0.75^2 = 0.4375.
        assert!((libm::exp(ln_page_failure(2, libm::log(0.25))) - 0.4375).abs() < 1e-14);
        // Rare failures add up; -45 is where the two forms meet.
        for ln_codeword in [-700.0, -1e4, -45.1, -44.9] {
            assert!((ln_page_failure(16, ln_codeword) - ln_codeword - 16.0_f64.ln()).abs() < 1e-12);
        }
        assert_eq!(ln_page_failure(16, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(ln_page_failure(16, 0.0), 0.0);
    }

    #[test]
    fn the_table_follows_the_formula() {
        for code in [
            BCH,
            Code { bits: 4_096, correctable: 0, codewords: 1 },
            Code { bits: 32_768, correctable: 400, codewords: 4 },
        ] {
            let (table, mut inside) = (FailureTable::new(&code), 0);
            for step in 0..40_000 {
                let ln_rber = -45.0 + 0.001_1 * f64::from(step);
                let exact = code.ln_page_failure(libm::exp(ln_rber));
                let read = table.ln_failure(ln_rber);
                if exact > libm::log(NEGLIGIBLE) + 1e-6 {
                    assert!((read - exact).abs() < 1e-3, "{code:?} at {ln_rber}: {read} is not {exact}");
                    inside += u32::from(exact < -1e-6);
                } else if exact < libm::log(NEGLIGIBLE) - 1e-6 {
                    assert_eq!(read, f64::NEG_INFINITY);
                }
            }
            assert!(inside > 300, "{code:?}: only {inside} points between never and always");
        }
    }
}
