//! Transactions of packages in order, and pages allocated in turn, on drives seen from outside.

use crate::common::{drive, for_seeds, request, watched_loop, US};
use wordline_base::{Op, Stream, Time};
use wordline_drive::Drive;

/// A bus that takes little more than a microsecond a page, and one that takes 102 µs.
const FAST: &str = r#"interface = "nv-ddr3", rate_mt_s = 1600"#;
const SLOW: &str = r#"interface = "sdr", rate_mt_s = 20"#;

/// Two channels of two packages, each of two dies of two planes; a read is 50 µs, a program 200 µs. Consecutive pages go to the planes of a
/// die, then to the next die, the next package, the next channel: page 16 is behind page 0.
fn packages(bus: &str, placement: &str, more: &str, seed: u64) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 2, dies_per_package = 2, planes_per_die = 2,
            blocks_per_plane = 32, pages_per_block = 16, page_kib = 2 }}
        nand = {{ {bus}, read_us = 50.0, program_us = 200.0, erase_us = 1000.0 }}
        capacity = {{ raw_over_logical = 1.8 }}
        placement = {{ policy = "{placement}", order = "PDWC" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        buffer = {{ policy = "none" }}
        queue = {{ depth = 64 }}
        verify = {{ shadow = true }}
        {more}
        "#
    );
    drive(&text, seed)
}

fn filled(bus: &str, more: &str) -> Drive {
    let mut drive = packages(bus, "static", more, 1);
    let pages = drive.logical_bytes() / 2048;
    watched_loop(&mut drive, 4, pages, |nth| request(Op::Write, nth * 2048, 2048), |_| {});
    drive.drain().expect("the drive comes to rest");
    drive.start_measuring();
    drive
}

/// Latencies of requests of one page that arrive together.
fn latencies<const N: usize>(drive: &mut Drive, op: Op, pages: [u64; N]) -> [Time; N] {
    let now = drive.now();
    let slots = pages.map(|page| drive.submit(now, request(op, page * 2048, 2048)).expect("there is room"));
    let mut ends = [0; N];
    while drive.step().expect("no rule is broken") {
        for done in drive.completions().drain(..) {
            ends[slots.iter().position(|&slot| slot == done.slot).expect("it is one of them")] = done.time - now;
        }
    }
    drive.kernel().audit().expect("the books balance");
    ends
}

/// Latencies of reads as multiples of 50 µs, with little time on the bus.
fn reads<const N: usize>(more: &str, pages: [u64; N]) -> [Time; N] {
    latencies(&mut filled(FAST, more), Op::Read, pages).map(|time| {
        let reads = (time + 10 * US) / (50 * US);
        assert!(time - reads * 50 * US < 15 * US, "{time}");
        reads
    })
}

const IN_ORDER: &str = r#"dispatch = { policy = "in-order", wait_for_bus = false }"#;

// The first request of each list, 32, goes at once, and the others come while its package is taken.

#[test]
fn planes_of_several_requests_share_a_transaction_and_what_follows_waits() {
    // 0 and 1 have the same offset in two planes. 16 follows 0 in its plane, and holds up 4, whose package is idle.
    assert_eq!(reads(IN_ORDER, [32, 0, 1, 16, 4]), [1, 2, 2, 3, 3]);
    // Without transactions, each goes to its die.
    assert_eq!(reads("", [32, 0, 1, 16, 4]), [1, 2, 2, 3, 1]);
    // Within a request nothing joins.
    let within = r#"pack = { policy = "planes", across_requests = false }"#;
    assert_eq!(reads(&format!("{IN_ORDER}\n{within}"), [32, 0, 1, 16, 4]), [1, 2, 3, 4, 4]);
    assert_eq!(reads(within, [32, 0, 1, 16, 4]), [1, 2, 3, 4, 1]);
}

#[test]
fn the_dies_of_a_package_are_interleaved_in_one_transaction() {
    // 2 is in the other die of the package of 0, and passes 16, which has to wait.
    assert_eq!(reads(IN_ORDER, [32, 0, 16, 2, 4]), [1, 2, 3, 2, 3]);
    // If a transaction takes its die alone, 2 and 4 wait behind 16.
    let dies = r#"dispatch = { policy = "in-order", wait_for_bus = false, unit = "die" }"#;
    assert_eq!(reads(dies, [32, 0, 16, 2, 4]), [1, 2, 3, 3, 3]);
}

