//! Drives with hardly any spare space under the worst loads, with every dispatch policy, ways of collecting, and a map
//! cache of one unit: nothing deadlocks, no request waits for ever, and the books balance.

use crate::common::{config, drive, for_seeds, long, request, watched_loop};
use wordline_base::{Op, Stream};
use wordline_drive::{Drive, Task};

const DISPATCH: [&str; 17] = [
    r#"dispatch = { policy = "fifo" }"#,
    r#"dispatch = { policy = "vaq" }"#,
    r#"dispatch = { policy = "paq", decision_us = 5.0, bound_us = 100.0 }"#,
    r#"dispatch = { policy = "paq", interleave = true }"#,
    r#"dispatch = { policy = "out-of-order" }"#,
    r#"dispatch = { policy = "deadline" }"#,
    r#"dispatch = { policy = "deadline", depth = 1, read_deadline_us = 50.0, write_deadline_us = 1.0, background_deadline_us = 5000.0 }"#,
    r#"dispatch = { policy = "deadline", gc_aware = false, write_deadline_us = 60000000.0, stream_deadline_us = { 0 = 900.0 } }"#,
    r#"dispatch = { policy = "one-queue", depth = 1 }"#,
    r#"dispatch = { policy = "one-queue", depth = 8 }"#,
    r#"dispatch = { policy = "priority", depth = 2 }"#,
    r#"dispatch = { policy = "priority", depth = 4, order = ["gc"] }"#,
    "dispatch = { policy = \"debit\", depth = 1 }\nshares = { percent = { gc = 1 } }",
    "dispatch = { policy = \"debit\", depth = 4 }\nshares = { percent = { gc = 80 } }",
    "dispatch = { policy = \"debit\" }\nshares = { policy = \"feedback\", interval_ms = 0.1 }",
    "dispatch = { policy = \"weighted-fair\", depth = 2 }\nshares = { percent = { gc = 1 } }",
    "dispatch = { policy = \"weighted-fair\", depth = 8 }\nshares = { percent = { gc = 85 } }",
];

/// Options of GC, and whether programs use cache mode and gather moved pages.
const COLLECT: [(&str, bool); 5] = [
    ("pacing = true", true),
    ("pacing = true, blocks_per_die = 1, window_pages = 1", false),
    ("blocks_per_die = 1", false),
    ("pacing = true", false),
    ("", false),
];

/// Seeds: each has another combination, until all have been tried.
fn tries() -> u64 {
    let all = (DISPATCH.len() * COLLECT.len()) as u64;
    if long() {
        10 * all
    } else {
        all
    }
}

/// Eight planes of 40 blocks, full, with two blocks more than the least that is accepted.
fn tight(refresh: &str, seed: u64) -> Drive {
    let nth = seed as usize;
    let dispatch = DISPATCH[nth % DISPATCH.len()];
    let collect = COLLECT[(nth + nth / DISPATCH.len()) % COLLECT.len()];
    println!("seed {seed}: {dispatch}, collect {collect:?}");
    let (collect, cache) = collect;
    // A map cache of one map unit, of five or six.
    let mapping = if nth.is_multiple_of(3) { "policy = \"cached\", cache_kib = 4" } else { "policy = \"page\"" };
    // A commit stage sends pages one by one.
    let gather = cache && dispatch.contains("fifo");
    let text = format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 2, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 40, pages_per_block = 8, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 2.0 }}
        mapping = {{ {mapping}, unit_kib = 4 }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", {collect} }}
        pack = {{ policy = "planes", cache = {cache}, gather = {gather} }}
        refresh = {{ {refresh} }}
        {dispatch}
        queue = {{ queues = 1, depth = 64 }}
        buffer = {{ policy = "fifo", capacity_kib = 256 }}
        verify = {{ shadow = true }}
        "#
    );
    let mut config = config(&text);
    // Two of 320 blocks are 0.6 % of the drive.
    let spare = (0..1000).map(|step| 1.0 + 0.001 * f64::from(step)).find(|&ratio| {
        config.firmware.capacity.raw_over_logical = ratio;
        config.parts().is_ok()
    });
    config.firmware.capacity.raw_over_logical = spare.expect("a drive with so much spare is accepted") + 0.008;
    let mut drive = Drive::new(&config, seed).expect("more is accepted");
    let pages = drive.logical_bytes() / 4096;
    watched_loop(&mut drive, 64, pages, |nth| request(Op::Write, nth * 4096, 4096), |_| {});
    drive
}

fn comes_to_rest(mut drive: Drive) {
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
}

