//! Garbage collection (GC) in the order in which blocks were written (FIFO).

use crate::domain::{check_alpha, DomainError};
use crate::lambert::lambert_w0;

/// Write amplification if the victim is always the block written longest ago (a circular log).
///
/// `alpha` is raw / logical pages, finite and greater than 1. The result is finite, greater than 1 (equal to 1 once the
/// excess is below `f64` resolution), falls with `alpha`, and does not depend on the block size.
///
/// # Derivation
///
/// The log wraps around once per as many page writes as there are raw pages; a share `1/WA` of them is the host's. So
/// each logical page is overwritten `alpha / WA` times per round on average, a page survives a round with probability
/// `exp(-alpha / WA)`, and this is the share of a victim that must be moved: `WA (1 - exp(-alpha / WA)) = 1`. The
/// solution is `WA = alpha / (alpha + W0(-alpha exp(-alpha)))`.
///
/// Source: Desnoyers 2014 for LRU cleaning; Luojie and Kurkoski 2012 have the same expression. It is also the limit of
/// [`greedy`](crate::greedy) for blocks of many pages.
///
/// # Errors
///
/// [`DomainError::Alpha`] unless `alpha` is finite and greater than 1.
pub fn fifo(alpha: f64) -> Result<f64, DomainError> {
    check_alpha(alpha)?;
    Ok(alpha / turnover(alpha))
}

/// The positive root `x` of `x = stretch (1 - exp(-x))`, for `stretch > 1`. For FIFO it is the mean number of
/// overwrites of a logical page per round of the log.
pub(crate) fn turnover(stretch: f64) -> f64 {
    let excess = stretch - 1.0;
    if excess < SERIES_BELOW {
        return turnover_of_excess(excess);
    }
    let mut x = stretch + lambert_w0(-stretch * (-stretch).exp());
    if stretch < 1.5 {
        // The sum above cancels, and W near its branch point has lost digits as well. Newton's steps on the equation
        // itself restore them.
        for _ in 0..2 {
            let decay = (-x).exp_m1();
            x -= (x + stretch * decay) / (1.0 - stretch - stretch * decay);
        }
    }
    x
}

/// Below this excess [`turnover_of_excess`] is exact to the last digit; its next term is `x^8 / 1209600`, with `x`
/// about twice the excess.
const SERIES_BELOW: f64 = 0.02;

/// [`turnover`] of `1 + excess` for a small excess: the root of `x / (1 - exp(-x)) - 1 = excess`. The left side is a
/// power series because its parts cancel to about `x / 2`.
fn turnover_of_excess(excess: f64) -> f64 {
    let mut x = 2.0 * excess;
    for _ in 0..6 {
        let q = x * x;
        let value = x / 2.0 + q * (1.0 / 12.0 - q * (1.0 / 720.0 - q / 30_240.0));
        let slope = 0.5 + x * (1.0 / 6.0 - q * (1.0 / 180.0 - q / 5_040.0));
        x -= (value - excess) / slope;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WA by bisection on `A (1 - exp(-alpha / A)) = 1`, independent of the code above.
    fn by_bisection(alpha: f64) -> f64 {
        let (mut low, mut high) = (1.0, alpha / (alpha - 1.0) + 1.0);
        for _ in 0..200 {
            let a: f64 = 0.5 * (low + high);
            if a * (1.0 - (-alpha / a).exp()) < 1.0 {
                low = a;
            } else {
                high = a;
            }
        }
        low
    }

    #[test]
    fn agrees_with_bisection() {
        for alpha in [1.01, 1.075, 1.15, 1.28, 1.5, 2.0, 3.0, 5.0, 10.0] {
            let (ours, theirs) = (fifo(alpha).unwrap(), by_bisection(alpha));
            assert!((ours / theirs - 1.0).abs() < 1e-11, "alpha {alpha}: {ours} against {theirs}");
        }
    }

    #[test]
    fn known_values() {
        // 0.3 spare is the example in the abstract of Luojie and Kurkoski: 2.36. The others are from a separate
        // program.
        for (alpha, wa) in [
            (1.075, 7.341_504_024_033),
            (1.15, 4.016_031_141_392),
            (1.28, 2.481_360_987_047),
            (1.3, 2.364_234_137_973),
            (1.5, 1.715_820_214_859),
        ] {
            assert!((fifo(alpha).unwrap() - wa).abs() < 1e-11, "alpha {alpha}: {:?}", fifo(alpha));
        }
    }

    #[test]
    fn little_spare_space() {
        // Expanding x = alpha (1 - exp(-x)) at alpha = 1 + s gives x = 2 s - (2/3) s^2 + ..., and so WA = 1 / (2 s) +
        // 2/3 + O(s).
        for s in [1e-3, 1e-5, 1e-7, 1e-9] {
            let alpha: f64 = 1.0 + s;
            let s = alpha - 1.0;
            let wa = fifo(alpha).unwrap();
            assert!((wa - 0.5 / s - 2.0 / 3.0).abs() < s + 4e-16 / s, "s = {s}: {wa}");
        }
        // Series and Lambert's W agree at the switch between them.
        let edge = 1.0 + SERIES_BELOW;
        let (below, above) = (fifo(edge * (1.0 - 1e-12)).unwrap(), fifo(edge * (1.0 + 1e-12)).unwrap());
        assert!(below > above && below - above < 1e-8, "{below} {above}");
        let narrowest = fifo(1.0_f64.next_up()).unwrap();
        assert!(narrowest.is_finite() && narrowest > 1e15, "{narrowest}");
    }

    #[test]
    fn much_spare_space() {
        assert!(fifo(20.0).unwrap() - 1.0 < 1e-8);
        assert_eq!(fifo(1e6), Ok(1.0));
        assert_eq!(fifo(1e300), Ok(1.0));
    }

    #[test]
    fn refuses_what_has_no_steady_state() {
        for alpha in [1.0, 0.5, 0.0, -2.0, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(fifo(alpha), Err(DomainError::Alpha(alpha)));
        }
        assert!(fifo(f64::NAN).is_err());
    }
}
