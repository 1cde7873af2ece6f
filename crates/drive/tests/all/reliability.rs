//! Drives whose flash fails: bad blocks are skipped or retired without data loss, retries make reads slower, and a
//! drive without spare blocks ends with an explanation.

use crate::common::{config, drive, for_seeds, latency, long, one, request, NS, US};
use wordline_base::{Op, Request, Stream};
use wordline_drive::snapshot::{self, Header};
use wordline_drive::{Drive, Reason, Task};

const PAGE: u64 = 16_384;

fn text(reliability: &str, rest: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
                      blocks_per_plane = 64, pages_per_block = 16, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 500.0, erase_us = 3000.0,
                  reliability = {{ {reliability} }} }}
        capacity = {{ raw_over_logical = 1.5 }}
        verify = {{ shadow = true }}
        {rest}
        "#
    )
}

fn bad(drive: &Drive) -> usize {
    let flash = drive.kernel().flash();
    (0..flash.geometry().blocks()).filter(|&block| flash.block_record(block).bad).count()
}

/// Writes at most `count` pages at random; true unless the drive ended before.
fn random_writes(drive: &mut Drive, seed: u64, count: u64) -> bool {
    let mut random = Stream::new(seed, "reliability-load", 0);
    let pages = drive.logical_bytes() / PAGE;
    let (mut submitted, mut completed) = (0, 0);
    while completed < count {
        while submitted < count && submitted - completed < 8 {
            let now = drive.now();
            let write = request(Op::Write, random.below(pages) * PAGE, PAGE as u32);
            drive.submit(now, Request { arrival: now, ..write }).expect("it fits the drive");
            submitted += 1;
        }
        match drive.step() {
            Ok(true) => completed += drive.completions().drain(..).count() as u64,
            Ok(false) => panic!("the drive stalled after {completed} writes"),
            Err(fault) if matches!(fault.reason(), Reason::NoSpare { .. }) => return false,
            Err(fault) => panic!("{fault}"),
        }
    }
    drive.drain().is_ok()
}

#[test]
fn failed_programs_never_take_the_space_that_gc_needs() {
    let count = if long() { 300 } else { 40 };
    for_seeds("reliability", "failed_programs_never_take_the_space_that_gc_needs", count, |seed| {
        // Small blocks: with the data of few failed ones the free space of a plane would be gone.
        let small = text("endurance = 3000, program_fail = 0.002, fail_exponent = 0.0", "")
            .replace("dies_per_package = 2, planes_per_die = 2", "dies_per_package = 4, planes_per_die = 1")
            .replace("blocks_per_plane = 64, pages_per_block = 16", "blocks_per_plane = 60, pages_per_block = 4")
            .replace("raw_over_logical = 1.5", "raw_over_logical = 1.876, replacement_blocks = 20");
        let scope = ["plane", "drive"][(seed % 2) as usize];
        let text = format!(
            "{small}\nplacement = {{ policy = \"{}\" }}\ncollect = {{ policy = \"on-demand\", scope = \"{scope}\" }}",
            if scope == "plane" { "static" } else { "least-busy" }
        );
        let mut drive = drive(&text, seed);
        random_writes(&mut drive, seed, 5_000);
        drive.kernel().audit().expect("the books balance");
    });
}

#[test]
fn blocks_that_came_bad_are_never_used() {
    for_seeds("reliability", "blocks_that_came_bad_are_never_used", if long() { 50 } else { 5 }, |seed| {
        let mut drive = drive(&text("factory_bad_percent = 5.0", ""), seed);
        let came = bad(&drive);
        assert!((3..=30).contains(&came), "{came} of 256 blocks at 5 %");
        assert!(random_writes(&mut drive, seed, 3_000), "nothing fails");
        assert_eq!(bad(&drive), came);
        drive.kernel().audit().expect("the books balance");
    });
}

