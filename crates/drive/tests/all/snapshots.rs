//! Snapshots are untrusted input: intact ones continue exactly, modified ones are rejected or work.

use crate::common::{between, closed_loop, config, for_seeds, long, pick, request};
use std::io::{Read, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use wordline_base::{Op, Request, Stream};
use wordline_drive::config::PreconditionConfig;
use wordline_drive::precondition::precondition;
use wordline_drive::snapshot::{self, Header, SnapshotError};
use wordline_drive::{Drive, DriveConfig};

const SHAPE: &str = r#"
    geometry = { channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2, blocks_per_plane = 24,
                 pages_per_block = 8, page_kib = 16 }
    queue = { queues = 2, depth = 16 }
"#;
const NAND: &str =
    "[nand]\nread_us = [20.0, 60.0]\nprogram_us = [150.0, 800.0]\nerase_us = 2000.0\nslc_read_us = 20.0\n\
    slc_program_us = 100.0\n";

/// Drives with different state: orders, rankings, random numbers, thresholds, bad blocks, a shadow.
const KINDS: [(&str, &str); 31] = [
    (
        "by request",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "by-request", fill_kib = 40 }
        collect = { policy = "on-demand", scope = "plane" }
        dispatch = { policy = "one-request", order = "reads-first" }
        buffer = { policy = "none" }"#,
    ),
    (
        "in turn",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "in-turn", order = "PWCD" }
        collect = { policy = "on-demand", scope = "plane" }
        dispatch = { policy = "in-order" }
        buffer = { policy = "none" }"#,
    ),
    (
        "dynamic",
        r#"capacity = { raw_over_logical = 1.6 }
        placement = { policy = "least-busy" }
        victim = { policy = "best-of" }
        collect = { policy = "on-demand", scope = "drive", copyback = "checked" }
        pack = { policy = "planes", cache = true }
        suspend = { policy = "reads" }
        buffer = { policy = "fifo", capacity_kib = 512 }
        verify = { shadow = true }"#,
    ),
    (
        "on hold",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        collect = { policy = "preemptive", stop_blocks = 4, hard_blocks = 1 }"#,
    ),
    (
        "fixed",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "static" }
        victim = { policy = "greedy" }"#,
    ),
    (
        "in order",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        victim = { policy = "fifo" }
        collect = { policy = "on-demand", scope = "plane", stop_blocks = 4 }
        free_block = { policy = "fifo" }"#,
    ),
    (
        "by chance",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        victim = { policy = "random" }
        pack = { policy = "cache" }"#,
    ),
    (
        "by age",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        victim = { policy = "cost-benefit" }
        collect = { policy = "on-demand", scope = "drive" }
        verify = { shadow = true }"#,
    ),
    (
        "debits",
        r#"capacity = { raw_over_logical = 1.6 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive", blocks_per_die = 1 }
        refresh = { policy = "scrub", start_reads = 20, stop_reads = 10 }
        dispatch = { policy = "debit", depth = 2 }
        shares = { policy = "feedback", interval_ms = 0.5 }
        buffer = { policy = "fifo", capacity_kib = 512 }"#,
    ),
    (
        "fair queues",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        dispatch = { policy = "weighted-fair" }
        shares = { policy = "fixed", percent = { gc = 30 } }"#,
    ),
    (
        "one queue",
        r#"capacity = { raw_over_logical = 1.6 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        pack = { policy = "planes", gather = false }
        dispatch = { policy = "one-queue", depth = 2 }"#,
    ),
    (
        "map cache",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        mapping = { policy = "cached", unit_kib = 1, cache_kib = 3 }
        collect = { policy = "on-demand", scope = "drive", pacing = true }
        verify = { shadow = true }"#,
    ),
    (
        "parity",
        r#"capacity = { raw_over_logical = 4.0 }
        placement = { policy = "least-busy" }
        victim = { policy = "cost-benefit" }
        collect = { policy = "on-demand", scope = "drive" }
        redundancy = { policy = "rain" }
        verify = { shadow = true }"#,
    ),
    (
        "computing",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        mapping = { policy = "page", unit_kib = 4 }
        processor = { policy = "uniform" }"#,
    ),
    (
        "superblocks",
        r#"capacity = { raw_over_logical = 3.0 }
        placement = { policy = "least-busy" }
        victim = { policy = "fifo" }
        collect = { policy = "on-demand", scope = "drive", pacing = true }
        redundancy = { policy = "superblock", dies = 2 }"#,
    ),
    (
        "leveled",
        r#"capacity = { raw_over_logical = 1.6 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        wear = { policy = "static", start_cycles = 2, stop_cycles = 1 }
        verify = { shadow = true }"#,
    ),
    (
        "leveled superblocks",
        r#"capacity = { raw_over_logical = 3.0 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        wear = { policy = "static", start_cycles = 2, stop_cycles = 1 }
        redundancy = { policy = "superblock", dies = 2 }"#,
    ),
    (
        "block mapping",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "static" }
        mapping = { policy = "block" }
        wear = { policy = "static", start_cycles = 2, stop_cycles = 1 }
        verify = { shadow = true }"#,
    ),
    (
        "read blocks",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        mapping = { policy = "block" }
        victim = { policy = "best-of" }
        collect = { policy = "on-demand", scope = "drive" }
        refresh = { policy = "scrub", start_reads = 20, stop_reads = 10 }
        buffer = { policy = "fifo", capacity_kib = 512 }"#,
    ),
    (
        "log blocks",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        mapping = { policy = "bast", log_blocks = 6 }
        verify = { shadow = true }"#,
    ),
    (
        "leveled log blocks",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        mapping = { policy = "fast", log_blocks = 4 }
        wear = { policy = "lazy", delta_cycles = 1.0, lambda_percent = -5.0, session_erases = 3 }
        verify = { shadow = true }"#,
    ),
    (
        "swapped",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        mapping = { policy = "fast" }
        wear = { policy = "hot-cold", threshold_cycles = 2 }"#,
    ),
    (
        "pooled",
        r#"capacity = { raw_over_logical = 1.8 }
        wear = { policy = "dual-pool", threshold_cycles = 2 }
        verify = { shadow = true }"#,
    ),
    (
        "leveled by recency",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        mapping = { policy = "bast" }
        wear = { policy = "recency", erases_per_block = 2.0 }"#,
    ),
    (
        "log blocks of groups",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "static" }
        mapping = { policy = "sast", group_blocks = 2, group_log_blocks = 2 }
        buffer = { policy = "fifo", capacity_kib = 512 }"#,
    ),
    (
        "log blocks of all",
        r#"capacity = { raw_over_logical = 1.8 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        mapping = { policy = "fast", log_blocks = 4 }
        verify = { shadow = true }"#,
    ),
    (
        "word lines",
        r#"capacity = { raw_over_logical = 2.2 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        # two pages a program
        buffer = { policy = "fifo", capacity_kib = 512 }
        verify = { shadow = true }"#,
    ),
    (
        "fixed cache",
        r#"capacity = { raw_over_logical = 2.6 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        slc = { policy = "static", blocks = 12 }
        fold = { policy = "coldest", idle_us = 100.0, start_blocks = 4 }
        # two pages a program
        verify = { shadow = true }"#,
    ),
    (
        "cached superblocks",
        r#"capacity = { raw_over_logical = 3.0 }
        placement = { policy = "least-busy" }
        collect = { policy = "on-demand", scope = "drive" }
        slc = { policy = "dynamic" }
        fold = { policy = "coldest", idle_us = 100.0, start_blocks = 8 }
        redundancy = { policy = "superblock", dies = 2 }"#,
    ),
    (
        "parity of pages",
        r#"capacity = { raw_over_logical = 3.0 }
        placement = { policy = "static" }
        redundancy = { policy = "ttflash", open_stripes = 9 }
        refresh = { policy = "scrub", start_reads = 20, stop_reads = 10 }
        verify = { shadow = true }"#,
    ),
    (
        "failing",
        r#"capacity = { raw_over_logical = 2.6 }
        placement = { policy = "least-busy" }
        victim = { policy = "greedy" }
        collect = { policy = "on-demand", scope = "drive" }
        [nand.reliability]
        model = "power-law"
        endurance = 200
        factory_bad_percent = 2.0
        program_fail = 0.02
        erase_fail = 0.02"#,
    ),
];

