//! Latency breakdown by latency class, to compare fast and slow requests.

use crate::metrics::{bucket_top, latency_bucket, LATENCY_BUCKETS};
use crate::parts::{Part, PARTS};
use serde_json::{json, Map, Value};
use wordline_base::Time;

/// Requests of a class, and the parts of their time.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    requests: u64,
    /// The latencies in `parts`.
    latency: Time,
    parts: [Time; PARTS],
    /// What did not fit into `parts` any more.
    earlier: [u128; PARTS],
}

/// Requests of one operation by class of latency.
#[derive(Clone, Debug)]
pub(super) struct ByLatency(Box<[Class; LATENCY_BUCKETS]>);

impl Default for ByLatency {
    fn default() -> Self {
        Self(Box::new([Class::default(); LATENCY_BUCKETS]))
    }
}

impl ByLatency {
    /// Adds a request of which these are the parts.
    #[inline]
    pub fn add(&mut self, latency: Time, parts: &[Time; PARTS]) {
        let class = &mut self.0[latency_bucket(latency)];
        class.requests += 1;
        if class.latency > Time::MAX / 2 {
            class.make_room();
        }
        class.latency += latency;
        class.parts.iter_mut().zip(parts).for_each(|(sum, time)| *sum += time);
    }

    /// The classes that occur, as the result has them.
    pub fn document(&self) -> Value {
        let used: Vec<(usize, &Class)> = self.0.iter().enumerate().filter(|(_, class)| class.requests > 0).collect();
        let mut map = Map::new();
        map.insert("up_to_us".into(), used.iter().map(|&(at, _)| json!(bucket_top(at) / 1e6)).collect());
        map.insert("requests".into(), used.iter().map(|(_, class)| json!(class.requests)).collect());
        for about in Part::all() {
            if used.iter().any(|(_, class)| class.sum(about.part) > 0) {
                let list = used.iter().map(|(_, class)| json!(super::seconds(class.sum(about.part))));
                map.insert(about.name.clone(), list.collect());
            }
        }
        Value::Object(map)
    }
}

impl Class {
    #[cold]
    fn make_room(&mut self) {
        self.earlier.iter_mut().zip(&mut self.parts).for_each(|(all, part)| *all += u128::from(std::mem::take(part)));
        self.latency = 0;
    }

    fn sum(&self, part: Part) -> u128 {
        self.earlier[part.index()] + u128::from(self.parts[part.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_keep_requests_apart_and_lose_nothing() {
        let mut by_latency = ByLatency::default();
        let parts = |at: usize, time: Time| std::array::from_fn(|part| if part == at { time } else { 0 });
        // Two of 50 us, one of 5 ms; then some of 100 days, more than fit into 64 bits.
        by_latency.add(50_000_000, &parts(0, 50_000_000));
        by_latency.add(50_000_000, &parts(1, 50_000_000));
        by_latency.add(5_000_000_000, &parts(1, 5_000_000_000));
        let days = 100 * 86_400 * 1_000_000_000_000;
        (0..5).for_each(|_| by_latency.add(days, &parts(2, days)));
        let told = by_latency.document();
        let key = |at: usize| &*Part::all()[at].name;
        assert_eq!(told["requests"], json!([2, 1, 5]));
        assert_eq!(told[key(0)], json!([50e-6, 0.0, 0.0]));
        assert_eq!(told[key(1)], json!([50e-6, 5e-3, 0.0]));
        assert_eq!(told[key(2)], json!([0.0, 0.0, 500.0 * 86_400.0]));
        assert!(told.get(key(3)).is_none());
    }
}
