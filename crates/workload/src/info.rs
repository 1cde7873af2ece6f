//! What is in a trace: counts, sizes, randomness and footprint.

use crate::error::WorkloadError;
use crate::options::TraceOptions;
use crate::reader::detect::Detected;
use crate::reader::{LeftOut, Record, TraceReader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use wordline_base::Op;

/// A summary of a trace, as it stands in the file: nothing is rounded to sectors or moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceInfo {
    /// Format, compression, and how the format was found.
    pub detected: Detected,
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes trimmed.
    pub trimmed_bytes: u64,
    /// Mean size of a read in bytes; nothing without reads.
    pub mean_read_bytes: Option<f64>,
    /// Mean size of a write in bytes; nothing without writes.
    pub mean_write_bytes: Option<f64>,
    /// Smallest and largest request in bytes.
    pub size_bytes: [u32; 2],
    /// Seconds from the first request to the last.
    pub duration_s: f64,
    /// Share of requests whose first byte is not the byte after the previous request on the same device, in file order, 0 to
    /// 1. Flushes do not count.
    pub random_share: f64,
    /// End of the highest request, in bytes: a drive has to be at least this large to hold the trace as it is.
    pub extent_bytes: u64,
    /// Distinct 4 KiB pages touched, over all devices.
    pub distinct_4k_pages: u64,
    /// Share of requests whose first byte and size are multiples of 4 KiB, 0 to 1. Flushes do not count.
    pub aligned_4k_share: f64,
    /// Devices in order of first appearance; empty when the format has none.
    pub devices: Vec<DeviceInfo>,
    /// Requests of zero bytes that were left out (`zero_size = "skip"`).
    pub skipped: u64,
    /// Requests whose time ran backwards and was moved (`backwards = "clamp"`).
    pub clamped: u64,
    /// All that was left out or changed while the trace was read.
    pub left_out: LeftOut,
}

/// One device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceInfo {
    /// Name, as `device` takes it to keep only this one.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// End of its highest request, in bytes.
    pub extent_bytes: u64,
}

const PAGE: u64 = 4096;
/// Pages of one bitmap: 128 MiB of addresses in 4 KiB of memory.
const CHUNK_PAGES: u64 = 32_768;

/// A set of pages: bitmaps where there are any.
#[derive(Default)]
struct PageSet {
    /// Index into `chunks` by device and chunk number.
    index: HashMap<(u32, u64), usize>,
    chunks: Vec<Box<[u64; CHUNK_PAGES as usize / 64]>>,
    last: Option<((u32, u64), usize)>,
}

impl PageSet {
    fn insert(&mut self, device: u32, offset: u64, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let (mut page, end) = (offset / PAGE, (offset + u64::from(bytes) - 1) / PAGE + 1);
        while page < end {
            let key = (device, page / CHUNK_PAGES);
            let stop = end.min((key.1 + 1) * CHUNK_PAGES);
            let at = match self.last {
                Some((last, at)) if last == key => at,
                _ => *self.index.entry(key).or_insert_with(|| {
                    self.chunks.push(Box::new([0; CHUNK_PAGES as usize / 64]));
                    self.chunks.len() - 1
                }),
            };
            self.last = Some((key, at));
            let chunk = &mut self.chunks[at];
            while page < stop {
                let bit = page % 64;
                let count = (64 - bit).min(stop - page);
                chunk[(page % CHUNK_PAGES / 64) as usize] |= u64::MAX >> (64 - count) << bit;
                page += count;
            }
        }
    }

    fn count(&self) -> u64 {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|word| u64::from(word.count_ones())).sum()
    }
}

#[derive(Default)]
struct Totals {
    count: [u64; 4],
    bytes: [u64; 4],
    size: Option<[u32; 2]>,
    last_ps: u128,
    random: u64,
    aligned: u64,
    pages: PageSet,
    devices: Vec<DeviceInfo>,
    /// First byte after the previous request of each device.
    next: Vec<Option<u64>>,
}

impl Totals {
    fn add(&mut self, record: Record) {
        let kind = record.op as usize;
        self.count[kind] += 1;
        self.bytes[kind] += u64::from(record.bytes);
        self.last_ps = record.time_ps;
        let device = record.device as usize;
        if device >= self.devices.len() {
            self.devices.resize_with(device + 1, DeviceInfo::default);
            self.next.resize(device + 1, None);
        }
        self.devices[device].requests += 1;
        if record.op == Op::Flush {
            return;
        }
        let [least, most] = self.size.unwrap_or([record.bytes; 2]);
        self.size = Some([least.min(record.bytes), most.max(record.bytes)]);
        let end = record.offset + u64::from(record.bytes);
        self.random += u64::from(self.next[device] != Some(record.offset));
        self.next[device] = Some(end);
        self.aligned += u64::from((record.offset | u64::from(record.bytes)).is_multiple_of(PAGE));
        self.devices[device].extent_bytes = self.devices[device].extent_bytes.max(end);
        self.pages.insert(record.device, record.offset, record.bytes);
    }
}

/// Reads the trace at `path` once and sums it up. Of the options only those about reading count: format, units, columns,
/// `device`, `backwards`, `zero_size` and `limit`.
///
/// # Errors
/// As for reading a trace.
pub fn info(path: &Path, options: &TraceOptions) -> Result<TraceInfo, WorkloadError> {
    let mut reader = TraceReader::open(path, options)?;
    let mut totals = Totals::default();
    let mut left = options.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(record) = reader.next_record()? else { break };
        totals.add(record);
        left -= 1;
    }
    let [reads, writes, trims, flushes] = totals.count;
    let mean = |kind: Op| {
        let kind = kind as usize;
        (totals.count[kind] > 0).then(|| totals.bytes[kind] as f64 / totals.count[kind] as f64)
    };
    let moving = (reads + writes + trims).max(1) as f64;
    let names = reader.devices();
    let extent_bytes = totals.devices.iter().map(|device| device.extent_bytes).max();
    let mut devices = if names.is_empty() { Vec::new() } else { totals.devices };
    devices.resize_with(names.len(), DeviceInfo::default);
    for (device, name) in devices.iter_mut().zip(names) {
        device.name.clone_from(name);
    }
    Ok(TraceInfo {
        detected: reader.detected().clone(),
        requests: reads + writes + trims + flushes,
        reads,
        writes,
        trims,
        flushes,
        read_bytes: totals.bytes[Op::Read as usize],
        written_bytes: totals.bytes[Op::Write as usize],
        trimmed_bytes: totals.bytes[Op::Trim as usize],
        mean_read_bytes: mean(Op::Read),
        mean_write_bytes: mean(Op::Write),
        size_bytes: totals.size.unwrap_or_default(),
        duration_s: totals.last_ps as f64 / 1e12,
        random_share: totals.random as f64 / moving,
        extent_bytes: extent_bytes.unwrap_or(0),
        distinct_4k_pages: totals.pages.count(),
        aligned_4k_share: totals.aligned as f64 / moving,
        devices,
        skipped: reader.skipped(),
        clamped: reader.clamped(),
        left_out: reader.left_out(),
    })
}
