//! The cases. The drive of most: 128 GB logical, 8 channels x 4 packages x 2 dies x 2 planes, pages of 16 KB, 256 pages a
//! block, raw/logical 1.28, greedy.

use crate::measure::{peak_mib, report, report_of, timed};
use crate::tables::table_of_requests;
use serde_json::{json, Value};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use wordline_drive::precondition::precondition;
use wordline_drive::run::run;
use wordline_drive::{Drive, DriveConfig};
use wordline_flash::unit::{run as run_package, Direction, Experiment, HostConfig, Load as PackageLoad, PackageConfig};
use wordline_workload::{JobOptions, Load, LoadFile, TraceOptions};

/// On which drive instructions and events of a request are counted, as the difference of two runs of different length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// On none.
    No,
    /// On a smaller drive of the same shape, which is aged soon.
    Small,
    /// On the drive of the case, in short runs: what comes from a file would go round a small drive many times.
    Full,
}

/// A case of the benchmark.
pub struct Case {
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub target: f64,
    pub lower_is_better: bool,
    /// Where instructions and events of a request are counted.
    pub counted: Counted,
    mapping_kib: u32,
    /// Further sections of the drive file.
    sections: &'static str,
    /// True if the run asks where the time of requests goes.
    asks: bool,
    pub run: fn(&Case, f64, bool) -> Value,
}

pub(crate) const fn rate(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    target: f64,
    mapping_kib: u32,
    run: fn(&Case, f64, bool) -> Value,
) -> Case {
    Case {
        name,
        title,
        unit,
        target,
        lower_is_better: false,
        counted: Counted::Small,
        mapping_kib,
        sections: "",
        asks: false,
        run,
    }
}

const fn cost(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    target: f64,
    mapping_kib: u32,
    run: fn(&Case, f64, bool) -> Value,
) -> Case {
    Case {
        name,
        title,
        unit,
        target,
        lower_is_better: true,
        counted: Counted::No,
        mapping_kib,
        sections: "",
        asks: false,
        run,
    }
}

/// A case whose instructions and events are not counted.
pub(crate) const fn uncounted(case: Case) -> Case {
    Case { counted: Counted::No, ..case }
}

/// A case that is counted on its own drive.
const fn in_full(case: Case) -> Case {
    Case { counted: Counted::Full, ..case }
}

/// A case on a drive with further sections.
const fn with(sections: &'static str, case: Case) -> Case {
    Case { sections, ..case }
}

/// A case that asks where the time of requests goes, as a run does of which a report or a JSON result is wanted.
const fn asking(case: Case) -> Case {
    Case { asks: true, ..case }
}

const DEBIT: &str = "dispatch = { policy = \"debit\" }\nshares = { policy = \"feedback\" }";

const VAQ: &str = "dispatch = { policy = \"vaq\" }";

const PAQ: &str = "dispatch = { policy = \"paq\" }\npack = { policy = \"planes\" }";

/// All that kim18 describes beside the preset, which names a mapping of its own.
const AUTOSSD: &str = "dispatch = { policy = \"debit\" }\nshares = { policy = \"feedback\" }\n\
    refresh = { policy = \"scrub\" }\nprocessor = { policy = \"uniform\" }\n\
    mapping = { policy = \"cached\", unit_kib = 4 }";

const REQUESTS: &str = "requests a CPU second";

const PAGES: &str = "page transactions a CPU second";

