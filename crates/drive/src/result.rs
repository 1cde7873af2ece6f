//! The result of a run as one JSON document; [`keys`] documents its keys.

pub(crate) mod host;
pub mod keys;
pub(crate) mod policies;
pub(crate) mod series;

use crate::activity::{background, holder_name};
use crate::config::{DriveConfig, Parts};
use crate::drive::Drive;
use crate::drive::Reading;
use crate::metrics::{Metrics, QUANTILES};
use crate::parts::Features;
use crate::precondition::Preconditioned;
use host::Host;
use serde_json::{json, Map, Value};
use wordline_base::{Histogram, Op, Time};
use wordline_firmware::task::{Action, ByTask, Class, Task};
use wordline_firmware::{BankCounts, BankUse, Counters, Kinds, Plan, TransactionCounts, Waited, HOLDERS};

/// Version of the result schema.
pub const SCHEMA: u32 = 1;

/// What the result says beside what the drive measured.
#[derive(Debug)]
pub struct About<'a> {
    /// The drive's configuration.
    pub config: &'a DriveConfig,
    /// Its parts.
    pub parts: &'a Parts,
    /// The workload, as it was described.
    pub workload: &'a Value,
    /// Seed of the run.
    pub seed: u64,
    /// True if the run was interrupted.
    pub partial: bool,
    /// What was done before.
    pub precondition: Option<Preconditioned>,
}

fn us(picoseconds: f64) -> f64 {
    picoseconds / 1e6
}

pub(crate) fn latency(histogram: &Histogram) -> Value {
    let mut map = Map::new();
    map.insert("count".into(), histogram.count().into());
    map.insert("mean".into(), json!(histogram.mean().map(us)));
    map.insert("min".into(), json!(histogram.min().map(|v| us(v as f64))));
    for (name, q) in QUANTILES {
        map.insert(name.into(), json!(histogram.quantile(q).map(|v| us(v as f64))));
    }
    map.insert("max".into(), json!(histogram.max().map(|v| us(v as f64))));
    Value::Object(map)
}

/// The whole document: all of it up to the instant at which measuring ended.
#[must_use]
pub fn document(drive: &Drive, about: &About<'_>) -> Value {
    let metrics = &drive.metrics;
    let reading = drive.reading();
    let counters = &reading.counters;
    let plan = drive.kernel().plan();
    let host = Host::of(metrics);
    let seconds = host.seconds;
    let host_bytes = metrics.bytes(Op::Write);
    let nand_bytes = counters.programs() * u64::from(about.parts.geometry.page_bytes);
    let energy = reading.energy;
    let joined = |action| counters.joined[Class::new(Task::HOST, action).index()];
    let config = serde_json::to_value(about.config).unwrap_or(Value::Null);
    let digest = digest(drive, about, &config);
    let mut document = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "seed": about.seed,
        "digest": digest,
        "outcome": outcome(drive),
        "partial": about.partial,
        "config": config,
        "workload": about.workload,
        "drive": drive_figures(about),
        "simulated_s": seconds,
        "cpu_s": null,
        "requests": host.requests,
        "iops": host.iops,
        "bandwidth_mib_s": host.bandwidth,
        "by_op": host.by_op,
        "latency_us": host.latencies,
        "latency_by_size_us": host.by_size,
        "percentile_error": Histogram::ERROR,
        "waiting_us": host.waiting,
        "at_start": drive.rounds().at_start(),
        "written": drive.rounds().written(host_bytes, drive.logical_bytes(), counters),
        "write_amplification": (host_bytes > 0).then(|| nand_bytes as f64 / host_bytes as f64),
        "flash": {
            "reads": counters.reads(),
            "programs": counters.programs(),
            "erases": counters.erases(),
            "commands": counters.commands,
            "multi_plane_pages": counters.multi_plane.iter().sum::<u64>(),
            "copybacks": counters.copybacks,
            "suspensions": counters.suspensions,
            "merge_reads": counters.merge_reads,
            "padded_units": counters.padded_units,
            "absorbed_units": counters.absorbed_units,
        },
        "gc": {
            "collections": counters.collections(),
            "moved_pages": counters.moved_units() as f64 / f64::from(plan.units_per_page),
            "moved_units": counters.moved_units(),
            "holds": counters.holds,
            "joined_reads": joined(Action::Read),
            "joined_writes": joined(Action::Program),
            "plane_utilisation": reading.plane_use.share(about.parts.geometry.planes_per_die),
        },
        "tasks": tasks(plan, counters),
        "gc_affected_requests": metrics.gc_affected,
        "gc_affected_us": host.gc_affected,
        "wear": reading.wear,
        "energy_j": energy.total(),
        "energy": energy,
        "reliability": reliability(&reading),
        "free_blocks": reading.free_blocks,
        "utilisation": utilisation(&reading, seconds),
        "series": series::document(metrics, plan.units_per_page),
        "latency_over_time": series::latencies(metrics),
        "cdf": host.cdfs,
        "activity": reading.activity,
        "map": reading.map,
        "time_of": time_of(drive, &reading),
        "afterwards": (!about.partial).then(|| reading.afterwards(drive)),
        "precondition": about.precondition,
    });
    document["execution"] = execution(&reading, seconds);
    policies::add(&mut document, plan, &reading);
    if let Some(counts) = &reading.transactions {
        document["transactions"] = transactions(counts, seconds);
    }
    if let Some(late) = drive.late() {
        document["deadlines"] = late.document();
    }
    if let Some(counts) = &reading.banks {
        document["banks"] = banks(counts);
    }
    document
}

