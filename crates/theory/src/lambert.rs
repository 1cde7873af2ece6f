//! Lambert's W function on its principal branch.

use std::f64::consts::E;

/// The difference between e and the nearest `f64`: e = `E` + `E_REST` to about 32 digits.
const E_REST: f64 = 1.445_646_891_729_250_2e-16;

/// Below this `p` (see [`lambert_w0`]) the series at the branch point is exact to the last digits; an iteration would
/// divide by a derivative near zero.
const SERIES_BELOW: f64 = 0.02;

/// Lambert's W on the principal branch: the `w >= -1` with `w * exp(w) == x`.
///
/// Defined for `x >= -1/e`. Returns NaN for smaller `x` and for NaN, infinity for infinity. The `f64` nearest to `-1/e`
/// may be below the true value because of rounding; values a few units in the last place below it therefore count as
/// the branch point, where W is -1.
///
/// Accurate to a few units in the last place of `w`, for the given `x`. Near `-1/e` the slope of the function is
/// infinite: an error of `h` in `x` changes `w` by about `sqrt(2 e h)`.
///
/// Source: R. M. Corless et al., "On the Lambert W function", Advances in Computational Mathematics 5, 1996: the
/// series at the branch point (their 4.22) and Halley's iteration (5.9).
#[must_use]
pub fn lambert_w0(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x == 0.0 || x == f64::INFINITY {
        return x;
    }
    // e x + 1 cancels almost completely near the branch point, so it uses the fused product and the rest of e.
    let above_branch = if x < 0.0 { x.mul_add(E, 1.0) + x * E_REST } else { f64::INFINITY };
    if above_branch < -4.0 * f64::EPSILON {
        return f64::NAN;
    }
    let p = (2.0 * above_branch.max(0.0)).sqrt();
    if p < SERIES_BELOW {
        return branch_series(p);
    }
    let start = if x < -0.25 {
        branch_series(p)
    } else if x < E {
        // Exact at 0 with the right slope, and a few per cent off at both ends.
        let l = x.ln_1p();
        l * (1.0 - l.ln_1p() / (2.0 + l))
    } else {
        let l = x.ln();
        l - l.ln() + l.ln() / l
    };
    if x < E {
        halley(start, x)
    } else {
        newton_in_logarithms(start, x)
    }
}

/// W as a power series in `p = sqrt(2 (e x + 1))`; the next term would be about `0.006 p^9`.
fn branch_series(p: f64) -> f64 {
    const TERMS: [f64; 9] = [
        -1.0,
        1.0,
        -1.0 / 3.0,
        11.0 / 72.0,
        -43.0 / 540.0,
        769.0 / 17_280.0,
        -221.0 / 8_505.0,
        680_863.0 / 43_545_600.0,
        -1_963.0 / 204_120.0,
    ];
    TERMS.iter().rev().fold(0.0, |sum, term| sum * p + term)
}

/// Halley's iteration on `w exp(w) - x`; it converges cubically, so three or four rounds suffice.
fn halley(start: f64, x: f64) -> f64 {
    let mut w = start;
    for _ in 0..20 {
        let exp = w.exp();
        let f = w * exp - x;
        let step = f / (exp * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
        w -= step;
        if step.abs() <= 2.0 * f64::EPSILON * w.abs() {
            break;
        }
    }
    w
}

/// Newton's iteration on `w + ln w - ln x`, for large `x`, where `exp(w)` would overflow.
fn newton_in_logarithms(start: f64, x: f64) -> f64 {
    let target = x.ln();
    let mut w = start;
    for _ in 0..20 {
        let step = (w + w.ln() - target) * w / (w + 1.0);
        w -= step;
        if step.abs() <= 2.0 * f64::EPSILON * w {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // From tables: the omega constant, W(e) = 1, and some round numbers.
        for (x, w) in [
            (1.0, 0.567_143_290_409_783_8),
            (E, 1.0),
            (10.0, 1.745_528_002_740_699_4),
            (-0.2, -0.259_171_101_819_073_75),
            (-0.1, -0.111_832_559_158_962_97),
            (0.0, 0.0),
        ] {
            assert!((lambert_w0(x) - w).abs() <= 4e-16 * w.abs(), "W({x}) = {}", lambert_w0(x));
        }
    }

    #[test]
    fn inverts_w_exp_w() {
        for i in 0..=4000 {
            let w = -0.98 + 0.005 * f64::from(i);
            let x = w * w.exp();
            // Rounding x by half a unit changes w by this much; more near the branch point.
            let unit = f64::EPSILON * (w.abs() + x.abs() / (w.exp() * (w + 1.0)));
            assert!((lambert_w0(x) - w).abs() <= 4.0 * unit, "w = {w}, got {}", lambert_w0(x));
        }
    }

    #[test]
    fn branch_point() {
        let branch = -(-1.0_f64).exp();
        assert!((lambert_w0(branch) + 1.0).abs() < 3e-8);
        assert!((lambert_w0(branch.next_up()) + 1.0).abs() < 3e-8);
        assert!(lambert_w0(branch - 1e-14).is_nan());
        assert!(lambert_w0(-1.0).is_nan());
        // Series and iteration agree at the switch between them.
        for p in [0.999 * SERIES_BELOW, 1.001 * SERIES_BELOW] {
            let x = (0.5 * p * p - 1.0) / E;
            assert!((lambert_w0(x) - branch_series(p)).abs() < 1e-13);
        }
    }

    #[test]
    fn ends_of_the_range() {
        assert!(lambert_w0(f64::NAN).is_nan());
        assert!(lambert_w0(f64::NEG_INFINITY).is_nan());
        assert_eq!(lambert_w0(f64::INFINITY), f64::INFINITY);
        let w = lambert_w0(f64::MAX);
        assert!((w + w.ln() - f64::MAX.ln()).abs() < 1e-12);
        assert_eq!(lambert_w0(1e-300), 1e-300);
        assert_eq!(lambert_w0(-1e-300), -1e-300);
    }
}
