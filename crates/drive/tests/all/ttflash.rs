//! Parity of logical pages (TTFlash): what is read and written for it, turns of GC, and rebuilt reads, by hand and under load.

use crate::common::{drive, for_seeds, one, request};
use wordline_base::{Op, Time};
use wordline_drive::load::from_text;
use wordline_drive::Drive;

const PAGE: u32 = 16 * 1024;

/// Four dies on channels of their own: stripes of three pages and parity.
fn small(redundancy: &str, more: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 4, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 24, pages_per_block = 4, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 4.0 }}
        placement = {{ policy = "static", order = "CWDP" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        redundancy = {{ policy = "ttflash"{redundancy} }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        {more}
        "#
    )
}

fn write(drive: &mut Drive, pages: impl IntoIterator<Item = u64>, count: u32) {
    for page in pages {
        one(drive, request(Op::Write, page * u64::from(PAGE), count * PAGE));
        drive.drain().expect("the drive comes to rest");
    }
    drive.kernel().audit().expect("the books balance");
}

/// Pages programmed for parity, and pages read for it.
fn costs(drive: &Drive) -> (u64, u64) {
    let counters = drive.kernel().counters();
    assert_eq!(counters.merge_reads, 0, "no write is partial");
    (counters.parity_units, counters.parity_reads)
}

#[test]
fn a_new_stripe_costs_a_page_of_parity_and_no_read() {
    let mut drive = drive(&small("", ""), 1);
    write(&mut drive, [0, 1], 1);
    assert_eq!(costs(&drive), (0, 0), "memory holds the stripe");
    write(&mut drive, [2], 1);
    assert_eq!(costs(&drive), (1, 0), "it is whole");
    // Pages 3 to 5, and two pages of the next stripe.
    write(&mut drive, [3], 5);
    assert_eq!(costs(&drive), (2, 0));
    // Each of the four dies has as many pages of a stripe: parity goes round them.
    let written = |drive: &Drive| -> Vec<u32> {
        let blocks = drive.kernel().blocks();
        (0..4).map(|plane| (0..24).map(|block| blocks.get(plane * 24 + block).valid).sum()).collect()
    };
    // Pages 6 and 7 are on the third and fourth die, since the third stripe begins there.
    assert_eq!(written(&drive), [2, 2, 3, 3]);
}

#[test]
fn an_overwritten_page_costs_two_reads_and_a_page_of_parity() {
    let mut drive = drive(&small(", open_stripes = 1", ""), 1);
    write(&mut drive, [0, 3], 3);
    assert_eq!(costs(&drive), (2, 0));
    write(&mut drive, [1], 1);
    assert_eq!(costs(&drive), (2, 1), "its old data are read");
    // Written again, memory has its data.
    write(&mut drive, [1], 1);
    assert_eq!(costs(&drive), (2, 1));
    // Another stripe needs the room: the old parity of the first is read.
    write(&mut drive, [4], 1);
    assert_eq!(costs(&drive), (3, 3));
    // A request that writes a whole stripe reads nothing.
    write(&mut drive, [6], 3);
    assert_eq!(costs(&drive), (5, 4), "the stripe of page 4 left, and the third one at once");
    write(&mut drive, [6], 3);
    assert_eq!(costs(&drive), (6, 4));
}

#[test]
fn parity_of_trimmed_data_is_computed_anew_or_dropped() {
    let mut drive = drive(&small(", open_stripes = 1", ""), 1);
    write(&mut drive, [0, 3, 6], 3);
    assert_eq!(costs(&drive), (3, 0));
    // Page 0 goes: once the stripe leaves memory, pages 1 and 2 are read.
    one(&mut drive, request(Op::Trim, 0, PAGE));
    one(&mut drive, request(Op::Trim, 3 * u64::from(PAGE), PAGE));
    drive.drain().expect("the drive comes to rest");
    assert_eq!(costs(&drive), (4, 2));
    drive.kernel().audit().expect("the books balance");
    // Of a stripe that goes as a whole nothing is read or written.
    let valid = |drive: &Drive| drive.kernel().blocks().records().iter().map(|block| block.valid).sum::<u32>();
    let before = valid(&drive);
    one(&mut drive, request(Op::Trim, 6 * u64::from(PAGE), 3 * PAGE));
    drive.drain().expect("the drive comes to rest");
    assert_eq!(costs(&drive), (4, 2));
    assert_eq!(valid(&drive), before - 4, "three pages and their parity");
    drive.kernel().audit().expect("the books balance");
}

/// The latencies of a read of page 7, and of another while scrubbing reads its die.
fn read_twice(redundancy: &str) -> (Time, Time, Drive) {
    let scrub = r#"refresh = { policy = "scrub", start_reads = 1, stop_reads = 1, window_pages = 1 }"#;
    let mut drive = drive(&small(redundancy, scrub), 1);
    write(&mut drive, [0, 3, 6, 9], 3);
    let read = request(Op::Read, 7 * u64::from(PAGE), PAGE);
    one(&mut drive, read);
    let (first, second) = (one(&mut drive, read), one(&mut drive, read));
    (first.time - first.request.arrival, second.time - second.request.arrival, drive)
}

#[test]
fn a_read_is_rebuilt_from_its_stripe() {
    let (alone, around, mut drive) = read_twice("");
    // The other three dies are idle and on other channels: rebuilding takes as long as reading.
    assert_eq!(around, alone);
    let counters = *drive.kernel().counters();
    assert_eq!((counters.rebuilt_reads, counters.part_reads), (1, 3));
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");

    let (alone, behind, drive) = read_twice(", rebuild_reads = false");
    assert!(behind > alone + 10_000_000, "{behind} ps behind the read of scrubbing, {alone} ps alone");
    assert_eq!(drive.kernel().counters().rebuilt_reads, 0);
}

#[test]
fn an_open_stripe_can_be_rebuilt_from_its_old_parity() {
    let scrub = r#"refresh = { policy = "scrub", start_reads = 2, stop_reads = 1, window_pages = 1 }"#;
    let rebuilt = |overwritten: Option<u64>, redundancy: &str| {
        let mut drive = drive(&small(redundancy, scrub), 1);
        write(&mut drive, [0, 3, 6, 9], 3);
        write(&mut drive, overwritten, 1);
        let read = request(Op::Read, 7 * u64::from(PAGE), PAGE);
        for _ in 0..4 {
            one(&mut drive, read);
        }
        drive.kernel().counters().rebuilt_reads
    };
    assert_eq!(rebuilt(Some(6), ""), 1, "memory has what the parity lacks");
    assert_eq!(rebuilt(None, ""), 1);
}

/// Random writes and reads that keep GC at work; gives the drive and the most dies that were collected at a time.
fn churn(text: &str, seed: u64) -> (Drive, u32) {
    let mut drive = drive(text, seed);
    let pages = drive.logical_bytes() / u64::from(PAGE);
    let mut random = wordline_base::Stream::new(seed, "ttflash", 0);
    let mut most = 0;
    for nth in 0..6_000 {
        let op = if nth < pages || nth % 3 > 0 { Op::Write } else { Op::Read };
        let page = if nth < pages { nth } else { random.below(pages) };
        while drive.in_flight() >= 8 {
            assert!(drive.step().expect("no rule is broken"), "the drive stalled");
            drive.completions().clear();
            let collected = |die| drive.kernel().victims_of(die) > 0;
            most = most.max((0..4).filter(|&die| collected(die)).count() as u32);
        }
        drive.submit(drive.now(), request(op, page * u64::from(PAGE), PAGE)).expect("it fits the drive");
    }
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    (drive, most)
}

#[test]
fn one_die_of_a_group_is_collected_at_a_time() {
    for_seeds("ttflash", "one_die_of_a_group_is_collected_at_a_time", 3, |seed| {
        let tight = "capacity = { raw_over_logical = 1.9 }";
        let text = |redundancy: &str| small(redundancy, "").replace("capacity = { raw_over_logical = 4.0 }", tight);
        let (drive, most) = churn(&text(""), seed);
        assert_eq!(most, 1);
        let counters = drive.kernel().counters();
        assert!(counters.collections() > 500, "{} collections", counters.collections());
        assert!(counters.rebuilt_reads > 100, "{} rebuilt reads", counters.rebuilt_reads);
        for plane in 0..4 {
            let erases: u32 = (0..24).map(|block| drive.kernel().blocks().get(plane * 24 + block).erases).sum();
            assert!(erases > 50, "plane {plane} was erased {erases} times: each has its turn");
        }
        let (_, most) = churn(&text(", collect_in_turn = false"), seed);
        assert!(most > 1, "without turns, several are");
    });
}

/// The slowest of 2,000 random writes, a few at a time, beside more reads than dies, with a collect policy that moves page by page.
fn slowest_write(collect: &str, seed: u64) -> Time {
    let text = small("", "")
        .replace("capacity = { raw_over_logical = 4.0 }", "capacity = { raw_over_logical = 1.9 }")
        .replace("policy = \"on-demand\"", collect);
    let mut drive = drive(&text, seed);
    let pages = drive.logical_bytes() / u64::from(PAGE);
    write(&mut drive, 0..pages, 1);
    let mut random = wordline_base::Stream::new(seed, "ttflash-hold", 0);
    let (mut under_way, mut written, mut slowest) = ([0, 0], 0, 0);
    while written < 2_000 {
        for (at, (op, most)) in [(Op::Read, 24), (Op::Write, 4)].into_iter().enumerate() {
            while under_way[at] < most {
                let page = random.below(pages) * u64::from(PAGE);
                drive.submit(drive.now(), request(op, page, PAGE)).expect("it fits the drive");
                under_way[at] += 1;
            }
        }
        assert!(drive.step().expect("no rule is broken"), "the drive stalled");
        for done in drive.completions().drain(..) {
            let is_write = done.request.op == Op::Write;
            under_way[usize::from(is_write)] -= 1;
            if is_write {
                written += 1;
                slowest = slowest.max(done.time - done.request.arrival);
            }
        }
    }
    slowest
}

#[test]
fn a_victim_on_hold_does_not_keep_the_turn_from_a_die_without_room() {
    for_seeds("ttflash", "a_victim_on_hold_does_not_keep_the_turn_from_a_die_without_room", 3, |seed| {
        let held = slowest_write("policy = \"preemptive\", start_blocks = 4, hard_blocks = 2", seed);
        let never = slowest_write("policy = \"on-demand\", start_blocks = 4, window_pages = 1", seed);
        assert!(held < never * 6 / 5, "{held} ps with holds, {never} ps without");
    });
}

#[test]
fn what_does_not_go_with_it_is_refused() {
    let refused = |text: &str| {
        let config = match from_text("drive", text) {
            Err(error) => return error.to_string(),
            Ok(config) => config,
        };
        Drive::new(&config, 1).map(|_| ()).expect_err("it does not fit").to_string()
    };
    let text = small("", "");
    let told = refused(&text.replace("CWDP", "PCWD").replace("planes_per_die = 1", "planes_per_die = 2"));
    assert!(told.contains("redundancy.dies = 4") && told.contains("different dies"), "{told}");
    let told = refused(&small(", dies = 3", ""));
    assert!(told.contains("redundancy.dies = 3") && told.contains("use 2, 4"), "{told}");
    let failing = "erase_us = 3000.0, reliability = { endurance = 200, program_fail = 0.02 } }";
    let told = refused(&text.replace("erase_us = 3000.0 }", failing));
    assert!(told.contains("set program_fail and erase_fail to 0"), "{told}");
    let told = refused(&small(", open_stripes = 0", ""));
    assert!(told.contains("redundancy.open_stripes = 0"), "{told}");
    let told = refused(&small("", "mapping = { policy = \"cached\" }"));
    assert!(told.contains("mapping.policy = cached") && told.contains("use \"page\""), "{told}");
    let told = refused(&text.replace("\"static\", order = \"CWDP\"", "\"least-busy\""));
    assert!(told.contains("placement.policy = least-busy") && told.contains("use \"static\""), "{told}");
    let one = small("", "").replace("channels = 4", "channels = 1");
    assert!(refused(&one).contains("use redundancy.policy = \"none\""));
}
