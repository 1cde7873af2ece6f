//! A package at work: one command at a time a die, each going through its stages on the bus and in the cells.
//!
//! The caller starts a command with [`Package::begin`], gets the time at which the die next needs attention, and calls
//! [`Package::step`] then. Between two calls nothing that matters happens, so skipping there loses nothing. The bus is asked
//! for through [`Bus`]: a package alone brings its own, packages on a channel share one.

use crate::cells::{Cells, Violation};
use crate::geometry::{PackageGeometry, PageAddress, MAX_PLANES};
use crate::timing::{BusTime, Timing};
use serde::{Deserialize, Serialize};
use wordline_base::Time;

/// What a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// READ PAGE.
    #[default]
    Read,
    /// PROGRAM PAGE.
    Program,
    /// BLOCK ERASE.
    Erase,
}

/// One command: one page or block in each of one or several planes of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// What to do.
    pub kind: Kind,
    count: u8,
    pages: [PageAddress; MAX_PLANES],
    bytes: [u32; MAX_PLANES],
}

impl Command {
    /// A command without pages yet.
    #[inline]
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Starts anew: a command of `kind` without pages.
    #[inline]
    pub fn clear(&mut self, kind: Kind) {
        self.kind = kind;
        self.count = 0;
    }

    /// Becomes a copy of another command; moves only the pages that it has.
    #[inline]
    fn assign(&mut self, other: &Self) {
        self.clear(other.kind);
        for (&page, &bytes) in other.pages().iter().zip(&other.bytes) {
            self.add(page, bytes);
        }
    }

    /// Adds a page (for erase: a block) with `bytes` to move over the bus.
    ///
    /// # Panics
    /// With more than [`MAX_PLANES`] pages.
    #[inline]
    pub fn add(&mut self, page: PageAddress, bytes: u32) {
        let at = usize::from(self.count);
        self.pages[at] = page;
        self.bytes[at] = bytes;
        self.count += 1;
    }

    /// The pages in the order in which they were added.
    #[inline]
    #[must_use]
    pub fn pages(&self) -> &[PageAddress] {
        &self.pages[..usize::from(self.count)]
    }
}

/// A bus, asked in the order of time.
pub trait Bus {
    /// Takes the bus for `duration` as soon after `ready` as it is free, and says when that is. `short` tells that only commands
    /// and addresses are carried, which a bus may let pass before data that wait.
    fn reserve(&mut self, ready: Time, duration: Time, short: bool) -> Time;
}

/// The I/O bus of a package that is alone on its channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnBus {
    /// When it is free again.
    pub free_at: Time,
    /// How long it was in use.
    pub busy: Time,
}

impl Bus for OwnBus {
    #[inline]
    fn reserve(&mut self, ready: Time, duration: Time, _: bool) -> Time {
        let start = self.free_at.max(ready);
        self.free_at = start + duration;
        self.busy += duration;
        start
    }
}

/// What a die needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To be stepped at this time.
    At(Time),
    /// Nothing: its command ended just now.
    Done,
}

/// Where the time of a die went, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DieTimes {
    /// In the cells: TON, TIN, BER and tDBSY.
    pub array: Time,
    /// On the bus: CLE, ALE, TIR and TOR with their waits.
    pub bus: Time,
    /// Ready, and waiting for the bus (contention).
    pub contention: Time,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    #[default]
    Idle,
    /// Addresses (and data) of plane `next` go in next.
    Setup,
    /// Data of plane `next` come out next.
    Out,
    /// The array works on all planes; the command ends with it.
    Array,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Die {
    command: Command,
    phase: Phase,
    next: u8,
    times: DieTimes,
}

/// A NAND package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    geometry: PackageGeometry,
    cells: Cells,
    dies: Vec<Die>,
}

