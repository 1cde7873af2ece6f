//! Where the time of reads and writes went: causes whose parts add up to the latencies, exactly.
//!
//! A request's time is cut at five moments that the drive knows: it got its slot, was in the drive, was taken up, was done in the
//! drive, was done at the host. Between the third and the fourth it waited for flash operations; the one that ended last
//! tells where that time went. Sums are kept by interval, so that a report can show how the causes change.

use crate::activity::Intervals;
use serde_json::{json, Map, Value};
use wordline_base::{Op, Time};
use wordline_firmware::Account;

/// What time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Waiting for a free queue slot.
    Slot,
    /// Command, and a write's data, on the way to the drive, waiting for the link included.
    LinkIn,
    /// In the drive, waiting to be taken up.
    Dispatch,
    /// Waiting for room in the write buffer.
    Buffer,
    /// Reading old data to complete a partial write.
    Merge,
    /// Waiting in the flash queue for what other requests do, or for room or company.
    Queue,
    /// Waiting in the flash queue while the collector held the die.
    QueueGc,
    /// The command waiting for the channel's bus.
    BusWait,
    /// The command on the channel's bus.
    Bus,
    /// The command in the cells and registers.
    Cells,
    /// Queue and command of drives whose commands overlap on a die, where they cannot be told apart.
    Flash,
    /// Data and completion on the way to the host, waiting for the link included.
    LinkOut,
}

const CAUSES: [(Cause, &str); 12] = [
    (Cause::Slot, "slot"),
    (Cause::LinkIn, "link_in"),
    (Cause::Dispatch, "dispatch"),
    (Cause::Buffer, "buffer"),
    (Cause::Merge, "merge"),
    (Cause::Queue, "queue"),
    (Cause::QueueGc, "queue_gc"),
    (Cause::BusWait, "bus_wait"),
    (Cause::Bus, "bus"),
    (Cause::Cells, "cells"),
    (Cause::Flash, "flash"),
    (Cause::LinkOut, "link_out"),
];

const MOST_INTERVALS: usize = 128;

type Sums = [u128; CAUSES.len()];

/// The moments of a request that is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    queued: Time,
    served: Time,
    done: Time,
    account: Option<Account>,
}

/// Where the time of reads and writes went.
#[derive(Clone, Debug)]
pub struct Split {
    moments: Vec<Moments>,
    intervals: Intervals,
    end: Time,
    /// By interval: of reads, of writes.
    sums: Vec<[Sums; 2]>,
}

impl Split {
    /// Nothing seen yet, from `now` on, for a drive of so many slots.
    #[must_use]
    pub fn new(slots: usize, now: Time) -> Self {
        let intervals = Intervals::new(now, MOST_INTERVALS);
        let end = intervals.end(0);
        Self { moments: vec![Moments::default(); slots], intervals, end, sums: vec![Default::default()] }
    }

    /// A request is in the drive.
    #[inline]
    pub(crate) fn queued(&mut self, slot: u32, now: Time) {
        self.moments[slot as usize].queued = now;
    }

    /// It is taken up.
    #[inline]
    pub(crate) fn served(&mut self, slot: u32, now: Time) {
        let moments = &mut self.moments[slot as usize];
        moments.served = now;
    }

    /// It is done in the drive; the account is that of its last flash operation.
    #[inline]
    pub(crate) fn done(&mut self, slot: u32, now: Time, account: Option<Account>) {
        let moments = &mut self.moments[slot as usize];
        moments.done = now;
        moments.account = account;
    }

    /// It is done at the host.
    pub(crate) fn finished(&mut self, slot: u32, op: Op, arrival: Time, submitted: Time, now: Time) {
        if !matches!(op, Op::Read | Op::Write) {
            return;
        }
        let at = self.moments[slot as usize];
        if now >= self.end {
            self.grow(now);
        }
        let sums = &mut self.sums.last_mut().expect("there is an interval")[op as usize];
        let mut add = |cause: Cause, time: Time| sums[cause as usize] += u128::from(time);
        add(Cause::Slot, submitted - arrival);
        add(Cause::LinkIn, at.queued - submitted);
        add(Cause::Dispatch, at.served - at.queued);
        add(Cause::LinkOut, now - at.done);
        // A write waits for the buffer before it comes into a queue. A read that comes later into one followed its data from another.
        let before = if op == Op::Write { Cause::Buffer } else { Cause::Queue };
        let Some(account) = at.account else {
            // No flash operation was needed in the end.
            return add(before, at.done - at.served);
        };
        // A write may have been taken over by one that waits in the buffer already: its own time begins when it came.
        let ready = account.ready.clamp(at.served, at.done);
        add(if account.merged { Cause::Merge } else { before }, ready - at.served);
        if account.overlaps {
            return add(Cause::Flash, at.done - ready);
        }
        let started = account.started.clamp(ready, at.done);
        let collector = account.collector.min(started - ready);
        add(Cause::QueueGc, collector);
        add(Cause::Queue, started - ready - collector);
        let command = at.done - started;
        let cells = account.cells.min(command);
        let bus_wait = account.bus_wait.min(command - cells);
        add(Cause::Cells, cells);
        add(Cause::BusWait, bus_wait);
        add(Cause::Bus, command - cells - bus_wait);
    }

