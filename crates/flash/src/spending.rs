//! How the time of commands is spent, added up while they run.

use crate::log::{Entry, Stage, What};
use wordline_base::Time;

/// Commands of a lane that may be asked for: in cache mode, the current, the one before, and the one that has just ended.
const KEPT: usize = 4;

/// How the time of a command was spent so far, in picoseconds. In cache mode bus and cells may work for one at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    command: u64,
    /// When it began.
    pub begun: Time,
    /// It waited for the bus.
    pub wait_bus: Time,
    /// It was on the bus.
    pub bus: Time,
    /// Cells were read for it.
    pub read: Time,
    /// Cells were programmed for it.
    pub program: Time,
}

/// The latest commands of each lane.
#[derive(Clone, Debug)]
pub(crate) struct Spending {
    dies: usize,
    lanes: Vec<[Spent; KEPT]>,
    turns: Vec<u8>,
}

impl Spending {
    pub fn new(dies: usize) -> Self {
        Self { dies, lanes: vec![[Spent::default(); KEPT]; 2 * dies], turns: vec![0; 2 * dies] }
    }

    /// A lane begins a command.
    #[inline]
    pub fn begin(&mut self, lane: u32, command: u64, now: Time) {
        let lane = lane as usize;
        let turn = (usize::from(self.turns[lane]) + 1) % KEPT;
        self.turns[lane] = turn as u8;
        self.lanes[lane][turn] = Spent { command, begun: now, ..Spent::default() };
    }

    /// Where a command that a lane has begun is kept, if it is still known.
    #[inline]
    fn find(&self, lane: usize, command: u64) -> Option<usize> {
        let turn = usize::from(self.turns[lane]);
        (0..KEPT).map(|back| (turn + KEPT - back) % KEPT).find(|&at| self.lanes[lane][at].command == command)
    }

    /// A command that a lane has begun, if it is still known.
    #[inline]
    pub fn of(&self, lane: u32, command: u64) -> Option<&Spent> {
        let lane = lane as usize;
        self.find(lane, command).map(|at| &self.lanes[lane][at])
    }

    /// Adds what a command did that a die runs, as its main one or beside that.
    #[inline]
    pub fn add(&mut self, die: u32, command: u64, entry: &Entry) {
        let die = die as usize;
        let found = [die, self.dies + die].into_iter().find_map(|lane| Some((lane, self.find(lane, command)?)));
        let Some((lane, at)) = found else { return };
        let spent = &mut self.lanes[lane][at];
        let time = entry.end - entry.start;
        match entry.what {
            What::Bus(_) => {
                spent.wait_bus += entry.start - entry.ready;
                spent.bus += time;
            }
            What::Array(Stage::Ton) => spent.read += time,
            What::Array(Stage::Tin) => spent.program += time,
            What::Array(_) => {}
        }
    }
}