impl Package {
    /// An erased, idle package.
    #[must_use]
    pub fn new(geometry: PackageGeometry) -> Self {
        Self { geometry, cells: Cells::new(geometry), dies: vec![Die::default(); geometry.dies as usize] }
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

    /// Takes over what the cells of another package of the same geometry hold.
    pub fn adopt_cells(&mut self, other: &Package) {
        self.cells.clone_from(&other.cells);
    }

    /// Where the time of a die went.
    #[must_use]
    pub fn times(&self, die: u32) -> DieTimes {
        self.dies[die as usize].times
    }

    /// Starts a command at `now` and says when the die needs attention.
    ///
    /// # Errors
    /// When the command breaks a rule of the cells; the package is then as it was, but for pages of the same
    /// command that were checked before.
    #[inline]
    pub fn begin(
        &mut self,
        now: Time,
        die: u32,
        command: &Command,
        timing: &Timing,
        bus: &mut impl Bus,
    ) -> Result<Time, Violation> {
        self.commit(die, command)?;
        let state = &mut self.dies[die as usize];
        if state.phase != Phase::Idle {
            return Err(Violation::Busy { die });
        }
        state.command.assign(command);
        state.phase = Phase::Setup;
        state.next = 0;
        match self.step(now, die, timing, bus) {
            Step::At(time) => Ok(time),
            Step::Done => unreachable!("a command has at least one segment"),
        }
    }

    /// Applies a command to the cells at once, without time: for preconditioning.
    ///
    /// # Errors
    /// As [`Package::begin`].
    #[inline]
    pub fn commit(&mut self, die: u32, command: &Command) -> Result<(), Violation> {
        let pages = command.pages();
        if pages.is_empty() || pages.len() > self.geometry.planes as usize || die >= self.geometry.dies {
            return Err(Violation::PlaneCount { die, pages: pages.len() as u32, planes: self.geometry.planes });
        }
        if pages.len() > 1 {
            check_planes(die, command)?;
        }
        for &page in pages {
            match command.kind {
                Kind::Read => self.cells.read(die, page)?,
                Kind::Program => self.cells.program(die, page)?,
                Kind::Erase => self.cells.erase(die, page)?,
            }
        }
        Ok(())
    }

    /// Carries a die on at the time that it asked for.
    #[inline]
    pub fn step(&mut self, now: Time, die: u32, timing: &Timing, bus: &mut impl Bus) -> Step {
        let state = &mut self.dies[die as usize];
        let at = usize::from(state.next);
        let command = &state.command;
        let (count, last) = (usize::from(command.count), at + 1 == usize::from(command.count));
        let bytes = command.bytes[at % MAX_PLANES];
        match state.phase {
            Phase::Setup => {
                let page = command.pages[at].page;
                let (segment, busy): (BusTime, Time) = match (command.kind, last) {
                    (Kind::Read, true) => (timing.read, timing.t_r(page)),
                    (Kind::Read, false) => (timing.read_queue, timing.t_dbsy),
                    (Kind::Program, true) => (timing.program, timing.t_prog(page)),
                    (Kind::Program, false) => (timing.program_queue, timing.t_dbsy),
                    (Kind::Erase, true) => (timing.erase, timing.t_bers),
                    (Kind::Erase, false) => (timing.erase_queue, timing.t_dbsy),
                };
                if last {
                    state.phase = if command.kind == Kind::Read { Phase::Out } else { Phase::Array };
                    state.next = 0;
                } else {
                    state.next += 1;
                }
                let short = command.kind != Kind::Program;
                Step::At(state.times.pass(now, bus, segment.with(bytes), busy, short))
            }
            Phase::Out => {
                let segment = if count == 1 { timing.read_out } else { timing.read_out_plane };
                let end = state.times.pass(now, bus, segment.with(bytes), 0, false);
                if last {
                    // The end of the transfer is the end of the command: the phase only waits for the time to come.
                    state.phase = Phase::Array;
                } else {
                    state.next += 1;
                }
                Step::At(end)
            }
            Phase::Array => {
                state.phase = Phase::Idle;
                Step::Done
            }
            Phase::Idle => Step::Done,
        }
    }
}

impl DieTimes {
    /// Books a use of the bus and what follows; gives the time of the end.
    #[inline]
    fn pass(&mut self, now: Time, bus: &mut impl Bus, on_bus: Time, busy: Time, short: bool) -> Time {
        let start = bus.reserve(now, on_bus, short);
        self.contention += start - now;
        self.bus += on_bus;
        self.array += busy;
        start + on_bus + busy
    }
}

/// The plane addressing rule: same page offset, different planes; block numbers are free.
fn check_planes(die: u32, command: &Command) -> Result<(), Violation> {
    let pages = command.pages();
    for (at, page) in pages.iter().enumerate() {
        let clash = pages[..at]
            .iter()
            .find(|other| other.plane == page.plane || (command.kind != Kind::Erase && other.page != page.page));
        if let Some(other) = clash {
            return Err(Violation::PlaneAddressing {
                die,
                plane: page.plane,
                page: page.page,
                other_plane: other.plane,
                other_page: other.page,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NandConfig;
    use crate::interface::Interface;

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

    /// Runs a command alone and gives its end.
    fn run(package: &mut Package, timing: &Timing, bus: &mut OwnBus, now: Time, die: u32, command: &Command) -> Time {
        let mut at = package.begin(now, die, command, timing, bus).unwrap();
        while let Step::At(next) = package.step(at, die, timing, bus) {
            at = next;
        }
        at
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
        let first = package.begin(0, 0, &program, &timing, &mut bus).unwrap();
        let second = package.begin(0, 1, &program, &timing, &mut bus).unwrap();
        let on_bus = timing.program.with(2048);
        assert_eq!(second - first, on_bus, "the second waits for one transfer and no more");
        assert_eq!(package.times(1).contention, on_bus);
        assert!(matches!(
            package.begin(5, 0, &command(Kind::Read, &[(0, 0, 0)], 1), &timing, &mut bus),
            Err(Violation::Busy { die: 0 })
        ));
    }

    #[test]
    fn the_plane_addressing_rule_holds() {
        let (mut package, timing, mut bus) = package();
        for pages in [[(0, 1, 0), (0, 2, 0)], [(0, 1, 0), (1, 1, 1)]] {
            let wrong = command(Kind::Program, &pages, 2048);
            let error = package.begin(0, 0, &wrong, &timing, &mut bus).unwrap_err();
            assert!(matches!(error, Violation::PlaneAddressing { .. }), "{error}");
        }
        let erase = command(Kind::Erase, &[(0, 1, 0), (1, 3, 0)], 0);
        assert!(package.begin(0, 0, &erase, &timing, &mut bus).is_ok());
    }
}
