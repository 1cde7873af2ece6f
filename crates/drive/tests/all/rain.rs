//! Superblocks, parity across dies, and reads that are rebuilt around busy dies (RAIN of kim18): by hand, and under load.

use crate::common::{closed_loop, config, drive, one, pick, request};
use wordline_base::{Op, Stream, Time};
use wordline_drive::load::from_text;
use wordline_drive::{Drive, Task};
use wordline_firmware::blocks::Status;
use wordline_firmware::task::{Action, Class};

const PAGE: u32 = 16 * 1024;

/// Four dies on channels of their own, superblocks of four blocks of four pages: rows of three pages and parity.
fn small(redundancy: &str, more: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 4, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 24, pages_per_block = 4, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 4.0 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive" }}
        redundancy = {{ {redundancy} }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        {more}
        "#
    )
}

fn write(drive: &mut Drive, pages: std::ops::Range<u64>) {
    closed_loop(drive, 4, pages.end - pages.start, |nth| {
        request(Op::Write, (pages.start + nth) * u64::from(PAGE), PAGE)
    });
    drive.drain().expect("the drive comes to rest");
}

fn write_points(drive: &Drive, status: Status) -> Vec<u32> {
    let records = drive.kernel().blocks().records().iter();
    records.filter(|record| record.status == status).map(|record| record.write_point).collect()
}