    #[cold]
    fn grow(&mut self, now: Time) {
        let (index, doubled) = self.intervals.index(now);
        for _ in 0..doubled {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().fold(Default::default(), merged)).collect();
        }
        self.sums.resize(index + 1, Default::default());
        self.end = self.intervals.end(index);
    }

    /// As the result has it.
    #[must_use]
    pub fn document(&self) -> Value {
        let total = self.sums.iter().fold(Default::default(), merged);
        let mut series = Map::new();
        series.insert("interval_s".into(), json!(self.intervals.length as f64 / 1e12));
        let mut document = Map::new();
        for (op, name) in [(Op::Read, "read"), (Op::Write, "write")] {
            let value = |sums: &Sums, cause: Cause| json!(seconds(sums[cause as usize]));
            let table = CAUSES.map(|(cause, key)| (key.to_owned(), value(&total[op as usize], cause)));
            document.insert(name.into(), Value::Object(table.into_iter().collect()));
            let used = CAUSES.iter().filter(|(cause, _)| total[op as usize][*cause as usize] > 0);
            let over_time = used.map(|&(cause, key)| {
                (key.to_owned(), self.sums.iter().map(|sums| value(&sums[op as usize], cause)).collect())
            });
            series.insert(name.into(), Value::Object(over_time.collect()));
        }
        document.insert("series".into(), Value::Object(series));
        Value::Object(document)
    }
}

fn merged(mut sum: [Sums; 2], other: &[Sums; 2]) -> [Sums; 2] {
    for (mine, theirs) in sum.iter_mut().flatten().zip(other.iter().flatten()) {
        *mine += theirs;
    }
    sum
}

fn seconds(picoseconds: u128) -> f64 {
    picoseconds as f64 / 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(document: &Value, op: &str, cause: &str) -> f64 {
        document[op][cause].as_f64().unwrap() * 1e12
    }

    #[test]
    fn the_parts_of_a_read_add_up() {
        let mut split = Split::new(1, 0);
        split.queued(0, 130);
        split.served(0, 150);
        let account = Account {
            ready: 150,
            started: 400,
            collector: 200,
            cells: 40,
            bus_wait: 7,
            merged: false,
            overlaps: false,
        };
        split.done(0, 460, Some(account));
        split.finished(0, Op::Read, 90, 120, 500);
        let document = split.document();
        let parts = [30.0, 10.0, 20.0, 0.0, 0.0, 50.0, 200.0, 7.0, 13.0, 40.0, 0.0, 40.0];
        for ((_, name), part) in CAUSES.iter().zip(parts) {
            assert!((of(&document, "read", name) - part).abs() < 1e-3, "{name}");
        }
        assert!((parts.iter().sum::<f64>() - (500.0 - 90.0)).abs() < 1e-9);
    }

    #[test]
    fn intervals_double_and_keep_the_sums() {
        let mut split = Split::new(1, 0);
        for n in 0..1_000_u64 {
            let at = n * 1_000_000_000;
            split.queued(0, at);
            split.served(0, at);
            split.done(0, at + 5, None);
            split.finished(0, Op::Write, at, at, at + 5);
        }
        assert!(split.sums.len() <= MOST_INTERVALS);
        let document = split.document();
        assert!((of(&document, "write", "buffer") - 5_000.0).abs() < 1e-3);
        let list = document["series"]["write"]["buffer"].as_array().unwrap();
        assert_eq!(list.len(), split.sums.len());
        assert!((list.iter().map(|v| v.as_f64().unwrap()).sum::<f64>() * 1e12 - 5_000.0).abs() < 1e-3);
    }
}
