//! Distribution of random requests over blocks.
//!
//! The mathematics comes from `libm` and a table made with it, not from the platform, so the same seed gives the same blocks on every machine.
//!
//! Skewed distributions rank the blocks from hot to cold; a keyed bijection then scatters the ranks over the region, so that
//! hot blocks do not lie side by side. fio scatters with a hash modulo the number of blocks, which lets ranks collide and
//! leaves a third of the blocks untouched; the bijection here keeps every rank's share exactly.

use crate::logexp::LogExp;
use wordline_base::Stream;

const ROUNDS: usize = 3;

/// A keyed bijection on `0..n`: a Feistel network on a rectangle of numbers just large enough.
///
/// A number is a row and a column; a round turns the row by a hash of the column, then flips the column by a hash of the row.
/// The rectangle has less than a row too much, so the rare number that lands beyond `n` just goes round again.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    n: u64,
    rows: u64,
    bits: u32,
    /// Key and odd factor of both hashes of each round.
    rounds: [[(u64, u64); 2]; ROUNDS],
}

impl Scatter {
    /// A bijection for `n` from 1 to 2^62.
    pub fn new(n: u64, random: &mut Stream) -> Self {
        let bits = (64 - n.leading_zeros()) / 2;
        let mut hash = || (random.bits(), random.bits() | 1);
        let rounds = std::array::from_fn(|_| [hash(), hash()]);
        Self { n, rows: n.div_ceil(1 << bits), bits, rounds }
    }

    /// The place of `rank`, which must be below `n`.
    #[inline]
    pub fn place(&self, rank: u64) -> u64 {
        let columns = (1 << self.bits) - 1;
        let mut x = rank;
        loop {
            let (mut row, mut column) = (x >> self.bits, x & columns);
            for [to_row, to_column] in &self.rounds {
                row += (hash(column, to_row) * self.rows) >> 32;
                // One of the two wraps round to a huge number: this is the row modulo the number of rows.
                row = row.min(row.wrapping_sub(self.rows));
                column ^= hash(row, to_column) & columns;
            }
            x = row << self.bits | column;
            if x < self.n {
                return x;
            }
        }
    }
}

/// 32 bits: the upper half of a product, in which all bits of `x` have a say.
#[inline]
fn hash(x: u64, (key, factor): &(u64, u64)) -> u64 {
    (x ^ key).wrapping_mul(*factor) >> 32
}

/// How ranks are drawn.
#[derive(Clone, Debug)]
pub(crate) enum Ranks {
    /// Each block once a pass, in an order that differs from pass to pass (fio's random map).
    Permutation { next: u64 },
    /// All alike, independently.
    Uniform,
    /// Zipf: rank k with a weight of `k^-theta`.
    Zipf(Zipf),
    /// Pareto: `n * u^power`, so that a share of 1 - h of all requests goes to a share of h of all blocks.
    Pareto { power: f64, math: LogExp },
    /// A bell around the middle, with a standard deviation in blocks.
    Normal { deviation: f64, spare: Option<f64> },
    /// Zones one behind another, each alike inside.
    Zoned(Vec<Zone>),
}

/// A zone of blocks with a share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Percentage of the requests to this zone and all before it; 100 for the last.
    pub sum: u32,
    pub first: u64,
    /// At least 1 where the zone has a share of its own.
    pub blocks: u64,
}

/// Draws block numbers below `n`.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    n: u64,
    ranks: Ranks,
    scatter: Option<Scatter>,
    random: Stream,
}

impl Picker {
    /// A picker of `0..n`; `scatter` spreads the ranks of skewed distributions.
    pub fn new(n: u64, ranks: Ranks, scatter: bool, mut random: Stream) -> Self {
        let scattered = match ranks {
            Ranks::Permutation { .. } => true,
            Ranks::Uniform | Ranks::Zoned(_) => false,
            _ => scatter,
        };
        let scatter = scattered.then(|| Scatter::new(n, &mut random));
        Self { n, ranks, scatter, random }
    }

    /// The next block.
    #[inline]
    pub fn next(&mut self) -> u64 {
        // With these ranks nothing is scattered.
        if matches!(self.ranks, Ranks::Uniform) {
            return self.random.below(self.n);
        }
        self.next_ranked()
    }