fn of_kind(kind: &str) -> DriveConfig {
    let mapping = if kind.contains("mapping") { "" } else { "mapping = { policy = \"page\", unit_kib = 4 }" };
    let text = format!("{SHAPE}\n{mapping}\n{kind}\n{NAND}");
    config(&match kind.contains("two pages a program") {
        true => {
            text.replace("page_kib = 16", "page_kib = 16, pages_per_program = 2").replace("[150.0, 800.0]", "900.0")
        }
        false => text,
    })
}

fn aged(config: &DriveConfig, seed: u64, timed: bool) -> Drive {
    let mut drive = Drive::new(config, seed).expect("accepted");
    let steps = PreconditionConfig { fill: true, overwrites: 1.0, timed, ..PreconditionConfig::default() };
    precondition(&mut drive, &steps, seed, &mut |_| true).expect("no rule is broken");
    drive
}

fn header(config: &DriveConfig, seed: u64) -> Header {
    let config = serde_json::to_value(config).expect("a configuration can be written out");
    Header { version: "test".into(), config, seed, precondition: serde_json::Value::Null }
}

fn mixed(seed: u64, bytes: u64) -> impl FnMut(u64) -> Request {
    let mut random = Stream::new(seed, "mixed", 0);
    move |_| {
        let op = *pick(&mut random, &[Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim]);
        let length = 512 * between(&mut random, 1, 64);
        let offset = random.below((bytes - length) / 512) * 512;
        Request { stream: random.below(2) as u16, fua: random.below(20) == 0, ..request(op, offset, length as u32) }
    }
}