#[test]
fn random_writes_at_full_depth_go_on_for_ever() {
    for_seeds("adversarial", "random_writes_at_full_depth_go_on_for_ever", tries(), |seed| {
        let mut drive = tight("policy = \"none\"", seed);
        let pages = drive.logical_bytes() / 4096;
        let mut random = Stream::new(seed, "places", 0);
        let anywhere = |_| request(Op::Write, random.below(pages) * 4096, 4096);
        watched_loop(&mut drive, 64, 2 * pages, anywhere, |_| {});
        let collections = drive.kernel().counters().collections();
        assert!(collections > 100, "{collections} collections");
        comes_to_rest(drive);
    });
}

#[test]
fn a_hammered_block_is_moved_under_load() {
    for_seeds("adversarial", "a_hammered_block_is_moved_under_load", tries(), |seed| {
        let mut drive = tight("policy = \"scrub\", start_reads = 40, stop_reads = 20", seed);
        let pages = drive.logical_bytes() / 4096;
        let mut random = Stream::new(seed, "places", 0);
        let hammer = |_| match random.below(3) {
            0 => request(Op::Write, random.below(pages) * 4096, 4096),
            // The units of one page.
            _ => request(Op::Read, random.below(4) * 4096, 4096),
        };
        watched_loop(&mut drive, 64, 2 * pages, hammer, |_| {});
        let scrubbed = drive.kernel().counters().jobs[Task::REFRESH.index()];
        println!("seed {seed}: {scrubbed} blocks scrubbed");
        // With a small share it is slow; a job whose last units wait for ever would be the only one.
        assert!(scrubbed >= 10, "{scrubbed} blocks");
        comes_to_rest(drive);
    });
}

/// A drive of eight planes that has two per cent more than it offers, with a table of 75 map units and memory for one of
/// them, filled, with all background tasks at work.
fn two_percent(rest: &str) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 2, dies_per_package = 1, planes_per_die = 2,
            blocks_per_plane = 300, pages_per_block = 32, page_kib = 4 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.02 }}
        mapping = {{ policy = "cached", cache_kib = 4, unit_kib = 4 }}
        placement = {{ policy = "least-busy" }}
        refresh = {{ policy = "scrub", start_reads = 60, stop_reads = 30 }}
        wear = {{ policy = "static", start_cycles = 3, stop_cycles = 2 }}
        queue = {{ queues = 1, depth = 64 }}
        buffer = {{ policy = "fifo", capacity_kib = 256 }}
        verify = {{ shadow = true }}
        {rest}
        "#
    );
    let mut drive = drive(&text, 1);
    let pages = drive.logical_bytes() / 4096;
    watched_loop(&mut drive, 64, pages, |nth| request(Op::Write, nth * 4096, 4096), |_| {});
    drive
}

#[test]
fn two_percent_of_spare_space_is_enough() {
    let least = if long() { 0 } else { DISPATCH.len() as u64 };
    let count = (DISPATCH.len() * COLLECT.len()) as u64 - least * (COLLECT.len() as u64 - 1);
    for_seeds("adversarial", "two_percent_of_spare_space_is_enough", count, |seed| {
        let nth = seed as usize;
        let (dispatch, (collect, cache)) =
            (DISPATCH[nth % DISPATCH.len()], COLLECT[(nth + nth / DISPATCH.len()) % COLLECT.len()]);
        println!("seed {seed}: {dispatch}, collect {collect:?}");
        // The host needs a share beside three background tasks.
        let dispatch = ["gc = 80", "gc = 85"]
            .iter()
            .fold(dispatch.to_owned(), |text, large| text.replace(large, "gc = 75, refresh = 5, wear = 5"));
        let pack = format!("pack = {{ policy = \"planes\", cache = {cache} }}");
        let collect = format!("collect = {{ policy = \"on-demand\", scope = \"drive\", {collect} }}");
        let mut drive = two_percent(&format!("{dispatch}\n{pack}\n{collect}"));
        let pages = drive.logical_bytes() / 4096;
        let mut random = Stream::new(seed, "places", 0);
        let before = *drive.kernel().counters();
        let load = |_| match random.below(8) {
            // One page is read over and over.
            0 => request(Op::Read, random.below(4) * 4096, 4096),
            _ => request(Op::Write, random.below(pages) * 4096, 4096),
        };
        watched_loop(&mut drive, 64, pages / 6, load, |_| {});
        let now = *drive.kernel().counters();
        let misses = (now.map_lookups - before.map_lookups) - (now.map_hits - before.map_hits);
        let jobs = |task: Task| now.jobs[task.index()] - before.jobs[task.index()];
        let counts = [Task::GC, Task::REFRESH, Task::WEAR].map(jobs);
        println!("seed {seed}: {misses} lookups missed, {counts:?} blocks of GC, scrubbing and wear leveling");
        assert!(misses > 300 && counts.iter().all(|&jobs| jobs > 0), "{misses} lookups missed, {counts:?} blocks");
        comes_to_rest(drive);
    });
}
