//! Energy by task: a read and a shared command by hand, and on random drives all that cells and buses took.

use crate::common::random_drive::random_config;
use crate::common::{between, chance, drive, for_seeds, long, one, pick, request};
use wordline_base::{Op, Request, Stream};
use wordline_drive::{Drive, Task};
use wordline_firmware::task::{Action, ByTask, Class};

/// A die of two planes, no buffer, and a bus that takes no energy.
fn text(rest: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 24, pages_per_block = 16, page_kib = 4 }}
        capacity = {{ raw_over_logical = 1.6 }}
        placement = {{ policy = "static", order = "PCWD" }}
        buffer = {{ policy = "none" }}
        [nand]
        interface = "nv-ddr3"
        rate_mt_s = 1600
        read_us = 100.0
        program_us = 1000.0
        erase_us = 10000.0
        [nand.energy]
        vcc_v = 2.0
        icc1_read_ma = 50.0
        icc2_program_ma = 30.0
        icc3_erase_ma = 20.0
        icc4r_ma = 0.0
        icc4w_ma = 0.0
        iccq4r_ma = 0.0
        iccq4w_ma = 0.0
        icc5_bus_idle_ma = 0.0
        {rest}
        "#
    )
}

fn by_task(drive: &Drive) -> ByTask<f64> {
    drive.energy_by_task().expect("it is split")
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs() + 1e-18, "{found} J, expected {expected} J");
}

#[test]
fn a_read_and_a_write_take_what_their_cells_take() {
    let mut drive = drive(&text(""), 1);
    assert!(drive.energy_by_task().is_none(), "not unless it is asked for");
    drive.split_time(true);
    one(&mut drive, request(Op::Write, 0, 4096));
    // 1 ms of 30 mA at 2 V.
    near(by_task(&drive)[Task::HOST.index()], 60e-6);
    for _ in 0..3 {
        one(&mut drive, request(Op::Read, 0, 4096));
    }
    // Three times 100 us of 50 mA.
    near(by_task(&drive)[Task::HOST.index()], 60e-6 + 3.0 * 10e-6);
    near(by_task(&drive)[Task::GC.index()], 0.0);
}

#[test]
fn tasks_that_share_commands_pay_for_their_own_planes() {
    const PARALLEL: &str = r#"
        [collect]
        policy = "on-demand"
        scope = "plane"
        into = "paired-blocks"
        start_blocks = 4
        hold_below_blocks = 4
        [pack]
        policy = "planes"
        join_gc = true
    "#;
    let mut drive = drive(&text(PARALLEL), 1);
    drive.split_time(true);
    let (mut random, pages) = (Stream::new(7, "shared", 0), drive.logical_bytes() / 4096);
    crate::common::closed_loop(&mut drive, 16, 8_000, |_| {
        let op = if random.below(3) > 0 { Op::Read } else { Op::Write };
        request(op, random.below(pages) * 4096, 4096)
    });
    while drive.step().expect("no rule is broken") {}
    let counters = drive.kernel().counters();
    assert!(counters.joined.iter().sum::<u64>() > 100, "commands were shared: {counters:?}");
    for task in [Task::HOST, Task::GC] {
        let ops = |action| counters.ops[Class::new(task, action).index()] as f64;
        let joules = ops(Action::Read) * 10e-6 + ops(Action::Program) * 60e-6 + ops(Action::Erase) * 400e-6;
        near(by_task(&drive)[task.index()], joules);
    }
}

/// A drive at rest after some random load; none if there is no such drive.
fn rested(seed: u64) -> Option<Drive> {
    let mut random = Stream::new(seed, "energy", 0);
    let config = random_config(&mut random)?;
    let mut drive = Drive::new(&config, seed).ok()?;
    drive.split_time(true);
    let sectors = drive.logical_bytes() / 512;
    let (depth, writes) = (between(&mut random, 1, 24), *pick(&mut random, &[30, 60, 100]));
    let (mut submitted, mut completed) = (0, 0);
    while completed < 1_500 {
        while submitted < 1_500 && submitted - completed < depth {
            let op = if chance(&mut random, writes) { Op::Write } else { Op::Read };
            let offset = random.below(sectors);
            let length = between(&mut random, 1, 64).min(sectors - offset);
            let now = drive.now();
            let request =
                Request { op, offset: offset * 512, bytes: (length * 512) as u32, arrival: now, ..Request::default() };
            if !drive.has_slot(request.stream) {
                break;
            }
            drive.submit(now, request).expect("it fits the drive");
            submitted += 1;
        }
        assert!(drive.step().expect("no rule is broken"), "the drive stalled");
        completed += drive.completions().drain(..).count() as u64;
    }
    while drive.step().expect("no rule is broken") {}
    Some(drive)
}

#[test]
fn tasks_pay_for_all_that_cells_and_buses_took() {
    let mut seen = [0; 4];
    for_seeds("energy", "tasks_pay_for_all_that_cells_and_buses_took", if long() { 3_000 } else { 150 }, |seed| {
        let Some(drive) = rested(seed) else { return };
        let (energy, counters) = (drive.energy(), drive.kernel().counters());
        let (paid, all) = (by_task(&drive).iter().sum::<f64>(), energy.total() - energy.standby_j);
        assert!((paid - all).abs() <= 1e-9 * all, "paid {paid} J of {all} J: {energy:?}");
        let uses = [counters.jobs.iter().sum(), counters.joined.iter().sum(), counters.suspensions, counters.copybacks];
        seen.iter_mut().zip(uses).for_each(|(seen, uses)| *seen += u64::from(uses > 0));
    });
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(seen.iter().all(|&drives| drives > 0), "jobs, shared commands, suspensions, copybacks: {seen:?}");
    }
}
