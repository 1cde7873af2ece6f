//! Concurrently collected blocks, in a drive and in a die, counted from outside after every step, programs of moved pages,
//! and how long the host waits for them.

use crate::common::{closed_loop, config, drive, long, request, watched_loop};
use std::cell::Cell;
use wordline_base::{Op, Stream, Time};
use wordline_drive::Drive;
use wordline_firmware::blocks::Status;
use wordline_firmware::task::{Action, Class, Task};
use wordline_firmware::Counters;

/// Blocks being collected now.
fn victims(drive: &Drive) -> usize {
    drive.kernel().blocks().records().iter().filter(|block| block.status == Status::Victim).count()
}

/// Maximum number of concurrently collected blocks, and the number of collections, while a full drive with logical
/// pages of 4 KiB in flash pages of 16 KiB is overwritten in random order by writes of `kib`.
fn overwrite(at_a_time: u32, kib: u32) -> (usize, u64) {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1,
            blocks_per_plane = 48, pages_per_block = 32, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 8, start_blocks = 16, window_pages = 64,
            blocks_at_a_time = {at_a_time} }}
        buffer = {{ policy = "none" }}
        "#
    );
    let mut drive = drive(&text, 1);
    let (bytes, mut random) = (kib * 1024, Stream::new(1, "offsets", 0));
    let places = drive.logical_bytes() / u64::from(bytes);
    watched_loop(&mut drive, 8, places, |nth| request(Op::Write, nth * u64::from(bytes), bytes), |_| {});
    let before = drive.kernel().counters().collections();
    let mut most = 0;
    let anywhere = |_| request(Op::Write, random.below(places) * u64::from(bytes), bytes);
    watched_loop(&mut drive, 8, places, anywhere, |drive| most = most.max(victims(drive)));
    (most, drive.kernel().counters().collections() - before)
}

/// Writes of whole pages leave whole pages valid: no logical page of a victim waits for others, so no block starts
/// early.
#[test]
fn whole_pages_keep_to_the_limit() {
    for at_a_time in [1, 2, 4] {
        let (most, collections) = overwrite(at_a_time, 16);
        println!("limit {at_a_time}: at most {most} in {collections} collections");
        assert!(collections > 40, "{collections}");
        assert_eq!(most, at_a_time as usize);
    }
}

/// Only the logical pages of the last, incomplete page wait for others: less than a page of them, so from at most three
/// blocks.
#[test]
fn blocks_that_wait_for_company_are_few() {
    for at_a_time in [1, 2, 4] {
        let (most, collections) = overwrite(at_a_time, 4);
        println!("limit {at_a_time}: at most {most} in {collections} collections");
        assert!(collections > 40, "{collections}");
        assert!(most <= at_a_time as usize + 3, "{most} at a time, the limit is {at_a_time}");
    }
}

/// A drive of four dies of four planes, filled and overwritten in random order while `seen` looks on.
/// Gives it with its counters before the overwriting.
fn spread(options: &str, pack: &str, seed: u64, seen: impl FnMut(&Drive)) -> (Drive, Counters) {
    let text = format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 4,
            blocks_per_plane = 24, pages_per_block = 32, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 50.0, program_us = 400.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.25 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", start_blocks = 24, {options} }}
        pack = {{ policy = "planes", {pack} }}
        arbiter = {{ policy = "priority", order = ["host-read", "gc-erase", "gc-write", "gc-read", "host-write"] }}
        "#
    );
    let mut drive = drive(&text, seed);
    let (bytes, mut random) = (4096, Stream::new(seed, "offsets", 0));
    let places = drive.logical_bytes() / u64::from(bytes);
    watched_loop(&mut drive, 32, places, |nth| request(Op::Write, nth * u64::from(bytes), bytes), |_| {});
    let before = *drive.kernel().counters();
    let anywhere = |_| request(Op::Write, random.below(places) * u64::from(bytes), bytes);
    watched_loop(&mut drive, 32, 3 * places, anywhere, seen);
    (drive, before)
}

#[test]
fn dies_have_no_more_victims_than_allowed() {
    for (limit, options) in [(1, "blocks_per_die = 1"), (2, "blocks_per_die = 2, blocks_at_a_time = 8")] {
        let mut most = [0; 4];
        spread(options, "", 1, |drive| {
            let mut now = [0; 4];
            let records = drive.kernel().blocks().records().iter().enumerate();
            for (block, _) in records.filter(|(_, record)| record.status == Status::Victim) {
                now[block / (4 * 24)] += 1;
            }
            most.iter_mut().zip(now).for_each(|(most, now)| *most = now.max(*most));
        });
        assert_eq!(most, [limit; 4]);
    }
}

#[test]
fn moved_pages_fill_programs_of_all_planes() {
    // Commands for each page that GC moves.
    let commands = |pack: &str, seed| {
        let (drive, before) = spread("blocks_per_die = 1", pack, seed, |_| {});
        let (after, class) = (drive.kernel().counters(), Class::new(Task::GC, Action::Program).index());
        (after.commands - before.commands) as f64 / (after.ops[class] - before.ops[class]) as f64
    };
    for seed in 1..4 {
        let (alone, gathered) = (commands("gather = false", seed), commands("gather = true", seed));
        println!("seed {seed}: {alone:.3} and {gathered:.3} commands a moved page");
        assert!(gathered < 0.8 * alone, "{alone} {gathered}");
    }
}

