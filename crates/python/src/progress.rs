//! Progress reports to the caller, and its request to stop.

use crate::failure::Failure;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wordline_drive::Progress;

/// Works on a separate thread and checks for interrupts meanwhile. After an interrupt the thread ends with the next
/// piece of a file.
pub fn interruptible<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let (sender, receiver) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let heeded = Arc::clone(&stop);
    let worker = thread::spawn(move || {
        wordline_workload::heed(heeded);
        drop(sender.send(work()));
    });
    loop {
        match receiver.recv_timeout(EVERY) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    return Err(Failure::Python(interrupt));
                }
            }
            // It ended without a result, so it panicked.
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(Failure::Run("a thread gave no answer".into())),
            },
        }
    }
}

const EVERY: Duration = Duration::from_millis(100);

/// The caller's progress function.
pub struct Reporter {
    function: Py<PyAny>,
    /// Its method for the state of the drive, if it has one: write amplification (or `None`) and free blocks.
    drive: Option<Py<PyAny>>,
    last: Instant,
    /// True after an interrupt.
    pub interrupted: bool,
    /// The exception of the function, if it was not an interrupt.
    pub error: Option<PyErr>,
}

impl Reporter {
    pub fn new(function: Py<PyAny>) -> Self {
        let drive = Python::attach(|py| function.getattr(py, "of_drive").ok());
        Self { function, drive, last: Instant::now(), interrupted: false, error: None }
    }

    /// Reports, if it is time to; true to continue.
    pub fn report(&mut self, phase: &str, fraction: Option<f64>, requests: u64, seconds: f64) -> bool {
        self.tell((phase, fraction, requests, seconds), None)
    }

    /// The same for a drive, with write amplification and free blocks.
    pub fn of_drive(&mut self, phase: &str, at: Progress) -> bool {
        let seconds = at.time as f64 / 1e12;
        self.tell((phase, at.fraction, at.requests, seconds), Some((at.write_amplification, at.free_blocks)))
    }

    fn tell(&mut self, told: (&str, Option<f64>, u64, f64), drive: Option<(Option<f64>, u32)>) -> bool {
        if self.interrupted || self.error.is_some() {
            return false;
        }
        if self.last.elapsed() < EVERY {
            return true;
        }
        self.last = Instant::now();
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            if let (Some(hears), Some(figures)) = (&self.drive, drive) {
                hears.call1(py, figures)?;
            }
            self.function.call1(py, told)?;
            py.check_signals()
        });
        if let Err(error) = outcome {
            if Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py)) {
                self.interrupted = true;
            } else {
                self.error = Some(error);
            }
            return false;
        }
        true
    }
}
