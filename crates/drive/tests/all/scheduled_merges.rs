//! Merges of log blocks in idle periods (AGC and DGC): worked examples by hand, a merge that is interrupted at each of its operations, and
//! random drives, loads and rests.
//!
//! In the examples a read takes one cycle, a program two, an erase 38, and the bus next to nothing beside a cycle of 1 ms.

use crate::common::random_drive::random_config_with_logs;
use crate::common::{between, chance, closed_loop, config, drive, for_seeds, long, one, request, US};
use wordline_base::{Op, Request, Stream, Time};
use wordline_drive::array::config::{ArrayConfig, ArrayKind, Members};
use wordline_drive::array::layout::Layout;
use wordline_drive::array::Array;
use wordline_drive::load::from_text;
use wordline_drive::snapshot::{self, Header};
use wordline_drive::{Device, Drive};

const CYCLE: Time = 1_000 * US;
const PAGE: u64 = 16_384;
/// Pages in a block.
const PAGES: u64 = 8;

/// One die of 20 blocks of eight pages, with ten logical blocks.
fn text(mapping: &str, collect: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 20, pages_per_block = {PAGES}, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 1600, read_us = 1000.0, program_us = 2000.0, erase_us = 38000.0 }}
        capacity = {{ raw_over_logical = 2.0 }}
        mapping = {{ {mapping} }}
        placement = {{ policy = "least-busy" }}
        collect = {{ scope = "drive", reserve_blocks = 1, {collect} }}
        arbiter = {{ policy = "first-come" }}
        buffer = {{ policy = "none" }}
        link = {{ policy = "nvme", pcie_generation = 5, pcie_lanes = 16, latency_us = 0.0 }}
        verify = {{ shadow = true }}
        "#
    )
}

/// The same drive with data in four logical blocks.
fn filled(mapping: &str, collect: &str) -> Drive {
    let mut drive = drive(&text(mapping, collect), 1);
    (0..4 * PAGES).for_each(|page| write(&mut drive, page));
    drive
}

const BAST: &str = "policy = \"bast\"";
const START: &str = "start_blocks = 2";

fn write(drive: &mut Drive, page: u64) {
    one(drive, request(Op::Write, page * PAGE, PAGE as u32));
}

/// Reads pages; the shadow disk checks that they are the newest.
fn read(drive: &mut Drive, pages: std::ops::Range<u64>) {
    for page in pages {
        one(drive, request(Op::Read, page * PAGE, PAGE as u32));
    }
}

/// Pages of a logical block out of order, each as often as its log block has room for `count`.
fn scatter(drive: &mut Drive, lot: u64, count: u64) {
    (0..count).for_each(|nth| write(drive, lot * PAGES + (PAGES - 1 - nth % PAGES)));
}

fn submit(drive: &mut Drive, op: Op, page: u64, pages: u64) {
    let arrival = drive.now();
    let request = Request { arrival, ..request(op, page * PAGE, (pages * PAGE) as u32) };
    drive.submit(arrival, request).expect("there is a slot");
}

/// The host rests for so many cycles; then come pages that it writes.
fn rest(drive: &mut Drive, cycles: u64, page: u64, pages: u64) {
    let next = drive.now() + cycles * CYCLE;
    drive.preview(Some(&request(Op::Write, page * PAGE, (pages * PAGE) as u32)));
    drive.announce(Some(next));
    drive.advance_to(next).expect("no rule is broken");
}

/// Merges on demand, ahead of a request, of full log blocks, and of delayed ones.
fn causes(drive: &Drive) -> [u64; 4] {
    let [causes @ .., in_steps] = drive.kernel().counters().merges_by_cause;
    assert_eq!(in_steps, 0);
    causes
}

fn come_to_rest(drive: &mut Drive) {
    drive.announce(None);
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    assert_eq!(drive.kernel().operations(), 0);
}

