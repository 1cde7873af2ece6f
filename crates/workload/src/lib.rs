//! What turns a load into a stream of requests: trace readers and synthetic jobs.
//!
//! A [`LoadFile`] says what the load is; [`Load::open`] opens it for a drive of a given size and gives one [`LoadStream`] a
//! trace or job, whose requests a driver sends by the stream's [`Pacing`]. [`detect`] and [`info`] look into a trace without
//! a drive.
//!
//! Nothing is guessed in silence: formats that look alike have to be named, a request beyond the drive is an error until the
//! user says what to do with it, and every error names file, line and field.
#![forbid(unsafe_code)]

mod address;
mod compress;
mod device;
mod distribution;
mod error;
mod fields;
mod info;
mod job;
mod lines;
mod load;
mod logexp;
mod number;
mod options;
mod plan;
mod reader;
mod replay;
mod synth;
#[cfg(test)]
mod testing;

pub use compress::Compression;
pub use error::{system_words, LineError, WorkloadError};
pub use info::{info, DeviceInfo, TraceInfo};
pub use job::{Bytes, JobOptions, RateProcess, Rw};
pub use load::{Load, LoadFile, LoadStream, Pacing};
pub use options::{Backwards, Columns, Devices, Pace, PastEnd, TimeUnit, TraceFormat, TraceOptions, ZeroSize};
pub use reader::detect::{detect, Detected};
pub use reader::table::{Row, RowProblem, Rows, Table};
pub use reader::{Record, TraceReader};
