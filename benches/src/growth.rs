//! How the cost of a request grows: with the size of the drive, its dies, the depth of the queue, and with what else a run may do.
//!
//! Times are CPU nanoseconds a request, the least of several stretches, so that a busy machine disturbs little. Every point has a
//! process of its own. Instructions are the difference of two runs of different length, as for the cases.

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
    extra: Extra,
    /// True if it is measured in steady state too, which takes as many overwrites as the drive has pages.
    steady: bool,
}

const fn point(name: &'static str, axis: Axis, gib: u32, dies: u32, depth: u32) -> Point {
    Point { name, axis, gib, dies, depth, extra: Extra::Nothing, steady: gib <= 128 }
}

const fn also(name: &'static str, extra: Extra) -> Point {
    Point { extra, ..point(name, Axis::Extra, 16, 64, 32) }
}

impl Point {
    /// How many times fewer requests suffice: a timeline costs far more than the run.
    fn scale(&self) -> u64 {
        if self.extra == Extra::Timeline {
            10
        } else {
            1
        }
    }

    /// True if another point is measured with the same drive and the same load.
    fn is_like(&self, other: &Self) -> bool {
        let parts = |it: &Self| (it.gib, it.dies, it.depth, it.extra);
        parts(self) == parts(other)
    }
}

const POINTS: &[Point] = &[
    point("16 GB", Axis::Size, 16, 64, 32),
    point("128 GB", Axis::Size, 128, 64, 32),
    point("1 TB", Axis::Size, 1_024, 64, 32),
    point("8 TB", Axis::Size, 8_192, 64, 32),
    point("8 dies", Axis::Dies, 128, 8, 512),
    point("64 dies", Axis::Dies, 128, 64, 512),
    point("512 dies", Axis::Dies, 128, 512, 512),
    point("depth 1", Axis::Depth, 16, 64, 1),
    point("depth 32", Axis::Depth, 16, 64, 32),
    point("depth 1,024", Axis::Depth, 16, 64, 1_024),
    also("plain", Extra::Nothing),
    also("shadow", Extra::Shadow),
    also("tables", Extra::Tables),
    also("timeline", Extra::Timeline),
];

/// GiB that all requests touch in the check whether it is the size of the drive that costs, or how far apart its data lie.
const NEAR: u32 = 16;

/// Stretches of a load, of which the fastest counts.
const STRETCHES: u64 = 5;
const READS: u64 = 200_000;
/// All stretches together take less than the spare space of the smallest drive, so that no GC runs.
const OVERWRITES: u64 = 30_000;
const MIXED: u64 = 100_000;
/// Reads of the longer run in which instructions are counted, and the MiB that they read.
const COUNTED: f64 = 100_000.0;
const COUNTED_MIB: u64 = 256;

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

