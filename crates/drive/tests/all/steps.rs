//! Collections that are put on hold, page by page, and those that work ahead while the host rests: worked examples by hand, and what a
//! hold must not cost: progress, data, rest.
//!
//! In the example a read takes one cycle, a program two, an erase 38, and the bus next to nothing beside a cycle of 1 ms.

use crate::common::holder::{hold, Rule};
use crate::common::random_drive::random_config;
use crate::common::{closed_loop, config, for_seeds, one, request, US};
use std::fmt::Write;
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::load::from_text;
use wordline_drive::snapshot::{self, Header};
use wordline_drive::{Drive, DriveConfig};
use wordline_firmware::blocks::Status;

const CYCLE: Time = 1_000 * US;
const PAGE: u32 = 4096;
const PAGES: u64 = 16;

/// A die of one plane that starts GC below seven free blocks.
fn text(collect: &str) -> String {
    starts_below(7, collect)
}

fn starts_below(blocks: u32, collect: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 12, pages_per_block = {PAGES}, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 1000.0, program_us = 2000.0, erase_us = 38000.0 }}
        capacity = {{ raw_over_logical = 6.0 }}
        placement = {{ policy = "static" }}
        collect = {{ scope = "plane", start_blocks = {blocks}, window_pages = 1, {collect} }}
        arbiter = {{ policy = "first-come" }}
        buffer = {{ policy = "none" }}
        link = {{ policy = "nvme", pcie_generation = 5, pcie_lanes = 16, latency_us = 0.0 }}
        verify = {{ shadow = true }}
        "#
    )
}

fn write(drive: &mut Drive, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        one(drive, request(Op::Write, number * u64::from(PAGE), PAGE));
    }
}

fn submit(drive: &mut Drive, op: Op, number: u64) {
    let arrival = drive.now();
    let request = Request { arrival, ..request(op, number * u64::from(PAGE), PAGE) };
    drive.submit(arrival, request).expect("there is a slot");
}

/// Five blocks are full: the first has four valid pages, 12 to 15, and the others more. The next write opens another block, so
/// that GC starts.
fn aged(config: &DriveConfig) -> Drive {
    let mut drive = Drive::new(config, 1).expect("it is accepted");
    write(&mut drive, 0..2 * PAGES);
    write(&mut drive, (0..12).chain(16..20));
    write(&mut drive, (0..8).chain(20..24).chain(0..4));
    write(&mut drive, (0..6).chain(0..6).chain(0..4));
    let counters = drive.kernel().counters();
    assert_eq!((counters.collections(), drive.kernel().blocks().free_blocks()), (0, 7));
    drive
}

/// Cycles after the start of the write that starts GC at which ten reads are done, and the victim is erased. From 2.5 on the host
/// keeps two reads in flight. One more read comes at a time given.
fn collect_beside_reads(config: &DriveConfig, last: Time) -> (Vec<Time>, Time) {
    let mut drive = aged(config);
    let start = drive.now();
    submit(&mut drive, Op::Write, 0);
    drive.advance_to(start + 5 * CYCLE / 2).expect("no rule is broken");
    drive.completions().clear();
    let (mut done, mut sent) = (Vec::new(), 2);
    (20..22).for_each(|number| submit(&mut drive, Op::Read, number));
    let cycles = |now: Time| (now - start + CYCLE / 2) / CYCLE;
    let mut erased = None;
    while done.len() < 11 || erased.is_none() {
        if sent == 10 && drive.next_event().is_none_or(|next| next > start + last) {
            drive.advance_to(start + last).expect("no rule is broken");
            submit(&mut drive, Op::Read, 31);
            sent += 1;
        }
        assert!(drive.step().expect("no rule is broken"), "GC goes on");
        if drive.kernel().blocks().records()[0].status == Status::Free {
            erased.get_or_insert(cycles(drive.now()));
        }
        for _ in 0..drive.completions().drain(..).count() {
            done.push(cycles(drive.now()));
            if sent < 10 {
                submit(&mut drive, Op::Read, 20 + sent);
                sent += 1;
            }
        }
    }
    drive.drain().expect("the drive comes to rest");
    (done, erased.expect("it was"))
}

