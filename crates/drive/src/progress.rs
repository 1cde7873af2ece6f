//! How far a run or a preconditioning has come, and how the drive does meanwhile.

use crate::device::{Device, Written};
use wordline_base::Time;

/// How far a run or a preconditioning has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Share of the work done, 0 to 1, if it is known.
    pub fraction: Option<f64>,
    /// Completed requests.
    pub requests: u64,
    /// Simulated time since the start, in picoseconds.
    pub time: Time,
    /// Pages programmed for each page that the host wrote since the start; nothing before the first.
    pub write_amplification: Option<f64>,
    /// Erased blocks of the whole drive.
    pub free_blocks: u32,
}

/// The state of a drive when some work began, to measure its progress from.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    written: Written,
    time: Time,
}

impl Start {
    pub fn new(drive: &impl Device) -> Self {
        Self { written: drive.written(), time: drive.now() }
    }

    /// How far the drive has come since.
    pub fn progress(&self, drive: &impl Device, fraction: Option<f64>, requests: u64) -> Progress {
        Progress {
            fraction,
            requests,
            time: drive.now() - self.time,
            write_amplification: amplification(drive, self.written),
            free_blocks: drive.free_blocks(),
        }
    }
}

/// Write amplification since what was written was `before`; nothing if the host wrote nothing.
pub(crate) fn amplification(drive: &impl Device, before: Written) -> Option<f64> {
    let now = drive.written();
    let units = now.host_units - before.host_units;
    let pages = units as f64 / f64::from(drive.units_per_page());
    (units > 0).then(|| (now.programs - before.programs) as f64 / pages)
}
