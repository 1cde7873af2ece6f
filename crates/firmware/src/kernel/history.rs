//! Whose commands a die was taken by in the past, so that one can say what somebody waited for.

use crate::policy::arbiter::Class;
use wordline_base::Time;

/// Who takes a die: reads of the host, its writes, the collector.
pub const HOLDERS: usize = 3;

/// Records of a die; of older times every second one is given up when there are more.
const MOST: usize = 64;

pub(super) fn holder(class: Class) -> usize {
    match class {
        Class::HostRead => 0,
        Class::HostWrite => 1,
        Class::GcRead | Class::GcWrite | Class::GcErase => 2,
    }
}

/// A time in which one held a die.
#[derive(Clone, Copy, Debug)]
struct Holding {
    start: Time,
    end: Time,
    holder: usize,
    /// For how long each had held it before.
    before: [Time; HOLDERS],
}

impl Holding {
    fn after(&self) -> [Time; HOLDERS] {
        self.before_and(self.end - self.start)
    }

    /// What each held it for when this one had done so for `time`.
    fn before_and(&self, time: Time) -> [Time; HOLDERS] {
        let mut sums = self.before;
        sums[self.holder] += time;
        sums
    }
}

/// The past of a die.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// When who began to hold it, if somebody does.
    current: Option<(Time, usize)>,
    /// For how long each held it, but for the current one.
    sums: [Time; HOLDERS],
    /// Those who held it, one after the other. Between them nobody did, unless some were given up.
    records: Vec<Holding>,
}

impl History {
    /// Somebody takes the die, who may have it already.
    #[inline]
    pub fn take(&mut self, now: Time, class: Class) {
        if self.current.is_none() {
            self.current = Some((now, holder(class)));
        }
    }

    /// Nobody holds it any more.
    #[inline]
    pub fn leave(&mut self, now: Time) {
        let Some((start, holder)) = self.current.take() else { return };
        if self.records.len() == MOST {
            self.thin();
        }
        self.records.push(Holding { start, end: now, holder, before: self.sums });
        self.sums[holder] += now - start;
    }

    #[cold]
    fn thin(&mut self) {
        for at in 1..MOST / 4 {
            self.records[at] = self.records[2 * at];
        }
        self.records.copy_within(MOST / 2.., MOST / 4);
        self.records.truncate(MOST / 4 + MOST / 2);
    }

    /// For how long each held it from `from` to `now`.
    pub fn between(&self, from: Time, now: Time) -> [Time; HOLDERS] {
        let mut after = self.sums;
        let mut before = self.sums_at(from);
        if let Some((since, holder)) = self.current {
            after[holder] += now - since;
            before[holder] += from.saturating_sub(since);
        }
        std::array::from_fn(|holder| after[holder] - before[holder])
    }

    /// The sums up to a time, but for the current holder.
    fn sums_at(&self, time: Time) -> [Time; HOLDERS] {
        let at = match self.records.last() {
            Some(last) if time < last.end => self.records.partition_point(|record| record.end <= time),
            _ => return self.sums,
        };
        let next = &self.records[at];
        if time >= next.start {
            return next.before_and(time - next.start);
        }
        let (start, earlier) = match at {
            0 => (0, [0; HOLDERS]),
            _ => (self.records[at - 1].end, self.records[at - 1].after()),
        };
        if earlier == next.before {
            return earlier;
        }
        // Some were given up in between: they are spread evenly, and rounded so that what follows is never longer than time.
        let (passed, gap) = (u128::from(time - start), u128::from(next.start - start).max(1));
        let share = |a: Time, b: Time| a + (u128::from(b - a) * passed).div_ceil(gap) as Time;
        std::array::from_fn(|holder| share(earlier[holder], next.before[holder]))
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
        assert_eq!(history.between(now - 300, now), [240, 0, 0]);
        for from in (0..now).step_by(37) {
            assert!(history.between(from, now).iter().sum::<Time>() <= now - from);
        }
    }

    #[test]
    fn of_a_die_that_is_always_held_all_time_is_told() {
        let mut history = History::default();
        let mut now = 0;
        for turn in 0..3_000_u64 {
            history.take(now, [Class::HostRead, Class::GcErase, Class::HostWrite][(turn * turn % 7 % 3) as usize]);
            now += 1 + turn * 31 % 17;
            history.leave(now);
        }
        for from in 0..now {
            let told = history.between(from, now).iter().sum::<Time>();
            assert!(told <= now - from && told + HOLDERS as Time > now - from, "{told} of {}", now - from);
        }
    }
}
