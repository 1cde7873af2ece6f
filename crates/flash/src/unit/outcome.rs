//! Result of an experiment.

use super::plant::Plant;
use super::Experiment;
use crate::geometry::Geometry;
use crate::parts::{cut, operation, stage_name};
use crate::recorder::Logged;
use serde::Serialize;
use wordline_base::{Histogram, Time};
use wordline_nand::chain::{self, Cycle};
use wordline_nand::log::What;
use wordline_nand::times::{DieTimes, SegmentUse};
use wordline_nand::wear::WearCounts;
use wordline_nand::{Command, Timing};

const PS_PER_US: f64 = 1e6;
const PS_PER_S: f64 = 1e12;
const MIB: f64 = 1_048_576.0;

/// Times of the stages, summed over the dies, in microseconds. In cache mode stages of a die overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageTimes {
    /// Command cycles.
    pub cle: f64,
    /// Address cycles.
    pub ale: f64,
    /// Data into the registers.
    pub tir: f64,
    /// Data out of the registers.
    pub tor: f64,
    /// The waits tADL, tWB, tRR, tCCS and tWHR.
    pub wait: f64,
    /// tDBSY.
    pub dummy: f64,
    /// Register to register (tRCBSY, tCBSY).
    pub register: f64,
    /// Cells to register.
    pub ton: f64,
    /// Register to cells.
    pub tin: f64,
    /// Erase.
    pub ber: f64,
}

/// Latencies of requests, in microseconds; null without requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latencies {
    /// Mean.
    pub mean: Option<f64>,
    /// Minimum.
    pub min: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

/// One stage of a die.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageEntry {
    /// The die.
    pub die: u32,
    /// The plane, or the first of several.
    pub plane: u32,
    /// Number of the command, in order of start.
    pub command: u64,
    /// Kind of the command: read, program, erase, copyback.
    pub operation: &'static str,
    /// CLE, ALE, TIR, TOR, wait, TON, TIN, BER, dummy, register, suspend.
    pub stage: &'static str,
    /// Start, in microseconds.
    pub start_us: f64,
    /// End, in microseconds.
    pub end_us: f64,
}

/// Energy, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EnergyShares {
    /// Total.
    pub total: f64,
    /// TON, TIN and BER.
    pub cells: f64,
    /// CLE, ALE, TIR and TOR.
    pub bus: f64,
    /// Idle dies.
    pub standby: f64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Completed requests.
    pub requests: u64,
    /// Page transactions.
    pub pages: u64,
    /// Bytes of the requests.
    pub bytes: u64,
    /// Flash commands.
    pub commands: u64,
    /// Pages in multi-plane commands.
    pub multi_plane_pages: u64,
    /// Simulated time, in seconds.
    pub simulated_s: f64,
    /// Bytes of requests per simulated second, in MiB/s.
    pub bandwidth_mib_s: f64,
    /// Requests over simulated time.
    pub iops: f64,
    /// Latency of requests.
    pub latency_us: Latencies,
    /// Times of the stages of the dies.
    pub stages_us: StageTimes,
    /// Time in which a die was ready and waited for the bus, summed over the dies.
    pub contention_us: f64,
    /// Time in which the bus was busy.
    pub bus_busy_us: f64,
    /// Idle time of the dies, summed over the dies.
    pub idle_us: f64,
    /// Energy, in joules.
    pub energy_j: EnergyShares,
    /// Retries and failures, if the package wears.
    pub wear: WearCounts,
    /// Stages, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<StageEntry>,
    /// Latencies, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latencies_us: Vec<f64>,
}

/// Counters of a running experiment.
pub struct Books {
    commands: u64,
    multi_plane_pages: u64,
    requests: u64,
    bytes: u64,
    histogram: Histogram,
    wanted: bool,
    latencies: Vec<Time>,
    /// Time in which dies had a command.
    serving: Time,
}

impl Books {
    pub fn new(experiment: &Experiment) -> Self {
        Self {
            commands: 0,
            multi_plane_pages: 0,
            requests: 0,
            bytes: 0,
            histogram: Histogram::default(),
            wanted: experiment.latencies,
            latencies: Vec::new(),
            serving: 0,
        }
    }

    #[inline]
    pub fn issued(&mut self, command: &Command) {
        self.commands += 1;
        if command.planes() > 1 {
            self.multi_plane_pages += command.planes() as u64;
        }
    }

    #[inline]
    pub fn request_done(&mut self, latency: Time, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
        self.histogram.record(latency);
        if self.wanted {
            self.latencies.push(latency);
        }
    }

    #[inline]
    pub fn served(&mut self, time: Time) {
        self.serving += time;
    }

