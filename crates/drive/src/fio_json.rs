//! Results in the layout of fio 3.33's JSON, for fio's tools.
//!
//! It has all of fio's keys. Values without a counterpart in a modelled drive (CPU time, page faults) are 0, as fio
//! does for values it did not measure. Wall-clock times are the epoch, so that a result does not depend on its date.

use crate::steady::Judged;
use crate::streams::{OpStats, Samples, Spread, StreamStats, Streams, CLASSES};
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use wordline_base::time::{MS, NS, S};
use wordline_base::{Histogram, Op, Time};

/// The version whose layout this is.
pub const LAYOUT: &str = "fio-3.33";

/// Percentiles where a job names none: fio's.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
/// Names of the latency classes, thrice.
const CLASS_NAMES: [&str; 10] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];

/// What was asked of a job.
#[derive(Clone, Debug, Default)]
pub struct JobWords {
    /// Its name in the results.
    pub title: String,
    /// Its options as written.
    pub options: BTreeMap<String, String>,
    /// Percentiles that are wanted; fio's own when empty.
    pub percentiles: Vec<f64>,
}

/// The whole document. `jobs` are in the order of the workload; `globals` are options that hold for all of them.
#[must_use]
pub fn document(streams: &Streams, jobs: &[JobWords], globals: &BTreeMap<String, String>) -> Value {
    let reported = streams.reported();
    let judged: Vec<_> = streams.judged().collect();
    let start = reported.iter().map(|stats| stats.start).min().unwrap_or(0);
    let end = reported.iter().map(|stats| stats.end).max().unwrap_or(0);
    let list: Vec<Value> = reported
        .iter()
        .map(|stats| {
            let words = stats.job.and_then(|job| jobs.get(job));
            let group: Vec<_> = reported.iter().filter(|other| other.group == stats.group).collect();
            let judged = stats.watch.and_then(|watch| judged.get(watch));
            job(stats, words, &group, judged, end.saturating_sub(start))
        })
        .collect();
    let mut document = json!({
        "fio version": LAYOUT,
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "jobs": list,
        "disk_util": [],
    });
    if !globals.is_empty() {
        document["global options"] = json!(globals);
    }
    document
}

fn job(
    stats: &StreamStats,
    words: Option<&JobWords>,
    group: &[&StreamStats],
    judged: Option<&Judged<'_>>,
    elapsed: Time,
) -> Value {
    let percentiles = words.map_or(&[][..], |words| &words.percentiles);
    let percentiles = if percentiles.is_empty() { &PERCENTILES[..] } else { percentiles };
    let sent: u64 = stats.depths.iter().sum();
    let all = if sent > 0 { 100.0 } else { 0.0 };
    let classed = classes(stats);
    let mut job = json!({
        "jobname": words.map_or(&stats.name, |words| &words.title),
        "groupid": stats.group,
        "error": 0,
        "eta": 0,
        "elapsed": elapsed.div_ceil(S),
        "read": direction(stats, Op::Read, group, percentiles),
        "write": direction(stats, Op::Write, group, percentiles),
        "trim": direction(stats, Op::Trim, group, percentiles),
        "sync": sync(&stats.ops[Op::Flush as usize], percentiles),
        "job_runtime": milliseconds(stats.runtime()),
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "iodepth_level": shares(&["1", "2", "4", "8", "16", "32", ">=64"], &stats.depths, sent),
        "iodepth_submit": batches(all),
        "iodepth_complete": batches(all),
        "latency_ns": classed[0],
        "latency_us": classed[1],
        "latency_ms": classed[2],
        "latency_depth": stats.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    });
    if let Some(words) = words.filter(|words| !words.options.is_empty()) {
        job["job options"] = json!(words.options);
    }
    if let Some(judged) = judged {
        job["steadystate"] = steady(judged);
    }
    job
}

/// A time in whole milliseconds; what took any time took one.
fn milliseconds(time: Time) -> u64 {
    time.div_ceil(MS)
}

fn direction(stats: &StreamStats, op: Op, group: &[&StreamStats], percentiles: &[f64]) -> Value {
    let of = &stats.ops[op as usize];
    let runtime = if of.latency.count > 0 { stats.runtime() } else { 0 };
    let mut map = rates(of, runtime);
    let service = with_percentiles(&of.service, &of.histogram, percentiles);
    map.insert("slat_ns".into(), spread(&of.waiting));
    map.insert("clat_ns".into(), service);
    map.insert("lat_ns".into(), spread(&of.latency));
    let whole: f64 = group.iter().map(|stats| bandwidth(&stats.ops[op as usize], stats.runtime())).sum();
    samples(&mut map, &of.samples, whole);
    Value::Object(map)
}

/// Bytes per second.
fn bandwidth(of: &OpStats, runtime: Time) -> f64 {
    if runtime == 0 {
        return 0.0;
    }
    of.bytes as f64 / (runtime as f64 / S as f64)
}

fn rates(of: &OpStats, runtime: Time) -> Map<String, Value> {
    let count = of.latency.count;
    let rate = bandwidth(of, runtime);
    let iops = if runtime > 0 { count as f64 / (runtime as f64 / S as f64) } else { 0.0 };
    let mut map = Map::new();
    map.insert("io_bytes".into(), of.bytes.into());
    map.insert("io_kbytes".into(), (of.bytes / 1024).into());
    map.insert("bw_bytes".into(), (rate as u64).into());
    map.insert("bw".into(), ((rate / 1024.0) as u64).into());
    map.insert("iops".into(), iops.into());
    map.insert("runtime".into(), milliseconds(runtime).into());
    map.insert("total_ios".into(), count.into());
    map.insert("short_ios".into(), 0.into());
    map.insert("drop_ios".into(), 0.into());
    map
}

