//! Somebody watches a run: the simulation goes on at a pace of the wall, and he sees the drive ten times a second.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};
use wordline_base::Time;
use wordline_drive::probe::Probe;
use wordline_drive::run::Onlooker;
use wordline_drive::Drive;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(100);
/// The blocks are shown once in so many looks.
const CELLS: u64 = 5;

/// Holds a run back to a pace, and shows the drive to a function.
pub struct Pacer {
    function: Py<PyAny>,
    /// Simulated seconds in a second; infinite for as fast as it goes, 0 while it stands still.
    pace: f64,
    /// When the pace changed last, on the wall and in simulated time.
    since: (Instant, Time),
    start: Time,
    due: Instant,
    looks: u64,
    stopped: bool,
    /// The exception of the function, if it was not an interrupt.
    pub error: Option<PyErr>,
}

impl fmt::Debug for Pacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pacer").field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// A pacer as the run takes it.
pub fn looks(pacer: &mut Pacer) -> &mut (dyn Onlooker + 'static) {
    pacer
}

impl Pacer {
    /// From now on, where the drive is.
    pub fn new(function: &Py<PyAny>, pace: f64, drive: &Drive) -> Self {
        let now = Instant::now();
        let function = Python::attach(|py| function.clone_ref(py));
        let start = drive.now();
        Self { function, pace, since: (now, start), start, due: now, looks: 0, stopped: false, error: None }
    }

    /// When simulated time is `time`, on the wall; never for one that stands still.
    fn wall(&self, time: Time) -> Option<Instant> {
        let (wall, base) = self.since;
        let seconds = time.saturating_sub(base) as f64 / 1e12 / self.pace;
        Duration::try_from_secs_f64(seconds).ok().and_then(|left| wall.checked_add(left))
    }

    /// Simulated time at `now`, by the pace.
    fn simulated(&self, now: Instant) -> Time {
        let (wall, base) = self.since;
        let passed = now.saturating_duration_since(wall).as_secs_f64() * self.pace * 1e12;
        // More than there is of time is as good as for ever.
        base.saturating_add(passed as Time)
    }

    /// Shows the drive, whose next event is at `next`; false ends the run.
    fn show(&mut self, drive: &Drive, next: Time) -> bool {
        let now = Instant::now();
        self.due = now + EVERY;
        let at = self.simulated(now).min(next).max(drive.now());
        let mut told = Probe::of(drive, at, self.looks.is_multiple_of(CELLS)).document();
        self.looks += 1;
        // A finite pace that the simulation cannot keep.
        let behind = if self.pace.is_finite() { self.simulated(now).saturating_sub(next) } else { 0 };
        told["run"] = json!({
            "simulated_s": (at - self.start) as f64 / 1e12,
            "pace": self.pace.is_finite().then_some(self.pace),
            "behind_s": behind as f64 / 1e12,
        });
        let told = told.to_string();
        let wanted = Python::attach(|py| -> PyResult<f64> {
            py.check_signals()?;
            let pace = self.function.call1(py, (told,))?.extract::<f64>(py)?;
            py.check_signals()?;
            Ok(pace)
        });
        match wanted {
            Ok(pace) if pace == self.pace => {}
            Ok(pace) => {
                self.since = (Instant::now(), at);
                self.pace = pace.max(0.0);
            }
            Err(error) => {
                self.stopped = true;
                if !Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py)) {
                    self.error = Some(error);
                }
            }
        }
        !self.stopped
    }
}

impl Onlooker for Pacer {
    fn before(&mut self, drive: &Drive, next: Time) -> bool {
        loop {
            if self.stopped {
                return false;
            }
            let now = Instant::now();
            if now >= self.due {
                if !self.show(drive, next) {
                    return false;
                }
                continue;
            }
            let wait = match self.wall(next) {
                Some(wall) => wall.saturating_duration_since(now),
                None => EVERY,
            };
            if wait.is_zero() {
                return true;
            }
            sleep(wait.min(self.due.saturating_duration_since(now)));
        }
    }
}
