//! The SLC cache: blocks of the host's data in SLC mode, its sizes, and folding.

use crate::common::limiter::limit;
use crate::common::{closed_loop, config, drive, for_seeds, latency, long, one, request, US};
use wordline_base::{Op, Stream, Time};
use wordline_drive::load::from_text;
use wordline_drive::{Drive, DriveConfig, Task};
use wordline_firmware::blocks::Status;

const PAGE: u64 = 16_384;
const T_PROG: Time = 1_500 * US;
const T_PROG_SLC: Time = 200 * US;

/// Dies of one plane with 24 blocks of 24 pages, 8 in SLC mode, whose other programs write three pages. A page takes 20 us on the bus.
fn text(dies: u32, sections: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = {dies}, planes_per_die = 1,
            blocks_per_plane = 24, pages_per_block = 24, page_kib = 16, pages_per_program = 3 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 1500.0, erase_us = 3000.0,
            slc_read_us = 25.0, slc_program_us = 200.0 }}
        capacity = {{ raw_over_logical = 2.0 }}
        placement = {{ policy = "least-busy" }}
        verify = {{ shadow = true }}
        {sections}
        "#
    )
}

const DRIVE: &str = "collect = { policy = \"on-demand\", scope = \"drive\", start_blocks = 3, stop_blocks = 4 }";
const FOLD: &str = "fold = { policy = \"coldest\", idle_us = 2000.0, window_pages = 3 }";

fn with(slc: &str) -> String {
    format!("{DRIVE}\n{slc}")
}

fn write(first: u64, pages: u64) -> wordline_base::Request {
    request(Op::Write, first * PAGE, (pages * PAGE) as u32)
}

/// Pages programmed, those of them in SLC mode, and blocks in SLC mode.
fn programmed(drive: &Drive) -> (u64, u64, u32) {
    let counters = drive.kernel().counters();
    (counters.programs(), counters.slc_pages, drive.kernel().blocks().slc_blocks())
}

/// Lets time pass.
fn rest(drive: &mut Drive, time: Time) {
    drive.advance_to(drive.now() + time).expect("no rule is broken");
}

#[test]
fn a_page_in_slc_mode_goes_alone_and_fast() {
    let mut drive = drive(&text(1, &with("slc = { policy = \"static\", blocks = 2 }")), 1);
    let took = latency(&mut drive, write(0, 1));
    // The data of one page, and the shorter tPROG; the host link and the commands take some us.
    assert!((T_PROG_SLC + 20 * US..T_PROG_SLC + 30 * US).contains(&took), "{took} ps");
    let took = latency(&mut drive, request(Op::Read, 0, PAGE as u32));
    assert!((45 * US..55 * US).contains(&took), "25 us in the array and 20 on the bus, not {took} ps");
    assert_eq!(programmed(&drive), (1, 1, 1));
    drive.kernel().audit().expect("the books balance");
}

#[test]
fn a_full_cache_is_written_past() {
    let mut drive = drive(&text(1, &with("slc = { policy = \"static\", blocks = 2 }")), 1);
    // Two blocks of eight pages; the next three pages fill a word line.
    for page in 0..16 {
        assert!(latency(&mut drive, write(page, 1)) < T_PROG_SLC + 30 * US);
    }
    let took = latency(&mut drive, write(16, 3));
    assert!((T_PROG + 60 * US..T_PROG + 80 * US).contains(&took), "{took} ps");
    assert_eq!(programmed(&drive), (16 + 3, 16, 2));
}

#[test]
fn a_cache_of_free_blocks_leaves_what_it_must() {
    let mut drive = drive(&text(1, &with("slc = { policy = \"dynamic\", free_blocks = 20 }")), 1);
    // 24 blocks are free: four may be opened until 20 are left.
    closed_loop(&mut drive, 1, 4 * 8 + 3, |page| write(page, 1));
    assert_eq!(programmed(&drive), (4 * 8 + 3 * 3, 4 * 8, 4));
    let limited = with("slc = { policy = \"dynamic\", free_blocks = 20, most_blocks = 3 }");
    let mut drive = crate::common::drive(&text(1, &limited), 1);
    closed_loop(&mut drive, 1, 40, |page| write(page, 1));
    assert_eq!(programmed(&drive).1, 3 * 8);
    // Absent: what GC stops at, and one more.
    let mut drive = crate::common::drive(&text(1, &with("slc = { policy = \"dynamic\" }")), 1);
    assert_eq!(drive.logical_bytes() / PAGE, 288);
    closed_loop(&mut drive, 1, 200, |page| write(page, 1));
    assert_eq!(programmed(&drive).1, (24 - 4 - 1) * 8, "152 pages");
}