pub(crate) fn drive_figures(about: &About<'_>) -> Value {
    let mut figures = serde_json::to_value(about.parts.derived()).unwrap_or(Value::Null);
    if let Some(map) = figures.as_object_mut() {
        map.insert("name".into(), about.config.name.clone().into());
        map.insert("title".into(), about.config.title.clone().into());
    }
    figures
}

pub(crate) fn reliability(reading: &Reading) -> Value {
    let counts = &reading.wear_counts;
    json!({
        "read_retries": counts.retries,
        "uncorrectable_pages": counts.uncorrectable,
        "program_fails": counts.program_fails,
        "erase_fails": counts.erase_fails,
        "bad_blocks": reading.bad_blocks,
    })
}

fn utilisation(reading: &Reading, seconds: f64) -> Value {
    let share = |time: &u64| if seconds > 0.0 { (*time as f64 / 1e12 / seconds).min(1.0) } else { 0.0 };
    json!({
        "channels": reading.channels.iter().map(share).collect::<Vec<f64>>(),
        "dies": reading.dies.iter().map(share).collect::<Vec<f64>>(),
        "link_in": share(&reading.link[0]),
        "link_out": share(&reading.link[1]),
    })
}

/// Shares of the time of all dies.
fn execution(reading: &Reading, seconds: f64) -> Value {
    let all = seconds * 1e12 * reading.dies.len() as f64;
    let (held, waited) = reading.dies_held;
    let cell: Time = reading.dies.iter().sum();
    // In cache mode the bus works beside the cells.
    let bus = held.saturating_sub(cell + waited);
    let share = |time: Time| if all > 0.0 { (time as f64 / all).min(1.0) } else { 0.0 };
    json!({
        "cell": share(cell),
        "bus": share(bus),
        "contention": share(waited),
        "idle": if all > 0.0 { (1.0 - (held.max(cell) as f64 / all)).max(0.0) } else { 1.0 },
    })
}

/// What transactions of the host did.
fn transactions(counts: &TransactionCounts, seconds: f64) -> Value {
    let by_kind = |counts: [u64; 4]| {
        let [single, planes, dies, both] = counts;
        json!({"single": single, "planes": planes, "dies": dies, "dies_and_planes": both})
    };
    let of = |kinds: &Kinds| {
        let pages: u64 = kinds.pages.iter().sum();
        json!({
            "count": by_kind(kinds.count),
            "pages": by_kind(kinds.pages),
            "beside_channels": kinds.beside_channels,
            "beside_ways": kinds.beside_ways,
            "waited_us": (pages > 0).then(|| us(kinds.waited as f64 / pages as f64)),
        })
    };
    let share = |time: Time| if seconds > 0.0 { (time as f64 / 1e12 / seconds).min(1.0) } else { 0.0 };
    json!({
        "read": of(&counts.of[0]),
        "write": of(&counts.of[1]),
        "package_taken": share(counts.package_taken),
        "bus_taken": share(counts.bus_taken),
    })
}

/// What dies did for requests that wait for each other there.
fn banks(counts: &BankCounts) -> Value {
    let of = |bank: &BankUse| {
        json!({
            "parts": bank.parts,
            "waited_us": (bank.parts > 0).then(|| us(bank.waited as f64 / bank.parts as f64)),
            "ahead": bank.ahead,
        })
    };
    json!({"read": of(&counts[0]), "write": of(&counts[1])})
}

