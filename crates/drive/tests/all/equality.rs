//! Results that must be identical: timed and untimed runs, forks, snapshots, reruns.

use crate::common::{between, chance, closed_loop, config, drive, for_seeds, long, pick, request, shuffled};
use std::path::PathBuf;
use wordline_base::{Op, Request, Stream};
use wordline_drive::config::PreconditionConfig;
use wordline_drive::precondition::precondition;
use wordline_drive::snapshot::{self, Header, SnapshotError};
use wordline_drive::{Drive, DriveConfig};

// ------------------------------------------------------------------------------------------------------ timed, untimed

/// Policies that do not depend on time: every page has its plane, GC works plane by plane, and GC's operations go
/// before the host's, so that each plane has the same order of operations. Pages are not joined across planes, because
/// this would change the order of reads in a plane.
fn time_free(random: &mut Stream, victim: &str) -> DriveConfig {
    let order: String = shuffled(random, &['C', 'W', 'D', 'P']).into_iter().collect();
    let classes = [&shuffled(random, &["gc-erase", "gc-write", "gc-read"])[..], &["host-read", "host-write"]].concat();
    let planes = between(random, 1, 3);
    // A die with one plane has nothing to join.
    let pack = if planes == 1 && chance(random, 50) { "planes" } else { "none" };
    config(&format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = {}, planes_per_die = {planes},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = 4 }}
        nand = {{ read_us = [20.0, 60.0], program_us = [150.0, 800.0], erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        placement = {{ policy = "static", order = "{order}" }}
        victim = {{ {victim} }}
        collect = {{ policy = "on-demand", scope = "plane", window_pages = {}, stop_blocks = {}, copyback = "{}" }}
        free_block = {{ policy = "{}" }}
        pack = {{ policy = "{pack}" }}
        arbiter = {{ policy = "priority", order = {classes:?} }}
        buffer = {{ policy = "none" }}
        link = {{ {} }}
        queue = {{ queues = 1, depth = 32 }}
        verify = {{ shadow = true }}
        "#,
        between(random, 1, 3),
        between(random, 1, 2),
        between(random, 1, 2),
        between(random, 20, 40),
        between(random, 3, 20),
        pick(random, &["1.6", "2.0"]),
        between(random, 1, 10),
        between(random, 2, 4),
        pick(random, &["off", "internal", "checked"]),
        pick(random, &["least-erased", "fifo"]),
        pick(random, &["policy = \"sata\"", "policy = \"nvme\""]),
    ))
}

fn aged(config: &DriveConfig, seed: u64, overwrites: f64, timed: bool) -> Drive {
    let mut drive = Drive::new(config, seed).expect("accepted");
    let steps = PreconditionConfig { fill: true, overwrites, timed, ..PreconditionConfig::default() };
    precondition(&mut drive, &steps, seed, &mut |_| true).expect("no rule is broken");
    drive.kernel().audit().expect("the books balance");
    drive
}

#[test]
fn timed_and_untimed_leave_the_same_state() {
    for_seeds("equality", "timed_and_untimed_leave_the_same_state", if long() { 300 } else { 12 }, |seed| {
        for victim in VICTIMS {
            let config = time_free(&mut Stream::new(seed, "time-free", 0), &format!("policy = \"{victim}\""));
            let untimed = aged(&config, seed, 2.0, false);
            let timed = aged(&config, seed, 2.0, true);
            let (a, b) = (untimed.kernel().counters(), timed.kernel().counters());
            assert!(a.collections() > 0, "{victim}: nothing was collected");
            assert_eq!(a, b, "{victim}: the counters");
            assert_eq!(untimed.kernel().state_hash(), timed.kernel().state_hash(), "{victim}: the state");
            assert_eq!(untimed.now(), 0, "untimed work takes no time");
            assert!(timed.now() > 0);
        }
    });
}

// ------------------------------------------------------------------------------------------------ forks and snapshots

/// A drive of dynamic policies with a buffer: everything that could differ.
const DYNAMIC: &str = r#"
    geometry = { channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2, blocks_per_plane = 40,
                 pages_per_block = 32, page_kib = 16 }
    nand = { read_us = [20.0, 60.0], program_us = [150.0, 800.0], erase_us = 2000.0 }
    capacity = { raw_over_logical = 1.5 }
    mapping = { policy = "page", unit_kib = 4 }
    placement = { policy = "least-busy" }
    victim = { policy = "best-of" }
    collect = { policy = "on-demand", scope = "drive", copyback = "checked" }
    pack = { policy = "planes", cache = true }
    suspend = { policy = "reads" }
    arbiter = { policy = "first-come" }
    buffer = { policy = "fifo", capacity_kib = 512 }
    link = { policy = "nvme" }
    queue = { queues = 2, depth = 32 }
    verify = { shadow = true }
"#;

