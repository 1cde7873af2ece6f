//! Time series of a result: rates, latency and space by interval, and the distribution of latency in each.

use super::us;
use crate::metrics::{bucket_top, Interval, Metrics, Settled, LATENCY_BUCKETS};
use serde_json::{json, Map, Value};
use wordline_base::{Op, Time};

/// Most intervals of the distribution over time.
const MOST_COLUMNS: usize = 128;

/// Each interval of the series, with its start from the start of measuring and its length, in picoseconds.
fn intervals<'a>(metrics: &'a Metrics, series: &'a Settled) -> impl Iterator<Item = (&'a Interval, Time, Time)> {
    series.intervals.iter().enumerate().map(move |(index, at)| {
        let from = series.start - metrics.start + index as Time * series.interval;
        // The last interval is measured to the end of the run.
        (at, from, series.interval.min((metrics.end - metrics.start).saturating_sub(from)).max(1))
    })
}

/// Operations of which the run had requests.
fn occurring(metrics: &Metrics) -> impl Iterator<Item = Op> + '_ {
    Op::ALL.into_iter().filter(|&op| metrics.by_size[op as usize].iter().any(|histogram| histogram.count() > 0))
}

/// The series as columns.
pub(crate) fn document(metrics: &Metrics, units_per_page: u32) -> Value {
    let series = metrics.series.settled();
    let mut map = Map::new();
    map.insert("interval_s".into(), json!(seconds(series.interval)));
    let mut column = |name: String, of: &dyn Fn(&Interval, Time, Time) -> Value| {
        map.insert(name, intervals(metrics, &series).map(|(at, from, length)| of(at, from, length)).collect());
    };
    column("start_s".into(), &|_, from, _| json!(seconds(from)));
    for op in [Op::Read, Op::Write] {
        let rate = move |at: &Interval, length| at.requests(op) as f64 / seconds(length);
        column(format!("{}_iops", op.name()), &|at, _, length| json!(rate(at, length)));
    }
    for op in [Op::Read, Op::Write] {
        let rate = move |at: &Interval, length| at.bytes[op as usize] as f64 / seconds(length) / 1_048_576.0;
        column(format!("{}_mib_s", op.name()), &|at, _, length| json!(rate(at, length)));
    }
    let mut latency = |prefix: &str, ops: &[Op]| {
        column(format!("{prefix}latency_mean_us"), &|at, _, _| json!(at.latency(ops).mean().map(us)));
        column(format!("{prefix}latency_p99_us"), &|at, _, _| json!(at.latency(ops).quantile(0.99).map(us)));
        column(format!("{prefix}latency_max_us"), &|at, _, _| json!(at.latency(ops).max().map(|v| us(v as f64))));
    };
    latency("", &Op::ALL);
    occurring(metrics).for_each(|op| latency(&format!("{}_", op.name()), &[op]));
    column("outstanding".into(), &|at, _, length| json!(at.outstanding(length)));
    column("age_max_us".into(), &|at, _, _| json!(us(at.age() as f64)));
    column("write_amplification".into(), &|at, _, _| {
        let pages = at.host_units as f64 / f64::from(units_per_page);
        json!((at.host_units > 0).then(|| at.programs as f64 / pages))
    });
    map.insert("free_blocks".into(), free_blocks(&series.intervals));
    Value::Object(map)
}

/// Free blocks: where nothing completed, as in the interval before.
fn free_blocks(intervals: &[Interval]) -> Value {
    let mut last = None;
    let told = intervals.iter().map(|at| {
        last = (at.free_blocks != u32::MAX).then_some(at.free_blocks).or(last);
        json!(last)
    });
    told.collect()
}

/// Requests by interval and class of latency, in the classes that occur; `null` without requests.
pub(crate) fn latencies(metrics: &Metrics) -> Value {
    let Settled { interval, intervals: all, .. } = metrics.series.settled();
    let occurs = |class: &usize| all.iter().any(|at| Op::ALL.iter().any(|&op| at.classes(op)[*class] > 0));
    let used: Vec<usize> = (0..LATENCY_BUCKETS).filter(occurs).collect();
    let (Some(&first), Some(&last)) = (used.first(), used.last()) else { return Value::Null };
    let together = all.len().div_ceil(MOST_COLUMNS);
    let mut map = Map::new();
    map.insert("interval_s".into(), json!(seconds(interval * together as Time)));
    map.insert("up_to_us".into(), (first..=last).map(|class| json!(us(bucket_top(class)))).collect());
    for op in occurring(metrics) {
        let count = |some: &[Interval], class| some.iter().map(|at| u64::from(at.classes(op)[class])).sum::<u64>();
        let column = |some: &[Interval]| {
            let mut counts: Vec<u64> = (first..=last).map(|class| count(some, class)).collect();
            counts.truncate(counts.iter().rposition(|&count| count > 0).map_or(0, |at| at + 1));
            json!(counts)
        };
        map.insert(op.name().into(), all.chunks(together).map(column).collect());
    }
    Value::Object(map)
}

fn seconds(time: Time) -> f64 {
    time as f64 / 1e12
}