/// The cases of drives and packages.
const ALL: &[Case] = &[
    rate("read", "4 KB random read, queue depth 32, 16 KB mapping", REQUESTS, 2e6, 16, random_read),
    rate("read-4k-map", "4 KB random read, queue depth 32, 4 KB mapping", REQUESTS, 2e6, 4, random_read),
    rate("write", "16 KB random write, steady state, 16 KB mapping", REQUESTS, 8e5, 16, random_write),
    rate("write-4k-map", "4 KB random write, steady state, 4 KB mapping", REQUESTS, 8e5, 4, random_write),
    rate("mix", "70/30 random read/write of 16 KB, steady state, 16 KB mapping", REQUESTS, 1.2e6, 16, mix),
    rate("mix-4k-map", "70/30 random read/write of 4 KB, steady state, 4 KB mapping", REQUESTS, 1.2e6, 4, mix),
    asking(rate("read-asked", "the reads, asking where their time goes", REQUESTS, 8e5, 16, random_read)),
    asking(rate("mix-asked", "the mix, asking where the time of requests goes", REQUESTS, 4e5, 16, mix)),
    with(
        DEBIT,
        rate("read-debit", "the reads with debit scheduling and share control", REQUESTS, 1.5e6, 16, random_read),
    ),
    with(VAQ, rate("read-vaq", "the reads with a virtually addressed queue", REQUESTS, 1.2e6, 16, random_read)),
    with(PAQ, rate("read-paq", "the reads with a physically addressed queue", REQUESTS, 1.2e6, 16, random_read)),
    with(DEBIT, rate("mix-debit", "the mix with debit scheduling and share control", REQUESTS, 1e6, 16, mix)),
    with(
        DEBIT,
        rate("mix-4k-map-debit", "the mix of 4 KB with debit scheduling and share control", REQUESTS, 1e6, 4, mix),
    ),
    rate(
        "kim18",
        "4 KB, 90 % random writes at 20,000 requests/s on the preset kim18, first come",
        REQUESTS,
        4e5,
        4,
        kim18,
    ),
    with(DEBIT, rate("kim18-debit", "the same with debit scheduling and share control", REQUESTS, 3e5, 4, kim18)),
    with(
        AUTOSSD,
        // 44 million requests in three minutes.
        rate(
            "autossd",
            "56 KB, 79 % reads, on the preset kim18 with all of AutoSSD: its tasks, map cache, processors, shares",
            REQUESTS,
            2.4e5,
            4,
            autossd,
        ),
    ),
    with(
        AUTOSSD,
        rate(
            "autossd-4k",
            "4 KB, 79 % reads, on the same drive, as many bytes a second",
            REQUESTS,
            2.4e5,
            4,
            autossd_small,
        ),
    ),
    rate("sequential", "128 KB sequential write, 16 KB mapping", "page operations a CPU second", 4e6, 16, sequential),
    rate(
        "sequential-4k-map",
        "128 KB sequential write, 4 KB mapping",
        "page operations a CPU second",
        4e6,
        4,
        sequential,
    ),
    in_full(rate(
        "trace",
        "replay of an MSR trace from a zst file, reading included, filled drive, 16 KB mapping",
        REQUESTS,
        1e6,
        16,
        trace,
    )),
    uncounted(rate(
        "trace-aged",
        "the same on a drive in steady state: every write makes the collector move pages",
        REQUESTS,
        1e6,
        16,
        trace_aged,
    )),
    in_full(rate(
        "trace-4k-map",
        "replay of an MSR trace from a zst file, reading included, 4 KB mapping",
        REQUESTS,
        1e6,
        4,
        trace,
    )),
    uncounted(rate("package-ddp", "a dual-die package alone, swr and srd of 2 KB", PAGES, 1e6, 0, package_dual)),
    uncounted(rate("package-odp", "an eight-die package alone, swr and srd of 2 KB", PAGES, 1e6, 0, package_octal)),
    uncounted(rate("package-ddp-log", "the same on two dies with the stage log on", PAGES, 2e5, 0, package_dual_log)),
    uncounted(rate(
        "package-odp-log",
        "the same on eight dies with the stage log on",
        PAGES,
        2e5,
        0,
        package_octal_log,
    )),
    cost(
        "tables",
        "70/30 random read/write of 16 KB, steady state, with the table of requests",
        "times as long as without",
        1.3,
        16,
        table_of_requests,
    ),
    cost(
        "precondition",
        "fill, then twice the capacity at random, 16 KB mapping",
        "CPU seconds",
        15.0,
        16,
        preconditioning,
    ),
    cost(
        "precondition-4k-map",
        "fill, then twice the capacity at random, 4 KB mapping",
        "CPU seconds",
        60.0,
        4,
        preconditioning,
    ),
    cost("open-1tb", "opening a 1 TB drive with 16 KB pages and mapping", "CPU seconds", 2.0, 16, open_terabyte),
    cost(
        "open-1tb-4k-map",
        "bytes of state a logical page, 1 TB drive with 4 KB mapping",
        "bytes a logical page",
        10.0,
        4,
        open_terabyte,
    ),
    cost(
        "fork-1tb",
        "a fork of a filled 1 TB drive with 16 KB pages and mapping; memory of 16 of them",
        "CPU seconds",
        0.02,
        16,
        fork_terabyte,
    ),
];

