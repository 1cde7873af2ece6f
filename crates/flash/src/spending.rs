//! Breakdown of the time of commands, summed while they run.

use crate::log::{Pass, Stage, Use, What};
use wordline_base::Time;

/// Commands of a lane whose sums are kept: in cache mode, the current, the one before, and the one that has just ended.
const KEPT: usize = 4;

/// How the time of a command was spent so far, in picoseconds. In cache mode bus and cells may work for one at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
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

impl Spent {
    /// Adds what the command did.
    #[inline]
    pub(crate) fn add(&mut self, entry: &Use) {
        let time = entry.end - entry.start;
        match entry.what {
            What::Bus(_) => {
                self.wait_bus += entry.start - entry.ready;
                self.bus += time;
            }
            What::Array(Stage::Ton) => self.read += time,
            What::Array(Stage::Tin) => self.program += time,
            What::Array(_) => {}
        }
    }
}

impl Spent {
    /// Adds a use of the bus, and what the array did after it.
    #[inline]
    pub(crate) fn add_pass(&mut self, pass: &Pass) {
        if pass.on_bus > 0 {
            self.wait_bus += pass.waited();
            self.bus += pass.on_bus;
        }
        match Stage::behind(pass.segment) {
            Stage::Ton => self.read += pass.busy,
            Stage::Tin => self.program += pass.busy,
            _ => {}
        }
    }
}

/// Where the sums of a command are kept, until its lane has begun four more whose time is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally(u32);

impl Tally {
    /// Not added up.
    pub const NONE: Self = Self(u32::MAX);
}

impl Default for Tally {
    fn default() -> Self {
        Self::NONE
    }
}

/// The sums of the latest commands of each lane that are added up.
#[derive(Clone, Debug)]
pub(crate) struct Spending {
    sums: Vec<Spent>,
    turns: Vec<u8>,
}

impl Spending {
    pub fn new(lanes: usize) -> Self {
        Self { sums: vec![Spent::default(); KEPT * lanes], turns: vec![0; lanes] }
    }

    /// Adds up the time of the command that a lane begins now.
    #[inline]
    pub fn begin(&mut self, lane: u32, now: Time) -> Tally {
        let turn = &mut self.turns[lane as usize];
        *turn = (*turn + 1) % KEPT as u8;
        let at = lane as usize * KEPT + usize::from(*turn);
        self.sums[at] = Spent { begun: now, ..Spent::default() };
        Tally(at as u32)
    }

    #[inline]
    pub fn of(&self, tally: Tally) -> Option<&Spent> {
        self.sums.get(tally.0 as usize)
    }

    #[inline]
    pub fn of_mut(&mut self, tally: Tally) -> Option<&mut Spent> {
        self.sums.get_mut(tally.0 as usize)
    }
}
