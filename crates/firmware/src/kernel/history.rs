//! History of the commands that held a die, to determine the causes of waits.

use crate::ops::NONE;
use crate::task::{Class, TASKS};
use wordline_base::Time;

/// Who takes a die: reads of the host, its writes, each other task.
pub const HOLDERS: usize = TASKS + 1;

/// Records of a die; of older times every second one is given up when there are more.
const MOST: usize = 64;

pub(super) fn holder(class: Class) -> usize {
    if class == Class::HOST_READ {
        0
    } else {
        1 + class.task().index()
    }
}

/// The requests that a command serves: that of its first operation and that of its last. Operations of a request follow each other, so a
/// request that holds the die with another command, too, is one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub first: u32,
    pub last: u32,
}

impl Served {
    /// No request of the host.
    pub const NOBODY: Self = Self { first: NONE, last: NONE };

    #[inline]
    fn has(self, request: u32) -> bool {
        request != NONE && (self.first == request || self.last == request)
    }
}

/// The end of a time in which one held a die. Small, since there are many, and those of every die are looked at in turn.
#[derive(Clone, Copy, Debug)]
struct Holding {
    end: Time,
    /// For how long each had held it then.
    sums: [Time; HOLDERS],
    served: Served,
    holder: u8,
    /// True if it stands for several, of which all but one were given up.
    joined: bool,
}

impl Holding {
    /// Nobody has held the die until then.
    const fn none(end: Time) -> Self {
        Self { end, sums: [0; HOLDERS], served: Served::NOBODY, holder: 0, joined: false }
    }
}

/// Who holds a die now.
#[derive(Clone, Copy, Debug)]
struct Current {
    since: Time,
    holder: usize,
    served: Served,
}

/// The past of a die.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// When it begins.
    start: Time,
    /// When who began to hold it, if somebody does.
    current: Option<Current>,
    /// For how long each held it, but for the current one.
    sums: [Time; HOLDERS],
    /// Those who held it, one after the other. Before each nobody did for a while, unless some were given up there.
    records: Vec<Holding>,
}

impl History {
    /// Of an idle die, from a time on: what was before does not mix with what is given up later.
    pub fn new(start: Time) -> Self {
        Self { start, ..Self::default() }
    }

    /// When it begins.
    pub const fn start(&self) -> Time {
        self.start
    }

    /// Who holds the die, if somebody does.
    #[inline]
    pub fn holder(&self) -> Option<usize> {
        self.current.map(|current| current.holder)
    }

    /// Somebody takes the die, who may have it already: in cache mode one command follows the other.
    #[inline]
    pub fn take(&mut self, now: Time, class: Class, served: Served) {
        if self.current.is_some_and(|current| current.served != served) {
            self.leave(now);
        }
        self.current.get_or_insert(Current { since: now, holder: holder(class), served });
    }

    /// Nobody holds it any more.
    #[inline]
    pub fn leave(&mut self, now: Time) {
        let Some(Current { since, holder, served }) = self.current.take() else { return };
        let held = now - since;
        match self.records.last_mut() {
            // A request with many pages on a die has one record of them all, and so has GC that is not interrupted.
            Some(last) if last.end == since && last.served == served && usize::from(last.holder) == holder => {
                // It has the sums of now: nobody has held the die since.
                last.end = now;
                last.sums[holder] += held;
            }
            _ => {
                if self.records.len() == MOST {
                    self.thin();
                }
                // All sums as they were, and then one of them: a processor need not wait for one number to be stored before it can read all.
                let mut sums = self.sums;
                sums[holder] += held;
                self.records.push(Holding { end: now, sums, served, holder: holder as u8, joined: false });
            }
        }
        self.sums[holder] += held;
    }

    #[cold]
    fn thin(&mut self) {
        // What stands for two was of a request only if both were.
        let joined = |records: &[Holding], at: usize| {
            let (one, other) = (records[at - 1], records[at]);
            let same = (one.served, one.holder) == (other.served, other.holder);
            Holding { served: if same { other.served } else { Served::NOBODY }, joined: true, ..other }
        };
        for at in 1..MOST / 4 {
            self.records[at] = joined(&self.records, 2 * at);
        }
        self.records[MOST / 2] = joined(&self.records, MOST / 2);
        self.records.copy_within(MOST / 2.., MOST / 4);
        self.records.truncate(MOST / 4 + MOST / 2);
    }

