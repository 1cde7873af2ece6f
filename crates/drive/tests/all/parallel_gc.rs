//! I/O-parallelized GC (choi18): the worked example of figure 5 by hand, what makes host and GC share commands, and what a
//! held die does.
//!
//! In figure 5 a read takes one cycle, a program two, and the bus no time. Here a cycle is 1 ms, beside which the bus takes
//! next to none; an erase takes 38 cycles, so that a collection of four pages ends at 50, as in the figure.

use crate::common::{config, drive, latency, one, request, US};
use std::collections::BTreeMap;
use wordline_base::{Op, Request, Time};
use wordline_drive::Drive;
use wordline_firmware::blocks::Status;
use wordline_firmware::task::Class;

const CYCLE: Time = 1_000 * US;
const PAGE: u32 = 4096;
const PAGES: u64 = 16;

/// A die of two planes; a logical page lies in the plane of its number's last bit.
fn text(collect: &str, rest: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 12, pages_per_block = {PAGES}, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 1000.0, program_us = 2000.0, erase_us = 38000.0 }}
        capacity = {{ raw_over_logical = 6.0 }}
        placement = {{ policy = "static", order = "PCWD" }}
        collect = {{ policy = "on-demand", scope = "plane", start_blocks = 7, window_pages = 1, {collect} }}
        arbiter = {{ policy = "priority", order = ["gc-erase", "gc-write", "gc-read", "host-write", "host-read"] }}
        buffer = {{ policy = "none" }}
        link = {{ policy = "nvme", pcie_generation = 5, pcie_lanes = 16, latency_us = 0.0 }}
        verify = {{ shadow = true }}
        {rest}
        "#
    )
}

const BASELINE: &str = "into = \"shared-block\", hold_below_blocks = 7";
const JOINING: &str = r#"pack = { policy = "planes", join_gc = true }"#;

/// The logical page of a plane with a number.
fn page(plane: u64, number: u64) -> u64 {
    (2 * number + plane) * u64::from(PAGE)
}

fn write(drive: &mut Drive, plane: u64, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        one(drive, request(Op::Write, page(plane, number), PAGE));
    }
}

/// Plane 0 has two blocks of four valid pages: the first at offsets 3, 7, 9 and 15, the second at 2, 5, 8 and 12. Its open
/// block is full, so that the next write opens another, and GC starts. Plane 1 has no garbage, and an open block of five
/// pages.
fn aged(text: &str) -> Drive {
    let mut drive = drive(text, 1);
    write(&mut drive, 0, 0..2 * PAGES);
    write(&mut drive, 0, (0..PAGES).filter(|offset| ![3, 7, 9, 15].contains(offset)));
    write(&mut drive, 0, (0..PAGES).filter(|offset| ![2, 5, 8, 12].contains(offset)).map(|offset| PAGES + offset));
    // Three more full blocks, with five, five and fourteen valid pages.
    write(&mut drive, 0, [0, 1, 2, 4, 5, 6, 8, 10]);
    write(&mut drive, 0, [11, 12, 13, 22, 23, 25, 26, 27, 29, 30, 31, 0, 1, 2, 11, 12]);
    write(&mut drive, 1, 0..2 * PAGES);
    write(&mut drive, 1, [24, 25, 26, 27, 30]);
    drive.drain().expect("the drive comes to rest");
    assert_eq!(drive.kernel().counters().collections(), 0);
    drive
}

/// The queue of the figure: K and N belong to the plane that collects.
const QUEUE: [(char, Op, u64, u64); 8] = [
    ('I', Op::Read, 1, 7),
    ('J', Op::Write, 1, 1),
    ('K', Op::Read, 0, 11),
    ('L', Op::Write, 1, 2),
    ('M', Op::Read, 1, PAGES + 5),
    ('N', Op::Write, 0, 12),
    ('O', Op::Read, 1, 8),
    ('P', Op::Read, 1, PAGES + 12),
];

/// What happens during the first collection.
struct Seen {
    /// Cycle after its start at which each request of the queue is done, if that is in the collection.
    done: BTreeMap<char, u64>,
    /// Cycle at which the block is erased.
    erased: u64,
    /// The victim.
    victim: usize,
    /// Busy planes in it.
    utilisation: f64,
    joined: (u64, u64),
}

