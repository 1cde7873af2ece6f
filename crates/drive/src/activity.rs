//! Utilisation of channels and dies over time, in constant memory: intervals double in length when there are too many.
//!
//! It counts no events. The flash keeps sums; each interval takes their increase.

use crate::gauges::Gauges;
use crate::wire::Wire;
use serde_json::{json, Map, Value};
use std::ops::Range;
use wordline_base::time::MS;
use wordline_base::Time;
use wordline_firmware::task::{Class, Task, Tasks};
use wordline_firmware::{Kernel, HOLDERS};

/// Most values of a map; a drive with more dies has fewer intervals.
const MOST_CELLS: usize = 1 << 15;
const MOST_INTERVALS: usize = 256;
const FEWEST_INTERVALS: usize = 32;
const FIRST_INTERVAL: Time = MS / 8;

/// Intervals of equal length from a start on, which double instead of becoming more than `most`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intervals {
    pub start: Time,
    pub length: Time,
    most: usize,
}

impl Intervals {
    pub fn new(start: Time, most: usize) -> Self {
        Self { start, length: FIRST_INTERVAL, most }
    }

    /// The index of the interval that holds `now`, and how often all intervals had to double to have it.
    pub fn index(&mut self, now: Time) -> (usize, u32) {
        let mut doubled = 0;
        while (now - self.start) / self.length >= self.most as u64 {
            self.length *= 2;
            doubled += 1;
        }
        (((now - self.start) / self.length) as usize, doubled)
    }

    pub fn end(&self, index: usize) -> Time {
        self.start + (index as u64 + 1) * self.length
    }
}

/// A sum for each of several parts, and how it grew in each interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Growth {
    seen: Vec<Time>,
    /// Seen, and still to come: of an interval that is open again.
    ahead: Vec<Time>,
    /// By interval, then part.
    cells: Vec<Time>,
}

impl Growth {
    fn new(sums: impl Iterator<Item = Time>) -> Self {
        let seen: Vec<Time> = sums.collect();
        Self { ahead: vec![0; seen.len()], seen, cells: Vec::new() }
    }

    /// Ends an interval of the given length.
    fn end(&mut self, length: Time, sums: impl Iterator<Item = Time>) {
        self.cells.extend(sums.zip(&mut self.seen).zip(&mut self.ahead).map(|((sum, seen), ahead)| {
            // In cache mode a die's work may be told a few command cycles too early.
            let grown = sum.saturating_sub(*seen) + *ahead;
            *seen = sum.max(*seen);
            *ahead = grown.saturating_sub(length);
            grown - *ahead
        }));
    }

    /// The same of sums that are at hand: most tasks do nothing in most intervals.
    fn end_of(&mut self, length: Time, sums: &[Time]) {
        if self.seen == sums && self.ahead.iter().fold(0, |all, &ahead| all | ahead) == 0 {
            self.cells.resize(self.cells.len() + sums.len(), 0);
        } else {
            self.end(length, sums.iter().copied());
        }
    }

    /// Makes one interval of each two.
    fn double(&mut self) {
        let parts = self.seen.len();
        let intervals = self.cells.len() / parts;
        for pair in 0..intervals / 2 {
            if pair > 0 {
                self.cells.copy_within(2 * pair * parts..(2 * pair + 1) * parts, pair * parts);
            }
            let (done, rest) = self.cells.split_at_mut((2 * pair + 1) * parts);
            done[pair * parts..].iter_mut().zip(&rest[..parts]).for_each(|(sum, other)| *sum += other);
        }
        if !intervals.is_multiple_of(2) {
            self.cells.copy_within((intervals - 1) * parts.., intervals / 2 * parts);
        }
        self.cells.truncate(intervals.div_ceil(2) * parts);
    }

    /// The sum of a part over some of the intervals.
    fn sum(&self, part: usize, intervals: &Range<usize>) -> Time {
        let parts = self.seen.len();
        intervals.clone().map(|interval| self.cells[interval * parts + part]).sum()
    }

