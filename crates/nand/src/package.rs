//! A package at work: its dies, each with a state machine of its own, going through the stages on the bus and in the cells.
//!
//! The caller starts a command with [`Package::begin`], gets the time at which the die next needs attention, and calls
//! [`Package::step`] then. Between two calls nothing that matters happens, so skipping there loses nothing. The bus is asked
//! for through [`Bus`]: a package alone brings its own, packages on a channel share one.
//!
//! A die has a data register, which the cells fill and are filled from, and a cache register, which the bus reads and writes. A
//! command that is not in cache mode has both for itself. In cache mode the die asks for a follower ([`Step::Ready`]) as soon
//! as one of them is free for it. A program or an erase can be suspended; what the die does meanwhile runs in a second
//! [`Lane`].

use crate::bus::Bus;
use crate::cells::{Cells, Violation};
use crate::chain::{Segment, SEGMENTS};
use crate::command::{Command, Kind};
use crate::geometry::{PackageGeometry, MAX_PLANES};
use crate::log::{Entry, Log, Stage, What};
use crate::reliability::{ReliabilityConfig, ReliabilityError};
use crate::timing::Timing;
use crate::wear::{Wear, WearCounts};
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// Bytes of a feature.
const FEATURE_BYTES: u32 = 4;

/// What a die needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To be stepped at this time.
    At(Time),
    /// An answer, at once: [`Package::follow`] or [`Package::finish`] for a command in cache mode; for a die that was suspended,
    /// reads, and [`Package::resume`] after them. `ended` tells that the command before the current one has ended.
    Ready {
        /// Whether the command before the current one has ended.
        ended: bool,
    },
    /// Nothing: its command ended just now, and in cache mode all that came before it.
    Done,
}

/// What a die works on: its commands, or reads beside a suspended one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lane {
    /// The command of the die.
    Main,
    /// Suspending, and what is done while the main command is suspended.
    Aside,
}

/// Where the time of a die went, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieTimes {
    /// TON, TIN and BER, by the number of planes that took part, less one.
    pub cells: [[Time; MAX_PLANES]; 3],
    /// tDBSY.
    pub dummy: Time,
    /// Moves between the registers (tRCBSY and tCBSY without waiting for the cells), and of a suspended array.
    pub register: Time,
    /// On the bus, by segment.
    pub bus: [Time; SEGMENTS],
    /// How often each segment was on the bus.
    pub uses: [u64; SEGMENTS],
    /// Ready, and waiting for the bus (contention).
    pub contention: Time,
}

impl Default for DieTimes {
    fn default() -> Self {
        Self {
            cells: [[0; MAX_PLANES]; 3],
            dummy: 0,
            register: 0,
            bus: [0; SEGMENTS],
            uses: [0; SEGMENTS],
            contention: 0,
        }
    }
}

impl DieTimes {
    /// TON, TIN and BER.
    #[must_use]
    pub fn stages(&self) -> [Time; 3] {
        self.cells.map(|by_planes| by_planes.iter().sum())
    }

    /// TON, TIN and BER, each times the planes that took part: what the cells consume.
    #[must_use]
    pub fn plane_stages(&self) -> [Time; 3] {
        self.cells.map(|by_planes| by_planes.iter().zip(1..).map(|(time, planes): (_, Time)| time * planes).sum())
    }

    /// In the die: TON, TIN, BER, tDBSY, and the moves between registers. In cache mode the bus works at the same time.
    #[must_use]
    pub fn array(&self) -> Time {
        self.stages().iter().sum::<Time>() + self.dummy + self.register
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    #[default]
    Idle,
    /// Addresses (and data) of plane `next` go in next.
    Setup,
    /// Data of plane `next` come out next.
    Out,
    /// Destinations of plane `next` of a copyback go in next.
    Store,
    /// The array works on all planes; the command ends with it.
    Array,
    /// Cache read: the page comes into the data register.
    Sense,
    /// Cache read: data of plane `next` of the command before come out next.
    OutHeld,
    /// Cache read: the last of them do.
    OutHeldLast,
    /// Cache program: the data go into the cache register.
    Load,
    /// Cache program: they move to the data register.
    Move,
    /// The caller decides what follows.
    Choice,
    /// The array comes to rest.
    Suspend,
    /// The data had too many errors: the page is read again with other thresholds.
    Retry,
}

/// What a lane of a die works on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    command: Command,
    /// Cache read: the command whose data are in the cache register.
    held: Command,
    phase: Phase,
    next: u8,
    /// Whether a command in cache mode came before this one.
    sequence: bool,
    /// Read retries still to come.
    retries: u8,
    /// Cache mode: when the cells are done with the data register.
    array_until: Time,
    /// The last use of the bus: when it was ready for it, what it was, how long, and what the die does after it.
    ready: Time,
    segment: Segment,
    bytes: u32,
    on_bus: Time,
    busy: Time,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Die {
    main: Slot,
    aside: Slot,
    /// What is left of the main command while it is suspended.
    suspended: Option<Time>,
    /// Planes whose program or erase failed, of the last command.
    failed: u8,
    /// Read retries that the last command takes.
    retries: u8,
    times: DieTimes,
}

/// A NAND package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    geometry: PackageGeometry,
    cells: Cells,
    wear: Option<Box<Wear>>,
    dies: Vec<Die>,
}

