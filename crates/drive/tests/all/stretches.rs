//! Writes whose units go together as stretches: all that a drive does is the same as with an operation for each unit.

use crate::common::random_drive::random_config;
use crate::common::{between, chance, closed_loop, config_unless_refused, for_seeds, long, pick, request};
use wordline_base::{Op, Request, Stream};
use wordline_drive::config::DriveConfig;
use wordline_drive::snapshot::{self, Header};
use wordline_drive::Drive;

const SECTOR: u64 = 512;

/// A random small drive with several units in a page, mostly one that has stretches.
fn plain_config(random: &mut Stream) -> Option<DriveConfig> {
    let mut pick = |of: &[&'static str]| *pick(random, of);
    let pages_per_program = pick(&["1", "1", "1", "3"]);
    // What programs a word line at once has one time.
    let program_us = if pages_per_program == "1" { "[150.0, 800.0]" } else { "800.0" };
    let text = format!(
        r#"
        geometry = {{ channels = {}, packages_per_channel = {}, dies_per_package = {}, planes_per_die = {},
                      blocks_per_plane = {}, pages_per_block = {}, page_kib = {}, pages_per_program = {} }}
        nand = {{ read_us = 20.0, program_us = {}, erase_us = 2000.0 }}
        capacity = {{ raw_over_logical = {} }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        placement = {{ policy = {} }}
        collect = {{ policy = "{}", scope = "plane"{} }}
        pack = {{ policy = {} }}
        arbiter = {{ policy = {} }}
        refresh = {{ policy = {} }}
        buffer = {{ policy = "fifo", capacity_kib = {} }}
        queue = {{ queues = 1, depth = 32 }}
        verify = {{ shadow = {} }}
        "#,
        pick(&["1", "2", "3"]),
        pick(&["1", "2"]),
        pick(&["1", "2"]),
        pick(&["1", "2", "2", "4"]),
        pick(&["24", "32", "40"]),
        pick(&["6", "12", "24"]),
        pick(&["8", "16", "16", "32"]),
        pages_per_program,
        program_us,
        pick(&["1.6", "2.2"]),
        pick(&["\"static\", order = \"CWDP\"", "\"static\", order = \"PDWC\"", "\"least-busy\"", "\"least-busy\"",]),
        pick(&["on-demand", "on-demand", "on-demand", "preemptive"]),
        pick(&["", "", ", pacing = true", ", blocks_per_die = 1"]),
        pick(&[
            "\"none\"",
            "\"planes\"",
            "\"planes\", window = 1",
            "\"planes\", cache = true, passes = 3",
            "\"cache\", passes = 2",
        ]),
        pick(&["\"first-come\"", "\"first-come\"", "\"reads-first\"", "\"priority\""]),
        pick(&["\"none\"", "\"none\"", "\"scrub\", start_reads = 30, stop_reads = 9"]),
        pick(&["256", "512", "516", "2048"]),
        pick(&["false", "true"]),
    );
    config_unless_refused(&text)
}

/// Requests of all kinds and sizes, in flight together; some units are written again, or given back, while they wait.
fn work(drive: &mut Drive, random: &mut Stream) {
    let sectors = drive.logical_bytes() / SECTOR;
    let unit = u64::from(drive.kernel().plan().unit_bytes) / SECTOR;
    for _ in 0..3 {
        let (writes, others, depth) =
            (*pick(random, &[60, 90, 100]), *pick(random, &[0, 5, 20]), between(random, 1, 32));
        let largest = (*pick(random, &[2 * unit, 6 * unit, 40 * unit])).min(sectors);
        // Some loads stay in a part of the drive, so that units meet in the buffer.
        let part = *pick(random, &[sectors, sectors, (4 * largest).min(sectors)]);
        closed_loop(drive, depth, 300, |_| {
            let mut offset = random.below(part - largest + 1);
            let mut bytes = between(random, 1, largest);
            if chance(random, 70) {
                offset -= offset % unit;
                bytes = bytes.next_multiple_of(unit).min(largest);
            }
            let (offset, bytes) = (offset * SECTOR, (bytes * SECTOR) as u32);
            if chance(random, others) {
                return match random.below(3) {
                    0 => request(Op::Flush, 0, 0),
                    1 => request(Op::Trim, offset, bytes),
                    _ => Request { fua: true, ..request(Op::Write, offset, bytes) },
                };
            }
            request(if chance(random, writes) { Op::Write } else { Op::Read }, offset, bytes)
        });
        if chance(random, 30) {
            drive.drain().expect("the drive comes to rest");
        }
    }
    drive.drain().expect("the drive comes to rest");
}

/// How many drives had stretches, how many had none, and how many configurations were refused.
#[derive(Default)]
struct Tried {
    stretches: u32,
    others: u32,
    refused: u32,
}

/// Compares a random drive with one without stretches.
fn compare(seed: u64, tried: &mut Tried) {
    let header = Header { version: String::new(), config: 0.into(), seed: 1, precondition: 0.into() };
    let random = &mut Stream::new(seed, "stretches-test", 0);
    let config = if chance(random, 70) { plain_config(random) } else { random_config(random) };
    let drive = config.and_then(|config| Drive::new(&config, seed).ok());
    let Some(mut together) = drive else { return tried.refused += 1 };
    let mut apart = together.clone();
    apart.avoid_stretches();
    assert!(!apart.kernel().has_stretches());
    *if together.kernel().has_stretches() { &mut tried.stretches } else { &mut tried.others } += 1;
    for drive in [&mut together, &mut apart] {
        drive.start_measuring();
        work(drive, &mut Stream::new(seed, "stretches-test", 1));
        drive.kernel().audit().expect("the books balance");
    }
    assert_eq!(together.metrics, apart.metrics);
    assert_eq!((together.events(), together.now()), (apart.events(), apart.now()));
    assert_eq!(together.kernel().counters(), apart.kernel().counters());
    assert_eq!(together.kernel().plane_use(), apart.kernel().plane_use());
    let state = |drive: &mut Drive| snapshot::to_bytes(&header, drive).expect("a drive can be saved");
    assert!(state(&mut together) == state(&mut apart), "the states differ");
}

#[test]
fn stretches_change_nothing() {
    let mut tried = Tried::default();
    for_seeds("stretches", "stretches_change_nothing", if long() { 10_000 } else { 400 }, |seed| {
        compare(seed, &mut tried);
    });
    let Tried { stretches, others, refused } = tried;
    let one = std::env::var_os("WORDLINE_SEED").is_some();
    assert!(one || stretches > 100 && others > 30, "{stretches} with stretches, {others} others, {refused} refused");
}

/// Its GC takes no time, and its writes pass a commit stage: what GC has ended at once is all that the drive waits for at the end.
#[test]
fn a_drive_whose_gc_takes_no_time_comes_to_rest() {
    let mut tried = Tried::default();
    compare(9864, &mut tried);
    assert_eq!(tried.stretches + tried.others, 1, "there is such a drive");
}
