//! Whose commands a die was taken by in the past, so that one can say what somebody waited for.

use wordline_base::Time;
use wordline_firmware::policy::arbiter::Class;

/// Who takes a die: reads of the host, its writes, the collector.
pub(super) const HOLDERS: usize = 3;

/// Records of a die; of older times every second one is given up when there are more.
const MOST: usize = 512;

pub(super) fn holder(class: Class) -> usize {
    match class {
        Class::HostRead => 0,
        Class::HostWrite => 1,
        Class::GcRead | Class::GcWrite | Class::GcErase => 2,
    }
}

/// The past of a die: sums of the time for which each held it.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// When who began to hold it, if somebody does.
    current: Option<(Time, usize)>,
    /// The times at which the holder changed, with the sums up to then. Between two of them one held it, or nobody.
    records: Vec<(Time, [Time; HOLDERS])>,
}

impl History {
    /// Somebody takes the die, who may have it already.
    pub fn take(&mut self, now: Time, class: Class) {
        if self.current.is_none() {
            self.record(now, self.sums(now));
            self.current = Some((now, holder(class)));
        }
    }

    /// Nobody holds it any more.
    pub fn leave(&mut self, now: Time) {
        let sums = self.sums(now);
        self.current = None;
        self.record(now, sums);
    }

    fn record(&mut self, now: Time, sums: [Time; HOLDERS]) {
        if self.records.last().is_some_and(|&(last, _)| last == now) {
            return;
        }
        if self.records.len() == MOST {
            let mut at = 0;
            self.records.retain(|_| {
                at += 1;
                at > MOST / 2 || at % 2 == 1
            });
        }
        self.records.push((now, sums));
    }

    /// The sums up to now.
    pub fn sums(&self, now: Time) -> [Time; HOLDERS] {
        let mut sums = self.records.last().map_or([0; HOLDERS], |record| record.1);
        if let Some((since, holder)) = self.current {
            sums[holder] += now - since;
        }
        sums
    }

    /// For how long each held it from `from` to `now`.
    pub fn between(&self, from: Time, now: Time) -> [Time; HOLDERS] {
        let (before, after) = (self.sums_at(from, now), self.sums(now));
        std::array::from_fn(|holder| after[holder] - before[holder])
    }

    fn sums_at(&self, time: Time, now: Time) -> [Time; HOLDERS] {
        match self.records.last() {
            Some(&(last, _)) if time < last => {}
            _ => {
                // Nothing changed since; the holder is the current one.
                let mut sums = self.sums(now);
                if let Some((_, holder)) = self.current {
                    sums[holder] -= now - time;
                }
                return sums;
            }
        }
        let at = self.records.partition_point(|&(when, _)| when <= time);
        let (end, later) = self.records[at];
        let (start, earlier) = if at == 0 { (0, [0; HOLDERS]) } else { self.records[at - 1] };
        let share = |a: Time, b: Time| {
            a + (u128::from(b - a) * u128::from(time - start) / u128::from((end - start).max(1))) as Time
        };
        std::array::from_fn(|holder| share(earlier[holder], later[holder]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_exact_while_it_is_kept_and_never_longer_than_time() {
        let mut history = History::default();
        history.take(10, Class::HostRead);
        history.leave(15);
        history.take(15, Class::GcErase);
        history.take(18, Class::GcErase);
        history.leave(40);
        history.take(50, Class::HostWrite);
        assert_eq!(history.between(12, 60), [3, 10, 25]);
        assert_eq!(history.between(0, 60), [5, 10, 25]);
        assert_eq!(history.between(20, 60), [0, 10, 20]);
        assert_eq!(history.between(45, 60), [0, 10, 0]);
        assert_eq!(history.between(55, 60), [0, 5, 0]);
        for at in 0..5_000 {
            history.leave(60 + 10 * at);
            history.take(62 + 10 * at, Class::HostRead);
        }
        let now = 60 + 50_000;
        history.leave(now);
        assert!(history.records.len() <= MOST);
        let from = now - 1_000;
        assert_eq!(history.between(from, now), [800, 0, 0]);
        for from in (0..now).step_by(37) {
            assert!(history.between(from, now).iter().sum::<Time>() <= now - from);
        }
    }
}