/// The complete observable result of a workload.
fn outcome(drive: &mut Drive, seed: u64) -> String {
    let bytes = drive.logical_bytes();
    drive.start_measuring();
    closed_loop(drive, 24, 2_000, mixed(seed, bytes));
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    let (hash, state) = (drive.metrics.hash, drive.kernel().state_hash());
    let counters = drive.kernel().counters();
    format!("{hash} {state} {} {counters:?} {:?} {:?}", drive.now(), drive.energy(), drive.wear_counts())
}

#[test]
fn every_kind_of_drive_goes_on_where_it_was_saved() {
    for (name, kind) in KINDS {
        let config = of_kind(kind);
        for (seed, timed) in [(3, false), (4, true), (5, false), (6, true)] {
            let mut original = aged(&config, seed, timed);
            outcome(&mut original, 9);
            let bytes = snapshot::to_bytes(&header(&config, seed), &original).expect("it can be written");
            let (_, mut loaded) = snapshot::from_bytes(name, &bytes, &config, seed).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(outcome(&mut original, 10), outcome(&mut loaded, 10), "{name}, seed {seed}, timed: {timed}");
            let again = snapshot::to_bytes(&header(&config, seed), &loaded).expect("it can be written");
            if let Err(e) = snapshot::from_bytes(name, &again, &config, seed) {
                panic!("{name}: what was loaded can be saved: {e}");
            }
        }
    }
}

/// The parts of a snapshot: the bytes before the first frame, the header with its length, the state, and the chunks of the map.
#[derive(Clone)]
struct Open {
    head: [u8; 12],
    header: Vec<u8>,
    state: Vec<u8>,
    chunks: Vec<Vec<u8>>,
}