#[test]
fn the_cache_is_folded_while_the_host_rests() {
    let mut drive = drive(&text(1, &with(&format!("slc = {{ policy = \"static\", blocks = 4 }}\n{FOLD}"))), 1);
    closed_loop(&mut drive, 1, 4 * 8 + 3, |page| write(page, 1));
    rest(&mut drive, 1_900 * US);
    assert_eq!(programmed(&drive).2, 4, "it waits for 2 ms");
    rest(&mut drive, 400_000 * US);
    let counters = *drive.kernel().counters();
    assert_eq!(
        (programmed(&drive).2, counters.moved[Task::FOLD.index()], counters.jobs[Task::FOLD.index()]),
        (0, 32, 4)
    );
    // One block is moved at a time: its eight pages fill two word lines, and two pages of another.
    assert_eq!((counters.programs() - 32 - 9, counters.padded_units), (4 * 9, 4 + 6));
    drive.kernel().audit().expect("the books balance");
    for page in 0..35 {
        let took = latency(&mut drive, request(Op::Read, page * PAGE, PAGE as u32));
        assert!((70 * US..80 * US).contains(&took), "page {page} has three bits a cell now: {took} ps");
    }
    // The host is back, so the next block of the cache is not folded at once.
    closed_loop(&mut drive, 1, 4 * 8, |page| write(page, 1));
    assert_eq!(programmed(&drive).2, 4);
}

#[test]
fn the_end_of_a_workload_is_no_rest() {
    let mut drive = drive(&text(1, &with(&format!("slc = {{ policy = \"static\", blocks = 4 }}\n{FOLD}"))), 1);
    closed_loop(&mut drive, 1, 32, |page| write(page, 1));
    drive.drain().expect("it comes to rest");
    assert_eq!((programmed(&drive).2, drive.kernel().counters().jobs[Task::FOLD.index()]), (4, 0));
}

#[test]
fn a_request_ends_the_rest() {
    let mut drive = drive(&text(1, &with(&format!("slc = {{ policy = \"static\", blocks = 4 }}\n{FOLD}"))), 1);
    closed_loop(&mut drive, 1, 32, |page| write(page, 1));
    // A block is folded in some 6 ms; the host comes back while the second is.
    rest(&mut drive, 9_000 * US);
    one(&mut drive, request(Op::Read, 0, PAGE as u32));
    rest(&mut drive, 1_900 * US);
    let jobs = drive.kernel().counters().jobs[Task::FOLD.index()];
    assert!((1..4).contains(&jobs), "{jobs} blocks were folded");
    rest(&mut drive, 100_000 * US);
    assert_eq!(drive.kernel().counters().jobs[Task::FOLD.index()], 4);
}

#[test]
fn the_coldest_block_is_folded_first() {
    let mut drive = drive(&text(1, &with(&format!("slc = {{ policy = \"static\", blocks = 4 }}\n{FOLD}"))), 1);
    closed_loop(&mut drive, 1, 16, |page| write(page, 1));
    // A page of the first block is overwritten, in the third.
    closed_loop(&mut drive, 1, 8, |page| write(16 + page, 1));
    one(&mut drive, write(0, 1));
    rest(&mut drive, 3_000 * US);
    let moved = drive.kernel().blocks().records().iter().position(|block| block.status == Status::Victim);
    assert_eq!(moved, Some(1), "the second block, all of which stays");
}

#[test]
fn a_nearly_full_cache_is_folded_while_the_host_writes() {
    let fold = "fold = { policy = \"coldest\", start_blocks = 2, window_pages = 3 }";
    let mut drive = drive(&text(1, &with(&format!("slc = {{ policy = \"static\", blocks = 4 }}\n{fold}"))), 1);
    let pages = drive.logical_bytes() / PAGE;
    closed_loop(&mut drive, 4, pages, |page| write(page, 1));
    let counters = *drive.kernel().counters();
    assert!(counters.jobs[Task::FOLD.index()] > 6, "{:?}", counters.jobs);
    assert!(counters.slc_pages > 2 * 4 * 8, "its four blocks were used again: {} pages", counters.slc_pages);
    drive.drain().expect("it comes to rest");
    drive.kernel().audit().expect("the books balance");
}

