//! Policies by number of valid pages: random, best of `d`, greedy.
//!
//! # The model
//!
//! Let `s_k` be the share of blocks with at least `k` valid pages, `k = 0 ..= b`. In one unit of time every block is
//! collected once on average. In it
//!
//! * victims with `k` or more valid pages are taken at rate `v_k`, with `v_k = s_k^d` for the best of `d` blocks drawn
//!   at random: all `d` must have that many,
//! * the victim returns with `b` valid pages, first the moved ones, then new ones written by the host,
//! * the host writes `h = b - sum(v_k, k = 1 ..= b)` pages per block. Each invalidates one of the `b / alpha` valid
//!   pages per block, all with equal probability: a block with `k` valid pages loses one at rate `g k`, where
//!   `g = h alpha / b = alpha / WA`.
//!
//! In the steady state as many blocks rise to `k` or more as fall below:
//!
//! ```text
//! 1 - v_k = g k (s_k - s_{k+1}),   k = 1 ..= b,   s_0 = 1,   s_{b+1} = 0,   s_1 + ... + s_b = b / alpha.
//! ```
//!
//! Given `g` these equations yield `s_b`, then `s_{b-1}`, and so on, each with exactly one solution in `[s_{k+1}, 1]`
//! that falls with `g`. So their sum falls with `g`, and exactly one `g` satisfies the last equation; the differential
//! equation need not be integrated. The sum of all equations shows that `WA = alpha / g` is the write amplification.
//!
//! Drawing with or without replacement is the same in a large pool. As in Van Houdt, a block of `b` valid pages may be
//! drawn and moved without gain; that matters for `d = 1` and hardly at all from `d = 2` on.

use crate::domain::{check_alpha, check_block_pages, DomainError};
use crate::fifo::turnover;

/// The steady state of the pool of blocks under one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyState {
    /// Pages programmed per page written by the host, at least 1.
    pub write_amplification: f64,
    /// Share of the blocks that have `i` valid pages, at index `i` of `0 ..= b`. Sums to 1; the mean is `b / alpha`.
    pub blocks: Vec<f64>,
    /// Share of the victims that have `i` valid pages, at index `i` of `0 ..= b`. Sums to 1.
    pub victims: Vec<f64>,
}

impl SteadyState {
    /// Mean number of valid pages in a victim: the pages moved per collected block. The write amplification is
    /// `b / (b - mean)`.
    #[must_use]
    pub fn mean_victim(&self) -> f64 {
        self.victims.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum()
    }

    /// From the shares with at least `k` valid pages, of all blocks (`s`) and of the victims (`v`), at index `k` of
    /// `0 ..= b + 1`; the last is 0.
    fn from_tails(write_amplification: f64, s: &[f64], v: &[f64]) -> SteadyState {
        // Rounding could leave a share of -1e-17.
        let differences = |tail: &[f64]| tail.windows(2).map(|pair| f64::max(0.0, pair[0] - pair[1])).collect();
        SteadyState { write_amplification, blocks: differences(s), victims: differences(v) }
    }
}

/// Write amplification if the victim is drawn at random among all blocks: `alpha / (alpha - 1)`.
///
/// A random block has the average number of valid pages, `b / alpha`, whatever the block size. `alpha` is raw / logical
/// pages, finite and greater than 1. Source: Van Houdt 2013; equal to [`best_of_d`] with `d = 1`.
///
/// # Errors
///
/// [`DomainError::Alpha`] unless `alpha` is finite and greater than 1.
pub fn random(alpha: f64) -> Result<f64, DomainError> {
    check_alpha(alpha)?;
    Ok(alpha / (alpha - 1.0))
}

/// Write amplification if the victim is the block with the fewest valid pages among `d` blocks drawn at random.
///
/// * `alpha`: raw / logical pages, finite and greater than 1.
/// * `block_pages`: pages in a block, 1 to [`MAX_BLOCK_PAGES`](crate::MAX_BLOCK_PAGES).
/// * `d`: blocks drawn per victim, at least 1. With 1 it is [`random`]; with growing `d` it falls to [`greedy`].
///
/// Accurate to about 12 digits (fewer as `alpha - 1` falls below 1e-3), in time proportional to `block_pages`: about a
/// millisecond at 256 pages. Source: Van Houdt 2013; the equations are in the [module](crate::meanfield).
///
/// # Errors
///
/// [`DomainError::Alpha`], [`DomainError::BlockPages`] or [`DomainError::Choices`] for an argument out of its range.
pub fn best_of_d(alpha: f64, block_pages: u32, d: u32) -> Result<f64, DomainError> {
    Ok(alpha / best_of_d_tails(alpha, block_pages, d)?.0)
}