/// All cases, those of the readers last.
pub fn every() -> impl Iterator<Item = &'static Case> {
    ALL.iter().chain(crate::untimed::ALL).chain(crate::readers::ALL)
}

/// The case of a name.
pub fn find(name: &str) -> Option<&'static Case> {
    every().find(|case| case.name == name)
}

fn config(case: &Case, blocks_per_plane: u32) -> DriveConfig {
    shaped(case, blocks_per_plane, (8, 4))
}

fn shaped(case: &Case, blocks_per_plane: u32, (channels, packages): (u32, u32)) -> DriveConfig {
    let Case { mapping_kib, sections, .. } = *case;
    let text = format!(
        r#"
        geometry = {{ channels = {channels}, packages_per_channel = {packages}, dies_per_package = 2, planes_per_die = 2,
                      blocks_per_plane = {blocks_per_plane}, pages_per_block = 256, page_kib = 16 }}
        capacity = {{ raw_over_logical = 1.28 }}
        mapping = {{ policy = "page", unit_kib = {mapping_kib} }}
        placement = {{ policy = "static", order = "CWDP" }}
        collect = {{ policy = "on-demand", scope = "plane" }}
        victim = {{ policy = "greedy" }}
        buffer = {{ policy = "{}" }}
        {sections}
        "#,
        if mapping_kib == 16 { "none" } else { "fifo" },
    );
    wordline_drive::load::from_text("bench", &text).expect("the drive of the benchmark is sound")
}

/// 128 GiB logical need 328 blocks of 4 MiB in each of 128 planes at 1.28; the small drive has 32 in each of 16.
fn drive(case: &Case, small: bool) -> Drive {
    let config = if small { shaped(case, 32, (2, 2)) } else { config(case, 328) };
    Drive::new(&config, 1).expect("checked")
}

pub(crate) fn aged(case: &Case, small: bool, overwrites: f64) -> Drive {
    let mut drive = drive(case, small);
    let mut config = config(case, 32).precondition;
    config.fill = true;
    config.overwrites = overwrites;
    precondition(&mut drive, &config, 1, &mut |_| true).expect("preconditioning");
    drive
}

pub(crate) fn job(words: Value) -> LoadFile {
    let job: JobOptions = serde_json::from_value(words).expect("a job of the benchmark");
    LoadFile { job: vec![job], ..LoadFile::default() }
}

/// Runs a load and gives (CPU seconds, requests).
fn measured(case: &Case, drive: &mut Drive, file: &LoadFile) -> (f64, f64) {
    drive.split_time(case.asks);
    let load = Load::open(file, Path::new("."), drive.logical_bytes(), 1).expect("a load of the benchmark");
    let (seconds, ended) = timed(|| run(drive, load, &mut |_| true).expect("a run of the benchmark"));
    assert!(!ended.interrupted);
    (seconds, drive.metrics.requests() as f64)
}

fn requests(share: f64, small: bool, count: f64) -> u64 {
    (count * share * if small { 0.02 } else { 1.0 }) as u64
}

/// The same for requests that are to be counted while GC works, which the small drive takes so many times as many to come to: shorter runs end with
/// the free blocks that preconditioning has left.
fn requests_with_gc(share: f64, small: bool, count: f64, times: f64) -> u64 {
    requests(share, small, if small { times * count } else { count })
}

