//! Recorded traces, replayed against a shadow disk: by their time stamps, many times faster than recorded, and as fast
//! as the drive accepts them.
//!
//! The traces are in the folder WORDLINE_TRACES, or in `../shared/traces` beside the repository. Without them the tests
//! say so and check the same on traces written here.

use crate::common::long;
use std::path::{Path, PathBuf};
use wordline_base::Op;
use wordline_drive::precondition::precondition;
use wordline_drive::run::run;
use wordline_drive::{load, Drive, DriveConfig};
use wordline_workload::{Load, LoadFile, TraceOptions};

/// A trace: file, format, number of requests, and how many of them are replayed without WORDLINE_LONG.
struct Trace {
    file: &'static str,
    format: &'static str,
    requests: u64,
    usual: u64,
    /// Speed-up over the recording.
    speed: f64,
}

const fn trace(file: &'static str, format: &'static str, requests: u64, usual: u64, speed: f64) -> Trace {
    Trace { file, format, requests, usual, speed }
}

const TRACES: [Trace; 9] = [
    trace("umass-financial1_first10k.ascii.zst", "ssdsim", 10_000, 10_000, 20.0),
    trace("umass-financial1_first50k_4kpages.trace.zst", "disksim-4k", 50_000, 20_000, 50.0),
    trace("umass-websearch1_first25k.trace.zst", "mqsim", 24_783, 24_783, 10.0),
    trace("umass-websearch1_first50k_4kpages.trace.zst", "disksim-4k", 50_000, 20_000, 10.0),
    trace("mqsim-tpcc_7k.trace.zst", "mqsim", 6_999, 6_999, 1.0),
    trace("disksimssd-iozone_100k.trace.zst", "disksim", 100_000, 3_000, 2.0),
    trace("pc-desktop_2h28m.trace.zst", "disksim-4k", 32_527, 15_000, 100.0),
    trace("msr-hm_0_899.csv.zst", "msr", 899, 899, 100.0),
    trace("msr-wdev_1_last926.txt.zst", "msr", 926, 926, 10_000.0),
];

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("WORDLINE_TRACES").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not there; name the folder of the traces in WORDLINE_TRACES", folder.display());
    None
}

fn demo() -> DriveConfig {
    let (loaded, _) = load("demo", &["verify.shadow=true".into()]).expect("a preset is sound");
    loaded.value
}

/// The demo drive, full, so that reads find data.
fn filled() -> Drive {
    let config = demo();
    let mut drive = Drive::new(&config, 1).expect("a preset is sound");
    let fill = wordline_drive::config::PreconditionConfig { fill: true, ..Default::default() };
    precondition(&mut drive, &fill, 1, &mut |_| true).expect("the drive is filled");
    drive
}

/// Replays a trace on a full drive, checks that it completed, and returns the counts.
fn replay(drive: &mut Drive, base: &Path, options: TraceOptions, requests: u64) -> [u64; 4] {
    let name = options.file.display().to_string();
    let file = LoadFile { trace: Some(options), ..LoadFile::default() };
    let load = Load::open(&file, base, drive.logical_bytes(), 1).unwrap_or_else(|error| panic!("{name}: {error}"));
    let ended = run(drive, load, &mut |_| true).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!ended.interrupted && ended.cut_off == 0);
    drive.kernel().audit().unwrap_or_else(|error| panic!("{name}: {error}"));
    let done = Op::ALL.map(|op| drive.metrics.latency(op).count());
    // A request across the end of the drive becomes two.
    let count = done.iter().sum::<u64>();
    assert!(count >= requests && count <= requests + requests / 100, "{name}: {count} of {requests} requests");
    let (counters, plan) = (drive.kernel().counters(), drive.kernel().plan());
    let units = u64::from(plan.units_per_page) * counters.programs();
    assert_eq!(
        units,
        counters.host_units - counters.absorbed_units + counters.moved_units() + counters.padded_units,
        "{name}"
    );
    assert!(counters.host_units * u64::from(plan.unit_bytes) >= drive.metrics.bytes(Op::Write), "{name}");
    done
}

