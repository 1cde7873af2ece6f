//! Packages on channels, and the timing of their commands.
//!
//! Each die has two lanes: its commands, and its work beside a suspended command. A lane schedules at most one event at
//! a time, under its number: the die, or, after all dies, the die again for the second lane.

mod saved;

use crate::charges::{Payers, PAYERS};
use crate::geometry::Geometry;
use crate::recorder::{Logged, Recorder};
use crate::spending::{Spent, Tally};
use serde::{Deserialize, Serialize};
use wordline_base::event::Mark;
use wordline_base::time::END_OF_TIME;
use wordline_base::{Divisor, EventQueue, Time};
use wordline_nand::bus::{Turns, Waits};
use wordline_nand::chain::{self, Cycle};
use wordline_nand::energy::{Activity, Energy, EnergyConfig};
use wordline_nand::log::Silent;
use wordline_nand::reliability::{ReliabilityConfig, ReliabilityError};
use wordline_nand::times::{DieTimes, SegmentUse};
use wordline_nand::wear::WearCounts;
use wordline_nand::{Around, Command, Kind, Lane, Package, PageAddress, Port, SharedBus, Step, Timing, Violation};

/// Receiver of the times at which lanes must be stepped.
pub trait Agenda {
    /// A lane wants to be stepped at `time`; `mark` has the kind of the flash's events, and the lane.
    fn wake(&mut self, time: Time, mark: Mark);
}

impl Agenda for EventQueue {
    #[inline(always)]
    fn wake(&mut self, time: Time, mark: Mark) {
        self.push_marked(time, mark);
    }
}

/// Outcome of a lane's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The die works on.
    Busy,
    /// It wants an answer at once, as [`Step::Ready`] says.
    Ready {
        /// True if the command before the current one has ended.
        ended: bool,
    },
    /// Its command has ended.
    Done,
}

/// An illegal use of the flash, with where and when.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal flash command at {time} ps on channel {channel}, package {package}: {violation}")]
pub struct FlashError {
    /// When, in picoseconds.
    pub time: Time,
    /// Channel of the package.
    pub channel: u32,
    /// Package on the channel.
    pub package: u32,
    /// The broken rule.
    pub violation: Violation,
}

/// How a channel's bus was used, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelTimes {
    /// Time in which something was transferred.
    pub busy: Time,
}

/// Where a lane is, and what it waits for.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// When it needs attention; its event may come earlier, if a command has passed its data since.
    due: Time,
    /// What its events have.
    mark: Mark,
    channel: u32,
    package: u32,
    /// Its die in the package.
    die: u32,
    which: Lane,
    /// True if its event came while its command was suspended.
    parked: bool,
}

impl Seat {
    /// The lane needs attention at a time.
    #[inline(always)]
    fn wake_at(&mut self, time: Time, agenda: &mut impl Agenda) {
        self.due = time;
        agenda.wake(time, self.mark);
    }
}

impl Waits for Seat {
    #[inline(always)]
    fn put_off(&mut self, by: Time) {
        self.due += by;
    }
}

/// All packages and channels of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flash {
    geometry: Geometry,
    timing: Timing,
    packages: Vec<Package>,
    channels: Vec<SharedBus>,
    /// How long commands have held up the data of each lane.
    passed: Vec<Time>,
    #[serde(skip)]
    recorder: Option<Box<Recorder>>,
    event_kind: u8,
    dies: u32,
    /// The lanes below it are main ones of dies of which nothing is recorded.
    #[serde(skip)]
    unheard: u32,
    /// The same where packages do not wear, either.
    #[serde(skip)]
    plain: u32,
    /// By lane.
    #[serde(skip)]
    seats: Vec<Seat>,
    dies_per_package: Divisor,
    packages_per_channel: Divisor,
    dies_per_channel: Divisor,
}

