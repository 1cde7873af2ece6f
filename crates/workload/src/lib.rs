//! Request streams of a workload: trace readers and synthetic jobs.
//!
//! A [`LoadFile`] describes the workload. [`Load::open`] opens it for a drive of a given size and returns one
//! [`LoadStream`] per trace or job; a driver sends its requests by the stream's [`Pacing`]. [`detect`] and [`info`]
//! read a trace without a drive.
//!
//! Nothing is guessed: formats that look alike must be named, a request beyond the drive is an error until the user
//! chooses a remedy, and every error names file, line and field.
#![forbid(unsafe_code)]

mod address;
mod ahead;
mod compress;
mod convert;
mod device;
mod distribution;
mod error;
mod fields;
mod files;
mod fio;
mod format_options;
mod info;
mod job;
mod lines;
mod load;
mod logexp;
mod look;
mod meaning;
mod members;
mod number;
mod options;
mod parquet_text;
mod plan;
mod progress;
mod rates;
mod reader;
mod replay;
mod scan;
mod shape;
mod sizes;
mod standin;
mod steady;
mod synth;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod usual;
mod write;
mod zones;

pub use compress::{heed, Compression};
pub use convert::{convert, convert_as, ConvertError, Converted};
pub use error::{system_words, JobFileError, LineError, Place, WorkloadError};
pub use fio::{fio_words, FioFile, FioJob};
pub use format_options::{Columns, TimeUnit, Unmatched};
pub use info::{info, info_watched, DeviceInfo, Measured, TraceInfo, USUAL_WINDOW};
pub use job::{Bytes, JobOptions, RateProcess, Rw, Sequencer};
pub use load::{Load, LoadFile, LoadStream, Manner, Pacing};
pub use meaning::check_meaning;
pub use members::Space;
pub use options::{Backwards, Devices, Join, Pace, PastEnd, Spread, TraceOptions, ZeroSize};
pub use progress::Reading;
pub use reader::columns::{column, Kind, Unclear};
pub use reader::detect::{detect, stand_in, Detected};
pub use reader::formats::{format_table, TraceFormat};
pub use reader::table::{Row, RowProblem, Rows, Table};
pub use reader::{LeftOut, Record, TraceReader};
pub use shape::arrivals::{ArrivalInfo, Dispersion};
pub use shape::order::{SeekInfo, SequenceInfo};
pub use shape::pages::{FootprintInfo, LifeInfo, LifeSpread, RewriteInfo};
pub use shape::sizes::{AlignmentInfo, SizeInfo, SizeShare};
pub use standin::{mark, synthesise, Model, StandIn, Synthesised};
pub use steady::{Steady, SteadyKind};
pub use write::{OutputFormat, TraceWriter, WriteError, WriteOptions, Written};
