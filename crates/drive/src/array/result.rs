//! The result of a run on an array: the document of a drive with the figures of all members together, and each member by itself.

use super::config::ArrayFile;
use super::layout::Layout;
use super::load::{LoadedArray, MemberDrive};
use super::Array;
use crate::device::Device;
use crate::drive::Drive;
use crate::precondition::Preconditioned;
use crate::result::host::Host;
use crate::result::{document as of_drive, outcome_of, series, About};
use serde_json::{json, Map, Value};
use wordline_base::Op;

/// What the result says beside what the array measured.
#[derive(Debug)]
pub struct ArrayAbout<'a> {
    /// The array's configuration.
    pub loaded: &'a LoadedArray,
    /// The workload, as it was described.
    pub workload: &'a Value,
    /// Seed of the run.
    pub seed: u64,
    /// True if the run was interrupted.
    pub partial: bool,
    /// What was done before, by kind of drive.
    pub preconditions: &'a [Option<Preconditioned>],
}

/// Parts of a drive's document that are sums over members, every number in them.
const SUMS: [&str; 6] = ["flash", "tasks", "energy_j", "energy", "reliability", "free_blocks"];

/// Keys of a member in the result of its array, as they are in the result of a drive.
const OF_MEMBER: [&str; 9] = [
    "requests",
    "iops",
    "bandwidth_mib_s",
    "by_op",
    "latency_us",
    "waiting_us",
    "gc_affected_requests",
    "write_amplification",
    "energy_j",
];

/// The same, some keys of a part each.
const PARTS_OF_MEMBER: [(&str, &[&str]); 3] = [
    ("flash", &["reads", "programs", "erases"]),
    ("gc", &["collections", "moved_pages"]),
    ("wear", &["mean", "max", "stddev"]),
];

/// Every number of several values that are alike, added up; what is none, as the first has it.
fn sum(values: &[&Value]) -> Value {
    match values[0] {
        Value::Number(_) => {
            if let Some(whole) = values.iter().map(|value| value.as_u64()).sum::<Option<u64>>() {
                return json!(whole);
            }
            json!(values.iter().filter_map(|value| value.as_f64()).sum::<f64>())
        }
        Value::Object(_) => {
            let mut told = Map::new();
            // Members may differ in the tasks that they have.
            for key in values.iter().filter_map(|value| value.as_object()).flat_map(Map::keys) {
                if !told.contains_key(key) {
                    let all: Vec<_> = values.iter().filter_map(|value| value.get(key)).collect();
                    told.insert(key.clone(), sum(&all));
                }
            }
            Value::Object(told)
        }
        other => other.clone(),
    }
}

/// The configuration in a result and in its digest: the array's, each different drive with its members, and how the first drive that
/// is preconditioned is.
#[must_use]
pub fn config(loaded: &LoadedArray) -> Value {
    let ArrayFile { title, source, array, .. } = &loaded.file.value;
    let drives: Vec<Value> = (0..loaded.kinds.len())
        .map(|kind| {
            let members: Vec<usize> = (0..loaded.of.len()).filter(|&member| loaded.of[member] == kind).collect();
            json!({"members": members, "config": loaded.kinds[kind].loaded.resolved})
        })
        .collect();
    let first = loaded.kinds.iter().find(|kind| kind.loaded.value.precondition.writes()).unwrap_or(&loaded.kinds[0]);
    let precondition = &first.loaded.value.precondition;
    let name = loaded.name();
    json!({
        "name": name,
        "title": title,
        "source": source,
        "array": array,
        "precondition": precondition,
        "drives": drives,
    })
}

/// Derived figures of an array: sums over its members; figures of a GC domain, of a page and of rates of a die as the first has them.
#[must_use]
pub fn derived(loaded: &LoadedArray) -> Value {
    let all: Vec<Value> = loaded.drives().map(|drive| json!(drive.parts.derived())).collect();
    let all: Vec<&Value> = all.iter().collect();
    let mut told = sum(&all);
    for key in ["page_bytes", "unit_bytes", "spare_blocks_per_domain", "reserve_blocks", "start_blocks", "stop_blocks"]
    {
        told[key] = all[0][key].clone();
    }
    let (raw, logical) = (told["raw_bytes"].as_u64().unwrap_or(0), loaded.layout.bytes());
    told["logical_bytes"] = json!(logical);
    told["spare_bytes"] = json!(raw.saturating_sub(logical));
    told["raw_over_logical"] = json!(raw as f64 / logical as f64);
    told["queue_slots"] = json!(loaded.queue_slots());
    let units = logical as f64 / all[0]["unit_bytes"].as_f64().unwrap_or(1.0);
    told["state_bytes_per_unit"] = json!(told["state_bytes"].as_f64().unwrap_or(0.0) / units);
    told
}