#[test]
fn failing_programs_and_erases_cost_blocks_but_no_data() {
    let (mut programs, mut erases, mut survivors) = (0, 0, 0);
    for_seeds(
        "reliability",
        "failing_programs_and_erases_cost_blocks_but_no_data",
        if long() { 100 } else { 8 },
        |seed| {
            let rest = match seed % 4 {
                0 => "",
                1 => "pack = { policy = \"planes\", cache = true }",
                2 => "collect = { policy = \"on-demand\", scope = \"plane\", copyback = \"internal\" }",
                _ => "mapping = { policy = \"page\", unit_kib = 4 }",
            };
            let wear = "endurance = 400, program_fail = 0.003, erase_fail = 0.08, fail_exponent = 0.5";
            let mut drive = drive(&text(wear, rest), seed);
            let lives = random_writes(&mut drive, seed, 12_000);
            let counts = drive.wear_counts();
            programs += counts.program_fails;
            erases += counts.erase_fails;
            assert!(bad(&drive) >= counts.erase_fails as usize, "{} bad after {counts:?}", bad(&drive));
            if lives {
                drive.kernel().audit().expect("the books balance, the shadow disk included");
                survivors += 1;
            }
        },
    );
    assert!(
        std::env::var_os("WORDLINE_SEED").is_some() || (programs > 0 && erases > 0 && survivors > 5),
        "{programs}, {erases}, {survivors}"
    );
}

/// Mappings of whole blocks, with collection and wear leveling of several kinds.
const WHOLE_BLOCKS: [&str; 8] = [
    "mapping = { policy = \"block\" }",
    "mapping = { policy = \"bast\" }",
    "mapping = { policy = \"sast\", group_blocks = 3, group_log_blocks = 2 }\nwear = { policy = \"hot-cold\", threshold_cycles = 3 }",
    "mapping = { policy = \"fast\" }\nwear = { policy = \"lazy\", delta_cycles = 3.0 }",
    "mapping = { policy = \"pftl\" }\ncollect = { policy = \"partial\", threshold_blocks = 40 }",
    "mapping = { policy = \"bast\" }\ncollect = { policy = \"agc-dgc\" }\nwear = { policy = \"dual-pool\", threshold_cycles = 3 }",
    "mapping = { policy = \"fast\", zone_blocks = 20, zone_tables = 2 }\nwear = { policy = \"recency\", erases_per_block = 3.0 }",
    "mapping = { policy = \"bast\" }\nplacement = { policy = \"least-busy\" }\n\
     collect = { policy = \"on-demand\", scope = \"drive\" }\nwear = { policy = \"static\", start_cycles = 4, stop_cycles = 2 }",
];

/// A block whose erase fails is bad, and one that was held back takes its place, whatever block it was: of data, a log block, one that wear
/// leveling has emptied. Nothing is lost, and the last one ends the drive.
#[test]
fn failing_erases_cost_mappings_of_whole_blocks_no_data() {
    let (mut erases, mut survivors, mut ended) = (0, 0, 0);
    let count = if long() { 80 } else { 16 };
    for_seeds("reliability", "failing_erases_cost_mappings_of_whole_blocks_no_data", count, |seed| {
        let rest = WHOLE_BLOCKS[seed as usize % WHOLE_BLOCKS.len()];
        let often = if seed % 16 < 8 { 0.02 } else { 0.3 };
        let wear = format!("endurance = 4000, erase_fail = {often}, fail_exponent = 0.3");
        let text = text(&wear, rest)
            .replace("blocks_per_plane = 64, pages_per_block = 16", "blocks_per_plane = 40, pages_per_block = 8");
        let mut drive = drive(&text, seed);
        let lives = random_writes(&mut drive, seed, 1_500);
        let counts = drive.wear_counts();
        assert_eq!((bad(&drive), counts.program_fails), (counts.erase_fails as usize, 0));
        let spare = (0..4).map(|plane| drive.kernel().blocks().spare(plane) as usize).sum::<usize>();
        erases += counts.erase_fails;
        if lives {
            drive.kernel().audit().expect("the books balance, the shadow disk included");
            survivors += 1;
            let pages = drive.logical_bytes() / PAGE;
            for page in 0..pages {
                one(&mut drive, request(Op::Read, page * PAGE, PAGE as u32));
            }
        } else {
            // One more than were held back, in some plane.
            assert!(spare < 4 * 40 && counts.erase_fails > 1, "{counts:?}");
            ended += 1;
        }
    });
    assert!(
        std::env::var_os("WORDLINE_SEED").is_some() || (erases > 50 && survivors > 3 && ended > 3),
        "{erases}, {survivors}, {ended}"
    );
}