fn random_read(case: &Case, share: f64, small: bool) -> Value {
    let mut drive = aged(case, small, if small { 0.0 } else { 1.0 });
    let words = json!({"rw": "randread", "bs": "4k", "iodepth": 32, "norandommap": true,
        "number_ios": requests(share, small, 5e6)});
    let (seconds, count) = measured(case, &mut drive, &job(words));
    report_of(&drive, count, seconds, count / seconds, json!({}))
}

fn random_write(case: &Case, share: f64, small: bool) -> Value {
    let mut drive = aged(case, small, 2.0);
    let words = json!({"rw": "randwrite", "bs": format!("{}k", case.mapping_kib), "iodepth": 32, "norandommap": true,
        "number_ios": requests(share, small, 3e6)});
    let (seconds, count) = measured(case, &mut drive, &job(words));
    let counters = drive.kernel().counters();
    let ops = (counters.reads() + counters.programs() + counters.erases()) as f64;
    let amplification = counters.programs() as f64 * f64::from(drive.kernel().plan().units_per_page) / count;
    report_of(
        &drive,
        count,
        seconds,
        count / seconds,
        json!({"flash operations a CPU second": (ops / seconds).round(), "write amplification": round(amplification)}),
    )
}

fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn mix(case: &Case, share: f64, small: bool) -> Value {
    let mut drive = aged(case, small, 2.0);
    let words = json!({"rw": "randrw", "rwmixread": 70, "bs": format!("{}k", case.mapping_kib), "iodepth": 32,
        "norandommap": true, "number_ios": requests(share, small, 4e6)});
    let (seconds, count) = measured(case, &mut drive, &job(words));
    report_of(&drive, count, seconds, count / seconds, json!({}))
}

/// The preset kim18 with the sections of the case instead of its own, in steady state.
fn preset_kim18(case: &Case, small: bool) -> Drive {
    let mut preset = include_str!("../../drives/kim18.toml").to_owned();
    for section in ["dispatch", "mapping"].into_iter().filter(|section| case.sections.contains(section)) {
        let start = preset.find(&format!("[{section}]")).expect("the preset has it");
        let end = preset[start..].find("\n\n").map_or(preset.len(), |length| start + length);
        preset.replace_range(start..end, "");
    }
    // Inline sections come before those with a header.
    let preset = format!("{}\n{preset}", case.sections);
    let mut config = wordline_drive::load::from_text("kim18", &preset).expect("the preset is sound");
    if small {
        (config.geometry.blocks_per_plane, config.geometry.pages_per_block) = (64, 64);
    }
    let mut drive = Drive::new(&config, 1).expect("checked");
    precondition(&mut drive, &config.precondition, 1, &mut |_| true).expect("preconditioning");
    drive
}

fn kim18(case: &Case, share: f64, small: bool) -> Value {
    let mut drive = preset_kim18(case, small);
    let words = json!({"rw": "randrw", "rwmixread": 10, "bs": "4k", "rate_iops": 20_000, "rate_process": "poisson",
        "norandommap": true, "number_ios": requests_with_gc(share, small, 4e6, 4.0)});
    let (seconds, count) = measured(case, &mut drive, &job(words));
    report_of(&drive, count, seconds, count / seconds, json!({}))
}

/// Sizes, part of reads and rate are those of LM-TBE, the longest trace of kim18's Table 2; its offsets are not published.
fn autossd(case: &Case, share: f64, small: bool) -> Value {
    lm_tbe(
        case,
        small,
        json!({"bs": "52k,60k", "rate_iops": 526, "number_ios": requests_with_gc(share, small, 1e6, 8.0)}),
    )
}

/// Requests of one mapping unit, at a rate that makes the same throughput.
fn autossd_small(case: &Case, share: f64, small: bool) -> Value {
    lm_tbe(case, small, json!({"bs": "4k", "rate_iops": 7_364, "number_ios": requests_with_gc(share, small, 4e6, 8.0)}))
}