#[test]
fn transactions_are_counted_by_kind() {
    let mut drive = filled(FAST, IN_ORDER);
    latencies(&mut drive, Op::Read, [32, 0, 1, 2, 3, 16, 4, 6, 8]);
    let counts = drive.kernel().transactions().expect("there are transactions");
    let [reads, writes] = counts.of;
    // 0 to 3 are four planes of two dies; 32, 16 and 8 are alone; 4 and 6 are two dies.
    assert_eq!((reads.count, reads.pages), ([3, 0, 1, 1], [3, 0, 2, 4]));
    assert_eq!(writes.count, [0; 4]);
    // 32 holds up all, and the next four the rest: 16 goes alone, 4 and 6 beside it, 8 beside both.
    assert_eq!((reads.beside_ways, reads.beside_channels), (1, 1));
    assert!(counts.package_taken.abs_diff(2 * 50 * US) < 20 * US && counts.bus_taken == 0, "{counts:?}");
    assert!(reads.waited.abs_diff((4 * 50 + 4 * 100) * US) < 100 * US, "{reads:?}");
}

#[test]
fn a_transaction_waits_for_its_bus_and_holds_up_another_channel() {
    // 4 shares the bus of 0; 8 has one of its own.
    let write = |wait: bool| {
        let more = format!(r#"dispatch = {{ policy = "in-order", wait_for_bus = {wait} }}"#);
        let mut drive = filled(SLOW, &more);
        let ends = latencies(&mut drive, Op::Write, [0, 4, 8]);
        (ends, drive.kernel().transactions().expect("there are transactions").bus_taken)
    };
    let (program, bus) = (200 * US, 2048 * US / 20);
    let about = |time: Time, buses: u64| time.abs_diff(program + buses * bus) < 25 * US;
    let ([first, second, other], waited) = write(false);
    assert!(about(first, 1) && about(second, 2) && about(other, 1) && waited == 0, "{first} {second} {other}");
    let ([first, second, other], waited) = write(true);
    assert!(about(first, 1) && about(second, 2) && about(other, 2), "{first} {second} {other}");
    assert!(waited.abs_diff(bus) < 15 * US, "{waited}");
}

/// Pages of four units, in so many channels of as many packages, each of two dies of two planes.
fn of_small_units(channels: u32, order: &str, more: &str, seed: u64) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = {channels}, packages_per_channel = {channels}, dies_per_package = 2, planes_per_die = 2,
            blocks_per_plane = 40, pages_per_block = 8, page_kib = 16 }}
        nand = {{ {FAST}, read_us = 50.0, program_us = 200.0, erase_us = 1000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        mapping = {{ unit_kib = 4 }}
        placement = {{ policy = "static", order = "{order}" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        buffer = {{ policy = "none" }}
        queue = {{ depth = 64 }}
        verify = {{ shadow = true }}
        {more}
        "#
    );
    drive(&text, seed)
}

#[test]
fn the_units_of_a_page_share_a_transaction() {
    let kinds = |order: &str, [kib, expected]: [u64; 2]| {
        let mut drive = of_small_units(1, order, IN_ORDER, 1);
        let write = request(Op::Write, 0, kib as u32 * 1024);
        drive.submit(0, write).expect("there is room");
        drive.drain().expect("the drive comes to rest");
        let programs = drive.kernel().counters().programs();
        assert_eq!(programs, expected, "{kib} KiB, {order}");
        let [_, writes] = drive.kernel().transactions().expect("there are transactions").of;
        (writes.count, writes.pages)
    };
    // One page; two pages in both planes of a die, or in two dies; a page and a half.
    assert_eq!(kinds("PDWC", [16, 1]), ([1, 0, 0, 0], [1, 0, 0, 0]));
    assert_eq!(kinds("PDWC", [32, 2]), ([0, 1, 0, 0], [0, 2, 0, 0]));
    assert_eq!(kinds("DPWC", [32, 2]), ([0, 0, 1, 0], [0, 0, 2, 0]));
    assert_eq!(kinds("PDWC", [24, 2]), ([0, 1, 0, 0], [0, 2, 0, 0]));
    // Eight pages in four planes: two transactions.
    assert_eq!(kinds("PDWC", [128, 8]), ([0, 0, 0, 2], [0, 0, 0, 8]));
}

/// What GC has read waits for company, so that the end of a read, which leaves the bus, may be the last event of
/// all.
#[test]
fn a_bus_that_gc_leaves_last_holds_nothing_up() {
    for_seeds("transactions", "a_bus_that_gc_leaves_last_holds_nothing_up", 3, |seed| {
        let more = r#"
            arbiter = { policy = "priority", order = ["host-read", "gc-erase", "gc-write", "gc-read", "host-write"] }
            dispatch = { policy = "in-order", wait_for_bus = true }
        "#;
        let mut drive = of_small_units(2, "PDWC", more, seed);
        let pages = drive.logical_bytes() / 16384;
        watched_loop(&mut drive, 4, pages, |nth| request(Op::Write, nth * 16384, 16384), |_| {});
        let mut random = Stream::new(seed, "transactions", 1);
        let mut next = |_| {
            let op = [Op::Read, Op::Write][random.below(2) as usize];
            request(op, random.below(4 * pages) * 4096, 4096)
        };
        // Few at a time, so that often nothing else is under way.
        watched_loop(&mut drive, 2, 96 * pages, &mut next, |_| {});
        drive.drain().expect("the drive comes to rest");
        drive.kernel().audit().expect("the books balance");
    });
}

/// Requests of parts of pages and of several: some units find their page full, or alone in it, or of another request.
#[test]
fn units_of_any_requests_fill_pages_without_loss() {
    for_seeds("transactions", "units_of_any_requests_fill_pages_without_loss", 4, |seed| {
        for within in ["", r#"pack = { policy = "planes", across_requests = false }"#] {
            let mut drive = of_small_units(1, "PDWC", &format!("{IN_ORDER}\n{within}"), seed);
            let units = drive.logical_bytes() / 4096;
            let mut random = Stream::new(seed, "transactions", 2);
            let mut next = |_| {
                let (count, op) = (1 + random.below(12), [Op::Read, Op::Write, Op::Write][random.below(3) as usize]);
                request(op, random.below(units - 12) * 4096, count as u32 * 4096)
            };
            watched_loop(&mut drive, 32, 2 * units, &mut next, |_| {});
            drive.drain().expect("the drive comes to rest");
            drive.kernel().audit().expect("the books balance");
            assert!(drive.kernel().counters().collections() > 20, "{within}");
        }
    });
}

#[test]
fn nothing_is_lost_while_garbage_is_collected() {
    for_seeds("transactions", "nothing_is_lost_while_garbage_is_collected", 4, |seed| {
        for placement in ["static", "in-turn"] {
            for more in [IN_ORDER, r#"dispatch = { policy = "in-order", unit = "die" }"#, ""] {
                let mut drive = packages(FAST, placement, more, seed);
                let pages = drive.logical_bytes() / 2048;
                watched_loop(&mut drive, 4, pages, |nth| request(Op::Write, nth * 2048, 2048), |_| {});
                let mut random = Stream::new(seed, "transactions", 0);
                // Requests of one to eight pages, half of them in an eighth of the drive; some are given back.
                let mut next = |_| {
                    let within = if random.below(2) == 0 { pages / 8 } else { pages };
                    let (first, count) = (random.below(within - 8), 1 + random.below(8));
                    let op = [Op::Read, Op::Write, Op::Write, Op::Trim][random.below(4) as usize];
                    request(op, first * 2048, count as u32 * 2048)
                };
                watched_loop(&mut drive, 32, 2 * pages, &mut next, |_| {});
                drive.drain().expect("the drive comes to rest");
                drive.kernel().audit().expect("the books balance");
                assert!(drive.kernel().counters().collections() > 20, "{placement} {more}");
            }
        }
    });
}

#[test]
fn writes_in_turn_fill_all_planes_of_a_package_whatever_their_addresses() {
    let mut drive = packages(FAST, "in-turn", IN_ORDER, 1);
    let pages = drive.logical_bytes() / 2048;
    watched_loop(&mut drive, 4, pages - pages % 16, |nth| request(Op::Write, nth * 2048, 2048), |_| {});
    drive.drain().expect("the drive comes to rest");
    drive.start_measuring();
    // The first page goes at once; three with nothing in common go to the other planes of its package, in one transaction.
    latencies(&mut drive, Op::Write, [5, 77, 40, 18, 60]);
    let [_, writes] = drive.kernel().transactions().expect("there are transactions").of;
    assert_eq!(writes.pages, [2, 0, 0, 3]);
}