/// Members and layout, for `wordline check` and results.
#[must_use]
pub fn described(loaded: &LoadedArray) -> Value {
    let array = &loaded.file.value.array;
    let chunk = array.chunk();
    let member = |(at, drive): (usize, &MemberDrive)| {
        json!({
            "member": at,
            "role": if at < loaded.members() { "member" } else { "spare" },
            "drive": drive.name,
            "logical_bytes": drive.parts.plan().logical_bytes(),
        })
    };
    let stripes = match &loaded.layout {
        Layout::Join { .. } => Value::Null,
        Layout::Stripe { stripes, .. } => json!(stripes),
        Layout::Parity(parity) => json!(parity.stripes),
    };
    json!({
        "kind": array.kind.name(),
        "members": loaded.members(),
        "stripe_bytes": (chunk > 0).then_some(chunk),
        "stripes": stripes,
        "drives": loaded.drives().enumerate().map(member).collect::<Vec<_>>(),
    })
}

/// The whole document of a run.
///
/// # Panics
/// Never: an array has drives.
#[must_use]
pub fn document(array: &Array, about: &ArrayAbout<'_>) -> Value {
    let ArrayAbout { loaded, workload, seed, partial, preconditions } = *about;
    let each: Vec<Value> = array
        .drives()
        .zip(loaded.of.iter().zip(loaded.drives()))
        .map(|(drive, (&kind, member))| {
            let MemberDrive { loaded, parts, .. } = member;
            let precondition = preconditions.get(kind).cloned().flatten();
            of_drive(drive, &About { config: &loaded.value, parts, workload, seed, partial, precondition })
        })
        .collect();
    let all: Vec<&Value> = each.iter().collect();
    let metrics = array.metrics();
    let host = Host::of(metrics);
    let host_bytes = metrics.bytes(Op::Write);
    let page = loaded.kinds[0].parts.geometry.page_bytes;
    let config = config(loaded);
    let programs: u64 = all.iter().filter_map(|each| each["flash"]["programs"].as_u64()).sum();
    let nand_bytes = programs * u64::from(page);
    let mut told = each[0].clone();
    for key in SUMS {
        told[key] = sum(&all.iter().map(|each| &each[key]).collect::<Vec<_>>());
    }
    let mut set = |key: &str, value: Value| told[key] = value;
    set("digest", json!(digest(array, about, &config)));
    set("outcome", json!(outcome(array)));
    set("config", config);
    let mut figures = derived(loaded);
    figures["name"] = json!(loaded.name());
    figures["title"] = json!(loaded.file.value.title);
    set("drive", figures);
    set("simulated_s", json!(host.seconds));
    set("requests", json!(host.requests));
    set("iops", json!(host.iops));
    set("bandwidth_mib_s", json!(host.bandwidth));
    set("by_op", host.by_op.into());
    set("latency_us", host.latencies.into());
    set("latency_by_size_us", host.by_size);
    set("waiting_us", host.waiting);
    set("gc_affected_requests", json!(metrics.gc_affected));
    set("gc_affected_us", host.gc_affected);
    set("cdf", host.cdfs.into());
    set("at_start", at_start(array, &all));
    set("written", written(array, &all, host_bytes));
    set("write_amplification", json!((host_bytes > 0).then(|| nand_bytes as f64 / host_bytes as f64)));
    set("gc", gc(&all));
    set("wear", array.wear());
    set("utilisation", utilisation(&all));
    set("execution", execution(&all));
    set("series", series::document(metrics, array.units_per_page()));
    set("latency_over_time", series::latencies(metrics));
    set("afterwards", afterwards(&all));
    // What is of one drive is in none of these; the members have their own figures, and a run of one alone has all.
    for key in ["activity", "map", "time_of"] {
        set(key, Value::Null);
    }
    let one = (loaded.kinds.len() == 1).then(|| preconditions.first().cloned().flatten());
    set("precondition", json!(one.flatten()));
    set("array", described_run(array, loaded, &each));
    if let Some(document) = told.as_object_mut() {
        let of_one = [
            "mapping_table",
            "superblocks",
            "parity",
            "transactions",
            "deadlines",
            "banks",
            "slc",
            "wear_leveling",
            "policy_figures",
        ];
        of_one.iter().for_each(|&key| {
            document.shift_remove(key);
        });
        for (key, figures) in [("log_blocks", log_blocks(&all)), ("scheduled_merges", scheduled_merges(&all))] {
            if let Some(figures) = figures {
                document.insert(key.to_owned(), figures);
            }
        }
    }
    told
}

