//! The drive as a whole in each interval.

use crate::drive::{Completion, Drive};
use crate::metrics::QUANTILES;
use crate::rows::{IntervalRow, Sink};
use wordline_base::{Histogram, Op, Time};
use wordline_firmware::task::ByTask;
use wordline_firmware::{Counters, PlaneUse, Waited};

/// Sums of busy time over all dies, over all channels, and of the link's directions.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    dies: Time,
    channels: Time,
    link: [Time; 2],
}

impl Busy {
    fn at(drive: &Drive, time: Time) -> Self {
        let (kernel, flash) = (drive.kernel(), drive.kernel().flash());
        let [to_drive, to_host] = drive.wires().map(|wire| wire.used(time));
        Self {
            dies: (0..flash.geometry().dies()).map(|die| kernel.occupied(die, time).iter().sum::<Time>()).sum(),
            channels: (0..flash.geometry().channels).map(|channel| flash.channel_used(channel, time)).sum(),
            link: [to_drive, if drive.is_half_duplex() { to_drive } else { to_host }],
        }
    }
}

/// How long operations have waited; nothing while no accounts are kept.
fn waited(drive: &Drive) -> ByTask<Waited> {
    drive.kernel().waited().copied().unwrap_or_default()
}

/// What happens in the current interval.
#[derive(Clone, Debug)]
pub(super) struct Periods {
    origin: Time,
    latency: [Histogram; 4],
    bytes: [u64; 4],
    queue: u32,
    queue_max: u32,
    /// Requests times time, up to `changed`.
    queue_area: u128,
    changed: Time,
    counters: Counters,
    waited: ByTask<Waited>,
    plane_use: PlaneUse,
    busy: Busy,
}

impl Periods {
    pub fn new(drive: &Drive) -> Self {
        Self {
            origin: drive.now(),
            latency: Default::default(),
            bytes: [0; 4],
            queue: 0,
            queue_max: 0,
            queue_area: 0,
            changed: drive.now(),
            counters: *drive.kernel().counters(),
            waited: waited(drive),
            plane_use: drive.kernel().plane_use(),
            busy: Busy::at(drive, drive.now()),
        }
    }

    fn pass_time(&mut self, now: Time) {
        self.queue_area += u128::from(now - self.changed) * u128::from(self.queue);
        self.changed = now;
    }

    /// Nothing happens until a time.
    pub fn skip(&mut self, to: Time) {
        self.changed = to;
    }

    /// The drive has begun to count anew.
    pub fn count_anew(&mut self, drive: &Drive, now: Time) {
        (self.counters, self.busy) = (*drive.kernel().counters(), Busy::at(drive, now));
        (self.waited, self.plane_use) = (waited(drive), drive.kernel().plane_use());
    }

    /// A request got a slot.
    pub fn submitted(&mut self, now: Time) {
        self.pass_time(now);
        self.queue += 1;
        self.queue_max = self.queue_max.max(self.queue);
    }

    /// A request is done.
    pub fn completed(&mut self, completion: &Completion) {
        self.pass_time(completion.time);
        self.queue -= 1;
        let op = completion.request.op as usize;
        self.latency[op].record(completion.time - completion.request.arrival);
        self.bytes[op] += u64::from(completion.request.bytes);
    }

    /// The interval is over. One in which nothing happened has no row.
    pub fn close(&mut self, drive: &Drive, (start, end): (Time, Time), sink: &mut dyn Sink) {
        self.pass_time(end);
        let (counters, busy, waited) = (*drive.kernel().counters(), Busy::at(drive, end), waited(drive));
        let plane_use = drive.kernel().plane_use();
        let requests: [u64; 4] = std::array::from_fn(|op| self.latency[op].count());
        let ops = std::array::from_fn(|class| counters.ops[class] - self.counters.ops[class]);
        let dies = busy.dies - self.busy.dies;
        if requests != [0; 4] || self.queue_max > 0 || ops.iter().any(|&count| count > 0) || dies > 0 {
            let mut all = Histogram::default();
            self.latency.iter().for_each(|histogram| all.merge(histogram));
            let [read, write] = [Op::Read, Op::Write].map(|op| &self.latency[op as usize]);
            let geometry = drive.kernel().flash().geometry();
            let length = (end - start).max(1) as f64;
            let host_units = counters.host_units - self.counters.host_units;
            let host_pages = host_units as f64 / f64::from(drive.kernel().plan().units_per_page);
            let programs = counters.programs() - self.counters.programs();
            sink.interval(&IntervalRow {
                start: start - self.origin,
                end: end - self.origin,
                requests,
                bytes: self.bytes,
                mean: std::array::from_fn(|op| self.latency[op].mean()),
                max: std::array::from_fn(|op| self.latency[op].max()),
                quantiles: [&all, read, write].map(|histogram| QUANTILES.map(|(_, q)| histogram.quantile(q))),
                queue_mean: self.queue_area as f64 / length,
                queue_max: self.queue_max,
                free_blocks: drive.kernel().blocks().free_blocks(),
                wear: drive.kernel().blocks().wear(),
                slc_blocks: drive.kernel().blocks().slc_blocks(),
                ops,
                write_amplification: (host_units > 0).then(|| programs as f64 / host_pages),
                moved_units: counters.moved_units() - self.counters.moved_units(),
                map: counters.map_since(&self.counters),
                waited: std::array::from_fn(|task| waited[task].mean_since(&self.waited[task])),
                plane_utilisation: plane_use.since(&self.plane_use).share(geometry.planes_per_die),
                dies_busy: dies as f64 / length / f64::from(geometry.dies()),
                channels_busy: (busy.channels - self.busy.channels) as f64 / length / f64::from(geometry.channels),
                standing: drive.kernel().standing(),
                most_reads: drive.kernel().standing().and_then(|_| drive.kernel().most_reads()),
                link_busy: std::array::from_fn(|at| (busy.link[at] - self.busy.link[at]) as f64 / length),
            });
        }
        if requests != [0; 4] {
            self.latency = Default::default();
        }
        self.bytes = [0; 4];
        (self.queue_max, self.queue_area) = (self.queue, 0);
        (self.counters, self.busy, self.waited, self.plane_use) = (counters, busy, waited, plane_use);
    }
}
