//! Workloads without time: the state is that of a run in time where that can be told, wear adds up, and lives end where they should.

use crate::common::random_drive::{random_config, random_config_in_turn, random_config_with_logs};
use crate::common::{chance, drive, for_seeds, long, one, pick};
use std::path::Path;
use wordline_base::Stream;
use wordline_drive::config::PreconditionConfig;
use wordline_drive::policy::buffer::BufferConfig;
use wordline_drive::precondition::precondition;
use wordline_drive::snapshot::{self, Header};
use wordline_drive::untimed::{carry_out, Ending, Times, Untimed, UntimedError};
use wordline_drive::{Drive, DriveConfig, Reason};
use wordline_firmware::policy::arbiter::ArbiterConfig;
use wordline_firmware::policy::pack::PackConfig;
use wordline_firmware::policy::wear::WearConfig;
use wordline_workload::{JobOptions, Load, LoadFile, Rw};

fn opened(jobs: &[JobOptions], drive: &Drive) -> Load {
    let spec = LoadFile { job: jobs.to_vec(), ..LoadFile::default() };
    Load::open(&spec, Path::new("."), drive.logical_bytes(), 1).unwrap_or_else(|error| panic!("{error}"))
}

fn without_time(drive: &mut Drive, jobs: &[JobOptions], times: Times) -> Result<Untimed, UntimedError> {
    let like = drive.clone();
    carry_out(drive, times, &mut || Ok::<_, UntimedError>(opened(jobs, &like)), &mut |_| true)
}

/// The same in time: each request waits until the drive has come to rest.
fn in_time(drive: &mut Drive, jobs: &[JobOptions], times: u64) {
    for _ in 0..times {
        for stream in &mut opened(jobs, drive).streams {
            while let Some(request) = stream.next().expect("a job is sound") {
                one(drive, request);
                while drive.step().expect("no rule is broken") {}
            }
        }
    }
    drive.drain().expect("it comes to rest");
}

/// Everything that a drive holds, and what it did for that.
fn state(drive: &Drive) -> (Vec<[u32; 3]>, Vec<Option<u32>>) {
    let kernel = drive.kernel();
    let blocks = kernel.blocks().records().iter().map(|block| [block.valid, block.write_point, block.erases]).collect();
    (blocks, (0..kernel.plan().logical_units).map(|unit| kernel.map().place(unit)).collect())
}

/// A job with all kinds of requests.
fn some_job(random: &mut Stream, count: u64) -> JobOptions {
    let modes = [Rw::RandWrite, Rw::RandTrimWrite, Rw::RandRw, Rw::Write, Rw::RandWrite];
    JobOptions {
        rw: *pick(random, &modes),
        bssplit: Some(["4k/40:16k/30:64k/30", "512/20:4k/50:40k/30", "16k/100"][random.below(3) as usize].to_owned()),
        number_ios: Some(count),
        fsync: *pick(random, &[0, 0, 7]),
        randseed: Some(random.below(1 << 30)),
        ..JobOptions::default()
    }
}

/// A drive of one die, where what one request does cannot overtake itself, from the random ones.
fn one_die(mut config: DriveConfig) -> DriveConfig {
    (config.geometry.channels, config.geometry.packages_per_channel) = (1, 1);
    (config.geometry.dies_per_package, config.geometry.planes_per_die) = (1, 1);
    config.geometry.blocks_per_plane = 60;
    config.firmware.capacity.raw_over_logical = 2.0;
    config.buffer = BufferConfig::None(Default::default());
    config
}

