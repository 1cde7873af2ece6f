//! Block mapping: where pages of a logical block go, what is copied when, and what a merge frees, by hand.

use crate::common::{closed_loop, drive, for_seeds, long, one, request};
use wordline_base::{Op, Stream};
use wordline_drive::load::from_text;
use wordline_drive::{Drive, Task};
use wordline_firmware::blocks::Status;
use wordline_firmware::task::{Action, Class};

const PAGE: u64 = 16_384;
/// Pages in a block.
const PAGES: u64 = 8;

/// Two dies of eight blocks of eight pages; thirteen logical blocks, the last of seven pages.
fn empty(extra: &str, seed: u64) -> Drive {
    drive(
        &format!(
            r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 8, pages_per_block = {PAGES}, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.24 }}
        mapping = {{ policy = "block" }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 }}
        verify = {{ shadow = true }}
        {extra}
        "#
        ),
        seed,
    )
}

/// What the flash has done since a moment before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    host_programs: u64,
    copies: u64,
    empty_pages: u64,
    erases: u64,
}

fn done(drive: &Drive) -> Done {
    let counters = drive.kernel().counters();
    let (copies, empty_pages): (u64, _) = (counters.moved.iter().sum(), counters.padded_units);
    let programs: u64 = Task::all().map(|task| counters.ops[Class::new(task, Action::Program).index()]).sum();
    Done { host_programs: programs - copies - empty_pages, copies, empty_pages, erases: counters.erases() }
}

/// What a request alone made the flash do, until it was at rest.
fn of(drive: &mut Drive, op: Op, first: u64, pages: u64) -> [u64; 4] {
    let before = done(drive);
    one(drive, request(op, first * PAGE, (pages * PAGE) as u32));
    drive.drain().expect("it comes to rest");
    drive.kernel().audit().expect("the books balance");
    let after = done(drive);
    [
        after.host_programs - before.host_programs,
        after.copies - before.copies,
        after.empty_pages - before.empty_pages,
        after.erases - before.erases,
    ]
}

fn write(drive: &mut Drive, first: u64, pages: u64) -> [u64; 4] {
    of(drive, Op::Write, first, pages)
}

fn count(drive: &Drive, status: Status) -> usize {
    drive.kernel().blocks().records().iter().filter(|record| record.status == status).count()
}

#[test]
fn what_is_written_in_order_is_never_copied() {
    let mut drive = empty("", 1);
    for lot in 0..12 {
        assert_eq!(write(&mut drive, lot * PAGES, PAGES), [PAGES, 0, 0, 0]);
    }
    assert_eq!((count(&drive, Status::Kept), count(&drive, Status::Free)), (12, 4));
    // The blocks before are erased as soon as fewer than two are free.
    let again: Vec<_> = (0..12).map(|lot| write(&mut drive, lot * PAGES, PAGES)).collect();
    assert!(again.iter().all(|&[written, copies, empty, _]| (written, copies, empty) == (PAGES, 0, 0)), "{again:?}");
    let erases: u64 = again.iter().map(|&[.., erases]| erases).sum();
    assert_eq!((erases, count(&drive, Status::Closed)), (10, 2));
}

#[test]
fn a_rewrite_copies_what_comes_before_it_and_a_merge_the_rest() {
    let mut drive = empty("", 1);
    write(&mut drive, 0, PAGES);
    write(&mut drive, PAGES, PAGES);
    // Pages 0 to 4 are copied; 6 and 7 stay where they are.
    assert_eq!(write(&mut drive, 5, 1), [1, 5, 0, 0]);
    // They can be written behind it.
    assert_eq!(write(&mut drive, 6, 1), [1, 0, 0, 0]);
    assert_eq!(count(&drive, Status::Closed), 1);
    // Page 7 is left, and has to go before page 0 can be written again: a full merge, then a new block.
    assert_eq!(write(&mut drive, 0, 1), [1, 1, 0, 1]);
    // In the other logical block: two pages before, five behind, then two before again.
    assert_eq!(write(&mut drive, PAGES + 2, 1), [1, 2, 0, 0]);
    assert_eq!(write(&mut drive, PAGES + 2, 1), [1, 5 + 2, 0, 1]);
    // A page further on brings those between along.
    assert_eq!(write(&mut drive, PAGES + 6, 1), [1, 3, 0, 0]);
}

#[test]
fn a_switch_of_blocks_needs_no_copies() {
    let mut drive = empty("", 1);
    write(&mut drive, 0, PAGES);
    write(&mut drive, 0, PAGES);
    // The replaced block has nothing left, so nothing is copied when it is in the way.
    assert_eq!(write(&mut drive, 0, 1), [1, 0, 0, 1]);
}

#[test]
fn skipped_pages_are_programmed_empty() {
    let mut drive = empty("", 1);
    assert_eq!(write(&mut drive, 4, 1), [1, 0, 4, 0]);
    assert_eq!(write(&mut drive, 6, 2), [2, 0, 1, 0]);
    // Page 5 was passed: another block, with page 4 copied behind four empty pages; 6 and 7 stay.
    assert_eq!(write(&mut drive, 5, 1), [1, 1, 4, 0]);
    // A merge needs nothing behind the last page with data.
    let mut drive = empty("", 1);
    write(&mut drive, 0, 4);
    assert_eq!(write(&mut drive, 0, 1), [1, 0, 0, 0]);
    assert_eq!(write(&mut drive, 0, 1), [1, 3, 0, 1]);
}