/// After the write, at 2, GC reads its first page, since nothing waits. At 3 its write comes behind two reads, and a third comes behind it:
/// 3 to 4, 4 to 5, 5 to 7. From here on reads wait until the tenth is under way, from 14 to 15. Then three more moves take three
/// cycles each. At 23.5 another read comes, and runs from 24 to 25, and the erase after it.
#[test]
fn page_moves_wait_for_reads_of_the_host() {
    let (done, erased) =
        collect_beside_reads(&config(&text("policy = \"preemptive\", hard_blocks = 3")), 47 * CYCLE / 2);
    assert_eq!(done, [4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 25]);
    assert_eq!(erased, 25 + 38);
    // First come, first served: reads of GC and the host take turns, two for one. The erase was queued before the last read was.
    let (on_demand, erased) = collect_beside_reads(&config(&text("policy = \"on-demand\"")), 49 * CYCLE / 2);
    assert_eq!(on_demand, [4, 5, 8, 9, 11, 12, 15, 16, 18, 19, 24 + 38 + 1]);
    assert_eq!(erased, 24 + 38);
    // The open block of moved data leaves five free ones.
    let hard = config(&text("policy = \"preemptive\", hard_blocks = 6"));
    assert_eq!(collect_beside_reads(&hard, 49 * CYCLE / 2).0, on_demand, "below the hard threshold GC goes on");
}

fn guest(rule: Rule) -> DriveConfig {
    let mut config = config(&text("policy = \"on-demand\""));
    hold(&mut config, Some(rule));
    config
}

/// A victim that stays on hold while its pages are written anew: there is nothing to move in the end.
#[test]
fn data_that_are_overwritten_during_a_hold_are_not_lost() {
    let mut drive = aged(&guest(|_, _| false));
    write(&mut drive, [0, 13]);
    assert_eq!(drive.kernel().blocks().records()[0].status, Status::Victim);
    assert_eq!(drive.kernel().counters().holds, 1);
    let mut fork = drive.clone();
    write(&mut drive, [12, 14, 15]);
    assert_eq!(drive.kernel().blocks().records()[0].valid, 0);
    // The block that moved data open calls for a second victim, of five pages.
    for (drive, moved, erases) in [(&mut drive, 0, 1), (&mut fork, 3 + 5, 2)] {
        assert_eq!(drive.kernel().operations(), 1, "a job on hold is no rest");
        drive.drain().expect("the drive comes to rest");
        assert_eq!(drive.kernel().counters().moved_units(), moved);
        assert_eq!((drive.kernel().counters().erases(), drive.kernel().operations()), (erases, 0));
        let reads = drive.kernel().counters().reads();
        for number in 0..2 * PAGES {
            one(drive, request(Op::Read, number * u64::from(PAGE), PAGE));
        }
        assert_eq!(drive.kernel().counters().reads(), reads + 2 * PAGES);
        drive.kernel().audit().expect("the books balance");
    }
}

/// It goes on by force whenever writes find no room, and then to the end of each victim.
#[test]
fn a_policy_that_always_holds_does_not_stop_the_drive() {
    let mut drive = aged(&guest(|_, _| false));
    let mut random = Stream::new(1, "places", 0);
    closed_loop(&mut drive, 4, 1_000, |_| request(Op::Write, random.below(2 * PAGES) * u64::from(PAGE), PAGE));
    let counters = *drive.kernel().counters();
    assert!(counters.collections() > 20 && counters.holds >= counters.collections(), "{counters:?}");
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
}