#[test]
fn filling_a_drive_leaves_its_cache_empty() {
    for timed in [false, true] {
        filled(timed);
    }
}

fn filled(timed: bool) {
    let config = crate::common::config(&format!(
        "{}\nprecondition = {{ fill = true, overwrites = 1.0, timed = {timed} }}",
        text(2, &with("slc = { policy = \"dynamic\" }"))
    ));
    let mut drive = Drive::new(&config, 1).expect("it is accepted");
    wordline_drive::precondition::precondition(&mut drive, &config.precondition, 1, &mut |_| true)
        .expect("no rule is broken");
    assert_eq!(drive.kernel().blocks().slc_blocks(), 0);
    one(&mut drive, write(0, 1));
    assert_eq!(drive.kernel().blocks().slc_blocks(), 0, "GC has left as few free blocks as it must");
}

#[test]
fn the_cache_goes_with_superblocks_small_units_and_a_buffer() {
    for (sections, bytes) in busy_caches() {
        let mut drive = drive(&text(2, &sections), 1);
        let units = drive.logical_bytes() / bytes;
        let mut random = Stream::new(1, "places", 0);
        closed_loop(&mut drive, 16, units, |nth| request(Op::Write, nth * bytes, bytes as u32));
        assert!(drive.kernel().counters().slc_pages > 0, "{sections}");
        closed_loop(&mut drive, 16, 3 * units, |_| request(Op::Write, random.below(units) * bytes, bytes as u32));
        drive.drain().expect("it comes to rest");
        rest(&mut drive, 1_000_000 * US);
        drive.kernel().audit().expect("the books balance");
        closed_loop(&mut drive, 8, units, |nth| request(Op::Read, nth * bytes, bytes as u32));
    }
}

/// Drives that have a cache and do much with it: sections, and the bytes of a mapping unit.
fn busy_caches() -> Vec<(String, u64)> {
    let shapes = [
        ("slc = { policy = \"dynamic\" }", 16),
        ("slc = { policy = \"static\", blocks = 4 }", 4),
        ("slc = { policy = \"dynamic\", free_blocks = 8, most_blocks = 6 }", 4),
    ];
    let mut all = Vec::new();
    for (slc, unit_kib) in shapes {
        for more in ["", "redundancy = { policy = \"superblock\" }"] {
            for fold in ["", "fold = { policy = \"coldest\", start_blocks = 2, window_pages = 6 }"] {
                let sections = format!(
                    "collect = {{ policy = \"on-demand\", scope = \"drive\" }}\n{slc}\n{fold}\n{more}\n\
                     mapping = {{ policy = \"page\", unit_kib = {unit_kib} }}\n\
                     buffer = {{ policy = \"fifo\", capacity_kib = 512 }}"
                );
                all.push((sections, unit_kib * 1024));
            }
        }
    }
    all
}

#[test]
fn a_limit_is_kept_and_a_higher_one_counts_at_once() {
    let mut config = config(&text(1, &with("slc = { policy = \"static\", blocks = 2 }")));
    // Eight pages fill the one block; the next three a word line of another; then the second block may be opened.
    limit(&mut config, |view, _| Some(if view.host_units < 11 { 1 } else { 2 }));
    let mut drive = Drive::new(&config, 1).expect("it was checked");
    for page in 0..8 {
        assert!(latency(&mut drive, write(page, 1)) < T_PROG_SLC + 30 * US);
    }
    assert!(latency(&mut drive, write(8, 3)) > T_PROG, "the cache has its one block");
    assert_eq!(programmed(&drive), (11, 8, 1));
    // The block beside the cache stays open until its 24 pages are full.
    (11..32).step_by(3).for_each(|page| assert!(latency(&mut drive, write(page, 3)) > T_PROG));
    assert_eq!(programmed(&drive), (32, 8, 1));
    for page in 32..40 {
        assert!(latency(&mut drive, write(page, 1)) < T_PROG_SLC + 30 * US, "page {page}");
    }
    assert_eq!(programmed(&drive), (40, 16, 2));
    drive.kernel().audit().expect("the books balance");
}