/// A program that fails costs its block: a log block is merged, a data block moves to another one, and nothing is lost.
#[test]
fn failing_programs_cost_log_blocks_no_data() {
    let (mut programs, mut erases, mut survivors, mut doomed) = (0, 0, 0, 0);
    let count = if long() { 140 } else { 28 };
    for_seeds("reliability", "failing_programs_cost_log_blocks_no_data", count, |seed| {
        // Not block mapping.
        let rest = WHOLE_BLOCKS[1 + seed as usize % (WHOLE_BLOCKS.len() - 1)];
        let often = if seed % 14 < 7 { 0.001 } else { 0.005 };
        let wear = format!("endurance = 4000, program_fail = {often}, erase_fail = 0.02, fail_exponent = 0.0");
        let text = text(&wear, rest)
            .replace("blocks_per_plane = 64, pages_per_block = 16", "blocks_per_plane = 60, pages_per_block = 8");
        let mut drive = drive(&text, seed);
        let lives = random_writes(&mut drive, seed, 1_000);
        let counts = drive.wear_counts();
        (programs, erases) = (programs + counts.program_fails, erases + counts.erase_fails);
        if lives {
            drive.kernel().audit().expect("the books balance, the shadow disk included");
            survivors += 1;
            // A snapshot has log blocks with a failed program, and goes on with them.
            let header = Header { version: String::new(), config: 0.into(), seed, precondition: 0.into() };
            let bytes = snapshot::to_bytes(&header, &drive).expect("there is memory");
            doomed += drive.kernel().blocks().records().iter().filter(|record| record.doomed).count();
            (_, drive) = snapshot::from_bytes("it", &bytes, &config(&text), seed).unwrap_or_else(|e| panic!("{e}"));
            for page in 0..drive.logical_bytes() / PAGE {
                one(&mut drive, request(Op::Read, page * PAGE, PAGE as u32));
            }
        }
    });
    assert!(
        std::env::var_os("WORDLINE_SEED").is_some() || (programs > 50 && erases > 20 && survivors > 5 && doomed > 0),
        "{programs}, {erases}, {survivors}, {doomed}"
    );
}

/// A drive of one plane of 14 blocks of eight pages, of which two are held back, where everything of a kind fails.
fn failing(mapping: &str, what: &str) -> Drive {
    let text = format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
            blocks_per_plane = 14, pages_per_block = 8, page_kib = 16 }}
        nand = {{ reliability = {{ endurance = 100, {what} = 1.0, fail_exponent = 0.0 }} }}
        capacity = {{ raw_over_logical = 2.8, replacement_blocks = 2 }}
        mapping = {{ policy = "{mapping}" }}
        placement = {{ policy = "least-busy" }}
        collect = {{ policy = "on-demand", scope = "drive", reserve_blocks = 1, start_blocks = 2, stop_blocks = 2 }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        "#
    );
    drive(&text, 1)
}

/// One plane of 14 blocks of eight pages, of which two are held back, and every erase fails: two are replaced.
#[test]
fn each_failed_erase_takes_a_block_that_was_held_back() {
    for mapping in ["bast", "block"] {
        let mut drive = failing(mapping, "erase_fail");
        let bytes = (8 * PAGE) as u32;
        let mut seen = vec![(0, 2)];
        let fault = loop {
            // Logical block 0 is overwritten whole: each time the block before is stale, and its erase fails.
            let now = drive.now();
            let write = Request { arrival: now, ..request(Op::Write, 0, bytes) };
            drive.submit(now, write).expect("it fits the drive");
            if let Err(fault) = drive.drain() {
                break fault;
            }
            drive.completions().clear();
            drive.kernel().audit().expect("the books balance");
            let now = (bad(&drive), drive.kernel().blocks().spare(0));
            if seen.last() != Some(&now) {
                seen.push(now);
            }
        };
        assert_eq!(seen, [(0, 2), (1, 1), (2, 0)], "{mapping}");
        let &Reason::NoSpare { plane, bad, replacements, .. } = fault.reason() else { panic!("{fault}") };
        assert_eq!((plane, bad, replacements), (0, 3, 2), "{mapping}");
    }
}

