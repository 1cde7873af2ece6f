//! The mapping table in flash: which lookups read it, what is written back and by whom, and what waits for it.

use crate::common::{drive, for_seeds, latency, request, watched_loop, US};
use wordline_base::{Op, Stream, Time};
use wordline_drive::{Drive, Task};
use wordline_firmware::Counters;

const UNIT: u64 = 4096;
/// Mapping units whose entries are in a map unit of 4 KiB.
const ENTRIES: u64 = 1024;

/// Four dies of one plane, 512 MiB of flash, whose table has about a hundred map units; filled in order.
fn filled(cache_kib: u32, extra: &str, seed: u64) -> Drive {
    let mut drive = empty(cache_kib, extra, seed);
    let units = drive.logical_bytes() / UNIT;
    watched_loop(&mut drive, 16, units / 32, |nth| request(Op::Write, nth * 32 * UNIT, 32 * UNIT as u32), |_| {});
    drive.drain().expect("it comes to rest");
    drive.kernel().audit().expect("the books balance");
    drive
}

fn empty(cache_kib: u32, extra: &str, seed: u64) -> Drive {
    drive(
        &format!(
            r#"
        geometry = {{ channels = 2, packages_per_channel = 2, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 128, pages_per_block = 64, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.25 }}
        mapping = {{ policy = "cached", unit_kib = 4, cache_kib = {cache_kib} }}
        verify = {{ shadow = true }}
        {extra}
        "#
        ),
        seed,
    )
}

fn counters(drive: &Drive) -> Counters {
    *drive.kernel().counters()
}

/// Map units read and written since an earlier moment, by task.
fn of_table(drive: &Drive, before: &Counters, task: Task) -> (u64, u64) {
    let (seen, at) = (counters(drive), task.index());
    (seen.map_reads[at] - before.map_reads[at], seen.map_writes[at] - before.map_writes[at])
}

fn of_host(drive: &Drive, before: &Counters) -> (u64, u64) {
    of_table(drive, before, Task::HOST)
}

fn read(drive: &mut Drive, unit: u64) -> Time {
    latency(drive, request(Op::Read, unit * UNIT, UNIT as u32))
}

#[test]
fn a_lookup_reads_the_map_unit_that_memory_lacks_once() {
    let mut drive = filled(8, "", 1);
    // Two map units are in memory: those of the last units written.
    let before = counters(&drive);
    let missed = read(&mut drive, 5);
    let hit = read(&mut drive, 6);
    // A read of the table, and its data.
    assert!(missed > hit + 50 * US && missed < 2 * hit + 20 * US, "{missed} and {hit}");
    let seen = counters(&drive);
    assert_eq!((seen.map_lookups - before.map_lookups, seen.map_hits - before.map_hits), (2, 1));
    assert_eq!(of_host(&drive, &before).0, 1);
    // The other line of the cache gets the next; the third takes the one that was used the longest ago.
    read(&mut drive, ENTRIES);
    assert_eq!(read(&mut drive, 7), hit);
    read(&mut drive, 2 * ENTRIES);
    assert_eq!(of_host(&drive, &before).0, 3);
    assert_eq!(read(&mut drive, 8), hit, "it was used after the second");
    assert!(read(&mut drive, ENTRIES + 1) > hit + 50 * US, "the second had left");
    // Nothing has changed since those of the fill left: nothing is written.
    drive.drain().expect("it comes to rest");
    let before = counters(&drive);
    for map_unit in 30..40 {
        read(&mut drive, map_unit * ENTRIES);
    }
    assert_eq!(of_host(&drive, &before), (10, 0));
}

#[test]
fn a_map_unit_that_changed_is_written_when_it_leaves() {
    let mut drive = filled(8, "", 1);
    // Units of two other map units take the place of those of the fill.
    read(&mut drive, 5);
    read(&mut drive, ENTRIES);
    drive.drain().expect("it comes to rest");
    let before = counters(&drive);
    latency(&mut drive, request(Op::Write, 5 * UNIT, UNIT as u32));
    latency(&mut drive, request(Op::Write, 6 * UNIT, UNIT as u32));
    drive.drain().expect("it comes to rest");
    assert_eq!(of_host(&drive, &before), (0, 0), "its entries are in memory");
    read(&mut drive, 2 * ENTRIES);
    drive.drain().expect("it comes to rest");
    assert_eq!(of_host(&drive, &before).1, 0, "the second was used before the first");
    read(&mut drive, 3 * ENTRIES);
    drive.drain().expect("it comes to rest");
    assert_eq!(of_host(&drive, &before).1, 1, "both changes go to flash together");
    assert_eq!(counters(&drive).padded_units - before.padded_units, 3 + 3 + 3, "each came alone in a page");
}

#[test]
fn others_go_on_while_a_request_waits_for_the_table() {
    let mut drive = filled(8, "", 1);
    read(&mut drive, 5);
    drive.drain().expect("it comes to rest");
    let now = drive.now();
    let missing = drive.submit(now, request(Op::Read, 20 * ENTRIES * UNIT, UNIT as u32)).expect("there is room");
    let present = drive.submit(now, request(Op::Read, 6 * UNIT, UNIT as u32)).expect("there is room");
    let mut order = Vec::new();
    while drive.step().expect("no rule is broken") {
        order.extend(drive.completions().drain(..).map(|done| done.slot));
    }
    assert_eq!(order, [present, missing]);
}