/// What every step needs besides the package: when, the times, the bus and whoever looks on.
pub struct Around<'a, B, L> {
    /// The time.
    pub now: Time,
    /// The times of the package.
    pub timing: &'a Timing,
    /// Its bus.
    pub bus: &'a mut B,
    /// Who looks on.
    pub log: &'a mut L,
}

impl Package {
    /// An erased, idle package.
    #[must_use]
    pub fn new(geometry: PackageGeometry) -> Self {
        let dies = vec![Die::default(); geometry.dies as usize];
        Self { geometry, cells: Cells::new(geometry), wear: None, dies }
    }

    /// The shape of the package.
    #[must_use]
    pub fn geometry(&self) -> &PackageGeometry {
        &self.geometry
    }

    /// The cells, to look at.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The cells, to set their rules or to fill them without time.
    pub fn cells_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// Lets the package wear and fail as configured; `instance` is its number among all packages.
    ///
    /// # Errors
    /// Names the key that cannot be used.
    pub fn set_reliability(
        &mut self,
        config: &ReliabilityConfig,
        timing: &Timing,
        seed: u64,
        instance: u64,
    ) -> Result<(), ReliabilityError> {
        let classes = (0..self.geometry.pages).map(|page| timing.class(page) as u8).collect();
        self.wear = Wear::new(config, &mut self.cells, self.geometry, classes, seed, instance)?.map(Box::new);
        Ok(())
    }

    /// What reads, programs and erases came to where the package wears.
    #[must_use]
    pub fn wear_counts(&self) -> WearCounts {
        self.wear.as_ref().map(|wear| wear.counts()).unwrap_or_default()
    }

