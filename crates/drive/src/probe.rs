//! A drive at one instant, for somebody who watches it live.
//!
//! To take a probe copies what is there anyway: sums of the flash, counters, histograms of latency, and, if asked for, the state of the
//! blocks. So a drive pays for it only when somebody looks. What takes longer (percentiles, JSON) is done by [`Probe::document`], which
//! another thread may call. Sums count from when measuring began; whoever watches takes differences of two probes.

use crate::activity::{all_held, background, channels, holder_name};
use crate::block_map::{picture, Picture};
use crate::drive::{Drive, Queueing};
use crate::metrics::{bucket_top, latency_bucket, LATENCY_BUCKETS};
use serde_json::{json, Map, Value};
use wordline_base::{Histogram, Op, Time};
use wordline_firmware::Counters;

/// Percentiles that are told, by name.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)];
/// Most planes whose free blocks are told one by one.
const MOST_PLANES: u32 = 512;

/// A drive at one instant.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Simulated time since measuring began.
    elapsed: Time,
    /// Latency by operation, in small and large requests.
    latency: [[Histogram; 2]; 4],
    bytes: [u64; 4],
    gc_affected: u64,
    counters: Counters,
    units_per_page: u32,
    queueing: Queueing,
    /// Erased blocks by plane, and how many a plane has.
    free: Vec<u32>,
    blocks_per_plane: u32,
    /// Tasks that move blocks, and the blocks that they are emptying.
    jobs: Vec<(&'static str, u32)>,
    /// What each die does now; none for an idle one.
    doing: Vec<Option<&'static str>>,
    /// True for each channel whose bus is in use now.
    channels_busy: Vec<bool>,
    /// How long each channel has been in use since the drive was made.
    channels_used: Vec<Time>,
    /// How long each die has been held since the drive was made, by holder.
    held: Vec<(&'static str, Vec<Time>)>,
    /// Fewest and most erases of a block, and the sum over blocks; none if the blocks were not looked at.
    erases: Option<(u32, u32, u64)>,
    blocks: u32,
    shape: (u32, u32),
    picture: Option<Picture>,
}

impl Probe {
    /// The drive at `at`, which is not before its time nor after its next event; with the state of its blocks, which takes some
    /// nanoseconds a block, if `cells`.
    #[must_use]
    pub fn of(drive: &Drive, at: Time, cells: bool) -> Self {
        let kernel = drive.kernel();
        let (flash, blocks, tasks) = (kernel.flash(), kernel.blocks(), kernel.tasks());
        let geometry = flash.geometry();
        let told = |holder: &usize| *holder < 2 || tasks.has(background(*holder));
        let held = all_held(kernel, at).into_iter().enumerate().filter(|(holder, _)| told(holder));
        let erases = blocks.records().iter().map(|block| block.erases);
        let fold = |(least, most, sum): (u32, u32, u64), n: u32| (least.min(n), most.max(n), sum + u64::from(n));
        Self {
            elapsed: at.saturating_sub(drive.metrics.start),
            latency: drive.metrics.by_size.clone(),
            bytes: Op::ALL.map(|op| drive.metrics.bytes(op)),
            gc_affected: drive.metrics.gc_affected,
            counters: *kernel.counters(),
            units_per_page: kernel.plan().units_per_page,
            queueing: drive.queueing(),
            free: (0..geometry.planes()).map(|plane| blocks.free_in_plane(plane)).collect(),
            blocks_per_plane: geometry.blocks_per_plane,
            jobs: tasks.background().map(|task| (task.about().name, kernel.running_jobs(task))).collect(),
            doing: (0..geometry.dies()).map(|die| kernel.runs(die).and_then(|class| class.name())).collect(),
            channels_busy: (0..geometry.channels).map(|channel| flash.bus_free_at(channel) > at).collect(),
            channels_used: channels(kernel, at).collect(),
            held: held.map(|(holder, times)| (holder_name(holder), times)).collect(),
            erases: cells.then(|| erases.fold((u32::MAX, 0, 0), fold)),
            blocks: geometry.blocks(),
            shape: (geometry.channels, geometry.dies_per_channel()),
            picture: cells.then(|| picture(kernel, at)).flatten(),
        }
    }

    /// The probe as JSON: docs/live-disk.md names its keys.
    #[must_use]
    pub fn document(&self) -> Value {
        let host_pages = self.counters.host_units as f64 / f64::from(self.units_per_page);
        let programs = self.counters.programs();
        let mean = |sum: u64| sum as f64 / f64::from(self.blocks.max(1));
        let free: u32 = self.free.iter().sum();
        let q = &self.queueing;
        json!({
            "simulated_s": seconds(self.elapsed),
            "latency": self.latency_document(),
            "latency_tops_us": (0..LATENCY_BUCKETS).map(|class| bucket_top(class) / 1e6).collect::<Vec<_>>(),
            "gc_affected": self.gc_affected,
            "queue": {
                "slots": q.slots,
                "in_flight": q.in_flight,
                "queued": q.queued,
                "await_buffer": q.await_room,
                "flushing": q.flushing,
                "operations": q.operations,
            },
            "free_blocks": {
                "total": free,
                "blocks": self.blocks,
                "least_in_plane": self.free.iter().min(),
                "blocks_per_plane": self.blocks_per_plane,
                "planes": (self.free.len() as u32 <= MOST_PLANES).then_some(&self.free),
            },
            "jobs": self.jobs.iter().map(|(name, jobs)| ((*name).to_owned(), json!(jobs))).collect::<Map<_, _>>(),
            "gc": {
                "collections": self.counters.collections(),
                "moved_pages": self.counters.moved_units() as f64 / f64::from(self.units_per_page),
            },
            "flash": {
                "reads": self.counters.reads(),
                "programs": programs,
                "erases": self.counters.erases(),
                "host_pages": host_pages,
            },
            "write_amplification": (host_pages > 0.0).then(|| programs as f64 / host_pages),
            "shape": {"channels": self.shape.0, "dies_per_channel": self.shape.1},
            "dies": {
                "doing": self.doing,
                "held_s": self.held.iter()
                    .map(|(name, times)| ((*name).to_owned(), times.iter().copied().map(seconds).collect()))
                    .collect::<Map<_, _>>(),
            },
            "channels": {
                "busy": self.channels_busy,
                "used_s": self.channels_used.iter().copied().map(seconds).collect::<Vec<_>>(),
            },
            "wear": self.erases.map(|(least, most, sum)| json!({"least": least, "mean": mean(sum), "most": most})),
            "map": self.picture.as_ref().map(Picture::document),
        })
    }

    /// Latency by operation that has completed requests.
    fn latency_document(&self) -> Value {
        let mut told = Map::new();
        for op in Op::ALL {
            let [small, large] = &self.latency[op as usize];
            let mut all = small.clone();
            all.merge(large);
            if all.count() == 0 {
                continue;
            }
            let us = |value: u64| value as f64 / 1e6;
            let mut classes = vec![0_u64; LATENCY_BUCKETS];
            all.counts().for_each(|(value, n)| classes[latency_bucket(value)] += n);
            let mut row = json!({
                "requests": all.count(),
                "bytes": self.bytes[op as usize],
                "mean_us": all.mean().map(|mean| mean / 1e6),
                "max_us": all.max().map(us),
                "classes": classes,
            });
            for (name, q) in PERCENTILES {
                row[format!("{name}_us")] = json!(all.quantile(q).map(us));
            }
            told.insert(op.name().to_owned(), row);
        }
        Value::Object(told)
    }
}

fn seconds(time: Time) -> f64 {
    time as f64 / 1e12
}