/// Figure 7.5 of jung13: the logical block of a request has one free page, and the request two.
#[test]
fn the_merge_that_the_next_request_needs_is_done_ahead() {
    // Eight pages of three cycles, two blocks of 38 and two for the metadata (equation 7.2).
    let time = 8 * 3 + 2 * 40;
    for (cycles, pages, ahead) in [(time, 2, 1), (time - 1, 2, 0), (time, 1, 0)] {
        let mut drive = filled(BAST, &format!("policy = \"agc\", {START}"));
        scatter(&mut drive, 1, 7);
        let before = drive.kernel().counters().erases();
        // The drive knows from its end on how long it rests.
        rest(&mut drive, cycles, PAGES + 2, pages);
        assert_eq!(causes(&drive), [0, ahead, 0, 0], "{cycles} cycles, {pages} pages");
        assert_eq!(drive.kernel().counters().erases() - before, 2 * ahead);
        let begin = drive.now();
        let done = one(
            &mut drive,
            Request { arrival: begin, ..request(Op::Write, (PAGES + 2) * PAGE, (pages * PAGE) as u32) },
        );
        let waited = (done.time - begin) / CYCLE;
        // A program for each page; without look-ahead the second page waits for the merge, its erases and all.
        let merged = pages == 2 && ahead == 0;
        assert!(if merged { waited > 40 } else { waited <= 2 * pages }, "{waited} cycles");
        come_to_rest(&mut drive);
    }
}

/// The same of members of a stripe of two: each is told its own piece of the next request of the array. Chunks are pages, so page 2n of the
/// array is page n of the first member, and page 2n + 1 that of the second.
#[test]
fn members_of_a_stripe_look_ahead_at_their_pieces_of_the_next_request() {
    let time = 8 * 3 + 2 * 40;
    let both = [PAGES + 2, PAGES + 2];
    // The request of the array: its first page and its pages, and the rest before it; merges ahead of each member.
    for (first, pages, cycles, ahead) in [
        // Two pages of each member, of which the log block of each has room for one.
        (2 * both[0], 4, time, [1, 1]),
        // Two of the second member, and one of the first.
        (2 * both[0] + 1, 3, time, [0, 1]),
        // One of each.
        (2 * both[0], 2, time, [0, 0]),
        (2 * both[0], 4, time - 1, [0, 0]),
    ] {
        let drives: Vec<Drive> = (0..2)
            .map(|_| {
                let mut drive = filled(BAST, &format!("policy = \"agc\", {START}"));
                scatter(&mut drive, 1, 7);
                drive
            })
            .collect();
        let sizes: Vec<u64> = drives.iter().map(Drive::logical_bytes).collect();
        let plan = ArrayConfig {
            kind: ArrayKind::Raid0,
            members: Members::Count(2),
            drive: Some("small".into()),
            ..ArrayConfig::default()
        };
        let mut array = Array::new(&plan, Layout::new(ArrayKind::Raid0, &sizes, PAGE), drives);
        array.start_measuring();
        assert!(array.previews() && array.waits_for_rest());
        let next = array.now() + cycles * CYCLE;
        let write = request(Op::Write, first * PAGE, (pages * PAGE) as u32);
        array.preview(Some(&write));
        array.announce(Some(next));
        array.advance_to(next).expect("no rule is broken");
        let done = |array: &Array| {
            let all: Vec<[u64; 4]> = array.drives().map(causes).collect();
            [all[0], all[1]]
        };
        assert_eq!(done(&array), ahead.map(|ahead| [0, ahead, 0, 0]), "{pages} pages from {first}, {cycles} cycles");
        array.submit(next, Request { arrival: next, ..write }).expect("there is a slot");
        array.preview(None);
        array.announce(None);
        array.drain().expect("the array comes to rest");
        array.drives().for_each(|drive| drive.kernel().audit().expect("the books balance"));
    }
}