/// Runs a random job of single units on random drives of one die, in time and without; gives how many came to the same, and all.
fn compared(name: &str, random: impl Fn(&mut Stream) -> Option<DriveConfig>) -> (u32, u32) {
    let (mut same, mut all) = (0, 0);
    for_seeds("untimed", name, if long() { 1_000 } else { 150 }, |seed| {
        let mut stream = Stream::new(seed, "untimed-test", 0);
        let Some(config) = random(&mut stream).map(one_die) else { return };
        let Ok(new) = Drive::new(&config, seed) else { return };
        let bs = format!("{}", new.kernel().plan().unit_bytes).as_str().into();
        let jobs = [JobOptions { bs, bssplit: None, ..some_job(&mut stream, 400) }];
        let (mut timed, mut untimed) = (new.clone(), new);
        in_time(&mut timed, &jobs, 2);
        let done = without_time(&mut untimed, &jobs, Times::Number(2)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((done.ending, done.times), (Ending::Done, 2));
        untimed.kernel().audit().unwrap_or_else(|fault| panic!("{fault}"));
        all += 1;
        same += u32::from(state(&timed) == state(&untimed));
    });
    (same, all)
}

#[test]
fn log_blocks_wear_as_in_time() {
    // In time, what waits for the table of a map zone is overtaken.
    let without_zones = |config: &DriveConfig| config.parts().is_ok_and(|parts| parts.plan().zones.is_none());
    let drives = |random: &mut Stream| random_config_with_logs(random, false).filter(without_zones);
    let without_leveling = |random: &mut Stream| {
        let mut config = drives(random)?;
        config.firmware.upkeep.wear = WearConfig::None(Default::default());
        Some(config)
    };
    let name = "log_blocks_wear_as_in_time";
    let (same, all) = compared(name, |random| {
        let mut config = without_leveling(random)?;
        config.firmware.arbiter = ArbiterConfig::default();
        Some(config)
    });
    assert!(same == all && all > 5, "{same} of {all}");
    // An arbiter may let a write go before an erase, so that it opens another free block.
    let (same, all) = compared(name, without_leveling);
    assert!(same * 20 >= all * 19 && all > 5, "{same} of {all}");
    // In time the host goes on while wear leveling moves a logical block, and its next page may find the new data block or not.
    let (same, all) = compared(name, drives);
    assert!(same * 10 >= all * 9 && all > 5, "{same} of {all}");
}

/// Others look at time now and then: at which of several blocks was read more often, or which operation is late.
#[test]
fn most_drives_wear_as_in_time() {
    let [one, other] =
        [random_config, random_config_in_turn].map(|random| compared("most_drives_wear_as_in_time", random));
    let (same, all) = (one.0 + other.0, one.1 + other.1);
    assert!(same * 10 >= all * 9 && all > 20, "{same} of {all}");
}

/// Log blocks whose untimed merges and writes go the direct way leave what they leave on the general one, to the last byte of a snapshot.
#[test]
fn the_direct_way_beside_log_blocks_leaves_the_state_of_the_general_one() {
    let (mut all, mut direct, mut merges, mut moves) = (0, 0, 0, 0);
    let name = "the_direct_way_beside_log_blocks_leaves_the_state_of_the_general_one";
    let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
    for_seeds("untimed", name, if long() { 8_000 } else { 600 }, |seed| {
        let mut random = Stream::new(seed, "untimed-direct", 0);
        let Some(mut config) = random_config_with_logs(&mut random, false) else { return };
        if config.parts().is_ok_and(|parts| parts.plan().zones.is_some()) && !chance(&mut random, 20) {
            // Map zones take the general way.
            return;
        }
        config.verify.shadow = chance(&mut random, 10);
        if chance(&mut random, 60) {
            config.buffer = BufferConfig::None(Default::default());
        }
        if chance(&mut random, 90) {
            (config.geometry.channels, config.geometry.packages_per_channel) = (1, 1);
            (config.geometry.dies_per_package, config.geometry.blocks_per_plane) = (1, 60);
            let plain = &mut config.firmware;
            (plain.dispatch, plain.suspend) = (Default::default(), Default::default());
            plain.pack = PackConfig::None(Default::default());
            (plain.processor, plain.shares) = (Default::default(), Default::default());
            plain.capacity.raw_over_logical = *pick(&mut random, &[1.4, 2.0]);
        }
        let Ok(new) = Drive::new(&config, seed) else { return };
        let (mut fast, mut slow) = (new.clone(), new);
        slow.avoid_direct();
        all += 1;
        direct += u32::from(fast.takes_runs());
        let filled =
            PreconditionConfig { fill: chance(&mut random, 50), overwrites: 0.5, ..config.precondition.clone() };
        let jobs = [some_job(&mut random, 300)];
        for step in 0..3 {
            let state = |drive: &mut Drive| {
                match step {
                    0 => drop(precondition(drive, &filled, seed, &mut |_| true).expect("no rule is broken")),
                    1 => drop(without_time(drive, &jobs, Times::Number(2)).unwrap_or_else(|error| panic!("{error}"))),
                    _ => in_time(drive, &jobs, 1),
                }
                let counters = *drive.kernel().counters();
                (counters, snapshot::to_bytes(&header, drive).expect("there is memory"))
            };
            let (fast, slow) = (state(&mut fast), state(&mut slow));
            let told = (&config.geometry, &config.firmware.mapping, &config.firmware.upkeep);
            assert_eq!(fast.0, slow.0, "step {step}: {told:?}");
            assert!(fast.1 == slow.1, "step {step}: the states differ");
            merges += fast.0.log_merges;
            moves += fast.0.jobs[2..].iter().sum::<u64>();
        }
        fast.kernel().audit().unwrap_or_else(|fault| panic!("{fault}"));
    });
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(
        one || direct * 5 > 2 * all && all > 30 && merges > 2_000 && moves > 50,
        "{direct} of {all}, {merges}, {moves}"
    );
}

/// Any drive with any requests keeps its data and its books.
#[test]
fn nothing_is_lost_without_time() {
    let mut all = 0;
    for_seeds("untimed", "nothing_is_lost_without_time", if long() { 1_000 } else { 120 }, |seed| {
        let mut random = Stream::new(seed, "untimed-lost", 0);
        let config = match seed % 3 {
            0 => random_config(&mut random),
            1 => {
                let scheduled = chance(&mut random, 40);
                random_config_with_logs(&mut random, scheduled)
            }
            _ => random_config_in_turn(&mut random),
        };
        let Some(Ok(mut drive)) = config.map(|config| Drive::new(&config, seed)) else { return };
        all += 1;
        let jobs = [some_job(&mut random, 300)];
        let done = without_time(&mut drive, &jobs, Times::Number(2)).unwrap_or_else(|error| panic!("{error}"));
        let counters = *drive.kernel().counters();
        let units = counters.programs() * u64::from(drive.kernel().plan().units_per_page);
        let moved: u64 = counters.moved.iter().sum();
        assert!(units + counters.absorbed_units >= counters.host_units + moved, "{counters:?}");
        let last = done.curve.points().last().expect("a curve has two points");
        assert_eq!((last.host_bytes, last.erases), (done.written(), counters.erases()));
        drive.kernel().audit().unwrap_or_else(|fault| panic!("{fault}"));
        // It goes on in time.
        in_time(&mut drive, &jobs, 1);
        drive.kernel().audit().unwrap_or_else(|fault| panic!("{fault}"));
    });
    assert!(all > 15, "{all}");
}

/// One die of sixteen blocks of eight pages, half of them for the host.
fn small(reliability: &str) -> Drive {
    drive(
        &format!(
            r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
                      blocks_per_plane = 16, pages_per_block = 8, page_kib = 16 }}
        nand = {{ reliability = {{ {reliability} }} }}
        capacity = {{ raw_over_logical = 2.0 }}
        buffer = {{ policy = "none" }}
        "#
        ),
        1,
    )
}