/// As [`best_of_d`], with the distribution of valid pages over blocks and victims.
///
/// # Errors
///
/// As [`best_of_d`].
pub fn best_of_d_steady_state(alpha: f64, block_pages: u32, d: u32) -> Result<SteadyState, DomainError> {
    let (g, s) = best_of_d_tails(alpha, block_pages, d)?;
    let v: Vec<f64> = s.iter().map(|share| share.powf(f64::from(d))).collect();
    Ok(SteadyState::from_tails(alpha / g, &s, &v))
}

/// `g` of the module's equations, and `s_0 ..= s_{b+1}`.
fn best_of_d_tails(alpha: f64, block_pages: u32, d: u32) -> Result<(f64, Vec<f64>), DomainError> {
    check_alpha(alpha)?;
    check_block_pages(block_pages)?;
    if d == 0 {
        return Err(DomainError::Choices);
    }
    let b = block_pages as usize;
    let d = f64::from(d);
    let mut s = vec![0.0; b + 2];
    let target = b as f64 / alpha;
    // No policy of this class is worse than random (WA = alpha / (alpha - 1)) or better than 1.
    let (mut low, mut high) = (alpha - 1.0, alpha);
    for _ in 0..200 {
        let g = 0.5 * (low + high);
        if g <= low || g >= high {
            break;
        }
        if fill_tails(&mut s, g, d) > target {
            low = g;
        } else {
            high = g;
        }
    }
    let g = 0.5 * (low + high);
    fill_tails(&mut s, g, d);
    Ok((g, s))
}

/// Fills `s` with the solution for a given `g` and returns `s_1 + ... + s_b`.
fn fill_tails(s: &mut [f64], g: f64, d: f64) -> f64 {
    let b = s.len() - 2;
    s[b + 1] = 0.0;
    s[0] = 1.0;
    let mut sum = 0.0;
    for k in (1..=b).rev() {
        s[k] = solve_share(g * k as f64, s[k + 1], d);
        sum += s[k];
    }
    sum
}

/// The root in `[next, 1]` of `x^d + rate x = 1 + rate next`.
fn solve_share(rate: f64, next: f64, d: f64) -> f64 {
    if d == 1.0 {
        return ((1.0 + rate * next) / (1.0 + rate)).clamp(next, 1.0);
    }
    let right = 1.0 + rate * next;
    // The left side is convex and rising, so Newton's iteration from above falls to the root and cannot miss it; both x
    // = 1 and the root without x^d are above. While x^d matters, a step divides it by about e, so few rounds suffice
    // even for an enormous d.
    let mut x = f64::min(1.0, next + 1.0 / rate);
    for _ in 0..200 {
        let power = x.powf(d - 1.0);
        let step = (power * x + rate * x - right) / (d * power + rate);
        x -= step;
        if step <= f64::EPSILON * x {
            break;
        }
    }
    x.clamp(next, 1.0)
}

/// Write amplification if the victim is the block with the fewest valid pages of all.
///
/// * `alpha`: raw / logical pages, finite and greater than 1.
/// * `block_pages`: pages in a block, 1 to [`MAX_BLOCK_PAGES`](crate::MAX_BLOCK_PAGES).
///
/// The result is between 1 and the smaller of `block_pages` and [`fifo`](crate::fifo()), which it approaches with
/// growing `block_pages`. It is exactly 1 for `alpha >= 1 + 1/2 + ... + 1/b`: then a block without valid pages always
/// exists. The rule for ties does not matter.
///
/// # Derivation
///
/// Greedy is the limit of the best of `d` for growing `d`: a share of victims `v_k` is 0 as soon as `s_k < 1`. From the
/// [module](crate::meanfield)'s equations, with `T_k = 1/(k+1) + ... + 1/b`: `s_k = T_{k-1} / g` as long as this is
/// below 1, for all `k` above some `K`, and 1 up to `K`. Their sum is `b / alpha`, so
///
/// ```text
/// g = (T_K + T_{K+1} + ... + T_{b-1}) / (b / alpha - K),
/// ```
///
/// where `K` is the one number for which this `g` is above `T_K` and not above `T_{K-1}`. All victims have `K` or
/// `K - 1` valid pages. This is exact for every `b` in the limit of many blocks: it has a sum of harmonic numbers where
/// Desnoyers 2014 has an integral (see [`greedy_continuous`]), and it is the limit of the Markov chains of Bux and
/// Iliadis 2010 for many blocks.
///
/// # Errors
///
/// [`DomainError::Alpha`] or [`DomainError::BlockPages`] for an argument out of its range.
pub fn greedy(alpha: f64, block_pages: u32) -> Result<f64, DomainError> {
    let fixed = greedy_fixed_point(alpha, block_pages)?;
    Ok(alpha / fixed.g)
}

