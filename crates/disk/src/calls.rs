//! How long calls take that send replies. While one lasts, no other reply can go.

use std::time::Duration;

/// A call counts as no longer than this: the system may have taken the core away.
const LONGEST: Duration = Duration::from_micros(15);
/// The estimate shrinks by so much when a call was shorter, and grows by nine times as much when one was longer.
const STEP: Duration = Duration::from_nanos(50);

/// An estimate by the last calls: their 90th percentile. Most find the client awake, and are short; those that have to wake it keep others
/// waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    long: Duration,
}

impl Calls {
    /// Notes what a call took.
    pub fn took(&mut self, time: Duration) {
        let longer = time.min(LONGEST) > self.long;
        self.long = if longer { self.long + 9 * STEP } else { self.long.saturating_sub(STEP) };
    }

    /// Half of a long call: a reply that is due in so long goes better now, and early, than after the call, and late.
    pub fn half(&self) -> Duration {
        self.long / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_long_ones_and_forgets_them() {
        let [short, long, endless] = [2, 9, 5000].map(Duration::from_micros);
        let after = |times: &[Duration], rounds: usize| {
            let mut calls = Calls::default();
            times.iter().cycle().take(rounds * times.len()).for_each(|time| calls.took(*time));
            calls
        };
        let about = |calls: Calls, us: f64| (2.0 * calls.half().as_secs_f64() * 1e6 - us).abs() < 1.0;
        assert!(about(after(&[short; 10], 100), 2.0));
        // One in five is long: they are more than a tenth.
        let mixed = [short, short, short, short, long];
        assert!(about(after(&mixed, 200), 9.0), "{:?}", after(&mixed, 200));
        assert!(about(after(&[endless], 1000), 15.0), "a core that was taken away says nothing about calls");
        let mut calls = after(&[long], 100);
        (0..200).for_each(|_| calls.took(short));
        assert!(about(calls, 2.0));
    }
}