#[test]
fn trimmed_blocks_are_erased_without_copies() {
    let mut drive = empty("", 1);
    for lot in 0..12 {
        write(&mut drive, lot * PAGES, PAGES);
    }
    for lot in 0..10 {
        of(&mut drive, Op::Trim, lot * PAGES, PAGES);
    }
    assert_eq!((count(&drive, Status::Kept), count(&drive, Status::Closed)), (2, 10));
    for lot in 0..10 {
        let [_, copies, empty, _] = write(&mut drive, lot * PAGES, PAGES);
        assert_eq!((copies, empty), (0, 0));
    }
    // A page that was trimmed has nothing to copy.
    of(&mut drive, Op::Trim, 2, 1);
    assert_eq!(write(&mut drive, 4, 1)[..3], [1, 3, 1]);
}

#[test]
fn pages_of_one_command_have_the_same_offset_in_both_planes() {
    let text = r#"
        geometry = { channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 12, pages_per_block = 8, page_kib = 16 }
        capacity = { raw_over_logical = 2.0 }
        mapping = { policy = "block" }
        placement = { policy = "static", order = "PDWC" }
        pack = { policy = "planes" }
        verify = { shadow = true }
        "#;
    let mut drive = drive(text, 1);
    // Two logical blocks in the planes of one die, page by page in turn: all but the first go together.
    closed_loop(&mut drive, 16, 16, |nth| request(Op::Write, (nth % 2 * PAGES + nth / 2) * PAGE, PAGE as u32));
    drive.drain().expect("it comes to rest");
    let counters = drive.kernel().counters();
    let (all, together) = (counters.programs(), counters.multi_plane[Class::HOST_WRITE.index()]);
    assert_eq!(all, 16);
    assert!(together >= 12, "{together} of 16 pages were programmed with another");
}

/// Fills all logical pages in order.
fn fill(drive: &mut Drive) -> u64 {
    let pages = drive.logical_bytes() / PAGE;
    closed_loop(drive, 4, pages, |nth| request(Op::Write, nth * PAGE, PAGE as u32));
    drive.drain().expect("it comes to rest");
    pages
}

/// The shadow checks what each read finds.
fn read_all(drive: &mut Drive) {
    let pages = drive.logical_bytes() / PAGE;
    drive.kernel().audit().expect("the books balance");
    closed_loop(drive, 8, pages, |nth| request(Op::Read, nth * PAGE, PAGE as u32));
    assert_eq!(drive.kernel().operations(), 0);
}

/// If a partial write whose old data have moved read them again only when its turn came, two of them could go on for ever.
#[test]
fn partial_writes_of_neighbours_end() {
    for_seeds("block_mapping", "partial_writes_of_neighbours_end", if long() { 400 } else { 40 }, |seed| {
        let mut drive = empty("", seed);
        fill(&mut drive);
        let mut random = Stream::new(seed, "places", 0);
        closed_loop(&mut drive, 16, 300, |_| {
            let page = [0, 2 * PAGES + 3, 7 * PAGES][random.below(3) as usize] + random.below(4);
            request(Op::Write, page * PAGE + 512 * random.below(31), 512)
        });
        drive.drain().expect("it comes to rest");
        read_all(&mut drive);
    });
}

