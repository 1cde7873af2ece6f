//! Random cycles: nothing panics, accepted cycles are those announced, and RESET recovers the package.

use crate::player::{for_seeds, noise, Host};
use wordline_base::{Stream, Time};
use wordline_nand::geometry::PageAddress;
use wordline_nand::interface::Interface;
use wordline_nand::pins::status::FAIL;
use wordline_nand::pins::{CycleError, Reason, COMMANDS};
use wordline_nand::{NandConfig, PackageGeometry};

/// Cycles in the stream of a seed.
const CYCLES: usize = 3_000;
/// Commands that continue a read, a copyback or a suspended command.
const CONTINUING: [u8; 7] = [0x05, 0x06, 0x13, 0x31, 0x3f, 0x85, 0xd2];

fn geometry(stream: &mut Stream) -> PackageGeometry {
    let mut pick = |most: u64| 1 + stream.below(most) as u32;
    PackageGeometry { dies: pick(3), planes: pick(3), blocks: pick(5), pages: 2 + pick(6), page_bytes: pick(70) }
}

fn config(stream: &mut Stream) -> NandConfig {
    let (interface, _) = Interface::ALL[stream.below(5) as usize];
    let modes = interface.modes();
    let mut us = || stream.below(4_000) as f64 / 1000.0;
    NandConfig {
        dummy_busy_us: us(),
        cache_read_busy_us: us(),
        cache_program_busy_us: us(),
        suspend_us: us(),
        resume_us: us(),
        interface,
        rate_mt_s: modes[stream.below(modes.len() as u64) as usize].rate_mt_s,
        ..NandConfig::default()
    }
}

/// Number of cycles by result.
#[derive(Clone, Copy, Debug)]
struct Counts {
    taken: u64,
    refused: u64,
    /// Accepted commands.
    commands: [u64; 256],
}

struct Fuzz {
    host: Host,
    stream: Stream,
    /// Address cycles of a page that exists.
    address: Vec<u8>,
    counts: Counts,
}

impl Fuzz {
    fn new(seed: u64, counts: Counts) -> Self {
        let mut stream = Stream::new(seed, "cycles", 0);
        let (geometry, config) = (geometry(&mut stream), config(&mut stream));
        Self { host: Host::new(geometry, &config), stream, address: Vec::new(), counts }
    }