/// Who waits for the host to leave is asked when it does.
#[test]
fn a_collection_may_wait_until_the_host_has_left() {
    let mut drive = aged(&guest(|view, _| view.host_rests));
    drive.announce(Some(Time::MAX));
    submit(&mut drive, Op::Write, 0);
    submit(&mut drive, Op::Read, 20);
    let start = drive.now();
    drive.advance_to(start + 5 * CYCLE / 2).expect("no rule is broken");
    assert_eq!((drive.in_flight(), drive.kernel().counters().moved_units()), (1, 0), "the read is under way");
    // Two cycles of the write, one of the read, four moves of three each, and the erase.
    drive.advance_to(start + 52 * CYCLE).expect("no rule is broken");
    assert_eq!((drive.kernel().counters().moved_units(), drive.kernel().counters().erases()), (4, 1));
    assert_eq!(drive.kernel().blocks().records()[0].status, Status::Victim);
    drive.advance_to(start + 54 * CYCLE).expect("no rule is broken");
    assert_eq!(drive.kernel().blocks().records()[0].status, Status::Free);
}

/// GC on demand starts below five free blocks; in rests of ten cycles it works ahead until eight are free. Seven are.
fn works_ahead(foresight: bool) -> DriveConfig {
    let ahead = format!("policy = \"background\", idle_us = 10000.0, background_blocks = 8, foresight = {foresight}");
    config(&starts_below(5, &ahead))
}

/// Units moved and blocks erased so far.
fn gained(drive: &Drive) -> (u64, u64) {
    let counters = drive.kernel().counters();
    (counters.moved_units(), counters.erases())
}

/// The first victim has four valid pages: four reads of a cycle, four programs of two, and 38 cycles of erase are 50. Its data open a
/// block, so that seven are free again, and a second victim follows, of six pages.
#[test]
fn garbage_collection_works_ahead_while_the_host_rests() {
    let mut drive = aged(&works_ahead(false));
    let start = drive.now();
    drive.announce(Some(start + 500 * CYCLE));
    drive.advance_to(start + 21 * CYCLE / 2).expect("no rule is broken");
    assert_eq!((gained(&drive), drive.kernel().blocks().records()[0].status), ((0, 0), Status::Victim));
    // Four moves of three cycles each end at 22, and the erase at 60.
    drive.advance_to(start + 45 * CYCLE / 2).expect("no rule is broken");
    assert_eq!(gained(&drive), (4, 1), "an erase counts from its start");
    drive.advance_to(start + 119 * CYCLE / 2).expect("no rule is broken");
    assert_eq!(drive.kernel().blocks().records()[0].status, Status::Victim);
    drive.advance_to(start + 121 * CYCLE / 2).expect("no rule is broken");
    assert_eq!(drive.kernel().blocks().records()[0].status, Status::Free);
    // Six moves and an erase more: 18 and 38 cycles, from 60 on.
    drive.advance_to(start + 117 * CYCLE).expect("no rule is broken");
    assert_eq!((gained(&drive), drive.kernel().blocks().free_blocks()), ((10, 2), 8));
    assert_eq!(drive.next_event(), None, "enough blocks are free");
    drive.kernel().audit().expect("the books balance");
}

/// The end of a workload is no rest, and a rest that is too short does nothing.
#[test]
fn short_rests_and_the_end_of_a_workload_start_nothing() {
    let mut drive = aged(&works_ahead(false));
    drive.announce(None);
    assert_eq!(drive.next_event(), None);
    for _ in 0..3 {
        drive.announce(Some(drive.now() + 9 * CYCLE));
        drive.advance_to(drive.now() + 9 * CYCLE).expect("no rule is broken");
        submit(&mut drive, Op::Read, 20);
        drive.announce(None);
        drive.drain().expect("the drive comes to rest");
    }
    assert_eq!(gained(&drive), (0, 0));
}

/// With foresight the first victim, of 50 cycles, is begun after ten cycles only if the next request is as far away.
#[test]
fn a_block_is_begun_only_if_it_ends_before_the_next_request() {
    for (next, begun) in [(60 * CYCLE - 1, false), (60 * CYCLE, true)] {
        let mut drive = aged(&works_ahead(true));
        let start = drive.now();
        drive.announce(Some(start + next));
        drive.advance_to(start + 59 * CYCLE).expect("no rule is broken");
        assert_eq!(gained(&drive), if begun { (4, 1) } else { (0, 0) });
        // In a second rest, nobody knows when the next request comes.
        submit(&mut drive, Op::Read, 20);
        drive.announce(Some(Time::MAX));
        drive.advance_to(start + 400 * CYCLE).expect("no rule is broken");
        assert_eq!(gained(&drive), (10, 2));
    }
}

