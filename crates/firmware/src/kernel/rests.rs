//! When the host rests: background tasks may wait for it.

use super::{Fault, Kernel};
use crate::policy::upkeep::{Occasion, UpkeepPolicies};
use crate::task::{Task, Tasks};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};

/// Whether the host rests, and who waits for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rests {
    /// Time without a request after which tasks are asked; the end of time if none is.
    after: Time,
    /// When that will be; the end of time while requests are in the drive.
    due: Time,
    /// True since then.
    rests: bool,
}

impl Default for Rests {
    fn default() -> Self {
        Self { after: END_OF_TIME, due: END_OF_TIME, rests: false }
    }
}

impl Rests {
    pub(super) fn new(upkeep: &UpkeepPolicies) -> Self {
        let idle = |task| match upkeep.occasion(task) {
            Occasion::Cache { idle } => Some(idle),
            _ => None,
        };
        Self { after: Task::all().filter_map(idle).min().unwrap_or(END_OF_TIME), ..Self::default() }
    }

    /// True while the host rests.
    pub(super) fn now(self) -> bool {
        self.rests
    }

    /// When tasks are asked next.
    #[inline]
    pub(super) fn due(self) -> Time {
        self.due
    }
}

impl Kernel {
    /// True if some task waits for the host to rest.
    #[must_use]
    pub fn waits_for_rest(&self) -> bool {
        self.rests.after < END_OF_TIME
    }

    /// The host has no request in the drive since now.
    #[cold]
    pub fn host_leaves(&mut self, now: Time) {
        self.rests.due = now.saturating_add(self.rests.after);
    }

    /// The host has a request in the drive.
    #[cold]
    pub fn host_comes(&mut self) {
        (self.rests.due, self.rests.rests) = (END_OF_TIME, false);
    }

    /// When tasks are asked that wait for the host to rest, if it goes on resting; the end of time if none is.
    #[inline]
    #[must_use]
    pub fn rest_alarm(&self) -> Time {
        self.rests.due()
    }

    /// The host has rested long enough.
    ///
    /// # Errors
    /// When a rule is broken.
    #[cold]
    pub fn on_rest(&mut self, now: Time, queue: &mut EventQueue) -> Result<(), Fault> {
        self.now = now;
        (self.rests.due, self.rests.rests) = (END_OF_TIME, true);
        self.ask_about_cache();
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
