//! Operations that go straight through processors and the commit stage: whichever way they take, all that a drive does is the same.

use crate::common::random_drive::joins_in_planes;
use crate::common::{between, chance, closed_loop, drive_unless_refused, for_seeds, long, pick, request};
use wordline_base::{Op, Request, Stream};
use wordline_drive::snapshot::{self, Header};
use wordline_drive::Drive;
use wordline_firmware::Kernel;

const SECTOR: u64 = 512;

/// A random small drive with a commit stage, mostly one whose operations go straight.
fn random_drive(random: &mut Stream) -> String {
    let mut pick = |of: &[&'static str]| *pick(random, of);
    let scope = pick(&["drive", "drive", "plane"]);
    let placement = if scope == "plane" { pick(&["static", "static", "least-busy"]) } else { "least-busy" };
    let shared_blocks = match scope {
        "plane" => pick(&[
            ", into = \"shared-block\"",
            ", into = \"shared-block\"",
            ", into = \"shared-block\", instant = true",
        ]),
        _ => ", window_pages = 2",
    };
    let text = format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = 1, planes_per_die = {},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = 16 }}
        nand = {{ read_us = 50.0, program_us = {}, erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        mapping = {{ policy = {} }}
        placement = {{ policy = "{placement}" }}
        victim = {{ policy = "{}" }}
        collect = {{ policy = "on-demand", scope = "{scope}"{} }}
        pack = {{ policy = {} }}
        arbiter = {{ policy = "{}" }}
        suspend = {{ policy = "{}" }}
        dispatch = {{ policy = {} }}
        shares = {{ policy = "{}" }}
        refresh = {{ policy = {} }}
        processor = {{ policy = {} }}
        buffer = {{ policy = {} }}
        link = {{ policy = "nvme" }}
        queue = {{ queues = 1, depth = 32 }}
        verify = {{ shadow = {} }}
        "#,
        pick(&["1", "2", "3"]),
        pick(&["1", "2", "4"]),
        pick(&["1", "2", "2", "4"]),
        pick(&["32", "40", "48"]),
        pick(&["6", "12", "24"]),
        pick(&["200.0", "500.0"]),
        pick(&["1.6", "2.2"]),
        pick(&[
            "\"page\", unit_kib = 4",
            "\"page\", unit_kib = 16",
            "\"cached\", unit_kib = 4",
            "\"cached\", unit_kib = 4, cache_kib = 4",
            "\"cached\", unit_kib = 16, cache_kib = 16",
        ]),
        pick(&["greedy", "cost-benefit", "random", "best-of"]),
        pick(&["", "", "", "", ", pacing = true", ", instant = true", ", blocks_at_a_time = 3", shared_blocks]),
        pick(&[
            "\"none\"",
            "\"planes\"",
            "\"planes\"",
            "\"planes\", window = 1",
            "\"planes\", gather = true",
            "\"planes\", join_gc = true"
        ]),
        pick(&["first-come", "first-come", "reads-first", "priority"]),
        pick(&["none", "none", "none", "none", "none", "reads"]),
        pick(&[
            "\"debit\"",
            "\"debit\"",
            "\"debit\", depth = 1",
            "\"weighted-fair\"",
            "\"one-queue\"",
            "\"priority\"",
            "\"deadline\"",
            "\"fifo\"",
        ]),
        pick(&["fixed", "fixed", "feedback"]),
        pick(&["\"none\"", "\"none\"", "\"scrub\", start_reads = 400, stop_reads = 300"]),
        pick(&[
            "\"uniform\"",
            "\"uniform\"",
            "\"uniform\", lookup_us = [0.0, 0.0], host_us = [0.0, 0.0]",
            "\"uniform\", lookup_us = [0.5, 0.5], host_us = [1.0, 1.0], background_us = [1.5, 1.5]",
            "\"none\"",
        ]),
        pick(&["\"none\"", "\"fifo\", capacity_kib = 512", "\"fifo\", capacity_kib = 2048"]),
        pick(&["false", "true"]),
    );
    joins_in_planes(text)
}