/// A victim that is not urgent makes way for the host: at 11 a page of it has been read, which is written until 13; two reads that came
/// at 11.5 follow, and the next page is read when they are done, at 15.
#[test]
fn work_ahead_makes_way_for_the_host() {
    let mut drive = aged(&works_ahead(false));
    let start = drive.now();
    drive.announce(Some(start + 23 * CYCLE / 2));
    drive.advance_to(start + 23 * CYCLE / 2).expect("no rule is broken");
    (20..22).for_each(|number| submit(&mut drive, Op::Read, number));
    let reads = drive.kernel().counters().reads();
    drive.advance_to(start + 29 * CYCLE / 2).expect("no rule is broken");
    assert_eq!((drive.in_flight(), drive.kernel().counters().reads() - reads, gained(&drive)), (1, 2, (1, 0)));
    drive.advance_to(start + 31 * CYCLE / 2).expect("no rule is broken");
    assert_eq!((drive.in_flight(), drive.kernel().counters().reads() - reads), (0, 3), "GC goes on");
    assert_eq!(drive.kernel().counters().holds, 1);
}

/// Rests of any length, announced or not, between bursts on random drives: no rule is broken, no data are lost, and each rest ends.
#[test]
fn rests_cost_no_data() {
    let mut ahead = 0;
    for_seeds("steps", "rests_cost_no_data", 400, |seed| {
        let random = &mut Stream::new(seed, "rests", 0);
        let works_ahead = |config: &DriveConfig| format!("{:?}", config.firmware.collect).starts_with("Background");
        let Some(config) = random_config(random).filter(works_ahead) else { return };
        let mut drive = Drive::new(&config, seed).expect("it is accepted");
        let sectors = drive.logical_bytes() / 512;
        for _ in 0..12 {
            drive.announce(None);
            closed_loop(&mut drive, 8, 60, |_| {
                let (op, at) = (if random.below(4) == 0 { Op::Read } else { Op::Write }, random.below(sectors));
                request(op, at * 512, (512 * (1 + random.below(64.min(sectors - at)))) as u32)
            });
            let (before, rest) = (drive.kernel().counters().collections(), random.below(20_000) * US);
            let next = drive.now() + rest;
            drive.announce(Some(if random.below(2) == 0 { next } else { Time::MAX }));
            drive.advance_to(next).expect("no rule is broken");
            ahead += drive.kernel().counters().collections() - before;
            if drive.kernel().operations() == 0 {
                drive.kernel().audit().expect("the books balance");
            }
        }
        drive.announce(None);
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
        assert_eq!(drive.kernel().operations(), 0);
    });
    assert!(ahead > 0 || std::env::var("WORDLINE_SEED").is_ok(), "some drive works ahead");
    println!("{ahead} collections in rests");
}

/// What is asked and always goes on does what is not asked.
#[test]
fn to_be_asked_changes_nothing() {
    for_seeds("steps", "to_be_asked_changes_nothing", 60, |seed| {
        let random = &mut Stream::new(seed, "asked", 0);
        let fits = |config: &DriveConfig| {
            let text = format!("{:?}", config.firmware);
            !text.contains("Block(") && !text.contains("instant: true")
        };
        let Some(config) = random_config(random).filter(fits) else { return };
        let after = |rule: Option<Rule>| {
            let mut config = config.clone();
            hold(&mut config, rule);
            let mut drive = Drive::new(&config, seed).expect("it is accepted");
            let sectors = drive.logical_bytes() / 512;
            let mut random = Stream::new(seed, "places", 0);
            let mut next = |_| {
                let (op, at) = (if random.below(4) == 0 { Op::Read } else { Op::Write }, random.below(sectors));
                request(op, at * 512, (512 * (1 + random.below(64.min(sectors - at)))) as u32)
            };
            closed_loop(&mut drive, 16, 600, &mut next);
            drive.drain().expect("the drive comes to rest");
            assert_eq!(drive.kernel().counters().holds, 0);
            (drive.now(), drive.kernel().state_hash(), *drive.kernel().counters())
        };
        assert_eq!(after(None), after(Some(|_, _| true)));
    });
}