/// Runs `$call` with the surroundings of a lane, silent or recorded.
macro_rules! around {
    ($self:ident, $now:expr, $lane:expr, |$package:ident, $die:ident, $which:ident, $around:ident| $call:expr) => {{
        let lane = $lane;
        let Seat { channel, package, die: $die, which: $which, .. } = $self.seats[lane as usize];
        let bus = &mut $self.channels[channel as usize];
        let mut port = Port { bus, lanes: &mut $self.seats, passed: &mut $self.passed, lane };
        let $package = &mut $self.packages[package as usize];
        match &mut $self.recorder {
            Some(recorder) if recorder.hears(lane) => {
                let die = if lane >= $self.dies { lane - $self.dies } else { lane };
                let mut log = recorder.of_lane(lane, die);
                let $around = Around { now: $now, timing: &$self.timing, bus: &mut port, log: &mut log };
                $call
            }
            _ => {
                let $around = Around { now: $now, timing: &$self.timing, bus: &mut port, log: &mut Silent };
                $call
            }
        }
    }};
}

mod begin;

impl Flash {
    /// Erased flash. Its events in the drive's queue are of `event_kind`, with the number of the lane as index.
    #[must_use]
    pub fn new(geometry: Geometry, timing: Timing, event_kind: u8) -> Self {
        let packages = (geometry.channels * geometry.packages) as usize;
        let lanes = 2 * geometry.dies() as usize;
        let seat = |lane| {
            let die = lane % geometry.dies();
            let package = die / geometry.dies_per_package;
            Seat {
                due: END_OF_TIME,
                mark: Mark::new(event_kind, lane),
                channel: package / geometry.packages,
                package,
                die: die % geometry.dies_per_package,
                which: if lane < geometry.dies() { Lane::Main } else { Lane::Aside },
                parked: false,
            }
        };
        let mut package = Package::new(geometry.package());
        package.cells_mut().set_pages_per_program(geometry.pages_per_program);
        package.cells_mut().set_slc_pages(geometry.slc_pages_per_block);
        Self {
            geometry,
            timing,
            packages: vec![package; packages],
            channels: vec![SharedBus::default(); geometry.channels as usize],
            passed: vec![0; lanes],
            recorder: None,
            event_kind,
            dies: geometry.dies(),
            unheard: geometry.dies(),
            plain: geometry.dies(),
            seats: (0..2 * geometry.dies()).map(seat).collect(),
            dies_per_package: Divisor::new(geometry.dies_per_package),
            packages_per_channel: Divisor::new(geometry.packages),
            dies_per_channel: Divisor::new(geometry.dies_per_channel()),
        }
    }

    /// Lets the packages wear and fail as configured.
    ///
    /// # Errors
    /// Names the key that cannot be used.
    pub fn set_reliability(&mut self, config: &ReliabilityConfig, seed: u64) -> Result<(), ReliabilityError> {
        for (instance, package) in self.packages.iter_mut().enumerate() {
            package.set_reliability(config, &self.timing, seed, instance as u64)?;
        }
        self.find_plain_lanes();
        Ok(())
    }

    /// Finds out which lanes may take the shortest ways, when what decides on it has changed.
    fn find_plain_lanes(&mut self) {
        self.unheard = if self.recorder.is_none() { self.dies } else { 0 };
        self.plain = if self.wears() { 0 } else { self.unheard };
    }

    /// True if packages wear as configured.
    #[must_use]
    pub fn wears(&self) -> bool {
        self.packages.iter().any(Package::wears)
    }

    /// In which order the buses serve.
    pub fn set_turns(&mut self, turns: Turns) {
        self.channels.iter_mut().for_each(|bus| bus.turns = turns);
    }

    /// What reads, programs and erases came to where the packages wear.
    #[must_use]
    pub fn wear_counts(&self) -> WearCounts {
        let mut sum = WearCounts::default();
        for counts in self.packages.iter().map(Package::wear_counts) {
            sum.retries += counts.retries;
            sum.uncorrectable += counts.uncorrectable;
            sum.program_fails += counts.program_fails;
            sum.erase_fails += counts.erase_fails;
        }
        sum
    }

