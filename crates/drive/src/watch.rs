//! Observers of a run: a timeline, tables, both or none.

use crate::device::Watcher;
use crate::drive::Drive;
use crate::observe::Observation;
use crate::timeline::Recording;
use wordline_base::{Request, Time};
use wordline_firmware::Fault;

/// Somebody who looks at a drive while it runs, and may take his time: the drive's time goes on when he returns.
pub trait Onlooker: std::fmt::Debug {
    /// The drive's time is about to become `next`, and nothing happens before; false ends the run.
    fn before(&mut self, drive: &Drive, next: Time) -> bool;
}

/// Those who look on.
#[derive(Debug, Default)]
pub struct Watch<'a> {
    /// Draws a timeline; its owner ends it.
    pub recording: Option<&'a mut Recording>,
    /// Makes tables; its owner ends it.
    pub observation: Option<&'a mut Observation>,
    /// Looks at the drive between its steps.
    pub onlooker: Option<&'a mut (dyn Onlooker + 'static)>,
    /// True once the onlooker has ended the run.
    pub stopped: bool,
}

impl Watcher<Drive> for Watch<'_> {
    fn is_needed(&self) -> bool {
        self.recording.is_some() || self.observation.is_some() || self.onlooker.is_some()
    }

    #[inline]
    fn before(&mut self, drive: &Drive, next: Time) {
        if let Some(observation) = &mut self.observation {
            observation.before(drive, next);
        }
        if let Some(onlooker) = &mut self.onlooker {
            self.stopped |= !onlooker.before(drive, next);
        }
    }

    #[inline]
    fn has_stopped(&self) -> bool {
        self.stopped
    }

    #[cold]
    fn submitted(&mut self, drive: &mut Drive, slot: u32, now: Time, request: &Request) {
        if let Some(recording) = &mut self.recording {
            recording.submitted(slot, now, request);
        }
        if let Some(observation) = &mut self.observation {
            observation.submitted(drive, slot, now);
        }
    }

    fn measure(&mut self, drive: &mut Drive, from: Time) {
        match &mut self.observation {
            None => drive.start_measuring(),
            Some(observation) => observation.measure(drive, from),
        }
    }

    fn measured(&mut self, drive: &Drive) {
        if let Some(observation) = &mut self.observation {
            observation.measured(drive);
        }
    }

    /// Most steps are of no interest to who only wants requests.
    #[inline(always)]
    fn after(&mut self, drive: &mut Drive) {
        if !drive.completions().is_empty() || self.sees_steps() {
            self.look(drive);
        }
    }

    fn drain(&mut self, drive: &mut Drive) -> Result<(), Fault> {
        self.step_all(drive)?;
        drive.push_out()?;
        self.after(drive);
        self.step_all(drive)?;
        drive.reopen()
    }
}

impl Watch<'_> {
    /// True if every step of the flash is looked at.
    #[inline]
    fn sees_steps(&self) -> bool {
        self.recording.is_some() || self.observation.as_ref().is_some_and(|observation| observation.sees_steps())
    }

    fn step_all(&mut self, drive: &mut Drive) -> Result<(), Fault> {
        while let Some(next) = drive.next_event() {
            self.before(drive, next);
            drive.step()?;
            self.after(drive);
        }
        Ok(())
    }

    #[inline(never)]
    fn look(&mut self, drive: &mut Drive) {
        if let Some(observation) = &mut self.observation {
            observation.after(drive);
        }
        if let Some(recording) = &mut self.recording {
            recording.observe(drive);
        }
        if let Some(noted) = drive.kernel_mut().0.noted() {
            noted.services.clear();
            noted.passages.clear();
            noted.entries.clear();
        }
    }
}