#[test]
fn a_fork_and_a_snapshot_go_on_alike() {
    let config = config(&text("policy = \"preemptive\", hard_blocks = 3"));
    let mut drive = Drive::new(&config, 1).expect("it is accepted");
    let load = |drive: &mut Drive, seed| {
        let mut random = Stream::new(seed, "places", 0);
        let mut next = |nth| request(if nth % 3 == 0 { Op::Write } else { Op::Read }, random.below(32) * 4096, PAGE);
        closed_loop(drive, 3, 500, &mut next);
    };
    load(&mut drive, 1);
    // In the midst of a collection.
    while drive.kernel().operations() == drive.in_flight() {
        let before = drive.now();
        load(&mut drive, before);
    }
    let mut fork = drive.clone();
    drive.drain().expect("the drive comes to rest");
    let header = Header {
        version: "test".into(),
        config: serde_json::to_value(&config).expect("is JSON"),
        seed: 1,
        precondition: serde_json::Value::Null,
    };
    let path = std::env::temp_dir().join(format!("wordline-steps-{}.snapshot", std::process::id()));
    snapshot::save(&path, &header, &drive).expect("it is saved");
    let (_, loaded) = snapshot::load(&path, &config, 1).expect("it is loaded");
    std::fs::remove_file(&path).expect("it was there");
    fork.drain().expect("the drive comes to rest");
    assert!(drive.kernel().counters().holds > 0);
    let ends = [drive, fork, loaded].map(|mut drive| {
        load(&mut drive, 2);
        drive.drain().expect("the drive comes to rest");
        (drive.now(), drive.kernel().state_hash())
    });
    assert!(ends[0] == ends[1] && ends[0] == ends[2], "{ends:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |keys: &str, more: &str| {
        let mut text = text(&format!("policy = \"preemptive\", {keys}"));
        writeln!(text, "{more}").expect("a text takes all");
        from_text("test", &text).expect_err("it is refused").to_string()
    };
    for (keys, more, words) in [
        ("reserve_blocks = 2, hard_blocks = 1", "", "collect.hard_blocks = 1: must be at least reserve_blocks = 2"),
        ("hard_blocks = 7", "", "collect.hard_blocks = 7: must be below start_blocks = 7"),
        ("hold_below_blocks = 7", "", "collect.hold_below_blocks = 7: must be at most hard_blocks = 6"),
        ("instant = true", "", "collect.instant = true: does not go with collect.policy = \"preemptive\""),
        ("", "mapping = { policy = \"block\" }", "does not go with mapping.policy = \"block\""),
    ] {
        let told = refused(keys, more);
        assert!(told.contains(words), "'{words}' is not in: {told}");
    }
}

/// Below the hard threshold a die may serve GC alone.
#[test]
fn a_die_that_gc_has_for_itself_goes_on() {
    for (hard, below, policy) in [(3, 3, "preemptive"), (6, 6, "preemptive"), (6, 2, "preemptive"), (0, 7, "on-demand")]
    {
        let hard = if hard > 0 { format!("hard_blocks = {hard}, ") } else { String::new() };
        let mut config = config(&text(&format!("policy = \"{policy}\", {hard}hold_below_blocks = {below}")));
        if policy == "on-demand" {
            // It is not asked where its die serves nobody else.
            hold(&mut config, Some(|_, _| false));
        }
        let mut drive = aged(&config);
        let mut random = Stream::new(1, "places", 0);
        let mut next = |nth| request(if nth % 2 == 0 { Op::Write } else { Op::Read }, random.below(32) * 4096, PAGE);
        closed_loop(&mut drive, 4, 2_000, &mut next);
        let counters = *drive.kernel().counters();
        assert!(counters.collections() > 50, "{counters:?}");
        assert_eq!(counters.holds == 0, policy == "on-demand", "{counters:?}");
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
    }
}