    /// True if programs and erases may fail.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.packages.iter().any(Package::fails)
    }

    /// True if programs may fail.
    #[must_use]
    pub fn fails_programs(&self) -> bool {
        self.packages.iter().any(Package::fails_programs)
    }

    /// Marks a block bad, by its number in the drive: from now on every use of it is refused.
    pub fn mark_bad(&mut self, block: u32) {
        let (at, die, plane, block) = self.locate_block(block);
        self.packages[at].cells_mut().mark_bad(die, plane, block);
    }

    /// Which planes of the last command of a die failed, as bits.
    #[inline]
    #[must_use]
    pub fn failed(&self, die: u32) -> u8 {
        let (at, die_in_package) = self.locate(die);
        self.packages[at].failed(die_in_package)
    }

    /// What a package did so far, for its energy, up to `now`.
    #[must_use]
    pub fn activity(&self, package: u32, now: Time) -> Activity {
        let mut sum = Activity::default();
        let package_of = &self.packages[package as usize];
        for die in 0..package_of.geometry().dies {
            let times = package_of.times(die);
            let mut on_bus = 0;
            for segment in chain::ALL {
                let SegmentUse { count: uses, time: bus } = times.bus[segment as usize];
                let fixed = self.timing.fixed(segment);
                let data = bus - uses * (fixed.command + fixed.address + fixed.wait);
                sum.command += uses * fixed.command;
                sum.address += uses * fixed.address;
                if segment.spec().cycles.contains(&Cycle::DataIn) {
                    sum.data_in += data;
                } else {
                    sum.data_out += data;
                }
                on_bus += bus;
            }
            let cells = times.plane_stages();
            sum.read += cells[0];
            sum.program += cells[1];
            sum.erase += cells[2];
            // In cache mode bus and array overlap: a die is busy no longer than there was time.
            sum.busy += (times.array() + on_bus).min(now);
            sum.die_time += now;
        }
        sum
    }

    /// Energy of all packages up to `now`.
    #[must_use]
    pub fn energy(&self, now: Time, config: &EnergyConfig) -> Energy {
        let mut sum = Energy::default();
        for package in 0..self.packages.len() as u32 {
            sum += Energy::of(&self.activity(package, now), config);
        }
        sum
    }

    /// Starts or ends recording what the dies do: every use of the bus and of the cells, or what is asked for command by command.
    pub fn record(&mut self, logs: bool, sums: bool) {
        if !logs && !sums {
            self.recorder = None;
            self.find_plain_lanes();
            return;
        }
        let lanes = self.seats.len();
        let recorder = self.recorder.get_or_insert_with(|| Box::new(Recorder::new(lanes, &self.timing)));
        recorder.log_entries(logs);
        self.find_plain_lanes();
    }

    /// Sums the time of the command that starts next; nothing, while nothing is recorded.
    #[inline]
    pub fn add_up_next(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.add_up_next();
        }
    }

    /// Who pays for the command that starts next; nobody, unless said. Nothing, while nothing is recorded.
    #[inline]
    pub fn charge_next(&mut self, payers: Payers) {
        if let Some(recorder) = &mut self.recorder {
            recorder.charge_next(payers);
        }
    }

    /// The two for a command of one payer.
    #[inline]
    pub fn hear_next(&mut self, adds_up: bool, payer: u8) {
        if let Some(recorder) = &mut self.recorder {
            recorder.hear_next(adds_up, payer);
        }
    }

    /// What each payer has been charged with since recording began, or charges were reset; standby is charged to nobody.
    #[must_use]
    pub fn charged(&self) -> Option<&[Activity; PAYERS]> {
        self.recorder.as_ref().map(|recorder| recorder.charged())
    }

    /// Forgets all charges.
    pub fn reset_charges(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.reset_charges();
        }
    }

    /// Where the time of the command is added up that a lane began last.
    #[inline]
    #[must_use]
    pub fn tally(&self, lane: u32) -> Tally {
        self.recorder.as_ref().map_or(Tally::NONE, |recorder| recorder.tally(lane))
    }

    /// How the time of a command was spent so far.
    #[inline]
    #[must_use]
    pub fn spent(&self, tally: Tally) -> Option<&Spent> {
        self.recorder.as_ref().and_then(|recorder| recorder.spent(tally))
    }

    /// Records since the last call; the caller drains them.
    pub fn recorded(&mut self) -> Option<&mut Vec<Logged>> {
        self.recorder.as_mut().map(|recorder| recorder.entries())
    }

    /// The number of the command that a die runs beside or as its main one; 0 while nothing is recorded.
    #[must_use]
    pub fn command_number(&self, lane: u32) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.number(lane))
    }

    #[inline]
    fn number(&mut self, now: Time, lane: u32, follows: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(now, lane, follows);
        }
    }

    /// The shape of the flash.
    #[inline]
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The times of its packages.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    #[inline]
    fn locate(&self, die: u32) -> (usize, u32) {
        (self.dies_per_package.quotient(die) as usize, self.dies_per_package.remainder(die))
    }

    /// The channel of a die.
    #[inline]
    #[must_use]
    pub fn channel_of(&self, die: u32) -> u32 {
        self.dies_per_channel.quotient(die)
    }

    /// When the bus of a channel is free.
    #[inline]
    #[must_use]
    pub fn bus_free_at(&self, channel: u32) -> Time {
        self.channels[channel as usize].free_at
    }

    fn story(&self, time: Time, package: usize, violation: Violation) -> FlashError {
        let package = package as u32;
        FlashError {
            time,
            channel: package / self.geometry.packages,
            package: package % self.geometry.packages,
            violation,
        }
    }

    #[inline]
    fn set_due(&mut self, lane: u32, time: Time, agenda: &mut impl Agenda) {
        self.seats[lane as usize].wake_at(time, agenda);
    }

    /// Time at which a lane needs attention; the end of time if it does not.
    #[inline]
    #[must_use]
    pub fn due(&self, lane: u32) -> Time {
        self.seats[lane as usize].due
    }

    /// The lane of a die beside its suspended command.
    #[inline]
    #[must_use]
    pub fn aside(&self, die: u32) -> u32 {
        self.dies + die
    }

    /// The die of a lane, and whether the lane is the one beside a suspended command.
    #[inline]
    #[must_use]
    pub fn die_of(&self, lane: u32) -> (u32, bool) {
        if lane >= self.dies {
            (lane - self.dies, true)
        } else {
            (lane, false)
        }
    }

    /// Tells a die in cache mode that nothing follows.
    ///
    /// # Errors
    /// When the die did not ask.
    #[inline]
    pub fn finish(&mut self, now: Time, die: u32, agenda: &mut impl Agenda) -> Result<(), FlashError> {
        match around!(self, now, die, |package, at, _which, around| package.finish(at, around)) {
            Ok(time) => {
                self.set_due(die, time, agenda);
                Ok(())
            }
            Err(violation) => Err(self.story(now, self.locate(die).0, violation)),
        }
    }

    /// True if a die runs a program or an erase in its cells that can be suspended now, and how long it would still run.
    #[inline]
    #[must_use]
    pub fn suspendable(&self, now: Time, die: u32) -> Option<Time> {
        let (at, die_in_package) = self.locate(die);
        let due = self.seats[die as usize].due;
        self.packages[at].can_suspend(die_in_package, due, now).then(|| due - now)
    }

    /// Suspends the command of a die; its aside lane is [`Progress::Ready`] when it takes reads. False if the bus cannot carry the
    /// suspension before the command is over: then it is not sent.
    ///
    /// # Errors
    /// When the die runs nothing that can be suspended.
    pub fn suspend(&mut self, now: Time, die: u32, agenda: &mut impl Agenda) -> Result<bool, FlashError> {
        let (lane, due) = (self.aside(die), self.seats[die as usize].due);
        if let Some(recorder) = &mut self.recorder {
            recorder.take_over(lane, die);
        }
        match around!(self, now, lane, |package, at, _which, around| package.suspend(at, due, around)) {
            Ok(Some(time)) => {
                self.seats[die as usize].due = END_OF_TIME;
                self.set_due(lane, time, agenda);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(violation) => Err(self.story(now, self.locate(die).0, violation)),
        }
    }

    /// Lets the suspended command of a die go on.
    ///
    /// # Errors
    /// When nothing is suspended, or a read beside it still runs.
    pub fn resume(&mut self, now: Time, die: u32, agenda: &mut impl Agenda) -> Result<(), FlashError> {
        let lane = self.aside(die);
        if let Some(recorder) = &mut self.recorder {
            recorder.take_over(lane, die);
        }
        match around!(self, now, lane, |package, at, _which, around| package.resume(at, around)) {
            Ok(time) => {
                let seat = &mut self.seats[die as usize];
                seat.due = time;
                // The event of its first end may still be pending: it finds the new one.
                if std::mem::take(&mut seat.parked) {
                    agenda.wake(time, seat.mark);
                }
                Ok(())
            }
            Err(violation) => Err(self.story(now, self.locate(die).0, violation)),
        }
    }

    /// Has an event come to a lane that is at rest, at a time: an appointment of the caller with itself.
    pub fn appoint(&self, time: Time, lane: u32, agenda: &mut impl Agenda) {
        agenda.wake(time, self.seats[lane as usize].mark);
    }

    /// True if the command of a die is suspended.
    #[inline]
    #[must_use]
    pub fn is_suspended(&self, die: u32) -> bool {
        let (at, die_in_package) = self.locate(die);
        self.packages[at].is_suspended(die_in_package)
    }

    /// Applies a command at once, without time.
    ///
    /// # Errors
    /// When the command is illegal.
    #[inline]
    pub fn commit(&mut self, now: Time, die: u32, command: &Command) -> Result<(), FlashError> {
        let (at, die_in_package) = self.locate(die);
        self.packages[at].commit(now, die_in_package, command).map_err(|violation| self.story(now, at, violation))
    }

    /// The same for a read or program of one page.
    ///
    /// # Errors
    /// When it is illegal.
    #[inline]
    pub fn commit_page(&mut self, now: Time, die: u32, kind: Kind, page: PageAddress) -> Result<(), FlashError> {
        let (at, die_in_package) = self.locate(die);
        let committed = self.packages[at].commit_page(now, die_in_package, kind, page);
        committed.map_err(|violation| self.story(now, at, violation))
    }

    /// The same for reads of so many pages of a block, the last of which is given. Packages must not wear.
    ///
    /// # Errors
    /// When one is illegal.
    pub fn commit_reads(&mut self, now: Time, die: u32, last: PageAddress, count: u32) -> Result<(), FlashError> {
        let (at, die_in_package) = self.locate(die);
        let committed = self.packages[at].commit_reads(die_in_package, last, count);
        committed.map_err(|violation| self.story(now, at, violation))
    }

    /// The same for programs of so many pages of a block, from the one given on. Packages must not wear.
    ///
    /// # Errors
    /// When one is illegal.
    pub fn commit_programs(&mut self, now: Time, die: u32, first: PageAddress, count: u32) -> Result<(), FlashError> {
        let (at, die_in_package) = self.locate(die);
        let committed = self.packages[at].commit_programs(die_in_package, first, count);
        committed.map_err(|violation| self.story(now, at, violation))
    }

    /// Handles an event of a lane.
    #[inline]
    pub fn step(&mut self, now: Time, lane: u32, agenda: &mut impl Agenda) -> Progress {
        let Self { packages, channels, timing, seats, passed, .. } = self;
        let seats = &mut seats[..];
        let seat = &mut seats[lane as usize];
        if seat.due > now {
            if seat.due == END_OF_TIME {
                seat.parked = true;
            } else {
                agenda.wake(seat.due, seat.mark);
            }
            return Progress::Busy;
        }
        if lane < self.unheard {
            let Seat { channel, die, .. } = *seat;
            let mut main = packages[seat.package as usize].main_lane(die);
            if main.end() {
                seat.due = END_OF_TIME;
                return Progress::Done;
            }
            let step = main.advance(
                now,
                timing,
                || Port { bus: &mut channels[channel as usize], lanes: &mut *seats, passed, lane },
                &mut Silent,
            );
            match step {
                Some(Step::At(time)) => {
                    seats[lane as usize].wake_at(time, agenda);
                    return Progress::Busy;
                }
                Some(step) => return self.follow_up(lane, step, agenda),
                None => return self.step_apart(now, lane, agenda),
            }
        }
        self.step_recorded(now, lane, agenda)
    }

    /// Handles an event of a lane that is recorded, or the one beside a suspended command. Apart, so that others need not care.
    #[cold]
    #[inline(never)]
    fn step_recorded(&mut self, now: Time, lane: u32, agenda: &mut impl Agenda) -> Progress {
        self.step_summed(now, lane, agenda)
    }

    /// Handles an event of the main lane of a die that does what few commands do, and is not recorded.
    #[inline(never)]
    fn step_apart(&mut self, now: Time, lane: u32, agenda: &mut impl Agenda) -> Progress {
        let Seat { channel, package, die, .. } = self.seats[lane as usize];
        let bus = &mut self.channels[channel as usize];
        let mut port = Port { bus, lanes: &mut self.seats, passed: &mut self.passed, lane };
        let around = Around { now, timing: &self.timing, bus: &mut port, log: &mut Silent };
        let step = self.packages[package as usize].step(die, Lane::Main, around);
        self.follow_up(lane, step, agenda)
    }

    /// Handles an event of a lane that is recorded, or the one beside a suspended command.
    #[inline(never)]
    fn step_any(&mut self, now: Time, lane: u32, agenda: &mut impl Agenda) -> Progress {
        let step = around!(self, now, lane, |package, die, which, around| package.step(die, which, around));
        self.follow_up(lane, step, agenda)
    }

    /// The same where mostly sums alone are recorded of a die that does what most commands do.
    #[inline(never)]
    fn step_summed(&mut self, now: Time, lane: u32, agenda: &mut impl Agenda) -> Progress {
        let Self { packages, channels, timing, seats, passed, recorder, dies, .. } = self;
        let Some(recorder) = recorder.as_mut().filter(|recorder| lane < *dies && recorder.sums(lane)) else {
            return self.step_any(now, lane, agenda);
        };
        let seats = &mut seats[..];
        let Seat { channel, package, die, .. } = seats[lane as usize];
        let step = packages[package as usize].main_lane(die).advance(
            now,
            timing,
            || Port { bus: &mut channels[channel as usize], lanes: &mut *seats, passed, lane },
            &mut recorder.sums_of(lane),
        );
        match step {
            Some(step) => self.follow_up(lane, step, agenda),
            None => self.step_any(now, lane, agenda),
        }
    }

    /// What comes after a step of a lane.
    #[inline(always)]
    fn follow_up(&mut self, lane: u32, step: Step, agenda: &mut impl Agenda) -> Progress {
        match step {
            Step::At(time) => {
                self.set_due(lane, time, agenda);
                Progress::Busy
            }
            Step::Ready { ended } => {
                self.seats[lane as usize].due = END_OF_TIME;
                Progress::Ready { ended }
            }
            Step::Done => {
                self.seats[lane as usize].due = END_OF_TIME;
                Progress::Done
            }
        }
    }

    /// How long a die has worked in cells and registers up to `at`, which is neither before its last event nor after its next.
    #[inline]
    #[must_use]
    pub fn die_worked(&self, die: u32, at: Time) -> Time {
        let (package, die_in_package) = self.locate(die);
        let due =
            [die, self.aside(die)].map(|lane| Some(self.seats[lane as usize].due).filter(|&due| due < END_OF_TIME));
        let package = &self.packages[package];
        package.times(die_in_package).array().saturating_sub(package.ahead(die_in_package, due, at))
    }

    /// How long a die has waited for the bus. Waits are booked when they begin.
    #[inline]
    #[must_use]
    pub fn die_waited(&self, die: u32) -> Time {
        let (at, die_in_package) = self.locate(die);
        let passed = self.passed[die as usize] + self.passed[self.aside(die) as usize];
        self.packages[at].times(die_in_package).contention + passed
    }

    /// Where the time of a die went.
    #[must_use]
    pub fn die_times(&self, die: u32) -> DieTimes {
        let (at, die_in_package) = self.locate(die);
        let times = *self.packages[at].times(die_in_package);
        let passed = self.passed[die as usize] + self.passed[self.aside(die) as usize];
        DieTimes { contention: times.contention + passed, ..times }
    }

    /// The packages, to look at.
    #[must_use]
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// The packages, to set the rules of their cells or to fill them.
    pub fn packages_mut(&mut self) -> &mut [Package] {
        &mut self.packages
    }

    /// How a channel was used.
    #[must_use]
    pub fn channel_times(&self, channel: u32) -> ChannelTimes {
        ChannelTimes { busy: self.channels[channel as usize].busy }
    }

    /// How long the bus of a channel was used up to `at`, which is neither before its last event nor after its next: transfers that
    /// wait for the bus follow each other without a gap.
    #[must_use]
    pub fn channel_used(&self, channel: u32, at: Time) -> Time {
        self.channels[channel as usize].used(at)
    }

    /// The NAND's own record of a block, by its number in the drive.
    #[must_use]
    pub fn block_record(&self, block: u32) -> wordline_nand::cells::BlockRecord {
        let (at, die, plane, block) = self.locate_block(block);
        self.packages[at].cells().record(die, plane, block)
    }

    /// The NAND's own record of the block of a page of a die.
    #[inline]
    #[must_use]
    pub fn page_record(&self, die: u32, page: &PageAddress) -> wordline_nand::cells::BlockRecord {
        let Seat { package, die, .. } = self.seats[die as usize];
        self.packages[package as usize].cells().record(die, page.plane, page.block)
    }

    /// Asks for the NAND's own record of a block of a die before it is needed.
    #[inline]
    pub fn expect(&self, die: u32, plane: u32, block: u32) {
        let Seat { package, die, .. } = self.seats[die as usize];
        self.packages[package as usize].cells().expect(die, plane, block);
    }

    /// The NAND's own records of all blocks, by their numbers in the drive.
    pub fn block_records(&self) -> impl Iterator<Item = &wordline_nand::cells::BlockRecord> {
        self.packages.iter().flat_map(|package| package.cells().records())
    }

    /// Gives a block a number of page reads since its last erase: a past that was not simulated.
    pub fn set_block_reads(&mut self, block: u32, reads: u32) {
        let (at, die, plane, block) = self.locate_block(block);
        self.packages[at].cells_mut().set_reads(die, plane, block, reads);
    }

    /// Package of a block, and its die, plane and number there.
    fn locate_block(&self, block: u32) -> (usize, u32, u32, u32) {
        let (plane, block) = (block / self.geometry.blocks_per_plane, block % self.geometry.blocks_per_plane);
        let (die, plane) = (plane / self.geometry.planes_per_die, plane % self.geometry.planes_per_die);
        let (at, die_in_package) = self.locate(die);
        (at, die_in_package, plane, block)
    }
}
