//! Event log of a package for observers: every use of the bus and of the array, with start and end.

use crate::chain::{Busy, Segment};
use crate::command::Kind;
use crate::geometry::PageAddress;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// What the array of a die does. The stages CLE, ALE, TIR and TOR are parts of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// TON: cells to data register.
    Ton,
    /// TIN: data register to cells.
    Tin,
    /// BER: the cells of a block are erased.
    Ber,
    /// tDBSY: the address of a plane is taken in.
    Dummy,
    /// tRCBSY or tCBSY: one register to the other.
    Register,
    /// tFEAT: a feature is set.
    Feature,
    /// A suspended command comes to rest.
    Suspend,
    /// A suspended command goes on.
    Resume,
}

/// A use of the bus or of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// On the bus.
    Bus(Segment),
    /// In the die.
    Array(Stage),
}

/// One entry: what a die did from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The die within the package.
    pub die: u32,
    /// The command that it belongs to.
    pub kind: Kind,
    /// True if that is the command before the current one (cache mode).
    pub held: bool,
    /// What was done.
    pub what: What,
    /// The page, or the first of several planes.
    pub page: PageAddress,
    /// How many planes take part.
    pub planes: u8,
    /// Which planes take part, as bits.
    pub plane_mask: u8,
    /// Data on the bus, in bytes.
    pub bytes: u32,
    /// When it was ready; later than that it waited for the bus.
    pub ready: Time,
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
}

/// Of an entry, what sums of times need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// See [`Entry::held`].
    pub held: bool,
    /// What was done.
    pub what: What,
    /// How many planes take part.
    pub planes: u8,
    /// When it was ready; later than that it waited for the bus.
    pub ready: Time,
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
}

/// A use of the bus by a command outside of cache mode, and what its die does after it in its array, if anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// What was on the bus.
    pub segment: Segment,
    /// How many planes take part.
    pub planes: u8,
    /// When it was ready; later than that it waited for the bus.
    pub ready: Time,
    /// How long it was on the bus; 0 if that was told before.
    pub on_bus: Time,
    /// How long its die was busy then.
    pub busy: Time,
    /// When all of that ended.
    pub end: Time,
}

impl Pass {
    /// The two as [`Log::add`] gets them.
    pub fn uses(&self) -> impl Iterator<Item = Use> {
        let Self { segment, planes, ready, on_bus, busy, end } = *self;
        let rest = end - busy;
        let used = |what, ready, start, end| Use { held: false, what, planes, ready, start, end };
        let bus = (on_bus > 0).then(|| used(What::Bus(segment), ready, rest - on_bus, rest));
        let array = (busy > 0).then(|| used(What::Array(Stage::behind(segment)), rest, rest, end));
        bus.into_iter().chain(array)
    }

    /// How long it waited for the bus.
    #[inline]
    #[must_use]
    pub fn waited(&self) -> Time {
        self.end - self.busy - self.on_bus - self.ready
    }
}

impl Stage {
    /// What the array does after a segment, in a command that is not suspended.
    #[inline]
    #[must_use]
    pub const fn behind(segment: Segment) -> Self {
        match segment.spec().busy {
            Busy::Feature => Self::Feature,
            Busy::Read => Self::Ton,
            Busy::Program => Self::Tin,
            Busy::Erase => Self::Ber,
            _ => Self::Dummy,
        }
    }
}

impl Entry {
    /// What sums of times need of it.
    #[must_use]
    pub const fn in_short(&self) -> Use {
        let Self { held, what, planes, ready, start, end, .. } = *self;
        Use { held, what, planes, ready, start, end }
    }
}

/// Takes the entries. An entry comes when it has ended, so those of one die come in the order of their ends.
pub trait Log {
    /// True if entries are wanted at all.
    const WANTED: bool = true;
    /// True if they are wanted whole; else [`Log::add`] gets them in short.
    #[inline]
    fn is_whole(&self) -> bool {
        true
    }
    /// Takes one.
    fn enter(&mut self, entry: &Entry);
    /// Takes one in short.
    #[inline]
    fn add(&mut self, _: &Use) {}
    /// Takes two in short that follow each other.
    #[inline]
    fn add_pass(&mut self, pass: &Pass) {
        pass.uses().for_each(|used| self.add(&used));
    }
}

/// Nobody looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silent;

impl Log for Silent {
    const WANTED: bool = false;
    #[inline]
    fn enter(&mut self, _: &Entry) {}
}

impl Log for Vec<Entry> {
    fn enter(&mut self, entry: &Entry) {
        self.push(*entry);
    }
}
