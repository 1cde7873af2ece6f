//! A host that plays chains cycle by cycle, and the same work as transactions.

use wordline_base::{Stream, Time};
use wordline_nand::chain::{Cycle, Segment};
use wordline_nand::geometry::PageAddress;
use wordline_nand::interface::Interface;
use wordline_nand::log::Silent;
use wordline_nand::pins::{CycleError, Pins};
use wordline_nand::{Around, Command, Kind, Lane, NandConfig, OwnBus, Package, PackageGeometry, Step, Timing};

/// SDR mode 5: every cycle takes 20 ns.
pub fn sdr() -> NandConfig {
    NandConfig { interface: Interface::Sdr, rate_mt_s: 50, ..NandConfig::default() }
}

/// A host and its clock.
#[derive(Clone)]
pub struct Host {
    pub pins: Pins,
    pub now: Time,
}

pub fn page(plane: u32, block: u32, page: u32) -> PageAddress {
    PageAddress { plane, block, page }
}

impl Host {
    pub fn new(geometry: PackageGeometry, config: &NandConfig) -> Self {
        Self { pins: Pins::new(geometry, config).unwrap(), now: 0 }
    }

    /// A command as soon as the bus is free.
    pub fn try_command(&mut self, byte: u8) -> Result<(), CycleError> {
        self.now = self.now.max(self.pins.earliest());
        self.now = self.pins.command(self.now, byte)?;
        Ok(())
    }

    pub fn command(&mut self, byte: u8) -> &mut Self {
        self.try_command(byte).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    pub fn address(&mut self, bytes: &[u8]) -> &mut Self {
        for &byte in bytes {
            self.now = self.pins.address(self.now, byte).unwrap_or_else(|error| panic!("{error}"));
        }
        self
    }

    pub fn at(&mut self, die: u32, at: PageAddress, column: u32) -> &mut Self {
        let cycles = self.pins.layout().page(die, at, column);
        self.address(&cycles)
    }

    pub fn row(&mut self, die: u32, at: PageAddress) -> &mut Self {
        let cycles = self.pins.layout().row(die, at);
        self.address(&cycles)
    }

    /// Data in after the longest of all waits before data.
    pub fn data_in(&mut self, bytes: &[u8]) -> &mut Self {
        self.now += self.pins.interface_mode().t_adl.max(self.pins.interface_mode().t_ccs);
        self.now = self.pins.data_in(self.now, bytes).unwrap_or_else(|error| panic!("{error}"));
        self
    }

    pub fn data_out(&mut self, count: usize) -> Vec<u8> {
        self.try_data_out(count).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_data_out(&mut self, count: usize) -> Result<Vec<u8>, CycleError> {
        self.now = self.now.max(self.pins.earliest()) + self.pins.interface_mode().t_ccs;
        let mut bytes = vec![0; count];
        self.now = self.pins.data_out(self.now, &mut bytes)?;
        Ok(bytes)
    }

    /// READ STATUS.
    pub fn status(&mut self) -> u8 {
        self.command(0x70).data_out(1)[0]
    }

    /// Waits until a die accepts commands.
    pub fn wait(&mut self, die: u32) -> &mut Self {
        self.now = self.now.max(self.pins.ready_at(die).unwrap().0);
        self
    }

    /// Waits until its array is idle.
    pub fn rest(&mut self, die: u32) -> &mut Self {
        self.now = self.now.max(self.pins.ready_at(die).unwrap().1);
        self
    }

    /// Plays a segment, with the waits of the table only.
    pub fn play(&mut self, segment: Segment, die: u32, at: PageAddress, bytes: &mut [u8]) {
        let mode = *self.pins.interface_mode();
        for cycle in segment.spec().cycles {
            let now = self.now;
            let done = match cycle {
                Cycle::Command(byte) => self.pins.command(now, *byte),
                Cycle::PageAddress => {
                    self.at(die, at, 0);
                    Ok(self.now)
                }
                Cycle::BlockAddress => {
                    self.row(die, at);
                    Ok(self.now)
                }
                Cycle::ColumnAddress => self.pins.address(now, 0).and_then(|now| self.pins.address(now, 0)),
                Cycle::ByteAddress => self.pins.address(now, 0),
                Cycle::DataIn => self.pins.data_in(now, bytes),
                Cycle::DataOut => self.pins.data_out(now, bytes),
                Cycle::Tadl => Ok(now + mode.t_adl),
                Cycle::Twb => Ok(now + mode.t_wb),
                Cycle::Trr => Ok(now + mode.t_rr),
                Cycle::Tccs => Ok(now + mode.t_ccs),
                Cycle::Twhr => Ok(now + mode.t_whr),
            };
            self.now = done.unwrap_or_else(|error| panic!("{segment:?}: {error}"));
        }
    }
}

/// An operation mode on a die: `steps` of pages, one page per plane.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its index in [`wordline_nand::chain::OPERATIONS`].
    pub mode: usize,
    pub die: u32,
    pub steps: Vec<Vec<PageAddress>>,
    /// The destinations of a copyback.
    pub targets: Vec<PageAddress>,
    /// Data of each programmed page, in order.
    pub data: Vec<Vec<u8>>,
    /// Data out of each page, in bytes.
    pub bytes: u32,
}

/// One segment of a job, with its step and plane.
pub type Part = (Segment, usize, usize);

impl Job {
    pub fn kind(&self) -> Kind {
        match self.mode {
            0..=5 => Kind::Read,
            6..=9 => Kind::Program,
            10..=13 => Kind::Copyback,
            _ => Kind::Erase,
        }
    }

