//! A streaming writer of Perfetto traces: a tree of named tracks with slices, instants and counters on them, and flows
//! between slices. Knows nothing of drives.
//!
//! The file opens in ui.perfetto.dev and in Perfetto's trace processor (SQL). Only a buffer of fixed size is kept:
//! memory grows with the number of tracks and different names, not with events.
//!
//! Perfetto counts nanoseconds. Every time is rounded down, so that slices that touch in picoseconds touch in the file;
//! the exact times stand beside, as the annotations `start_ps` and `duration_ps` of a slice, `time_ps` of an instant.
#![forbid(unsafe_code)]

mod error;
mod event;
mod names;
#[cfg(test)]
mod tests;
mod timeline;
mod wire;

pub use error::TimelineError;
pub use event::{Arg, Event, Flow};
pub use timeline::{Timeline, TrackId};
