//! The state machine of a die: phases of each lane on the bus and in the array.

mod slot;

use crate::bus::Bus;
use crate::cells::Violation;
use crate::chain::Segment;
use crate::command::{Command, Kind};
use crate::geometry::PageAddress;
use crate::log::{Log, Stage};
use crate::step::{Around, Lane, Step};
use crate::times::DieTimes;
use crate::timing::Timing;
use serde::{Deserialize, Serialize};
use slot::{Phase, Slot};
use wordline_base::Time;

/// Bytes of a feature (SET FEATURES).
const FEATURE_BYTES: u32 = 4;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Die {
    // Skipped fields belong to the last command and mean nothing for an idle die.
    #[serde(skip)]
    main: Slot,
    /// Separate, so that every command touches few cache lines.
    #[serde(skip)]
    aside: Box<Slot>,
    /// Remaining time of the main command while it is suspended.
    suspended: Option<Time>,
    /// Of what is left of the main command, the time that it takes to resume: told apart from the work of its cells. Kept while logging.
    resuming: Time,
    /// Planes of the last command whose program or erase failed.
    #[serde(skip)]
    pub(crate) failed: u8,
    /// Read retries of the last command.
    #[serde(skip)]
    pub(crate) retries: u8,
    /// Time by use.
    pub(crate) times: DieTimes,
}

impl Die {
    /// True if a lane takes a command now.
    #[inline]
    pub(crate) fn takes(&self, lane: Lane, command: &Command) -> bool {
        match lane {
            Lane::Main => self.is_idle(),
            Lane::Aside => self.takes_aside(command),
        }
    }