fn in_order() -> [JobOptions; 1] {
    [JobOptions { rw: Rw::Write, bs: "16k".into(), ..JobOptions::default() }]
}

#[test]
fn a_life_ends_at_the_endurance() {
    let mut drive = small("endurance = 5");
    let done = without_time(&mut drive, &in_order(), Times::ToTheEnd).unwrap_or_else(|error| panic!("{error}"));
    let Ending::EndOfLife(fault) = &done.ending else { panic!("{:?}", done.ending) };
    assert!(matches!(fault.reason(), Reason::WornOut { erases: 5, .. }), "{fault}");
    // In order, blocks are written in turn and are empty when they are erased: sixteen blocks of eight pages take data six times,
    // but for the few that are free when the first is worn.
    let written = done.written() / 16_384;
    assert!((16 * 8 * 6 - 4 * 8..=16 * 8 * 6).contains(&written), "{written}");
    assert_eq!(drive.kernel().counters().programs(), written, "nothing is moved");
    // A whole replay is 64 pages.
    assert_eq!(done.times, written / 64);
    let points = done.curve.points();
    assert_eq!((points[0].host_bytes, points[0].erases, points[0].spare_blocks), (0, 0, 0));
    let last = &points[points.len() - 1];
    assert_eq!((last.host_bytes, last.most, last.erases), (done.written(), 5, drive.kernel().counters().erases()));
    assert!((last.mean - last.erases as f64 / 16.0).abs() < 1e-9 && last.least >= 4, "{last:?}");
    assert!(points.windows(2).all(|two| two[0].host_bytes < two[1].host_bytes && two[0].mean <= two[1].mean));
}

#[test]
fn a_life_ends_without_spare_blocks() {
    let mut drive = small("endurance = 40, erase_fail = 0.3");
    let spare = drive.kernel().blocks().spare(0);
    assert!(spare > 0);
    let done = without_time(&mut drive, &in_order(), Times::ToTheEnd).unwrap_or_else(|error| panic!("{error}"));
    let Ending::EndOfLife(fault) = &done.ending else { panic!("{:?}", done.ending) };
    assert!(matches!(fault.reason(), Reason::NoSpare { .. }), "{fault}");
    let points = done.curve.points();
    // Each bad block takes a spare one; the last finds none.
    let sum = |at: usize| points[at].bad_blocks + points[at].spare_blocks;
    assert!((0..points.len() - 1).all(|at| sum(at) == spare), "{points:?}");
    let last = &points[points.len() - 1];
    assert_eq!((last.bad_blocks, last.spare_blocks), (spare + 1, 0));
}

#[test]
fn what_needs_time_is_refused() {
    let told =
        |job: JobOptions, times| without_time(&mut small(""), &[job], times).expect_err("it needs time").to_string();
    let [job] = in_order();
    let endless = JobOptions { time_based: true, runtime_s: Some(1.0), ..job.clone() };
    assert!(told(endless, Times::Number(1)).contains("only its run time ends this job"));
    let reads = JobOptions { rw: Rw::Read, ..job };
    assert!(told(reads, Times::ToTheEnd).contains("writes nothing"));
}

#[test]
fn a_stopped_replay_tells_what_was_done() {
    let mut drive = small("");
    let [job] = in_order();
    let jobs = [JobOptions { loops: 1_000, ..job }];
    let like = drive.clone();
    let mut open = || Ok::<_, UntimedError>(opened(&jobs, &like));
    let done = carry_out(&mut drive, Times::Number(10), &mut open, &mut |_| false).expect("it is stopped");
    assert_eq!((done.ending, done.times), (Ending::Interrupted, 0));
    assert_eq!(done.requests.iter().sum::<u64>(), 4_096, "it is asked so often");
    // It goes on afterwards.
    in_time(&mut drive, &in_order(), 1);
}
