//! The work of one lane of a die: its phase, and its use of the bus.

use crate::bus::Bus;
use crate::chain::Segment;
use crate::command::{Command, Kind};
use crate::log::{Entry, Log, Pass, Stage, Use, What};
use crate::times::DieTimes;
use crate::timing::Timing;
use serde::{Deserialize, Serialize};
use wordline_base::Time;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// The address (and data) of plane `next` go in.
    Setup,
    /// The data of plane `next` come out.
    Out,
    /// The data of a plain read of one page come out: after them it ends.
    OutAlone,
    /// The destination of plane `next` of a copyback goes in.
    Store,
    /// The array is busy on all planes; the command ends when it is done.
    Array,
    /// Cache read: the array reads into the data register.
    Sense,
    /// Cache read: data of plane `next` of the previous command come out.
    OutHeld,
    /// Cache read: the last data of the previous command come out.
    OutHeldLast,
    /// Cache program: data go into the cache register.
    Load,
    /// Cache program: data move from cache register to data register.
    Move,
    /// The caller decides what comes next.
    Choice,
    /// The array suspends.
    Suspend,
    /// Too many bit errors: the page is read again with other thresholds.
    Retry,
}

/// Work of a lane of a die.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) command: Command,
    /// Cache read: the command whose data are in the cache register.
    pub(super) held: Box<Command>,
    pub(super) phase: Phase,
    pub(super) next: u8,
    /// True if another command of the same cache sequence came before.
    pub(super) sequence: bool,
    /// True if the data of plane `next` are already scheduled on the bus, behind the previous ones.
    pub(super) in_row: bool,
    /// Number of next bus uses for which the bus is already held.
    pub(super) kept: u8,
    /// Read retries still to do.
    pub(super) retries: u8,
    /// Cache mode: time at which the array releases the data register.
    pub(super) array_until: Time,
    /// The last bus use: when the lane was ready, its segment, its duration, and the busy time after it.
    pub(super) ready: Time,
    pub(super) segment: Segment,
    pub(super) bytes: u32,
    pub(super) on_bus: Time,
    pub(super) busy: Time,
}

