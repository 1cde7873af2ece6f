//! The event-driven flash against a twin that simulates every bus cycle: the same scripts must give the same timelines,
//! entry by entry and to the tick.
//!
//! The twin shares no code with the model except the types of commands and log entries. It has its own table of chains,
//! its own arbiter and its own registers, and checks each of them at every tick.

mod twin {
    pub mod acts;
    pub mod host;
    pub mod machine;
    pub mod model;
    pub mod script;
    pub mod table;
    pub mod trace;
}

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use twin::host::Host;
use twin::model::Shape;
use twin::script::{between, pick, script, Job};
use twin::table::{Durations, Order};
use twin::trace::{compare, Line, Trace};
use twin::{machine, model};
use wordline_base::Stream;
use wordline_flash::{Command, Kind, Segment};
use wordline_nand::log::{Stage, What};

/// All numbers of dies and planes, each with one package and, if the dies can be divided, with two.
const SHAPES: u64 = 8 * 4;
/// Jobs of all dies in a run.
const JOBS: usize = 800;

fn shape(seed: u64) -> Shape {
    let dies = 1 + (seed % 8) as u32;
    let planes = 1 << (seed / 8 % 4);
    let round = seed / SHAPES;
    let packages = if dies.is_multiple_of(2) && round % 2 == 1 { 2 } else { 1 };
    Shape { packages, dies, planes, first_come: round % 5 == 4, plain: round % 4 == 2 }
}

fn durations(random: &mut Stream) -> Durations {
    let order = *pick(random, &[Order::Cyclic, Order::Cyclic, Order::Alpha, Order::Beta]);
    let classes = if order == Order::Cyclic { between(random, 1, 4) } else { 2 };
    // Either the bus or the array is the bottleneck.
    let slow = *pick(random, &[1, 1, 5]);
    Durations {
        read: (0..classes).map(|_| between(random, 5, 40) * slow).collect(),
        program: (0..classes).map(|_| between(random, 20, 80) * slow).collect(),
        order,
        erase: between(random, 40, 200) * slow,
        dummy: between(random, 1, 12),
        cache_read: between(random, 1, 15),
        cache_program: between(random, 1, 15),
        suspend: between(random, 1, 20),
        resume: between(random, 1, 10),
    }
}

fn hosts(scripts: &[Vec<Job>]) -> Vec<Host<'_>> {
    scripts.iter().map(|script| Host::new(script)).collect()
}

/// Runs the scripts of a seed on both sides; returns the coverage.
fn run(seed: u64) -> Coverage {
    let mut random = Stream::new(seed, "twin", 0);
    let shape = shape(seed);
    let durations = durations(&mut random);
    let jobs = JOBS / shape.dies as usize;
    let scripts: Vec<Vec<Job>> =
        (0..shape.dies).map(|_| script(&mut random, shape.planes, jobs, shape.plain)).collect();
    let model = model::run(shape, &durations, hosts(&scripts));
    let twin = machine::run(&durations, shape.first_come, shape.planes, hosts(&scripts));
    let differs = catch_unwind(AssertUnwindSafe(|| compare(&model, &twin, shape.dies as usize)));
    if let Err(panic) = differs {
        eprintln!("{shape:?}, {durations:?}");
        resume_unwind(panic);
    }
    let mut coverage = Coverage::default();
    coverage.count_jobs(&scripts);
    coverage.count_trace(&model);
    coverage
}

// -------------------------------------------------------------------------------------------------- coverage

/// Number of occurrences, for each number of dies and planes.
#[derive(Default)]
struct Coverage {
    counts: BTreeMap<&'static str, u64>,
    commands: u64,
}

/// The modes of a die with one plane.
const SINGLE: [&str; 14] = [
    "read",
    "cache read, sequential",
    "cache read, random",
    "cache read of one page",
    "program",
    "cache program",
    "cache program, closed by its last page",
    "cache program, closed by the host",
    "internal data move",
    "internal data move with data out",
    "erase",
    "program suspended",
    "erase suspended",
    "read beside",
];

/// Those for several planes.
const MULTI: [&str; 10] = [
    "multi-plane read",
    "multi-plane cache read, sequential",
    "multi-plane cache read, random",
    "multi-plane program",
    "multi-plane cache program",
    "multi-plane internal data move",
    "multi-plane internal data move with data out",
    "multi-plane internal data move with data out of some planes",
    "multi-plane erase",
    "multi-plane read beside",
];

impl Coverage {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn count_jobs(&mut self, scripts: &[Vec<Job>]) {
        for job in scripts.iter().flatten() {
            let last = job.commands.last().expect("a job has commands");
            if job.commands.len() > 1 && last.kind == Kind::Program {
                self.count(if last.cache {
                    "cache program, closed by the host"
                } else {
                    "cache program, closed by its last page"
                });
            }
            if job.commands.len() == 1 && last.cache && last.kind == Kind::Read {
                self.count("cache read of one page");
            }
            let mut before = None;
            for command in &job.commands {
                self.count_command(command, before);
                before = Some(command);
            }
        }
    }

