//! A package: its dies, each with a state machine, pass through stages on the bus and in the array.
//!
//! The caller starts a command with [`Package::begin`], gets the time at which the die next needs attention, and calls
//! [`Package::step`] then. Nothing relevant happens between two calls. Access to the bus goes through [`Bus`]: a lone
//! package has its own, packages on a channel share one.
//!
//! A die has a data register between it and the array, and a cache register on the bus. A command outside cache mode
//! has both for itself. In cache mode the die requests a follower ([`Step::Ready`]) as soon as one of them is free. A
//! program or erase can be suspended; commands during the suspension run in a second [`Lane`].

use crate::bus::Bus;
use crate::cells::{Cells, Violation};
use crate::command::{Command, Kind};
use crate::die::Die;
use crate::geometry::{PackageGeometry, PageAddress};
use crate::log::Log;
use crate::reliability::{ReliabilityConfig, ReliabilityError};
use crate::step::{Around, Lane, Step};
use crate::times::DieTimes;
use crate::timing::Timing;
use crate::wear::{Wear, WearCounts};
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// A NAND package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    geometry: PackageGeometry,
    cells: Cells,
    wear: Option<Box<Wear>>,
    dies: Vec<Die>,
}

impl Package {
    /// Creates an erased, idle package.
    #[must_use]
    pub fn new(geometry: PackageGeometry) -> Self {
        let dies = vec![Die::default(); geometry.dies as usize];
        Self { geometry, cells: Cells::new(geometry), wear: None, dies }
    }

    /// Geometry of the package.
    #[must_use]
    pub fn geometry(&self) -> &PackageGeometry {
        &self.geometry
    }

    /// The array, for inspection.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The array, to set its rules or to fill it without time.
    pub fn cells_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// Enables wear and failures as configured; `instance` is the number of the package in the drive.
    ///
    /// # Errors
    /// Names the key with an invalid value.
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

    /// Counts of retries and failures, if the package wears.
    #[must_use]
    pub fn wear_counts(&self) -> WearCounts {
        self.wear.as_ref().map(|wear| wear.counts()).unwrap_or_default()
    }

    /// True if blocks wear as configured.
    #[must_use]
    pub fn wears(&self) -> bool {
        self.wear.is_some()
    }