/// A random small drive with a commit stage whose pages have one unit, and whose planes mostly collect for themselves.
fn random_drive_of_pages(random: &mut Stream) -> String {
    let mut pick = |of: &[&'static str]| *pick(random, of);
    format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = 1, planes_per_die = {},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = 16 }}
        nand = {{ read_us = 50.0, program_us = {}, erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        mapping = {{ policy = "page", unit_kib = 16 }}
        placement = {{ policy = "{}" }}
        victim = {{ policy = "{}" }}
        collect = {{ policy = "on-demand", scope = "plane"{} }}
        pack = {{ policy = {} }}
        arbiter = {{ policy = "{}" }}
        dispatch = {{ policy = {} }}
        shares = {{ policy = "{}" }}
        refresh = {{ policy = {} }}
        buffer = {{ policy = {} }}
        link = {{ policy = "nvme" }}
        queue = {{ queues = 1, depth = 32 }}
        verify = {{ shadow = {} }}
        "#,
        pick(&["1", "2", "3"]),
        pick(&["1", "2", "4"]),
        pick(&["1", "2", "2", "4"]),
        pick(&["32", "40", "48"]),
        pick(&["6", "12", "24"]),
        pick(&["200.0", "500.0"]),
        pick(&["1.3", "1.6", "2.2"]),
        pick(&["static", "static", "static", "least-busy"]),
        pick(&["greedy", "cost-benefit", "random", "best-of"]),
        pick(&["", "", ", window_pages = 1", ", window_pages = 8", ", blocks_at_a_time = 3"]),
        pick(&["\"none\"", "\"planes\"", "\"planes\"", "\"planes\", window = 1", "\"planes\", gather = true"]),
        pick(&["first-come", "first-come", "first-come", "reads-first"]),
        pick(&["\"debit\"", "\"debit\"", "\"debit\", depth = 1", "\"debit\", depth = 2", "\"priority\""]),
        pick(&["fixed", "feedback", "feedback"]),
        pick(&["\"none\"", "\"none\"", "\"scrub\", start_reads = 400, stop_reads = 300"]),
        pick(&["\"none\"", "\"none\"", "\"fifo\", capacity_kib = 512"]),
        pick(&["false", "true"]),
    )
}

/// The same where several units fill a page.
fn random_drive_of_units(random: &mut Stream) -> String {
    let unit = *pick(random, &["unit_kib = 4", "unit_kib = 4", "unit_kib = 8"]);
    random_drive_of_pages(random).replace("unit_kib = 16", unit)
}

/// A random small drive whose dispatch policy limits tasks, and whose pages at dies often lack units: parts of units are written, and others of
/// their page are overwritten.
fn random_drive_of_parts(random: &mut Stream) -> String {
    let mut pick = |of: &[&'static str]| *pick(random, of);
    format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = 2, planes_per_die = {},
                      blocks_per_plane = 24, pages_per_block = 12, page_kib = {} }}
        nand = {{ read_us = 50.0, program_us = 500.0, erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        dispatch = {{ policy = "debit", depth = {} }}
        shares = {{ policy = "{}" }}
        processor = {{ policy = "{}" }}
        buffer = {{ policy = {} }}
        link = {{ policy = "nvme" }}
        queue = {{ queues = 1, depth = 32 }}
        "#,
        pick(&["1", "2", "3"]),
        pick(&["1", "2"]),
        pick(&["1", "2"]),
        pick(&["8", "16"]),
        pick(&["1.6", "2.2"]),
        pick(&["2", "3", "4"]),
        pick(&["fixed", "feedback"]),
        pick(&["none", "uniform"]),
        pick(&["\"none\"", "\"none\"", "\"fifo\", capacity_kib = 512"]),
    )
}

/// As [`closed_loop`], but the drive handles all events of some time at once.
fn hurried_loop(drive: &mut Drive, depth: u64, count: u64, mut next: impl FnMut(u64) -> Request) {
    let (mut submitted, mut completed) = (0, 0);
    while completed < count {
        while submitted < count && submitted - completed < depth {
            let request = next(submitted);
            let now = drive.now();
            drive.submit(now, Request { arrival: now, ..request }).expect("it fits the drive");
            submitted += 1;
        }
        let event = drive.next_event().expect("the drive has not stalled");
        drive.advance_to(event + 3_000_000).expect("no rule is broken");
        completed += drive.completions().drain(..).count() as u64;
    }
}