#[test]
fn the_last_page_of_each_row_is_parity() {
    let mut drive = drive(&small(r#"policy = "rain""#, ""), 1);
    let programs = |drive: &Drive| {
        let counters = drive.kernel().counters();
        (counters.programs(), counters.parity_pages)
    };
    // Three pages on three dies make the fourth page of their row due.
    write(&mut drive, 0..3);
    assert_eq!(programs(&drive), (4, 1));
    assert_eq!(write_points(&drive, Status::Open), [1, 1, 1, 1]);
    // A row that is not whole has no parity in flash yet.
    write(&mut drive, 3..5);
    assert_eq!(programs(&drive), (6, 1));
    write(&mut drive, 5..12);
    assert_eq!(programs(&drive), (16, 4));
    assert_eq!(write_points(&drive, Status::Closed), [4, 4, 4, 4], "the superblock is full");
    // The fourth superblock has a row and a page.
    write(&mut drive, 12..40);
    assert_eq!(programs(&drive), (40 + 13, 13));
    assert_eq!(write_points(&drive, Status::Closed).len(), 12);
    drive.kernel().audit().expect("the books balance");
}

#[test]
fn superblocks_without_parity_hold_data_alone() {
    let mut drive = drive(&small(r#"policy = "superblock", dies = 2"#, ""), 1);
    write(&mut drive, 0..16);
    assert_eq!(drive.kernel().counters().programs(), 16);
    assert_eq!(drive.kernel().counters().parity_pages, 0);
    assert_eq!(write_points(&drive, Status::Closed).len() % 2, 0, "blocks are closed in pairs");
}

/// A drive whose only valid page is read for the second time, which calls for scrubbing: the latency of that read, and of
/// another one that comes while its die reads for scrubbing.
fn read_twice(redundancy: &str) -> (Time, Time, Drive) {
    let scrub = r#"refresh = { policy = "scrub", start_reads = 1, stop_reads = 1, window_pages = 1 }"#;
    let mut drive = drive(&small(redundancy, scrub), 1);
    write(&mut drive, 0..12);
    one(&mut drive, request(Op::Trim, 0, 7 * PAGE));
    one(&mut drive, request(Op::Trim, 8 * u64::from(PAGE), 4 * PAGE));
    drive.drain().expect("the drive comes to rest");
    let read = request(Op::Read, 7 * u64::from(PAGE), PAGE);
    one(&mut drive, read);
    let (first, second) = (one(&mut drive, read), one(&mut drive, read));
    assert!(second.request.arrival >= first.time, "they come one after the other");
    (first.time - first.request.arrival, second.time - second.request.arrival, drive)
}

#[test]
fn a_read_goes_around_a_die_that_works_for_a_background_task() {
    let (alone, around, mut drive) = read_twice(r#"policy = "rain""#);
    // The other three dies are idle and on other channels: rebuilding takes as long as reading.
    assert_eq!(around, alone);
    let counters = *drive.kernel().counters();
    assert_eq!((counters.rebuilt_reads, counters.part_reads), (1, 3));
    assert_eq!(counters.ops[Class::HOST_READ.index()], 2 + 3);
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    let counters = drive.kernel().counters();
    assert_eq!(counters.jobs[Task::REFRESH.index()], 4, "all blocks of the superblock were scrubbed");
    assert_eq!(counters.ops[Class::new(Task::REFRESH, Action::Erase).index()], 4);
    assert_eq!(counters.moved[Task::REFRESH.index()], 1);

    let (alone, behind, drive) = read_twice(r#"policy = "rain", rebuild_reads = false"#);
    assert!(behind > alone + 10_000_000, "{behind} ps behind the read of scrubbing, {alone} ps alone");
    assert_eq!((drive.kernel().counters().rebuilt_reads, drive.kernel().counters().part_reads), (0, 0));
}

/// Random writes and reads that keep GC at work.
fn churn(text: &str, seed: u64) -> Drive {
    let mut drive = drive(text, seed);
    let pages = u64::from(drive.kernel().plan().logical_units);
    closed_loop(&mut drive, 8, pages, |nth| request(Op::Write, nth * u64::from(PAGE), PAGE));
    let mut random = Stream::new(seed, "churn", 0);
    closed_loop(&mut drive, 8, 20 * pages, |_| {
        let op = *pick(&mut random, &[Op::Read, Op::Write, Op::Write]);
        request(op, random.below(pages) * u64::from(PAGE), PAGE)
    });
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    drive
}

#[test]
fn blocks_of_a_superblock_live_and_die_together() {
    for redundancy in [r#"policy = "rain""#, r#"policy = "superblock""#, r#"policy = "rain", dies = 2"#] {
        for victim in ["greedy", "cost-benefit", "fifo", "random", "best-of"] {
            let drive = churn(&small(redundancy, &format!("victim = {{ policy = \"{victim}\" }}")), 3);
            let counters = drive.kernel().counters();
            assert!(counters.collections() > 100, "{redundancy}, {victim}: {} collections", counters.collections());
            let records = drive.kernel().blocks().records();
            let dies = if redundancy.contains("dies = 2") { 2 } else { 4 };
            // Dies of neighbouring channels form a group.
            for (block, record) in records.iter().enumerate() {
                let (die, number) = (block / 24, block % 24);
                let first = &records[die / dies * dies * 24 + number];
                assert_eq!((record.status, record.erases), (first.status, first.erases), "block {block}");
            }
            assert_eq!(counters.parity_pages > 0, redundancy.contains("rain"));
        }
    }
}

#[test]
fn parity_takes_its_part_of_the_pages() {
    let drive = churn(&small(r#"policy = "rain""#, ""), 5);
    let counters = drive.kernel().counters();
    let share = counters.parity_pages as f64 / counters.programs() as f64;
    assert!((share - 0.25).abs() < 0.001, "{share} of the pages are parity; one of four dies has it");
    assert!(counters.rebuilt_reads > 20, "{} reads went around", counters.rebuilt_reads);
}

/// Drives with the least spare that is accepted come to rest whatever is overwritten.
#[test]
fn the_spare_that_is_asked_for_is_enough() {
    for (redundancy, pages, unit) in [
        (r#"policy = "rain", dies = 2"#, 8, 1),
        (r#"policy = "rain", dies = 2"#, 5, 4),
        (r#"policy = "rain""#, 3, 16),
        (r#"policy = "superblock""#, 2, 1),
    ] {
        let text = small(redundancy, &format!("mapping = {{ policy = \"page\", unit_kib = {unit} }}"))
            .replace("pages_per_block = 4", &format!("pages_per_block = {pages}"))
            .replace("blocks_per_plane = 24", "blocks_per_plane = 60");
        let with = |ratio: f64| text.replace("raw_over_logical = 4.0", &format!("raw_over_logical = {ratio:.3}"));
        let least =
            (0..2000).map(|step| 1.05 + 0.01 * f64::from(step)).find(|&ratio| from_text("test", &with(ratio)).is_ok());
        let mut drive = drive(&with(least.expect("some ratio is enough")), 1);
        let (units, bytes) = (u64::from(drive.kernel().plan().logical_units), drive.kernel().plan().unit_bytes);
        closed_loop(&mut drive, 8, units, |nth| request(Op::Write, nth * u64::from(bytes), bytes));
        let mut random = Stream::new(1, "least", 0);
        closed_loop(&mut drive, 8, 6 * units, |_| request(Op::Write, random.below(units) * u64::from(bytes), bytes));
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |text: String| from_text("test", &text).expect_err("it is refused").to_string();
    let rain = r#"policy = "rain""#;
    let cached = small(rain, r#"pack = { policy = "cache" }"#);
    assert!(refused(cached).contains("pack.policy = cache: does not go with redundancy.policy = \"rain\""));
    let cached = small(rain, r#"pack = { policy = "planes", cache = true }"#);
    assert!(refused(cached).contains("pack.cache = true: does not go"));
    let short = small(rain, "").replace("pages_per_block = 4", "pages_per_block = 1");
    assert!(refused(short).contains("geometry.pages_per_block = 1: does not go"));
    let failing =
        small(rain, "").replace("interface =", "reliability = { program_fail = 0.01, endurance = 100 }, interface =");
    let error = Drive::new(&config(&failing), 1).expect_err("it is refused").to_string();
    assert!(error.starts_with("redundancy.policy = rain: does not go with nand.reliability"), "{error}");
    let plane = small(rain, "").replace("scope = \"drive\"", "scope = \"plane\"");
    assert!(refused(plane).contains("moved data go to any die of a superblock"));
    let copies = small(rain, "").replace("scope = \"drive\"", "scope = \"drive\", copyback = \"internal\"");
    assert!(refused(copies).contains("collect.copyback = internal"));
    let three = small(r#"policy = "rain", dies = 3"#, "");
    assert!(refused(three).contains("must divide the 4 dies of the drive into groups of at least two: use 2, 4"));
    let early = small(rain, "").replace("scope = \"drive\"", "scope = \"drive\", start_blocks = 5");
    assert!(refused(early).contains("must be at least 8: reserve_blocks = 4 and a superblock of 4 blocks"));
}
