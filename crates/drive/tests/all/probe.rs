//! What a probe of a drive tells, against the drive's own books; and onlookers, who change nothing.

use crate::common::{config, drive, request};
use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Value};
use std::path::Path;
use wordline_base::{Op, Stream, Time};
use wordline_drive::probe::Probe;
use wordline_drive::run::{run, run_watched, Onlooker, Watch};
use wordline_drive::Drive;
use wordline_firmware::blocks::Status;
use wordline_workload::{Load, LoadFile};

const TEXT: &str = r#"
geometry = { channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 1, blocks_per_plane = 24,
    pages_per_block = 8, page_kib = 4 }
nand = { interface = "nv-ddr3", rate_mt_s = 800, read_us = 5.0, program_us = 20.0, erase_us = 50.0 }
capacity = { raw_over_logical = 1.6 }
mapping = { policy = "page", unit_kib = 4 }
buffer = { policy = "none" }
"#;

fn sum(value: &Value) -> f64 {
    value.as_array().expect("a list").iter().filter_map(Value::as_f64).sum()
}

/// At every step of a run, the parts of a probe agree with each other and with the drive.
#[test]
fn a_probe_agrees_with_the_drive_at_every_step() {
    let mut drive = drive(TEXT, 1);
    drive.start_measuring();
    let pages = drive.logical_bytes() / 4096;
    let mut random = Stream::new(1, "offsets", 0);
    let (mut sent, mut collected, mut busy, mut waited) = (0, 0, 0, 0);
    while drive.metrics.requests() < 3 * pages {
        while drive.in_flight() < 8 && sent < 3 * pages {
            let op = if sent >= pages && random.below(4) == 0 { Op::Read } else { Op::Write };
            let page = if sent < pages { sent } else { random.below(pages) };
            let at = drive.now();
            drive.submit(at, request(op, page * 4096, 4096)).unwrap();
            sent += 1;
        }
        drive.step().unwrap();
        drive.completions().clear();
        let told = Probe::of(&drive, drive.now(), true).document();
        let kernel = drive.kernel();
        assert_eq!(told["queue"]["in_flight"], drive.in_flight());
        assert_eq!(told["free_blocks"]["total"], kernel.blocks().free_blocks());
        assert_eq!(sum(&told["free_blocks"]["planes"]) as u32, kernel.blocks().free_blocks());
        let victims = kernel.blocks().records().iter().filter(|block| block.status == Status::Victim).count();
        assert_eq!(told["jobs"]["gc"], victims);
        let doing: Vec<&str> = told["dies"]["doing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let states = told["map"]["state"].as_str().unwrap();
        assert_eq!(states.matches('v').count(), victims);
        assert_eq!(states.matches('f').count() as u32, kernel.blocks().free_blocks());
        collected += u32::from(doing.iter().any(|class| class.starts_with("gc")));
        busy += u32::from(doing.len() == 4);
        waited += u32::from(told["queue"]["operations"].as_u64().unwrap() > 4);
    }
    assert!(collected > 100 && busy > 100 && waited > 100, "{collected} {busy} {waited}");
    let told = Probe::of(&drive, drive.now(), true).document();
    let (read, write) = (&told["latency"]["read"], &told["latency"]["write"]);
    assert_eq!(read["requests"].as_u64().unwrap() + write["requests"].as_u64().unwrap(), 3 * pages);
    for of in [read, write] {
        assert_eq!(sum(&of["classes"]), of["requests"].as_f64().unwrap());
        let (p50, max) = (of["p50_us"].as_f64().unwrap(), of["max_us"].as_f64().unwrap());
        // A few hundred requests have no 99th percentile.
        assert!(p50 <= of["p90_us"].as_f64().unwrap() && p50 < max && of["p99_9_us"].is_null(), "{of}");
    }
    assert!(told["latency"].get("trim").is_none());
    let counters = drive.kernel().counters();
    let programs = counters.programs() as f64;
    assert_eq!(told["write_amplification"], programs / counters.host_units as f64);
    // The programs of the host alone held its dies for at least their time.
    let held = sum(&told["dies"]["held_s"]["write"]);
    assert!(held >= counters.host_units as f64 * 20e-6, "{held}");
    let elapsed = told["simulated_s"].as_f64().unwrap();
    let all: f64 = ["read", "write", "gc"].iter().map(|holder| sum(&told["dies"]["held_s"][*holder])).sum();
    assert!(all <= 4.0 * elapsed && all > 2.0 * elapsed, "{all} of {elapsed}");
    let valid: u64 =
        BASE64_STANDARD.decode(told["map"]["valid"].as_str().unwrap()).unwrap().iter().map(|&v| u64::from(v)).sum();
    // Each block has eight units: 255 is all of them.
    assert!((valid as f64 / 255.0 * 8.0 - pages as f64).abs() < 10.0, "{valid}");
    let erases: u32 = drive.kernel().blocks().records().iter().map(|block| block.erases).sum();
    assert_eq!(sum(&told["map"]["erases"]), f64::from(erases));
    assert!((told["wear"]["mean"].as_f64().unwrap() - f64::from(erases) / 96.0).abs() < 1e-9);
}

/// Looks at each step, and ends the run after so many.
#[derive(Debug)]
struct Looker {
    looks: u64,
    most: u64,
    last: Time,
}

impl Onlooker for Looker {
    fn before(&mut self, drive: &Drive, next: Time) -> bool {
        assert!(drive.now() >= self.last && next >= drive.now(), "time goes on");
        self.last = drive.now();
        self.looks += 1;
        if self.looks.is_multiple_of(50) {
            assert!(Probe::of(drive, drive.now(), true).document().is_object());
        }
        self.looks < self.most
    }
}

fn load(bytes: u64) -> Load {
    let job = json!({"name": "mix", "rw": "randrw", "bs": "4k", "iodepth": 4, "number_ios": 3000});
    let spec: LoadFile = serde_json::from_value(json!({ "job": [job] })).expect("a workload");
    Load::open(&spec, Path::new("."), bytes, 7).expect("a workload")
}

#[test]
fn who_looks_on_changes_nothing_and_may_end_the_run() {
    let config = config(TEXT);
    let (mut alone, mut watched) = (Drive::new(&config, 1).unwrap(), Drive::new(&config, 1).unwrap());
    let bytes = alone.logical_bytes();
    run(&mut alone, load(bytes), &mut |_| true).unwrap();
    let mut looker = Looker { looks: 0, most: u64::MAX, last: 0 };
    let ended = run_watched(
        &mut watched,
        load(bytes),
        &mut |_| true,
        Watch { onlooker: Some(&mut looker), ..Watch::default() },
    );
    assert!(!ended.unwrap().interrupted && looker.looks > 6000);
    assert_eq!(alone.metrics, watched.metrics);
    assert_eq!(alone.now(), watched.now());
    let mut cut = Drive::new(&config, 1).unwrap();
    let mut looker = Looker { looks: 0, most: 500, last: 0 };
    let watch = Watch { onlooker: Some(&mut looker), ..Watch::default() };
    assert!(run_watched(&mut cut, load(bytes), &mut |_| true, watch).unwrap().interrupted);
    assert_eq!(looker.looks, 500);
}