fn options(trace: &Trace, asap: bool) -> TraceOptions {
    serde_json::from_value(serde_json::json!({
        "file": trace.file,
        "format": trace.format,
        "past_end": "wrap",
        "backwards": "clamp",
        "zero_size": "skip",
        "pace": if asap { "asap" } else { "timestamps" },
        "speed": if asap { 1.0 } else { trace.speed },
        "limit": if long() { trace.requests } else { trace.usual },
    }))
    .expect("the options are sound")
}

#[test]
fn recorded_traces_replay() {
    let Some(folder) = folder() else { return };
    let full = filled();
    for trace in &TRACES {
        let requests = if long() { trace.requests } else { trace.usual };
        let mut results = Vec::new();
        for asap in [false, true] {
            let mut drive = full.clone();
            let done = replay(&mut drive, &folder, options(trace, asap), requests);
            let (seconds, metrics) = ((drive.now() - metrics_start(&drive)) as f64 / 1e12, &drive.metrics);
            let mean = metrics
                .by_size
                .iter()
                .flatten()
                .filter_map(|latency| Some(latency.mean()? * latency.count() as f64))
                .sum::<f64>();
            let mean = mean / metrics.requests() as f64 / 1e6;
            println!("{:<46}{done:?} in {seconds:.3} s, mean latency {mean:.0} us", trace.file);
            results.push((done, Op::ALL.map(|op| metrics.bytes(op)), drive.now()));
        }
        let [stamped, fast] = &results[..] else { unreachable!("two paces") };
        assert_eq!((stamped.0, stamped.1), (fast.0, fast.1), "{}: the pace changes no request", trace.file);
        assert!(fast.2 <= stamped.2, "{}: as fast as possible is no slower", trace.file);
    }
}

fn metrics_start(drive: &Drive) -> u64 {
    drive.metrics.start
}

/// Every format in a few lines: the same four requests, so the same run.
#[test]
fn formats_agree() {
    let folder = std::env::temp_dir().join(format!("wordline-test-{}-formats", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the traces");
    let texts = [
        ("disksim", "0.0 0 0 32 0\n1.5 0 64 8 1\n3.0 0 1024 128 0\n3.25 0 0 16 1\n"),
        ("disksim-4k", "0.0 0 0 4 0\n1.5 0 64 1 1\n3.0 0 1024 16 0\n3.25 0 0 2 1\n"),
        ("mqsim", "0 0 0 32 0\n1500000 0 64 8 1\n3000000 0 1024 128 0\n3250000 0 0 16 1\n"),
        ("ssdsim", "5 0 0 32 0\n1500005 0 64 8 1\n3000005 0 1024 128 0\n3250005 0 0 16 1\n"),
        (
            "msr",
            "128166372000000000,x,0,Write,0,16384,1\n128166372000015000,x,0,Read,32768,4096,1\n\
             128166372000030000,x,0,Write,524288,65536,1\n128166372000032500,x,0,Read,0,8192,1\n",
        ),
    ];
    let full = filled();
    let mut hashes = Vec::new();
    for (format, text) in texts {
        std::fs::write(folder.join(format), text).expect("a trace");
        let trace = Trace { file: format, format, requests: 4, usual: 4, speed: 1.0 };
        let mut drive = full.clone();
        assert_eq!(replay(&mut drive, &folder, options(&trace, false), 4), [2, 2, 0, 0], "{format}");
        // The second request is not sent before 1.5 ms, the last not before 3.25 ms.
        assert!(drive.now() - drive.metrics.start >= 3_250_000_000, "{format}");
        hashes.push((format, drive.metrics.hash));
    }
    std::fs::remove_dir_all(&folder).expect("the folder was made above");
    assert!(hashes.iter().all(|&(_, hash)| hash == hashes[0].1), "{hashes:?}");
}
