//! Latency breakdown of reads and writes: the parts of their latencies, summed by the intervals in which they were
//! spent, and optionally a row for each request.
//!
//! A request's time is divided at five moments: slot taken, arrived in the drive, dispatched, done in the drive,
//! completed at the host. Between the third and the fourth it waited for flash operations; the firmware's account of
//! the operation that ended last divides that time.

mod by_latency;

use self::by_latency::ByLatency;
use crate::activity::Intervals;
use crate::parts::{Features, Moments, Part, Phase, PARTS, PHASES};
use crate::policy::link::{LinkCosts, LinkTimes};
use crate::rows::RequestRow;
use serde_json::{json, Map, Value};
use wordline_base::{Op, Request, Time};
use wordline_firmware::task::Tasks;
use wordline_firmware::Way;

const MOST_INTERVALS: usize = 128;

type Sums = [u128; PARTS];

/// The rows of requests that are done.
#[derive(Clone, Debug)]
struct Rows {
    /// All times are told from here on.
    origin: Time,
    /// One request in so many has a row.
    sample: u64,
    next: u64,
    /// By slot: the number of its request, if that is in the sample.
    numbers: Vec<Option<u64>>,
    done: Vec<RequestRow>,
}

/// Where the time of reads and writes went.
#[derive(Clone, Debug)]
pub struct Split {
    link: LinkTimes,
    moments: Vec<Moments>,
    intervals: Intervals,
    end: Time,
    /// By interval: of reads, of writes.
    sums: Vec<[Sums; 2]>,
    /// What the current interval adds to that: 200 days of latency fit in.
    current: [[Time; PARTS]; 2],
    /// By class of latency: reads, writes.
    by_latency: [ByLatency; 2],
    rows: Option<Box<Rows>>,
}

impl Split {
    /// Nothing seen yet, from `now` on, for a drive of so many slots.
    pub(crate) fn new(link: LinkCosts, slots: usize, now: Time) -> Self {
        let intervals = Intervals::new(now, MOST_INTERVALS);
        let end = intervals.end(0);
        Self {
            link: LinkTimes::new(link),
            moments: vec![Moments::default(); slots],
            intervals,
            end,
            sums: vec![Default::default()],
            current: Default::default(),
            by_latency: Default::default(),
            rows: None,
        }
    }

    /// Adds up anew from `now` on; what is under way goes on.
    pub(crate) fn restart(&mut self, now: Time) {
        self.intervals = Intervals::new(now, MOST_INTERVALS);
        self.end = self.intervals.end(0);
        self.current = Default::default();
        self.by_latency = Default::default();
        self.sums.clear();
        self.sums.push(Default::default());
    }

    /// Makes a row of one request in `sample` from now on.
    pub(crate) fn make_rows(&mut self, origin: Time, sample: u64) {
        let numbers = vec![None; self.moments.len()];
        self.rows = Some(Box::new(Rows { origin, sample, next: 0, numbers, done: Vec::new() }));
    }

    /// Makes no rows any more.
    pub(crate) fn end_rows(&mut self) {
        self.rows = None;
    }

    /// The rows made since they were last drained.
    #[inline]
    pub(crate) fn rows(&mut self) -> Option<&mut Vec<RequestRow>> {
        self.rows.as_mut().map(|rows| &mut rows.done)
    }

    /// A request got a slot: it has a number.
    pub(crate) fn number(&mut self, slot: u32) {
        if let Some(rows) = &mut self.rows {
            let number = rows.next;
            rows.next += 1;
            let taken = rows.sample == 1 || mixed(number).is_multiple_of(rows.sample);
            rows.numbers[slot as usize] = taken.then_some(number);
        }
    }

    /// A request is in the drive.
    #[inline]
    pub(crate) fn queued(&mut self, slot: u32, now: Time) {
        self.moments[slot as usize].queued = now;
    }

    /// It is taken up.
    #[inline]
    pub(crate) fn served(&mut self, slot: u32, now: Time) {
        self.moments[slot as usize].served = now;
    }

    /// It is done in the drive.
    #[inline]
    pub(crate) fn done(&mut self, slot: u32, now: Time) {
        self.moments[slot as usize].done = now;
    }