/// As [`greedy`], with the distribution of valid pages over blocks and victims.
///
/// # Errors
///
/// As [`greedy`].
pub fn greedy_steady_state(alpha: f64, block_pages: u32) -> Result<SteadyState, DomainError> {
    let GreedyFixedPoint { g, full_share } = greedy_fixed_point(alpha, block_pages)?;
    let b = block_pages as usize;
    let mut s = vec![1.0; b + 2];
    s[b + 1] = 0.0;
    for k in (full_share + 1..=b).rev() {
        s[k] = f64::min(1.0, s[k + 1] + 1.0 / (g * k as f64));
    }
    let mut v: Vec<f64> = vec![0.0; b + 2];
    v[..full_share].fill(1.0);
    // Share of the victims with K valid pages: the equation for k = K with s_K = 1. With K = 0 all have none.
    v[full_share] =
        if full_share == 0 { 1.0 } else { (1.0 - g * full_share as f64 * (1.0 - s[full_share + 1])).clamp(0.0, 1.0) };
    Ok(SteadyState::from_tails(alpha / g, &s, &v))
}

struct GreedyFixedPoint {
    g: f64,
    /// `K`: the number of valid pages that every block has at least.
    full_share: usize,
}

fn greedy_fixed_point(alpha: f64, block_pages: u32) -> Result<GreedyFixedPoint, DomainError> {
    check_alpha(alpha)?;
    check_block_pages(block_pages)?;
    let target = f64::from(block_pages) / alpha;
    // From K = b - 1 downwards; `above` is T_K + ... + T_{b-1}, and `edge` is T_{K-1}, the largest g for which all
    // blocks have K valid pages. The result is the first K whose sum of shares at that g is not too large.
    let mut edge = 1.0 / f64::from(block_pages);
    let mut above = 0.0;
    for full_share in (1..block_pages).rev() {
        above += edge;
        edge += 1.0 / f64::from(full_share);
        if f64::from(full_share) + above / edge <= target {
            // Rounding could make it exceed alpha, its value at WA = 1.
            let g = f64::min(alpha, above / (target - f64::from(full_share)));
            return Ok(GreedyFixedPoint { g, full_share: full_share as usize });
        }
    }
    // Some blocks have no valid page, so nothing is ever moved.
    Ok(GreedyFixedPoint { g: alpha, full_share: 0 })
}

