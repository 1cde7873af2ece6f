//! Static wear leveling: blocks with data that stay wear like the others, nothing is lost, and the task comes to rest.

use crate::common::{closed_loop, drive, one, request};
use wordline_base::{Op, Stream};
use wordline_drive::load::from_text;
use wordline_drive::{Drive, Task};
use wordline_firmware::task::{Action, Class};

const STATIC: &str = r#"policy = "static", start_cycles = 8, stop_cycles = 5"#;
const NONE: &str = r#"policy = "none""#;

fn text(wear: &str, scope: &str, more: &str) -> String {
    let placement = if scope == "plane" { "static" } else { "least-busy" };
    format!(
        r#"
        geometry = {{ channels = 1, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
            blocks_per_plane = 32, pages_per_block = 16, page_kib = 16 }}
        nand = {{ interface = "nv-ddr3", rate_mt_s = 800, read_us = 50.0, program_us = 600.0, erase_us = 3000.0 }}
        capacity = {{ raw_over_logical = 1.6 }}
        placement = {{ policy = "{placement}" }}
        collect = {{ policy = "on-demand", scope = "{scope}" }}
        wear = {{ {wear} }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = true }}
        {more}
        "#
    )
}

/// A drive that was filled once, and whose first `part` of all logical pages was then overwritten `times` times as often as it has
/// pages.
fn written(wear: &str, (scope, more): (&str, &str), part: f64, times: f64, seed: u64) -> Drive {
    let mut drive = drive(&text(wear, scope, more), seed);
    let plan = *drive.kernel().plan();
    let (units, bytes) = (u64::from(plan.logical_units), plan.unit_bytes);
    closed_loop(&mut drive, 16, units, |nth| request(Op::Write, nth * u64::from(bytes), bytes));
    let (mut random, hot) = (Stream::new(seed, "hot", 0), (units as f64 * part) as u64);
    closed_loop(&mut drive, 16, (units as f64 * times) as u64, |_| {
        request(Op::Write, random.below(hot) * u64::from(bytes), bytes)
    });
    drive.drain().expect("the drive comes to rest");
    drive.kernel().audit().expect("the books balance");
    drive
}

/// P/E cycles of all blocks: standard deviation, most, sum.
fn cycles(drive: &Drive) -> (f64, u32, u64) {
    let all: Vec<u32> = drive.kernel().blocks().records().iter().map(|block| block.erases).collect();
    let sum: u64 = all.iter().copied().map(u64::from).sum();
    let mean = sum as f64 / all.len() as f64;
    let variance = all.iter().map(|&erases| (f64::from(erases) - mean).powi(2)).sum::<f64>() / all.len() as f64;
    (variance.sqrt(), all.into_iter().max().unwrap_or(0), sum)
}

/// The drives on which it is tried: domain of GC, and other sections.
const DRIVES: [(&str, &str); 4] = [
    ("plane", ""),
    ("drive", ""),
    ("drive", "mapping = { policy = \"page\", unit_kib = 4 }"),
    ("plane", "free_block = { policy = \"fifo\" }"),
];

#[test]
fn blocks_with_cold_data_wear_too_and_nothing_is_lost() {
    for of in DRIVES {
        for seed in 0..4 {
            let without = written(NONE, of, 0.2, 25.0, seed);
            let mut with = written(STATIC, of, 0.2, 25.0, seed);
            let ((spread, most, erases), (spread_with, most_with, erases_with)) = (cycles(&without), cycles(&with));
            let told = format!("{of:?}, seed {seed}: {:?} and {:?}", cycles(&without), cycles(&with));
            assert!(spread_with < 0.5 * spread, "{told}");
            assert!(most_with < most, "{told}");
            assert!((erases_with as f64) < 1.5 * erases as f64, "{told}");
            let counters = with.kernel().counters();
            let moved = counters.jobs[Task::WEAR.index()];
            let erased = counters.ops[Class::new(Task::WEAR, Action::Erase).index()];
            assert!(moved > 20 && erased == moved, "{told}: {moved} blocks were moved, {erased} erased");
            assert_eq!(without.kernel().counters().jobs[Task::WEAR.index()], 0);
            // The shadow checks what each read finds.
            let bytes = with.kernel().plan().unit_bytes;
            for unit in 0..u64::from(with.kernel().plan().logical_units) {
                one(&mut with, request(Op::Read, unit * u64::from(bytes), bytes));
            }
        }
    }
}

/// Each move takes data to a block with `stop_cycles` more, so there are no more moves than erases of all blocks allow.
#[test]
fn data_do_not_go_to_and_fro() {
    for of in DRIVES {
        for (start, stop) in [(1, 1), (4, 2), (8, 8)] {
            let wear = format!("policy = \"static\", start_cycles = {start}, stop_cycles = {stop}");
            for seed in 0..2 {
                let mut drive = written(&wear, of, 0.1, 12.0, seed);
                let (_, most, _) = cycles(&drive);
                let moved = |drive: &Drive| drive.kernel().counters().jobs[Task::WEAR.index()];
                let (blocks, before) = (drive.kernel().flash().geometry().blocks(), moved(&drive));
                assert!(before > 0);
                assert!(before * stop <= u64::from(blocks * most), "{of:?}: {before} blocks were moved");
                // Without erases for the host nothing calls for more.
                let bytes = drive.kernel().plan().unit_bytes;
                let mut random = Stream::new(seed, "read", 0);
                let units = u64::from(drive.kernel().plan().logical_units);
                closed_loop(&mut drive, 8, 5_000, |_| request(Op::Read, random.below(units) * u64::from(bytes), bytes));
                drive.drain().expect("the drive comes to rest");
                assert_eq!(moved(&drive), before);
            }
        }
    }
}

#[test]
fn even_writes_call_for_nothing() {
    for of in DRIVES {
        for seed in 0..2 {
            let drive = written(r#"policy = "static""#, of, 1.0, 25.0, seed);
            assert_eq!(drive.kernel().counters().jobs[Task::WEAR.index()], 0, "{of:?}: {:?}", cycles(&drive));
        }
    }
}

#[test]
fn blocks_that_host_and_gc_share_are_refused() {
    for into in ["shared-block", "paired-blocks"] {
        let shared =
            text(STATIC, "plane", "").replace("scope = \"plane\"", &format!("scope = \"plane\", into = \"{into}\""));
        let error = from_text("shared", &shared).unwrap_err().to_string();
        assert!(error.contains("collect.into") && error.contains("does not go with wear leveling"), "{error}");
        assert!(from_text("shared", &shared.replace(STATIC, NONE)).is_ok());
    }
}