    /// Whether programs and erases may fail.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.wear.as_ref().is_some_and(|wear| wear.fails())
    }

    /// Which planes of the last command of a die failed, as bits: their status is FAIL.
    #[inline]
    #[must_use]
    pub fn failed(&self, die: u32) -> u8 {
        self.dies[die as usize].failed
    }

    /// Takes over what the cells of another package of the same geometry hold.
    pub fn adopt_cells(&mut self, other: &Package) {
        self.cells.clone_from(&other.cells);
    }

    /// Where the time of a die went.
    #[must_use]
    pub fn times(&self, die: u32) -> &DieTimes {
        &self.dies[die as usize].times
    }

    /// Whether the main command of a die is suspended.
    #[inline]
    #[must_use]
    pub fn is_suspended(&self, die: u32) -> bool {
        self.dies[die as usize].suspended.is_some()
    }

    /// Starts a command and says when the die needs attention. Beside a suspended command ([`Lane::Aside`]) it must be a plain
    /// read of another block.
    ///
    /// # Errors
    /// When the command breaks a rule of the cells, or the die is busy; the package is then as it was, but for pages of the same
    /// command that were checked before.
    #[inline]
    pub fn begin<B: Bus, L: Log>(
        &mut self,
        die: u32,
        lane: Lane,
        command: &Command,
        mut around: Around<'_, B, L>,
    ) -> Result<Time, Violation> {
        if let Some(state) = self.dies.get(die as usize) {
            let free = match lane {
                Lane::Main => state.main.phase == Phase::Idle,
                Lane::Aside => state.takes_aside(command),
            };
            if !free {
                return Err(Violation::Busy { die });
            }
        }
        self.commit(around.now, die, command)?;
        let state = &mut self.dies[die as usize];
        let retries = std::mem::take(&mut state.retries);
        let slot = state.slot(lane);
        slot.command.assign(command);
        slot.phase = Phase::Setup;
        slot.next = 0;
        slot.sequence = false;
        slot.retries = retries;
        Ok(state.set_up(die, lane, &mut around))
    }

    /// Gives a die that is [`Step::Ready`] in cache mode the command that follows, and says when it needs attention.
    ///
    /// # Errors
    /// When the die did not ask, when the follower is of another kind or for other planes, or breaks a rule of the cells.
    pub fn follow<B: Bus, L: Log>(
        &mut self,
        die: u32,
        command: &Command,
        mut around: Around<'_, B, L>,
    ) -> Result<Time, Violation> {
        let slot = &self.dies[die as usize].main;
        if slot.phase != Phase::Choice {
            return Err(Violation::Busy { die });
        }
        if slot.command.kind != command.kind || !slot.command.same_planes(command) {
            return Err(Violation::Follower { die });
        }
        self.commit(around.now, die, command)?;
        let state = &mut self.dies[die as usize];
        let slot = &mut state.main;
        slot.retries = std::mem::take(&mut state.retries);
        slot.next = 0;
        if command.kind == Kind::Read {
            let continues = command.continues(&slot.command);
            std::mem::swap(&mut slot.held, &mut slot.command);
            slot.command.assign(command);
            slot.sequence = true;
            if continues {
                return Ok(state.turn(die, Segment::CacheSequential, true, &mut around));
            }
        } else {
            slot.command.assign(command);
        }
        state.main.phase = Phase::Setup;
        Ok(state.set_up(die, Lane::Main, &mut around))
    }

    /// Tells a die that is [`Step::Ready`] in cache mode that nothing follows, and says when it needs attention.
    ///
    /// # Errors
    /// When the die did not ask.
    pub fn finish<B: Bus, L: Log>(&mut self, die: u32, mut around: Around<'_, B, L>) -> Result<Time, Violation> {
        let state = &mut self.dies[die as usize];
        let slot = &mut state.main;
        if slot.phase != Phase::Choice {
            return Err(Violation::Busy { die });
        }
        slot.next = 0;
        Ok(match (slot.command.kind, slot.sequence) {
            (Kind::Read, false) => {
                slot.phase = Phase::Out;
                state.bring_out(die, Lane::Main, &mut around)
            }
            (Kind::Read, true) => state.turn(die, Segment::CacheEnd, false, &mut around),
            _ => {
                slot.phase = Phase::Array;
                slot.array_until
            }
        })
    }

    /// Suspends the program or erase of a die, which `due` is to end then, and says when the aside lane needs attention; `None` if
    /// the command is over by the time that the bus has carried the suspension.
    ///
    /// # Errors
    /// When the die does not run a single program or erase in its cells.
    pub fn suspend<B: Bus, L: Log>(
        &mut self,
        die: u32,
        due: Time,
        around: Around<'_, B, L>,
    ) -> Result<Option<Time>, Violation> {
        let state = &mut self.dies[die as usize];
        if !state.can_suspend(due, around.now) {
            return Err(Violation::NotSuspendable { die });
        }
        let erase = state.main.command.kind == Kind::Erase;
        let segment = if erase { Segment::EraseSuspend } else { Segment::ProgramSuspend };
        let Die { main, aside, suspended, times, .. } = state;
        aside.command.assign(&main.command);
        let end = aside.pass::<L>(segment, 0, 0, times, around.now, around.timing, around.bus);
        if L::WANTED {
            aside.tell_bus(die, end, around.log);
        }
        aside.on_bus = 0;
        if end >= due {
            return Ok(None);
        }
        *suspended = Some(due - end);
        if L::WANTED {
            main.tell_cut(die, due, end, around.log);
        }
        main.on_bus = 0;
        aside.phase = Phase::Suspend;
        aside.busy = around.timing.pauses.suspend;
        times.register += aside.busy;
        Ok(Some(end + aside.busy))
    }

    /// Whether a die runs a program or erase in its cells that can be suspended now; `due` is when it would end.
    #[inline]
    #[must_use]
    pub fn can_suspend(&self, die: u32, due: Time, now: Time) -> bool {
        self.dies[die as usize].can_suspend(due, now)
    }

    /// Lets the suspended command go on and says when it ends.
    ///
    /// # Errors
    /// When nothing is suspended, or a read beside it still runs.
    pub fn resume<B: Bus, L: Log>(&mut self, die: u32, around: Around<'_, B, L>) -> Result<Time, Violation> {
        let Die { main, aside, suspended, times, .. } = &mut self.dies[die as usize];
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
        times.register += around.timing.pauses.resume;
        Ok(end + main.busy)
    }

    /// Applies a command to the cells at once, without time: for preconditioning.
    ///
    /// # Errors
    /// As [`Package::begin`].
    #[inline]
    pub fn commit(&mut self, now: Time, die: u32, command: &Command) -> Result<(), Violation> {
        let pages = command.pages();
        if pages.is_empty() || pages.len() > self.geometry.planes as usize || die >= self.geometry.dies {
            return Err(Violation::PlaneCount { die, pages: pages.len() as u32, planes: self.geometry.planes });
        }
        if pages.len() > 1 {
            command.check_planes(die)?;
        }
        for (at, &page) in pages.iter().enumerate() {
            match command.kind {
                Kind::Read => self.cells.read(die, page)?,
                Kind::Program => self.cells.program(die, page)?,
                Kind::Erase => self.cells.erase(die, page)?,
                Kind::Copyback => {
                    let to = command.targets()[at];
                    if to.plane != page.plane {
                        return Err(Violation::MoveAcrossPlanes { die, plane: page.plane, other_plane: to.plane });
                    }
                    self.cells.read(die, page)?;
                    self.cells.program(die, to)?;
                }
            }
        }
        if self.wear.is_some() {
            self.wear_off(now, die, command);
        }
        Ok(())
    }

    /// What the pages of a command do to their blocks, and the other way round.
    #[cold]
    fn wear_off(&mut self, now: Time, die: u32, command: &Command) {
        let Some(wear) = &mut self.wear else { return };
        let (mut failed, mut retries) = (0, 0);
        for (at, &page) in command.pages().iter().enumerate() {
            let record = self.cells.record(die, page.plane, page.block);
            let fails = match command.kind {
                Kind::Read => {
                    retries = retries.max(wear.read(now, die, page, record));
                    false
                }
                Kind::Program => wear.program(now, die, page, record),
                Kind::Erase => wear.erase(record),
                Kind::Copyback => {
                    let to = command.targets()[at];
                    let target = self.cells.record(die, to.plane, to.block);
                    // Without data out nobody looks for errors: they move along.
                    if command.bytes()[at] > 0 {
                        retries = retries.max(wear.read(now, die, page, record));
                    }
                    wear.program(now, die, to, target)
                }
            };
            if fails {
                failed |= 1 << page.plane;
                if command.kind == Kind::Erase {
                    self.cells.mark_bad(die, page.plane, page.block);
                }
            }
        }
        let state = &mut self.dies[die as usize];
        state.failed = failed;
        state.retries = retries.min(255) as u8;
    }

    /// Carries a die on at the time that it asked for.
    #[inline]
    pub fn step<B: Bus, L: Log>(&mut self, die: u32, lane: Lane, mut around: Around<'_, B, L>) -> Step {
        let state = &mut self.dies[die as usize];
        let slot = state.slot(lane);
        if L::WANTED {
            slot.tell(die, around.now, around.log);
        }
        match slot.phase {
            Phase::Setup => Step::At(state.set_up(die, lane, &mut around)),
            Phase::Out => Step::At(state.bring_out(die, lane, &mut around)),
            Phase::Array => {
                slot.phase = Phase::Idle;
                Step::Done
            }
            Phase::Store => Step::At(state.store(die, &mut around)),
            Phase::Sense => {
                slot.phase = Phase::Choice;
                Step::Ready { ended: false }
            }
            Phase::OutHeld => Step::At(state.bring_out_held(&mut around)),
            Phase::OutHeldLast => {
                slot.phase = Phase::Choice;
                Step::Ready { ended: true }
            }
            Phase::Load => Step::At(state.load(die, &mut around)),
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
            Phase::Retry => Step::At(state.retry(lane, &mut around)),
            Phase::Idle | Phase::Choice => Step::Done,
        }
    }
}

