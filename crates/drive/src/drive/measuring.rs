//! Measurements of a drive: their start, utilisation, and latency breakdown of requests.

use super::{Drive, Reading};
use crate::activity::{channels, dies, held_and_waited as held, Activity};
use crate::block_map::BlockMap;
use crate::late::Late;
use crate::metrics::Metrics;
use crate::rounds::Rounds;
use crate::split::Split;
use serde_json::{Map, Value};
use std::borrow::Cow;
use wordline_base::Time;
use wordline_firmware::task::ByTask;
use wordline_firmware::{Fault, Noting};
use wordline_flash::{Energy, WearCounts};

impl Drive {
    /// Starts all measurements anew.
    pub fn start_measuring(&mut self) {
        self.metrics = Metrics::new(self.now);
        self.ended = None;
        self.of_guests.clear();
        self.kernel.reset_counters();
        self.rounds = Rounds::new(&self.plan, self.kernel.blocks());
        if let Some(late) = &mut self.late {
            late.reset();
        }
        // What is booked and still to come is part of what is measured.
        self.wires.iter_mut().for_each(|wire| wire.busy -= wire.used(self.now));
        let flash = self.kernel.flash();
        self.busy_before = (channels(&self.kernel, self.now).collect(), dies(&self.kernel, self.now).collect());
        self.held_before = held(&self.kernel, self.now);
        self.energy_before = flash.energy(self.now, &self.currents);
        self.wear_before = flash.wear_counts();
        self.activity = Some(Box::new(Activity::new(&self.kernel, &self.wires, self.now)));
        self.block_map = BlockMap::new(&self.kernel, self.now).map(Box::new);
        self.look(self.now);
        if let Some(split) = &mut self.split {
            split.restart(self.now);
        }
    }

    /// Ends all figures here, at the last completion: the drive works on until it is idle, which is none of the
    /// workload's doing. Until measuring starts anew nothing changes them.
    ///
    /// # Errors
    /// As [`Drive::ask_guests`].
    pub fn end_measuring(&mut self) -> Result<(), Fault> {
        if self.ended.is_none() {
            self.ask_guests()?;
            self.metrics.lasted(self.now);
            self.ended = Some(Box::new(Reading::of(self)));
        }
        Ok(())
    }

    /// Asks external policies for figures of their own, which the result has as they are now.
    ///
    /// # Errors
    /// A policy failed to tell them, or the user ended the run meanwhile.
    pub fn ask_guests(&mut self) -> Result<(), Fault> {
        self.of_guests = self.kernel.figures_of_guests()?;
        Ok(())
    }

    /// Figures of external policies, as last asked for.
    pub(crate) fn of_guests(&self) -> &Map<String, Value> {
        &self.of_guests
    }

    /// What the flash had done when the figures ended; up to now, if they have not.
    #[must_use]
    pub fn reading(&self) -> Cow<'_, Reading> {
        self.ended.as_deref().map_or_else(|| Cow::Owned(Reading::of(self)), Cow::Borrowed)
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
        self.minds_ends = self.minds_requests || on;
    }

    /// Latency breakdown of requests, while requested.
    pub(crate) fn split_mut(&mut self) -> Option<&mut Split> {
        self.split.as_deref_mut()
    }

    /// Latency breakdown of requests, if requested.
    #[must_use]
    pub fn split(&self) -> Option<&Split> {
        self.split.as_deref()
    }

    /// Requests that missed their deadlines, if they have any.
    #[must_use]
    pub(crate) fn late(&self) -> Option<&Late> {
        self.late.as_deref()
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

    /// How long channels had been in use, and the cells of dies had worked, when measuring began.
    pub(crate) fn busy_before(&self) -> (&[Time], &[Time]) {
        (&self.busy_before.0, &self.busy_before.1)
    }

    /// Energy that operations of each task took in cells and on buses since measuring began, as far as their stages have ended, in joules;
    /// none unless the latency breakdown is requested.
    #[must_use]
    pub fn energy_by_task(&self) -> Option<ByTask<f64>> {
        let charged = self.kernel.charged()?;
        Some(charged.map(|activity| Energy::of(&activity, &self.currents).total()))
    }

    /// How long commands had held dies and waited for the bus, summed over dies, when measuring began.
    pub(crate) fn held_before(&self) -> (Time, Time) {
        self.held_before
    }

    /// The blocks over the run, once measuring has begun; a drive with very many planes has no map of them.
    pub(crate) fn block_map(&self) -> Option<&BlockMap> {
        self.block_map.as_deref()
    }

    /// An interval of the activity or of the map has ended, before anything happens at `now`.
    #[cold]
    pub(super) fn look(&mut self, now: Time) {
        let Some(activity) = &mut self.activity else { return };
        activity.look(&self.kernel, &self.wires, now);
        self.look_due = activity.due();
        if let Some(map) = &mut self.block_map {
            map.look(&self.kernel, now);
            self.look_due = self.look_due.min(map.due());
        }
    }
}