    /// True if the main lane is free.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.main.phase == Phase::Idle
    }

    /// True if the main command is suspended.
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Starts a command on a free lane.
    #[inline]
    pub(crate) fn begin<B: Bus, L: Log>(
        &mut self,
        die: u32,
        lane: Lane,
        command: &Command,
        mut around: Around<'_, B, L>,
    ) -> Time {
        let retries = std::mem::take(&mut self.retries);
        let slot = self.slot(lane);
        slot.command.assign(command);
        slot.phase = Phase::Setup;
        slot.next = 0;
        slot.sequence = false;
        slot.retries = retries;
        self.set_up(die, lane, &mut around)
    }

    /// The same for a read or program of one page outside of cache and SLC mode, on the main lane and without retries.
    #[inline(always)]
    pub(crate) fn begin_single<B: Bus, L: Log>(
        &mut self,
        die: u32,
        kind: Kind,
        (&page, bytes): (&PageAddress, u32),
        around: Around<'_, B, L>,
    ) -> Time {
        let Around { now, timing, bus, .. } = around;
        let slot = &mut self.main;
        slot.command.assign_single(kind, page, bytes);
        (slot.next, slot.sequence, slot.retries) = (0, false, 0);
        self.retries = 0;
        let (segment, bytes, busy, phase) = if kind == Kind::Read {
            (Segment::Read, 0, timing.t_r(page.page), Phase::OutAlone)
        } else {
            (Segment::Program, bytes, timing.t_prog_alone(die, page), Phase::Array)
        };
        slot.phase = phase;
        self.times.cells[kind as usize][0] += busy;
        slot.pass_alone::<L>(segment, bytes, busy, &mut self.times, now, timing, bus)
    }

    /// The same for a program of pages of several planes.
    #[inline(always)]
    pub(crate) fn begin_program<B: Bus, L: Log>(
        &mut self,
        die: u32,
        command: &Command,
        around: Around<'_, B, L>,
    ) -> Time {
        let slot = &mut self.main;
        slot.command.assign_program(command);
        (slot.next, slot.sequence, slot.retries) = (0, false, 0);
        self.retries = 0;
        self.load_plane::<L>(die, around.now, around.timing, around.bus)
    }

    /// Sends the data of the next plane of a program outside of cache mode, and after the last one lets the array work.
    #[inline(always)]
    fn load_plane<L: Log>(&mut self, die: u32, now: Time, timing: &Timing, bus: &mut impl Bus) -> Time {
        let (slot, times) = (&mut self.main, &mut self.times);
        let (at, planes) = (usize::from(slot.next), slot.command.planes());
        let bytes = slot.command.bytes()[at];
        if at + 1 < planes {
            (slot.phase, slot.next) = (Phase::Setup, slot.next + 1);
            let dummy = timing.pauses.dummy;
            times.dummy += dummy;
            return slot.pass_alone::<L>(Segment::ProgramQueue, bytes, dummy, times, now, timing, bus);
        }
        (slot.phase, slot.next) = (Phase::Array, 0);
        let busy = timing.t_prog_of(die, &slot.command);
        times.cells[Kind::Program as usize][planes - 1] += busy;
        slot.pass_alone::<L>(Segment::Program, bytes, busy, times, now, timing, bus)
    }

    /// True if a command may follow the current one in cache mode.
    pub(crate) fn may_follow(&self, die: u32, command: &Command) -> Result<(), Violation> {
        if self.main.phase != Phase::Choice {
            return Err(Violation::Busy { die });
        }
        if self.main.command.kind != command.kind || !self.main.command.same_planes(command) {
            return Err(Violation::Follower { die });
        }
        Ok(())
    }

    /// Accepts the follower.
    #[cold]
    pub(crate) fn follow<B: Bus, L: Log>(&mut self, die: u32, command: &Command, mut around: Around<'_, B, L>) -> Time {
        let slot = &mut self.main;
        slot.retries = std::mem::take(&mut self.retries);
        slot.next = 0;
        if command.kind == Kind::Read {
            let continues = command.continues(&slot.command);
            std::mem::swap(&mut *slot.held, &mut slot.command);
            slot.command.assign(command);
            slot.sequence = true;
            if continues {
                return self.turn(die, Segment::CacheSequential, true, &mut around);
            }
        } else {
            slot.command.assign(command);
        }
        self.main.phase = Phase::Setup;
        self.set_up(die, Lane::Main, &mut around)
    }

    /// Ends the cache sequence.
    #[cold]
    pub(crate) fn finish<B: Bus, L: Log>(&mut self, die: u32, mut around: Around<'_, B, L>) -> Result<Time, Violation> {
        let slot = &mut self.main;
        if slot.phase != Phase::Choice {
            return Err(Violation::Busy { die });
        }
        slot.next = 0;
        Ok(match (slot.command.kind, slot.sequence) {
            (Kind::Read, false) => {
                slot.phase = Phase::Out;
                self.bring_out(Lane::Main, &mut around)
            }
            (Kind::Read, true) => self.turn(die, Segment::CacheEnd, false, &mut around),
            _ => {
                slot.phase = Phase::Array;
                slot.array_until
            }
        })
    }

    /// Suspends the main command, which would end at `due`.
    #[cold]
    pub(crate) fn suspend<B: Bus, L: Log>(
        &mut self,
        die: u32,
        due: Time,
        around: Around<'_, B, L>,
    ) -> Result<Option<Time>, Violation> {
        if !self.can_suspend(due, around.now) {
            return Err(Violation::NotSuspendable { die });
        }
        let erase = self.main.command.kind == Kind::Erase;
        let segment = if erase { Segment::EraseSuspend } else { Segment::ProgramSuspend };
        // The controller knows when the bus is free, so it sends no suspension that would arrive after the end of the
        // command.
        if around.bus.opening(around.now) + around.timing.on_bus(segment, 0) >= due {
            return Ok(None);
        }
        let Die { main, aside, suspended, resuming, times, .. } = self;
        aside.command.assign(&main.command);
        let end = aside.pass::<L>(segment, 0, 0, times, around.now, around.timing, around.bus);
        if L::WANTED {
            aside.tell_bus(die, end, around.log);
        }
        aside.on_bus = 0;
        *suspended = Some(due - end);
        if L::WANTED {
            main.tell_resuming(die, resuming, due, end, around.log);
            main.tell_cut(die, due, end, around.log);
        }
        main.on_bus = 0;
        aside.phase = Phase::Suspend;
        aside.busy = around.timing.pauses.suspend;
        times.register += aside.busy;
        Ok(Some(end + aside.busy))
    }

    /// Resumes the suspended command.
    #[cold]
    pub(crate) fn resume<B: Bus, L: Log>(&mut self, die: u32, around: Around<'_, B, L>) -> Result<Time, Violation> {
        let Die { main, aside, suspended, resuming, times, .. } = self;
        let Some(left) = suspended.filter(|_| aside.phase == Phase::Idle) else {
            return Err(Violation::NotSuspended { die });
        };
        let erase = main.command.kind == Kind::Erase;
        let segment = if erase { Segment::EraseResume } else { Segment::ProgramResume };
        aside.command.assign(&main.command);
        let end = aside.pass::<L>(segment, 0, 0, times, around.now, around.timing, around.bus);
        if L::WANTED {
            aside.tell_bus(die, end, around.log);
        }
        aside.on_bus = 0;
        *suspended = None;
        main.busy = around.timing.pauses.resume + left;
        if L::WANTED {
            *resuming += around.timing.pauses.resume;
        }
        times.register += around.timing.pauses.resume;
        Ok(end + main.busy)
    }

    /// Advances a lane at the time that it requested.
    #[inline]
    pub(crate) fn step<B: Bus, L: Log>(&mut self, die: u32, lane: Lane, mut around: Around<'_, B, L>) -> Step {
        if L::WANTED && lane == Lane::Main && self.resuming > 0 {
            self.main.tell_resuming(die, &mut self.resuming, around.now, around.now, around.log);
        }
        let slot = self.slot(lane);
        if L::WANTED {
            slot.tell(die, around.now, around.log);
        }
        match slot.phase {
            Phase::Setup => Step::At(self.set_up(die, lane, &mut around)),
            Phase::Out | Phase::OutAlone => Step::At(self.bring_out(lane, &mut around)),
            Phase::Array => {
                slot.phase = Phase::Idle;
                Step::Done
            }
            _ => self.step_apart(die, lane, &mut around),
        }
    }

    /// Ends the command of the main lane if the array has done its work for it, or its last data are out; false if it does something else at this
    /// time, and nothing has happened.
    #[inline(always)]
    pub(crate) fn end(&mut self) -> bool {
        let ends = self.main.phase == Phase::Array;
        if ends {
            self.main.phase = Phase::Idle;
        }
        ends
    }

    /// Advances the main lane as [`Die::step`] would, if it does what most commands do: ends, brings out the data of a plain read of
    /// one page, or sends those of the next plane of a program outside of cache mode. None, and nothing has happened, if it does
    /// something else at this time.
    #[inline(always)]
    pub(crate) fn advance<B: Bus, L: Log>(
        &mut self,
        die: u32,
        now: Time,
        timing: &Timing,
        bus: impl FnOnce() -> B,
        log: &mut L,
    ) -> Option<Step> {
        if L::WANTED {
            if self.resuming > 0 || !self.main.goes_plainly() {
                return None;
            }
            self.main.tell_plainly(die, now, log);
        }
        if self.end() {
            return Some(Step::Done);
        }
        let slot = &mut self.main;
        if slot.phase == Phase::OutAlone {
            slot.phase = Phase::Array;
            let bytes = slot.command.first().1;
            let end = slot.pass_alone::<L>(Segment::ReadOut, bytes, 0, &mut self.times, now, timing, &mut bus());
            return Some(Step::At(end));
        }
        if !slot.loads_plainly() {
            return None;
        }
        Some(Step::At(self.load_plane::<L>(die, now, timing, &mut bus())))
    }

    /// Phases of cache mode, copyback, suspension and retry.
    #[cold]
    fn step_apart<B: Bus, L: Log>(&mut self, die: u32, lane: Lane, around: &mut Around<'_, B, L>) -> Step {
        let slot = self.slot(lane);
        match slot.phase {
            Phase::Store => Step::At(self.store(die, around)),
            Phase::Sense => {
                slot.phase = Phase::Choice;
                Step::Ready { ended: false }
            }
            Phase::OutHeld => Step::At(self.bring_out_held(around)),
            Phase::OutHeldLast => {
                slot.phase = Phase::Choice;
                Step::Ready { ended: true }
            }
            Phase::Load => Step::At(self.load(die, around)),
            Phase::Move => {
                slot.phase = Phase::Choice;
                let ended = slot.sequence;
                slot.sequence = true;
                Step::Ready { ended }
            }
            Phase::Suspend => {
                slot.phase = Phase::Idle;
                Step::Ready { ended: false }
            }
            Phase::Retry => Step::At(self.retry(lane, around)),
            Phase::Setup | Phase::Out | Phase::OutAlone | Phase::Array | Phase::Idle | Phase::Choice => Step::Done,
        }
    }

    #[inline]
    fn slot(&mut self, lane: Lane) -> &mut Slot {
        match lane {
            Lane::Main => &mut self.main,
            Lane::Aside => &mut self.aside,
        }
    }

    /// True if the array executes a single program or erase that ends at `due`.
    pub(crate) fn can_suspend(&self, due: Time, now: Time) -> bool {
        let Slot { command, phase, sequence, busy, .. } = &self.main;
        let alone = matches!(command.kind, Kind::Program | Kind::Erase) && !sequence && !command.cache;
        // Before `due - busy` the bus still carries the command.
        *phase == Phase::Array && alone && self.suspended.is_none() && due <= now + busy && now < due
    }

    /// Part of the booked busy time of array and registers after `at`, which is not before the die's last event; `due`
    /// has the times at which its lanes need attention, if they do.
    #[inline]
    pub(crate) fn ahead(&self, due: [Option<Time>; 2], at: Time) -> Time {
        let [main, aside] = due;
        let of = |slot: &Slot, due: Option<Time>| {
            let rests = due.map_or(0, |due| slot.busy.min(due.saturating_sub(at)));
            match slot.phase {
                // Thresholds are set between two attempts to read: array and registers are idle.
                Phase::Setup if slot.next == 0 => 0,
                Phase::Sense => rests,
                _ => rests.max(slot.array_until.saturating_sub(at)),
            }
        };
        // A suspended command continues only after its resumption.
        self.suspended.unwrap_or_else(|| of(&self.main, main)) + of(&self.aside, aside)
    }

    fn takes_aside(&self, command: &Command) -> bool {
        let apart = |other: &crate::PageAddress| {
            command.pages().iter().all(|page| (page.plane, page.block) != (other.plane, other.block))
                || (self.main.command.kind == Kind::Program && command.pages().iter().all(|page| page != other))
        };
        self.suspended.is_some()
            && self.aside.phase == Phase::Idle
            && command.kind == Kind::Read
            && !command.cache
            && self.main.command.pages().iter().all(apart)
    }

    /// Sends the address, and data, of the next plane.
    #[inline(always)]
    fn set_up<B: Bus, L: Log>(&mut self, die: u32, lane: Lane, around: &mut Around<'_, B, L>) -> Time {
        let Around { now, timing, bus, .. } = around;
        let times = &mut self.times;
        let slot = match lane {
            Lane::Main => &mut self.main,
            Lane::Aside => &mut self.aside,
        };
        let at = usize::from(slot.next);
        let (kind, planes) = (slot.command.kind, slot.command.planes());
        let bytes = slot.command.bytes()[at];
        if at + 1 < planes {
            slot.next += 1;
            let segment = match kind {
                Kind::Read | Kind::Copyback => Segment::ReadQueue,
                Kind::Program => Segment::ProgramQueue,
                Kind::Erase => Segment::EraseQueue,
            };
            let bytes = if kind == Kind::Program { bytes } else { 0 };
            times.dummy += timing.pauses.dummy;
            if at == 0 && kind != Kind::Program {
                return slot.pass_addresses::<L>(segment, times, *now, timing, *bus);
            }
            return slot.pass::<L>(segment, bytes, timing.pauses.dummy, times, *now, timing, *bus);
        }
        slot.next = 0;
        if slot.command.cache || slot.sequence || kind == Kind::Copyback {
            return self.set_up_apart(die, lane, around);
        }
        let out = if planes == 1 && slot.retries == 0 { Phase::OutAlone } else { Phase::Out };
        let (segment, bytes, busy, phase) = match kind {
            Kind::Read | Kind::Copyback => {
                (Segment::Read, 0, timing.t_r_of(&slot.command, slot.command.pages()[at].page), out)
            }
            Kind::Program => (Segment::Program, bytes, timing.t_prog_of(die, &slot.command), Phase::Array),
            Kind::Erase => (Segment::Erase, 0, timing.t_bers, Phase::Array),
        };
        slot.phase = phase;
        times.cells[kind as usize][planes - 1] += busy;
        slot.pass::<L>(segment, bytes, busy, times, *now, timing, *bus)
    }

    /// Sends the address, and data, of the last plane in cache mode and of a copyback.
    #[cold]
    fn set_up_apart<B: Bus, L: Log>(&mut self, die: u32, lane: Lane, around: &mut Around<'_, B, L>) -> Time {
        let Around { now, timing, bus, .. } = around;
        let times = &mut self.times;
        let slot = match lane {
            Lane::Main => &mut self.main,
            Lane::Aside => &mut *self.aside,
        };
        let last = slot.command.planes() - 1;
        if slot.command.kind == Kind::Program {
            // The end of the data transfer is known only when it comes, because commands may pass it on the bus.
            slot.phase = Phase::Load;
            let segment = if slot.command.cache { Segment::ProgramCache } else { Segment::Program };
            return slot.pass::<L>(segment, slot.command.bytes()[last], 0, times, *now, timing, *bus);
        }
        if slot.sequence {
            return self.turn(die, Segment::CacheRandom, true, around);
        }
        let busy = timing.t_r_of(&slot.command, slot.command.pages()[last].page);
        times.cells[0][last] += busy;
        if slot.command.kind == Kind::Copyback {
            let out = slot.plane_to_check(0);
            slot.phase = if out.is_some() { Phase::Out } else { Phase::Store };
            slot.next = out.unwrap_or(0);
            return slot.pass::<L>(Segment::CopybackRead, 0, busy, times, *now, timing, *bus);
        }
        slot.phase = Phase::Sense;
        let end = slot.pass::<L>(Segment::Read, 0, busy, times, *now, timing, *bus);
        slot.array_until = end;
        end
    }

    /// Transfers the data of the next plane out of the register.
    #[inline]
    fn bring_out<B: Bus, L: Log>(&mut self, lane: Lane, around: &mut Around<'_, B, L>) -> Time {
        let times = &mut self.times;
        let slot = match lane {
            Lane::Main => &mut self.main,
            Lane::Aside => &mut self.aside,
        };
        let at = usize::from(slot.next);
        let planes = slot.command.planes();
        let segment = if planes == 1 { Segment::ReadOut } else { Segment::ReadOutPlane };
        let copyback = slot.command.kind == Kind::Copyback;
        let next = if copyback { slot.plane_to_check(at + 1) } else { (at + 1 < planes).then_some(slot.next + 1) };
        if let Some(next) = next {
            slot.next = next;
        } else {
            slot.next = 0;
            // The transfer ends the read: this phase only waits for that time.
            slot.phase = match slot.command.kind {
                _ if slot.retries > 0 => Phase::Retry,
                Kind::Copyback => Phase::Store,
                _ => Phase::Array,
            };
        }
        if planes == 1 {
            return slot.pass::<L>(segment, slot.command.bytes()[at], 0, times, around.now, around.timing, around.bus);
        }
        slot.pass_row::<L>(at, false, times, around.now, around.timing, around.bus)
    }

    /// SET FEATURES shifts the read thresholds, then the read starts again.
    #[cold]
    fn retry<B: Bus, L: Log>(&mut self, lane: Lane, around: &mut Around<'_, B, L>) -> Time {
        let times = &mut self.times;
        let slot = match lane {
            Lane::Main => &mut self.main,
            Lane::Aside => &mut self.aside,
        };
        slot.retries -= 1;
        slot.next = 0;
        slot.phase = Phase::Setup;
        let busy = around.timing.pauses.feature;
        slot.pass::<L>(Segment::SetFeatures, FEATURE_BYTES, busy, times, around.now, around.timing, around.bus)
    }

    /// Sends the destination of the next plane of a copyback.
    fn store<B: Bus, L: Log>(&mut self, die: u32, around: &mut Around<'_, B, L>) -> Time {
        let Die { main: slot, times, .. } = self;
        let timing = around.timing;
        let planes = slot.command.planes();
        let (segment, busy) = if usize::from(slot.next) + 1 < planes {
            slot.next += 1;
            times.dummy += timing.pauses.dummy;
            (Segment::CopybackProgramQueue, timing.pauses.dummy)
        } else {
            slot.phase = Phase::Array;
            let busy = timing.t_prog_of(die, &slot.command);
            times.cells[1][planes - 1] += busy;
            (Segment::CopybackProgram, busy)
        };
        slot.pass::<L>(segment, 0, busy, times, around.now, timing, around.bus)
    }

    /// Cache read: the page in the data register moves to the cache register as soon as it is complete; with `more` the
    /// array then reads another.
    fn turn<B: Bus, L: Log>(&mut self, die: u32, by: Segment, more: bool, around: &mut Around<'_, B, L>) -> Time {
        let Die { main: slot, times, .. } = self;
        let timing = around.timing;
        let end = slot.pass::<L>(by, 0, 0, times, around.now, timing, around.bus);
        if L::WANTED {
            slot.tell_bus(die, end, around.log);
        }
        slot.on_bus = 0;
        let moved = end.max(slot.array_until) + timing.pauses.cache_read;
        times.register += timing.pauses.cache_read;
        if L::WANTED {
            let start = moved - timing.pauses.cache_read;
            slot.tell_array(die, Stage::Register, (start, moved), around.log);
        }
        slot.next = 0;
        slot.busy = 0;
        if more {
            // In a cache sequence the die searches for better thresholds itself.
            let senses = 1 + Time::from(std::mem::take(&mut slot.retries));
            let busy = timing.t_r_of(&slot.command, slot.command.pages()[0].page) * senses;
            times.cells[0][slot.command.planes() - 1] += busy;
            slot.array_until = moved + busy;
            if L::WANTED {
                slot.tell_array(die, Stage::Ton, (moved, slot.array_until), around.log);
            }
            slot.phase = Phase::OutHeld;
        } else {
            slot.phase = Phase::Out;
        }
        moved
    }

    /// Cache read: transfers the data of the next plane out of the cache register.
    fn bring_out_held<B: Bus, L: Log>(&mut self, around: &mut Around<'_, B, L>) -> Time {
        let Die { main: slot, times, .. } = self;
        let at = usize::from(slot.next);
        let planes = slot.held.planes();
        let segment = if planes == 1 { Segment::ReadOut } else { Segment::ReadOutPlane };
        if at + 1 < planes {
            slot.next += 1;
        } else {
            slot.next = 0;
            slot.phase = Phase::OutHeldLast;
        }
        if planes == 1 {
            return slot.pass::<L>(segment, slot.held.bytes()[at], 0, times, around.now, around.timing, around.bus);
        }
        slot.pass_row::<L>(at, true, times, around.now, around.timing, around.bus)
    }

    /// Cache program: the data are in; they move on as soon as the array is done with the previous ones.
    fn load<B: Bus, L: Log>(&mut self, die: u32, around: &mut Around<'_, B, L>) -> Time {
        let Die { main: slot, times, .. } = self;
        let timing = around.timing;
        let mut start = around.now.max(slot.array_until);
        if slot.command.cache {
            let moves = timing.pauses.cache_program;
            if L::WANTED {
                slot.tell_array(die, Stage::Register, (start, start + moves), around.log);
            }
            start += moves;
            times.register += moves;
        }
        let busy = timing.t_prog_of(die, &slot.command);
        times.cells[1][slot.command.planes() - 1] += busy;
        slot.array_until = start + busy;
        slot.busy = 0;
        if L::WANTED {
            slot.tell_array(die, Stage::Tin, (start, slot.array_until), around.log);
        }
        if slot.command.cache {
            slot.phase = Phase::Move;
            start
        } else {
            slot.phase = Phase::Array;
            slot.array_until
        }
    }
}