    /// It is done at the host; that was its way through the flash.
    pub(crate) fn finished(&mut self, slot: u32, request: &Request, submitted: Time, way: &Way, now: Time) {
        let moments = &mut self.moments[slot as usize];
        moments.submitted = submitted;
        let op = request.op;
        let added = matches!(op, Op::Read | Op::Write);
        let number = self.rows.as_mut().and_then(|rows| rows.numbers[slot as usize].take());
        if !added && number.is_none() {
            return;
        }
        let parts = moments.cut(request, way, &mut self.link, now);
        if let (Some(rows), Some(number)) = (&mut self.rows, number) {
            rows.add(number, request, (submitted, way), now, &parts);
        }
        if added {
            let moments = *moments;
            self.by_latency[op as usize].add(now - request.arrival, &parts);
            if now >= self.end {
                self.grow(now);
            }
            if request.arrival + self.intervals.length >= self.end {
                self.current[op as usize].iter_mut().zip(&parts).for_each(|(sum, time)| *sum += time);
            } else {
                self.spread(op, &moments.phases(request.arrival, &parts, now));
            }
        }
    }

    /// Adds the parts of a request to the intervals in which it spent them; what was before the first counts there.
    fn spread(&mut self, op: Op, phases: &[Phase; PHASES]) {
        let (start, length, last) = (self.intervals.start, self.intervals.length, self.sums.len() - 1);
        for phase in phases.iter().filter(|phase| phase.end > phase.start) {
            let whole = phase.end - phase.start;
            let mut from = phase.start;
            while from < phase.end {
                let index = (from.saturating_sub(start) / length) as usize;
                let until = phase.end.min(start + (index as u64 + 1) * length);
                let up_to =
                    |part: Time, time: Time| u128::from(part) * u128::from(time - phase.start) / u128::from(whole);
                for (at, &part) in phase.parts.iter().enumerate().filter(|(_, &part)| part > 0) {
                    let time = up_to(part, until) - up_to(part, from);
                    if index >= last {
                        self.current[op as usize][at] += time as Time;
                    } else {
                        self.sums[index][op as usize][at] += time;
                    }
                }
                from = until;
            }
        }
    }

    #[cold]
    fn grow(&mut self, now: Time) {
        *self.sums.last_mut().expect("there is an interval") = self.latest();
        self.current = Default::default();
        let (index, doubled) = self.intervals.index(now);
        for _ in 0..doubled {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().fold(Default::default(), merged)).collect();
        }
        self.sums.resize(index + 1, Default::default());
        self.end = self.intervals.end(index);
    }

    /// The sums of the current interval.
    fn latest(&self) -> [Sums; 2] {
        let mut sums = *self.sums.last().expect("there is an interval");
        for (sum, &time) in sums.iter_mut().flatten().zip(self.current.iter().flatten()) {
            *sum += u128::from(time);
        }
        sums
    }

    /// As the result of a drive with such tasks and features has it.
    #[must_use]
    pub fn document(&self, tasks: Tasks, features: Features) -> Value {
        let mut intervals = self.sums.clone();
        *intervals.last_mut().expect("there is an interval") = self.latest();
        let total = intervals.iter().fold(Default::default(), merged);
        let mut series = Map::new();
        series.insert("interval_s".into(), json!(self.intervals.length as f64 / 1e12));
        let mut document = Map::new();
        for (op, name) in [(Op::Read, "read"), (Op::Write, "write")] {
            let value = |sums: &Sums, part: Part| json!(seconds(sums[part.index()]));
            let table =
                Part::of(tasks, features).map(|about| (about.name.clone(), value(&total[op as usize], about.part)));
            document.insert(name.into(), Value::Object(table.collect()));
            let used = Part::all().iter().filter(|about| total[op as usize][about.part.index()] > 0);
            let over_time = used.map(|about| {
                let list = intervals.iter().map(|sums| value(&sums[op as usize], about.part)).collect();
                (about.name.clone(), list)
            });
            series.insert(name.into(), Value::Object(over_time.collect()));
        }
        document.insert("series".into(), Value::Object(series));
        let by_latency = [(Op::Read, "read"), (Op::Write, "write")];
        let by_latency = by_latency.map(|(op, name)| (name.to_owned(), self.by_latency[op as usize].document()));
        document.insert("by_latency".into(), Value::Object(by_latency.into_iter().collect()));
        Value::Object(document)
    }
}

