//! How well an export kept the delays of its drive, and what it was asked.

use crate::protocol::Kind;
use serde_json::{json, Map, Value};
use wordline_base::{Histogram, Time};

/// Latencies from here on count in the relative error: 100 µs, in picoseconds. Below, a few microseconds of the host are many percent.
const FLOOR: Time = 100_000_000;

/// A request whose reply went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The client's name for it.
    pub cookie: u64,
    /// When the client sent it, as far as that is known, in simulated picoseconds since the start.
    pub arrival: Time,
    /// When it arrived at the drive: later, if the drive had gone on meanwhile.
    pub taken: Time,
    /// When the modelled drive completed it.
    pub completed: Time,
    /// When the reply was given to the system, on the same clock.
    pub sent: Time,
}

impl Answered {
    /// The latency in the modelled drive, in picoseconds.
    #[must_use]
    pub fn latency(&self) -> Time {
        self.completed.saturating_sub(self.taken)
    }
}

/// Figures of an export.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Commands by kind, in the order of [`Kind::ALL`].
    commands: [u64; 7],
    /// Commands answered by an error.
    pub errors: u64,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// Times that data were made durable.
    pub syncs: u64,
    /// Sent after the modelled completion, in picoseconds.
    late: Histogram,
    /// Taken by the drive after its arrival, in picoseconds.
    taken_late: Histogram,
    /// What replies were late or early by in millionths of their latency, for latencies from [`FLOOR`] on.
    reply_error: Histogram,
    /// The same with what requests were taken late by: the error that a client sees, but for its own part.
    delay_error: Histogram,
    /// The most that the drive's time was behind its clock, in picoseconds.
    pub lag: Time,
}

impl Stats {
    /// A command arrived.
    pub fn command(&mut self, kind: Kind) {
        let place = Kind::ALL.iter().position(|other| *other == kind);
        self.commands[place.unwrap_or_default()] += 1;
    }

    /// Commands so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.commands.iter().sum()
    }

    /// A reply went out.
    pub fn answered(&mut self, request: &Answered) {
        let late = request.sent.saturating_sub(request.completed);
        let taken_late = request.taken.saturating_sub(request.arrival);
        self.late.record(late);
        self.taken_late.record(taken_late);
        let latency = request.latency();
        if latency >= FLOOR {
            let apart = request.sent.abs_diff(request.completed);
            let share = |error: u64| (u128::from(error) * 1_000_000 / u128::from(latency)) as u64;
            self.reply_error.record(share(apart));
            self.delay_error.record(share(apart.saturating_add(taken_late)));
        }
    }

    /// The figures as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let commands: Map<String, Value> =
            Kind::ALL.iter().zip(self.commands).map(|(kind, count)| (kind.name().to_owned(), count.into())).collect();
        json!({
            "commands": commands,
            "errors": self.errors,
            "read_bytes": self.bytes[0],
            "written_bytes": self.bytes[1],
            "syncs": self.syncs,
            "reply_late_us": spread(&self.late, 1e6),
            "taken_late_us": spread(&self.taken_late, 1e6),
            "reply_error_percent": spread(&self.reply_error, 1e4),
            "delay_error_percent": spread(&self.delay_error, 1e4),
            "lag_us": self.lag as f64 / 1e6,
        })
    }

    /// The median and the 99th percentile of what replies were late by, in microseconds.
    #[must_use]
    pub fn late_us(&self) -> (Option<f64>, Option<f64>) {
        let at = |q| self.late.ranked(q).map(|value| value as f64 / 1e6);
        (at(0.5), at(0.99))
    }
}

fn spread(histogram: &Histogram, unit: f64) -> Value {
    let scaled = |value: Option<u64>| value.map(|value| value as f64 / unit);
    json!({
        "count": histogram.count(),
        "mean": histogram.mean().map(|mean| mean / unit),
        "p50": scaled(histogram.quantile(0.5)),
        "p99": scaled(histogram.quantile(0.99)),
        "max": scaled(histogram.max()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reply_is_an_error_of_its_latency() {
        let mut stats = Stats::default();
        let us = 1_000_000;
        for _ in 0..20 {
            stats.answered(&Answered {
                cookie: 1,
                arrival: 8 * us,
                taken: 10 * us,
                completed: 210 * us,
                sent: 211 * us,
            });
        }
        // One that went with another, 1 µs early.
        stats.answered(&Answered { cookie: 3, arrival: 0, taken: 0, completed: 101 * us, sent: 100 * us });
        // 20 µs are too short a latency for a relative error.
        stats.answered(&Answered { cookie: 2, arrival: 0, taken: 0, completed: 20 * us, sent: 110 * us });
        let told = stats.document();
        assert_eq!(told["reply_late_us"]["count"], 22);
        assert_eq!(told["reply_late_us"]["max"], 90.0);
        assert_eq!(told["taken_late_us"]["count"], 22);
        assert_eq!(told["taken_late_us"]["max"], 2.0);
        assert_eq!(told["delay_error_percent"]["count"], 21);
        assert_eq!(told["delay_error_percent"]["max"], 1.5, "1 µs and 2 µs of 200 µs");
        assert_eq!(told["reply_error_percent"]["max"], 0.99, "1 µs of 101 µs, early");
    }
}
