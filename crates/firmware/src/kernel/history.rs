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

/// The end of a time in which one held a die. Small, since there are many, and those of every die are looked at in turn.
#[derive(Clone, Copy, Debug)]
struct Holding {
    end: Time,
    /// For how long each had held it then.
    sums: [Time; HOLDERS],
}

impl Holding {
    /// Nobody had held the die yet.
    const NONE: Self = Self { end: 0, sums: [0; HOLDERS] };
}

/// The past of a die.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// When who began to hold it, if somebody does.
    current: Option<(Time, usize)>,
    /// For how long each held it, but for the current one.
    sums: [Time; HOLDERS],
    /// Those who held it, one after the other. Before each nobody did for a while, unless some were given up there.
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
        self.sums = plus(self.sums, holder, now - start);
        self.records.push(Holding { end: now, sums: self.sums });
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
            after = plus(after, holder, now - since);
            before = plus(before, holder, from.saturating_sub(since));
        }
        std::array::from_fn(|holder| after[holder] - before[holder])
    }

    /// The sums up to a time, but for the current holder.
    fn sums_at(&self, time: Time) -> [Time; HOLDERS] {
        // Mostly it is one of the latest.
        let Some(later) = self.records.iter().rev().position(|record| record.end <= time) else {
            return self.records.first().map_or(self.sums, |first| sums_between(&Holding::NONE, first, time));
        };
        let at = self.records.len() - later;
        self.records.get(at).map_or(self.sums, |next| sums_between(&self.records[at - 1], next, time))
    }
}

/// The sums with more for one of the holders. Written so that a processor need not wait for one number to be stored before it can read
/// all of them.
#[inline]
fn plus(sums: [Time; HOLDERS], holder: usize, time: Time) -> [Time; HOLDERS] {
    std::array::from_fn(|at| sums[at] + if at == holder { time } else { 0 })
}

/// The sums at a time from the end of one record up to that of the next.
fn sums_between(earlier: &Holding, next: &Holding, time: Time) -> [Time; HOLDERS] {
    let (passed, gap) = (time - earlier.end, next.end - earlier.end);
    let held: [Time; HOLDERS] = std::array::from_fn(|holder| next.sums[holder] - earlier.sums[holder]);
    let all = held.iter().sum::<Time>();
    let mut sums = earlier.sums;
    if held.iter().any(|&time| time > 0 && time < all) {
        // Some were given up in between: they are spread evenly, and rounded so that what follows is never longer than time.
        let share = |time: Time| (u128::from(time) * u128::from(passed)).div_ceil(u128::from(gap)) as Time;
        sums.iter_mut().zip(held).for_each(|(sum, time)| *sum += share(time));
    } else {
        let so_far = (all + passed).saturating_sub(gap);
        sums.iter_mut().zip(held).for_each(|(sum, time)| *sum += so_far.min(time));
    }
    sums
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