#[test]
fn a_block_that_is_read_often_is_replaced() {
    let mut drive = empty(r#"refresh = { policy = "scrub", start_reads = 40, stop_reads = 30 }"#, 1);
    fill(&mut drive);
    // The data block of the last logical block is still being written.
    for page in [3, 12 * PAGES + 1] {
        let before = *drive.kernel().counters();
        closed_loop(&mut drive, 4, 41, |_| request(Op::Read, page * PAGE, PAGE as u32));
        drive.drain().expect("it comes to rest");
        let seen = drive.kernel().counters();
        let [jobs, moved] = [&seen.jobs, &seen.moved].map(|all| all[Task::REFRESH.index()]);
        let [jobs_before, moved_before] = [&before.jobs, &before.moved].map(|all| all[Task::REFRESH.index()]);
        assert_eq!(jobs - jobs_before, 1, "page {page}");
        assert_eq!(moved - moved_before, if page == 3 { 8 } else { 7 }, "page {page}");
    }
    read_all(&mut drive);
}

#[test]
fn data_that_stay_wear_their_blocks_too() {
    let spread = |wear: &str, seed: u64| {
        let mut drive = empty(&format!("wear = {{ {wear} }}"), seed);
        fill(&mut drive);
        let mut random = Stream::new(seed, "hot", 0);
        closed_loop(&mut drive, 8, 1_500, |_| request(Op::Write, random.below(3 * PAGES) * PAGE, PAGE as u32));
        drive.drain().expect("it comes to rest");
        let erases = drive.kernel().blocks().records().iter().map(|block| block.erases);
        let (most, least) = (erases.clone().max().unwrap_or(0), erases.min().unwrap_or(0));
        let moved = drive.kernel().counters().jobs[Task::WEAR.index()];
        read_all(&mut drive);
        (most - least, moved)
    };
    for seed in 0..4 {
        let (without, with) =
            (spread("policy = \"none\"", seed), spread("policy = \"static\", start_cycles = 8, stop_cycles = 5", seed));
        assert!(3 * with.0 < 2 * without.0 && with.1 > 10 && without.1 == 0, "seed {seed}: {without:?} and {with:?}");
    }
}

/// One block of a plane more than its logical blocks need, and every order in which its operations may be served.
#[test]
fn hardly_any_spare_space_is_enough() {
    const DISPATCH: [&str; 6] = [
        r#"dispatch = { policy = "fifo" }"#,
        r#"dispatch = { policy = "one-queue", depth = 1 }"#,
        r#"dispatch = { policy = "priority", depth = 4, order = ["gc"] }"#,
        "dispatch = { policy = \"debit\", depth = 1 }\nshares = { percent = { gc = 1 } }",
        "dispatch = { policy = \"weighted-fair\", depth = 8 }\nshares = { percent = { gc = 85 } }",
        r#"arbiter = { policy = "priority", order = ["host-read", "host-write", "gc-read", "gc-write", "gc-erase"] }"#,
    ];
    const COLLECT: [&str; 3] = ["", ", blocks_per_die = 1, window_pages = 1", ", blocks_at_a_time = 1, instant = true"];
    let all = (DISPATCH.len() * COLLECT.len() * 2) as u64;
    for_seeds("block_mapping", "hardly_any_spare_space_is_enough", if long() { 10 * all } else { all }, |seed| {
        let nth = seed as usize;
        let (dispatch, nth) = (DISPATCH[nth % DISPATCH.len()], nth / DISPATCH.len());
        let (collect, nth) = (COLLECT[nth % COLLECT.len()], nth / COLLECT.len());
        let (placement, scope) = if nth.is_multiple_of(2) { ("static", "plane") } else { ("least-busy", "drive") };
        println!("seed {seed}: {dispatch}, {collect:?}, {placement}");
        let text = |ratio: f64| {
            format!(
                r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 12, pages_per_block = {PAGES}, page_kib = 16 }}
        capacity = {{ raw_over_logical = {ratio} }}
        mapping = {{ policy = "block" }}
        placement = {{ policy = "{placement}" }}
        collect = {{ policy = "on-demand", scope = "{scope}", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 {collect} }}
        pack = {{ policy = "planes" }}
        {dispatch}
        verify = {{ shadow = true }}
        "#
            )
        };
        let ratio = (0..2000)
            .map(|step| 1.001 + 0.001 * f64::from(step))
            .find(|&ratio| from_text("tight", &text(ratio)).is_ok());
        let mut drive = drive(&text(ratio.expect("so much spare is accepted")), seed);
        let pages = fill(&mut drive);
        let mut random = Stream::new(seed, "places", 0);
        closed_loop(&mut drive, 32, 3 * pages, |_| {
            let (page, op) = (random.below(pages), if random.below(8) == 0 { Op::Trim } else { Op::Write });
            request(op, page * PAGE, ((1 + random.below(4)).min(pages - page) * PAGE) as u32)
        });
        drive.drain().expect("it comes to rest");
        assert!(drive.kernel().counters().collections() > 50);
        read_all(&mut drive);
    });
}

#[test]
fn what_does_not_go_together_is_refused() {
    let base = r#"
        geometry = { channels = 2, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 40, pages_per_block = 8, page_kib = 16 }
        capacity = { raw_over_logical = 2.0 }
        mapping = { policy = "block" }
        "#;
    let on_demand = "policy = \"on-demand\"";
    for (more, key) in [
        (
            "placement = { policy = \"least-busy\" }\ncollect = { policy = \"on-demand\", scope = \"plane\" }",
            "collect.scope",
        ),
        ("placement = { policy = \"least-busy\" }\nredundancy = { policy = \"superblock\" }", "redundancy.policy"),
        (&format!("collect = {{ {on_demand}, into = \"shared-block\" }}"), "collect.into"),
        (&format!("collect = {{ {on_demand}, copyback = \"internal\" }}"), "collect.copyback"),
        (&format!("collect = {{ {on_demand}, hold_below_blocks = 2 }}"), "collect.hold_below_blocks"),
        (&format!("collect = {{ {on_demand}, pacing = true }}"), "collect.pacing"),
        ("pack = { policy = \"cache\" }", "pack.policy"),
        ("pack = { policy = \"planes\", cache = true }", "pack.cache"),
        ("nand = { reliability = { endurance = 100, program_fail = 0.01 } }", "mapping.policy"),
    ] {
        let error = match from_text("test", &format!("{base}\n{more}")) {
            Err(error) => error.to_string(),
            Ok(config) => Drive::new(&config, 1).expect_err(more).to_string(),
        };
        assert!(error.contains(key) && error.contains("does not go with"), "{more}: {error}");
    }
}
