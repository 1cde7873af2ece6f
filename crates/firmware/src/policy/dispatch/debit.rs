//! Debit scheduling: each task may have so many operations outstanding, in proportion to its share.
//!
//! Source: kim18 (3.2). A task's debit is its outstanding operations over all dies; below its limit its operations are
//! eligible, in any order among dies; the limits add up to what the dies hold. Tasks that compete are chosen at random,
//! skewed towards a small ratio of debit to limit. Tasks without work leave their share unused.
//! Faithful: limits, eligibility, and that the scheduler does not conserve work. Assumed: a task's chance is in
//! proportion to the unused part of its limit; a limit is at least 1; a write counts as one operation with all units of
//! its page.

pub use super::DepthOptions as Options;
use super::{Dispatch, Sight, StageView, Staged};
use crate::policy::{About, Build};
use crate::task::{ByTask, Task, Tasks, TASKS};
use crate::ConfigError;
use serde::{Deserialize, Serialize};
use wordline_base::{Stream, Time};

pub(crate) const ABOUT: About = About {
    summary: "debit scheduling: outstanding operations of each task are limited by its share (AutoSSD)",
    source: "kim18 3.2",
    note: "chances in proportion to the unused part of a limit; a limit is at least 1",
};

/// Debit scheduling.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Debit {
    depth: u32,
    /// Operations that all dies hold.
    capacity: u32,
    tasks: Tasks,
    limits: ByTask<u32>,
    random: Stream,
}

impl Debit {
    pub(super) fn new(options: &Options, build: &Build<'_>) -> Result<Self, ConfigError> {
        let depth = options.checked()?;
        let capacity = depth.saturating_mul(build.geometry.dies());
        let random = Stream::new(build.seed, "dispatch.debit", 0);
        Ok(Self { depth, capacity, tasks: build.tasks, limits: [capacity; TASKS], random })
    }

    /// Goes on with the random numbers of a drive that was saved.
    pub(super) fn restore(&mut self, saved: Self) {
        self.random = saved.random;
    }
}

/// The most operations that tasks may have outstanding, of so many in all: their shares, but at least one. The host has
/// what is left, and if nothing is, the largest of the others gives it a place: so they add up where there is a place for each.
fn limits(shares: &ByTask<f64>, capacity: u32, tasks: Tasks) -> ByTask<u32> {
    let mut limits = [0; TASKS];
    for task in tasks.background() {
        limits[task.index()] = ((f64::from(capacity) * shares[task.index()] / 100.0).round() as u32).max(1);
    }
    let beyond = (limits.iter().sum::<u32>() + 1).saturating_sub(capacity);
    if let Some(largest) = limits.iter_mut().max() {
        *largest -= beyond.min(largest.saturating_sub(1));
    }
    limits[Task::HOST.index()] = capacity.saturating_sub(limits.iter().sum()).max(1);
    limits
}

impl Dispatch for Debit {
    fn depth(&self) -> Option<u32> {
        Some(self.depth)
    }

    fn sees(&self) -> Sight {
        Sight::Oldest
    }

    #[inline]
    fn wants(&mut self, only: &Staged, outstanding: &ByTask<u32>, _times: &[Time; 3]) -> bool {
        // Nobody competes with it.
        let task = only.class.task().index();
        outstanding[task] < self.limits[task]
    }

    fn takes_shares(&self) -> bool {
        true
    }

    fn share(&mut self, shares: &ByTask<f64>) {
        self.limits = limits(shares, self.capacity, self.tasks);
    }

    fn limits(&self) -> Option<ByTask<u32>> {
        Some(self.limits)
    }

    fn next(&mut self, view: &StageView<'_>) -> Option<usize> {
        if let [Staged { class, die: Some(_), .. }] = view.staged {
            // Nobody competes with it.
            let task = class.task().index();
            return (view.outstanding[task] < self.limits[task]).then_some(0);
        }
        // Of each task the oldest that is eligible.
        let (mut found, mut oldest) = (Tasks::default(), [(0, 0); TASKS]);
        for (at, staged) in view.staged.iter().enumerate().filter(|(_, staged)| staged.die.is_some()) {
            let task = staged.class.task();
            let index = task.index();
            if view.outstanding[index] < self.limits[index] {
                let own = (staged.sequence, at);
                oldest[index] = if found.has(task) { own.min(oldest[index]) } else { own };
                found = found.with(task);
            }
        }
        self.chooses(found, view.outstanding).map(|task| oldest[task.index()].1)
    }

    #[inline]
    fn of_two(&mut self, [first, second]: [Task; 2], _oldest: [u64; 2], outstanding: &ByTask<u32>) -> Option<Task> {
        Some(self.either(first, second, outstanding))
    }

    fn next_of(&mut self, tasks: Tasks, _numbers: &ByTask<u64>, outstanding: &ByTask<u32>) -> Option<Task> {
        let mut others = tasks;
        let first = others.pop()?;
        match others.only() {
            // Mostly there are two.
            Some(second) => Some(self.either(first, second, outstanding)),
            None => self.chooses(tasks, outstanding),
        }
    }
}