/// Reads, writes and trims of some units, in flight together. The drive measures, so that its hash has every completion.
fn work(drive: &mut Drive, random: &mut Stream) {
    let sectors = drive.logical_bytes() / SECTOR;
    let unit = u64::from(drive.kernel().plan().unit_bytes) / SECTOR;
    for _ in 0..3 {
        let (reads, depth) = (*pick(random, &[0, 40, 80, 95, 100]), between(random, 1, 30));
        let largest = (*pick(random, &[1, unit, 3 * unit, 14 * unit])).min(sectors);
        let hurries = chance(random, 50);
        let next = |_| {
            let op = match chance(random, reads) {
                true => Op::Read,
                false if chance(random, 5) => Op::Trim,
                false => Op::Write,
            };
            let mut offset = random.below(sectors - largest + 1);
            if chance(random, 60) {
                offset -= offset % unit;
            }
            request(op, offset * SECTOR, (between(random, 1, largest) * SECTOR) as u32)
        };
        if hurries {
            hurried_loop(drive, depth, 200, next);
        } else {
            closed_loop(drive, depth, 200, next);
        }
        if chance(random, 30) {
            drive.drain().expect("the drive comes to rest");
        }
    }
    drive.drain().expect("the drive comes to rest");
}

/// Writes of a part of a unit, many in flight together.
fn write_parts(drive: &mut Drive, random: &mut Stream) {
    let sectors = drive.logical_bytes() / SECTOR;
    closed_loop(drive, 30, 1_500, |_| request(Op::Write, random.below(sectors) * SECTOR, SECTOR as u32));
    drive.drain().expect("the drive comes to rest");
}

#[test]
fn parts_of_units_that_go_straight_through_the_stage_change_nothing() {
    let name = "parts_of_units_that_go_straight_through_the_stage_change_nothing";
    let [straight, others, refused] = compare(name, random_drive_of_parts, Kernel::is_straight, write_parts);
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || straight > 150 && others == 0, "{straight} straight, {others} others, {refused} refused");
}

#[test]
fn operations_that_go_straight_through_the_stage_change_nothing() {
    let name = "operations_that_go_straight_through_the_stage_change_nothing";
    let [straight, others, refused] = compare(name, random_drive, Kernel::is_straight, work);
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || straight > 40 && others > 15, "{straight} straight, {others} others, {refused} refused");
}

#[test]
fn pages_that_go_straight_through_the_stage_change_nothing() {
    let [straight, others, refused] = compare(
        "pages_that_go_straight_through_the_stage_change_nothing",
        random_drive_of_pages,
        Kernel::is_straight_by_stage_in_pages,
        work,
    );
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || straight > 40 && others > 15, "{straight} straight, {others} others, {refused} refused");
}

#[test]
fn units_that_go_straight_through_the_stage_change_nothing() {
    let [straight, others, refused] = compare(
        "units_that_go_straight_through_the_stage_change_nothing",
        random_drive_of_units,
        Kernel::is_straight_by_stage_in_units,
        work,
    );
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || straight > 40 && others > 15, "{straight} straight, {others} others, {refused} refused");
}

/// Lets random drives work on both ways; gives how many of them go straight, how many not, and how many cannot be.
fn compare(
    name: &'static str,
    random_drive: fn(&mut Stream) -> String,
    goes_straight: fn(&Kernel) -> bool,
    work: fn(&mut Drive, &mut Stream),
) -> [u32; 3] {
    let (mut straight, mut others, mut refused) = (0, 0, 0);
    let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
    let seeds = if long() { 10_000 } else { 200 };
    for_seeds("staged", name, seeds, |seed| {
        let text = random_drive(&mut Stream::new(seed, "staged-test", 0));
        let Some(mut fast) = drive_unless_refused(&text, seed) else { return refused += 1 };
        let mut slow = fast.clone();
        slow.avoid_straight();
        assert!(!goes_straight(slow.kernel()));
        *if goes_straight(fast.kernel()) { &mut straight } else { &mut others } += 1;
        for drive in [&mut fast, &mut slow] {
            drive.start_measuring();
            work(drive, &mut Stream::new(seed, "staged-test", 1));
        }
        assert_eq!(fast.metrics, slow.metrics);
        assert_eq!((fast.events(), fast.now()), (slow.events(), slow.now()));
        assert_eq!(fast.kernel().counters(), slow.kernel().counters());
        assert_eq!(fast.kernel().plane_use(), slow.kernel().plane_use());
        let state = |drive: &mut Drive| snapshot::to_bytes(&header, drive).expect("a drive can be saved");
        assert!(state(&mut fast) == state(&mut slow), "the states differ");
    });
    [straight, others, refused]
}
