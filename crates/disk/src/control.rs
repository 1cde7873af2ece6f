//! What others may ask of a server that runs: a view of an export, a pause, another pace, another drive.
//!
//! Whoever asks leaves a wish, wakes the event loop, and waits for its answer. The loop takes wishes only when it is woken, so a server
//! that nobody asks pays nothing.

use crate::sync::Waker;
use serde_json::{json, Value};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use wordline_drive::probe::Probe;
use wordline_drive::{ConfigError, Drive};

/// An export at one instant.
#[derive(Clone, Debug)]
pub struct View {
    /// Its name.
    pub export: String,
    /// Time of its clock since the start, in simulated seconds.
    pub clock_s: f64,
    /// Time on the wall since the start, in seconds.
    pub wall_s: f64,
    /// Simulated seconds in a second; none if the drive's time jumps.
    pub pace: Option<f64>,
    /// True while the clock stands still.
    pub paused: bool,
    /// True while the drive is drained for a swap.
    pub swapping: bool,
    /// Connections with this export open.
    pub clients: usize,
    /// Commands in progress, those that wait for a slot of the drive included.
    pub in_progress: usize,
    /// How far the drive is behind its clock now, and was at most, in microseconds.
    pub lag_us: (f64, f64),
    /// Figures of the server, as in a result.
    pub server: Value,
    /// Bytes that the store takes.
    pub store_bytes: u64,
    /// Why the drive serves no more.
    pub fault: Option<String>,
    /// The drive.
    pub drive: Probe,
}

impl View {
    /// The view as JSON: docs/live-disk.md names its keys.
    #[must_use]
    pub fn document(&self) -> Value {
        let mut told = self.drive.document();
        told["live"] = json!({
            "export": self.export,
            "clock_s": self.clock_s,
            "wall_s": self.wall_s,
            "pace": self.pace,
            "paused": self.paused,
            "swapping": self.swapping,
            "clients": self.clients,
            "in_progress": self.in_progress,
            "lag_now_us": self.lag_us.0,
            "lag_us": self.lag_us.1,
            "server": self.server,
            "store_bytes": self.store_bytes,
            "fault": self.fault,
        });
        told
    }
}

/// Why something is not done.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The server has ended, or its drive has failed meanwhile.
    #[error("the server has ended, or the drive has failed")]
    Ended,
    /// A pace for a drive whose time jumps.
    #[error("the time of this disk jumps from event to event, so it has no pace; serve it without --zero-delay")]
    Jumps,
    /// A swap while the clock stands still.
    #[error("the disk is paused, and a swap first drains the drive, which takes simulated time; resume it before")]
    Paused,
    /// A swap during a swap.
    #[error("the drive is being drained for another swap; wait for its end")]
    Swapping,
    /// The state of the old drive is none for the new one.
    #[error(transparent)]
    Misfit(ConfigError),
}

/// A swap that is done.
#[derive(Debug)]
pub struct Swapped {
    /// The old drive, at rest, whose figures have ended.
    pub old: Box<Drive>,
    /// When it was, on the clock of the export, in simulated picoseconds.
    pub at: u64,
    /// How long the old drive was drained, in simulated picoseconds.
    pub drained: u64,
}

/// Something that is asked for, and the way back for the answer.
pub(crate) enum Wish {
    View { export: usize, cells: bool, tell: Sender<View> },
    Pause(bool),
    Pace { pace: f64, tell: Sender<Result<(), Refused>> },
    Swap { export: usize, drive: Box<Drive>, tell: Sender<Result<Swapped, Refused>> },
    Settle { export: usize },
}

/// Wishes that wait, in their order; none once the server has ended.
#[derive(Clone)]
pub(crate) struct Asked(Arc<Mutex<Option<Vec<Wish>>>>);

impl Default for Asked {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(Vec::new()))))
    }
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

impl Asked {
    fn ask(&self, waker: &Waker, wish: Wish) {
        if let Some(wishes) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            wishes.push(wish);
        }
        waker.wake();
    }

    /// Asks for something that has an answer. A wish that is dropped answers that the server has ended.
    fn answer<T>(&self, waker: &Waker, wish: impl FnOnce(Sender<T>) -> Wish) -> Option<T> {
        let (tell, told): (Sender<T>, Receiver<T>) = channel();
        self.ask(waker, wish(tell));
        told.recv().ok()
    }

    pub fn view(&self, waker: &Waker, export: usize, cells: bool) -> Option<View> {
        self.answer(waker, |tell| Wish::View { export, cells, tell })
    }

    pub fn pause(&self, waker: &Waker, paused: bool) {
        self.ask(waker, Wish::Pause(paused));
    }

    pub fn set_pace(&self, waker: &Waker, pace: f64) -> Result<(), Refused> {
        self.answer(waker, |tell| Wish::Pace { pace, tell }).unwrap_or(Err(Refused::Ended))
    }

    pub fn swap(&self, waker: &Waker, export: usize, drive: Box<Drive>) -> Result<Swapped, Refused> {
        self.answer(waker, |tell| Wish::Swap { export, drive, tell }).unwrap_or(Err(Refused::Ended))
    }

    pub fn settle(&self, waker: &Waker, export: usize) {
        self.ask(waker, Wish::Settle { export });
    }

    /// The wishes that wait.
    pub fn take(&self) -> Vec<Wish> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The server has ended: nobody waits for an answer any more.
    pub fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