impl Open {
    fn new(bytes: &[u8]) -> Self {
        let mut rest = &bytes[12..];
        let mut all = Vec::new();
        let frame = zstd::Decoder::with_buffer(&mut rest).expect("a frame");
        frame.single_frame().read_to_end(&mut all).expect("it is whole");
        let length = 8 + u64::from_le_bytes(all[..8].try_into().expect("eight bytes")) as usize;
        let mut chunks = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let (frame, after) = after.split_at(u32::from_le_bytes(*length) as usize);
            chunks.push(zstd::decode_all(frame).expect("it is whole"));
            rest = after;
        }
        let head = bytes[..12].try_into().expect("twelve bytes");
        Self { head, state: all.split_off(length), header: all, chunks }
    }

    /// Assembled again, with correct checksums.
    fn shut(&self) -> Vec<u8> {
        let frame = |parts: &[&Vec<u8>], into: Vec<u8>| {
            let mut stream = zstd::Encoder::new(into, 1).expect("memory");
            stream.include_checksum(true).expect("it has one");
            parts.iter().try_for_each(|part| stream.write_all(part)).expect("memory");
            stream.finish().expect("memory")
        };
        let mut all = frame(&[&self.header, &self.state], self.head.to_vec());
        for chunk in &self.chunks {
            let packed = frame(&[chunk], Vec::new());
            all.extend((packed.len() as u32).to_le_bytes());
            all.extend(packed);
        }
        all
    }
}

/// Modifies a state at random.
fn alter(random: &mut Stream, state: &mut Vec<u8>) {
    let mut below = |bound: usize| random.below(bound as u64) as usize;
    // Half of the changes are near the front: geometry and sizes are there; the maps take most of the space.
    let end = if below(2) == 0 { state.len().min(2_000) } else { state.len() };
    let at = below(end);
    match below(8) {
        0 => state[at] ^= 1 << below(8),
        1 => state[at] = below(256) as u8,
        2 => state[at] = state[at].wrapping_add(1),
        3 => state[at] = state[at].wrapping_sub(1),
        // A number becomes the maximum: ten bytes for 64 bits, or five for 32.
        4 => drop(state.splice(at..=at, [0xff; 9].into_iter().chain([1]))),
        5 => drop(state.splice(at..=at, [0xff, 0xff, 0xff, 0xff, 0x0f])),
        6 => {
            let other = below(state.len());
            state.swap(at, other);
        }
        _ => {
            let (length, to) = (1 + below(40), below(end));
            let piece: Vec<u8> = state[at..(at + length).min(end)].to_vec();
            let over = to..(to + piece.len()).min(state.len());
            drop(state.splice(over, piece));
        }
    }
}

/// Units that a full drive has in valid places.
fn valid_units(config: &DriveConfig) -> usize {
    (Drive::new(config, 3).expect("accepted").logical_bytes() / 4096) as usize
}

#[test]
fn a_snapshot_ends_where_it_ends() {
    let config = of_kind(KINDS[0].1);
    let whole = snapshot::to_bytes(&header(&config, 3), &aged(&config, 3, false)).expect("it can be written");
    // Cut short anywhere, and with any byte of its frames altered: the checksums tell.
    let mut random = Stream::new(1, "cut", 0);
    for _ in 0..300 {
        let cut = random.below(whole.len() as u64) as usize;
        assert!(snapshot::from_bytes("it", &whole[..cut], &config, 3).is_err(), "cut at {cut}");
        let mut altered = whole.clone();
        altered[cut] ^= 1 << random.below(8);
        match snapshot::from_bytes("it", &altered, &config, 3) {
            // A frame may have a spare bit, such as that of an unused field.
            Ok((_, drive)) => drive.kernel().audit().expect("the books balance"),
            Err(error) => assert!(error.to_string().contains("it: "), "{error}"),
        }
    }
}

/// Works for a while; the firmware may detect errors in its records, but must not panic.
fn work(drive: &mut Drive) -> Result<(), wordline_drive::Fault> {
    let mut next = mixed(5, drive.logical_bytes());
    drive.start_measuring();
    for nth in 0..400 {
        let request = next(nth);
        while !drive.has_slot(request.stream) {
            drive.step()?;
        }
        let now = drive.now();
        drive.submit(now, Request { arrival: now, ..request }).expect("there is a slot");
    }
    drive.drain()
}