#[test]
fn full_log_blocks_are_merged_in_long_rests_while_free_blocks_are_few() {
    // After 1 s, 1,000 cycles. Of 20 blocks 14 are free with two log blocks.
    for (threshold, cycles, merges) in [(15, 1_300, 2), (15, 1_000, 0), (15, 1_050, 1), (14, 1_300, 0)] {
        let mut drive = filled(BAST, &format!("policy = \"agc\", {START}, threshold_blocks = {threshold}"));
        scatter(&mut drive, 1, 8);
        scatter(&mut drive, 2, 8);
        // A page in a third one, which is not full.
        rest(&mut drive, cycles, 0, 1);
        let started = causes(&drive)[2];
        let expected = if threshold == 15 && cycles == 1_300 { 1 } else { merges };
        assert_eq!(started, expected, "threshold {threshold}, {cycles} cycles");
        come_to_rest(&mut drive);
    }
    // Or whichever comes first on demand: that was not written for the longest time.
    let mut drive = filled(BAST, &format!("policy = \"agc\", {START}, threshold_blocks = 16, compacts = \"any\""));
    scatter(&mut drive, 1, 5);
    scatter(&mut drive, 2, 8);
    rest(&mut drive, 1_300, 0, 1);
    assert_eq!((causes(&drive)[2], drive.kernel().counters().log_merges), (2, 2));
    come_to_rest(&mut drive);
    // With a higher threshold the second one follows.
    let mut drive = filled(BAST, &format!("policy = \"agc\", {START}, threshold_blocks = 17"));
    scatter(&mut drive, 1, 8);
    scatter(&mut drive, 2, 5);
    scatter(&mut drive, 3, 8);
    rest(&mut drive, 2_000, 0, 1);
    assert_eq!(causes(&drive), [0, 0, 2, 0], "the third is not full");
    come_to_rest(&mut drive);
}

#[test]
fn a_delay_block_stands_in_for_a_merge_until_the_host_rests() {
    let mut drive = filled(BAST, &format!("policy = \"dgc\", {START}"));
    scatter(&mut drive, 1, 8);
    let erases = drive.kernel().counters().erases();
    // The log block is full: another stands in, and no write waits.
    for page in [PAGES + 3, PAGES + 1, PAGES + 3] {
        let begin = drive.now();
        let done = one(&mut drive, Request { arrival: begin, ..request(Op::Write, page * PAGE, PAGE as u32) });
        assert!((done.time - begin) < 3 * CYCLE);
    }
    let counters = *drive.kernel().counters();
    assert_eq!((counters.delay_blocks, counters.erases() - erases, causes(&drive)), (1, 0, [0; 4]));
    // What is read is the newest, from the delay block: the shadow disk checks it.
    read(&mut drive, PAGES..2 * PAGES);
    // The data block, the log block and the delay block become free: no more pages are copied than a logical block has.
    rest(&mut drive, 24 + 3 * 38, 0, 1);
    let after = *drive.kernel().counters();
    assert_eq!((causes(&drive), after.erases() - erases), ([0, 0, 0, 1], 3));
    assert_eq!(after.moved.iter().sum::<u64>(), 8);
    assert_eq!(after.interruptions, 0);
    come_to_rest(&mut drive);
}

#[test]
fn without_free_blocks_the_host_waits_for_a_merge() {
    let mut drive = filled(BAST, &format!("policy = \"dgc\", {START}"));
    // It never rests: 19 free blocks at most stand in.
    for nth in 0..200 {
        write(&mut drive, nth * 7 % (4 * PAGES));
    }
    let counters = *drive.kernel().counters();
    assert!(counters.delay_blocks > 5 && causes(&drive)[0] > 0, "{counters:?}");
    assert_eq!(causes(&drive)[1..], [0; 3]);
    come_to_rest(&mut drive);
}