/// A part of those members that have it; none if no member has.
fn parts<'a>(all: &[&'a Value], key: &str) -> Option<Vec<&'a Value>> {
    let some: Vec<&Value> = all.iter().filter_map(|each| each.get(key)).collect();
    (!some.is_empty()).then_some(some)
}

/// Merges of log blocks of all members, and their mean time.
fn log_blocks(all: &[&Value]) -> Option<Value> {
    let some = parts(all, "log_blocks")?;
    let mut told = sum(&some);
    let merges = |each: &Value| each["merges"].as_f64().unwrap_or(0.0);
    let time: f64 = some.iter().map(|each| merges(each) * each["mean_us"].as_f64().unwrap_or(0.0)).sum();
    let count: f64 = some.iter().map(|each| merges(each)).sum();
    told["mean_us"] = json!((count > 0.0).then(|| time / count));
    Some(told)
}

fn scheduled_merges(all: &[&Value]) -> Option<Value> {
    parts(all, "scheduled_merges").map(|some| sum(&some))
}

/// Data and erases at the start, over all members.
fn at_start(array: &Array, all: &[&Value]) -> Value {
    let bytes: Vec<u64> = array.drives().map(Drive::logical_bytes).collect();
    let filled =
        all.iter().zip(&bytes).map(|(each, &bytes)| each["at_start"]["filled"].as_f64().unwrap_or(0.0) * bytes as f64);
    let erases: u64 = all.iter().filter_map(|each| each["at_start"]["erases"].as_u64()).sum();
    json!({"filled": filled.sum::<f64>() / bytes.iter().sum::<u64>() as f64, "erases": erases})
}

/// An array is in steady state if each of its members that wrote is.
fn written(array: &Array, all: &[&Value], host_bytes: u64) -> Value {
    let steady: Vec<bool> = all.iter().filter_map(|each| each["written"]["steady"].as_bool()).collect();
    let rounds: Vec<Vec<f64>> = all
        .iter()
        .filter(|each| each["written"]["steady"].is_boolean())
        .filter_map(|each| serde_json::from_value(each["written"]["rounds"].clone()).ok())
        .collect();
    let length = rounds.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |at: usize| rounds.iter().map(|of| of[of.len() - length + at]).sum::<f64>() / rounds.len() as f64;
    json!({
        "of_capacity": host_bytes as f64 / array.logical_bytes() as f64,
        "steady": (!steady.is_empty()).then(|| steady.iter().all(|&steady| steady)),
        "rounds": (0..length).map(mean).collect::<Vec<f64>>(),
    })
}

fn gc(all: &[&Value]) -> Value {
    let mut told = sum(&all.iter().map(|each| &each["gc"]).collect::<Vec<_>>());
    let used: Vec<f64> = all.iter().filter_map(|each| each["gc"]["plane_utilisation"].as_f64()).collect();
    told["plane_utilisation"] = json!((!used.is_empty()).then(|| used.iter().sum::<f64>() / used.len() as f64));
    told
}

fn utilisation(all: &[&Value]) -> Value {
    let joined = |key: &str| -> Vec<Value> {
        all.iter().filter_map(|each| each["utilisation"][key].as_array()).flatten().cloned().collect()
    };
    let mean =
        |key: &str| all.iter().filter_map(|each| each["utilisation"][key].as_f64()).sum::<f64>() / all.len() as f64;
    json!({
        "channels": joined("channels"),
        "dies": joined("dies"),
        "link_in": mean("link_in"),
        "link_out": mean("link_out"),
    })
}

/// Shares of the time of all dies: those of each member, by its dies.
fn execution(all: &[&Value]) -> Value {
    let dies: Vec<f64> = all.iter().map(|each| each["drive"]["dies"].as_f64().unwrap_or(1.0)).collect();
    let share = |key: &str| {
        let weighted = all.iter().zip(&dies).map(|(each, dies)| each["execution"][key].as_f64().unwrap_or(0.0) * dies);
        (key.to_owned(), json!(weighted.sum::<f64>() / dies.iter().sum::<f64>()))
    };
    Value::Object(["cell", "bus", "contention", "idle"].map(share).into_iter().collect())
}

