//! Statistics of a trace, computed from one request after another in bounded memory.

pub(crate) mod arrivals;
pub(crate) mod order;
pub(crate) mod pages;
pub(crate) mod sizes;

/// Number, mean and spread of a sequence of values (Welford's recurrence, which avoids cancellation).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Mean; none without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Standard deviation, with the values as the whole population; none without values.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}

/// `part / whole`; none if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_hand() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.deviation()), (None, None));
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| moments.add(value));
        assert_eq!((moments.mean(), moments.deviation()), (Some(5.0), Some(2.0)));
    }
}
