//! Requests that missed their deadlines, for dispatch policies that give them some.

use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use wordline_base::{Op, Request, Time};
use wordline_firmware::policy::dispatch::Limits;

/// Requests with one deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Missed {
    requests: u64,
    missed: u64,
    /// The longest time from a deadline to the completion after it, in picoseconds.
    most: Time,
}

impl Missed {
    fn count(&mut self, latency: Time, limit: Time) {
        self.requests += 1;
        if latency > limit {
            self.missed += 1;
            self.most = self.most.max(latency - limit);
        }
    }

    fn document(&self, limit: Time) -> Value {
        json!({
            "deadline_us": limit as f64 / 1e6,
            "requests": self.requests,
            "missed": self.missed,
            "most_late_us": (self.missed > 0).then_some(self.most as f64 / 1e6),
        })
    }
}

/// Requests by the deadline that they have: of their stream, or else of their kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    limits: Limits,
    by_kind: [Missed; Op::ALL.len()],
    by_stream: BTreeMap<u16, Missed>,
}

impl Late {
    /// None so far.
    pub(crate) fn new(limits: &Limits) -> Self {
        let by_stream = limits.by_stream.keys().map(|&stream| (stream, Missed::default())).collect();
        Self { limits: limits.clone(), by_kind: Default::default(), by_stream }
    }

    /// Counts anew.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(&self.limits);
    }

    /// A request is complete, with such a latency in picoseconds.
    pub(crate) fn count(&mut self, request: &Request, latency: Time) {
        let Some(limit) = self.limits.of(request) else { return };
        let class = self.by_stream.get_mut(&request.stream).unwrap_or(&mut self.by_kind[request.op as usize]);
        class.count(latency, limit);
    }

    /// As a result has it.
    pub(crate) fn document(&self) -> Value {
        let kinds = Op::ALL.into_iter().zip(self.limits.by_kind);
        let with_limit = kinds.filter_map(|(op, limit)| Some((op, limit?)));
        let mut all: Map<String, Value> =
            with_limit.map(|(op, limit)| (op.name().to_owned(), self.by_kind[op as usize].document(limit))).collect();
        let of_stream = |(stream, missed): (&u16, &Missed)| {
            let mut one = missed.document(self.limits.by_stream[stream]);
            one["stream"] = json!(stream);
            one
        };
        if !self.by_stream.is_empty() {
            all.insert("streams".into(), self.by_stream.iter().map(of_stream).collect());
        }
        Value::Object(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_where_its_deadline_comes_from() {
        let us = 1_000_000;
        let by_kind = [Some(100 * us), Some(1_000 * us), None, Some(2_000 * us)];
        let limits = Limits { by_kind, by_stream: [(3, 50 * us)].into(), background: us, avoids_gc: true };
        let mut late = Late::new(&limits);
        let of = |op, stream| Request { op, stream, ..Request::default() };
        for (op, stream, latency) in [
            (Op::Read, 0, 100 * us),
            (Op::Read, 0, 100 * us + 1),
            (Op::Read, 1, 130 * us),
            (Op::Read, 3, 60 * us),
            (Op::Write, 3, 40 * us),
            (Op::Write, 0, 900 * us),
            (Op::Trim, 0, 9_000 * us),
            (Op::Trim, 3, 9_000 * us),
        ] {
            late.count(&of(op, stream), latency);
        }
        let document = late.document();
        let told = |at: &Value| (at["requests"].as_u64(), at["missed"].as_u64(), at["most_late_us"].as_f64());
        assert_eq!(told(&document["read"]), (Some(3), Some(2), Some(30.0)));
        assert_eq!(told(&document["write"]), (Some(1), Some(0), None));
        assert_eq!(told(&document["flush"]), (Some(0), Some(0), None));
        assert!(document.get("trim").is_none(), "trims have no deadline");
        assert_eq!(told(&document["streams"][0]), (Some(2), Some(1), Some(10.0)));
        assert_eq!(document["streams"][0]["stream"], 3);
        late.reset();
        assert_eq!(late, Late::new(&limits));
    }
}