fn lm_tbe(case: &Case, small: bool, mut words: Value) -> Value {
    let mut drive = preset_kim18(case, small);
    for (key, value) in [("rw", json!("randrw")), ("rwmixread", json!(79)), ("rate_process", json!("poisson"))] {
        words[key] = value;
    }
    words["norandommap"] = json!(true);
    let (seconds, count) = measured(case, &mut drive, &job(words));
    report_of(&drive, count, seconds, count / seconds, json!({}))
}

fn sequential(case: &Case, share: f64, small: bool) -> Value {
    let mut drive = drive(case, small);
    let words = json!({"rw": "write", "bs": "128k", "iodepth": 32, "number_ios": requests(share, small, 1e6)});
    let (seconds, _) = measured(case, &mut drive, &job(words));
    let pages = drive.kernel().counters().programs() as f64;
    report_of(&drive, pages, seconds, pages / seconds, json!({}))
}

/// A trace in the MSR format with the published figures of its volume hm_0 (64.5 % writes of 7.4 KB), in bursts, 16 GiB in use.
pub fn write_trace(path: &Path, lines: u64) -> std::io::Result<()> {
    let mut random = wordline_base::Stream::new(1, "bench-trace", 0);
    let mut out = zstd::Encoder::new(std::fs::File::create(path)?, 3)?;
    let mut ticks: u64 = 128_166_372_003_061_629;
    for _ in 0..lines {
        ticks += if random.below(8) > 0 { random.below(300) } else { random.below(20_000) };
        let kind = if random.below(1_000) < 645 { "Write" } else { "Read" };
        let size = [4096, 4096, 4096, 8192, 16384][random.below(5) as usize];
        let offset = random.below((16 << 30) / 4096) * 4096;
        writeln!(out, "{ticks},srv,0,{kind},{offset},{size},{}", 1000 + random.below(9000))?;
    }
    out.finish()?.sync_all()
}

fn trace(case: &Case, share: f64, small: bool) -> Value {
    replay(case, share, small, 0.0)
}

fn trace_aged(case: &Case, share: f64, small: bool) -> Value {
    replay(case, share, small, 2.0)
}

fn replay(case: &Case, share: f64, small: bool, overwrites: f64) -> Value {
    let path = std::env::temp_dir().join(format!("wordline-bench-{}.csv.zst", std::process::id()));
    // Another process makes it, so that its instructions are not counted here.
    let made = Command::new(std::env::current_exe().expect("this program is a file"))
        .arg("--write-trace")
        .arg(&path)
        .arg(requests(share, small, 2e6).to_string())
        .stdout(Stdio::null())
        .status();
    assert!(made.is_ok_and(|made| made.success()), "{}: cannot be written", path.display());
    let mut drive = aged(case, small, overwrites);
    let options = json!({"file": path, "format": "msr", "past_end": "wrap"});
    let trace: TraceOptions = serde_json::from_value(options).expect("a trace of the benchmark");
    let (seconds, count) = measured(case, &mut drive, &LoadFile { trace: Some(trace), ..LoadFile::default() });
    std::fs::remove_file(&path).expect("it was just read");
    let counters = drive.kernel().counters();
    let ops = (counters.reads() + counters.programs() + counters.erases()) as f64;
    let extra = json!({"flash operations a CPU second": (ops / seconds).round(), "a request": round(ops / count)});
    report_of(&drive, count, seconds, count / seconds, extra)
}

fn preconditioning(case: &Case, _: f64, small: bool) -> Value {
    let (seconds, drive) = timed(|| aged(case, small, 2.0));
    let counters = drive.kernel().counters();
    let ops = (counters.reads() + counters.programs() + counters.erases()) as f64;
    report(ops, seconds, seconds, json!({"flash operations a CPU second": (ops / seconds).round()}))
}