impl Debit {
    /// The chance of a task below its limit: the part of this that it does not use.
    #[inline(always)]
    fn chance(&self, task: Task, outstanding: &ByTask<u32>) -> u64 {
        let limit = u64::from(self.limits[task.index()]);
        ((limit - u64::from(outstanding[task.index()])) << 32) / limit
    }

    /// The one of two tasks below their limits whose operation goes.
    #[inline(always)]
    fn either(&mut self, first: Task, second: Task, outstanding: &ByTask<u32>) -> Task {
        let own = self.chance(first, outstanding);
        let all = own + self.chance(second, outstanding);
        if self.random.below(all) < own {
            first
        } else {
            second
        }
    }

    /// The task whose operation goes, of those given, which are below their limits.
    #[inline(never)]
    fn chooses(&mut self, tasks: Tasks, outstanding: &ByTask<u32>) -> Option<Task> {
        let mut others = tasks;
        let first = others.pop()?;
        if others == Tasks::default() {
            // Nobody competes with it.
            return Some(first);
        }
        if let Some(second) = others.only() {
            return Some(self.either(first, second, outstanding));
        }
        let mut chances = [0; TASKS];
        let (mut left, mut all) = (tasks, 0);
        while let Some(task) = left.pop() {
            chances[task.index()] = self.chance(task, outstanding);
            all += chances[task.index()];
        }
        let (mut left, mut drawn) = (tasks, self.random.below(all));
        while let Some(task) = left.pop() {
            let own = chances[task.index()];
            if drawn < own {
                return Some(task);
            }
            drawn -= own;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Class;

    const A: Class = Class::HOST_READ;
    const B: Class = Class::new(Task::GC, crate::task::Action::Read);

    /// Limits of 5 and 3 requests, as in kim18, figure 3.
    fn debit(seed: u64) -> Debit {
        let mut limits = [1; TASKS];
        (limits[0], limits[1]) = (5, 3);
        Debit { depth: 2, capacity: 8, tasks: Tasks::BASIC, limits, random: Stream::new(seed, "test", 0) }
    }

    fn outstanding(a: u32, b: u32) -> [u32; TASKS] {
        let mut all = [0; TASKS];
        (all[0], all[1]) = (a, b);
        all
    }

    fn staged(class: Class, sequence: u64, die: Option<u32>) -> Staged {
        Staged { class, sequence, die }
    }

    #[test]
    fn limits_add_up_to_what_the_dies_hold() {
        // 16 chips of four places, as in kim18: 5 % are 3.2, 7.5 % are 4.8.
        let (mut shares, tasks) = ([0.0; TASKS], Tasks::BASIC.with(Task::REFRESH));
        (shares[0], shares[1], shares[2]) = (87.5, 5.0, 7.5);
        assert_eq!(limits(&shares, 64, tasks)[..3], [56, 3, 5]);
        (shares[0], shares[1], shares[2]) = (80.0, 10.0, 10.0);
        assert_eq!(limits(&shares, 64, tasks)[..3], [52, 6, 6]);
        // The host has a place even if next to nothing is left for it.
        (shares[0], shares[1], shares[2]) = (0.1, 49.9, 50.0);
        assert_eq!(limits(&shares, 32, tasks)[..3], [1, 16, 15]);
        assert_eq!(limits(&shares, 32, tasks).iter().sum::<u32>(), 32);
        // Every task needs a place.
        assert_eq!(limits(&shares, 2, tasks)[..3], [1, 1, 1]);
    }

    #[test]
    fn figure_3a_the_task_below_its_limit_goes_to_the_chip_with_room() {
        // Chip 0 is full; task B has all that it may have outstanding.
        let waiting = [staged(A, 1, None), staged(B, 2, Some(1)), staged(A, 3, Some(2))];
        let view = StageView { staged: &waiting, dues: &[], outstanding: &outstanding(1, 3), times: &[1; 3] };
        assert_eq!(debit(1).next(&view), Some(2));
    }

    #[test]
    fn figure_3b_a_request_passes_those_of_its_task_whose_chip_is_full() {
        // An operation of task B has ended. Task A is below its limit, but its request is for chip 0, which is full.
        let waiting = [staged(A, 1, None), staged(B, 2, None), staged(B, 4, Some(1))];
        let view = StageView { staged: &waiting, dues: &[], outstanding: &outstanding(2, 2), times: &[1; 3] };
        assert_eq!(debit(1).next(&view), Some(2));
        // At its limit it may not.
        let view = StageView { staged: &waiting, dues: &[], outstanding: &outstanding(2, 3), times: &[1; 3] };
        assert_eq!(debit(1).next(&view), None);
    }

    #[test]
    fn competing_tasks_are_chosen_by_the_unused_part_of_their_limits() {
        let waiting = [staged(B, 1, Some(0)), staged(A, 2, Some(0))];
        // A has used 1 of 5, B 2 of 3: chances of 4/5 and 1/3.
        let view = StageView { staged: &waiting, dues: &[], outstanding: &outstanding(1, 2), times: &[1; 3] };
        let mut debit = debit(7);
        let count = 100_000;
        let of_a = (0..count).filter(|_| debit.next(&view) == Some(1)).count();
        let share = of_a as f64 / f64::from(count);
        assert!((share - 12.0 / 17.0).abs() < 0.01, "{share}");
    }
}