    /// For how long each held it from `from` to `now`.
    pub fn between(&self, from: Time, now: Time) -> [Time; HOLDERS] {
        self.between_here(from, now)
    }

    /// The same, as a part of what most commands do.
    #[inline(always)]
    pub fn between_here(&self, from: Time, now: Time) -> [Time; HOLDERS] {
        if from >= now {
            return [0; HOLDERS];
        }
        let mut times = self.recorded_since(from);
        if let Some(Current { since, holder, .. }) = self.current {
            times[holder] += now - since.max(from);
        }
        times
    }

    /// The same but for the current holder.
    #[inline(always)]
    fn recorded_since(&self, from: Time) -> [Time; HOLDERS] {
        // Mostly it is one of the latest.
        let later = self.records.iter().rev().take_while(|record| record.end > from).count();
        let Some(at) = (self.records.len() - later..self.records.len()).next() else { return [0; HOLDERS] };
        let next = &self.records[at];
        if next.joined {
            let none = Holding::none(self.start);
            let earlier = if at == 0 { &none } else { &self.records[at - 1] };
            let before = sums_between(earlier, next, from);
            return std::array::from_fn(|holder| self.sums[holder] - before[holder]);
        }
        // One has held it alone, at the end.
        let holder = usize::from(next.holder);
        let earlier = if at == 0 { 0 } else { self.records[at - 1].sums[holder] };
        let rest = (next.end - from).min(next.sums[holder] - earlier);
        let mut times = self.sums;
        for (time, before) in times.iter_mut().zip(&next.sums) {
            *time -= before;
        }
        times[holder] += rest;
        times
    }