#[test]
fn delayed_merges_come_first_and_their_time_is_deducted() {
    // A retroactive merge of 24 + 3 * 38 cycles, then one ahead of 24 + 2 * 40.
    for (cycles, ahead) in [(24 + 114 + 104, 1), (24 + 114 + 103, 0)] {
        let mut drive = filled(BAST, &format!("policy = \"agc-dgc\", {START}"));
        scatter(&mut drive, 1, 9);
        scatter(&mut drive, 2, 7);
        rest(&mut drive, cycles + 1, 2 * PAGES, 2);
        assert_eq!(causes(&drive), [0, ahead, 0, 1], "{cycles} cycles");
        come_to_rest(&mut drive);
    }
}

/// The read, program or erase of a merge that go in steps, counted after each write.
#[test]
fn a_partial_merge_goes_in_steps_that_writes_pay_for() {
    for (per_page, threshold, writes) in [(1, 16, 10), (3, 16, 8), (1, 15, 11)] {
        let steps =
            format!("policy = \"partial\", {START}, threshold_blocks = {threshold}, steps_per_page = {per_page}");
        let mut drive = filled("policy = \"pftl\"", &steps);
        // Sixteen blocks are free, fifteen with the block of the buffer that this fills.
        scatter(&mut drive, 1, 7);
        let erases = drive.kernel().counters().erases();
        for nth in 0..writes {
            let begin = drive.now();
            write(&mut drive, if nth == 0 { PAGES } else { 2 * PAGES + 7 - nth % 7 });
            assert!(drive.now() - begin < 3 * CYCLE, "it waits for nothing");
            // What was paid for is done, and nothing more, however long the host rests.
            rest(&mut drive, 2_000, 0, 1);
            let counters = *drive.kernel().counters();
            let done = [counters.moved.iter().sum::<u64>(), counters.erases() - erases];
            // Eight pages are copied, then the old data block and the block of the buffer are erased.
            let paid = per_page * if threshold == 16 { nth + 1 } else { nth };
            assert_eq!(done, [paid.min(8), paid.saturating_sub(8).min(2)], "{threshold} {per_page}: {nth}");
            assert_eq!(counters.merges_by_cause, [0, 0, 0, 0, u64::from(paid > 0)]);
        }
        come_to_rest(&mut drive);
        read(&mut drive, 0..4 * PAGES);
        let counters = *drive.kernel().counters();
        assert_eq!((counters.interruptions, counters.pressed_merges, counters.log_merges), (0, 0, 1));
    }
}

#[test]
fn writes_wait_for_the_end_of_a_partial_merge_when_the_buffer_is_full() {
    let steps = format!("policy = \"partial\", {START}, threshold_blocks = 16");
    let mut drive = filled("policy = \"pftl\", log_blocks = 2", &steps);
    scatter(&mut drive, 1, 8);
    scatter(&mut drive, 2, 7);
    let begin = drive.now();
    write(&mut drive, 2 * PAGES);
    assert!(drive.now() - begin < 6 * CYCLE, "a step at most");
    // All eight pages are copied, and the old data block is erased. This write needs the last erase: write buffer thrashing.
    let begin = drive.now();
    write(&mut drive, 3 * PAGES + 3);
    assert!(drive.now() - begin >= 38 * CYCLE);
    assert_eq!(drive.kernel().counters().pressed_merges, 1);
    come_to_rest(&mut drive);
    read(&mut drive, 0..4 * PAGES);
}