fn spread(of: &Spread) -> Value {
    let min = if of.count > 0 { of.min } else { 0 };
    json!({"min": min, "max": of.max, "mean": of.mean(), "stddev": of.deviation(), "N": of.count})
}

fn with_percentiles(of: &Spread, histogram: &Histogram, percentiles: &[f64]) -> Value {
    let mut value = spread(of);
    if of.count == 0 {
        return value;
    }
    let largest = histogram.max().unwrap_or(0);
    // As in fio, which tells every percentile of any sample; one beyond it is the largest value.
    let at = |q: f64| histogram.ranked(q / 100.0).unwrap_or(largest) / NS;
    value["percentile"] = percentiles.iter().map(|&q| (format!("{q:.6}"), json!(at(q)))).collect::<Map<_, _>>().into();
    value["bins"] = bins(histogram).into();
    value
}

/// Counts of values by their ns, as fio's json+ has them.
fn bins(histogram: &Histogram) -> Map<String, Value> {
    let count = histogram.count() as f64;
    let mut bins = BTreeMap::new();
    let mut before = 0;
    for (value, share) in histogram.cdf() {
        let seen = (share * count).round() as u64;
        *bins.entry(value / NS).or_insert(0) += seen - before;
        before = seen;
    }
    bins.into_iter().map(|(ns, count)| (ns.to_string(), json!(count))).collect()
}

fn samples(map: &mut Map<String, Value>, of: &Samples, whole: f64) {
    let least = |spread: &Spread| if spread.count > 0 { spread.min } else { 0 };
    let (bandwidth, iops) = (&of.bandwidth, &of.iops);
    let share = if whole > 0.0 { (bandwidth.mean() * 1024.0 / whole * 100.0).min(100.0) } else { 0.0 };
    map.insert("bw_min".into(), least(bandwidth).into());
    map.insert("bw_max".into(), bandwidth.max.into());
    map.insert("bw_agg".into(), share.into());
    map.insert("bw_mean".into(), bandwidth.mean().into());
    map.insert("bw_dev".into(), bandwidth.deviation().into());
    map.insert("bw_samples".into(), bandwidth.count.into());
    map.insert("iops_min".into(), least(iops).into());
    map.insert("iops_max".into(), iops.max.into());
    map.insert("iops_mean".into(), iops.mean().into());
    map.insert("iops_stddev".into(), iops.deviation().into());
    map.insert("iops_samples".into(), iops.count.into());
}

fn sync(of: &OpStats, percentiles: &[f64]) -> Value {
    json!({"total_ios": of.latency.count, "lat_ns": with_percentiles(&of.service, &of.histogram, percentiles)})
}

/// Counts as percentages of `all`.
fn shares(names: &[&str], counts: &[u64], all: u64) -> Value {
    let share = |count: u64| if all > 0 { count as f64 / all as f64 * 100.0 } else { 0.0 };
    names
        .iter()
        .zip(counts)
        .map(|(name, &count)| ((*name).to_owned(), json!(share(count))))
        .collect::<Map<_, _>>()
        .into()
}

/// Requests are sent, and completions taken, one at a time: fio's class of 1 to 4.
fn batches(all: f64) -> Value {
    let names = ["0", "4", "8", "16", "32", "64", ">=64"];
    names
        .iter()
        .map(|name| ((*name).to_owned(), json!(if *name == "4" { all } else { 0.0 })))
        .collect::<Map<_, _>>()
        .into()
}

/// Latencies in classes of ns, µs and ms.
fn classes(stats: &StreamStats) -> [Value; 3] {
    let all = stats.classes.iter().sum();
    let mut names = CLASS_NAMES.to_vec();
    let [ns, us, ms] = [0, 10, 20].map(|at| &stats.classes[at..]);
    let short = [shares(&names, ns, all), shares(&names, us, all)];
    names.extend(["2000", ">=2000"]);
    debug_assert_eq!(ms.len(), CLASSES.len() + 1 - 20);
    let [ns, us] = short;
    [ns, us, shares(&names, ms, all)]
}

fn steady(judged: &Judged<'_>) -> Value {
    let unit = if judged.steady.percent { "%" } else { "" };
    let n = judged.values.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| (judged.values.iter().map(of).sum::<f64>() / n) as u64;
    let list = |of: fn(&(f64, f64)) -> f64| judged.values.iter().map(|value| of(value) as u64).collect::<Vec<_>>();
    json!({
        "ss": format!("{}:{:.6}{unit}", judged.steady.kind.name(), judged.steady.limit),
        "duration": (judged.steady.window as Time * judged.steady.interval).div_ceil(S),
        "attained": u32::from(judged.attained.is_some()),
        "criterion": format!("{:.6}{unit}", judged.measured.unwrap_or(0.0)),
        "max_deviation": judged.deviation,
        "slope": judged.slope,
        "data": {
            "bw_mean": mean(|value| value.1),
            "iops_mean": mean(|value| value.0),
            "iops": list(|value| value.0),
            "bw": list(|value| value.1),
        },
    })
}