    #[inline(never)]
    fn next_ranked(&mut self) -> u64 {
        let n = self.n;
        let rank = match &mut self.ranks {
            Ranks::Uniform => self.random.below(n),
            Ranks::Permutation { next } => {
                if *next == n {
                    *next = 0;
                    self.scatter = Some(Scatter::new(n, &mut self.random));
                }
                *next += 1;
                *next - 1
            }
            Ranks::Zipf(zipf) => zipf.rank(&mut self.random),
            Ranks::Zoned(zones) => {
                let draw = self.random.below(100) as u32;
                let zone = zones[zones.partition_point(|zone| zone.sum <= draw)];
                zone.first + self.random.below(zone.blocks)
            }
            Ranks::Pareto { power, math } => {
                // In (0, 1], so that the logarithm is finite.
                let u = 1.0 - self.random.unit();
                ((n as f64 * math.exp(math.ln(u) * *power)) as i64 as u64).min(n - 1)
            }
            Ranks::Normal { deviation, spare } => loop {
                let z = spare.take().unwrap_or_else(|| {
                    let (a, b) = normal_pair(&mut self.random);
                    *spare = Some(b);
                    a
                });
                // Draws beyond the region are drawn again.
                let x = n as f64 / 2.0 + z * *deviation;
                if x >= 0.0 && x < n as f64 {
                    break x as u64;
                }
            },
        };
        match &self.scatter {
            Some(scatter) => scatter.place(rank),
            None => rank,
        }
    }
}

/// Two independent standard normal numbers, by Marsaglia's polar method.
pub(crate) fn normal_pair(random: &mut Stream) -> (f64, f64) {
    loop {
        let x = 2.0 * random.unit() - 1.0;
        let y = 2.0 * random.unit() - 1.0;
        let r = x * x + y * y;
        if r > 0.0 && r < 1.0 {
            let scale = libm::sqrt(-2.0 * libm::log(r) / r);
            return (x * scale, y * scale);
        }
    }
}

/// Zipf's distribution on any number of ranks, exactly and without tables: rejection-inversion (Hörmann and Derflinger, ACM
/// TOMACS 6:3, 1996).
///
/// A uniform number is sent through the inverse of the integral H of the density `x^-theta` and rounded to a rank k; the
/// draw counts when it lies within rank k's share of the area, which it nearly always does.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    math: LogExp,
    theta: f64,
    /// 1 / (1 - theta); not used when theta is 1.
    power: f64,
    n: f64,
    /// H(1.5) - 1 and H(n + 0.5): the range of the uniform number.
    low: f64,
    high: f64,
    /// Draws at most this far below their rank count without a further look.
    sure: f64,
}

impl Zipf {
    /// Ranks `0..n` with the exponent `theta` > 0.
    pub fn new(n: u64, theta: f64) -> Self {
        let mut zipf = Self {
            math: LogExp::new(),
            theta,
            power: 1.0 / (1.0 - theta),
            n: n as f64,
            low: 0.0,
            high: 0.0,
            sure: 0.0,
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    #[inline]
    fn density(&self, x: f64) -> f64 {
        self.math.exp(-self.theta * self.math.ln(x))
    }

    /// H(x), the integral of the density from 1 to x.
    #[inline]
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        // (e^t - 1) / t tends to 1: theta = 1 needs no case of its own.
        if t.abs() < 1e-8 {
            log * (1.0 + t / 2.0)
        } else {
            libm::expm1(t) / t * log
        }
    }

    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        let t = area * (1.0 - self.theta);
        if t.abs() < 1e-8 {
            libm::exp(area * (1.0 - t / 2.0))
        } else {
            // Rounding can take 1 + t to 0 where the area ends; the result is clamped to n.
            self.math.exp(self.math.ln((1.0 + t).max(1e-300)) * self.power)
        }
    }