/// Overwrites a full drive of four dies, with the least spare that is accepted, at random with 32 writes in flight. Gives
/// the longest time in which none of them was completed, and the time that all of them took.
fn pauses(pacing: bool, seed: u64) -> (Time, Time) {
    let text = format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1,
            blocks_per_plane = 48, pages_per_block = 64, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 2.0 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", pacing = {pacing} }}
        buffer = {{ policy = "fifo", capacity_kib = 512 }}
        "#
    );
    let mut config = config(&text);
    let least = (0..1000).map(|step| 1.0 + 0.001 * f64::from(step)).find(|&ratio| {
        config.firmware.capacity.raw_over_logical = ratio;
        config.parts().is_ok()
    });
    assert!(least.is_some_and(|ratio| ratio < 1.1), "{least:?}");
    let mut drive = Drive::new(&config, seed).expect("it is accepted");
    let (places, mut random) = (drive.logical_bytes() / 4096, Stream::new(seed, "places", 0));
    watched_loop(&mut drive, 32, places, |nth| request(Op::Write, nth * 4096, 4096), |_| {});
    let mut anywhere = |_| request(Op::Write, random.below(places) * 4096, 4096);
    watched_loop(&mut drive, 32, places, &mut anywhere, |_| {});

    let begin = drive.now();
    let (submitted, mut completed, mut last, mut longest) = (Cell::new(0), 0, begin, 0);
    let counted = |nth| {
        submitted.set(nth + 1);
        anywhere(nth)
    };
    watched_loop(&mut drive, 32, 2 * places, counted, |drive| {
        let now = submitted.get() - u64::from(drive.in_flight());
        if now > completed {
            longest = longest.max(drive.now() - last);
            (completed, last) = (now, drive.now());
        }
    });
    (longest, drive.now() - begin)
}

/// Without pacing the host waits for a whole block, with it for the moves that gain a page, also where its open block ends and
/// the next one is of the reserve.
#[test]
fn a_paced_host_has_short_pauses_at_the_same_throughput() {
    let seeds = if long() { 1..21 } else { 1..6 };
    let (mut product, mut count) = (1.0_f64, 0);
    for seed in seeds {
        let ((blocks, block_time), (moves, move_time)) = (pauses(false, seed), pauses(true, seed));
        let ms = |time: Time| time as f64 / 1e9;
        let throughput = block_time as f64 / move_time as f64;
        println!(
            "seed {seed}: no write completed for {:.1} ms, paced {:.1} ms, at {throughput:.3} times the throughput",
            ms(blocks),
            ms(moves)
        );
        assert!(blocks > 12 * moves, "{blocks} {moves}");
        // A run may gain a little by chance; it may not lose.
        assert!((0.95..1.1).contains(&throughput), "{throughput}");
        product *= throughput;
        count += 1;
    }
    let mean = product.powf(1.0 / f64::from(count));
    assert!((0.95..1.05).contains(&mean), "{mean}");
}

/// Nobody writes a page before GC has made room, so nothing but the write that finds none can start GC.
#[test]
fn a_larger_reserve_than_a_taken_over_drive_has_free_blocks_makes_room_first() {
    let sections = [
        "collect = { policy = \"on-demand\", scope = \"drive\", RESERVE }",
        "collect = { policy = \"on-demand\", scope = \"drive\", RESERVE }\nmapping = { policy = \"block\" }",
        "placement = { policy = \"static\" }\ncollect = { policy = \"on-demand\", RESERVE }\nmapping = { policy = \"block\" }",
        "collect = { policy = \"on-demand\", scope = \"drive\", RESERVE }\ndispatch = { policy = \"debit\", depth = 2 }",
    ];
    for (at, section) in sections.into_iter().enumerate() {
        let with = |reserve: u32| {
            let free = format!("reserve_blocks = {reserve}, start_blocks = {0}, stop_blocks = {0}", reserve + 2);
            let placement = if section.contains("static") { "" } else { "placement = { policy = \"least-busy\" }" };
            let text = format!(
                r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 48, pages_per_block = 8, page_kib = 16 }}
        capacity = {{ raw_over_logical = 2.0 }}
        {placement}
        {}
        verify = {{ shadow = true }}
        "#,
                section.replace("RESERVE", &free)
            );
            drive(&text, 1)
        };
        for seed in 0..3 {
            let mut before = with(1);
            let pages = before.logical_bytes() / 16_384;
            let mut random = Stream::new(seed, "places", 0);
            let mut write = |pages: u64| request(Op::Write, random.below(pages) * 16_384, 16_384);
            closed_loop(&mut before, 8, 4 * pages, |_| write(pages));
            before.drain().expect("it comes to rest");
            let mut drive = with(12);
            drive.adopt(&before).expect("of one shape");
            closed_loop(&mut drive, 4, pages, |_| write(pages));
            drive.drain().expect("it comes to rest");
            drive.kernel().audit().unwrap_or_else(|fault| panic!("{at}, seed {seed}: {fault}"));
        }
    }
}