    /// True if programs and erases may fail.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.wear.as_ref().is_some_and(|wear| wear.fails())
    }

    /// True if programs may fail.
    #[must_use]
    pub fn fails_programs(&self) -> bool {
        self.wear.as_ref().is_some_and(|wear| wear.fails_programs())
    }

    /// Planes of the last command of a die that failed, as bits: their status is FAIL.
    #[inline]
    #[must_use]
    pub fn failed(&self, die: u32) -> u8 {
        self.dies[die as usize].failed
    }

    /// Copies the array state of another package of the same geometry.
    pub fn adopt_cells(&mut self, other: &Package) {
        self.cells.adopt(&other.cells);
    }

    /// Checks that the array state of this saved package fits `like`.
    ///
    /// # Errors
    /// Describes the mismatch.
    pub fn check_saved(&self, like: &Package) -> Result<(), String> {
        self.cells.check_saved(&like.cells)
    }

    /// Restores the state of a saved package of the same configuration, at `now` and at rest.
    ///
    /// # Errors
    /// Describes an impossible state.
    pub fn restore(&mut self, saved: Package, now: Time) -> Result<(), String> {
        if saved.dies.len() != self.dies.len() {
            return Err("a package has another number of dies".into());
        }
        for (die, was) in self.dies.iter_mut().zip(&saved.dies) {
            was.times.check_saved(now)?;
            die.times = was.times;
        }
        if let (Some(wear), Some(was)) = (&mut self.wear, saved.wear) {
            wear.restore(*was, now)?;
        }
        self.cells.adopt(&saved.cells);
        Ok(())
    }

    /// Busy times of a die.
    #[must_use]
    pub fn times(&self, die: u32) -> &DieTimes {
        &self.dies[die as usize].times
    }

    /// Part of the time booked in [`Package::times`] for array and registers after `at`, which is not before the die's
    /// last event; `due` has the times at which its two lanes need attention, if they do.
    #[inline]
    #[must_use]
    pub fn ahead(&self, die: u32, due: [Option<Time>; 2], at: Time) -> Time {
        self.dies[die as usize].ahead(due, at)
    }

    /// True if the main command of a die is suspended.
    #[inline]
    #[must_use]
    pub fn is_suspended(&self, die: u32) -> bool {
        self.dies[die as usize].is_suspended()
    }

    /// Starts a command and returns when the die needs attention. Beside a suspended command ([`Lane::Aside`]) it must
    /// be a plain read of another block.
    ///
    /// # Errors
    /// The command breaks a rule of the array, or the die is busy. The package is then unchanged, except for pages of
    /// the same command that were checked before.
    #[inline]
    pub fn begin<B: Bus, L: Log>(
        &mut self,
        die: u32,
        lane: Lane,
        command: &Command,
        around: Around<'_, B, L>,
    ) -> Result<Time, Violation> {
        if self.dies.get(die as usize).is_some_and(|state| !state.takes(lane, command)) {
            return Err(Violation::Busy { die });
        }
        self.commit(around.now, die, command)?;
        Ok(self.dies[die as usize].begin(die, lane, command, around))
    }

    /// Starts a command on the main lane of a die, as [`Package::begin`] would, that reads or programs one page, as
    /// [`Command::is_single`] says. The package must not wear.
    ///
    /// # Errors
    /// As [`Package::begin`].
    #[inline(always)]
    pub fn begin_single<B: Bus, L: Log>(
        &mut self,
        die: u32,
        kind: Kind,
        (page, bytes): (&PageAddress, u32),
        around: Around<'_, B, L>,
    ) -> Result<Time, Violation> {
        debug_assert!(self.wear.is_none(), "the command would wear the block");
        let Some(state) = self.dies.get_mut(die as usize) else {
            return Err(Violation::PlaneCount { die, pages: 1, planes: self.geometry.planes });
        };
        if !state.is_idle() {
            return Err(Violation::Busy { die });
        }
        if kind == Kind::Read {
            self.cells.read(die, *page, false)?;
        } else {
            self.cells.program(die, *page, false)?;
        }
        Ok(state.begin_single(die, kind, (page, bytes), around))
    }

    /// Starts a program on the main lane of a die, as [`Package::begin`] would, outside of cache and SLC mode. The package must
    /// not wear.
    ///
    /// # Errors
    /// As [`Package::begin`].
    #[inline(always)]
    pub fn begin_program<B: Bus, L: Log>(
        &mut self,
        die: u32,
        command: &Command,
        around: Around<'_, B, L>,
    ) -> Result<Time, Violation> {
        debug_assert!(self.wear.is_none() && command.is_plain_program(), "it wears, or is no plain program");
        let pages = command.pages();
        let state = self.dies.get_mut(die as usize);
        if state.as_ref().is_some_and(|state| !state.is_idle()) {
            return Err(Violation::Busy { die });
        }
        let Some(state) = state.filter(|_| !pages.is_empty() && pages.len() <= self.geometry.planes as usize) else {
            return Err(Violation::PlaneCount { die, pages: pages.len() as u32, planes: self.geometry.planes });
        };
        command.check_planes_of_program(die)?;
        for &page in pages {
            self.cells.program(die, page, false)?;
        }
        Ok(state.begin_program(die, command, around))
    }

    /// Gives a die that is [`Step::Ready`] in cache mode its next command, and returns when it needs attention.
    ///
    /// # Errors
    /// The die is not ready for one, or the follower has another kind or other planes, or breaks a rule of the array.
    pub fn follow<B: Bus, L: Log>(
        &mut self,
        die: u32,
        command: &Command,
        around: Around<'_, B, L>,
    ) -> Result<Time, Violation> {
        self.dies[die as usize].may_follow(die, command)?;
        self.commit(around.now, die, command)?;
        Ok(self.dies[die as usize].follow(die, command, around))
    }

    /// Ends the cache sequence of a die that is [`Step::Ready`], and returns when it needs attention.
    ///
    /// # Errors
    /// The die is not ready in cache mode.
    pub fn finish<B: Bus, L: Log>(&mut self, die: u32, around: Around<'_, B, L>) -> Result<Time, Violation> {
        self.dies[die as usize].finish(die, around)
    }

    /// Suspends the program or erase of a die, which would end at `due`, and returns when the aside lane needs
    /// attention. `None` if the bus cannot transfer the suspension before the end of the command: then it is not sent.
    ///
    /// # Errors
    /// The die's array executes no single program or erase.
    pub fn suspend<B: Bus, L: Log>(
        &mut self,
        die: u32,
        due: Time,
        around: Around<'_, B, L>,
    ) -> Result<Option<Time>, Violation> {
        self.dies[die as usize].suspend(die, due, around)
    }

    /// True if the die's array executes a program or erase that can be suspended now; `due` is its end.
    #[inline]
    #[must_use]
    pub fn can_suspend(&self, die: u32, due: Time, now: Time) -> bool {
        self.dies[die as usize].can_suspend(due, now)
    }

    /// Resumes the suspended command and returns its end.
    ///
    /// # Errors
    /// Nothing is suspended, or a read beside it still runs.
    pub fn resume<B: Bus, L: Log>(&mut self, die: u32, around: Around<'_, B, L>) -> Result<Time, Violation> {
        self.dies[die as usize].resume(die, around)
    }

    /// Applies a command to the array at once, without time: for preconditioning.
    ///
    /// # Errors
    /// As [`Package::begin`].
    #[inline(always)]
    pub fn commit(&mut self, now: Time, die: u32, command: &Command) -> Result<(), Violation> {
        let pages = command.pages();
        if pages.is_empty() || pages.len() > self.geometry.planes as usize || die >= self.geometry.dies {
            return Err(Violation::PlaneCount { die, pages: pages.len() as u32, planes: self.geometry.planes });
        }
        if pages.len() > 1 {
            command.check_planes(die)?;
        }
        match command.kind {
            Kind::Read => {
                for &page in pages {
                    self.cells.read(die, page, command.slc)?;
                }
            }
            Kind::Program => {
                for &page in pages {
                    self.cells.program(die, page, command.slc)?;
                }
            }
            Kind::Erase => {
                for &page in pages {
                    self.cells.erase(die, page)?;
                }
            }
            Kind::Copyback => self.copy(die, command)?,
        }
        if self.wear.is_some() {
            self.wear_off(now, die, command);
        }
        Ok(())
    }

    /// The same for a command of one page that reads, or programs outside of SLC mode.
    ///
    /// # Errors
    /// As [`Package::begin`].
    #[inline]
    pub fn commit_page(&mut self, now: Time, die: u32, kind: Kind, page: PageAddress) -> Result<(), Violation> {
        if self.wear.is_none() {
            match kind {
                Kind::Read => return self.cells.read(die, page, false),
                Kind::Program => return self.cells.program(die, page, false),
                Kind::Erase | Kind::Copyback => {}
            }
        }
        let mut command = Command::new(kind);
        command.add(page, 0);
        self.commit(now, die, &command)
    }

    /// Applies reads of so many pages of a block at once, the last of which is given, one command each, outside of SLC mode. The
    /// package must not wear.
    ///
    /// # Errors
    /// As [`Package::begin`].
    pub fn commit_reads(&mut self, die: u32, last: PageAddress, count: u32) -> Result<(), Violation> {
        debug_assert!(self.wear.is_none(), "each read would wear the block");
        self.cells.read_several(die, last, count)
    }

    /// Applies programs of so many pages of a block at once, from the one given on, one command each, outside of SLC mode. The
    /// package must not wear.
    ///
    /// # Errors
    /// As [`Package::begin`].
    pub fn commit_programs(&mut self, die: u32, first: PageAddress, count: u32) -> Result<(), Violation> {
        debug_assert!(self.wear.is_none(), "each program would wear the block");
        self.cells.program_several(die, first, count)
    }

    /// Copyback: pages move inside their planes.
    fn copy(&mut self, die: u32, command: &Command) -> Result<(), Violation> {
        for (&page, &to) in command.pages().iter().zip(command.targets()) {
            if to.plane != page.plane {
                return Err(Violation::MoveAcrossPlanes { die, plane: page.plane, other_plane: to.plane });
            }
            self.cells.read(die, page, command.slc)?;
            self.cells.program(die, to, command.slc)?;
        }
        Ok(())
    }

    /// Wears the blocks of a command, and records its retries and failed planes.
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
                    // Without data out nothing checks for bit errors: they move along.
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

    /// The main lane of a die, to advance it.
    #[inline(always)]
    pub fn main_lane(&mut self, die: u32) -> MainLane<'_> {
        MainLane { state: &mut self.dies[die as usize], die }
    }

    /// Advances a die at the time that it requested.
    #[inline]
    pub fn step<B: Bus, L: Log>(&mut self, die: u32, lane: Lane, around: Around<'_, B, L>) -> Step {
        self.dies[die as usize].step(die, lane, around)
    }
}