    /// Sums the times of the dies. A workload without requests counts its `pages` as requests, and `bytes` of data.
    pub fn close(
        self,
        plant: &mut Plant,
        geometry: &Geometry,
        experiment: &Experiment,
        pages: u64,
        bytes: u64,
    ) -> Outcome {
        let dies = geometry.dies();
        let seconds = plant.now as f64 / PS_PER_S;
        let times: Vec<DieTimes> = (0..dies).map(|die| plant.flash().die_times(die)).collect();
        let (requests, bytes) = if self.requests > 0 { (self.requests, self.bytes) } else { (pages, bytes) };
        let us = |time: Option<Time>| time.map(|time| time as f64 / PS_PER_US);
        let whole = plant.now * Time::from(dies);
        let serving = if self.serving > 0 { self.serving } else { whole };
        let log = if experiment.stage_log { stages(&plant.recorded(), plant.flash().timing()) } else { Vec::new() };
        let energy = plant.flash().energy(plant.now, &experiment.nand.energy);
        let h = &self.histogram;
        Outcome {
            requests,
            pages,
            bytes,
            commands: self.commands,
            multi_plane_pages: self.multi_plane_pages,
            simulated_s: seconds,
            bandwidth_mib_s: if seconds > 0.0 { bytes as f64 / MIB / seconds } else { 0.0 },
            iops: if seconds > 0.0 { requests as f64 / seconds } else { 0.0 },
            latency_us: Latencies {
                mean: h.mean().map(|mean| mean / PS_PER_US),
                min: us(h.min()),
                p50: us(h.quantile(0.5)),
                p90: us(h.quantile(0.9)),
                p99: us(h.quantile(0.99)),
                max: us(h.max()),
            },
            stages_us: sums(&times, plant.flash().timing()),
            contention_us: times.iter().map(|times| times.contention as f64).sum::<f64>() / PS_PER_US,
            bus_busy_us: plant.flash().channel_times(0).busy as f64 / PS_PER_US,
            idle_us: whole.saturating_sub(serving) as f64 / PS_PER_US,
            energy_j: EnergyShares {
                total: energy.total(),
                cells: energy.cells(),
                bus: energy.bus(),
                standby: energy.standby_j,
            },
            wear: plant.flash().wear_counts(),
            log,
            latencies_us: self.latencies.iter().map(|&time| time as f64 / PS_PER_US).collect(),
        }
    }
}

/// Stages of all dies.
fn sums(dies: &[DieTimes], timing: &Timing) -> StageTimes {
    let mut sum = StageTimes::default();
    for times in dies {
        for segment in chain::ALL {
            let SegmentUse { count: uses, time: bus } = times.bus[segment as usize];
            let fixed = timing.fixed(segment);
            let part = |time: Time| (time * uses) as f64 / PS_PER_US;
            sum.cle += part(fixed.command);
            sum.ale += part(fixed.address);
            sum.wait += part(fixed.wait);
            let data = bus as f64 / PS_PER_US - part(fixed.command + fixed.address + fixed.wait);
            if segment.spec().cycles.contains(&Cycle::DataIn) {
                sum.tir += data;
            } else {
                sum.tor += data;
            }
        }
        sum.dummy += times.dummy as f64 / PS_PER_US;
        sum.register += times.register as f64 / PS_PER_US;
        let stages = times.stages();
        sum.ton += stages[0] as f64 / PS_PER_US;
        sum.tin += stages[1] as f64 / PS_PER_US;
        sum.ber += stages[2] as f64 / PS_PER_US;
    }
    sum
}

/// The log, with bus uses split into their stages.
fn stages(log: &[Logged], timing: &Timing) -> Vec<StageEntry> {
    let mut list = Vec::new();
    for logged in log {
        let entry = &logged.entry;
        let mut add = |stage, start: Time, end: Time| {
            list.push(StageEntry {
                die: logged.die,
                plane: entry.page.plane,
                command: logged.command,
                operation: operation(entry.kind),
                stage,
                start_us: start as f64 / PS_PER_US,
                end_us: end as f64 / PS_PER_US,
            });
        };
        match entry.what {
            What::Array(stage) => add(stage_name(stage), entry.start, entry.end),
            What::Bus(segment) => {
                let data = entry.end - entry.start - timing.on_bus(segment, 0);
                cut(segment, timing, data, entry.start, &mut add);
            }
        }
    }
    list.sort_by(|a, b| a.start_us.total_cmp(&b.start_us).then(a.die.cmp(&b.die)).then(a.end_us.total_cmp(&b.end_us)));
    list
}