/// A write starts a collection; all requests of the queue wait when its program is done.
fn collect_with_queue(text: &str) -> Seen {
    let mut drive = aged(text);
    let submit = |drive: &mut Drive, op, plane, number| {
        let arrival = drive.now();
        let request = Request { arrival, ..request(op, page(plane, number), PAGE) };
        drive.submit(arrival, request).expect("there is a slot");
    };
    // A read holds the die until the reads of the queue wait; its writes come behind the one that starts the collection,
    // which could take one along.
    submit(&mut drive, Op::Read, 1, 15);
    drive.advance_to(drive.now() + CYCLE / 2).expect("no rule is broken");
    submit(&mut drive, Op::Write, 0, 13);
    for kind in [Op::Read, Op::Write] {
        let of_kind = QUEUE.iter().filter(|(_, op, ..)| *op == kind);
        of_kind.for_each(|&(_, op, plane, number)| submit(&mut drive, op, plane, number));
        drive.advance_to(drive.now() + CYCLE).expect("no rule is broken");
    }
    let (mut zero, mut victim, mut done) = (None, None, BTreeMap::new());
    let cycle = |since: Time, now: Time| (now - since + CYCLE / 2) / CYCLE;
    loop {
        assert!(drive.step().expect("no rule is broken"), "the collection ends");
        let now = drive.now();
        for ended in drive.completions().drain(..).collect::<Vec<_>>() {
            let Request { op, offset, .. } = ended.request;
            let of_queue = QUEUE.iter().find(|(_, kind, plane, number)| (*kind, page(*plane, *number)) == (op, offset));
            match of_queue {
                Some((name, ..)) => {
                    done.insert(*name, cycle(zero.expect("it came first"), now));
                }
                None if op == Op::Write => zero = Some(now),
                None => {}
            }
        }
        let records = drive.kernel().blocks().records();
        victim = victim.or_else(|| records.iter().position(|block| block.status == Status::Victim));
        if let (Some(victim), Some(zero)) = (victim, zero) {
            if records[victim].status == Status::Free {
                let counters = drive.kernel().counters();
                let joined = [Class::HOST_READ, Class::HOST_WRITE].map(|class| counters.joined[class.index()]);
                let seen = Seen {
                    done,
                    erased: cycle(zero, now),
                    victim,
                    utilisation: drive.kernel().plane_use().share(2).expect("there was a collection"),
                    joined: (joined[0], joined[1]),
                };
                drive.drain().expect("the queue is served");
                drive.check_idle().expect("the books balance");
                return seen;
            }
        }
    }
}

fn close_to(told: f64, wanted: f64) {
    assert!((told - wanted).abs() < 2e-3, "{told}, by hand {wanted}");
}

/// Figure 5a: the other plane is idle until the erase has ended.
#[test]
fn the_baseline_serves_nobody_during_a_collection() {
    let seen = collect_with_queue(&text(BASELINE, ""));
    assert_eq!((seen.victim, seen.erased), (0, 50));
    assert!(seen.done.is_empty(), "{:?}", seen.done);
    assert_eq!(seen.joined, (0, 0));
    close_to(seen.utilisation, 0.5);
}

/// Figure 5b: A reads from 0 to 1, B writes from 1 to 3 with J, C reads page 7 from 3 to 4 with I, D writes to 6 with L.
#[test]
fn host_operations_of_the_same_offset_join_gc() {
    let seen = collect_with_queue(&text("into = \"paired-blocks\", hold_below_blocks = 7", JOINING));
    assert_eq!((seen.victim, seen.erased), (0, 50), "GC takes no longer");
    assert_eq!(seen.done, BTreeMap::from([('J', 3), ('I', 4), ('L', 6)]));
    assert_eq!(seen.joined, (1, 2));
    // 50 cycles of GC, one read and two writes of the host, of 2 x 50.
    close_to(seen.utilisation, 0.55);
}

/// Figure 5c: the second block has as few valid pages, but three of them fit reads that wait: M, O and P with C, E and G.
#[test]
fn the_victim_that_fits_most_reads_is_chosen() {
    let rest = format!("{JOINING}\nvictim = {{ policy = \"read-aligned\" }}");
    let seen = collect_with_queue(&text("into = \"paired-blocks\", hold_below_blocks = 7", &rest));
    assert_eq!((seen.victim, seen.erased), (1, 50));
    assert_eq!(seen.done, BTreeMap::from([('J', 3), ('M', 4), ('L', 6), ('O', 7), ('P', 10)]));
    close_to(seen.utilisation, 0.57);
    // One candidate is the block that greedy takes.
    let one = format!("{JOINING}\nvictim = {{ policy = \"read-aligned\", candidates = 1 }}");
    assert_eq!(collect_with_queue(&text("into = \"paired-blocks\", hold_below_blocks = 7", &one)).victim, 0);
}