impl Die {
    #[inline]
    fn slot(&mut self, lane: Lane) -> &mut Slot {
        match lane {
            Lane::Main => &mut self.main,
            Lane::Aside => &mut self.aside,
        }
    }

    fn can_suspend(&self, due: Time, now: Time) -> bool {
        let Slot { command, phase, sequence, busy, .. } = &self.main;
        let alone = matches!(command.kind, Kind::Program | Kind::Erase) && !sequence && !command.cache;
        // Before `due - busy` the bus still carries the command.
        *phase == Phase::Array && alone && self.suspended.is_none() && due <= now + busy && now < due
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

    /// The address, and data, of the next plane.
    #[inline]
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
            return slot.pass::<L>(segment, bytes, timing.pauses.dummy, times, *now, timing, *bus);
        }
        slot.next = 0;
        let page = slot.command.pages()[at];
        match kind {
            Kind::Read if slot.sequence => self.turn(die, Segment::CacheRandom, true, around),
            Kind::Read => {
                slot.phase = if slot.command.cache { Phase::Sense } else { Phase::Out };
                let busy = timing.t_r(page.page);
                times.cells[0][planes - 1] += busy;
                let end = slot.pass::<L>(Segment::Read, 0, busy, times, *now, timing, *bus);
                slot.array_until = end;
                end
            }
            Kind::Copyback => {
                let out = slot.plane_to_check(0);
                slot.phase = if out.is_some() { Phase::Out } else { Phase::Store };
                slot.next = out.unwrap_or(0);
                let busy = timing.t_r(page.page);
                times.cells[0][planes - 1] += busy;
                slot.pass::<L>(Segment::CopybackRead, 0, busy, times, *now, timing, *bus)
            }
            Kind::Program if slot.command.cache || slot.sequence => {
                // When the data are in is known only when they are: commands may pass them on the bus.
                slot.phase = Phase::Load;
                let segment = if slot.command.cache { Segment::ProgramCache } else { Segment::Program };
                slot.pass::<L>(segment, bytes, 0, times, *now, timing, *bus)
            }
            Kind::Program => {
                slot.phase = Phase::Array;
                let busy = slot.program_time(die, timing);
                times.cells[1][planes - 1] += busy;
                slot.pass::<L>(Segment::Program, bytes, busy, times, *now, timing, *bus)
            }
            Kind::Erase => {
                slot.phase = Phase::Array;
                let busy = timing.t_bers;
                times.cells[2][planes - 1] += busy;
                slot.pass::<L>(Segment::Erase, 0, busy, times, *now, timing, *bus)
            }
        }
    }

    /// Data of the next plane come out of the register.
    #[inline]
    fn bring_out<B: Bus, L: Log>(&mut self, _die: u32, lane: Lane, around: &mut Around<'_, B, L>) -> Time {
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
            // The end of the transfer is the end of a read: the phase only waits for the time to come.
            slot.phase = match slot.command.kind {
                _ if slot.retries > 0 => Phase::Retry,
                Kind::Copyback => Phase::Store,
                _ => Phase::Array,
            };
        }
        slot.pass::<L>(segment, slot.command.bytes()[at], 0, times, around.now, around.timing, around.bus)
    }

    /// SET FEATURES moves the read thresholds, then the read starts anew.
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

    /// The destination of the next plane of a copyback.
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
            let busy = slot.program_time(die, timing);
            times.cells[1][planes - 1] += busy;
            (Segment::CopybackProgram, busy)
        };
        slot.pass::<L>(segment, 0, busy, times, around.now, timing, around.bus)
    }

    /// Cache read: the page in the data register moves to the cache register as soon as it is complete; `more` tells whether the
    /// cells then go on with another.
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
            // In a sequence the die itself looks for better thresholds.
            let senses = 1 + Time::from(std::mem::take(&mut slot.retries));
            let busy = timing.t_r(slot.command.pages()[0].page) * senses;
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

    /// Cache read: data of the next plane come out of the cache register.
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
        slot.pass::<L>(segment, slot.held.bytes()[at], 0, times, around.now, around.timing, around.bus)
    }

    /// Cache program: the data are in; they move on as soon as the cells are done with the data before them.
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
        let busy = slot.program_time(die, timing);
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

