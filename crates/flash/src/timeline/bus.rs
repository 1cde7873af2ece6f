//! The bus of a channel: its uses in the order of their starts.
//!
//! A use is told when what the die does after it has ended, so uses of different dies come out of order: they wait here until none
//! can come that started before.

use super::pen::Pen;
use crate::parts::cut;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wordline_base::Time;
use wordline_nand::{Segment, Timing};
use wordline_timeline::{Arg, Event, TrackId};

/// A segment on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub start: Time,
    pub end: Time,
    /// When it was ready; later than that it waited.
    pub ready: Time,
    pub segment: Segment,
    pub bytes: u32,
    /// The package on the channel, and the die in it.
    pub package: u32,
    pub die: u32,
    pub command: u64,
    pub task: Option<&'static str>,
}

impl Ord for Use {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.start, self.end, self.command).cmp(&(other.start, other.end, other.command))
    }
}

impl PartialOrd for Use {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Use {
    /// As many slices as it may become.
    pub fn slices(&self) -> u64 {
        1 + self.segment.spec().cycles.len() as u64
    }
}

/// A channel's bus.
#[derive(Debug)]
pub(super) struct Bus {
    track: TrackId,
    packages: Vec<TrackId>,
    waiting: BinaryHeap<Reverse<Use>>,
}

impl Bus {
    pub fn new(track: TrackId, packages: Vec<TrackId>) -> Self {
        Self { track, packages, waiting: BinaryHeap::new() }
    }

    pub fn push(&mut self, one: Use) {
        self.waiting.push(Reverse(one));
    }

    /// Draws what starts before `before`: nothing that starts earlier comes any more. Gives how many slices waited to be drawn.
    pub fn draw(&mut self, pen: &mut Pen, before: Time, timing: &Timing) -> u64 {
        let mut slices = 0;
        while self.waiting.peek().is_some_and(|Reverse(first)| first.start < before) {
            if let Some(Reverse(one)) = self.waiting.pop() {
                slices += one.slices();
                self.draw_use(pen, &one, timing);
            }
        }
        slices
    }

    fn draw_use(&self, pen: &mut Pen, one: &Use, timing: &Timing) {
        let mut args = vec![("command", Arg::Uint(one.command))];
        args.extend(one.task.map(|task| ("task", Arg::Text(task))));
        args.push(("package", Arg::Uint(u64::from(one.package))));
        args.push(("die", Arg::Uint(u64::from(one.die))));
        if one.bytes > 0 {
            args.push(("bytes", Arg::Uint(u64::from(one.bytes))));
        }
        args.push(("waited_ps", Arg::Uint(one.start - one.ready)));
        let whole = Event { name: one.segment.spec().name, args: &args, group: one.task, ..Event::default() };
        pen.slice(self.track, one.start, one.end, &whole);
        let data = one.end - one.start - timing.on_bus(one.segment, 0);
        let package = self.packages[one.package as usize];
        let args = [("command", Arg::Uint(one.command)), ("die", Arg::Uint(u64::from(one.die)))];
        cut(one.segment, timing, data, one.start, &mut |name, start, end| {
            pen.slice(package, start, end, &Event { name, args: &args, group: one.task, ..Event::default() });
        });
    }
}