/// The main lane of a die at the time that it requested.
pub struct MainLane<'a> {
    state: &'a mut Die,
    die: u32,
}

impl MainLane<'_> {
    /// Ends its command if that is all that is left to do; false if not, and nothing has happened.
    #[inline(always)]
    pub fn end(&mut self) -> bool {
        self.state.end()
    }

    /// Advances it as [`Package::step`] does, if it does what most commands do: ends, brings out the data of a plain read of one
    /// page, or sends those of the next plane of a program. None, and nothing has happened, if it does something else. The bus is asked
    /// for where it is used.
    #[inline(always)]
    pub fn advance<B: Bus, L: Log>(
        self,
        now: Time,
        timing: &Timing,
        bus: impl FnOnce() -> B,
        log: &mut L,
    ) -> Option<Step> {
        self.state.advance(self.die, now, timing, bus, log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::OwnBus;
    use crate::cells::Violation;
    use crate::chain::Segment;
    use crate::config::NandConfig;
    use crate::interface::Interface;
    use crate::log::{Entry, Silent};

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

    /// Runs a lone command and returns its end.
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

    /// A bus that somebody else keeps.
    struct Lent<'a>(&'a mut OwnBus);

    impl Bus for Lent<'_> {
        fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time {
            self.0.reserve(ready, duration, short)
        }

        fn reserve_kept(&mut self, ready: Time, count: Time, duration: Time, pause: Time, last: Time) -> Time {
            self.0.reserve_kept(ready, count, duration, pause, last)
        }

        fn reserve_row(&mut self, ready: Time, duration: Time, follow: impl Iterator<Item = Time>) -> Time {
            self.0.reserve_row(ready, duration, follow)
        }

        fn next_of_row(&mut self, now: Time) -> Time {
            self.0.next_of_row(now)
        }

        fn opening(&self, ready: Time) -> Time {
            self.0.opening(ready)
        }
    }

    #[test]
    fn a_command_of_one_page_begins_as_any_other() {
        begins_as_any_other::<Silent>();
        begins_as_any_other::<Vec<Entry>>();
    }

    fn begins_as_any_other<L: Log + Default + PartialEq + std::fmt::Debug>() {
        let (mut single, timing, mut single_bus) = package();
        let (mut any, mut any_bus) = (single.clone(), single_bus);
        let (mut single_log, mut any_log) = (L::default(), L::default());
        let mut now = 0;
        for nth in 0..8 {
            for (kind, die) in [(Kind::Program, 0), (Kind::Program, 1), (Kind::Read, 1), (Kind::Read, 0)] {
                let page = PageAddress { plane: die, block: 3, page: nth };
                let (bytes, command) = (512 * (nth + 1), command(kind, &[(die, 3, nth)], 512 * (nth + 1)));
                assert_eq!((command.is_single(), command.first()), (true, (page, bytes)));
                let begun = single.begin_single(
                    die,
                    kind,
                    (&page, bytes),
                    Around { now, timing: &timing, bus: &mut single_bus, log: &mut single_log },
                );
                assert_eq!(
                    begun,
                    any.begin(
                        die,
                        Lane::Main,
                        &command,
                        Around { now, timing: &timing, bus: &mut any_bus, log: &mut any_log }
                    )
                );
                assert_eq!((&single, single_bus), (&any, any_bus));
                let again = single.begin_single(
                    die,
                    kind,
                    (&page, bytes),
                    Around { now, timing: &timing, bus: &mut single_bus, log: &mut single_log },
                );
                assert_eq!(again, Err(Violation::Busy { die }));
                now = begun.expect("it breaks no rule");
                if kind == Kind::Read {
                    let out = single.main_lane(die).advance(now, &timing, || Lent(&mut single_bus), &mut single_log);
                    let around = Around { now, timing: &timing, bus: &mut any_bus, log: &mut any_log };
                    assert_eq!(out, Some(any.step(die, Lane::Main, around)));
                    let Some(Step::At(end)) = out else { panic!("its data come out") };
                    now = end;
                }
                let ended = single.main_lane(die).advance(now, &timing, || Lent(&mut single_bus), &mut single_log);
                let around = Around { now, timing: &timing, bus: &mut any_bus, log: &mut any_log };
                assert_eq!((ended, any.step(die, Lane::Main, around)), (Some(Step::Done), Step::Done));
                assert_eq!(
                    single.main_lane(die).advance(now, &timing, || Lent(&mut single_bus), &mut single_log),
                    None,
                    "it is idle"
                );
                assert_eq!((&single, single_bus), (&any, any_bus));
                assert_eq!(single_log, any_log);
                now += 1_000_000_000;
            }
        }
        let unwritten = PageAddress { plane: 0, block: 2, page: 0 };
        let refused = single.begin_single(
            0,
            Kind::Read,
            (&unwritten, 1),
            Around { now, timing: &timing, bus: &mut single_bus, log: &mut single_log },
        );
        assert!(matches!(refused, Err(Violation::ReadUnwritten { .. })));
        assert!(!command(Kind::Read, &[(0, 1, 0), (1, 1, 0)], 1).is_single());
        assert!(!command(Kind::Erase, &[(0, 1, 0)], 0).is_single());
    }

    #[test]
    fn a_program_of_several_planes_begins_as_any_other() {
        programs_as_any_other::<Silent>();
        programs_as_any_other::<Vec<Entry>>();
    }

    fn programs_as_any_other<L: Log + Default + PartialEq + std::fmt::Debug>() {
        let (mut plain, timing, mut plain_bus) = package();
        let (mut any, mut any_bus) = (plain.clone(), plain_bus);
        let (mut plain_log, mut any_log) = (L::default(), L::default());
        let mut now = 0;
        for page in 0..8 {
            for die in [0, 1] {
                let command = command(Kind::Program, &[(1, die, page), (0, 2, page)], 512 * (page + 1));
                assert!(command.is_plain_program());
                let begun = plain.begin_program(
                    die,
                    &command,
                    Around { now, timing: &timing, bus: &mut plain_bus, log: &mut plain_log },
                );
                assert_eq!(
                    begun,
                    any.begin(
                        die,
                        Lane::Main,
                        &command,
                        Around { now, timing: &timing, bus: &mut any_bus, log: &mut any_log }
                    )
                );
                assert_eq!((&plain, plain_bus), (&any, any_bus));
                let begun = begun.expect("it breaks no rule");
                let again = plain.begin_program(
                    die,
                    &command,
                    Around { now, timing: &timing, bus: &mut plain_bus, log: &mut plain_log },
                );
                assert_eq!(again, Err(Violation::Busy { die }));
                let loaded = plain.main_lane(die).advance(begun, &timing, || Lent(&mut plain_bus), &mut plain_log);
                let around = Around { now: begun, timing: &timing, bus: &mut any_bus, log: &mut any_log };
                assert_eq!(loaded, Some(any.step(die, Lane::Main, around)));
                let Some(Step::At(end)) = loaded else { panic!("it has two planes") };
                now = end;
                let ended = plain.main_lane(die).advance(now, &timing, || Lent(&mut plain_bus), &mut plain_log);
                let around = Around { now, timing: &timing, bus: &mut any_bus, log: &mut any_log };
                assert_eq!((ended, any.step(die, Lane::Main, around)), (Some(Step::Done), Step::Done));
                assert_eq!((&plain, plain_bus), (&any, any_bus));
                assert_eq!(plain_log, any_log);
            }
        }
        let mut refused = |pages: &[(u32, u32, u32)]| {
            let command = command(Kind::Program, pages, 2048);
            let refused = plain
                .begin_program(0, &command, Around { now, timing: &timing, bus: &mut plain_bus, log: &mut plain_log })
                .unwrap_err();
            assert_eq!(
                Err(refused),
                any.begin(
                    0,
                    Lane::Main,
                    &command,
                    Around { now, timing: &timing, bus: &mut any_bus, log: &mut any_log }
                )
            );
            refused
        };
        assert!(matches!(refused(&[(0, 3, 0), (0, 3, 1)]), Violation::PlaneAddressing { .. }));
        assert!(matches!(refused(&[(0, 3, 0), (1, 3, 1)]), Violation::PlaneAddressing { .. }));
        assert!(matches!(refused(&[(0, 3, 0), (2, 3, 0)]), Violation::UnknownAddress { .. }));
        assert!(matches!(refused(&[(0, 3, 1), (1, 3, 1)]), Violation::OutOfOrder { .. }));
        assert!(matches!(refused(&[]), Violation::PlaneCount { .. }));
        assert!(matches!(refused(&[(0, 3, 0), (1, 3, 0), (2, 3, 0)]), Violation::PlaneCount { .. }));
        let planes = [(0, 3, 0), (1, 3, 0)];
        for (cache, slc) in [(false, false), (true, false), (false, true)] {
            let mut program = command(Kind::Program, &planes, 1);
            (program.cache, program.slc) = (cache, slc);
            assert_eq!(program.is_plain_program(), !(cache | slc));
        }
        assert!(!command(Kind::Erase, &planes, 0).is_plain_program());
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