    /// Shares of `intervals`, by part: thousandths are enough for a map.
    fn shares(&self, lengths: &[Time]) -> Vec<Vec<f64>> {
        let parts = self.seen.len();
        let share = |cell: Time, length: Time| (1e3 * cell as f64 / length.max(1) as f64).round().min(1e3) / 1e3;
        (0..parts)
            .map(|part| {
                lengths.iter().enumerate().map(|(i, &length)| share(self.cells[i * parts + part], length)).collect()
            })
            .collect()
    }
}

/// How busy channels and dies were over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    intervals: Intervals,
    /// End of the current interval.
    end: Time,
    channels: Growth,
    /// Cells at work.
    dies: Growth,
    /// Dies held by reads of the host, by its writes, by each background task.
    held: [Growth; HOLDERS],
    /// Commands in dies that wait for the bus.
    waits: Growth,
    /// The link's two directions.
    links: Growth,
    gauges: Gauges,
}

/// A part that is at work for this share of an interval is saturated in it.
const SATURATED: f64 = 0.9;
/// Intervals in which saturation is told: at most so many, and none so short that a few commands fill it.
const MOST_WINDOWS: usize = 64;
const SHORTEST_WINDOW: Time = 8 * MS;

/// How long each channel has been in use up to `at`.
pub(crate) fn channels(kernel: &Kernel, at: Time) -> impl Iterator<Item = Time> + '_ {
    let flash = kernel.flash();
    (0..flash.geometry().channels).map(move |channel| flash.channel_used(channel, at))
}

/// How long the cells and registers of each die have worked up to `at`.
pub(crate) fn dies(kernel: &Kernel, at: Time) -> impl Iterator<Item = Time> + '_ {
    let flash = kernel.flash();
    (0..flash.geometry().dies()).map(move |die| flash.die_worked(die, at))
}

/// How long commands have held dies up to `now`, from their starts to their ends, and how long they waited for the bus meanwhile,
/// summed over dies.
pub(crate) fn held_and_waited(kernel: &Kernel, now: Time) -> (Time, Time) {
    let dies = 0..kernel.flash().geometry().dies();
    (dies.map(|die| kernel.occupied(die, now).iter().sum::<Time>()).sum(), waits(kernel).sum())
}

/// Name of what holds a die, in results.
pub(crate) fn holder_name(holder: usize) -> &'static str {
    match holder {
        0 => "read",
        1 => "write",
        _ => background(holder).about().name,
    }
}

pub(crate) fn background(holder: usize) -> Task {
    Task::all().nth(holder - 1).expect("there is one for each")
}

/// How long all dies have been held up to `now`, by what [`HOLDERS`] counts.
pub(crate) fn all_held(kernel: &Kernel, now: Time) -> [Vec<Time>; HOLDERS] {
    let dies = kernel.flash().geometry().dies();
    let mut all = [const { Vec::new() }; HOLDERS];
    all.iter_mut().for_each(|times| times.resize(dies as usize, 0));
    for die in 0..dies {
        let occupied = kernel.occupied(die, now);
        let at = die as usize;
        (all[0][at], all[1][at]) = (occupied[Class::HOST_READ.index()], occupied[Class::HOST_WRITE.index()]);
        for task in kernel.tasks().background() {
            all[1 + task.index()][at] = task.sum(&occupied);
        }
    }
    all
}

fn waits(kernel: &Kernel) -> impl Iterator<Item = Time> + '_ {
    (0..kernel.flash().geometry().dies()).map(|die| kernel.flash().die_waited(die))
}

fn links(wires: &[Wire; 2], at: Time) -> impl Iterator<Item = Time> + '_ {
    wires.iter().map(move |wire| wire.used(at))
}