impl Rows {
    #[inline(never)]
    fn add(
        &mut self,
        number: u64,
        request: &Request,
        (submitted, way): (Time, &Way),
        now: Time,
        parts: &[Time; PARTS],
    ) {
        let Request { arrival, offset, bytes, op, stream, .. } = *request;
        let origin = self.origin;
        self.done.push(RequestRow {
            number,
            stream,
            op,
            offset,
            bytes,
            arrival: arrival - origin,
            submitted: submitted - origin,
            flash_start: way.flash_start.map(|time| time - origin),
            completion: now - origin,
            gc_affected: way.gc_affected,
            parts: *parts,
        });
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

/// A number with its bits stirred (SplitMix64 by Steele, Lea and Flood), so that a sample does not beat with a
/// workload's rhythm.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::link::Transfer;
    use wordline_firmware::Account;

    fn link(completion: Time) -> LinkCosts {
        let data = Transfer { per: 1, ..Transfer::default() };
        LinkCosts { command: 10, completion, data_in: data, data_out: data, ..LinkCosts::default() }
    }

    fn of(document: &Value, op: &str, part: &str) -> f64 {
        document[op][part].as_f64().unwrap() * 1e12
    }

    #[test]
    fn the_parts_of_a_read_add_up() {
        let mut split = Split::new(link(25), 1, 0);
        split.queued(0, 133);
        split.served(0, 150);
        let account = Account {
            processor: 0,
            map: 0,
            start: 150,
            end: 450,
            bytes: 0,
            own: 0,
            die: std::array::from_fn(|holder| [60, 0, 150].get(holder).copied().unwrap_or(0)),
            space: 5,
            wait_bus: 7,
            bus: 13,
            read: 40,
            program: 0,
            other: 20,
        };
        split.done(0, 460);
        let request = Request { arrival: 90, op: Op::Read, ..Request::default() };
        split.finished(0, &request, 120, &Way::of(account), 500);
        let document = split.document(Tasks::ALL, Features::default());
        let parts = [
            30.0,
            3.0 + 15.0,
            10.0 + 25.0,
            17.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            60.0,
            0.0,
            150.0,
            5.0,
            7.0,
            13.0,
            40.0,
            0.0,
            20.0,
            10.0 + 5.0,
        ];
        for (about, part) in Part::of(Tasks::BASIC, Features::default()).zip(parts) {
            assert!((of(&document, "read", &about.name) - part).abs() < 1e-3, "{}", about.name);
        }
        assert!((parts.iter().sum::<f64>() - (500.0 - 90.0)).abs() < 1e-9);
    }

    #[test]
    fn a_request_counts_in_the_intervals_in_which_it_waits() {
        let mut split = Split::new(link(0), 2, 0);
        let interval = split.intervals.length;
        let request = Request { op: Op::Write, ..Request::default() };
        // Served at once, it waits for the buffer until the middle of the fourth interval; then it is carried for two and a half.
        let account =
            Account { start: 7 * interval / 2, end: 6 * interval, program: 5 * interval / 2, ..Account::default() };
        split.done(0, 6 * interval);
        split.finished(0, &request, 0, &Way::of(account), 6 * interval);
        let document = split.document(Tasks::ALL, Features::default());
        let series = |part: &str| -> Vec<f64> {
            let list = document["series"]["write"][part].as_array().unwrap();
            list.iter().map(|v| (v.as_f64().unwrap() * 1e12 / interval as f64 * 2.0).round() / 2.0).collect()
        };
        assert_eq!(series("wait_buffer_space"), [1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
        assert_eq!(series("array_program"), [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 0.0]);
        // What was spent before measuring began counts in the first.
        split.restart(6 * interval);
        split.queued(1, interval);
        split.served(1, 7 * interval);
        split.done(1, 8 * interval);
        split.finished(1, &request, interval, &Way::default(), 8 * interval);
        let document = split.document(Tasks::ALL, Features::default());
        let list = document["series"]["write"]["wait_dispatch"].as_array().unwrap();
        assert!((list[0].as_f64().unwrap() * 1e12 - 6.0 * interval as f64).abs() < 1.0, "{list:?}");
    }

    #[test]
    fn intervals_double_and_keep_the_sums() {
        let mut split = Split::new(link(0), 1, 0);
        for n in 0..1_000_u64 {
            let at = n * 1_000_000_000;
            split.queued(0, at);
            split.served(0, at);
            split.done(0, at + 5);
            let request = Request { arrival: at, op: Op::Write, ..Request::default() };
            split.finished(0, &request, at, &Way::default(), at + 5);
        }
        assert!(split.sums.len() <= MOST_INTERVALS);
        let document = split.document(Tasks::ALL, Features::default());
        assert!((of(&document, "write", "wait_buffer_space") - 5_000.0).abs() < 1e-3);
        let list = document["series"]["write"]["wait_buffer_space"].as_array().unwrap();
        assert_eq!(list.len(), split.sums.len());
        assert!((list.iter().map(|v| v.as_f64().unwrap()).sum::<f64>() * 1e12 - 5_000.0).abs() < 1e-3);
    }
}
