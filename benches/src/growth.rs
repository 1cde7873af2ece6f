//! How the cost of a request grows: with the size of the drive, its dies, the depth of the queue, and with what else a run may do.
//!
//! Times are CPU nanoseconds a request, the least of several stretches, so that a busy machine disturbs little. Every point has a
//! process of its own. Instructions and events are the difference of two runs of different length, as for the cases; there the drive
//! is not filled: what is read has been written just before, in the same order, so that a drive of any size is counted in seconds.

use crate::counts;
use crate::measure::{grouped, peak_mib, report_of, timed};
use serde_json::{json, Value};
use std::fs::File;
use std::path::{Path, PathBuf};
use wordline_drive::observe::{Observation, Wanted};
use wordline_drive::precondition::precondition;
use wordline_drive::run::{run_watched, Watch};
use wordline_drive::timeline::{Recording, View};
use wordline_drive::Drive;
use wordline_tables::Tables;
use wordline_workload::Load;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Size,
    Dies,
    Depth,
    Extra,
}

/// What a run does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    Nothing,
    Shadow,
    Tables,
    Timeline,
}

/// A row of the table.
struct Point {
    name: &'static str,
    axis: Axis,
    /// Logical GiB.
    gib: u32,
    dies: u32,
    /// Requests in flight.
    depth: u32,
    /// GiB that the requests touch, if not all.
    within: Option<u32>,
    extra: Extra,
    /// True if it is measured in steady state too, which takes as many overwrites as the drive has pages.
    steady: bool,
}

const fn point(name: &'static str, axis: Axis, gib: u32, dies: u32, depth: u32) -> Point {
    Point { name, axis, gib, dies, depth, within: None, extra: Extra::Nothing, steady: gib <= 128 }
}

const fn also(name: &'static str, extra: Extra) -> Point {
    Point { extra, ..point(name, Axis::Extra, 16, 64, 32) }
}

const LARGEST: Point = point("8 TB", Axis::Size, 8_192, 64, 32);

const POINTS: &[Point] = &[
    point("16 GB", Axis::Size, 16, 64, 32),
    point("128 GB", Axis::Size, 128, 64, 32),
    point("1 TB", Axis::Size, 1_024, 64, 32),
    LARGEST,
    Point { name: "8 TB, 16 GB used", within: Some(16), ..LARGEST },
    point("8 dies", Axis::Dies, 128, 8, 512),
    point("64 dies", Axis::Dies, 128, 64, 512),
    point("512 dies", Axis::Dies, 128, 512, 512),
    point("depth 1", Axis::Depth, 16, 64, 1),
    point("depth 8", Axis::Depth, 16, 64, 8),
    point("depth 32", Axis::Depth, 16, 64, 32),
    point("depth 256", Axis::Depth, 16, 64, 256),
    point("depth 1,024", Axis::Depth, 16, 64, 1_024),
    also("plain", Extra::Nothing),
    also("shadow", Extra::Shadow),
    also("tables", Extra::Tables),
    also("timeline", Extra::Timeline),
];

/// Stretches of a load, of which the fastest counts.
const STRETCHES: usize = 5;
const READS: u64 = 200_000;
/// All stretches together take less than the spare space of the smallest drive, so that no GC runs.
const OVERWRITES: u64 = 30_000;
const MIXED: u64 = 100_000;
/// Reads of the longer run in which instructions are counted.
const COUNTED: f64 = 40_000.0;

/// The seed of the writes and of the reads that are counted: they touch the same pages.
const SEED: u64 = 1;

fn find(name: &str) -> Option<&'static Point> {
    POINTS.iter().find(|point| point.name == name)
}

