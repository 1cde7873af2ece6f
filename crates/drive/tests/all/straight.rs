//! Operations that go straight to their dies, and from the end of one to the next: whichever way they take, all that a drive does is
//! the same.

use crate::common::{between, chance, closed_loop, drive_unless_refused, for_seeds, long, pick, request};
use wordline_base::{Op, Stream};
use wordline_drive::config::PreconditionConfig;
use wordline_drive::parts::Features;
use wordline_drive::precondition::precondition;
use wordline_drive::snapshot::{self, Header};
use wordline_drive::{Drive, Tasks};

const SECTOR: u64 = 512;

/// A random small drive, mostly one whose reads go straight.
fn random_drive(random: &mut Stream) -> String {
    let mut pick = |of: &[&'static str]| *pick(random, of);
    let (place, scope) = *[
        ("\"static\", order = \"CWDP\"", "plane"),
        ("\"static\", order = \"PDWC\"", "plane"),
        ("\"least-busy\"", "plane"),
        ("\"least-busy\"", "drive"),
    ]
    .get(pick(&["0", "1", "2", "3"]).parse::<usize>().expect("a number"))
    .expect("one of them");
    format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = 2, planes_per_die = {},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = 16, pages_per_program = {} }}
        nand = {{ read_us = {}, program_us = [150.0, 800.0], erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        mapping = {{ policy = "{}", unit_kib = {} }}
        placement = {{ policy = {place} }}
        collect = {{ policy = "{}", scope = "{scope}"{} }}
        pack = {{ policy = {} }}
        arbiter = {{ policy = {} }}
        suspend = {{ policy = "{}" }}
        dispatch = {{ policy = {} }}
        refresh = {{ policy = {} }}
        buffer = {{ policy = {} }}
        link = {{ policy = {} }}
        queue = {{ queues = 1, depth = 32 }}
        verify = {{ shadow = {} }}
        "#,
        pick(&["1", "2", "3"]),
        pick(&["1", "2"]),
        pick(&["1", "2", "2", "4"]),
        pick(&["24", "32", "40"]),
        pick(&["6", "12", "24"]),
        pick(&["1", "1", "3"]),
        pick(&["20.0", "[20.0, 60.0]"]),
        pick(&["1.6", "2.2"]),
        pick(&["page", "page", "page", "page", "page", "cached"]),
        pick(&["4", "16"]),
        pick(&["on-demand", "on-demand", "on-demand", "preemptive"]),
        pick(&["", "", ", pacing = true", ", blocks_per_die = 1", ", hold_below_blocks = 3"]),
        pick(&["\"none\"", "\"planes\"", "\"planes\", window = 1", "\"planes\", across_requests = false"]),
        pick(&[
            "\"first-come\"",
            "\"first-come\"",
            "\"reads-first\"",
            "\"priority\"",
            "\"slack\", read_deadline_us = 500, write_deadline_us = 3000, background_deadline_us = 9000",
        ]),
        pick(&["none", "none", "none", "none", "reads"]),
        pick(&["\"fifo\"", "\"fifo\"", "\"fifo\"", "\"fifo\", window = 3", "\"debit\""]),
        pick(&["\"none\"", "\"none\"", "\"none\"", "\"scrub\", start_reads = 30, stop_reads = 9"]),
        pick(&["\"none\"", "\"fifo\", capacity_kib = 512", "\"fifo\", capacity_kib = 2048"]),
        pick(&["\"sata\"", "\"nvme\"", "\"nvme\", latency_us = 0.0"]),
        pick(&["false", "true"]),
    )
}

/// Reads and writes of whole and partial units, in flight together. The drive measures, so that its hash has every completion.
fn work(drive: &mut Drive, random: &mut Stream) {
    let sectors = drive.logical_bytes() / SECTOR;
    let unit = u64::from(drive.kernel().plan().unit_bytes) / SECTOR;
    for _ in 0..3 {
        let (reads, depth) = (*pick(random, &[10, 40, 80, 95, 100]), between(random, 1, 40));
        let largest = (*pick(random, &[unit, unit, 3 * unit])).min(sectors);
        closed_loop(drive, depth, 400, |_| {
            let op = if chance(random, reads) { Op::Read } else { Op::Write };
            let mut offset = random.below(sectors - largest + 1);
            if chance(random, 60) {
                offset -= offset % unit;
            }
            request(op, offset * SECTOR, (between(random, 1, largest) * SECTOR) as u32)
        });
        if chance(random, 30) {
            drive.drain().expect("the drive comes to rest");
        }
    }
    drive.drain().expect("the drive comes to rest");
}