impl Slot {
    /// Uses the bus, then is busy for `busy`; returns the end.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn pass<L: Log>(
        &mut self,
        segment: Segment,
        bytes: u32,
        busy: Time,
        times: &mut DieTimes,
        now: Time,
        timing: &Timing,
        bus: &mut impl Bus,
    ) -> Time {
        let on_bus = timing.on_bus(segment, bytes);
        let start = if self.kept > 0 {
            self.kept -= 1;
            now
        } else {
            bus.reserve(now, on_bus, !segment.moves_data())
        };
        self.book::<L>(segment, bytes, on_bus, times, now, start);
        self.busy = busy;
        start + on_bus + busy
    }

    /// The same of a command outside of cache mode, whose addresses do not follow each other.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn pass_alone<L: Log>(
        &mut self,
        segment: Segment,
        bytes: u32,
        busy: Time,
        times: &mut DieTimes,
        now: Time,
        timing: &Timing,
        bus: &mut impl Bus,
    ) -> Time {
        debug_assert_eq!(self.kept, 0, "the bus is held between the addresses of several planes");
        let with_data = segment.moves_data();
        let on_bus = if with_data { timing.on_bus(segment, bytes) } else { timing.on_bus_without_data(segment) };
        // Before the bus is asked: side by side, both sums would go through a vector.
        times.bus[segment as usize].count += 1;
        let start = bus.reserve(now, on_bus, !with_data);
        times.contention += start - now;
        times.bus[segment as usize].time += on_bus;
        if L::WANTED {
            self.note(segment, bytes, on_bus, now);
        }
        self.busy = busy;
        start + on_bus + busy
    }

    /// Sends the address of the first of several planes and holds the bus for the other addresses: data of another die
    /// in the tDBSY between them would delay this die's array by as much.
    #[inline(never)]
    pub(super) fn pass_addresses<L: Log>(
        &mut self,
        segment: Segment,
        times: &mut DieTimes,
        now: Time,
        timing: &Timing,
        bus: &mut impl Bus,
    ) -> Time {
        let last = match self.command.kind {
            Kind::Erase => Segment::Erase,
            Kind::Copyback => Segment::CopybackRead,
            _ if self.sequence => Segment::CacheRandom,
            _ => Segment::Read,
        };
        let (others, on_bus, dummy) = (self.command.planes() - 1, timing.on_bus(segment, 0), timing.pauses.dummy);
        let start = bus.reserve_kept(now, others as Time, on_bus, dummy, timing.on_bus(last, 0));
        self.kept = others as u8;
        self.book::<L>(segment, 0, on_bus, times, now, start);
        self.busy = dummy;
        start + on_bus + dummy
    }

    /// Transfers out the data of plane number `at` of several; the first transfer also schedules those of the planes
    /// after it.
    #[inline(never)]
    pub(super) fn pass_row<L: Log>(
        &mut self,
        at: usize,
        held: bool,
        times: &mut DieTimes,
        now: Time,
        timing: &Timing,
        bus: &mut impl Bus,
    ) -> Time {
        let segment = Segment::ReadOutPlane;
        let command = if held { &self.held } else { &self.command };
        let (bytes, kind) = (command.bytes()[at], command.kind);
        let on_bus = timing.on_bus(segment, bytes);
        // A read transfers something of every plane, a copyback only data to be checked.
        let after = command.bytes()[at + 1..].iter().filter(|&&bytes| bytes > 0 || kind == Kind::Read);
        let mut follow = after.map(|&bytes| timing.on_bus(segment, bytes)).peekable();
        let more = follow.peek().is_some();
        let start = if self.in_row { bus.next_of_row(now) } else { bus.reserve_row(now, on_bus, follow) };
        self.in_row = more;
        self.book::<L>(segment, bytes, on_bus, times, now, start);
        self.busy = 0;
        start + on_bus
    }

    /// Books a use of the bus.
    #[inline]
    pub(super) fn book<L: Log>(
        &mut self,
        segment: Segment,
        bytes: u32,
        on_bus: Time,
        times: &mut DieTimes,
        now: Time,
        start: Time,
    ) {
        times.contention += start - now;
        let used = &mut times.bus[segment as usize];
        used.time += on_bus;
        used.count += 1;
        if L::WANTED {
            self.note(segment, bytes, on_bus, now);
        }
    }

    /// Keeps a use of the bus, to log it when it has ended.
    #[inline(always)]
    fn note(&mut self, segment: Segment, bytes: u32, on_bus: Time, ready: Time) {
        (self.ready, self.segment, self.bytes, self.on_bus) = (ready, segment, bytes, on_bus);
    }

    /// The first plane of a copyback, from number `from` on, whose data come out.
    pub(super) fn plane_to_check(&self, from: usize) -> Option<u8> {
        let bytes = self.command.bytes();
        (from..bytes.len()).find(|&at| bytes[at] > 0).map(|at| at as u8)
    }

    /// True if what comes next is of a program outside of cache mode: the data of its next plane.
    #[inline(always)]
    pub(super) fn loads_plainly(&self) -> bool {
        self.phase == Phase::Setup && self.command.kind == Kind::Program && !(self.command.cache | self.sequence)
    }

    /// True if what comes next is of a plain command: its end, the data of a read of one page, or those of the next plane of a program.
    #[inline]
    pub(super) fn goes_plainly(&self) -> bool {
        matches!(self.phase, Phase::Array | Phase::OutAlone) || self.loads_plainly()
    }

    /// Logs what was done from when to when.
    #[inline]
    fn log(&self, die: u32, what: What, ready: Time, (start, end): (Time, Time), log: &mut impl Log) {
        if log.is_whole() {
            return log.enter(&self.entry(die, what, ready, (start, end)));
        }
        let held = self.is_of_held();
        let planes = if held { self.held.planes() } else { self.command.planes() } as u8;
        log.add(&Use { held, what, planes, ready, start, end });
    }

    /// True if the lane is busy for the command before the current one.
    #[inline]
    fn is_of_held(&self) -> bool {
        matches!(self.phase, Phase::OutHeld | Phase::OutHeldLast)
    }

    #[inline(never)]
    fn entry(&self, die: u32, what: What, ready: Time, (start, end): (Time, Time)) -> Entry {
        let held = self.is_of_held();
        let command = if held { &self.held } else { &self.command };
        let page = command.pages().first().copied().unwrap_or_default();
        let planes = command.planes() as u8;
        let plane_mask = command.pages().iter().fold(0, |mask, page| mask | 1 << page.plane);
        let bytes = if matches!(what, What::Bus(_)) { self.bytes } else { 0 };
        Entry { die, kind: command.kind, held, what, page, planes, plane_mask, bytes, ready, start, end }
    }

    /// Logs the bus use and the busy time that ended at `now`.
    #[inline(never)]
    pub(super) fn tell(&mut self, die: u32, now: Time, log: &mut impl Log) {
        let rest = now - self.busy;
        if self.on_bus > 0 {
            self.tell_bus(die, rest, log);
            self.on_bus = 0;
        }
        if self.busy > 0 {
            self.tell_array(die, self.stage(), (rest, now), log);
            self.busy = 0;
        }
    }

    /// The same where what comes next is of a plain command, as [`Slot::goes_plainly`] says.
    #[inline(always)]
    pub(super) fn tell_plainly(&mut self, die: u32, now: Time, log: &mut impl Log) {
        if log.is_whole() {
            return self.tell(die, now, log);
        }
        let Self { segment, ready, on_bus, busy, .. } = *self;
        log.add_pass(&Pass { segment, planes: self.command.planes() as u8, ready, on_bus, busy, end: now });
        (self.on_bus, self.busy) = (0, 0);
    }

    pub(super) fn tell_bus(&self, die: u32, end: Time, log: &mut impl Log) {
        let start = end - self.on_bus;
        self.log(die, What::Bus(self.segment), self.ready, (start, end), log);
    }

    pub(super) fn tell_array(&self, die: u32, stage: Stage, span: (Time, Time), log: &mut impl Log) {
        self.log(die, What::Array(stage), span.0, span, log);
    }

    /// Logs the time to resume of a command that will end, or would have, at `due`, up to `until`; what is left of it stays to be told.
    #[cold]
    pub(super) fn tell_resuming(&mut self, die: u32, left: &mut Time, due: Time, until: Time, log: &mut impl Log) {
        let from = due - self.busy;
        let time = (*left).min(until - from);
        if time > 0 {
            self.tell_array(die, Stage::Resume, (from, from + time), log);
            self.busy -= time;
            *left -= time;
        }
    }

    /// Logs a suspended command: its work until `cut`, where `due` would have been its end.
    pub(super) fn tell_cut(&mut self, die: u32, due: Time, cut: Time, log: &mut impl Log) {
        let rest = due - self.busy;
        if self.on_bus > 0 {
            self.tell_bus(die, rest, log);
        }
        if cut > rest {
            self.tell_array(die, self.stage(), (rest, cut), log);
        }
    }

    /// Stage of the busy time after the last bus use.
    pub(super) fn stage(&self) -> Stage {
        if self.phase == Phase::Suspend {
            Stage::Suspend
        } else {
            Stage::behind(self.segment)
        }
    }
}