    /// Writes the first block of every plane, so that reads of all kinds find pages.
    fn fill(&mut self) {
        let PackageGeometry { dies, planes, pages, page_bytes, .. } = *self.host.pins.geometry();
        for number in 0..dies * planes * pages {
            let (die, plane, page) = (number % dies, number / dies % planes, number / dies / planes);
            let data = noise(&mut self.stream, page_bytes as usize);
            let at = PageAddress { plane, block: 0, page };
            self.host.command(0x80).at(die, at, 0).data_in(&data).command(0x10).wait(die);
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.stream.below(100) < percent
    }

    /// A time for the next cycle: mostly one that respects all waits, sometimes a random one.
    fn time(&mut self) -> Time {
        let earliest = self.host.pins.earliest();
        let mode = *self.host.pins.interface_mode();
        match self.stream.below(400) {
            0 if self.chance(50) => u64::MAX - self.stream.bits() / 4,
            0 => self.host.now + self.stream.below(1 << 50),
            1 => self.host.now.saturating_sub(self.stream.below(1_000_000)),
            2 => earliest.saturating_sub(1),
            3..=99 => earliest,
            100..=199 => earliest + mode.t_ccs.max(mode.t_adl),
            _ => {
                let dies = u64::from(self.host.pins.geometry().dies);
                let (ready, rested) = self.host.pins.ready_at(self.stream.below(dies) as u32).unwrap();
                earliest.max(if self.chance(50) { ready } else { rested })
            }
        }
    }

    /// A command: mostly an accepted one, sometimes any byte.
    fn byte(&mut self, now: Time) -> u8 {
        // Commands that are always accepted would dominate.
        let status = self.chance(20);
        let wanted = |byte: &u8| *byte < 0xfc && (status || !matches!(byte, 0x70 | 0x78));
        let accepted: Vec<u8> = self.host.pins.accepted(now).commands().filter(wanted).collect();
        // Commands that continue something are rarely possible, so they get more weight.
        let on: Vec<u8> = accepted.iter().copied().filter(|byte| CONTINUING.contains(byte)).collect();
        match self.stream.below(80) {
            0 => self.stream.bits() as u8,
            1 => COMMANDS[self.stream.below(COMMANDS.len() as u64) as usize],
            _ if accepted.is_empty() && self.chance(95) => 0x70,
            _ if accepted.is_empty() => 0xff,
            2..=41 if !on.is_empty() => on[self.stream.below(on.len() as u64) as usize],
            _ => accepted[self.stream.below(accepted.len() as u64) as usize],
        }
    }

    /// The next byte of an address: mostly of a page that exists, often low numbers.
    fn address_byte(&mut self) -> u8 {
        if self.chance(1) {
            return self.stream.bits() as u8;
        }
        self.address.pop().unwrap_or_else(|| [0x00, 0x01, 0x10, 0x20][self.stream.below(4) as usize])
    }

    fn new_address(&mut self, command: u8) {
        let geometry = *self.host.pins.geometry();
        let mut below = |bound: u32| self.stream.below(u64::from(bound.min(3))) as u32;
        let at =
            PageAddress { plane: below(geometry.planes), block: below(geometry.blocks), page: below(geometry.pages) };
        let (die, column) = (below(geometry.dies), below(geometry.page_bytes));
        // Mostly other blocks than the first, so that it stays readable.
        let spared = PageAddress { block: geometry.blocks - 1, ..at };
        self.address = match command {
            0x60 => self.host.pins.layout().row(die, spared),
            0x78 => self.host.pins.layout().row(die, at),
            0x90 | 0xec..=0xef => Vec::new(),
            _ => self.host.pins.layout().page(die, at, column),
        };
        self.address.reverse();
    }

    fn cycle(&mut self) {
        let now = self.time();
        let accepted = self.host.pins.accepted(now);
        let pick = self.stream.below(200);
        let before = self.host.pins.cycles();
        let result = match pick {
            0..=2 => self.command(now),
            3 => self.data_in(now),
            4 => self.data_out(now),
            5 => {
                let byte = self.address_byte();
                self.host.pins.address(now, byte)
            }
            _ if accepted.address && !self.address.is_empty() && pick < 195 => {
                let byte = self.address_byte();
                self.host.pins.address(now, byte)
            }
            _ if accepted.address && accepted.commands().all(|byte| byte >= 0xfc) => {
                let byte = self.address_byte();
                self.host.pins.address(now, byte)
            }
            6..=60 if accepted.data_in => self.data_in(now),
            61..=100 if accepted.data_out => self.data_out(now),
            _ => self.command(now),
        };
        match result {
            Ok(end) => {
                assert!(end >= now);
                self.host.now = end;
                self.counts.taken += 1;
            }
            Err(error) => {
                assert_eq!(self.host.pins.cycles(), before + 1);
                assert_eq!(error.cycle, before);
                self.counts.refused += 1;
                self.after_refusal(error);
            }
        }
    }

    fn command(&mut self, now: Time) -> Result<Time, CycleError> {
        let byte = self.byte(now);
        let promised = self.host.pins.accepted(now).commands().any(|other| other == byte);
        self.new_address(byte);
        let result = self.host.pins.command(now, byte);
        self.counts.commands[usize::from(byte)] += u64::from(result.is_ok());
        if let Err(error) = &result {
            // An accepted cycle can only be rejected for its time or its address.
            let excused = matches!(
                error.reason,
                Reason::Backwards { .. }
                    | Reason::TooLate
                    | Reason::BusTaken { .. }
                    | Reason::Early { .. }
                    | Reason::NoPlaneLeft
                    | Reason::NoPlaneSelected
                    | Reason::Column { .. }
                    | Reason::CutOff { .. }
                    | Reason::Suspended { .. }
                    | Reason::Cells(_)
            );
            assert!(!promised || excused, "{error}");
        }
        result
    }

    fn data_in(&mut self, now: Time) -> Result<Time, CycleError> {
        let most = u64::from(self.host.pins.geometry().page_bytes) + 2;
        let count = if self.chance(2) { 100_000 } else { self.stream.below(most) as usize };
        let bytes = noise(&mut self.stream, count);
        self.host.pins.data_in(now, &bytes)
    }

    fn data_out(&mut self, now: Time) -> Result<Time, CycleError> {
        let most = u64::from(self.host.pins.geometry().page_bytes) + 2;
        let count = if self.chance(2) { 100_000 } else { self.stream.below(most) as usize };
        self.host.pins.data_out(now, &mut vec![0; count])
    }

    /// The die shows FAIL; often RESET follows, sometimes the stream continues.
    fn after_refusal(&mut self, error: CycleError) {
        assert!(!error.to_string().is_empty());
        if self.chance(80) {
            let at = PageAddress::default();
            self.host.now = self.host.now.max(self.host.pins.earliest());
            self.host.command(0x78).row(error.die, at);
            assert_eq!(self.host.data_out(1)[0] & FAIL, FAIL, "{error}");
            self.host.command(0xff);
        }
    }

    /// RESET, and then every die erases, programs and reads in every plane.
    fn comes_back(&mut self) {
        let geometry = *self.host.pins.geometry();
        self.host.now = self.host.now.max(self.host.pins.earliest());
        let reset = if self.chance(50) { 0xff } else { 0xfc };
        self.host.command(reset);
        (0..geometry.dies).for_each(|die| {
            self.host.wait(die);
        });
        for die in 0..geometry.dies {
            for plane in 0..geometry.planes {
                let block = self.stream.below(u64::from(geometry.blocks)) as u32;
                let at = PageAddress { plane, block, page: 0 };
                let data = noise(&mut self.stream, geometry.page_bytes as usize);
                let host = &mut self.host;
                host.command(0x60).row(die, at).command(0xd0).wait(die);
                host.command(0x80).at(die, at, 0).data_in(&data).command(0x10).wait(die);
                host.command(0x00).at(die, at, 0).command(0x30).wait(die);
                assert_eq!(host.data_out(data.len()), data);
                assert_eq!(host.status(), 0xe0);
            }
        }
    }
}

#[test]
fn random_cycles_never_panic_and_reset_brings_the_package_back() {
    let counts = std::cell::Cell::new(Counts { taken: 0, refused: 0, commands: [0; 256] });
    let long = std::env::var_os("WORDLINE_LONG").is_some();
    let name = "random_cycles_never_panic_and_reset_brings_the_package_back";
    for_seeds(name, if long { 5_000 } else { 150 }, |seed| {
        let mut fuzz = Fuzz::new(seed, counts.get());
        fuzz.fill();
        for _ in 0..CYCLES {
            fuzz.cycle();
        }
        fuzz.comes_back();
        counts.set(fuzz.counts);
    });
    let Counts { taken, refused, commands } = counts.get();
    let least = COMMANDS.map(|byte| (commands[usize::from(byte)], byte)).into_iter().min();
    println!("{taken} cycles taken, {refused} refused; the rarest command, with its count: {least:?}");
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(taken > refused && refused > taken / 100, "{taken} cycles taken, {refused} refused");
        let never: Vec<_> = COMMANDS.iter().filter(|&&byte| commands[usize::from(byte)] < 10).collect();
        assert!(never.is_empty(), "hardly ever taken: {never:02x?}");
    }
}