impl Activity {
    /// Nothing seen yet, from `now` on.
    #[must_use]
    pub(crate) fn new(kernel: &Kernel, wires: &[Wire; 2], now: Time) -> Self {
        let parts = kernel.flash().geometry().dies() as usize;
        let most = (MOST_CELLS / parts.max(1)).clamp(FEWEST_INTERVALS, MOST_INTERVALS);
        let intervals = Intervals::new(now, most);
        Self {
            end: intervals.end(0),
            intervals,
            channels: Growth::new(channels(kernel, now)),
            dies: Growth::new(dies(kernel, now)),
            held: all_held(kernel, now).map(|times| Growth::new(times.into_iter())),
            waits: Growth::new(waits(kernel)),
            links: Growth::new(links(wires, now)),
            gauges: Gauges::default(),
        }
    }

    /// When the current interval ends.
    pub(crate) fn due(&self) -> Time {
        self.end
    }

    /// Ends the intervals up to `now`; nothing of what happens at `now` may have happened.
    pub(crate) fn look(&mut self, kernel: &Kernel, wires: &[Wire; 2], now: Time) {
        while now >= self.end {
            let (_, doubled) = self.intervals.index(now);
            if doubled > 0 {
                self.double(doubled);
                continue;
            }
            self.close(kernel, wires, self.end, self.intervals.length);
            let done = self.dies.cells.len() / self.dies.seen.len();
            self.end = self.intervals.end(done);
        }
    }

    fn close(&mut self, kernel: &Kernel, wires: &[Wire; 2], at: Time, length: Time) {
        self.channels.end(length, channels(kernel, at));
        self.dies.end(length, dies(kernel, at));
        let held = all_held(kernel, at);
        for (growth, times) in self.held.iter_mut().zip(held) {
            growth.end_of(length, &times);
        }
        self.waits.end(length, waits(kernel));
        self.links.end(length, links(wires, at));
        self.gauges.end(kernel);
    }

    /// Makes intervals longer: what has ended is merged, and the last of it may be open again.
    fn double(&mut self, times: u32) {
        for _ in 0..times {
            let done = self.dies.cells.len() / self.dies.seen.len();
            let flash = [&mut self.channels, &mut self.dies, &mut self.waits, &mut self.links];
            let all = flash.into_iter().chain(&mut self.held);
            self.gauges.double();
            if done.is_multiple_of(2) {
                all.for_each(Growth::double);
            } else {
                // The last one is half of an interval that has not ended: what it holds is counted again when that ends.
                for growth in all {
                    let from = growth.cells.len() - growth.seen.len();
                    let half = growth.cells.split_off(from);
                    growth.ahead.iter_mut().zip(half).for_each(|(ahead, grown)| *ahead += grown);
                    growth.double();
                }
            }
        }
        self.end = self.intervals.end(self.dies.cells.len() / self.dies.seen.len());
    }

    /// As the result has it, up to `now`.
    #[must_use]
    pub fn document(&self, kernel: &Kernel, wires: &[Wire; 2], half_duplex: bool, now: Time) -> Value {
        let mut whole = self.clone();
        whole.look(kernel, wires, now);
        let done = whole.dies.cells.len() / whole.dies.seen.len();
        let mut lengths = vec![whole.intervals.length; done];
        let rest = now - (whole.intervals.start + done as u64 * whole.intervals.length);
        if rest > 0 {
            whole.close(kernel, wires, now, rest);
            lengths.push(rest);
        }
        let mut document = json!({
            "interval_s": whole.intervals.length as f64 / 1e12,
            "end_s": (now - self.intervals.start) as f64 / 1e12,
            "channels": whole.channels.shares(&lengths),
            "dies": whole.dies.shares(&lengths),
        });
        for task in kernel.tasks().background() {
            let name = format!("dies_{}", task.about().name);
            document[name] = json!(whole.held[1 + task.index()].shares(&lengths));
        }
        if kernel.plan().has_stage {
            document["stage"] = whole.gauges.document(kernel);
        }
        document["saturated"] = whole.saturated(kernel.tasks(), &lengths, half_duplex);
        document
    }

