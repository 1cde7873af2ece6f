//! A package under its host, against sums by hand. All times are of ONFI's asynchronous mode 4: 25 ns per cycle.

use wordline_flash::config::{ByClass, PageOrder};
use wordline_flash::unit::{
    run, Direction, Experiment, HostConfig, Load, Migration, Outcome, PackageConfig, Scheduler, UnitError,
};
use wordline_flash::{Interface, NandConfig};

fn experiment(load: Load) -> Experiment {
    Experiment {
        package: PackageConfig { dies: 1, planes: 2, blocks_per_plane: 64, pages_per_block: 128, page_bytes: 2048 },
        nand: NandConfig {
            interface: Interface::Sdr,
            rate_mt_s: 40,
            read_us: ByClass::One(50.0),
            program_us: ByClass::Each(vec![250.0, 2_200.0]),
            erase_us: 2_500.0,
            page_order: PageOrder::Alpha,
            ..NandConfig::default()
        },
        host: HostConfig::default(),
        load,
        seed: 1,
        stage_log: false,
        latencies: false,
    }
}

fn stream(op: Direction, request_bytes: u32, requests: u64) -> Load {
    Load::Stream { op, request_bytes, requests }
}

fn go(experiment: &Experiment) -> Outcome {
    run(experiment, |_| true).expect("the experiment is sound")
}

fn close(measured: f64, expected: f64, what: &str) {
    assert!((measured - expected).abs() < 1e-6 * expected.abs().max(1e-9), "{what}: {measured} instead of {expected}");
}

/// 80h and five address cycles 150 ns, tADL 70 ns, 2,048 bytes 51,200 ns, 10h 25 ns, tWB 100 ns.
const PROGRAM_US: f64 = 51.545;
/// 00h, five address cycles and 30h 175 ns, tWB 100 ns; tRR 20 ns and 2,048 bytes 51,200 ns.
const READ_US: f64 = 0.275 + 51.220;

#[test]
fn one_page_takes_the_sum_of_its_stages() {
    let write = go(&experiment(stream(Direction::Write, 2048, 1)));
    close(write.simulated_s * 1e6, PROGRAM_US + 250.0, "a program of an LSB page");
    let read = go(&experiment(stream(Direction::Read, 2048, 1)));
    close(read.simulated_s * 1e6, READ_US + 50.0, "a read");
    let stages = read.stages_us;
    close(stages.cle, 0.050, "CLE");
    close(stages.ale, 0.125, "ALE");
    close(stages.wait, 0.120, "tWB and tRR");
    close(stages.tor, 51.2, "TOR");
    close(stages.ton, 50.0, "TON");
    assert_eq!((stages.tir, stages.tin, stages.ber), (0.0, 0.0, 0.0));
}

#[test]
fn dies_share_the_bus_and_planes_the_program() {
    let mut dies = experiment(stream(Direction::Write, 2048, 2));
    dies.package.dies = 2;
    let result = go(&dies);
    close(result.simulated_s * 1e6, 2.0 * PROGRAM_US + 250.0, "the second die waits for one transfer");
    close(result.contention_us, PROGRAM_US, "contention");
    let mut planes = experiment(stream(Direction::Write, 4096, 1));
    planes.host.planes_per_command = 2;
    planes.host.scheduler = Scheduler::PlaneFirst;
    let result = go(&planes);
    close(result.simulated_s * 1e6, 2.0 * PROGRAM_US + 0.5 + 250.0, "two transfers, tDBSY, one program");
    assert_eq!((result.commands, result.multi_plane_pages), (1, 2));
}

#[test]
fn cache_mode_hides_the_bus_behind_the_cells() {
    let mut cache = experiment(stream(Direction::Write, 2048, 8));
    cache.package.planes = 1;
    cache.host.cache = true;
    let result = go(&cache);
    // Pages 0 to 7: all LSB but 3, 5 and 7. tCBSY of 3 us before each program but the last.
    let programs = 5.0 * 250.0 + 3.0 * 2_200.0;
    close(result.simulated_s * 1e6, PROGRAM_US + 7.0 * 3.0 + programs, "only the first transfer shows");
}

#[test]
fn cached_reads_are_bound_by_the_bus() {
    let mut cache = experiment(stream(Direction::Read, 2048, 4));
    cache.package.planes = 1;
    cache.host.cache = true;
    let result = go(&cache);
    // The first page: command 275 ns and tR. Then 31h (or 3Fh), tWB and tRCBSY before each page goes out, which takes longer than tR.
    let turn = 0.025 + 0.100 + 3.0;
    close(result.simulated_s * 1e6, 0.275 + 50.0 + 4.0 * (turn + 51.220), "four pages");
}

#[test]
fn migration_counts_every_stage() {
    let mut internal = experiment(Load::Migrate { mode: Migration::MultiInternal, blocks: 2 });
    internal.host.planes_per_command = 2;
    let result = go(&internal);
    assert_eq!((result.stages_us.tor, result.stages_us.tir), (0.0, 0.0), "no data on the bus");
    close(result.stages_us.ber, 2.0 * 2_500.0, "destinations, then sources, both planes at once");
    close(result.stages_us.ton, 128.0 * 50.0, "TON");
    // Alpha: 66 pages of 128 are LSB.
    close(result.stages_us.tin, 66.0 * 250.0 + 62.0 * 2_200.0, "TIN");
}

#[test]
fn the_log_covers_all_time_of_a_lone_die() {
    let mut logged = experiment(stream(Direction::Read, 2048, 3));
    logged.package.planes = 1;
    logged.stage_log = true;
    let result = go(&logged);
    let covered: f64 = result.log.iter().map(|stage| stage.end_us - stage.start_us).sum();
    close(covered, result.simulated_s * 1e6, "without gaps or overlaps");
    let names: Vec<&str> = result.log.iter().take(7).map(|stage| stage.stage).collect();
    assert_eq!(names, ["CLE", "ALE", "CLE", "wait", "TON", "wait", "TOR"]);
}

#[test]
fn wrong_experiments_name_their_key() {
    let check = |change: fn(&mut Experiment), expected: &str| {
        let mut wrong = experiment(stream(Direction::Write, 2048, 10));
        change(&mut wrong);
        let error = run(&wrong, |_| true).expect_err("it is wrong").to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    check(|e| e.host.planes_per_command = 3, "host.planes_per_command = 3: must divide the planes of a die");
    check(|e| e.package.page_bytes = 1000, "package.page_bytes = 1000: must be a power of two");
    check(|e| e.package.planes = 9, "package.planes = 9: must lie between 1 and 8");
    check(|e| e.nand.rate_mt_s = 41, "nand.rate_mt_s = 41: sdr has the rates");
    check(|e| e.host.queue_depth = 0, "host.queue_depth = 0");
    check(|e| e.nand.energy.vcc_v = -1.0, "nand.energy.vcc_v = -1");
    check(|e| e.nand.reliability.factory_bad_percent = 200.0, "nand.reliability.factory_bad_percent = 200");
    check(
        |e| e.load = stream(Direction::Write, 2048, 100_000),
        "load.requests = 100000: the load needs 0 pages to read and about 100000 to write, but the package has 16384",
    );
    check(|e| e.load = Load::Migrate { mode: Migration::Legacy, blocks: 3 }, "load.blocks = 3: must be a multiple");
    let stopped = run(&experiment(stream(Direction::Write, 2048, 10)), |_| false);
    assert!(stopped.is_ok() || stopped == Err(UnitError::Interrupted));
}
