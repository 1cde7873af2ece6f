//! Bandwidth of a channel full of dies against its exact schedule: the twin of the flash, which simulates every bus
//! cycle.
//!
//! The ratio of bus to array time is 0.25 to 4, with 1 to 4 planes and 1 to 8 dies: neither bus nor array is far below
//! the other, so the order of service matters. Every die has the same waiting commands from the start, and the total
//! takes as long on the drive as in the twin, except for the host interface.

use crate::common::{drive, long, request};
use crate::twin::host::Host;
use crate::twin::machine;
use crate::twin::script::Job;
use crate::twin::table::{Durations, Order, Tick, TICK_PS};
use wordline_base::{Op, Time};
use wordline_flash::{Command, Kind, PageAddress};

/// Commands per die.
const COMMANDS: u32 = 40;
const PAGE: u32 = 1024;
/// Ticks of 10 ns for a page of 1,024 bytes at 20 ns per byte.
const TRANSFER: Tick = 2 * PAGE as Tick;
/// tDBSY: 0.5 us.
const DUMMY: Tick = 50;

#[derive(Clone, Copy, Debug)]
struct Case {
    op: Op,
    dies: u32,
    planes: u32,
    /// Array ticks of a command.
    cells: Tick,
}

impl Case {
    /// Picoseconds from the start of the first command to the end of the last, in the twin.
    fn by_twin(self) -> Time {
        let durations = Durations {
            read: vec![self.cells],
            program: vec![self.cells],
            order: Order::Cyclic,
            erase: 1,
            dummy: DUMMY,
            cache_read: 1,
            cache_program: 1,
            suspend: 1,
            resume: 1,
        };
        let kind = if self.op == Op::Read { Kind::Read } else { Kind::Program };
        let job = |page: u32| {
            let mut command = Command::new(kind);
            (0..self.planes).for_each(|plane| command.add(PageAddress { plane, block: 0, page }, PAGE));
            Job { earliest: 0, commands: vec![command], suspension: None }
        };
        let script: Vec<Job> = (0..COMMANDS).map(job).collect();
        let hosts = (0..self.dies).map(|_| Host::new(&script)).collect();
        let trace = machine::run(&durations, false, self.planes, hosts);
        TICK_PS * trace.seen.iter().map(|seen| seen.time).max().expect("something ran")
    }

    /// The same on the drive, from the arrival of the requests to the last completion: each request covers all dies and
    /// planes.
    fn by_drive(self) -> Time {
        let Self { op, dies, planes, cells } = self;
        let micros = cells as f64 * 0.01;
        let mut drive = drive(
            &format!(
                r#"
                geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = {dies}, planes_per_die = {planes},
                    blocks_per_plane = 64, pages_per_block = 64, page_kib = 1 }}
                nand = {{ interface = "sdr", rate_mt_s = 50, read_us = {micros}, program_us = {micros}, erase_us = 3000.0,
                    dummy_busy_us = 0.5 }}
                capacity = {{ raw_over_logical = 1.5 }}
                placement = {{ policy = "static", order = "PDWC" }}
                collect = {{ policy = "on-demand", scope = "plane" }}
                pack = {{ policy = "planes" }}
                buffer = {{ policy = "none" }}
                link = {{ policy = "nvme", pcie_generation = 5, pcie_lanes = 16, latency_us = 0.0 }}
                queue = {{ queues = 1, depth = {COMMANDS} }}
                "#
            ),
            1,
        );
        let stripe = dies * planes * PAGE;
        if op == Op::Read {
            self.all(&mut drive, Op::Write, stripe);
        }
        let took = self.all(&mut drive, op, stripe);
        let counters = drive.kernel().counters();
        let pages = if op == Op::Read { counters.reads() } else { counters.programs() };
        assert_eq!(pages, u64::from(COMMANDS * dies * planes), "each page once");
        took
    }

    fn all(self, drive: &mut wordline_drive::Drive, op: Op, stripe: u32) -> Time {
        let start = drive.now();
        for nth in 0..u64::from(COMMANDS) {
            let request = request(op, nth * u64::from(stripe), stripe);
            drive.submit(start, wordline_base::Request { arrival: start, ..request }).expect("there is a slot");
        }
        let mut last = start;
        while drive.step().expect("no rule is broken") {
            last = drive.completions().drain(..).map(|done| done.time).max().unwrap_or(last);
        }
        last - start
    }
}

#[test]
fn a_channel_keeps_its_exact_schedule() {
    println!("{:<8}{:>6}{:>8}{:>8}{:>14}{:>14}{:>10}", "", "dies", "planes", "ratio", "twin, us", "drive, us", "more");
    for op in [Op::Read, Op::Write] {
        for planes in [1, 2, 4] {
            for dies in [1, 2, 3, 4, 6, 8].into_iter().filter(|dies| long() || ![4, 6].contains(dies)) {
                for (ratio, cells) in [
                    (0.25, 4 * TRANSFER),
                    (0.5, 2 * TRANSFER),
                    (1.0, TRANSFER),
                    (2.0, TRANSFER / 2),
                    (4.0, TRANSFER / 4),
                ] {
                    let case = Case { op, dies, planes, cells };
                    let (twin, drive) = (case.by_twin() as f64 / 1e6, case.by_drive() as f64 / 1e6);
                    let more = drive / twin - 1.0;
                    println!(
                        "{:<8}{dies:>6}{planes:>8}{ratio:>8}{twin:>14.2}{drive:>14.2}{:>9.3}%",
                        if op == Op::Read { "read" } else { "write" },
                        100.0 * more
                    );
                    assert!(
                        (-0.000_1..0.01).contains(&more),
                        "{case:?}: {drive} us on the drive, {twin} us in the twin"
                    );
                }
            }
        }
    }
}

/// The planes of a die are transferred together, so that the other dies read meanwhile. By hand, for two planes and a
/// tR of four transfers: a die's round is its commands, tDBSY, tR, and two transfers; that of two dies fits into it,
/// since the bus needs less.
#[test]
fn dies_of_several_planes_do_not_read_in_lockstep() {
    // A command is 7 cycles of 20 ns and tWB of 100 ns: 240 ns. Data of a plane: 7 cycles, tCCS of 200 ns, 1,024 cycles.
    let (command, out) = (0.24, 0.34 + 20.48);
    for (dies, cells) in [(2, 4 * TRANSFER), (2, 3 * TRANSFER), (4, 8 * TRANSFER)] {
        let case = Case { op: Op::Read, dies, planes: 2, cells };
        let round = 2.0 * command + 0.5 + cells as f64 * 0.01 + 2.0 * out;
        assert!(f64::from(dies) * (2.0 * out + 2.0 * command) <= round, "the bus is no bottleneck");
        let found = case.by_drive() as f64 / 1e6 / f64::from(COMMANDS);
        // In the first round each die waits for the data of all previous ones; after that it never waits.
        let most = round + f64::from(dies) * 2.0 * out / f64::from(COMMANDS);
        assert!(found < most * 1.01, "{case:?}: {found} us a round, {round} by hand");
    }
}
