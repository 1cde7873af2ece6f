//! Summary of a trace: counts, sizes, order, footprint, arrivals and rewrites.

use crate::error::{option, WorkloadError};
use crate::look::explained;
use crate::options::TraceOptions;
use crate::progress::{Reading, REPORTED};
use crate::reader::detect::Detected;
use crate::reader::{LeftOut, Record, TraceReader};
use crate::shape::arrivals::{ArrivalInfo, Arrivals};
use crate::shape::order::{Order, SeekInfo, SequenceInfo};
use crate::shape::pages::{FootprintInfo, LifeInfo, Pages, RewriteInfo, PAGE};
use crate::shape::share;
use crate::shape::sizes::{Alignment, AlignmentInfo, SizeInfo, Sizes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use wordline_base::Op;

/// The K of the source's own experiments (`chang11`, IWSSPS 2009, section 5.2).
pub const USUAL_WINDOW: u32 = 10;
/// Largest K: each device keeps this many addresses, and each request is compared with them.
const LARGEST_WINDOW: u32 = 4096;
/// A summary of a trace as recorded: nothing is rounded to sectors or moved.
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
    /// Share of random requests, 0 to 1: requests that do not start at the end of the previous request on the same
    /// device, in replay order. Flushes do not count.
    pub random_share: f64,
    /// End of the highest request, in bytes: the smallest drive that holds the trace unchanged.
    pub extent_bytes: u64,
    /// Distinct 4 KiB pages touched, over all devices; estimated where `footprint.standard_error` is not 0.
    pub distinct_4k_pages: u64,
    /// Share of requests whose first byte and size are multiples of 4 KiB, 0 to 1. Flushes do not count.
    pub aligned_4k_share: f64,
    /// Distribution of sizes of all requests that move bytes; nothing without any.
    pub sizes: Option<SizeInfo>,
    /// Distribution of sizes of reads; nothing without reads.
    pub read_sizes: Option<SizeInfo>,
    /// Distribution of sizes of writes; nothing without writes.
    pub write_sizes: Option<SizeInfo>,
    /// Share of requests on multiples of powers of two. Flushes do not count.
    pub alignment: Vec<AlignmentInfo>,
    /// Requests that continue at the end of an earlier one. Flushes do not count.
    pub sequence: Option<SequenceInfo>,
    /// Distance from one request to the next. Flushes do not count.
    pub seek: Option<SeekInfo>,
    /// Distinct pages touched.
    pub footprint: FootprintInfo,
    /// Time from one request to the next; nothing below two requests.
    pub arrivals: Option<ArrivalInfo>,
    /// Share of writes to data written before; nothing without writes.
    pub rewrites: Option<RewriteInfo>,
    /// Life span and life cycle of written pages; nothing without writes.
    pub life: Option<LifeInfo>,
    /// Devices in order of first appearance; empty when the format has none.
    pub devices: Vec<DeviceInfo>,
    /// Requests of zero bytes that were left out (`zero_size = "skip"`).
    pub skipped: u64,
    /// Requests whose time ran backwards and was clamped (`backwards = "clamp"`).
    pub clamped: u64,
    /// Requests left out or changed while the trace was read.
    pub left_out: LeftOut,
}

/// One device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceInfo {
    /// Name, as given to `device` to select it.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// Its reads.
    pub reads: u64,
    /// Its writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Share of its requests that do not start at the end of the previous one, 0 to 1. Flushes do not count.
    pub random_share: f64,
    /// End of its highest request, in bytes.
    pub extent_bytes: u64,
}