#[test]
fn a_trim_of_whole_map_units_reads_nothing() {
    let mut drive = filled(8, "", 1);
    let before = counters(&drive);
    let whole = request(Op::Trim, 10 * ENTRIES * UNIT, (2 * ENTRIES * UNIT) as u32);
    latency(&mut drive, whole);
    assert_eq!(of_host(&drive, &before).0, 0);
    let part = request(Op::Trim, 14 * ENTRIES * UNIT + UNIT, (ENTRIES * UNIT) as u32);
    latency(&mut drive, part);
    drive.drain().expect("it comes to rest");
    assert_eq!(of_host(&drive, &before).0, 2, "of two map units some entries stay");
    drive.kernel().audit().expect("the books balance");
    // What was given back is gone, without a read of flash for its data.
    let before = counters(&drive).reads();
    read(&mut drive, 10 * ENTRIES);
    assert!(counters(&drive).reads() - before <= 1, "at most its map unit");
}

#[test]
fn the_host_and_gc_pay_for_their_own_map_units() {
    for_seeds("map_cache", "the_host_and_gc_pay_for_their_own_map_units", 2, |seed| {
        for extra in ["", "dispatch = { policy = \"debit\" }", "buffer = { policy = \"fifo\", capacity_kib = 512 }"] {
            let mut drive = filled(64, extra, seed);
            let units = drive.logical_bytes() / UNIT;
            let mut random = Stream::new(seed, "places", 0);
            let before = counters(&drive);
            let mixed = |_| {
                let op = if random.below(4) == 0 { Op::Read } else { Op::Write };
                request(op, random.below(units) * UNIT, UNIT as u32)
            };
            watched_loop(&mut drive, 16, units / 2, mixed, |_| {});
            drive.drain().expect("it comes to rest");
            drive.kernel().audit().expect("the books balance");
            let seen = counters(&drive);
            let [host, gc] = [Task::HOST, Task::GC].map(|task| of_table(&drive, &before, task));
            let lookups = seen.map_lookups - before.map_lookups;
            // Each request is of one unit; those for units in the write buffer look nothing up.
            assert!((units * 99 / 200..=units / 2).contains(&lookups), "{lookups}");
            // 16 of about a hundred map units are in memory, and those that wait to be written.
            let hits = (seen.map_hits - before.map_hits) as f64 / lookups as f64;
            assert!((0.1..0.43).contains(&hits), "{hits}");
            assert!(host.0 > 0 && host.1 > 0 && gc.0 > 0 && gc.1 > 0, "{host:?} {gc:?}");
            // Each map unit that is written was read, or was there at the start.
            assert!(host.1 + gc.1 <= host.0 + gc.0 + 16, "{host:?} {gc:?}");
        }
    });
}

#[test]
fn a_cache_of_one_map_unit_comes_to_rest_with_hardly_any_spare_space() {
    for_seeds("map_cache", "a_cache_of_one_map_unit_comes_to_rest_with_hardly_any_spare_space", 1, |seed| {
        let dispatch =
            ["", "dispatch = { policy = \"one-queue\", depth = 1 }", "dispatch = { policy = \"weighted-fair\" }"];
        for (scope, dispatch) in ["plane", "drive"].into_iter().zip(dispatch).chain([("drive", dispatch[2])]) {
            let placement = if scope == "plane" { "static" } else { "least-busy" };
            let text = |ratio: f64| {
                format!(
                    r#"
                    geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 2,
                        blocks_per_plane = 40, pages_per_block = 32, page_kib = 16 }}
                    nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
                    capacity = {{ raw_over_logical = {ratio} }}
                    mapping = {{ policy = "cached", unit_kib = 4, cache_kib = 4 }}
                    placement = {{ policy = "{placement}" }}
                    collect = {{ policy = "on-demand", scope = "{scope}" }}
                    refresh = {{ policy = "scrub", start_reads = 200, stop_reads = 100 }}
                    {dispatch}
                    verify = {{ shadow = true }}
                    "#
                )
            };
            let accepted = (100..200).map(|percent| f64::from(percent) / 100.0).find(|&ratio| {
                wordline_drive::load::from_text("tight", &text(ratio)).is_ok_and(|config| config.parts().is_ok())
            });
            let mut drive = drive(&text(accepted.expect("some ratio is enough")), seed);
            let units = drive.logical_bytes() / UNIT;
            let mut random = Stream::new(seed, "places", 0);
            watched_loop(&mut drive, 16, units, |nth| request(Op::Write, nth * UNIT, UNIT as u32), |_| {});
            let mixed = |_| {
                let op = if random.below(4) == 0 { Op::Read } else { Op::Write };
                request(op, random.below(units) * UNIT, UNIT as u32)
            };
            watched_loop(&mut drive, 16, 2 * units, mixed, |_| {});
            assert!(counters(&drive).collections() > 50);
            drive.drain().expect("it comes to rest");
            drive.kernel().audit().expect("the books balance");
        }
    });
}