/// The mixed workload of a seed.
fn mixed(seed: u64, bytes: u64) -> impl FnMut(u64) -> Request {
    let mut random = Stream::new(seed, "mixed", 0);
    move |_| {
        let op = *pick(&mut random, &[Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim]);
        let length = 512 * between(&mut random, 1, 64);
        let offset = random.below((bytes - length) / 512) * 512;
        Request { stream: random.below(2) as u16, fua: random.below(20) == 0, ..request(op, offset, length as u32) }
    }
}

/// Runs the workload of a seed; returns the complete observable result.
fn outcome(drive: &mut Drive, seed: u64) -> (u64, u64, u64) {
    let bytes = drive.logical_bytes();
    drive.start_measuring();
    closed_loop(drive, 48, 4_000, mixed(seed, bytes));
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    (drive.metrics.hash, drive.kernel().state_hash(), drive.now())
}

#[test]
fn a_rerun_gives_the_same_and_another_seed_does_not() {
    let run = |seed, load| outcome(&mut aged(&config(DYNAMIC), seed, 1.0, false), load);
    let first = run(1, 1);
    assert_eq!(first, run(1, 1));
    assert_ne!(first.0, run(1, 2).0, "another load");
    assert_ne!(first.1, run(2, 1).1, "another seed of the drive");
}

#[test]
fn a_fork_goes_on_like_its_original() {
    let mut original = aged(&config(DYNAMIC), 1, 1.0, false);
    let mut fork = original.clone();
    assert_eq!(outcome(&mut original, 5), outcome(&mut fork, 5));
    // In mid-run, with requests and collections in progress.
    let bytes = original.logical_bytes();
    let mut load = mixed(6, bytes);
    for nth in 0..32 {
        let now = original.now();
        original.submit(now, Request { arrival: now, stream: nth as u16 % 2, ..load(nth) }).expect("there is a slot");
    }
    (0..40).for_each(|_| assert!(original.step().expect("no rule is broken")));
    let mut fork = original.clone();
    assert!(original.in_flight() > 0 && original.in_flight() == fork.in_flight());
    while original.step().expect("no rule is broken") {
        assert!(fork.step().expect("no rule is broken"));
        assert_eq!(original.now(), fork.now());
        let (mine, theirs) = (original.completions(), fork.completions());
        assert_eq!(mine, theirs);
    }
    assert!(!fork.step().expect("no rule is broken"));
    assert_eq!(outcome(&mut original, 7), outcome(&mut fork, 7));
    // A fork is independent.
    let before = fork.kernel().state_hash();
    outcome(&mut original, 8);
    assert_eq!(fork.kernel().state_hash(), before);
}

#[test]
fn forks_that_share_maps_are_like_copies() {
    let mut original = aged(&config(DYNAMIC), 1, 1.0, false);
    let mut copy = original.clone();
    let header = Header { version: String::new(), config: ().into(), seed: 1, precondition: ().into() };
    let bytes = |drive: &Drive| snapshot::to_bytes(&header, drive).expect("there is memory");
    let state = bytes(&original);
    original.share();
    assert!(bytes(&original) == state, "a drive that shares its maps is saved like another");
    let (mut first, mut second) = (original.clone(), original.clone());
    let mut adopted = Drive::new(&config(DYNAMIC), 1).expect("accepted");
    adopted.adopt(&original).expect("they have one shape");
    let expected = [outcome(&mut copy, 5), outcome(&mut copy, 6)];
    assert_eq!([outcome(&mut first, 5), outcome(&mut first, 6)], expected);
    assert_eq!([outcome(&mut second, 5), outcome(&mut second, 6)], expected, "the first fork changed the second");
    assert!(bytes(&original) == state, "forks changed their original");
    let before = adopted.kernel().state_hash();
    assert_ne!(outcome(&mut adopted, 7).1, before);
    // A fork of a fork that has changed much, and the original, once it shares with nobody.
    first.share();
    let mut third = first.clone();
    assert_eq!(outcome(&mut third, 8), outcome(&mut copy, 8));
    drop((first, second, third, adopted));
    assert_eq!([outcome(&mut original, 5), outcome(&mut original, 6)], expected);
}

/// A file for each test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("wordline-test-{}-{name}.snapshot", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may not have been written.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn header(config: &DriveConfig, seed: u64) -> Header {
    Header {
        version: "test".into(),
        config: serde_json::to_value(config).expect("a configuration can be written out"),
        seed,
        precondition: serde_json::Value::Null,
    }
}

#[test]
fn a_snapshot_goes_on_like_its_original() {
    let config = config(DYNAMIC);
    let mut original = aged(&config, 3, 1.0, false);
    outcome(&mut original, 9);
    let file = Scratch::new("same");
    let size = snapshot::save(&file.0, &header(&config, 3), &original).expect("it can be written");
    assert!(size > 0);
    let (read, mut loaded) = snapshot::load(&file.0, &config, 3).expect("it can be read");
    assert_eq!(read, header(&config, 3));
    assert_eq!(original.kernel().state_hash(), loaded.kernel().state_hash());
    assert_eq!(original.now(), loaded.now());
    assert_eq!(outcome(&mut original, 10), outcome(&mut loaded, 10));
}

