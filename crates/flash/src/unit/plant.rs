//! The package of an experiment and its clock: the lane whose time comes first is stepped next.

use super::{Experiment, UnitError};
use crate::array::{Agenda, Flash, FlashError, Logged, Progress};
use crate::geometry::Geometry;
use wordline_base::time::END_OF_TIME;
use wordline_base::Time;
use wordline_nand::{Command, Kind, PageAddress, Timing};

/// The clock looks at the lanes themselves, so nobody needs to be told.
struct Unneeded;

impl Agenda for Unneeded {
    #[inline]
    fn wake(&mut self, _: Time, _: u8, _: u32) {}
}

/// A package with its clock.
pub struct Plant {
    flash: Flash,
    dies: u32,
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
        Ok(Self { flash, dies: geometry.dies(), now: 0 })
    }

    /// From now on everything is recorded.
    pub fn record(&mut self) {
        self.flash.record(true);
    }

    /// What was recorded.
    pub fn recorded(&mut self) -> Vec<Logged> {
        self.flash.recorded().map(std::mem::take).unwrap_or_default()
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

    /// When the next lane needs attention, and which; of several at one time the first.
    #[inline]
    pub fn next(&self) -> Option<(Time, u32)> {
        let (time, die) = (0..self.dies).map(|die| (self.flash.due(die), die)).min()?;
        (time < END_OF_TIME).then_some((time, die))
    }

    /// Goes to that time and steps that lane.
    #[inline]
    pub fn step(&mut self, time: Time, die: u32) -> Progress {
        self.now = time;
        self.flash.step(time, die, &mut Unneeded)
    }
}