impl Slot {
    /// Uses the bus and then rests for `busy`; gives the time of the end.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn pass<L: Log>(
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
        let start = bus.reserve(now, on_bus, !segment.moves_data());
        times.contention += start - now;
        times.bus[segment as usize] += on_bus;
        times.uses[segment as usize] += 1;
        self.busy = busy;
        if L::WANTED {
            self.ready = now;
            self.segment = segment;
            self.bytes = bytes;
            self.on_bus = on_bus;
        }
        start + on_bus + busy
    }

    /// The first plane of a copyback, from number `from` on, of which data come out.
    fn plane_to_check(&self, from: usize) -> Option<u8> {
        let bytes = self.command.bytes();
        (from..bytes.len()).find(|&at| bytes[at] > 0).map(|at| at as u8)
    }

    /// tPROG of the slowest of the pages that are programmed.
    #[inline]
    fn program_time(&self, die: u32, timing: &Timing) -> Time {
        let pages = if self.command.kind == Kind::Copyback { self.command.targets() } else { self.command.pages() };
        let mut longest = timing.t_prog_at(die, pages[0]);
        if timing.has_spread() {
            longest = pages[1..].iter().fold(longest, |most, &page| most.max(timing.t_prog_at(die, page)));
        }
        longest
    }

    fn entry(&self, die: u32, what: What, ready: Time, (start, end): (Time, Time)) -> Entry {
        let held = matches!(self.phase, Phase::OutHeld | Phase::OutHeldLast);
        let command = if held { &self.held } else { &self.command };
        let page = command.pages().first().copied().unwrap_or_default();
        let planes = command.planes() as u8;
        let plane_mask = command.pages().iter().fold(0, |mask, page| mask | 1 << page.plane);
        let bytes = if matches!(what, What::Bus(_)) { self.bytes } else { 0 };
        Entry { die, kind: command.kind, held, what, page, planes, plane_mask, bytes, ready, start, end }
    }

    /// Tells what ended at `now`: a use of the bus, and what the die did after it.
    fn tell(&mut self, die: u32, now: Time, log: &mut impl Log) {
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

    fn tell_bus(&self, die: u32, end: Time, log: &mut impl Log) {
        let start = end - self.on_bus;
        log.enter(&self.entry(die, What::Bus(self.segment), self.ready, (start, end)));
    }

    fn tell_array(&self, die: u32, stage: Stage, span: (Time, Time), log: &mut impl Log) {
        log.enter(&self.entry(die, What::Array(stage), span.0, span));
    }

    /// A suspended command: what it did until `cut`, where it would have ended at `due`.
    fn tell_cut(&mut self, die: u32, due: Time, cut: Time, log: &mut impl Log) {
        let rest = due - self.busy;
        if self.on_bus > 0 {
            self.tell_bus(die, rest, log);
        }
        self.tell_array(die, self.stage(), (rest, cut), log);
    }

    /// What the die does after the last use of the bus.
    fn stage(&self) -> Stage {
        use crate::chain::Busy;
        match (self.phase, self.segment.spec().busy) {
            (Phase::Suspend, _) => Stage::Suspend,
            (_, Busy::Feature) => Stage::Feature,
            (_, Busy::Read) => Stage::Ton,
            (_, Busy::Program) => Stage::Tin,
            (_, Busy::Erase) => Stage::Ber,
            _ => Stage::Dummy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::OwnBus;
    use crate::cells::Violation;
    use crate::config::NandConfig;
    use crate::geometry::PageAddress;
    use crate::interface::Interface;
    use crate::log::Silent;

    fn package() -> (Package, Timing, OwnBus) {
        let geometry = PackageGeometry { dies: 2, planes: 2, blocks: 4, pages: 8, page_bytes: 2048 };
        let config = NandConfig { interface: Interface::Sdr, rate_mt_s: 50, ..NandConfig::default() };
        (Package::new(geometry), Timing::new(&config, 8).unwrap(), OwnBus::default())
    }

    fn command(kind: Kind, pages: &[(u32, u32, u32)], bytes: u32) -> Command {
        let mut command = Command::new(kind);
        pages.iter().for_each(|&(plane, block, page)| command.add(PageAddress { plane, block, page }, bytes));
        command
    }

    fn start(
        package: &mut Package,
        timing: &Timing,
        bus: &mut OwnBus,
        now: Time,
        die: u32,
        command: &Command,
    ) -> Result<Time, Violation> {
        package.begin(die, Lane::Main, command, Around { now, timing, bus, log: &mut Silent })
    }

    /// Runs a command alone and gives its end.
    fn run(package: &mut Package, timing: &Timing, bus: &mut OwnBus, now: Time, die: u32, command: &Command) -> Time {
        let mut at = package.begin(die, Lane::Main, command, Around { now, timing, bus, log: &mut Silent }).unwrap();
        loop {
            match package.step(die, Lane::Main, Around { now: at, timing, bus, log: &mut Silent }) {
                Step::At(next) => at = next,
                Step::Done => return at,
                Step::Ready { .. } => panic!("not in cache mode"),
            }
        }
    }

    #[test]
    fn unloaded_latencies_are_the_sums_of_their_stages() {
        let (mut package, timing, mut bus) = package();
        // Erase: 60h + 3 cycles + D0h at 20 ns, tWB 100 ns, tBERS 3 ms.
        let erase = command(Kind::Erase, &[(0, 1, 0)], 0);
        assert_eq!(run(&mut package, &timing, &mut bus, 0, 0, &erase), 200_000 + 3_000_000_000);
        // Program: 120 ns, tADL 70 ns, 2,048 x 20 ns, 20 ns, tWB 100 ns, tPROG 500 us.
        let start = 10_000_000_000;
        let program = command(Kind::Program, &[(0, 1, 0)], 2048);
        let took = run(&mut package, &timing, &mut bus, start, 0, &program) - start;
        assert_eq!(took, 120_000 + 70_000 + 40_960_000 + 20_000 + 100_000 + 500_000_000);
        // Read of 512 bytes: 140 ns, tWB 100 ns, tR 50 us, tRR 20 ns, 512 x 20 ns.
        let start = 20_000_000_000;
        let read = command(Kind::Read, &[(0, 1, 0)], 512);
        let took = run(&mut package, &timing, &mut bus, start, 0, &read) - start;
        assert_eq!(took, 140_000 + 100_000 + 50_000_000 + 20_000 + 10_240_000);
    }

    #[test]
    fn two_planes_share_one_program_time() {
        let (mut package, timing, mut bus) = package();
        let program = command(Kind::Program, &[(0, 1, 0), (1, 2, 0)], 2048);
        let took = run(&mut package, &timing, &mut bus, 0, 1, &program);
        let on_bus = 120_000 + 70_000 + 40_960_000 + 20_000 + 100_000;
        assert_eq!(took, 2 * on_bus + 500_000 + 500_000_000, "two transfers, one tDBSY of 0.5 us, one tPROG");
        let start = 1_000_000_000;
        let read = command(Kind::Read, &[(0, 1, 0), (1, 2, 0)], 2048);
        let took = run(&mut package, &timing, &mut bus, start, 1, &read) - start;
        let out = 140_000 + 200_000 + 40_960_000;
        assert_eq!(took, 240_000 + 500_000 + 240_000 + 50_000_000 + 2 * out);
    }

    #[test]
    fn dies_interleave_on_one_bus() {
        let (mut package, timing, mut bus) = package();
        let program = command(Kind::Program, &[(0, 0, 0)], 2048);
        let first = start(&mut package, &timing, &mut bus, 0, 0, &program).unwrap();
        let second = start(&mut package, &timing, &mut bus, 0, 1, &program).unwrap();
        let on_bus = timing.on_bus(Segment::Program, 2048);
        assert_eq!(second - first, on_bus, "the second waits for one transfer and no more");
        assert_eq!(package.times(1).contention, on_bus);
        assert!(matches!(
            start(&mut package, &timing, &mut bus, 5, 0, &command(Kind::Read, &[(0, 0, 0)], 1)),
            Err(Violation::Busy { die: 0 })
        ));
    }

    #[test]
    fn the_plane_addressing_rule_holds() {
        let (mut package, timing, mut bus) = package();
        for pages in [[(0, 1, 0), (0, 2, 0)], [(0, 1, 0), (1, 1, 1)]] {
            let wrong = command(Kind::Program, &pages, 2048);
            let error = start(&mut package, &timing, &mut bus, 0, 0, &wrong).unwrap_err();
            assert!(matches!(error, Violation::PlaneAddressing { .. }), "{error}");
        }
        let erase = command(Kind::Erase, &[(0, 1, 0), (1, 3, 0)], 0);
        assert!(start(&mut package, &timing, &mut bus, 0, 0, &erase).is_ok());
    }
}