    fn count_command(&mut self, command: &Command, before: Option<&Command>) {
        let multi = command.planes() > 1;
        let checked = command.bytes().iter().filter(|&&bytes| bytes > 0).count();
        let (single, several) = match (command.kind, command.cache || before.is_some(), before) {
            (Kind::Read, false, _) => ("read", "multi-plane read"),
            (Kind::Read, true, None) => return,
            (Kind::Read, true, Some(before)) if command.continues(before) => {
                ("cache read, sequential", "multi-plane cache read, sequential")
            }
            (Kind::Read, true, Some(_)) => ("cache read, random", "multi-plane cache read, random"),
            (Kind::Program, false, _) => ("program", "multi-plane program"),
            (Kind::Program, true, _) => ("cache program", "multi-plane cache program"),
            (Kind::Erase, ..) => ("erase", "multi-plane erase"),
            (Kind::Copyback, ..) if checked == 0 => ("internal data move", "multi-plane internal data move"),
            (Kind::Copyback, ..) if checked < command.planes() => {
                ("", "multi-plane internal data move with data out of some planes")
            }
            (Kind::Copyback, ..) => {
                ("internal data move with data out", "multi-plane internal data move with data out")
            }
        };
        self.count(if multi { several } else { single });
    }

    fn count_trace(&mut self, trace: &Trace) {
        self.commands += trace.lines.iter().map(|line| line.command).max().unwrap_or_default();
        *self.counts.entry("suspension held back").or_default() += trace.held_back;
        let mut lines: Vec<&Line> = trace.lines.iter().collect();
        lines.sort_by_key(|line| (line.die, line.start));
        let mut suspended = false;
        for line in lines {
            match line.what {
                What::Array(Stage::Suspend) => {
                    suspended = true;
                    self.count(if line.kind == Kind::Erase { "erase suspended" } else { "program suspended" });
                }
                What::Bus(Segment::ProgramResume | Segment::EraseResume) => suspended = false,
                What::Bus(Segment::ProgramSuspend | Segment::EraseSuspend) => self.count("suspension sent"),
                What::Bus(Segment::Read) if suspended => {
                    self.count(if line.planes > 1 { "multi-plane read beside" } else { "read beside" });
                }
                _ => {}
            }
            if line.start > line.ready {
                let What::Bus(segment) = line.what else { continue };
                self.count(if segment.moves_data() { "data waited" } else { "command waited" });
            }
        }
    }

    fn add(&mut self, other: &Coverage) {
        self.commands += other.commands;
        for (&what, count) in &other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }

    fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }
}

// -------------------------------------------------------------------------------------------------- the test

/// Runs the scripts of all seeds, on all processors.
fn run_all(seeds: Range<u64>) -> Vec<(u64, Coverage)> {
    let next = AtomicU64::new(seeds.start);
    let work = || {
        let mine =
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| seeds.contains(seed)));
        mine.map(|seed| (seed, told(seed))).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// Runs the scripts of a seed; a failure tells how to repeat it.
fn told(seed: u64) -> Coverage {
    catch_unwind(|| run(seed)).unwrap_or_else(|panic| {
        let name = "the_model_equals_its_cycle_stepping_twin";
        eprintln!("repeat with: WORDLINE_SEED={seed} cargo test -p wordline-flash --test twin {name}");
        resume_unwind(panic)
    })
}

#[test]
fn the_model_equals_its_cycle_stepping_twin() {
    const ROUNDS: u64 = 20;
    let long = std::env::var_os("WORDLINE_LONG").is_some();
    let only: Option<u64> =
        std::env::var("WORDLINE_SEED").ok().map(|text| text.parse().expect("WORDLINE_SEED is a number"));
    let seeds = only.map_or(0..SHAPES * ROUNDS * if long { 20 } else { 1 }, |seed| seed..seed + 1);
    let mut all = Coverage::default();
    let mut by_shape: BTreeMap<(u32, u32), Coverage> = BTreeMap::new();
    for (seed, coverage) in run_all(seeds) {
        let Shape { dies, planes, .. } = shape(seed);
        all.add(&coverage);
        by_shape.entry((dies, planes)).or_default().add(&coverage);
    }
    println!("{} commands: {:#?}", all.commands, all.counts);
    if only.is_some() {
        return;
    }
    assert!(all.commands >= 300_000, "only {} commands", all.commands);
    assert_eq!(by_shape.len() as u64, SHAPES);
    for ((dies, planes), coverage) in &by_shape {
        let modes = SINGLE.iter().chain(if *planes > 1 { &MULTI[..] } else { &[] });
        for mode in modes {
            assert!(coverage.of(mode) >= 10, "{dies} dies, {planes} planes: {mode} only {} times", coverage.of(mode));
        }
    }
    // Some suspensions are not sent: their command ends before the bus could transfer them.
    let suspended = all.of("program suspended") + all.of("erase suspended");
    assert_eq!(all.of("suspension sent"), suspended);
    assert!(all.of("suspension held back") >= 100, "{}", all.of("suspension held back"));
    assert!(all.of("data waited") > 100_000 && all.of("command waited") > 100_000, "{:?}", all.counts);
}