    fn caches(&self) -> bool {
        matches!(self.mode, 2..=5 | 8 | 9)
    }

    /// The segments, written out by hand for each mode.
    pub fn parts(&self) -> Vec<Part> {
        use Segment as S;
        let (steps, planes) = (self.steps.len(), self.steps[0].len());
        let mut parts = Vec::new();
        let queued = |parts: &mut Vec<Part>, queue: Segment, last: Segment, step: usize| {
            parts.extend((0..planes - 1).map(|plane| (queue, step, plane)));
            parts.push((last, step, planes - 1));
        };
        let out = if planes == 1 { S::ReadOut } else { S::ReadOutPlane };
        let outs = |parts: &mut Vec<Part>, step: usize| parts.extend((0..planes).map(|plane| (out, step, plane)));
        match self.mode {
            0 | 1 => {
                queued(&mut parts, S::ReadQueue, S::Read, 0);
                outs(&mut parts, 0);
            }
            2..=5 => {
                queued(&mut parts, S::ReadQueue, S::Read, 0);
                for step in 1..steps {
                    match self.mode {
                        2 | 3 => parts.push((S::CacheSequential, step, 0)),
                        _ => queued(&mut parts, S::ReadQueue, S::CacheRandom, step),
                    }
                    outs(&mut parts, step - 1);
                }
                parts.push((S::CacheEnd, steps - 1, 0));
                outs(&mut parts, steps - 1);
            }
            6 | 7 => queued(&mut parts, S::ProgramQueue, S::Program, 0),
            8 | 9 => {
                (0..steps - 1).for_each(|step| queued(&mut parts, S::ProgramQueue, S::ProgramCache, step));
                queued(&mut parts, S::ProgramQueue, S::Program, steps - 1);
            }
            10..=13 => {
                queued(&mut parts, S::ReadQueue, S::CopybackRead, 0);
                if self.mode >= 12 {
                    outs(&mut parts, 0);
                }
                queued(&mut parts, S::CopybackProgramQueue, S::CopybackProgram, 0);
            }
            _ => queued(&mut parts, S::EraseQueue, S::Erase, 0),
        }
        parts
    }

    /// Plays one part; data out are appended to `out`.
    pub fn play(&self, host: &mut Host, (segment, step, plane): Part, out: &mut Vec<Vec<u8>>) {
        let moved = matches!(segment, Segment::CopybackProgram | Segment::CopybackProgramQueue);
        let at = if moved { self.targets[plane] } else { self.steps[step][plane] };
        let mut bytes = match segment {
            Segment::ReadOut | Segment::ReadOutPlane => vec![0; self.bytes as usize],
            Segment::Program | Segment::ProgramQueue | Segment::ProgramCache => {
                self.data[step * self.steps[0].len() + plane].clone()
            }
            _ => Vec::new(),
        };
        host.play(segment, self.die, at, &mut bytes);
        if matches!(segment, Segment::ReadOut | Segment::ReadOutPlane) {
            out.push(bytes);
        }
    }

