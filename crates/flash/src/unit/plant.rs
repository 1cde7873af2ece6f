//! The package of an experiment and its clock, which steps the lane with the earliest time.

use super::{Experiment, UnitError};
use crate::array::{Agenda, Flash, FlashError, Progress};
use crate::geometry::Geometry;
use crate::recorder::Logged;
use crate::timeline::Picture;
use wordline_base::event::Mark;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Request, Time};
use wordline_nand::{Command, Kind, PageAddress, Timing};

/// The clock reads the lanes' times itself, so it needs no notice.
struct Unneeded;

impl Agenda for Unneeded {
    #[inline]
    fn wake(&mut self, _: Time, _: Mark) {}
}

/// A package with its clock.
pub struct Plant {
    flash: Flash,
    dies: u32,
    /// The log, if wanted.
    log: Option<Vec<Logged>>,
    picture: Option<Picture>,
    /// The time.
    pub now: Time,
}

impl From<FlashError> for UnitError {
    fn from(error: FlashError) -> Self {
        Self::Illegal(error.violation)
    }
}

impl Plant {
    pub fn new(experiment: &Experiment, geometry: Geometry) -> Result<Self, UnitError> {
        let timing = Timing::new(&experiment.nand, geometry.pages_per_block)?;
        let mut flash = Flash::new(geometry, timing, 0);
        flash.set_turns(experiment.host.bus);
        flash.set_reliability(&experiment.nand.reliability, experiment.seed)?;
        Ok(Self { flash, dies: geometry.dies(), log: None, picture: None, now: 0 })
    }

    /// Enables the log.
    pub fn record(&mut self) {
        self.flash.record(true, false);
        self.log = Some(Vec::new());
    }

    /// Enables the timeline.
    pub fn draw(&mut self, picture: Picture) {
        self.flash.record(true, false);
        self.picture = Some(picture);
    }

    /// The timeline.
    pub fn drawn(&mut self) -> Option<Picture> {
        self.observe();
        self.picture.take()
    }

    /// The log.
    pub fn recorded(&mut self) -> Vec<Logged> {
        let mut log = self.log.take().unwrap_or_default();
        log.extend(self.flash.recorded().map(std::mem::take).unwrap_or_default());
        log
    }

    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// Programs a page without time.
    pub fn fill(&mut self, die: u32, page: PageAddress) -> Result<(), UnitError> {
        let mut command = Command::new(Kind::Program);
        command.add(page, 0);
        self.flash.packages_mut()[0].commit(0, die, &command)?;
        Ok(())
    }

    #[inline]
    pub fn begin(&mut self, die: u32, command: &Command) -> Result<(), UnitError> {
        Ok(self.flash.begin(self.now, die, command, &mut Unneeded)?)
    }

    #[inline]
    pub fn follow(&mut self, die: u32, command: &Command) -> Result<(), UnitError> {
        Ok(self.flash.follow(self.now, die, command, &mut Unneeded)?)
    }

    #[inline]
    pub fn finish(&mut self, die: u32) -> Result<(), UnitError> {
        Ok(self.flash.finish(self.now, die, &mut Unneeded)?)
    }

    /// The lane that needs attention next, and its time; the first of several at the same time.
    #[inline]
    pub fn next(&self) -> Option<(Time, u32)> {
        let (time, die) = (0..self.dies).map(|die| (self.flash.due(die), die)).min()?;
        (time < END_OF_TIME).then_some((time, die))
    }

    /// Advances to that time and steps that lane.
    #[inline]
    pub fn step(&mut self, time: Time, die: u32) -> Progress {
        self.now = time;
        let progress = self.flash.step(time, die, &mut Unneeded);
        if self.picture.is_some() {
            self.observe();
        }
        progress
    }

    /// Draws the log entries since the last call.
    #[cold]
    fn observe(&mut self) {
        let (Some(picture), Some(entries)) = (&mut self.picture, self.flash.recorded()) else { return };
        if let Some(log) = &mut self.log {
            log.extend_from_slice(entries);
        }
        picture.take(self.now, entries);
        if picture.is_over(self.now) && self.log.is_none() {
            self.flash.record(false, false);
        }
    }

    /// A request takes a slot.
    #[inline]
    pub fn arrived(&mut self, slot: u32, request: impl FnOnce() -> Request) {
        if let Some(picture) = &mut self.picture {
            picture.begin(slot, self.now, &request());
        }
    }

    /// The request of a slot completes.
    #[inline]
    pub fn ended(&mut self, slot: u32) {
        if let Some(picture) = &mut self.picture {
            picture.end(slot, self.now);
        }
    }

    /// The command just begun on a die serves the requests of these slots.
    #[inline]
    pub fn serve(&mut self, die: u32, slots: &[u32]) {
        if let Some(picture) = &mut self.picture {
            let command = self.flash.command_number(die);
            slots.iter().filter(|_| command > 0).for_each(|&slot| picture.serve(die, command, "host", Some(slot)));
        }
    }
}
