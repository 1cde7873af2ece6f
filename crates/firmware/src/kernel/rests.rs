//! When the host rests: background tasks and GC may wait for it. A preview of the workload tells how long it may last.

use super::{Fault, Kernel, Preview};
use crate::policy::upkeep::{Occasion, UpkeepPolicies};
use crate::task::{ByTask, Task, Tasks, TASKS};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};

/// Whether the host rests, and who waits for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rests {
    /// By task: time without a request after which it is asked; the end of time if it is not.
    after: ByTask<Time>,
    /// The same of what the write buffer keeps.
    after_of_buffer: Time,
    /// Since when the host rests; the end of time while it has requests in the drive.
    since: Time,
    /// When a task is asked next, if the host goes on resting; the end of time if none is.
    due: Time,
    /// Tasks that have been asked since.
    asked: Tasks,
    asked_buffer: bool,
    /// When the next request comes, as far as is known; else the end of time.
    next: Time,
    /// What it will write, if that is known.
    preview: Option<Preview>,
    /// True if the firmware is woken at the beginning of each rest.
    wakes: bool,
}

impl Default for Rests {
    fn default() -> Self {
        Self {
            after: [END_OF_TIME; TASKS],
            after_of_buffer: END_OF_TIME,
            since: END_OF_TIME,
            due: END_OF_TIME,
            asked: Tasks::default(),
            asked_buffer: false,
            next: END_OF_TIME,
            preview: None,
            wakes: false,
        }
    }
}

impl Rests {
    /// Those of a drive whose GC waits for such a rest, if for any.
    pub(super) fn new(upkeep: &UpkeepPolicies, of_gc: Option<Time>, wakes: bool) -> Self {
        let mut rests = Self { wakes, ..Self::default() };
        rests.after[Task::GC.index()] = of_gc.unwrap_or(END_OF_TIME);
        for task in Task::all() {
            if let Occasion::Cache { idle } = upkeep.occasion(task) {
                rests.after[task.index()] = idle;
            }
        }
        rests
    }

    /// When a task is asked if the host rests since `since`; the end of time if it is not.
    fn due_of(&self, task: Task, since: Time) -> Time {
        since.saturating_add(self.after[task.index()]).min(END_OF_TIME)
    }

    /// The policy of the write buffer is asked, too, after so long.
    pub(super) fn wait_for_buffer(&mut self, after: Time) {
        self.after_of_buffer = after;
    }

    /// True while the host has no request in the drive, as far as the drive tells.
    pub(super) fn rests(&self) -> bool {
        self.since < END_OF_TIME
    }

    /// The firmware is woken now, if the host goes on resting.
    pub(super) fn wake(&mut self, now: Time) {
        self.due = now;
    }

    /// True while the host rests, once it has rested as long as a task waits for.
    pub(super) fn is_long_enough(&self, task: Task) -> bool {
        self.asked.has(task)
    }

    /// Time until the next request, while the host rests and it is known.
    pub(super) fn until_next(&self, now: Time) -> Option<Time> {
        (self.rests() && self.next < END_OF_TIME).then(|| self.next.saturating_sub(now))
    }

    /// Length of the host's rest, if it is known when it ends.
    pub(super) fn period(&self) -> Option<Time> {
        (self.rests() && self.next < END_OF_TIME).then(|| self.next.saturating_sub(self.since))
    }

    /// What the next request will write, while the host rests.
    pub(super) fn preview(&self) -> Option<Preview> {
        self.preview.clone().filter(|_| self.rests())
    }

    /// The host rests since a time, or works if it is the end of time.
    fn begin(&mut self, since: Time) {
        let due = Task::all().map(|task| self.due_of(task, since)).min().unwrap_or(END_OF_TIME);
        let due = due.min(since.saturating_add(self.after_of_buffer));
        (self.since, self.due, self.asked, self.asked_buffer) = (since, due, Tasks::default(), false);
    }