/// The dynamic drive with other policies.
fn with_policies(victim: &str, scope: &str, placement: &str, arbiter: &str) -> DriveConfig {
    let text = DYNAMIC
        .replace("victim = { policy = \"best-of\" }", &format!("victim = {{ policy = \"{victim}\" }}"))
        .replace("scope = \"drive\"", &format!("scope = \"{scope}\""))
        .replace("policy = \"least-busy\"", &format!("policy = \"{placement}\""))
        .replace("policy = \"first-come\"", &format!("policy = \"{arbiter}\""));
    config(&text)
}

const VICTIMS: [&str; 5] = ["greedy", "fifo", "random", "best-of", "cost-benefit"];

/// One preconditioned drive of each kind, continued under every victim policy and arbiter.
#[test]
fn a_snapshot_serves_drives_of_other_policies() {
    let file = Scratch::new("other");
    for (scope, placement) in [("drive", "least-busy"), ("plane", "least-busy"), ("plane", "static")] {
        let config = with_policies("best-of", scope, placement, "first-come");
        let original = aged(&config, 3, 1.0, false);
        snapshot::save(&file.0, &header(&config, 3), &original).expect("it can be written");
        let mut results = Vec::new();
        for victim in VICTIMS {
            for arbiter in ["first-come", "priority"] {
                let other = with_policies(victim, scope, placement, arbiter);
                let (_, mut loaded) = snapshot::load(&file.0, &other, 4).expect("it fits");
                loaded.kernel().audit().expect("the books balance after taking over");
                assert_eq!(loaded.kernel().state_hash(), original.kernel().state_hash());
                let name = format!("{victim}, {scope}, {placement}, {arbiter}");
                results.push((name, outcome(&mut loaded, 11)));
            }
        }
        for (at, (name, result)) in results.iter().enumerate() {
            let twin = results[..at].iter().find(|(_, other)| other.0 == result.0);
            assert!(twin.is_none(), "{name} and {} end alike", twin.map_or("", |twin| &twin.0));
        }
    }
}

/// State of a drive with GC over all planes may leave a plane without a free block, and dynamic placement may leave it
/// full of other planes' pages. A drive with GC plane by plane or with static placement rejects or continues such a
/// state, but never gets stuck.
#[test]
fn a_snapshot_of_another_scope_is_refused_or_works() {
    let file = Scratch::new("scope");
    let kinds = [("drive", "least-busy"), ("plane", "least-busy"), ("plane", "static")];
    for (scope, placement) in kinds {
        let config = with_policies("best-of", scope, placement, "first-come");
        let original = aged(&config, 3, 1.0, false);
        snapshot::save(&file.0, &header(&config, 3), &original).expect("it can be written");
        for other in kinds.into_iter().filter(|&other| other != (scope, placement)) {
            println!("{scope}, {placement} carried on as {}, {}", other.0, other.1);
            match snapshot::load(&file.0, &with_policies("greedy", other.0, other.1, "first-come"), 4) {
                Err(error) => assert!(matches!(error, SnapshotError::Misfit { .. }), "{error}"),
                Ok((_, mut loaded)) => {
                    outcome(&mut loaded, 11);
                    // Writes whose pages all belong to one plane, then to all.
                    let (units, planes) = (u64::from(loaded.kernel().plan().logical_units) / 4, 8);
                    let mut random = Stream::new(12, "one plane", 0);
                    let count = 2 * units / planes;
                    let page = |nth: u64| request(Op::Write, nth * 16_384, 16_384);
                    closed_loop(&mut loaded, 32, count, |_| page(random.below(units / planes) * planes));
                    closed_loop(&mut loaded, 32, units, page);
                    loaded.drain().expect("the drive comes to rest");
                    loaded.kernel().audit().expect("the books balance");
                }
            }
        }
    }
}

#[test]
fn a_snapshot_that_does_not_fit_is_refused() {
    let config = config(DYNAMIC);
    let file = Scratch::new("misfit");
    snapshot::save(&file.0, &header(&config, 1), &drive(DYNAMIC, 1)).expect("it can be written");
    for (from, to, key) in [
        ("blocks_per_plane = 40", "blocks_per_plane = 41", "geometry"),
        ("unit_kib = 4", "unit_kib = 8", "mapping.unit_kib"),
        ("raw_over_logical = 1.5", "raw_over_logical = 1.6", "capacity.raw_over_logical"),
    ] {
        let other = crate::common::config(&DYNAMIC.replace(from, to));
        let error = snapshot::load(&file.0, &other, 1).expect_err("it does not fit");
        assert!(matches!(&error, SnapshotError::Misfit { error, .. } if error.key == key), "{error}");
    }
    let bytes = std::fs::read(&file.0).expect("it was just written");
    for cut in [0, 4, 12, 40, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&file.0, &bytes[..cut]).expect("it can be written");
        let error = snapshot::load(&file.0, &config, 1).expect_err("it is cut short");
        assert!(matches!(error, SnapshotError::Damaged { .. }), "{cut} bytes: {error}");
    }
}