/// A limit of 0 gives a drive without a cache, and no limit the drive as it is.
#[test]
fn limits_that_decide_nothing_change_nothing() {
    let after = |config: &DriveConfig| {
        let mut drive = Drive::new(config, 1).expect("it was checked");
        let pages = drive.logical_bytes() / PAGE;
        let mut random = Stream::new(1, "places", 0);
        closed_loop(&mut drive, 16, 3 * pages, |_| request(Op::Write, random.below(pages) * PAGE, PAGE as u32));
        drive.drain().expect("it comes to rest");
        (drive.now(), drive.kernel().state_hash(), drive.kernel().counters().slc_pages)
    };
    let plain = config(&text(2, &with("slc = { policy = \"dynamic\" }")));
    let (mut free, mut none) = (plain.clone(), plain.clone());
    limit(&mut free, |_, _| None);
    limit(&mut none, |_, _| Some(0));
    assert_eq!(after(&free), after(&plain));
    assert_eq!(after(&none), after(&config(&text(2, DRIVE))));
    assert_ne!(after(&plain), after(&none));
}

/// Whatever the limits do, the data stay whole, and the drive comes to rest.
#[test]
fn limits_may_change_at_any_time() {
    for_seeds("slc", "limits_may_change_at_any_time", if long() { 200 } else { 4 }, |seed| {
        for (sections, bytes) in busy_caches() {
            let mut config = config(&text(2, &sections));
            limit(&mut config, |view, random| match random.below(4) {
                0 => None,
                1 => Some(0),
                2 => Some(view.blocks),
                _ => Some(random.below(12) as u32),
            });
            let mut drive = Drive::new(&config, seed).expect("it was checked");
            let units = drive.logical_bytes() / bytes;
            let mut random = Stream::new(seed, "places", 0);
            closed_loop(&mut drive, 16, 2 * units, |_| {
                let op = if random.below(4) == 0 { Op::Read } else { Op::Write };
                request(op, random.below(units) * bytes, bytes as u32)
            });
            drive.drain().expect("it comes to rest");
            rest(&mut drive, 1_000_000 * US);
            drive.kernel().audit().expect("the books balance");
            assert!(drive.kernel().counters().slc_pages > 0, "{sections}");
        }
    });
}

#[test]
fn what_does_not_go_together_is_refused() {
    let slc = "slc = { policy = \"static\", blocks = 2 }";
    let collect = "collect = { policy = \"on-demand\", scope = \"drive\"";
    for (more, key, remedy) in [
        (format!("{slc}\n{DRIVE}\nmapping = {{ policy = \"block\" }}"), "mapping.policy", "pages"),
        (format!("{slc}\n{collect}, copyback = \"internal\" }}"), "collect.copyback", "use \"off\""),
        (format!("{slc}\n{DRIVE}\npack = {{ policy = \"cache\" }}"), "pack.policy", "use \"planes\""),
        (format!("{slc}\n{DRIVE}\ndispatch = {{ policy = \"one-queue\" }}"), "dispatch.policy", "use \"fifo\""),
        (format!("{DRIVE}\nslc = {{ policy = \"static\" }}"), "slc.policy", "slc.blocks = 1"),
        (format!("{DRIVE}\nslc = {{ policy = \"static\", blocks = 0 }}"), "slc.blocks", "must be 1 to 24"),
        (format!("{DRIVE}\nslc = {{ policy = \"static\", blocks = 4294967295 }}"), "slc.blocks", "must be 1 to 24"),
        (
            format!("{DRIVE}\nslc = {{ policy = \"dynamic\", free_blocks = 24 }}"),
            "slc.free_blocks",
            "must be at most 23",
        ),
        (format!("{DRIVE}\n{FOLD}"), "fold.policy", "use slc.policy = \"dynamic\""),
        (
            format!("{slc}\n{DRIVE}\nfold = {{ policy = \"coldest\", window_pages = 2 }}"),
            "fold.window_pages",
            "at least 3",
        ),
        (
            format!("{slc}\n{DRIVE}\nfold = {{ policy = \"coldest\", start_blocks = 3, stop_blocks = 2 }}"),
            "fold.stop_blocks",
            "at least",
        ),
    ] {
        let error = from_text("test", &text(1, &more)).expect_err(&more).to_string();
        assert!(error.contains(key) && error.contains(remedy), "{error}");
    }
    let untimed = text(1, &format!("{slc}\n{DRIVE}")).replace("slc_read_us = 25.0, ", "");
    let error = from_text("test", &untimed).unwrap_err().to_string();
    assert!(error.contains("needs nand.slc_read_us"), "{error}");
    // Blocks set aside are missing elsewhere.
    let large = text(1, &format!("{DRIVE}\nslc = {{ policy = \"static\", blocks = 12 }}"));
    let error = from_text("test", &large).unwrap_err().to_string();
    assert!(error.contains("too little spare") && error.contains("SLC"), "{error}");
}