    /// The host has rested until now: those who have waited as long are asked, and the others later. True if the policy of the write
    /// buffer is asked now.
    fn go_on(&mut self, now: Time) -> bool {
        self.due = END_OF_TIME;
        for task in Task::all() {
            match self.due_of(task, self.since) {
                due if due <= now => self.asked = self.asked.with(task),
                due => self.due = self.due.min(due),
            }
        }
        let of_buffer = self.since.saturating_add(self.after_of_buffer);
        if of_buffer > now {
            self.due = self.due.min(of_buffer);
            return false;
        }
        !std::mem::replace(&mut self.asked_buffer, true)
    }
}

impl Kernel {
    /// True if some task waits for the host to rest, or the policy of GC looks at it.
    #[must_use]
    pub fn waits_for_rest(&self) -> bool {
        let of_buffer = self.rests.after_of_buffer < END_OF_TIME;
        self.holding.asks || self.rests.wakes || of_buffer || self.rests.after.iter().any(|&after| after < END_OF_TIME)
    }

    /// Tells when the next request comes, if one does: a preview. The end of time if that is not known.
    #[inline]
    pub fn announce(&mut self, next: Option<Time>) {
        self.rests.next = next.unwrap_or(END_OF_TIME);
    }

    /// True if it is of use to tell what the next request will write.
    #[must_use]
    pub fn previews(&self) -> bool {
        self.rests.wakes
    }

    /// Tells what the next request will write, if anything.
    pub fn preview(&mut self, units: Option<Preview>) {
        self.rests.preview = units;
    }

    /// The host has no request in the drive since now.
    #[cold]
    pub fn host_leaves(&mut self, now: Time) {
        self.rests.begin(now);
        if self.holding.all_changed() || self.rests.wakes {
            self.rests.wake(now);
        }
    }

    /// The host has a request in the drive.
    #[cold]
    pub fn host_comes(&mut self) {
        self.rests.begin(END_OF_TIME);
    }

    /// When a task is asked that waits for the host to rest, if it goes on resting; the end of time if none is.
    #[inline]
    #[must_use]
    pub fn rest_alarm(&self) -> Time {
        self.rests.due
    }

    /// The host has rested as long as some task waits for.
    ///
    /// # Errors
    /// When a rule is broken.
    #[cold]
    pub fn on_rest(&mut self, now: Time, queue: &mut EventQueue) -> Result<(), Fault> {
        self.now = now;
        if self.rests.go_on(now) {
            self.make_room_at_rest(now);
        }
        if self.rests.asked != Tasks::default() {
            self.ask_about_cache();
        }
        if self.rests.is_long_enough(Task::GC) {
            (0..self.plan.domains).for_each(|domain| self.collect(domain));
        }
        self.use_idle_period();
        self.pump(queue)
    }

    /// Tasks that look at the SLC cache are asked.
    #[cold]
    pub(super) fn ask_about_cache(&mut self) {
        let looks = |kernel: &Self, task| matches!(kernel.upkeep.occasion(task), Occasion::Cache { .. });
        let tasks = self.plan.tasks.background().filter(|&task| looks(self, task)).fold(Tasks::default(), Tasks::with);
        tasks.iter().for_each(|task| self.ask(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_asked_who_does_not_wait_for_a_rest() {
        let mut rests = Rests::default();
        rests.begin(5);
        assert_eq!(rests.due, END_OF_TIME);
        rests.after[Task::GC.index()] = 10;
        rests.begin(5);
        assert_eq!(rests.due, 15);
        assert!(!rests.go_on(15));
        assert!(rests.is_long_enough(Task::GC));
        assert_eq!(rests.due, END_OF_TIME, "no other task waits");
        rests.wait_for_buffer(20);
        rests.begin(5);
        assert!(!rests.go_on(15));
        assert_eq!(rests.due, 25);
        assert_eq!([rests.go_on(25), rests.go_on(26)], [true, false], "once in a rest");
    }
}