/// What was delayed is still to be done after a snapshot, and in a fork.
#[test]
fn a_snapshot_keeps_what_was_delayed() {
    let mut drive = filled(BAST, &format!("policy = \"agc-dgc\", {START}, threshold_blocks = 19"));
    scatter(&mut drive, 1, 9);
    scatter(&mut drive, 2, 8);
    come_to_rest(&mut drive);
    let config = config(&text(BAST, &format!("policy = \"agc-dgc\", {START}, threshold_blocks = 19")));
    let header = Header {
        version: "test".into(),
        config: serde_json::to_value(&config).expect("is JSON"),
        seed: 1,
        precondition: serde_json::Value::Null,
    };
    let path = std::env::temp_dir().join(format!("wordline-scheduled-{}.snapshot", std::process::id()));
    snapshot::save(&path, &header, &drive).expect("it is saved");
    let (_, loaded) = snapshot::load(&path, &config, 1).expect("it is loaded");
    std::fs::remove_file(&path).expect("it was there");
    let fork = drive.clone();
    let ends = [drive, fork, loaded].map(|mut drive| {
        one(&mut drive, request(Op::Read, 0, PAGE as u32));
        rest(&mut drive, 2_000, 0, 1);
        assert_eq!(causes(&drive), [0, 0, 1, 1]);
        come_to_rest(&mut drive);
        (drive.now(), drive.kernel().state_hash())
    });
    assert!(ends[0] == ends[1] && ends[0] == ends[2], "{ends:?}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (mapping, collect, key, words) in [
        ("policy = \"page\"", "policy = \"agc\"", "collect.policy", "log blocks"),
        ("policy = \"page\"", "policy = \"partial\"", "collect.policy", "\"pftl\""),
        (BAST, "policy = \"partial\", threshold_blocks = 2", "collect.threshold_blocks", "more than start_blocks = 2"),
        (BAST, "policy = \"partial\", steps_per_page = 0", "collect.steps_per_page", "between 1 and 1000"),
        (BAST, "policy = \"partial\", window_pages = 2", "collect.window_pages", "must be 1"),
        (BAST, "policy = \"partial\", instant = true", "collect.instant", "would take no time"),
        ("policy = \"block\"", "policy = \"dgc\"", "collect.policy", "\"fast\""),
        (BAST, "policy = \"agc\", window_pages = 8", "collect.window_pages", "must be 1"),
        (BAST, "policy = \"dgc\", instant = true", "collect.instant", "idle periods"),
        (BAST, "policy = \"agc\", idle_us = -1.0", "collect.idle_us", "1e12"),
        (BAST, "policy = \"agc-dgc\", threshold_blocks = 0", "collect.threshold_blocks", "at least 1"),
        (BAST, "policy = \"agc\", blocks_per_die = 2", "collect.blocks_per_die", "has no effect"),
        (BAST, "policy = \"dgc\", threshold_blocks = 3", "collect.threshold_blocks", "option of policy 'agc'"),
    ] {
        let error =
            from_text("test", &text(mapping, &format!("{collect}, {START}"))).map(|config| config.parts().map(drop));
        let told = match error {
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
            Ok(Ok(())) => panic!("{mapping}, {collect} is accepted"),
        };
        assert!(told.contains(key) && told.contains(words), "{told}");
    }
}