/// Statistics of a trace, in the terms in which a stand-in is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Requests.
    pub requests: u64,
    /// Seconds from the first request to the last.
    pub duration_s: f64,
    /// Percentage of writes.
    pub write_percent: f64,
    /// Mean size of a read in bytes; nothing without reads.
    pub read_size_bytes: Option<f64>,
    /// Mean size of a write in bytes; nothing without writes.
    pub write_size_bytes: Option<f64>,
    /// Percentage of requests that do not start at the end of the previous one.
    pub random_percent: f64,
    /// Bytes of the distinct 4 KiB pages that are touched.
    pub footprint_bytes: u64,
    /// Mean time between two requests in µs; nothing with one request.
    pub gap_mean_us: Option<f64>,
    /// Median time between two requests in µs; nothing with one request.
    pub gap_median_us: Option<f64>,
}

/// The measures of a trace, fed with its requests.
pub(crate) struct Measures {
    count: [u64; 4],
    bytes: [u64; 4],
    last_ps: u128,
    sizes: [Sizes; 3],
    alignment: Alignment,
    order: Order,
    pages: Pages,
    arrivals: Arrivals,
    devices: Vec<DeviceTotals>,
}

#[derive(Clone, Default)]
struct DeviceTotals {
    info: DeviceInfo,
    moving: u64,
    random: u64,
}

impl Default for Measures {
    fn default() -> Self {
        Self::new(USUAL_WINDOW)
    }
}

impl Measures {
    fn new(window: u32) -> Self {
        Self {
            count: [0; 4],
            bytes: [0; 4],
            last_ps: 0,
            sizes: Default::default(),
            alignment: Alignment::default(),
            order: Order::new(window),
            pages: Pages::default(),
            arrivals: Arrivals::default(),
            devices: Vec::new(),
        }
    }

    #[inline]
    pub fn add(&mut self, record: Record) {
        let Record { device, offset, bytes, op, .. } = record;
        let kind = op as usize;
        self.count[kind] += 1;
        self.bytes[kind] += u64::from(bytes);
        self.last_ps = record.time_ps;
        self.arrivals.add(record.time_ps);
        if device as usize >= self.devices.len() {
            self.devices.resize(device as usize + 1, DeviceTotals::default());
        }
        let of = &mut self.devices[device as usize];
        of.info.requests += 1;
        match op {
            Op::Read => {
                (of.info.reads, of.info.read_bytes) = (of.info.reads + 1, of.info.read_bytes + u64::from(bytes))
            }
            Op::Write => {
                (of.info.writes, of.info.written_bytes) =
                    (of.info.writes + 1, of.info.written_bytes + u64::from(bytes));
            }
            Op::Trim => {}
            Op::Flush => return,
        }
        of.info.extent_bytes = of.info.extent_bytes.max(offset + u64::from(bytes));
        of.moving += 1;
        of.random += u64::from(!self.order.add(device, offset, bytes, op == Op::Write));
        self.sizes[kind.min(2)].add(bytes);
        self.alignment.add(offset, bytes);
        self.pages.add(device, offset, bytes, op);
    }

    fn mean(&self, op: Op) -> Option<f64> {
        share(self.bytes[op as usize], self.count[op as usize])
    }

    /// The figures from which a stand-in is made.
    pub fn measured(&self) -> Measured {
        let [reads, writes, ..] = self.count;
        let arrivals = self.arrivals.info();
        Measured {
            requests: self.count.iter().sum(),
            duration_s: self.last_ps as f64 / 1e12,
            write_percent: share(writes, reads + writes).unwrap_or(0.0) * 100.0,
            read_size_bytes: self.mean(Op::Read),
            write_size_bytes: self.mean(Op::Write),
            random_percent: share(self.order.random(), reads + writes).unwrap_or(0.0) * 100.0,
            footprint_bytes: self.pages.footprint().pages * PAGE,
            gap_mean_us: arrivals.as_ref().map(|arrivals| arrivals.mean_us),
            gap_median_us: arrivals.as_ref().map(|arrivals| arrivals.p50_us),
        }
    }