/// Figure 6b and 6c: without a second block the planes' write points differ (GC starts at 1 behind the write that started
/// it, the other plane is at 5), so no write joins before GC comes to 5, after four pages.
#[test]
fn without_new_blocks_write_points_differ() {
    let seen = collect_with_queue(&text(BASELINE, JOINING));
    assert_eq!(seen.done, BTreeMap::from([('I', 4)]));
    assert_eq!(seen.joined, (1, 0));
    close_to(seen.utilisation, 0.51);
}

/// Host pages in commands of GC, and steps on hold, until the first victim is erased. An operation of the host comes half a cycle after
/// the write that starts the collection.
fn preempted_by(text: &str, op: Op, plane: u64, number: u64) -> ([u64; 2], u64) {
    let mut drive = aged(text);
    let submit = |drive: &mut Drive, op, plane, number| {
        let arrival = drive.now();
        let request = Request { arrival, ..request(op, page(plane, number), PAGE) };
        drive.submit(arrival, request).expect("there is a slot");
    };
    submit(&mut drive, Op::Write, 0, 13);
    drive.advance_to(drive.now() + CYCLE / 2).expect("no rule is broken");
    submit(&mut drive, op, plane, number);
    let victims = |drive: &Drive| drive.kernel().blocks().records().iter().any(|block| block.status == Status::Victim);
    while drive.kernel().counters().collections() == 0 || victims(&drive) {
        assert!(drive.step().expect("no rule is broken"), "the collection ends");
    }
    let counters = *drive.kernel().counters();
    let joined = [Class::HOST_READ, Class::HOST_WRITE].map(|class| counters.joined[class.index()]);
    drive.drain().expect("the drive comes to rest");
    drive.check_idle().expect("the books balance");
    (joined, counters.holds)
}

/// choi18 (4.4): what finds a match joins GC; a read of the collecting plane, or without a match, puts it on hold.
#[test]
fn preemptive_gc_holds_for_what_cannot_join() {
    let preemptive =
        |into: &str, rest: &str| text(&format!("into = \"{into}\""), rest).replace("\"on-demand\"", "\"preemptive\"");
    let joining = preemptive("paired-blocks", JOINING);
    // The victim has valid pages at offsets 3, 7, 9 and 15; the write point of both planes is the start of a block.
    for (op, plane, number, joined, holds) in [
        (Op::Read, 1, 7, [1, 0], false),
        // GC comes to 9 later: the read does not wait for that.
        (Op::Read, 1, 9, [0, 0], true),
        (Op::Read, 1, 6, [0, 0], true),
        (Op::Read, 0, 7, [0, 0], true),
        (Op::Write, 1, 1, [0, 1], false),
        (Op::Write, 0, 12, [0, 0], true),
    ] {
        let (pages, held) = preempted_by(&joining, op, plane, number);
        assert_eq!((pages, held > 0), (joined, holds), "{op:?} {plane} {number}: {held} holds");
        // Nobody joins where nothing is shared, and all are in the way.
        let (pages, held) = preempted_by(&preemptive("paired-blocks", ""), op, plane, number);
        assert!(pages == [0, 0] && held > 0, "{op:?} {plane} {number}: {held} holds");
    }
}

/// Above the threshold the arbiter decides: a host that comes first is served whole, whichever plane it needs.
#[test]
fn a_die_is_held_only_below_the_threshold() {
    let host_first =
        r#"arbiter = { policy = "priority", order = ["host-write", "host-read", "gc-erase", "gc-write", "gc-read"] }"#;
    let swap = |text: String| {
        let kept: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("arbiter")).collect();
        format!("{}\n{host_first}", kept.join("\n"))
    };
    let preempted = collect_with_queue(&swap(text("into = \"shared-block\", hold_below_blocks = 6", "")));
    assert_eq!(preempted.done.len(), QUEUE.len(), "all of the host first: {:?}", preempted.done);
    let kept = collect_with_queue(&swap(text(BASELINE, "")));
    assert!(kept.done.is_empty(), "{:?}", kept.done);
}

/// Ideal-No-GC: space is made, data move, and nobody waits.
#[test]
fn gc_without_time_costs_the_host_nothing() {
    let mut drive = aged(&text("into = \"shared-block\", instant = true", ""));
    let program = latency(&mut drive, request(Op::Write, page(1, 3), PAGE));
    for number in 0..200 {
        let took = latency(&mut drive, request(Op::Write, page(0, number % 32), PAGE));
        assert_eq!(took, program, "write {number}");
    }
    let counters = *drive.kernel().counters();
    assert!(counters.collections() > 5 && counters.moved_units() > 0, "{counters:?}");
    assert_eq!(drive.kernel().plane_use().share(2), None);
    drive.check_idle().expect("the books balance");
}