/// The same drive with log blocks, where every program fails. The first page of the host dooms its data block. Its logical block moves to
/// a second one, whose program fails, and to a third: two blocks were held back, and it has none to replace it.
#[test]
fn a_data_block_with_a_failed_program_moves_to_another() {
    for mapping in ["bast", "fast", "pftl"] {
        let mut drive = failing(mapping, "program_fail");
        drive.submit(0, request(Op::Write, 0, PAGE as u32)).expect("it fits the drive");
        let fault = drive.drain().expect_err("each program fails");
        let &Reason::NoSpare { bad, replacements, .. } = fault.reason() else { panic!("{fault}") };
        assert_eq!((bad, replacements, drive.wear_counts().program_fails), (3, 2, 3), "{mapping}");
        assert_eq!(
            drive.kernel().counters().moved[Task::GC.index()],
            1,
            "{mapping}: the move to the second block ended"
        );
    }
}

#[test]
fn failing_programs_are_refused_with_block_mapping() {
    let wear = "endurance = 1000, program_fail = 0.01, erase_fail = 0.01";
    let text = text(wear, "mapping = { policy = \"block\" }");
    let error = Drive::new(&config(&text), 1).expect_err("programs may fail").to_string();
    assert!(error.starts_with("mapping.policy = block: does not go with"), "{error}");
    assert!(error.contains("set program_fail to 0 (erases may fail), or use log blocks"), "{error}");
    assert!(Drive::new(&config(&text.replace("program_fail = 0.01, ", "")), 1).is_ok());
    assert!(Drive::new(&config(&text.replace("\"block\"", "\"bast\"")), 1).is_ok());
}

#[test]
fn without_spare_blocks_the_drive_ends_with_its_story() {
    let wear = "endurance = 1000, erase_fail = 1.0, fail_exponent = 0.5";
    let mut drive = drive(&text(wear, ""), 3);
    let mut random = Stream::new(3, "reliability-load", 0);
    let pages = drive.logical_bytes() / PAGE;
    let fault = loop {
        if drive.has_slot(0) {
            let now = drive.now();
            let write = request(Op::Write, random.below(pages) * PAGE, PAGE as u32);
            drive.submit(now, Request { arrival: now, ..write }).expect("it fits the drive");
        }
        match drive.step() {
            Ok(true) => drive.completions().clear(),
            Ok(false) => panic!("the drive stalled"),
            Err(fault) => break fault,
        }
    };
    assert!(matches!(fault.reason(), Reason::NoSpare { .. }), "{fault}");
    let story = fault.to_string();
    assert!(
        story.starts_with("the drive failed after ") && story.contains("has used up its replacement blocks"),
        "{story}"
    );
}

#[test]
fn too_many_bad_blocks_are_refused_at_once() {
    let error = Drive::new(&config(&text("factory_bad_percent = 40.0", "")), 1).expect_err("nothing is left");
    assert!(error.to_string().starts_with("nand.reliability.factory_bad_percent = "), "{error}");
}

#[test]
fn a_retry_is_a_read_again_with_other_thresholds() {
    // One bit per 1,024 bytes can be corrected: every read fails until its retries are used up.
    let hopeless =
        "model = \"power-law\", ecc_bits = 1, read_retries = 2, retry_rber_factor = 1.0, retention_hours = 9000.0";
    let mut worn = drive(&text(hopeless, "buffer = { policy = \"none\" }"), 1);
    let mut fresh = drive(&text("", "buffer = { policy = \"none\" }"), 1);
    let took = [&mut fresh, &mut worn].map(|drive| {
        latency(drive, request(Op::Write, 0, PAGE as u32));
        latency(drive, request(Op::Read, 0, PAGE as u32))
    });
    // 00h, address, 30h and tWB 275 ns, tR 50 us, tRR 20 ns and 20.48 us of data; before that SET FEATURES: EFh and address 50 ns, tADL
    // 150 ns, four bytes 5 ns, tWB 100 ns, tFEAT 1 us.
    let retry = 275 * NS + 50 * US + 20_500 * NS + 305 * NS + US;
    assert_eq!(took[1] - took[0], 2 * retry);
    let counts = worn.wear_counts();
    assert_eq!((counts.retries, counts.uncorrectable), (2, 1));
}