/// Write amplification of greedy garbage collection as an explicit formula, close to [`greedy`] but not equal.
///
/// ```text
/// X0 = 1/2 - (b / alpha) W0(-c exp(-c)),   c = (1 + 1/(2 b)) alpha,   WA = b / (b - (X0 - 1))
/// ```
///
/// The derivation is that of [`greedy`] with `ln((b + 1/2) / (X0 - 1/2))` for the sum of reciprocals and the same, not
/// necessarily whole, number of valid pages `X0 - 1` in all victims. It is within 1 % of [`greedy`] if blocks have 16
/// pages or more and `b (alpha - 1)`, the spare pages per block, is 2 or more; with about one spare page per block,
/// where whole pages matter, it is up to about 10 % low. With small blocks and much spare space `X0 - 1` would become
/// negative; then it counts as 0, and WA as 1. Arguments as for [`greedy`].
///
/// Source: Desnoyers 2014.
///
/// # Errors
///
/// [`DomainError::Alpha`] or [`DomainError::BlockPages`] for an argument out of its range.
pub fn greedy_continuous(alpha: f64, block_pages: u32) -> Result<f64, DomainError> {
    check_alpha(alpha)?;
    check_block_pages(block_pages)?;
    let b = f64::from(block_pages);
    let c = (1.0 + 0.5 / b) * alpha;
    // b - (X0 - 1) = (b / alpha) (c + W0(-c exp(-c))), the form without cancellation.
    Ok(f64::max(1.0, alpha / turnover(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo::fifo;

    const ALPHAS: [f64; 7] = [1.01, 1.075, 1.15, 1.28, 1.5, 2.0, 4.0];
    const SIZES: [u32; 6] = [1, 2, 7, 32, 64, 256];

    fn close(a: f64, b: f64, tolerance: f64, what: &str) {
        assert!((a / b - 1.0).abs() <= tolerance, "{what}: {a} against {b}");
    }

    #[test]
    fn one_draw_is_random() {
        for alpha in ALPHAS {
            for b in SIZES {
                close(best_of_d(alpha, b, 1).unwrap(), random(alpha).unwrap(), 1e-11, &format!("{alpha} {b}"));
            }
        }
    }

    #[test]
    fn many_draws_are_greedy() {
        for alpha in ALPHAS {
            for b in SIZES {
                let wa = best_of_d(alpha, b, 1_000_000).unwrap();
                close(wa, greedy(alpha, b).unwrap(), 1e-4, &format!("{alpha} {b}"));
                assert!(best_of_d(alpha, b, u32::MAX).unwrap() < wa + 1e-9);
            }
        }
    }

    #[test]
    fn order_of_the_policies() {
        for alpha in ALPHAS {
            for b in SIZES {
                let slack = 1.0 + 1e-11;
                let greedy = greedy(alpha, b).unwrap();
                let mut better = greedy;
                for d in [1000, 100, 10, 5, 2, 1] {
                    let wa = best_of_d(alpha, b, d).unwrap();
                    assert!(better <= wa * slack, "alpha {alpha} b {b} d {d}");
                    better = wa;
                }
                let fifo = fifo(alpha).unwrap();
                assert!(1.0 <= greedy && greedy <= fifo * slack && fifo <= random(alpha).unwrap() * slack);
                assert!(greedy <= f64::from(b) * slack);
            }
        }
    }

    #[test]
    fn more_spare_space_means_less_moving() {
        for b in SIZES {
            for pair in ALPHAS.windows(2) {
                assert!(greedy(pair[0], b).unwrap() >= greedy(pair[1], b).unwrap());
                assert!(best_of_d(pair[0], b, 10).unwrap() >= best_of_d(pair[1], b, 10).unwrap());
            }
            assert_eq!(greedy(100.0, b), Ok(1.0));
            assert!(best_of_d(100.0, b, 10).unwrap() < 1.0 + 1e-9);
            assert!(random(1e9).unwrap() < 1.0 + 2e-9);
        }
    }

    #[test]
    fn larger_blocks_bring_greedy_to_fifo() {
        for alpha in ALPHAS {
            let limit = fifo(alpha).unwrap();
            let mut below = 0.0;
            for b in [16, 64, 256, 1024, 16_384, 1 << 20] {
                let wa = greedy(alpha, b).unwrap();
                assert!(below <= wa && wa <= limit * (1.0 + 1e-9), "alpha {alpha} b {b}");
                below = wa;
            }
            close(below, limit, 2e-4, &format!("{alpha}"));
        }
    }

    #[test]
    fn greedy_worked_by_hand() {
        // b = 1: a block with its page invalid always exists.
        assert_eq!(greedy(1.2, 1), Ok(1.0));
        // b = 2 with alpha < 3/2: K = 1, s_1 = 1, s_2 = 2/alpha - 1, g = 1/(2 s_2), and
        // WA = 2 alpha (2/alpha - 1) = 4 - 2 alpha.
        close(greedy(1.2, 2).unwrap(), 1.6, 1e-15, "b = 2");
        // ... and exactly 1 from alpha = 3/2 on, where it meets the harmonic bound.
        close(greedy(1.5, 2).unwrap(), 1.0, 1e-15, "b = 2 at the bound");
        assert_eq!(greedy(1.6, 2), Ok(1.0));
        // Barely any spare space: every victim has one invalid page, WA = b.
        close(greedy(1.0 + 1e-12, 64).unwrap(), 64.0, 1e-9, "no spare");
    }

    #[test]
    fn two_draws_of_two_pages_worked_by_hand() {
        // b = 2, d = 2: s_2^2 + 2 g s_2 = 1 and s_1^2 + g s_1 = 1 + g s_2. Choosing g = 3/4: s_2 = 1/2, then
        // s_1^2 + 3/4 s_1 - 11/8 = 0 gives s_1 = (sqrt(97) - 3) / 8, and alpha = 2 / (s_1 + s_2).
        let alpha = 2.0 / (0.5 + (97.0_f64.sqrt() - 3.0) / 8.0);
        close(best_of_d(alpha, 2, 2).unwrap(), alpha / 0.75, 1e-12, "b = d = 2");
    }

    #[test]
    fn explicit_greedy_is_close() {
        for alpha in [1.01, 1.02, 1.03, 1.05, 1.075, 1.1, 1.15, 1.2, 1.28, 1.4, 1.5, 2.0, 3.0] {
            for b in [16, 24, 32, 48, 64, 128, 256, 1024].into_iter().filter(|b| f64::from(*b) * (alpha - 1.0) >= 2.0) {
                let (explicit, exact) = (greedy_continuous(alpha, b).unwrap(), greedy(alpha, b).unwrap());
                close(explicit, exact, 0.01, &format!("alpha {alpha} b {b}"));
            }
        }
        assert_eq!(greedy_continuous(20.0, 2), Ok(1.0));
    }

    #[test]
    fn explicit_greedy_is_the_published_expression() {
        use crate::lambert::lambert_w0;
        for alpha in [1.15, 1.28, 1.5] {
            for b in [32.0, 64.0, 256.0] {
                let c = (1.0 + 0.5 / b) * alpha;
                let x0 = 0.5 - b / alpha * lambert_w0(-c * f64::exp(-c));
                close(greedy_continuous(alpha, b as u32).unwrap(), b / (b - (x0 - 1.0)), 1e-11, "published form");
            }
        }
    }

    #[test]
    fn distributions_are_consistent() {
        for alpha in ALPHAS {
            for b in SIZES {
                let mut states = vec![greedy_steady_state(alpha, b).unwrap()];
                states.extend([1, 2, 10].map(|d| best_of_d_steady_state(alpha, b, d).unwrap()));
                for (i, state) in states.iter().enumerate() {
                    let what = format!("alpha {alpha} b {b} state {i}");
                    let pages = f64::from(b);
                    assert_eq!((state.blocks.len(), state.victims.len()), (b as usize + 1, b as usize + 1));
                    assert!(state.blocks.iter().chain(&state.victims).all(|share| *share >= 0.0), "{what}");
                    close(state.blocks.iter().sum(), 1.0, 1e-12, &what);
                    close(state.victims.iter().sum(), 1.0, 1e-12, &what);
                    let mean: f64 = state.blocks.iter().enumerate().map(|(k, share)| k as f64 * share).sum();
                    close(mean, pages / alpha, 1e-9, &what);
                    close(state.write_amplification, pages / (pages - state.mean_victim()), 1e-8, &what);
                }
                // Under greedy, victims have at most two different numbers of valid pages.
                assert!(states[0].victims.iter().filter(|share| **share > 0.0).count() <= 2);
            }
        }
    }

    /// The differential equation itself, by Euler's rule from a distant start: independent of the fixed point.
    fn integrate(alpha: f64, b: usize, d: i32) -> f64 {
        let valid = b as f64 / alpha;
        let mut m = vec![0.0; b + 1];
        m[b] = 1.0 / alpha;
        m[0] = 1.0 - m[b];
        let dt = 0.02 / b as f64;
        let mut written = 0.0;
        for _ in 0..(60.0 / dt) as usize {
            let tail = |k: usize| m[k..].iter().sum::<f64>();
            let victims: Vec<f64> = (0..=b).map(|k| tail(k).powi(d) - tail(k + 1).powi(d)).collect();
            let moved: f64 = victims.iter().enumerate().map(|(k, share)| k as f64 * share).sum();
            written = b as f64 - moved;
            let rate = written / valid;
            let mut next = m.clone();
            for k in 0..=b {
                next[k] -= dt * (victims[k] + rate * k as f64 * m[k]);
                if k < b {
                    next[k] += dt * rate * (k + 1) as f64 * m[k + 1];
                }
            }
            next[b] += dt;
            m = next;
        }
        b as f64 / written
    }

    #[test]
    fn fixed_point_is_where_the_differential_equation_ends() {
        for (alpha, b, d) in [(1.15, 8, 2), (1.28, 8, 10), (1.28, 16, 1), (1.5, 16, 5)] {
            let what = format!("alpha {alpha} b {b} d {d}");
            close(best_of_d(alpha, b, d).unwrap(), integrate(alpha, b as usize, d as i32), 1e-7, &what);
        }
    }

    #[test]
    fn refuses_what_is_out_of_range() {
        for alpha in [1.0, 0.9, f64::INFINITY] {
            let err = Err(DomainError::Alpha(alpha));
            assert_eq!(random(alpha), err);
            assert_eq!(greedy(alpha, 64), err);
            assert_eq!(greedy_continuous(alpha, 64), err);
            assert_eq!(best_of_d(alpha, 64, 10), err);
        }
        for pages in [0, crate::MAX_BLOCK_PAGES + 1] {
            let err = Err(DomainError::BlockPages(pages));
            assert_eq!(greedy(1.28, pages), err);
            assert_eq!(greedy_continuous(1.28, pages), err);
            assert_eq!(best_of_d(1.28, pages, 10), err);
        }
        assert_eq!(best_of_d(1.28, 64, 0), Err(DomainError::Choices));
    }
}
