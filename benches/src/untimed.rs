//! Replays without time of a notebook's writes, on the preset chang11-lctes: a disk of 20 GB with log blocks, filled.

use crate::cases::{job, rate, uncounted, Case};
use crate::measure::{report, timed};
use serde_json::{json, Value};
use std::path::Path;
use wordline_drive::precondition::precondition;
use wordline_drive::untimed::{carry_out, Times, UntimedError};
use wordline_drive::Drive;
use wordline_workload::Load;

const UNIT: &str = "host pages a CPU second";
/// Replays of the whole preset, and what the paper's experiments have.
const TIMES: f64 = 4.0;
const HUNDRED: f64 = 100.0;

/// The cases. Each names the mapping, and the wear leveling beside it.
pub const ALL: &[Case] = &[
    of("replay-fast", "replays without time of 27 GB of a notebook's writes: FAST without wear leveling"),
    of("replay-bast", "the same with BAST"),
    of("replay-sast", "the same with SAST"),
    of("replay-fast-lazy", "the same with FAST and lazy wear leveling"),
    of("replay-fast-recency", "the same with FAST and static wear leveling by erase recency"),
];

/// No event comes without time, and a small drive has other merges: instructions and events are not counted.
const fn of(name: &'static str, title: &'static str) -> Case {
    uncounted(rate(name, title, UNIT, 1e6, 0, replays))
}

fn replays(case: &Case, share: f64, small: bool) -> Value {
    let mut parts = case.name.split('-').skip(1);
    let mut config =
        wordline_drive::load::from_text("chang11-lctes", &preset(&mut parts)).expect("the preset is sound");
    if small {
        config.geometry.blocks_per_plane = 656;
    }
    let mut drive = Drive::new(&config, 1).expect("checked");
    precondition(&mut drive, &config.precondition, 1, &mut |_| true).expect("preconditioning");
    // As docs/examples/notebook.toml.
    let file = job(json!({"rw": "randwrite", "bssplit": "4k/50:16k/25:64k/25", "norandommap": true, "io_size": "27g",
        "random_distribution": "zoned:50/4:30/12:20/24:0/60"}));
    let like = drive.clone();
    let mut open = || Load::open(&file, Path::new("."), like.logical_bytes(), 1).map_err(UntimedError::Load);
    let times = (TIMES * share).ceil();
    let (seconds, done) =
        timed(|| carry_out(&mut drive, Times::Number(times as u64), &mut open, &mut |_| true).expect("a replay"));
    let counters = drive.kernel().counters();
    let pages = counters.host_units as f64;
    let amplification = counters.programs() as f64 / pages;
    report(
        pages,
        seconds,
        pages / seconds,
        json!({
            "write amplification": (amplification * 1e3).round() / 1e3,
            "pages programmed a CPU second": (counters.programs() as f64 / seconds).round(),
            "bytes": done.written(),
            "CPU seconds of a hundred replays": (seconds * HUNDRED / times * 10.0).round() / 10.0,
        }),
    )
}

/// The preset with a mapping and wear leveling of a case.
fn preset(parts: &mut dyn Iterator<Item = &'static str>) -> String {
    let [mapping, wear] = [parts.next().unwrap_or("fast"), parts.next().unwrap_or("none")];
    let preset = include_str!("../../drives/chang11-lctes.toml");
    let preset = preset.replace("policy = \"fast\"", &format!("policy = \"{mapping}\""));
    let without = preset.split("[wear]").next().expect("there is a part before it");
    let rest = preset.find("[buffer]").map_or("", |at| &preset[at..]);
    format!("{without}[wear]\npolicy = \"{wear}\"\n{rest}")
}