    /// In how many intervals each part was saturated; of dies, who held them longest in these.
    fn saturated(&self, tasks: Tasks, lengths: &[Time], half_duplex: bool) -> Value {
        let (mut joined, mut interval) = (1, self.intervals.length);
        while interval < SHORTEST_WINDOW || lengths.len().div_ceil(joined) > MOST_WINDOWS {
            joined *= 2;
            interval *= 2;
        }
        let mut windows: Vec<Range<usize>> = (0..lengths.len())
            .step_by(joined)
            .map(|from| from..lengths.len().min(from + joined))
            .filter(|window| lengths[window.clone()].iter().any(|&length| length > 0))
            .collect();
        let length = |window: &Range<usize>| lengths[window.clone()].iter().sum::<Time>();
        // What is left at the end is too short to tell anything.
        if windows.len() > 1 && windows.last().is_some_and(|last| 2 * length(last) < length(&windows[0])) {
            windows.pop();
        }
        let busy = |time: Time, window: &Range<usize>| time as f64 >= SATURATED * length(window) as f64;
        let count = |growth: &Growth, part: usize| windows.iter().filter(|&w| busy(growth.sum(part, w), w)).count();
        let dies = self.dies.seen.len();
        let mut by = [const { Vec::new() }; HOLDERS];
        for die in 0..dies {
            let mut found = [0; HOLDERS];
            for window in &windows {
                let held = self.held.each_ref().map(|growth| growth.sum(die, window));
                // A die that waits for the bus is not at work; in cache mode its cells may be meanwhile.
                let taken = held.iter().sum::<Time>().saturating_sub(self.waits.sum(die, window));
                if busy(taken.max(self.dies.sum(die, window)), window) {
                    let most = held.iter().max().expect("there are some");
                    found[held.iter().position(|time| time == most).expect("it is one of them")] += 1;
                }
            }
            by.iter_mut().zip(found).for_each(|(list, count)| list.push(count));
        }
        let told = |holder: &usize| *holder < 2 || tasks.has(background(*holder));
        let dies_by: Map<String, Value> = (0..HOLDERS)
            .filter(told)
            .map(|holder| (holder_name(holder).to_owned(), json!(std::mem::take(&mut by[holder]))))
            .collect();
        let channels: Vec<usize> = (0..self.channels.seen.len()).map(|part| count(&self.channels, part)).collect();
        json!({
            "interval_s": interval as f64 / 1e12,
            "intervals": windows.len(),
            "dies_by": dies_by,
            "channels": channels,
            "link_in": count(&self.links, 0),
            "link_out": count(&self.links, usize::from(!half_duplex)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_instead_of_becoming_more() {
        let mut intervals = Intervals::new(1_000, 4);
        assert_eq!(intervals.index(1_000), (0, 0));
        assert_eq!(intervals.index(1_000 + 4 * FIRST_INTERVAL - 1), (3, 0));
        assert_eq!(intervals.index(1_000 + 4 * FIRST_INTERVAL), (2, 1));
        assert_eq!(intervals.index(1_000 + 33 * FIRST_INTERVAL), (2, 3));
        assert_eq!(intervals.end(2), 1_000 + 48 * FIRST_INTERVAL);
    }

    #[test]
    fn what_is_booked_ahead_falls_into_the_intervals_in_which_it_happens() {
        let mut growth = Growth::new([5, 0].into_iter());
        // The first part books 25 at once; the second 4 in each interval.
        growth.end(10, [30, 4].into_iter());
        growth.end(10, [30, 8].into_iter());
        growth.end(10, [30, 12].into_iter());
        growth.end(10, [31, 16].into_iter());
        assert_eq!(growth.cells, [10, 4, 10, 4, 5, 4, 1, 4]);
        growth.double();
        assert_eq!(growth.cells, [20, 8, 6, 8]);
        assert_eq!(growth.shares(&[20, 20]), [[1.0, 0.3], [0.4, 0.4]]);
    }
}