    #[inline]
    fn rank(&self, random: &mut Stream) -> u64 {
        loop {
            let area = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(area);
            // The conversion cuts off the fraction.
            let k = ((x + 0.5) as i64 as f64).clamp(1.0, self.n);
            if k - x <= self.sure || area >= self.integral(k + 0.5) - self.density(k) {
                return k as i64 as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(n: u64, ranks: Ranks, scatter: bool, draws: u32) -> Vec<u32> {
        let mut picker = Picker::new(n, ranks, scatter, Stream::new(7, "picker-test", 0));
        let mut counts = vec![0; n as usize];
        for _ in 0..draws {
            counts[picker.next() as usize] += 1;
        }
        counts
    }

    #[test]
    fn scattering_is_a_bijection_of_any_size() {
        let mut random = Stream::new(3, "scatter-test", 0);
        for n in (1..200).chain([1000, 1024, 1025, 65_537]) {
            let scatter = Scatter::new(n, &mut random);
            let mut seen = vec![false; n as usize];
            (0..n).for_each(|rank| seen[scatter.place(rank) as usize] = true);
            assert!(seen.iter().all(|&s| s), "{n}");
        }
    }

    #[test]
    fn scattered_neighbours_are_far_apart() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, "scatter-test", 0);
            let n = [1_000_000, 1 << 20, 524_289, 65_536][(seed % 4) as usize];
            let scatter = Scatter::new(n, &mut random);
            for step in [1, 2, 16, 1000] {
                let far = |rank: u64| scatter.place(rank).abs_diff(scatter.place(rank + step)) as f64;
                // Two independent uniform places are n / 3 apart in the mean.
                let mean = (0..n - step).map(far).sum::<f64>() / (n - step) as f64 / n as f64;
                assert!((mean - 1.0 / 3.0).abs() < 0.02, "seed {seed}, {n}, step {step}: {mean}");
            }
            // The first thousand ranks lie evenly over ten tenths.
            let mut tenths = [0_u32; 10];
            (0..1000).for_each(|rank| tenths[(scatter.place(rank) * 10 / n) as usize] += 1);
            assert!(tenths.iter().all(|&t| (50..150).contains(&t)), "seed {seed}, {n}: {tenths:?}");
        }
    }

    #[test]
    fn a_permutation_visits_each_block_once_a_pass() {
        let mut picker = Picker::new(1000, Ranks::Permutation { next: 0 }, true, Stream::new(1, "picker-test", 0));
        let mut pass = || (0..1000).map(|_| picker.next()).collect::<Vec<_>>();
        let (first, second) = (pass(), pass());
        assert_ne!(first, second);
        for mut order in [first, second] {
            order.sort_unstable();
            assert!(order.into_iter().eq(0..1000));
        }
    }

    #[test]
    fn zipf_has_the_frequencies_of_its_definition() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            for n in [1, 2, 10, 1000] {
                let draws = 1_000_000;
                let got = counts(n, Ranks::Zipf(Zipf::new(n, theta)), false, draws);
                let sum: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
                for (k, &count) in got.iter().enumerate() {
                    let share = ((k + 1) as f64).powf(-theta) / sum;
                    let expected = share * f64::from(draws);
                    let deviation = (expected * (1.0 - share)).sqrt();
                    assert!((f64::from(count) - expected).abs() < 5.0 * deviation + 1.0, "{theta} {n} {k}: {count}");
                }
            }
        }
    }

    #[test]
    fn extreme_parameters_stay_in_range() {
        for n in [1, 2, 3, 1 << 20, 1 << 40, (1 << 50) + 1] {
            let zipfs =
                [0.001, 0.5, 0.999_999_999, 1.0, 1.000_001, 2.0, 10.0].map(|theta| Ranks::Zipf(Zipf::new(n, theta)));
            let paretos = [1e-6, 0.5, 0.999_999]
                .map(|h: f64| Ranks::Pareto { power: h.ln() / (1.0 - h).ln(), math: LogExp::new() });
            for ranks in zipfs.into_iter().chain(paretos).chain([Ranks::Uniform, Ranks::Permutation { next: 0 }]) {
                let mut picker = Picker::new(n, ranks, true, Stream::new(5, "picker-test", 0));
                assert!((0..2000).all(|_| picker.next() < n), "{picker:?}");
            }
        }
    }

    #[test]
    fn scattering_keeps_zipfs_frequencies() {
        let ranks = Ranks::Zipf(Zipf::new(1000, 1.1));
        let mut scattered = counts(1000, ranks.clone(), true, 100_000);
        let plain = counts(1000, ranks, false, 100_000);
        assert_ne!(scattered, plain);
        scattered.sort_unstable_by(|a, b| b.cmp(a));
        assert!((f64::from(scattered[0]) / f64::from(plain[0]) - 1.0).abs() < 0.05);
    }

    #[test]
    fn pareto_gives_a_share_to_a_share() {
        let h: f64 = 0.2;
        let got = counts(1000, Ranks::Pareto { power: h.ln() / (1.0 - h).ln(), math: LogExp::new() }, false, 100_000);
        let hot: u32 = got[..200].iter().sum();
        assert!((f64::from(hot) / 100_000.0 - 0.8).abs() < 0.01, "{hot}");
    }

    #[test]
    fn normal_has_its_deviation() {
        let got = counts(1000, Ranks::Normal { deviation: 100.0, spare: None }, false, 100_000);
        let within: u32 = got[400..600].iter().sum();
        assert!((f64::from(within) / 100_000.0 - 0.6827).abs() < 0.01, "{within}");
    }
}
