//! A streaming writer of Perfetto traces: a tree of named tracks with slices, instants and counters, and flows between
//! slices. It is independent of drives.
//!
//! The file opens in ui.perfetto.dev and in Perfetto's trace processor (SQL). Only a fixed-size buffer is kept: memory
//! grows with the number of tracks and distinct names, not with events.
//!
//! Perfetto counts nanoseconds. Every time is rounded down, so that slices that touch in picoseconds touch in the file;
//! the exact times are annotations: `start_ps` and `duration_ps` of a slice, `time_ps` of an instant.
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
