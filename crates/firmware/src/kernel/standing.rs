//! How tasks stand at the commit stage, and alarms outside the event queue: the control of their shares, and a bus that a
//! transaction waits for.

use super::{Fault, Kernel};
use crate::policy::guest::failed;
use crate::policy::upkeep::{Leveling, Occasion, UpkeepView};
use crate::stays::Stays;
use crate::task::{ByTask, Task, TASKS};
use wordline_base::time::END_OF_TIME;
use wordline_base::{EventQueue, Time};

/// How tasks stand at the commit stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Operations that wait in the stage, by task.
    pub waiting: ByTask<u32>,
    /// Operations sent to dies that have not ended, by task: kim18's debit.
    pub outstanding: ByTask<u32>,
    /// The most that may be outstanding, by task, if there is a limit.
    pub limits: Option<ByTask<u32>>,
    /// Shares in percent, if the dispatch policy takes them.
    pub shares: Option<ByTask<f64>>,
}

impl Kernel {
    /// How tasks stand at the commit stage, if operations wait in one.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        let stage = self.stage.as_ref()?;
        Some(Standing {
            waiting: stage.waiting,
            outstanding: stage.outstanding,
            limits: self.dispatch.limits(),
            shares: self.dispatch.takes_shares().then(|| self.shares.shares()),
        })
    }

    /// Page reads of the block that was read most since its erase, of those with data or being moved, on a drive with a task that looks at
    /// reads.
    #[must_use]
    pub fn most_reads(&self) -> Option<u32> {
        (self.read_limit < u32::MAX).then(|| {
            UpkeepView::new((&self.blocks, &self.space, self.stays()), &self.flash, self.counters.by_host(), false)
                .most_reads()
        })
    }

    /// Where data may stay.
    pub(super) fn stays(&self) -> Stays<'_> {
        Stays::new(&self.blocks, &self.map, self.lots.as_deref(), self.logs.as_deref())
    }

    /// What wear leveling tells of its sessions, if it counts any.
    #[must_use]
    pub fn leveling(&self) -> Option<&Leveling> {
        self.upkeep.leveling()
    }

    /// True if shares are controlled or transactions wait for buses, and [`Kernel::alarm`] may tell a time.
    #[inline]
    #[must_use]
    pub fn controls(&self) -> bool {
        self.control_due != END_OF_TIME || self.transactions.is_some()
    }

    /// True if [`Kernel::alarm`] tells of the control of shares alone.
    #[inline]
    #[must_use]
    pub fn controls_shares_alone(&self) -> bool {
        self.control_due != END_OF_TIME && self.transactions.is_none()
    }

    /// When shares are controlled next; the end of time if they are not. Once passed, it grows.
    #[inline(always)]
    #[must_use]
    pub fn control_due(&self) -> Time {
        self.control_due
    }

    /// As [`Kernel::alarm`] where shares alone are controlled.
    #[inline(always)]
    #[must_use]
    pub fn share_alarm(&self) -> Time {
        if self.slab.live() == 0 {
            END_OF_TIME
        } else {
            self.control_due
        }
    }

    /// When shares are controlled next, or the bus is free that a transaction waits for, while operations are under way; the end
    /// of time if nothing of it comes.
    #[inline]
    #[must_use]
    pub fn alarm(&self) -> Time {
        if self.slab.live() == 0 {
            return END_OF_TIME;
        }
        self.transactions.as_ref().map_or(self.control_due, |waiting| waiting.bus_due.min(self.control_due))
    }

    /// The same while no event is pending: then only a bus is waited for. Shares are not controlled while nothing happens.
    #[inline]
    #[must_use]
    pub fn lone_alarm(&self) -> Time {
        match &self.transactions {
            Some(waiting) if self.slab.live() > 0 => waiting.bus_due,
            _ => END_OF_TIME,
        }
    }

    /// It is the time of the alarm.
    ///
    /// # Errors
    /// When a rule is broken.
    #[cold]
    pub fn on_alarm(&mut self, now: Time, queue: &mut EventQueue) -> Result<(), Fault> {
        self.now = now;
        if let Some(transactions) = &mut self.transactions {
            transactions.pass_to(now);
        }
        self.run_stage();
        self.pump(queue)
    }

    /// Takes the steps of share control that are due. At rest none are taken: they follow together, with the state of
    /// the drive as it was all the time.
    #[cold]
    pub(super) fn control_shares(&mut self) {
        let Some(interval) = self.shares.interval() else { return };
        let errors = self.errors();
        let mut changed = false;
        while self.control_due <= self.now {
            self.control_due += interval;
            let moves = self.shares.control(&errors);
            changed |= moves;
            if !moves {
                // Nor would the rest of them change anything.
                self.control_due = (self.now / interval + 1) * interval;
            }
        }
        if changed {
            self.take_shares();
        }
    }

    /// The dispatch policy has the shares of tasks from now on.
    pub(super) fn take_shares(&mut self) {
        self.dispatch.share(&self.shares.shares());
        let limits = self.dispatch.limits();
        [&mut self.stage, &mut self.stage_aside].into_iter().flatten().for_each(|stage| stage.limit(limits));
    }

    /// How far the state that each background task keeps is from its target, as a part of the target (kim18, equations 2
    /// and 3): of GC the free blocks missing to the count at which it starts, over all its domains; of others as their
    /// policies tell.
    fn errors(&mut self) -> ByTask<f64> {
        let mut errors = [0.0; TASKS];
        let missing = |domain| self.plan.start_blocks.saturating_sub(self.blocks.free_in_domain(domain));
        let all_missing: f64 = (0..self.plan.domains).map(|domain| f64::from(missing(domain))).sum();
        errors[Task::GC.index()] =
            all_missing / (f64::from(self.plan.domains) * f64::from(self.plan.start_blocks.max(1)));
        let stays = Stays::new(&self.blocks, &self.map, self.lots.as_deref(), self.logs.as_deref());
        let view = UpkeepView::new((&self.blocks, &self.space, stays), &self.flash, self.counters.by_host(), false);
        // To find the most-read block takes a look at all, so it is asked for while there may be one.
        let looks = self.reads_reached;
        self.reads_reached = looks && view.most_reads() >= self.read_limit;
        for task in self.plan.tasks.background() {
            if looks || !matches!(self.upkeep.occasion(task), Occasion::Reads(_)) || self.upkeep.tells_error(task) {
                errors[task.index()] += self.upkeep.error(task, &view);
            }
        }
        if self.outside {
            let has_failed = self.upkeep.troubles().any(|(_, trouble)| failed(trouble));
            self.heed(has_failed);
        }
        errors
    }
}
