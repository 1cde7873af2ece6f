//! The requests of a trace as a table.

use crate::failure::Failure;
use crate::frame::Frame;
use crate::load::Spec;
use crate::progress::interruptible;
use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringDictionaryBuilder};
use arrow_array::types::{Int8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::ArrayRef;
use std::path::Path;
use std::sync::Arc;
use wordline_workload::{TraceOptions, TraceReader, WorkloadError};

/// Columns that grow.
#[derive(Default)]
struct Columns {
    time: PrimitiveBuilder<UInt64Type>,
    op: StringDictionaryBuilder<Int8Type>,
    offset: PrimitiveBuilder<UInt64Type>,
    size: PrimitiveBuilder<UInt32Type>,
    fua: BooleanBuilder,
    device: StringDictionaryBuilder<UInt16Type>,
}

/// Up to `limit` requests of the spec's trace, as they stand there.
pub fn table(spec: &Spec, limit: Option<u64>) -> Result<Frame, Failure> {
    let (path, options) = spec.trace()?;
    let columns = interruptible(move || read(&path, &options, limit))?.map_err(|error| spec.failure(&error))?;
    Frame::new(columns).map_err(Failure::Python)
}

fn read(
    path: &Path,
    options: &TraceOptions,
    limit: Option<u64>,
) -> Result<Vec<(&'static str, ArrayRef)>, WorkloadError> {
    let mut reader = TraceReader::open(path, options)?;
    let mut columns = Columns::default();
    let mut left = [limit, options.limit].into_iter().flatten().min().unwrap_or(u64::MAX);
    while left > 0 {
        let Some(record) = reader.next_record()? else { break };
        left -= 1;
        // 2^64 ps are 213 days; no trace that a drive can replay is longer than half of it.
        columns.time.append_value(u64::try_from(record.time_ps).unwrap_or(u64::MAX));
        columns.op.append_value(record.op.name());
        columns.offset.append_value(record.offset);
        columns.size.append_value(record.bytes);
        columns.fua.append_value(record.fua);
        if let Some(name) = reader.devices().get(record.device as usize) {
            columns.device.append_value(name);
        }
    }
    let has_devices = !reader.devices().is_empty();
    let Columns { mut time, mut op, mut offset, mut size, mut fua, mut device } = columns;
    let mut all: Vec<(&str, ArrayRef)> = vec![
        ("time_ps", Arc::new(time.finish())),
        ("op", Arc::new(op.finish())),
        ("offset_bytes", Arc::new(offset.finish())),
        ("size_bytes", Arc::new(size.finish())),
        ("fua", Arc::new(fua.finish())),
    ];
    if has_devices {
        all.push(("device", Arc::new(device.finish())));
    }
    Ok(all)
}