    /// Plays the whole job as early as the die accepts it; returns the data out.
    pub fn run(&self, host: &mut Host) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        for part in self.parts() {
            host.wait(self.die);
            self.play(host, part, &mut out);
        }
        host.rest(self.die);
        out
    }

    /// The same as commands for the transaction engine.
    pub fn commands(&self) -> Vec<Command> {
        let moved = if matches!(self.mode, 10 | 11) { 0 } else { self.bytes };
        let last = self.steps.len() - 1;
        let of = |(step, pages): (usize, &Vec<PageAddress>)| {
            let mut command = Command::new(self.kind());
            for (plane, &at) in pages.iter().enumerate() {
                match self.kind() {
                    Kind::Copyback => command.add_move(at, self.targets[plane], moved),
                    Kind::Program => command.add(at, self.data[step * pages.len() + plane].len() as u32),
                    _ => command.add(at, self.bytes),
                }
            }
            // The last program of a sequence ends with 10h; a cache read ends by having no follower.
            command.cache = self.caches() && (self.kind() == Kind::Read || step < last);
            command
        };
        self.steps.iter().enumerate().map(of).collect()
    }
}

/// The rest of a job in the transaction engine.
pub struct Running {
    commands: std::collections::VecDeque<Command>,
}

/// A package in the transaction engine.
pub struct Engine {
    pub package: Package,
    pub timing: Timing,
    pub bus: OwnBus,
}

impl Engine {
    pub fn new(geometry: PackageGeometry, config: &NandConfig) -> Self {
        let timing = Timing::new(config, geometry.pages).unwrap();
        Self { package: Package::new(geometry), timing, bus: OwnBus::default() }
    }

    pub fn begin(&mut self, now: Time, job: &Job) -> (Running, Time) {
        let mut running = Running { commands: job.commands().into() };
        let first = running.commands.pop_front().unwrap();
        let Self { package, timing, bus } = self;
        let around = Around { now, timing, bus, log: &mut Silent };
        let at = package.begin(job.die, Lane::Main, &first, around).unwrap();
        (running, at)
    }

    /// Advances a die; `None` when its job is done.
    pub fn step(&mut self, now: Time, die: u32, running: &mut Running) -> Option<Time> {
        let Self { package, timing, bus } = self;
        match package.step(die, Lane::Main, Around { now, timing, bus, log: &mut Silent }) {
            Step::At(next) => Some(next),
            Step::Done => None,
            Step::Ready { .. } => {
                let around = Around { now, timing, bus, log: &mut Silent };
                Some(match running.commands.pop_front() {
                    Some(command) => package.follow(die, &command, around).unwrap(),
                    None => package.finish(die, around).unwrap(),
                })
            }
        }
    }

    /// Runs a job alone and returns its end.
    pub fn run(&mut self, now: Time, job: &Job) -> Time {
        let (mut running, mut at) = self.begin(now, job);
        while let Some(next) = self.step(at, job.die, &mut running) {
            at = next;
        }
        at
    }
}

/// `count` random bytes.
pub fn noise(stream: &mut Stream, count: usize) -> Vec<u8> {
    (0..count).map(|_| stream.bits() as u8).collect()
}

/// Runs `test` for the seeds `0..count`, or only for WORDLINE_SEED; a failure prints how to repeat it.
pub fn for_seeds(name: &str, count: u64, test: impl Fn(u64)) {
    let only = std::env::var("WORDLINE_SEED").ok().map(|text| text.parse().expect("WORDLINE_SEED is a number"));
    let seeds = only.map_or(0..count, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let run = std::panic::AssertUnwindSafe(|| test(seed));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("repeat with: WORDLINE_SEED={seed} cargo test -p wordline-nand --test pins {name}");
            std::panic::resume_unwind(panic);
        }
    }
}