#[test]
fn what_cannot_go_together_is_refused() {
    let refused = |collect: &str, rest: &str, key: &str| {
        let error = wordline_drive::load::from_text("test", &text(collect, rest)).expect_err(key).to_string();
        assert!(error.contains(key), "{error}");
    };
    config(&text(BASELINE, JOINING));
    refused("hold_below_blocks = 0", "", "at least 1");
    config(&text("hold_below_blocks = 12", ""));
    refused("hold_below_blocks = 13", "", "must be at most 12");
    refused("", "victim = { policy = \"read-aligned\" }", "pack.join_gc");
    let of_one_plane = text("", JOINING).replace("planes_per_die = 2", "planes_per_die = 1");
    let error = wordline_drive::load::from_text("test", &of_one_plane).expect_err("one plane").to_string();
    assert!(error.contains("pack.join_gc = true: has no effect"), "{error}");
    refused(BASELINE, "suspend = { policy = \"reads\" }", "suspend.policy");
    refused(BASELINE, "dispatch = { policy = \"debit\" }", "dispatch.policy = \"debit\"");
    refused(BASELINE, "pack = { policy = \"cache\" }", "pack.cache");
    refused("into = \"paired-blocks\"", "pack = { policy = \"cache\" }", "pack.cache");
    refused("instant = true", JOINING, "pack.join_gc");
    refused("instant = true", "pack = { policy = \"cache\" }", "pack.cache");
    refused("", "pack = { policy = \"planes\", join_gc = true, cache = true }", "pack.cache");
    refused("", &format!("{JOINING}\nsuspend = {{ policy = \"reads\" }}"), "pack.join_gc");
    let of_drive = |text: String| {
        text.replace("scope = \"plane\"", "scope = \"drive\"").replace("\"static\", order = \"PCWD\"", "\"least-busy\"")
    };
    for (collect, rest, key) in [
        ("into = \"shared-block\"", "", "collect.into"),
        ("into = \"paired-blocks\"", "", "collect.into"),
        ("", "victim = { policy = \"read-aligned\" }", "victim.policy"),
    ] {
        let error = wordline_drive::load::from_text("test", &of_drive(text(collect, rest))).expect_err(key).to_string();
        assert!(error.contains(key) && error.contains("scope"), "{error}");
    }
}

/// A drive may go on with other open blocks than it was filled with, in whichever way they are used.
#[test]
fn open_blocks_pass_from_one_way_to_another() {
    let ways = ["own-block", "shared-block", "paired-blocks"];
    for from in ways {
        for to in ways {
            let text = |into: &str| text(&format!("into = \"{into}\", hold_below_blocks = 7"), JOINING);
            let before = aged(&text(from));
            let mut drive = drive(&text(to), 1);
            drive.adopt(&before).expect("the drives have the same shape");
            drive.check_idle().expect("the books balance");
            for number in 0..300 {
                write(&mut drive, number % 2, [number * 7 % 32]);
            }
            drive.drain().expect("the drive comes to rest");
            drive.check_idle().expect("the books balance");
            assert!(drive.kernel().counters().collections() > 5, "{from} to {to}");
        }
    }
}

/// A write without a fixed place goes around a die that GC holds.
#[test]
fn writes_go_around_a_held_die() {
    let slowest = |placement: &str| {
        let kept = text(BASELINE, "").replace("dies_per_package = 1", "dies_per_package = 4");
        let mut drive = drive(&kept.replace("\"static\", order = \"PCWD\"", placement), 1);
        let pages = drive.logical_bytes() / u64::from(PAGE);
        for at in 0..2 * pages {
            one(&mut drive, request(Op::Write, at % pages * u64::from(PAGE), PAGE));
        }
        let mut took = Vec::new();
        for at in 0..2_000 {
            let offset = at * at * 31 % pages * u64::from(PAGE);
            let done = one(&mut drive, request(Op::Write, offset, PAGE));
            took.push(done.time - done.request.arrival);
        }
        assert!(drive.kernel().counters().collections() > 20);
        took.sort_unstable();
        took[took.len() * 99 / 100]
    };
    let (fixed, free) = (slowest("\"static\", order = \"PCWD\""), slowest("\"least-busy\""));
    assert!(fixed > 30 * CYCLE, "one write of a hundred waits for an erase: {fixed} ps");
    assert!(free < 5 * CYCLE, "another die is free: {free} ps");
}
