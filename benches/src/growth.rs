//! How the cost of a request grows: with the size of the drive, its dies, the depth of the queue, and with what else a run may do.
//!
//! Times are CPU nanoseconds a request, the least of several stretches, so that a busy machine disturbs little. Every point has a
//! process of its own. Instructions are the difference of two runs of different length, as for the cases,
//! and so are those that the ends of intervals take of them: these are few for a request of a long run, and many for one of a short run.

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

    /// Overwrites of the two runs between which their instructions are counted, as many as are timed; none of a drive that takes long
    /// to fill under valgrind.
    fn counted_overwrites(&self) -> Option<[u64; 2]> {
        (self.gib <= 16 && self.extra == Extra::Nothing).then_some([1, 1 + OVERWRITES])
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
/// Reads of the two runs between which instructions are counted, and the MiB that they read.
const COUNTED: [u64; 2] = [50_000, 100_000];
const COUNTED_MIB: u64 = 256;
/// What an end of an interval or of the run costs: activity and block map take their sums, and become text.
const ENDS: [&str; 2] = ["wordline_drive::drive::measuring::*::look", "wordline_drive::drive::reading::Reading::of"];

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

/// Reads of which instructions are counted, on a drive that is filled only where it is read, so that any size is counted in seconds.
/// What is done besides, is done in the reads alone.
fn counted_reads(point: &Point, count: u64) -> Value {
    let mut drive = drive(point);
    let plain = Point { extra: Extra::Nothing, depth: 32, ..*point };
    go(&plain, &mut drive, "write", Some(COUNTED_MIB), COUNTED_MIB * 64, 1);
    go(point, &mut drive, "randread", Some(COUNTED_MIB), count, 1);
    assert_eq!(drive.kernel().counters().reads(), count, "all that is read was written");
    let (reading, metrics) = (drive.reading(), &drive.metrics);
    let lasted = (metrics.end - metrics.start) as f64;
    let (held, waited) = reading.dies_held;
    let extra = json!({
        "dies_held": held as f64 / lasted / f64::from(point.dies),
        "bus_wait_ns": waited as f64 / 1e3 / count as f64,
        "link_used": reading.link[1] as f64 / lasted,
    });
    report_of(&drive, count as f64, 0.0, 0.0, extra)
}

/// Overwrites of which instructions are counted: the first stretch of those that are timed.
fn counted_overwrites(point: &Point, count: u64) -> Value {
    let mut drive = drive(point);
    prepare(&mut drive, true, 0.0);
    go(point, &mut drive, "randwrite", None, count, 1);
    report_of(&drive, count as f64, 0.0, 0.0, json!({}))
}

/// Measures one point in this process: times, or what is counted of so many reads, or overwrites.
pub fn one(name: &str, counted: Option<(bool, u64)>) -> Option<Value> {
    let point = find(name)?;
    Some(match counted {
        None => times(point),
        Some((false, count)) => counted_reads(point, count),
        Some((true, count)) => counted_overwrites(point, count),
    })
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
    let reads = COUNTED.map(|count| (count / point.scale()).to_string());
    if point.extra == Extra::Nothing {
        row["state"] = measure(&["--point", point.name, "--reads", &reads[1]])?["extra"].take();
    }
    if counts::has_valgrind() {
        let overwrites = point.counted_overwrites().map(|counts| counts.map(|count| count.to_string()));
        let loads = [("read", "--reads", Some(reads)), ("overwrite", "--overwrites", overwrites)];
        for (load, how, lengths) in loads {
            let Some(lengths) = lengths else { continue };
            let [short, long] = lengths.each_ref().map(|length| ["--point", point.name, how, length]);
            row[format!("{load}_instructions")] = json!(counts::between(&short, &long)?);
            row[format!("{load}_ends")] = json!(counts::within(&ENDS, &short, &long)?);
        }
    }
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

/// Prints what explains a slope, with the figures of this run.
fn explain(axis: Axis, rows: &[Value]) {
    let of_axis: Vec<&str> = POINTS.iter().filter(|point| point.axis == axis).map(|point| point.name).collect();
    let here: Vec<&Value> = rows.iter().filter(|row| of_axis.iter().any(|name| row["name"] == *name)).collect();
    for sentence in explanation(axis, &here) {
        println!("    {sentence}");
    }
}

/// How much a figure grew from one point to another.
fn slope(from: &Value, to: &Value, key: &str) -> String {
    match (from[key].as_f64(), to[key].as_f64()) {
        (Some(from), Some(to)) => format!("{:+.0} %", (to / from - 1.0) * 100.0),
        _ => "not counted".to_owned(),
    }
}

/// What explains a slope, in sentences: all figures are those of the rows.
fn explanation(axis: Axis, rows: &[&Value]) -> Vec<String> {
    let [first, rest @ ..] = rows else { return Vec::new() };
    let Some(last) = rest.last() else { return Vec::new() };
    let name = |row: &Value| row["name"].as_str().unwrap_or_default().to_owned();
    let (time, instructions) = (slope(first, last, "read_ns"), slope(first, last, "read_instructions"));
    let overwrite = slope(first, last, "overwrite_ns");
    let ends = format!("{} to {}", name(first), name(last));
    match axis {
        Axis::Size => {
            let near = last["near_read_ns"].as_f64().zip(first["read_ns"].as_f64());
            let near = near.map_or("-".to_owned(), |(near, first)| format!("{:+.0} %", (near / first - 1.0) * 100.0));
            vec![
                format!("{ends}: time of a read {time}, of an overwrite {overwrite}, instructions {instructions}. The same work waits for memory: the"),
                format!("maps outgrow the caches of the processor and of its page table. If only {NEAR} GB of the largest are read: {near}."),
            ]
        }
        Axis::Dies | Axis::Depth => {
            let mut told = vec![format!("{ends}: time of a read {time}, of an overwrite {overwrite}.")];
            told.extend(["read", "overwrite"].iter().filter_map(|load| shares(load, rows)));
            if told.len() > 1 {
                told.push(
                    "An end looks at every die, and at a moment of the block map at every block; the report of the run has them all. Their number has a limit,"
                        .to_owned(),
                );
                told.push("beyond which they grow longer instead: a longer run has few more, and the slower a request, the more there are for each.".to_owned());
            }
            told.extend(states(rows));
            told
        }
        Axis::Extra => rest.iter().filter_map(|row| besides(first, row)).collect(),
    }
}

/// The instructions of a load at each point: of the ends of intervals, and of the requests themselves.
fn shares(load: &str, rows: &[&Value]) -> Option<String> {
    let of = |row: &&Value| {
        let all = row[format!("{load}_instructions")].as_f64()?;
        let ends = row[format!("{load}_ends")].as_f64()?;
        Some((all - ends, ends))
    };
    let counted: Vec<(f64, f64)> = rows.iter().map(of).collect::<Option<_>>()?;
    let list = |figures: Vec<f64>| figures.iter().map(|figure| format!("{figure:.0}")).collect::<Vec<_>>().join(", ");
    let (own, ends) = counted.into_iter().unzip();
    Some(format!(
        "instructions of the {load} itself {}; of the ends of intervals and of the run {}",
        list(own),
        list(ends)
    ))
}

/// What the reads met at each point.
fn states(rows: &[&Value]) -> Option<String> {
    let list = |key: &str, scale: f64| {
        let figures = rows.iter().map(|row| row["state"][key].as_f64().map(|value| format!("{:.0}", value * scale)));
        figures.collect::<Option<Vec<_>>>().map(|figures| figures.join(", "))
    };
    Some(format!(
        "The reads meanwhile: dies are held {} % of the time, the link to the host {} %, and a command waits {} ns for its bus.",
        list("dies_held", 100.0)?,
        list("link_used", 100.0)?,
        list("bus_wait_ns", 1.0)?,
    ))
}

/// What something that a run does besides costs.
fn besides(plain: &Value, row: &Value) -> Option<String> {
    let name = row["name"].as_str()?;
    let why = match name {
        "shadow" => "each page read, and each moved, is compared with two tables of versions",
        "tables" => "a row a request, with the account of its latency; a second thread packs the rows, whose time is counted too",
        "timeline" => "every stage of a command is a slice that is written to the file at once",
        _ => return None,
    };
    let (time, mix) = (slope(plain, row, "read_ns"), slope(plain, row, "mix_ns"));
    let instructions = slope(plain, row, "read_instructions");
    Some(format!("{name}: time of a read {time}, of the mix {mix}, instructions {instructions}: {why}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, instructions: f64, ends: f64) -> Value {
        json!({"name": name, "read_ns": 100.0, "overwrite_ns": 200.0, "read_instructions": instructions, "read_ends": ends,
            "state": {"dies_held": 0.5, "link_used": 1.0, "bus_wait_ns": 12.4}})
    }

    #[test]
    fn sentences_have_the_figures_of_the_run() {
        let rows = [row("8 dies", 2_187.0, 39.0), row("64 dies", 2_037.0, 182.0), row("512 dies", 2_221.0, 386.0)];
        let told = explanation(Axis::Dies, &rows.each_ref()).join("\n");
        assert!(told.contains("8 dies to 512 dies: time of a read +0 %, of an overwrite +0 %."), "{told}");
        assert!(
            told.contains("of the read itself 2148, 1855, 1835; of the ends of intervals and of the run 39, 182, 386"),
            "{told}"
        );
        assert!(
            told.contains("dies are held 50, 50, 50 % of the time, the link to the host 100, 100, 100 %"),
            "{told}"
        );
        assert!(!told.contains("of the overwrite itself"), "it was not counted: {told}");
        for axis in [Axis::Size, Axis::Dies, Axis::Depth, Axis::Extra] {
            let told = explanation(axis, &rows.each_ref()).join("\n");
            assert!(!told.contains("heap"), "what waits in no heap is not explained by one: {told}");
        }
    }

    #[test]
    fn what_was_not_counted_explains_nothing() {
        let rows = [json!({"name": "depth 1", "read_ns": 1.0}), json!({"name": "depth 32", "read_ns": 2.0})];
        let told = explanation(Axis::Depth, &rows.each_ref());
        assert_eq!(told, ["depth 1 to depth 32: time of a read +100 %, of an overwrite not counted."]);
        assert!(explanation(Axis::Depth, &[&rows[0]]).is_empty());
    }
}