/// The latency breakdown of requests, and how long flash operations waited, if requested.
fn time_of(drive: &Drive, reading: &Reading) -> Option<Value> {
    let plan = drive.kernel().plan();
    let mut document = drive.split()?.document(plan.tasks, Features::of(plan));
    if let Some(waited) = &reading.waited {
        document["operations"] = waits(plan, waited, reading.charged.as_ref());
    }
    Some(document)
}

/// How long flash operations of each task waited for their commands, by who held their dies, and the energy that they took.
fn waits(plan: &Plan, waited: &ByTask<Waited>, charged: Option<&ByTask<f64>>) -> Value {
    let row = |task: Task| {
        let waited = &waited[task.index()];
        let mean = |sum: u128| json!((waited.operations > 0).then(|| us(sum as f64 / waited.operations as f64)));
        let mut row = json!({"count": waited.operations, "wait_us": mean(waited.sum())});
        for holder in (0..HOLDERS).filter(|&holder| holder < 2 || plan.tasks.has(background(holder))) {
            row[format!("wait_die_{}_us", holder_name(holder))] = mean(waited.held[holder]);
        }
        row["wait_free_us"] = mean(waited.free);
        row["energy_j"] = json!(charged.map(|charged| charged[task.index()]));
        (task.about().name.to_owned(), row)
    };
    Value::Object(plan.tasks.iter().map(row).collect())
}

/// Flash operations of each task.
pub(crate) fn tasks(plan: &Plan, counters: &Counters) -> Value {
    let of = |task: Task, action: Action| counters.ops[Class::new(task, action).index()];
    let shared = |task: Task, action: Action| counters.multi_plane[Class::new(task, action).index()];
    let row = |task: Task| {
        let mut row = json!({
            "reads": of(task, Action::Read),
            "programs": of(task, Action::Program),
            "multi_plane_reads": shared(task, Action::Read),
            "multi_plane_programs": shared(task, Action::Program),
        });
        if task != Task::HOST {
            row["erases"] = json!(of(task, Action::Erase));
            row["blocks"] = json!(counters.jobs[task.index()]);
            row["moved_pages"] = json!(counters.moved[task.index()] as f64 / f64::from(plan.units_per_page));
        }
        if plan.has_map() {
            row["map_reads"] = json!(counters.map_reads[task.index()]);
            row["map_writes"] = json!(counters.map_writes[task.index()]);
        }
        (task.about().name.to_owned(), row)
    };
    Value::Object(plan.tasks.iter().map(row).collect())
}

/// A hash of a text, as digests of results are written.
#[must_use]
pub fn digest_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..32].to_owned()
}

/// A hash of configuration, load, seed, version, every completion, and the state of the blocks at the end.
fn digest(drive: &Drive, about: &About<'_>, config: &Value) -> String {
    let mut hasher = begin_digest(config, about.workload, about.seed);
    hash_events(drive, &mut hasher);
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The inputs of a run in its digest.
pub(crate) fn begin_digest(config: &Value, workload: &Value, seed: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    hasher.update(config.to_string().as_bytes());
    hasher.update(workload.to_string().as_bytes());
    hasher.update(&seed.to_le_bytes());
    hasher
}

/// A hash of every completion and the state of the blocks at the end: equal where two configurations come to the same.
fn outcome(drive: &Drive) -> String {
    outcome_of(|hasher| hash_events(drive, hasher))
}

/// A hash of what `events` puts in.
pub(crate) fn outcome_of(events: impl FnOnce(&mut blake3::Hasher)) -> String {
    let mut hasher = blake3::Hasher::new();
    events(&mut hasher);
    hasher.finalize().to_hex()[..32].to_owned()
}

fn hash_events(drive: &Drive, hasher: &mut blake3::Hasher) {
    hash_completions(&drive.metrics, hasher);
    hash_blocks(drive, hasher);
}

/// Every completion, and when the last one was.
pub(crate) fn hash_completions(metrics: &Metrics, hasher: &mut blake3::Hasher) {
    hasher.update(&metrics.hash.to_le_bytes());
    hasher.update(&metrics.requests().to_le_bytes());
    hasher.update(&metrics.end.to_le_bytes());
}

/// The state of the blocks.
pub(crate) fn hash_blocks(drive: &Drive, hasher: &mut blake3::Hasher) {
    for block in drive.kernel().blocks().records() {
        for word in [block.valid, block.write_point, block.erases] {
            hasher.update(&word.to_le_bytes());
        }
    }
}