    /// Devices with their names; none when the format has no such column.
    fn devices(&self, names: &[String]) -> Vec<DeviceInfo> {
        let seen = |at: usize| self.devices.get(at).cloned().unwrap_or_default();
        let with_name = |(at, name): (usize, &String)| {
            let DeviceTotals { info, moving, random } = seen(at);
            DeviceInfo { name: name.clone(), random_share: share(random, moving).unwrap_or(0.0), ..info }
        };
        names.iter().enumerate().map(with_name).collect()
    }
}

/// Reads the trace at `path` once and summarises it. Only the options about reading are used: format, units, columns,
/// `device`, `backwards`, `zero_size` and `limit`.
///
/// # Errors
/// As for reading a trace.
pub fn info(path: &Path, options: &TraceOptions) -> Result<TraceInfo, WorkloadError> {
    let done = info_watched(path, options, USUAL_WINDOW, &mut |_| true)?;
    Ok(done.expect("nobody stops it"))
}

/// As [`info`], with K = `window` (1 to 4096) for sequentiality; `watch` gets the progress and can stop the reading;
/// the result is then `None`.
///
/// # Errors
/// As for reading a trace, and for a window out of range.
pub fn info_watched(
    path: &Path,
    options: &TraceOptions,
    window: u32,
    watch: &mut dyn FnMut(Reading) -> bool,
) -> Result<Option<TraceInfo>, WorkloadError> {
    if !(1..=LARGEST_WINDOW).contains(&window) {
        return Err(option("window", window, format!("must be 1 to {LARGEST_WINDOW} requests")));
    }
    let mut reader = TraceReader::open(path, options)?;
    let mut totals = Measures::new(window);
    let limit = options.limit.unwrap_or(u64::MAX);
    let mut requests = 0;
    while requests < limit {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => return explained(error, &reader, path, options, watch).map_or(Ok(None), Err),
        };
        totals.add(record);
        requests += 1;
        if requests.is_multiple_of(REPORTED) && !watch(Reading { fraction: reader.progress(), requests }) {
            return Ok(None);
        }
    }
    Ok(Some(summed_up(&totals, &reader)))
}

fn summed_up(totals: &Measures, reader: &TraceReader) -> TraceInfo {
    let [reads, writes, trims, flushes] = totals.count;
    let mut sizes = Sizes::default();
    totals.sizes.iter().for_each(|part| sizes.merge(part));
    let sizes = sizes.info();
    let extent_bytes = totals.devices.iter().map(|device| device.info.extent_bytes).max();
    let footprint = totals.pages.footprint();
    let moving = reads + writes + trims;
    TraceInfo {
        detected: reader.detected().clone(),
        requests: moving + flushes,
        reads,
        writes,
        trims,
        flushes,
        read_bytes: totals.bytes[Op::Read as usize],
        written_bytes: totals.bytes[Op::Write as usize],
        trimmed_bytes: totals.bytes[Op::Trim as usize],
        mean_read_bytes: totals.mean(Op::Read),
        mean_write_bytes: totals.mean(Op::Write),
        size_bytes: sizes.as_ref().map(|sizes| [sizes.min_bytes, sizes.max_bytes]).unwrap_or_default(),
        duration_s: totals.last_ps as f64 / 1e12,
        random_share: share(totals.order.random(), moving).unwrap_or(0.0),
        extent_bytes: extent_bytes.unwrap_or(0),
        distinct_4k_pages: footprint.pages,
        aligned_4k_share: totals.alignment.whole(PAGE).unwrap_or(0.0),
        sizes,
        read_sizes: totals.sizes[Op::Read as usize].info(),
        write_sizes: totals.sizes[Op::Write as usize].info(),
        alignment: totals.alignment.info(),
        sequence: totals.order.sequence(),
        seek: totals.order.seeks(),
        footprint,
        arrivals: totals.arrivals.info(),
        rewrites: totals.pages.rewrites(),
        life: totals.pages.life(),
        devices: totals.devices(reader.devices()),
        skipped: reader.skipped(),
        clamped: reader.clamped(),
        left_out: reader.left_out(),
    }
}
