//! What a drive measures of itself: from when on, how busy it was, and where the time of requests went.

use super::Drive;
use crate::activity::Activity;
use crate::metrics::Metrics;
use crate::rounds::Rounds;
use crate::split::Split;
use wordline_base::Time;
use wordline_firmware::Noting;
use wordline_flash::{Energy, WearCounts};

impl Drive {
    /// Starts all measurements anew.
    pub fn start_measuring(&mut self) {
        self.metrics = Metrics::new(self.now);
        self.kernel.reset_counters();
        self.rounds = Rounds::new(&self.plan, self.kernel.blocks());
        self.wires.iter_mut().for_each(|wire| wire.busy = 0);
        let flash = self.kernel.flash();
        let channels = (0..flash.geometry().channels).map(|channel| flash.channel_times(channel).busy).collect();
        let dies = (0..flash.geometry().dies()).map(|die| flash.die_times(die).array()).collect();
        self.busy_before = (channels, dies);
        self.energy_before = flash.energy(self.now, &self.currents);
        self.wear_before = flash.wear_counts();
        let activity = Activity::new(&self.kernel, self.now);
        self.activity_due = activity.due();
        self.activity = Some(Box::new(activity));
        if let Some(split) = &mut self.split {
            split.restart(self.now);
        }
    }

    /// Starts or ends asking where the time of requests goes. Nothing may be in flight.
    ///
    /// # Panics
    /// While requests are in flight.
    pub fn split_time(&mut self, on: bool) {
        assert_eq!(self.in_flight(), 0, "requests are in flight");
        let noting = self.kernel.noting();
        self.kernel.record(Noting { accounts: if on { self.slots.len() as u32 } else { 0 }, ..noting });
        self.split = on.then(|| Box::new(Split::new(self.link, self.slots.len(), self.now)));
    }

    /// Where the time of requests goes, while that is asked.
    pub(crate) fn split_mut(&mut self) -> Option<&mut Split> {
        self.split.as_deref_mut()
    }

    /// Where the time of requests went, if that was asked.
    #[must_use]
    pub fn split(&self) -> Option<&Split> {
        self.split.as_deref()
    }

    /// How busy channels and dies were over time, once measuring has begun.
    #[must_use]
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_deref()
    }

    /// How the drive stood when measuring began, and how far the writes since then wore it in.
    #[must_use]
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Energy of the flash since measuring began.
    #[must_use]
    pub fn energy(&self) -> Energy {
        self.kernel.flash().energy(self.now, &self.currents).since(&self.energy_before)
    }

    /// Retries and failures since measuring began.
    #[must_use]
    pub fn wear_counts(&self) -> WearCounts {
        self.kernel.flash().wear_counts().since(&self.wear_before)
    }

    /// How long a channel had been in use when measuring began.
    #[must_use]
    pub fn channel_busy_before(&self, channel: u32) -> Time {
        self.busy_before.0[channel as usize]
    }

    /// How long the cells of a die had worked when measuring began.
    #[must_use]
    pub fn die_busy_before(&self, die: u32) -> Time {
        self.busy_before.1[die as usize]
    }

    /// An interval of the activity has ended, before anything happens at `now`.
    #[cold]
    pub(super) fn look(&mut self, now: Time) {
        if let Some(activity) = &mut self.activity {
            activity.look(&self.kernel, now);
            self.activity_due = activity.due();
        }
    }
}