/// Runs `count` requests of 16 KB on a part of the drive, in MiB, or on all of it, with what the point does besides.
fn go(point: &Point, drive: &mut Drive, rw: &str, part: Option<u64>, count: u64, seed: u64) {
    let mut words = json!({"rw": rw, "rwmixread": 70, "bs": "16k", "iodepth": point.depth, "norandommap": true,
        "number_ios": count, "randseed": seed});
    if let Some(mib) = part {
        words["size"] = format!("{mib}m").into();
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
    watched(drive, load, Watch { observation: Some(&mut observation), ..Watch::default() });
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
    watched(drive, load, Watch { recording: Some(&mut recording), ..Watch::default() });
    recording.finish(drive, None).expect("it can be written");
    std::fs::remove_file(&path).expect("it was just written");
}

/// CPU nanoseconds a request: the least of all stretches. And events a request, over all of them. What a run costs whatever its
/// length, such as counts over all blocks at its end, is measured with runs of one request, and does not count.
fn cost(point: &Point, drive: &mut Drive, rw: &str, part: Option<u64>, count: u64) -> (f64, f64) {
    let mut least = |count: u64| -> f64 {
        let stretches = (1..=STRETCHES).map(|seed| timed(|| go(point, drive, rw, part, count, seed)).0);
        stretches.fold(f64::INFINITY, f64::min)
    };
    let nanoseconds = (least(1 + count) - least(1)) * 1e9 / count as f64;
    let before = drive.events();
    go(point, drive, rw, part, count, 0);
    (nanoseconds, (drive.events() - before) as f64 / count as f64)
}

/// Measures one point in this process, with a filled drive.
fn times(point: &Point) -> Value {
    let scale = point.scale();
    let mut drive = drive(point);
    prepare(&mut drive, true, 0.0);
    let mut row = json!({});
    let mut note = |load: &str, (nanoseconds, events): (f64, f64)| {
        row[format!("{load}_ns")] = nanoseconds.into();
        row[format!("{load}_events")] = events.into();
    };
    note("read", cost(point, &mut drive, "randread", None, READS / scale));
    if point.gib > NEAR && point.axis == Axis::Size {
        note("near_read", cost(point, &mut drive, "randread", Some(1024 * u64::from(NEAR)), READS));
    }
    note("overwrite", cost(point, &mut drive, "randwrite", None, OVERWRITES / scale));
    if point.steady {
        prepare(&mut drive, false, 1.0);
        note("mix", cost(point, &mut drive, "randrw", None, MIXED / scale));
    }
    row["peak_mib"] = peak_mib().into();
    row
}

/// One run of which instructions are counted, on a drive that is filled only where it is read, so that any size is counted in
/// seconds. Whatever share of the length is read, as much is written; what is done besides, is done in the reads alone.
fn counted(point: &Point, share: f64) -> Value {
    let mut drive = drive(point);
    let plain = Point { extra: Extra::Nothing, depth: 32, ..*point };
    go(&plain, &mut drive, "write", Some(COUNTED_MIB), COUNTED_MIB * 64, 1);
    let count = (COUNTED * share) as u64 / point.scale();
    go(point, &mut drive, "randread", Some(COUNTED_MIB), count, 1);
    assert_eq!(drive.kernel().counters().reads(), count, "all that is read was written");
    report_of(&drive, count as f64, 0.0, 0.0, json!({}))
}

/// Measures one point in this process: times, or with a share of the usual length what is counted in one run.
pub fn one(name: &str, share: Option<f64>) -> Option<Value> {
    let point = find(name)?;
    Some(share.map_or_else(|| times(point), |share| counted(point, share)))
}

/// MiB of memory that the maps of the drive take once it is filled, with a quarter more for all else.
fn needs_mib(point: &Point) -> f64 {
    // Two maps of 4 bytes a page, one of them of the raw capacity, and a bit.
    f64::from(point.gib) * 65_536.0 * (4.0 + 1.28 * 4.125) * 1.25 / f64::from(1 << 20)
}

/// MiB of memory that the system has to spare, where it says so.
fn spare_mib() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// Measures and prints the whole table; `measure` runs this program with arguments in a process of its own. None if a point failed.
pub fn table(measure: impl Fn(&[&str]) -> Option<Value>) -> Option<Value> {
    println!("growth: CPU nanoseconds a request of 16 KB at random; 16 KB mapping, 8 channels, two planes a die, raw/logical 1.28, filled");
    println!(
        "{:<14} {:>8} {:>9} {:>9} {:>12} {:>7} {:>8}",
        "", "read", "overwrite", "mix", "instructions", "events", "MiB"
    );
    let mut rows: Vec<Value> = Vec::new();
    let mut last = None;
    for point in POINTS {
        if last.is_some_and(|last| last != point.axis) {
            last.into_iter().for_each(|axis| explain(axis, &rows));
        }
        last = Some(point.axis);
        if spare_mib().is_some_and(|spare| spare < needs_mib(point)) {
            println!("{:<14} left out: it takes {:.0} MiB of memory", point.name, needs_mib(point));
            continue;
        }
        let same = POINTS.iter().take_while(|it| it.name != point.name).find(|it| it.is_like(point));
        let mut row = match same.and_then(|same| row_of(&rows, same.name)) {
            Some(row) => row.clone(),
            None => measured(point, &measure)?,
        };
        row["name"] = point.name.into();
        row["gib"] = point.gib.into();
        row["dies"] = point.dies.into();
        row["depth"] = point.depth.into();
        print_row(point.name, &row, "");
        if row["near_read_ns"].is_number() {
            print_row(&format!("  {NEAR} GB of it"), &row, "near_");
        }
        rows.push(row);
    }
    last.into_iter().for_each(|axis| explain(axis, &rows));
    println!("{NOTE}");
    Some(rows.into())
}

fn measured(point: &Point, measure: impl Fn(&[&str]) -> Option<Value>) -> Option<Value> {
    let mut row = measure(&["--point", point.name])?;
    let of = |share| ["--point", point.name, "--small", share];
    row["read_instructions"] = json!(counts::between(&of("0.5"), &of("1.0"))?.instructions);
    Some(row)
}

fn row_of<'a>(rows: &'a [Value], name: &str) -> Option<&'a Value> {
    rows.iter().find(|row| row["name"] == name)
}