/// The same for drives whose pages have one unit, and whose programs and moves go straight page by page.
fn random_drive_of_pages(random: &mut Stream) -> String {
    let mut pick = |of: &[&'static str]| *pick(random, of);
    format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = 1, planes_per_die = {},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = 16 }}
        nand = {{ read_us = {}, program_us = [150.0, 800.0], erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        mapping = {{ policy = "page", unit_kib = 16 }}
        placement = {{ policy = "static", order = "{}" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        victim = {{ policy = "{}" }}
        pack = {{ policy = {} }}
        buffer = {{ policy = {} }}
        queue = {{ queues = 1, depth = 32 }}
        verify = {{ shadow = {} }}
        "#,
        pick(&["1", "2", "3"]),
        pick(&["1", "2"]),
        pick(&["1", "2", "2", "4"]),
        pick(&["24", "32", "40"]),
        pick(&["6", "12", "24"]),
        pick(&["20.0", "[20.0, 60.0]"]),
        pick(&["1.4", "1.6", "2.2"]),
        pick(&["CWDP", "PDWC"]),
        pick(&["greedy", "greedy", "random"]),
        pick(&["\"none\"", "\"planes\"", "\"planes\", window = 1", "\"planes\", across_requests = false"]),
        pick(&["\"none\"", "\"none\"", "\"fifo\", capacity_kib = 512"]),
        pick(&["false", "true"]),
    )
}

/// A drive that has worked with and without the straight ways, which changed nothing; none if there is no such drive.
fn worked_alike(text: &str, seed: u64) -> Option<Drive> {
    let accounts = chance(&mut Stream::new(seed, "straight-test-accounts", 0), 40);
    Some(worked_alike_with(text, seed, accounts)?.0)
}

/// The same with or without accounts of requests. Tells, too, whether programs and moves went straight with them.
fn worked_alike_with(text: &str, seed: u64, accounts: bool) -> Option<(Drive, bool)> {
    let mut fast = drive_unless_refused(text, seed)?;
    // Collections come with an aged drive.
    let steps = PreconditionConfig { fill: true, overwrites: 1.0, ..PreconditionConfig::default() };
    precondition(&mut fast, &steps, seed, &mut |_| true).expect("no rule is broken");
    let mut slow = fast.clone();
    slow.avoid_straight();
    assert!(!slow.kernel().is_straight() && !slow.kernel().is_straight_in_moves());
    assert!(!slow.kernel().is_straight_in_pages());
    for drive in [&mut fast, &mut slow] {
        drive.split_time(accounts);
        drive.start_measuring();
        work(drive, &mut Stream::new(seed, "straight-test", 1));
    }
    assert_eq!(fast.metrics, slow.metrics);
    assert_eq!((fast.kernel().waited(), fast.kernel().charged()), (slow.kernel().waited(), slow.kernel().charged()));
    let split = |drive: &Drive| drive.split().map(|split| split.document(Tasks::ALL, Features::ALL));
    assert_eq!(split(&fast), split(&slow));
    let noted = fast.kernel().is_straight_in_moves_noted();
    assert!(!slow.kernel().is_straight_in_moves_noted());
    for drive in [&mut fast, &mut slow] {
        drive.split_time(false);
    }
    assert_eq!((fast.events(), fast.now()), (slow.events(), slow.now()));
    assert_eq!(fast.kernel().counters(), slow.kernel().counters());
    assert_eq!(fast.kernel().plane_use(), slow.kernel().plane_use());
    let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
    let state = |drive: &mut Drive| snapshot::to_bytes(&header, drive).expect("a drive can be saved");
    assert!(state(&mut fast) == state(&mut slow), "the states differ");
    Some((fast, noted))
}

#[test]
fn operations_that_go_straight_change_nothing() {
    let (mut straight, mut moves, mut others, mut refused) = (0, 0, 0, 0);
    for_seeds("straight", "operations_that_go_straight_change_nothing", if long() { 10_000 } else { 600 }, |seed| {
        let text = random_drive(&mut Stream::new(seed, "straight-test", 0));
        let Some(fast) = worked_alike(&text, seed) else { return refused += 1 };
        *if fast.kernel().is_straight() { &mut straight } else { &mut others } += 1;
        moves += u32::from(fast.kernel().is_straight_in_moves() && fast.kernel().counters().collections() > 0);
    });
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    let enough = straight > 40 && moves > 10 && others > 30;
    assert!(one || enough, "{straight} straight, {moves} of them in moves, {others} others, {refused} refused");
}

#[test]
fn pages_that_go_straight_change_nothing() {
    let (mut pages, mut others) = (0, 0);
    for_seeds("straight", "pages_that_go_straight_change_nothing", if long() { 2_000 } else { 60 }, |seed| {
        let text = random_drive_of_pages(&mut Stream::new(seed, "straight-test-pages", 0));
        let by_page = worked_alike(&text, seed)
            .is_some_and(|fast| fast.kernel().is_straight_in_pages() && fast.kernel().counters().collections() > 0);
        *if by_page { &mut pages } else { &mut others } += 1;
    });
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || pages > 40, "{pages} page by page, {others} others");
}

#[test]
fn operations_that_go_straight_with_accounts_change_nothing() {
    let (mut pages, mut moves, mut others) = (0, 0, 0);
    let runs = if long() { 4_000 } else { 240 };
    for_seeds("straight", "operations_that_go_straight_with_accounts_change_nothing", runs, |seed| {
        let random = &mut Stream::new(seed, "straight-test-accounts", 1);
        let text = if chance(random, 70) { random_drive(random) } else { random_drive_of_pages(random) };
        let worked = worked_alike_with(&text, seed, true);
        let collected = worked.filter(|(fast, noted)| *noted && fast.kernel().counters().collections() > 0);
        let counted = match collected {
            Some((fast, _)) if fast.kernel().is_straight_in_pages() => &mut pages,
            Some(_) => &mut moves,
            None => &mut others,
        };
        *counted += 1;
    });
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || (pages > 20 && moves > 2), "{pages} page by page, {moves} otherwise, {others} others");
}