fn drive(point: &Point) -> Drive {
    let (packages, dies) = if point.dies == 8 { (1, 1) } else { (point.dies / 16, 2) };
    let planes = 2 * point.dies;
    // Blocks of 4 MiB.
    let blocks = (f64::from(point.gib) * 256.0 * 1.28 / f64::from(planes)).ceil();
    let text = format!(
        r#"
        geometry = {{ channels = 8, packages_per_channel = {packages}, dies_per_package = {dies}, planes_per_die = 2,
                      blocks_per_plane = {blocks}, pages_per_block = 256, page_kib = 16 }}
        capacity = {{ raw_over_logical = 1.28 }}
        mapping = {{ policy = "page", unit_kib = 16 }}
        placement = {{ policy = "static", order = "CWDP" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        victim = {{ policy = "greedy" }}
        buffer = {{ policy = "none" }}
        verify = {{ shadow = {} }}
        "#,
        point.extra == Extra::Shadow
    );
    let config = wordline_drive::load::from_text("growth", &text).expect("the drive of the table is sound");
    Drive::new(&config, 1).expect("checked")
}

fn prepare(drive: &mut Drive, fill: bool, overwrites: f64) {
    let config = wordline_drive::config::PreconditionConfig { fill, overwrites, ..Default::default() };
    precondition(drive, &config, 1, &mut |_| true).expect("preconditioning");
}

/// Runs `count` requests of 16 KB, with what the point does besides.
fn go(point: &Point, drive: &mut Drive, rw: &str, depth: u32, count: u64, seed: u64) {
    let mut words = json!({"rw": rw, "rwmixread": 70, "bs": "16k", "iodepth": depth, "norandommap": true,
        "number_ios": count, "randseed": seed});
    if let Some(gib) = point.within {
        words["size"] = format!("{gib}g").into();
    }
    let load =
        Load::open(&crate::cases::job(words), Path::new("."), drive.logical_bytes(), 1).expect("a load of the table");
    match point.extra {
        Extra::Nothing | Extra::Shadow => watched(drive, load, Watch::default()),
        Extra::Tables => with_tables(drive, load),
        Extra::Timeline => with_timeline(drive, load),
    }
}

fn watched(drive: &mut Drive, load: Load, watch: Watch<'_>) {
    run_watched(drive, load, &mut |_| true, watch).expect("a run of the table");
}

fn scratch(what: &str) -> PathBuf {
    std::env::temp_dir().join(format!("wordline-bench-growth-{what}-{}", std::process::id()))
}

fn with_tables(drive: &mut Drive, load: Load) {
    let wanted = Wanted { requests: true, ..Wanted::NOTHING };
    let directory = scratch("tables");
    let mut tables =
        Tables::open(&directory, &wanted, drive.kernel().plan()).expect("the temporary directory can be written");
    let mut observation = Observation::new(drive, wanted, tables.sink());
    watched(drive, load, Watch { recording: None, observation: Some(&mut observation) });
    observation.finish(drive);
    let written = tables.finish(&Vec::new());
    assert!(written.iter().all(Result::is_ok), "the temporary directory can be written");
    std::fs::remove_dir_all(&directory).expect("it was just written");
}

fn with_timeline(drive: &mut Drive, load: Load) {
    let path = scratch("timeline");
    let file = File::create(&path).expect("the temporary directory can be written");
    let view = View { most_slices: u64::MAX, ..View::whole("growth") };
    let mut recording = Recording::new(Box::new(file), drive, &view).expect("it can be written");
    watched(drive, load, Watch { recording: Some(&mut recording), observation: None });
    recording.finish(drive, None).expect("it can be written");
    std::fs::remove_file(&path).expect("it was just written");
}

/// CPU nanoseconds a request: the least of all stretches. And events a request, over all of them.
fn cost(point: &Point, drive: &mut Drive, rw: &str, count: u64) -> (f64, f64) {
    let before = drive.events();
    let mut least = f64::INFINITY;
    for stretch in 0..STRETCHES {
        let (seconds, ()) = timed(|| go(point, drive, rw, point.depth, count, SEED + stretch as u64));
        least = least.min(seconds * 1e9 / count as f64);
    }
    (least, (drive.events() - before) as f64 / (count * STRETCHES as u64) as f64)
}

/// Measures one point in this process: times with a filled drive, or with `share` one run whose instructions are counted.
pub fn one(name: &str, share: Option<f64>) -> Option<Value> {
    let point = find(name)?;
    let mut drive = drive(point);
    if let Some(share) = share {
        // As many writes however many are read of it; what is done besides, is done in the reads alone.
        let plain = Point { extra: Extra::Nothing, ..*point };
        go(&plain, &mut drive, "randwrite", 32, COUNTED as u64, SEED);
        let count = (COUNTED * share) as u64;
        go(point, &mut drive, "randread", point.depth, count, SEED);
        assert_eq!(drive.kernel().counters().reads(), count, "all that is read was written");
        return Some(report_of(&drive, count as f64, 0.0, 0.0, json!({})));
    }
    prepare(&mut drive, true, 0.0);
    let (read, events) = cost(point, &mut drive, "randread", READS);
    let (overwrite, overwrite_events) = cost(point, &mut drive, "randwrite", OVERWRITES);
    let mix = point.steady.then(|| {
        prepare(&mut drive, false, 1.0);
        cost(point, &mut drive, "randrw", MIXED)
    });
    Some(json!({
        "read_ns": read, "read_events": events, "overwrite_ns": overwrite, "overwrite_events": overwrite_events,
        "mix_ns": mix.map(|mix| mix.0), "mix_events": mix.map(|mix| mix.1), "peak_mib": peak_mib(),
    }))
}
