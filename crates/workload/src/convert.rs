//! Conversion of a trace to another format.

use crate::error::WorkloadError;
use crate::look::explained;
use crate::options::TraceOptions;
use crate::progress::Reading;
use crate::reader::detect::Detected;
use crate::reader::{LeftOut, TraceReader};
use crate::replay::check_speed;
use crate::write::{TraceWriter, WriteError, Written};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Requests between two progress reports.
const REPORTED: u64 = 1 << 14;

/// Result of a conversion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Converted {
    /// Format, compression, and how the format of the source was found.
    pub detected: Detected,
    /// Summary of the written trace.
    #[serde(flatten)]
    pub written: Written,
    /// True if the source has time stamps. Without them, all written times are 0, and only the order counts.
    pub timed: bool,
    /// True if the written file records that; otherwise it must be replayed with `pace = "asap"`.
    pub says_untimed: bool,
    /// Requests of zero bytes in the source that were left out (`zero_size = "skip"`).
    pub skipped: u64,
    /// Requests of the source whose time ran backwards and was clamped (`backwards = "clamp"`).
    pub clamped: u64,
    /// Requests of the source left out or changed while reading.
    pub left_out: LeftOut,
}

/// Reason why a trace could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// Of the source, or an option.
    #[error(transparent)]
    Read(#[from] WorkloadError),
    /// Of the result.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Reads the trace at `path` and writes its requests.
///
/// Uses the options about reading, `limit` (requests written at most) and `speed` (times are divided by it). Takes
/// requests from `window.0` up to but excluding `window.1`, in ps of the trace's own time since its first kept request;
/// their times then start at `window.0`. `watch` gets the progress and can stop the conversion; the result is then
/// `None`, and the output must be discarded.
///
/// # Errors
/// The source cannot be read or has no request in the window, or the result cannot be written or its format cannot hold
/// it.
pub fn convert(
    path: &Path,
    options: &TraceOptions,
    window: (u128, u128),
    writer: TraceWriter,
    watch: &mut dyn FnMut(Reading) -> bool,
) -> Result<Option<Converted>, ConvertError> {
    convert_as(path, options, window, |_| Ok(writer), watch)
}

/// As [`convert`], to the writer that `make` creates for the detected source.
///
/// # Errors
/// As [`convert`].
pub fn convert_as(
    path: &Path,
    options: &TraceOptions,
    window: (u128, u128),
    make: impl FnOnce(&Detected) -> Result<TraceWriter, WriteError>,
    watch: &mut dyn FnMut(Reading) -> bool,
) -> Result<Option<Converted>, ConvertError> {
    let speed = options.speed;
    check_speed(speed)?;
    let mut reader = TraceReader::open(path, options)?;
    let mut writer = make(reader.detected())?;
    let timed = reader.timed();
    if !timed {
        writer.mark_untimed();
    }
    let says_untimed = !timed && writer.format().says_untimed();
    let limit = options.limit.unwrap_or(u64::MAX);
    let mut read = 0_u64;
    while writer.requests() < limit {
        let mut record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                let error = explained(error, &reader, path, options, watch);
                return error.map_or(Ok(None), |error| Err(error.into()));
            }
        };
        read += 1;
        if read.is_multiple_of(REPORTED) && !watch(Reading { fraction: reader.progress(), requests: read }) {
            return Ok(None);
        }
        if record.time_ps >= window.1 {
            break;
        }
        if record.time_ps < window.0 {
            continue;
        }
        record.time_ps -= window.0;
        if speed != 1.0 {
            record.time_ps = (record.time_ps as f64 / speed) as u128;
        }
        writer.write(&record, reader.devices())?;
    }
    if writer.requests() == 0 {
        let what = "no request to write: none is in the time window, or all were dropped";
        return Err(WriteError::Use(format!("{}: {what}", path.display())).into());
    }
    let detected = reader.detected().clone();
    let written = writer.finish()?;
    let (skipped, clamped) = (reader.skipped(), reader.clamped());
    let left_out = reader.left_out();
    Ok(Some(Converted { detected, written, timed, says_untimed, skipped, clamped, left_out }))
}
