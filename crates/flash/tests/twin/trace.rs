//! The result of a run, and the differences between two runs of the same scripts.

use super::table::Tick;
use std::fmt::Write;
use wordline_flash::{Kind, PageAddress};
use wordline_nand::chain::SEGMENTS;
use wordline_nand::log::What;
use wordline_nand::MAX_PLANES;

/// An entry of the log, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub die: usize,
    pub command: u64,
    pub kind: Kind,
    pub held: bool,
    pub what: What,
    pub page: PageAddress,
    pub planes: usize,
    pub bytes: u32,
    pub ready: Tick,
    pub start: Tick,
    pub end: Tick,
}

/// Notice to a host: its command or its whole sequence has ended, or it must answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub time: Tick,
    pub lane: usize,
    pub done: bool,
    /// A command of a sequence, or all, has ended.
    pub ended: bool,
}

/// Ticks of a die by use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub contention: Tick,
    pub dummy: Tick,
    /// Register copies, suspensions and resumptions.
    pub register: Tick,
    /// TON, TIN and BER by planes.
    pub cells: [[Tick; MAX_PLANES]; 3],
    pub bus: [Tick; SEGMENTS],
    pub uses: [u64; SEGMENTS],
}

/// The whole run.
pub struct Trace {
    pub lines: Vec<Line>,
    pub seen: Vec<Seen>,
    pub sums: Vec<Sums>,
    /// Busy ticks of the bus.
    pub busy: Tick,
    /// Suspensions that were not sent, because the bus could not transfer them in time.
    pub held_back: u64,
}

impl Trace {
    /// Bus and array entries of a die, in order of start.
    fn timeline(&self, die: usize, bus: bool) -> Vec<Line> {
        let belongs = |line: &&Line| line.die == die && matches!(line.what, What::Bus(_)) == bus;
        let mut lines: Vec<Line> = self.lines.iter().filter(belongs).copied().collect();
        lines.sort_by_key(|line| (line.start, line.end));
        lines
    }
}

/// Panics with both sides at the first difference.
pub fn compare(model: &Trace, twin: &Trace, dies: usize) {
    let timeline = |die, bus| first_difference(&model.timeline(die, bus), &twin.timeline(die, bus));
    // The earliest difference is the cause of the others.
    let first = (0..dies)
        .flat_map(|die| [true, false].map(|bus| (die, bus)))
        .filter_map(|(die, bus)| timeline(die, bus).map(|(time, text)| (time, die, bus, text)))
        .min_by_key(|&(time, ..)| time);
    if let Some((time, die, bus, text)) = first {
        panic!("die {die}, {}, differs at tick {time}:\n{text}", if bus { "bus" } else { "array" });
    }
    if let Some((time, text)) = first_difference(&model.seen, &twin.seen) {
        panic!("what the hosts see differs at tick {time}:\n{text}");
    }
    for (die, (model, twin)) in model.sums.iter().zip(&twin.sums).enumerate() {
        assert_eq!(model, twin, "the sums of die {die}, the model's left");
    }
    assert_eq!(model.held_back, twin.held_back, "suspensions that were not sent, the model's left");
    assert_eq!(model.busy, twin.busy, "ticks in which the bus was in use, the model's left");
}

trait Timed: PartialEq + std::fmt::Debug {
    fn time(&self) -> Tick;
    fn line(&self) -> String {
        format!("{self:?}")
    }
}

impl Timed for Seen {
    fn time(&self) -> Tick {
        self.time
    }
}

impl Timed for Line {
    fn time(&self) -> Tick {
        self.start
    }

    fn line(&self) -> String {
        let Line { command, kind, held, what, page, planes, bytes, ready, start, end, .. } = self;
        let PageAddress { plane, block, page } = page;
        let held = if *held { " held" } else { "" };
        format!(
            "{start}..{end} (ready {ready}) {what:?} command {command} {kind:?}{held} planes {planes} bytes {bytes} \
             at plane {plane} block {block} page {page}"
        )
    }
}

/// The time of the first difference, and both lists around it.
fn first_difference<T: Timed>(model: &[T], twin: &[T]) -> Option<(Tick, String)> {
    let length = model.len().max(twin.len());
    let at = (0..length).find(|&at| model.get(at) != twin.get(at))?;
    let time = [model.get(at), twin.get(at)].into_iter().flatten().map(Timed::time).min()?;
    let mut text = String::new();
    for (name, list) in [("model", model), ("twin", twin)] {
        let _ = writeln!(text, "  {name}:");
        for (index, entry) in list.iter().enumerate().take(at + 4).skip(at.saturating_sub(4)) {
            let mark = if index == at { ">" } else { " " };
            let _ = writeln!(text, "  {mark} {}", entry.line());
        }
    }
    Some((time, text))
}
