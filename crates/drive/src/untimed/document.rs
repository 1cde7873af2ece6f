//! The result of a workload without time as one JSON document.

use super::{Ending, Times, Untimed};
use crate::drive::Drive;
use crate::result::{self, About, SCHEMA};
use serde_json::{json, Value};
use wordline_base::Op;
use wordline_firmware::Reason;

/// The whole document. What it shares with the result of a run has the same keys and meanings.
#[must_use]
pub fn document(drive: &Drive, done: &Untimed, times: Times, about: &About<'_>) -> Value {
    let reading = drive.reading();
    let counters = &reading.counters;
    let plan = drive.kernel().plan();
    let config = serde_json::to_value(about.config).unwrap_or(Value::Null);
    let host_bytes = done.written();
    let nand_bytes = counters.programs() * u64::from(about.parts.geometry.page_bytes);
    let asked = match times {
        Times::Number(times) => json!(times),
        Times::ToTheEnd => Value::Null,
    };
    let digest = digest(drive, done, &asked, about, &config);
    let mut document = json!({
        "schema": SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "seed": about.seed,
        "digest": digest,
        "outcome": result::outcome_of(|hasher| hash(drive, done, hasher)),
        "partial": about.partial,
        "config": config,
        "workload": about.workload,
        "drive": result::drive_figures(about),
        "cpu_s": null,
        "replay": {
            "times_asked": asked,
            "times": done.times,
            "ending": ending(&done.ending),
            "end_of_life": end_of_life(&done.ending),
            "host_bytes": host_bytes,
            "drive_writes": host_bytes as f64 / drive.logical_bytes() as f64,
        },
        "requests": requests(done),
        "write_amplification": (host_bytes > 0).then(|| nand_bytes as f64 / host_bytes as f64),
        "flash": {
            "reads": counters.reads(),
            "programs": counters.programs(),
            "erases": counters.erases(),
            "commands": counters.commands,
            "multi_plane_pages": counters.multi_plane.iter().sum::<u64>(),
            "copybacks": counters.copybacks,
            "merge_reads": counters.merge_reads,
            "padded_units": counters.padded_units,
            "absorbed_units": counters.absorbed_units,
        },
        "gc": {
            "collections": counters.collections(),
            "moved_pages": counters.moved_units() as f64 / f64::from(plan.units_per_page),
            "moved_units": counters.moved_units(),
        },
        "tasks": result::tasks(plan, counters),
        "wear": reading.wear,
        "reliability": result::reliability(&reading),
        "free_blocks": reading.free_blocks,
        "lifetime": done.curve.points(),
        "precondition": about.precondition,
    });
    result::policies::add(&mut document, plan, &reading);
    if plan.logs.is_some() {
        // Without time a merge takes none.
        document["log_blocks"]["mean_us"] = Value::Null;
    }
    document
}

fn requests(done: &Untimed) -> Value {
    let of = |op: Op| json!({"count": done.requests[op as usize], "bytes": done.bytes[op as usize]});
    Value::Object(Op::ALL.iter().map(|&op| (op.name().to_owned(), of(op))).collect())
}

fn ending(ending: &Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::EndOfLife(_) => "end-of-life",
        Ending::Interrupted => "interrupted",
    }
}

/// What ended the life of the drive.
fn end_of_life(ending: &Ending) -> Value {
    let Ending::EndOfLife(fault) = ending else { return Value::Null };
    match *fault.reason() {
        Reason::WornOut { channel, package, die, plane, block, erases, .. } => json!({
            "cause": "worn-out",
            "channel": channel,
            "package": package,
            "die": die,
            "plane": plane,
            "block": block,
            "erases": erases,
        }),
        Reason::NoSpare { plane, bad, replacements, .. } => json!({
            "cause": "no-spare",
            "plane": plane,
            "bad_blocks": bad,
            "replacement_blocks": replacements,
        }),
        _ => Value::Null,
    }
}

/// A hash of configuration, load, seed, version, how often, what was done, and the state of the blocks at the end.
fn digest(drive: &Drive, done: &Untimed, asked: &Value, about: &About<'_>, config: &Value) -> String {
    let mut hasher = result::begin_digest(config, about.workload, about.seed);
    hasher.update(asked.to_string().as_bytes());
    hash(drive, done, &mut hasher);
    hasher.finalize().to_hex()[..32].to_owned()
}

fn hash(drive: &Drive, done: &Untimed, hasher: &mut blake3::Hasher) {
    for number in [done.times].iter().chain(&done.requests).chain(&done.bytes) {
        hasher.update(&number.to_le_bytes());
    }
    result::hash_blocks(drive, hasher);
}