fn afterwards(all: &[&Value]) -> Value {
    if all[0]["afterwards"].is_null() {
        return Value::Null;
    }
    let mut told = sum(&all.iter().map(|each| &each["afterwards"]).collect::<Vec<_>>());
    let longest = all.iter().filter_map(|each| each["afterwards"]["simulated_s"].as_f64()).fold(0.0, f64::max);
    told["simulated_s"] = json!(longest);
    told
}

/// Layout, members with their figures, parity and rebuild.
fn described_run(array: &Array, loaded: &LoadedArray, each: &[Value]) -> Value {
    let mut told = described(loaded);
    let bytes =
        |each: &Value| ["read", "write"].iter().filter_map(|op| each["by_op"][op]["bytes"].as_u64()).sum::<u64>();
    let all: u64 = each.iter().map(bytes).sum();
    let start = array.metrics().start;
    let seconds = |time: u64| time.saturating_sub(start) as f64 / 1e12;
    let failed = array.failed();
    let drives = told["drives"].as_array_mut().expect("a list");
    for ((at, row), each) in drives.iter_mut().enumerate().zip(each) {
        let figures: Map<String, Value> = OF_MEMBER.iter().map(|&key| (key.to_owned(), each[key].clone())).collect();
        row.as_object_mut().expect("an object").extend(figures);
        if let Some(told) = each.get("policy_figures") {
            row["policy_figures"] = told.clone();
        }
        for (part, keys) in PARTS_OF_MEMBER {
            let some: Map<String, Value> = keys.iter().map(|&key| (key.to_owned(), each[part][key].clone())).collect();
            row[part] = some.into();
        }
        for part in ["channels", "dies"] {
            let busy: Vec<f64> =
                each["utilisation"][part].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
            row[part] = json!(busy.len());
            row[format!("{part}_busy")] = json!(busy.iter().sum::<f64>() / busy.len().max(1) as f64);
        }
        row["share"] = json!(if all > 0 { bytes(each) as f64 / all as f64 } else { 0.0 });
        if failed.is_some_and(|(failed, _)| failed as usize == at) {
            row["role"] = json!("failed");
        }
    }
    if let Some(counts) = array.parity_counts() {
        told["parity"] = json!({
            "full_writes": counts.full_writes,
            "modify_writes": counts.modify_writes,
            "reconstruct_writes": counts.reconstruct_writes,
            "reads_for_writes": counts.reads_for_writes,
            "parity_read_bytes": counts.parity_read_bytes,
            "parity_written_bytes": counts.parity_written_bytes,
            "degraded_reads": counts.degraded_reads,
            "degraded_bytes": counts.degraded_bytes,
            "untrimmed_bytes": counts.untrimmed_bytes,
            "waits": counts.waits,
            "failed_member": failed.map(|(member, _)| member),
            "failed_at_s": failed.map(|(_, at)| seconds(at)),
            "rebuilt_bytes": counts.rebuilt_bytes,
            "rebuild_begun_s": array.rebuilt().map(|(begun, ..)| seconds(begun)),
            "rebuild_ended_s": array.rebuilt().and_then(|(_, ended, _)| ended).map(seconds),
            "rebuilt_share": array.rebuilt().map(|(.., done)| match array.layout() {
                Layout::Parity(parity) => done as f64 / parity.stripes as f64,
                _ => 0.0,
            }),
        });
    }
    told
}

/// A hash of configuration, load, seed, version, every completion, and the state of the blocks at the end.
fn digest(array: &Array, about: &ArrayAbout<'_>, config: &Value) -> String {
    let mut hasher = crate::result::begin_digest(config, about.workload, about.seed);
    hash_events(array, &mut hasher);
    hasher.finalize().to_hex()[..32].to_owned()
}

/// As that of a drive: of an array of one it is the same.
fn outcome(array: &Array) -> String {
    outcome_of(|hasher| hash_events(array, hasher))
}

fn hash_events(array: &Array, hasher: &mut blake3::Hasher) {
    crate::result::hash_completions(array.metrics(), hasher);
    array.drives().for_each(|drive| crate::result::hash_blocks(drive, hasher));
}