const NOTE: &str =
    "read, overwrite: a filled drive, before any GC; mix: 70/30 with GC, after as many overwrites as it has pages\n\
    instructions, events: of a read; instructions on a drive that holds only what is read, 256 MiB";

fn print_row(name: &str, row: &Value, which: &str) {
    let figure = |key: &str, digits: usize| {
        let value = row[format!("{which}{key}")].as_f64();
        value.map_or_else(
            || "-".to_owned(),
            |value| if digits == 0 { grouped(value.round()) } else { format!("{value:.digits$}") },
        )
    };
    println!(
        "{name:<14} {:>8} {:>9} {:>9} {:>12} {:>7} {:>8}",
        figure("read_ns", 0),
        figure("overwrite_ns", 0),
        figure("mix_ns", 0),
        figure("read_instructions", 0),
        figure("read_events", 2),
        figure("peak_mib", 0),
    );
}

/// Prints what explains a slope, with the figures of this run. What takes the instructions was found by comparing profiles of both ends
/// by function (callgrind on `--point NAME --small SHARE`).
fn explain(axis: Axis, rows: &[Value]) {
    let of_axis: Vec<&str> = POINTS.iter().filter(|point| point.axis == axis).map(|point| point.name).collect();
    let mut here = rows.iter().filter(|row| of_axis.iter().any(|name| row["name"] == *name));
    let Some(first) = here.next() else { return };
    let rest: Vec<&Value> = here.collect();
    let Some(last) = rest.last() else { return };
    let ends =
        format!("{} to {}", first["name"].as_str().unwrap_or_default(), last["name"].as_str().unwrap_or_default());
    let slope = |from: &Value, to: &Value, key: &str| match (from[key].as_f64(), to[key].as_f64()) {
        (Some(from), Some(to)) => format!("{:+.0} %", (to / from - 1.0) * 100.0),
        _ => "not counted".to_owned(),
    };
    let (time, instructions) = (slope(first, last, "read_ns"), slope(first, last, "read_instructions"));
    let overwrite = slope(first, last, "overwrite_ns");
    match axis {
        Axis::Size => {
            let near = last["near_read_ns"].as_f64().zip(first["read_ns"].as_f64());
            let near = near.map_or("-".to_owned(), |(near, first)| format!("{:+.0} %", (near / first - 1.0) * 100.0));
            println!(
                "    {ends}: time of a read {time}, of an overwrite {overwrite}, instructions {instructions}. The same work waits for memory: the\n    \
                 maps outgrow the caches of the processor and of its page table. If only {NEAR} GB of the largest are read: {near}."
            );
        }
        Axis::Dies => println!(
            "    {ends}: time of a read {time}, of an overwrite {overwrite}, instructions {instructions}. The heap of pending events is deeper, and\n    \
             the busy time of every die is taken at the end of each interval of the run, of which longer runs have few more. The rest of the\n    \
             time is memory: the state of dies and of open blocks. GC has more planes, so fewer blocks in each to choose from."
        ),
        Axis::Depth => println!(
            "    {ends}: time of a read {time}, instructions {instructions}. At depth 1 the heap of pending events is all but empty; with more in\n    \
             flight it is deeper, up to one event for each die, and latencies reach back over more intervals. An overwrite {overwrite}, with as many events: not explained."
        ),
        Axis::Extra => {
            for row in rest {
                let name = row["name"].as_str().unwrap_or_default();
                let why = match name {
                    "shadow" => "each page read, and each moved, is compared with two tables of versions",
                    "tables" => "a row a request, with the account of its latency; a second thread packs the rows, whose time is counted too",
                    "timeline" => "every stage of a command is a slice that is written to the file at once",
                    _ => continue,
                };
                let (time, mix) = (slope(first, row, "read_ns"), slope(first, row, "mix_ns"));
                let instructions = slope(first, row, "read_instructions");
                println!("    {name}: time of a read {time}, of the mix {mix}, instructions {instructions}: {why}.");
            }
        }
    }
}