/// At each half cycle of a merge, so at each of its 18 operations, a request comes. It waits for one operation at most; the merge goes on
/// afterwards, or when the drive comes to rest, and nothing is lost.
#[test]
fn a_merge_is_interrupted_at_each_of_its_operations() {
    let mut hit = [0; 3];
    for half in 1..2 * (8 * 3 + 2 * 38) {
        for what in 0..4 {
            let mut drive = filled(BAST, &format!("policy = \"agc-dgc\", {START}"));
            scatter(&mut drive, 1, 8);
            let begin = drive.now();
            drive.preview(Some(&request(Op::Write, PAGES * PAGE, PAGE as u32)));
            drive.announce(Some(begin + 104 * CYCLE));
            drive.advance_to(begin + half * CYCLE / 2).expect("no rule is broken");
            assert_eq!(causes(&drive), [0, 1, 0, 0]);
            // Of another logical block, or of the one that is merged: a page copied early, or late.
            let (op, page) =
                [(Op::Read, 3), (Op::Read, PAGES + 7), (Op::Write, PAGES + 1), (Op::Write, PAGES + 7)][what];
            submit(&mut drive, op, page, 1);
            let came = drive.now();
            let mut done = None;
            while done.is_none() {
                drive.step().expect("no rule is broken");
                done = drive.completions().drain(..).next().map(|completion| completion.time);
            }
            let waited = done.expect("it is done") - came;
            assert!(waited < 38 * CYCLE + 3 * CYCLE, "{waited} ps at half cycle {half}");
            let during = *drive.kernel().counters();
            let steps = [during.reads(), during.programs(), during.erases()];
            hit[what % 3] += during.interruptions;
            match half % 3 {
                0 => {}
                1 => {
                    // The host writes on in the same logical block, and rests for good.
                    submit(&mut drive, Op::Write, PAGES + 4, 2);
                    while drive.in_flight() > 0 {
                        drive.step().expect("no rule is broken");
                        drive.completions().clear();
                    }
                    rest(&mut drive, 500, 0, 1);
                    assert!(drive.kernel().counters().erases() >= steps[2]);
                }
                _ => rest(&mut drive, 500, 0, 1),
            }
            come_to_rest(&mut drive);
            read(&mut drive, 0..4 * PAGES);
            assert_eq!(drive.kernel().counters().log_merges, 1, "half cycle {half}");
        }
    }
    assert!(hit.iter().all(|&count| count > 100), "{hit:?}");
}

/// Rests of any length between bursts on random drives, with previews of any kind: no rule is broken, no data are lost.
#[test]
fn scheduled_merges_cost_no_data() {
    let (mut causes, mut interruptions, mut delay_blocks, mut pressed) = ([0; 5], 0, 0, 0);
    for_seeds("scheduled_merges", "scheduled_merges_cost_no_data", if long() { 20_000 } else { 2_000 }, |seed| {
        let random = &mut Stream::new(seed, "rests", 0);
        let Some(config) = random_config_with_logs(random, true) else { return };
        let mut drive = Drive::new(&config, seed).expect("it is accepted");
        let sectors = drive.logical_bytes() / 512;
        let few = chance(random, 50);
        for _ in 0..20 {
            drive.announce(None);
            let mut next = |_| {
                let op = match random.below(10) {
                    0..=1 => Op::Read,
                    2 => Op::Trim,
                    3 if chance(random, 20) => Op::Flush,
                    _ => Op::Write,
                };
                let at = if few { random.below(sectors.div_ceil(6)) } else { random.below(sectors) };
                let bytes = if op == Op::Flush { 0 } else { (512 * (1 + random.below(64.min(sectors - at)))) as u32 };
                request(op, at * 512, bytes)
            };
            closed_loop(&mut drive, 8, 40, &mut next);
            let shown = Request { op: Op::Write, ..next(0) };
            drive.preview(Some(&shown).filter(|_| chance(random, 80)));
            let rest = if chance(random, 50) { between(random, 0, 2_000) } else { between(random, 0, 50_000) };
            let next = drive.now() + rest * US;
            drive.announce(Some(if random.below(3) > 0 { next } else { Time::MAX }));
            drive.advance_to(next).expect("no rule is broken");
            if drive.kernel().operations() == 0 {
                drive.kernel().audit().expect("the books balance");
            }
        }
        come_to_rest(&mut drive);
        let counters = drive.kernel().counters();
        causes.iter_mut().zip(counters.merges_by_cause).for_each(|(all, of_drive)| *all += of_drive);
        interruptions += counters.interruptions;
        delay_blocks += counters.delay_blocks;
        pressed += counters.pressed_merges;
    });
    println!("{causes:?} merges, {interruptions} interruptions, {pressed} pressed, {delay_blocks} delay blocks");
    if std::env::var_os("WORDLINE_SEED").is_none() {
        assert!(causes.iter().all(|&count| count > 20) && interruptions > 100 && delay_blocks > 100 && pressed > 20);
    }
}
