//! What the host saw, as results have it: of a drive, or of an array.

use super::{latency, us};
use crate::metrics::Metrics;
use serde_json::{json, Map, Value};
use wordline_base::{Histogram, Op};

/// Requests, their rates and their latencies.
pub(crate) struct Host {
    pub seconds: f64,
    pub requests: u64,
    pub iops: f64,
    pub bandwidth: f64,
    pub by_op: Map<String, Value>,
    pub latencies: Map<String, Value>,
    pub by_size: Value,
    pub waiting: Value,
    pub gc_affected: Value,
    pub cdfs: Map<String, Value>,
}

impl Host {
    pub fn of(metrics: &Metrics) -> Self {
        let seconds = (metrics.end - metrics.start) as f64 / 1e12;
        let per_second = |n: f64| if seconds > 0.0 { n / seconds } else { 0.0 };
        let moved_bytes = metrics.bytes(Op::Read) + metrics.bytes(Op::Write);
        let mut all = Histogram::default();
        metrics.by_size.iter().flatten().for_each(|histogram| all.merge(histogram));
        let requests = metrics.requests();
        let mut latencies = Map::new();
        latencies.insert("all".into(), latency(&all));
        let (mut by_op, mut cdfs) = (Map::new(), Map::new());
        for op in Op::ALL {
            let histogram = metrics.latency(op);
            latencies.insert(op.name().into(), latency(&histogram));
            if histogram.count() > 0 || matches!(op, Op::Read | Op::Write) {
                cdfs.insert(op.name().into(), json!(cdf(&histogram)));
            }
            by_op.insert(op.name().into(), json!({"requests": histogram.count(), "bytes": metrics.bytes(op)}));
        }
        Self {
            seconds,
            requests,
            iops: per_second(requests as f64),
            bandwidth: per_second(moved_bytes as f64) / 1_048_576.0,
            by_op,
            latencies,
            by_size: json!({"read": by_size(metrics, Op::Read), "write": by_size(metrics, Op::Write)}),
            waiting: json!({
                "mean": if requests > 0 { us(metrics.waiting_sum as f64 / requests as f64) } else { 0.0 },
                "max": us(metrics.waiting_max as f64),
            }),
            gc_affected: json!({
                "read": latency(&metrics.affected_latency[Op::Read as usize]),
                "write": latency(&metrics.affected_latency[Op::Write as usize]),
            }),
            cdfs,
        }
    }
}

/// Latency of small and of large requests.
fn by_size(metrics: &Metrics, op: Op) -> Value {
    let [small, large] = &metrics.by_size[op as usize];
    json!({"up_to_64k": latency(small), "above_64k": latency(large)})
}

fn cdf(histogram: &Histogram) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = histogram.cdf().map(|(value, share)| (us(value as f64), share)).collect();
    if points.len() <= 2_000 {
        return points;
    }
    // The tail keeps every point; the body is thinned.
    let every = points.len() / 1_000;
    let tail = points.partition_point(|&(_, share)| share < 0.99);
    points.iter().enumerate().filter(|(i, _)| *i >= tail || i % every == 0).map(|(_, &point)| point).collect()
}