#[test]
fn altered_snapshots_are_refused_or_work() {
    let count = if long() { 20_000 } else { 150 };
    for_seeds("snapshots", "altered_snapshots_are_refused_or_work", KINDS.len() as u64, |seed| {
        let (name, kind) = KINDS[seed as usize];
        let config = of_kind(kind);
        let other = config_with_other_arbiter(kind);
        let mut original = aged(&config, 3, seed % 2 == 1);
        outcome(&mut original, 9);
        let whole = Open::new(&snapshot::to_bytes(&header(&config, 3), &original).expect("it can be written"));
        let mut random = Stream::new(seed, "altered", 0);
        let mut refused = 0;
        for nth in 0..count {
            let mut open = whole.clone();
            // The map of such a drive is one chunk.
            let part = if nth % 5 == 0 { &mut open.chunks[0] } else { &mut open.state };
            (0..1 + nth % 3).for_each(|_| alter(&mut random, part));
            let bytes = open.shut();
            let config = if nth % 4 == 3 { &other } else { &config };
            let told = catch_unwind(AssertUnwindSafe(|| match snapshot::from_bytes(name, &bytes, config, 3) {
                Ok((_, mut drive)) => work(&mut drive).map_or_else(|fault| fault.to_string(), |()| "works".into()),
                Err(error) => format!("refused: {error}"),
            }));
            let told = told.unwrap_or_else(|_| panic!("{name}: altered snapshot {nth} breaks the program"));
            refused += u32::from(told.starts_with("refused"));
        }
        assert!(u64::from(refused) > count / 2, "{name}: only {refused} of {count} altered snapshots are refused");
    });
}

fn config_with_other_arbiter(kind: &str) -> DriveConfig {
    of_kind(&format!("arbiter = {{ policy = \"priority\" }}\n{kind}"))
}

#[test]
fn what_no_drive_can_be_is_refused_with_the_reason() {
    let config = of_kind(KINDS[0].1);
    let whole = snapshot::to_bytes(&header(&config, 3), &aged(&config, 3, false)).expect("it can be written");
    let refused = |change: &dyn Fn(&mut Open)| {
        let mut open = Open::new(&whole);
        change(&mut open);
        match snapshot::from_bytes("it", &open.shut(), &config, 3) {
            Ok(_) => panic!("it was taken"),
            Err(error @ SnapshotError::Damaged { .. }) => error.to_string(),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(snapshot::from_bytes("it", &Open::new(&whole).shut(), &config, 3).is_ok());
    // A header that claims to be endless, and an endless state: neither takes memory.
    let told = refused(&|open| open.header[..8].copy_from_slice(&(1_u64 << 60).to_le_bytes()));
    assert!(told.contains("header"), "{told}");
    let told = refused(&|open| open.state.resize(1 << 28, 0));
    assert!(told.contains("more than a drive of this size"), "{told}");
    let told = refused(&|open| open.state.push(0));
    assert!(told.contains("1 bytes too many"), "{told}");
    // The geometry of the drive comes first; its second number is the logical pages per page.
    let told = refused(&|open| open.state[2] += 1);
    assert!(told.contains("no drive can be in this state") || told.contains("configuration"), "{told}");
    // The map: as long as its validity says, each unit once, nothing behind it.
    let told = refused(&|open| open.chunks[0].push(0));
    assert!(told.contains("part 0 of its map"), "{told}");
    let told = refused(&|open| open.chunks[0].resize(1 << 28, 0));
    assert!(told.contains("damaged or cut short"), "{told}");
    let told = refused(&|open| open.chunks.clear());
    assert!(told.contains("damaged or cut short"), "{told}");
    let told = refused(&|open| open.chunks.push(Vec::new()));
    assert!(told.contains("goes on after its end"), "{told}");
    // The first place is valid and becomes invalid; then its unit is missing, which the length tells, and the books of its block.
    let told = refused(&|open| open.chunks[0][0] ^= 1);
    assert!(told.contains("part 0 of its map"), "{told}");
    // The second unit is the first once more.
    let told = refused(&|open| {
        let chunk = &mut open.chunks[0];
        let valid = chunk.len() - 4 * valid_units(&config);
        (0..4).for_each(|byte| chunk[valid + byte * valid_units(&config) + 1] = 0);
    });
    assert!(told.contains("lies in places"), "{told}");
}