fn open_terabyte(case: &Case, _: f64, _: bool) -> Value {
    // 1 TiB at 1.28: 2,622 blocks of 4 MiB in each of 128 planes.
    let (seconds, drive) = timed(|| Drive::new(&config(case, 2_622), 1).expect("checked"));
    let parts = config(case, 2_622).parts().expect("checked");
    let bytes = parts.derived().state_bytes_per_unit;
    let units = f64::from(drive.kernel().plan().logical_units);
    let extra =
        json!({"bytes a logical page": round(bytes), "logical pages": units, "seconds to open": round(seconds)});
    report(units, seconds, if case.mapping_kib == 4 { bytes } else { seconds }, extra)
}

/// Forks in one process, each after some writes, on a drive that was filled.
fn fork_terabyte(case: &Case, _: f64, small: bool) -> Value {
    const FORKS: u32 = 16;
    let config = config(case, if small { 82 } else { 2_622 });
    let mut drive = Drive::new(&config, 1).expect("checked");
    let mut filled = config.precondition.clone();
    filled.fill = true;
    precondition(&mut drive, &filled, 1, &mut |_| true).expect("preconditioning");
    let alone = peak_mib();
    let (mut seconds, mut forks) = (0.0, Vec::new());
    for _ in 0..FORKS {
        let (time, fork) = timed(|| {
            drive.share();
            drive.clone()
        });
        seconds += time / f64::from(FORKS);
        forks.push(fork);
    }
    let writes = job(json!({"rw": "randwrite", "bs": "16k", "iodepth": 32, "norandommap": true, "number_ios": 1000}));
    for fork in &mut forks {
        measured(case, fork, &writes);
    }
    let times = peak_mib() / alone;
    report(f64::from(FORKS), seconds, seconds, json!({"memory with 16 forks, times that of one drive": round(times)}))
}

/// Requests of 2 KB a second that the simulator of jung13 ran (section 2.9).
const NANDFLASHSIM_DUAL: f64 = 824.0;
const NANDFLASHSIM_OCTAL: f64 = 295.0;

fn package_dual(_: &Case, share: f64, _: bool) -> Value {
    package(2, share, false, NANDFLASHSIM_DUAL)
}

fn package_octal(_: &Case, share: f64, _: bool) -> Value {
    package(8, share, false, NANDFLASHSIM_OCTAL)
}

fn package_dual_log(_: &Case, share: f64, _: bool) -> Value {
    package(2, share, true, NANDFLASHSIM_DUAL)
}

fn package_octal_log(_: &Case, share: f64, _: bool) -> Value {
    package(8, share, true, NANDFLASHSIM_OCTAL)
}

/// Streams of 2 KB writes and reads on MLC1 of jung13, table 2.1.
fn package(dies: u32, share: f64, stage_log: bool, published: f64) -> Value {
    let requests = (if stage_log { 2e5 } else { 1e6 } * share) as u64;
    let device = wordline_drive::load("jung13-mlc1", &[]).expect("it is a preset").0.value;
    let shape = PackageConfig {
        dies,
        planes: device.geometry.planes_per_die,
        blocks_per_plane: device.geometry.blocks_per_plane,
        pages_per_block: device.geometry.pages_per_block,
        page_bytes: 2048,
    };
    let stream = |op| Experiment {
        package: shape.clone(),
        nand: device.nand.clone(),
        host: HostConfig::default(),
        load: PackageLoad::Stream { op, request_bytes: 2048, requests },
        seed: 0,
        stage_log,
        latencies: false,
    };
    let go = |op| timed(|| run_package(&stream(op), |_| true).expect("the package holds the stream"));
    let (write_s, writes) = go(Direction::Write);
    let (read_s, reads) = go(Direction::Read);
    let pages = (writes.pages + reads.pages) as f64;
    let rate = pages / (write_s + read_s);
    let extra = json!({
        "writes": (writes.pages as f64 / write_s).round(),
        "reads": (reads.pages as f64 / read_s).round(),
        "stages": writes.log.len() + reads.log.len(),
        "NANDFlashSim": published,
        "times NANDFlashSim": (rate / published).round(),
    });
    report(pages, write_s + read_s, rate, extra)
}