    /// Of [`Self::between`], with commands that served a request. Exact for the latest commands; of older ones where neighbours served
    /// the same.
    pub fn own(&self, request: u32, from: Time, now: Time) -> [Time; HOLDERS] {
        let mut own = [0; HOLDERS];
        if let Some(Current { since, holder, served }) = self.current {
            if served.has(request) {
                own[holder] += now - since.max(from);
            }
        }
        for (at, record) in self.records.iter().enumerate().rev() {
            if record.end <= from {
                break;
            }
            if record.served.has(request) {
                let earlier = if at == 0 { Holding::none(self.start) } else { self.records[at - 1] };
                let before = if from > earlier.end { sums_between(&earlier, record, from) } else { earlier.sums };
                let holder = usize::from(record.holder);
                own[holder] += record.sums[holder] - before[holder];
            }
        }
        own
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
    if !next.joined {
        // One has held it alone, at the end.
        let holder = usize::from(next.holder);
        let held = next.sums[holder] - earlier.sums[holder];
        return plus(earlier.sums, holder, (held + passed).saturating_sub(gap).min(held));
    }
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
    use crate::task::{Action, Task};

    const GC_ERASE: Class = Class::new(Task::GC, Action::Erase);

    /// Times of host reads, host writes and GC; nothing of other tasks.
    fn told(times: [Time; 3]) -> [Time; HOLDERS] {
        let mut all = [0; HOLDERS];
        all[..3].copy_from_slice(&times);
        all
    }

    fn of(request: u32) -> Served {
        Served { first: request, last: request }
    }

    #[test]
    fn a_request_knows_how_long_it_held_the_die_itself() {
        let mut history = History::default();
        history.take(10, Class::HOST_READ, of(1));
        // In cache mode another follows before the first has left.
        history.take(15, Class::HOST_READ, of(2));
        history.take(25, Class::HOST_READ, Served { first: 2, last: 1 });
        history.leave(40);
        history.take(40, Class::HOST_WRITE, of(1));
        assert_eq!(history.between(0, 50), told([30, 10, 0]));
        assert_eq!(history.own(1, 0, 50), told([20, 10, 0]));
        assert_eq!(history.own(1, 12, 50), told([18, 10, 0]));
        assert_eq!(history.own(2, 12, 50), told([25, 0, 0]));
        assert_eq!(history.own(1, 30, 45), told([10, 5, 0]));
        assert_eq!(history.own(3, 0, 50), [0; HOLDERS]);
        assert_eq!(history.own(NONE, 0, 50), [0; HOLDERS], "what has no request is nobody's own");
    }

    #[test]
    fn a_long_row_of_own_commands_is_told_whole_beside_those_of_others() {
        let mut history = History::default();
        for turn in 0..1_000_u64 {
            history.take(10 * turn, Class::HOST_READ, of(7));
            history.leave(10 * turn + 10);
        }
        assert_eq!(history.own(7, 5, 10_000)[0], 9_995);
        assert_eq!(history.records.len(), 1);
        for turn in 1_000..3_000_u64 {
            history.take(10 * turn, Class::HOST_READ, of((turn % 2) as u32));
            history.leave(10 * turn + 8);
            let (from, now) = (10 * turn.saturating_sub(400), 10 * turn + 10);
            let (all, own) = (history.between(from, now), history.own(1, from, now));
            assert!(own[0] <= all[0], "{own:?} of {all:?}");
        }
        assert_eq!(history.own(1, 29_900, 30_000)[0], 40, "five of the last ten commands");
    }

    #[test]
    fn a_long_collection_is_told_whole() {
        let mut history = History::default();
        history.take(0, Class::HOST_WRITE, of(3));
        history.leave(100);
        for turn in 0..1_000 {
            history.take(1_000 + 10 * turn, GC_ERASE, Served::NOBODY);
            history.leave(1_010 + 10 * turn);
        }
        assert_eq!(history.between(500, 11_000), told([0, 0, 10_000]));
        assert_eq!(history.between(50, 11_000), told([0, 50, 10_000]));
        assert_eq!(history.between(1_234, 11_500), told([0, 0, 9_766]));
        assert_eq!(history.own(NONE, 0, 11_500), [0; HOLDERS]);
    }

    #[test]
    fn the_past_of_another_run_is_not_spread_over_this_one() {
        let start = 1_000_000;
        let mut history = History::new(start);
        // So many reads without a pause that most were given up.
        for turn in 0..1_000 {
            history.take(start + 10 * turn, Class::HOST_READ, of(turn as u32));
            history.leave(start + 10 * turn + 10);
        }
        for from in [start, start + 5, start + 77, start + 9_000] {
            let now = start + 10_000;
            assert_eq!(history.between(from, now), told([now - from, 0, 0]));
        }
    }

    #[test]
    fn the_past_is_exact_while_it_is_kept_and_never_longer_than_time() {
        let mut history = History::default();
        history.take(10, Class::HOST_READ, of(1));
        history.leave(15);
        history.take(15, GC_ERASE, Served::NOBODY);
        history.take(18, GC_ERASE, Served::NOBODY);
        history.leave(40);
        history.take(50, Class::HOST_WRITE, of(1));
        assert_eq!(history.between(12, 60), told([3, 10, 25]));
        assert_eq!(history.between(0, 60), told([5, 10, 25]));
        assert_eq!(history.between(20, 60), told([0, 10, 20]));
        assert_eq!(history.between(45, 60), told([0, 10, 0]));
        assert_eq!(history.between(55, 60), told([0, 5, 0]));
        for at in 0..5_000 {
            history.leave(60 + 10 * at);
            history.take(62 + 10 * at, Class::HOST_READ, of(at as u32));
        }
        let now = 60 + 50_000;
        history.leave(now);
        assert!(history.records.len() <= MOST);
        assert_eq!(history.between(now - 300, now), told([240, 0, 0]));
        for from in (0..now).step_by(37) {
            assert!(history.between(from, now).iter().sum::<Time>() <= now - from);
        }
    }

    #[test]
    fn of_a_die_that_is_always_held_all_time_is_told() {
        let mut history = History::default();
        let mut now = 0;
        for turn in 0..3_000_u64 {
            history.take(
                now,
                [Class::HOST_READ, GC_ERASE, Class::HOST_WRITE][(turn * turn % 7 % 3) as usize],
                Served::NOBODY,
            );
            now += 1 + turn * 31 % 17;
            history.leave(now);
        }
        for from in 0..now {
            let told = history.between(from, now).iter().sum::<Time>();
            assert!(told <= now - from && told + HOLDERS as Time > now - from, "{told} of {}", now - from);
        }
    }
}
