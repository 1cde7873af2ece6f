//! The figures of a run end at its last completion, whatever background work follows. A case by hand, and whole runs
//! against the drive's own counters.

use crate::common::{config, drive, NS, US};
use serde_json::{json, Value};
use std::path::Path;
use wordline_base::Time;
use wordline_drive::result::{document, About};
use wordline_drive::run::{run, run_measured, Ended, RunError, Watch};
use wordline_drive::streams::Streams;
use wordline_drive::Drive;
use wordline_workload::{Load, LoadFile};

/// SDR mode 5: cycles of 20 ns, tADL 70 ns, tWB 100 ns; SATA 6 Gb/s: 120 ns a command, 40 ns a completion, and for 16 KiB of data
/// 73,334 ps and 5/3 ns for each of 16,384 bytes and two times 20 more.
const TINY: &str = r#"
    geometry = { channels = 1, packages_per_channel = 1, dies_per_package = 1, planes_per_die = 1,
                 blocks_per_plane = 16, pages_per_block = 16, page_kib = 16 }
    nand = { interface = "sdr", rate_mt_s = 50, read_us = 50.0, program_us = 500.0, erase_us = 3000.0 }
    capacity = { raw_over_logical = 2.0 }
    mapping = { policy = "page", unit_kib = 16 }
    link = { policy = "sata", rate_gb_s = 6.0 }
    buffer = { policy = "fifo", capacity_kib = 128 }
"#;

const COMMAND: Time = 120 * NS;
const COMPLETION: Time = 40 * NS;
const DATA: Time = 73_334 + 27_373_334;
const ON_BUS: Time = 140 * NS + 70 * NS + 8_192 * 40 * NS + 100 * NS;
const PROGRAM: Time = ON_BUS + 500 * US;

fn load(drive: &Drive, jobs: &Value) -> Load {
    let spec: LoadFile = serde_json::from_value(json!({ "job": jobs })).expect("a load of the test");
    Load::open(&spec, Path::new("."), drive.logical_bytes(), 1).expect("a load of the test")
}

fn result(text: &str, drive: &Drive, partial: bool) -> Value {
    let config = config(text);
    let parts = config.parts().expect("it was checked");
    let about = About { config: &config, parts: &parts, workload: &json!({}), seed: 1, partial, precondition: None };
    document(drive, &about)
}

/// Runs jobs and returns the result, too.
fn ran(text: &str, drive: &mut Drive, jobs: &Value) -> (Ended, Value) {
    let load = load(drive, jobs);
    let ended = run(drive, load, &mut |_| true).expect("no rule is broken");
    (ended, result(text, drive, false))
}

fn is(value: &Value, picoseconds: Time) {
    let (told, wanted) = (value.as_f64().expect("a number"), picoseconds as f64 / 1e12);
    assert!((told - wanted).abs() <= 1e-9 * wanted, "{told} {wanted}");
}

#[test]
fn programs_after_the_last_completion_are_none_of_the_run() {
    let mut drive = drive(TINY, 1);
    let (ended, told) =
        ran(TINY, &mut drive, &json!([{"name": "w", "rw": "write", "bs": "16k", "iodepth": 1, "number_ios": 5}]));
    // Each write completes when it is in the buffer, and then the next one is sent.
    let last = 5 * (COMMAND + DATA + COMPLETION);
    assert_eq!((drive.metrics.end, ended.measured_to), (last, last));
    is(&told["simulated_s"], last);
    // The first page went to the die when its data had arrived. At the last completion it was not yet on the
    // die.
    let first = COMMAND + DATA;
    assert_eq!((&told["flash"]["programs"], &told["flash"]["commands"]), (&json!(1), &json!(1)));
    assert_eq!(told["write_amplification"], json!(0.2), "one page of the five written");
    is(&told["utilisation"]["channels"][0], ((last - first) as f64 / last as f64 * 1e12) as Time);
    assert_eq!(told["utilisation"]["dies"], json!([0.0]));
    is(&told["activity"]["end_s"], last);
    assert_eq!(told["activity"]["dies"], json!([[0.0, 0.0]]), "two intervals of 125 us");
    // Then one after the other.
    let after = &told["afterwards"];
    assert_eq!((&after["programs"], &after["reads"], &after["erases"]), (&json!(4), &json!(0), &json!(0)));
    is(&after["simulated_s"], first + 5 * PROGRAM - last);
    assert_eq!(drive.kernel().counters().programs(), 5);
    let (run, rest, all) = (&told["energy_j"], &after["energy_j"], drive.energy().total());
    let both = run.as_f64().unwrap() + rest.as_f64().unwrap();
    assert!((both - all).abs() < 1e-9 * all && rest.as_f64().unwrap() > 3.0 * run.as_f64().unwrap(), "{run} {rest}");
}

#[test]
fn figures_end_with_a_flush_and_with_a_runtime() {
    let mut drive = drive(TINY, 1);
    let (_, told) = ran(
        TINY,
        &mut drive,
        &json!([{"name": "w", "rw": "write", "bs": "16k", "iodepth": 1, "number_ios": 5, "fsync": 5}]),
    );
    // The flush is a request of the workload, and completes when all data are in flash.
    assert_eq!((&told["flash"]["programs"], &told["afterwards"]["programs"]), (&json!(5), &json!(0)));
    assert_eq!((&told["write_amplification"], &told["afterwards"]["simulated_s"]), (&json!(1.0), &json!(0.0)));
    // A job that rests until its time is over lasts until then, and the flash continues meanwhile: two writes, at 0 and
    // at 0.5 ms, and the second program ends after the first millisecond.
    let resting = json!([{"name": "w", "rw": "write", "bs": "16k", "iodepth": 1, "time_based": true, "runtime_s": 0.001,
                          "thinktime_us": 500.0, "thinktime_blocks": 1}]);
    let (ended, told) = ran(TINY, &mut drive, &resting);
    assert_eq!(ended.measured_to, 1_000 * US);
    assert_eq!((&told["requests"], &told["flash"]["programs"]), (&json!(2), &json!(2)));
    is(&told["afterwards"]["simulated_s"], COMMAND + DATA + 2 * PROGRAM - 1_000 * US);
    // The first program's 500 us; of the second, only the bus transfer has begun.
    is(&told["utilisation"]["dies"][0], 500 * US * 1_000);
}

fn text(rest: &str) -> String {
    format!(
        r#"
        geometry = {{ channels = 2, packages_per_channel = 1, dies_per_package = 2, planes_per_die = 2,
                      blocks_per_plane = 24, pages_per_block = 16, page_kib = 16 }}
        capacity = {{ raw_over_logical = 1.6 }}
        mapping = {{ policy = "page", unit_kib = 4 }}
        verify = {{ shadow = true }}
        {rest}
        "#
    )
}

#[test]
fn run_and_rest_add_up_to_what_the_drive_did() {
    let jobs = json!([
        {"name": "fill", "rw": "write", "bs": "64k", "iodepth": 4, "number_ios": 300},
        {"name": "mix", "rw": "randrw", "bs": "4k", "iodepth": 12, "number_ios": 4_000, "norandommap": true},
        {"name": "odd", "rw": "randwrite", "bs": "6k", "iodepth": 3, "number_ios": 500, "norandommap": true, "ramp_time_s": 0.002},
    ]);
    let mut worked_on = 0;
    for rest in [
        "buffer = { policy = \"fifo\", capacity_kib = 512 }",
        "buffer = { policy = \"fifo\", capacity_kib = 512 }\n pack = { policy = \"cache\" }\n collect = { policy = \"on-demand\", scope = \"plane\" }\n placement = { policy = \"static\", order = \"CWDP\" }",
        "suspend = { policy = \"reads\" }",
        "",
    ] {
        let text = text(rest);
        let mut drive = drive(&text, 1);
        // Leftovers of one run do not count in the next.
        for _ in 0..2 {
            let (ended, told) = ran(&text, &mut drive, &jobs);
            let (counters, after) = (*drive.kernel().counters(), &told["afterwards"]);
            let sum = |run: &Value, key: &str| run.as_f64().unwrap() + after[key].as_f64().unwrap();
            for (run, key, all) in [
                (&told["flash"]["reads"], "reads", counters.reads()),
                (&told["flash"]["programs"], "programs", counters.programs()),
                (&told["flash"]["erases"], "erases", counters.erases()),
                (&told["gc"]["collections"], "collections", counters.collections()),
            ] {
                assert_eq!(sum(run, key), all as f64, "{rest}: {key}");
            }
            let moved = counters.moved_units() as f64 / 4.0;
            assert_eq!(sum(&told["gc"]["moved_pages"], "moved_pages"), moved, "{rest}");
            let energy = drive.energy().total();
            assert!((sum(&told["energy_j"], "energy_j") - energy).abs() < 1e-9 * energy, "{rest}");
            let end = drive.metrics.end as f64 / 1e12 + after["simulated_s"].as_f64().unwrap();
            assert!((end - drive.now() as f64 / 1e12).abs() < 1e-12, "{rest}: the drive is idle then");
            let length = (drive.metrics.end - drive.metrics.start) as f64 / 1e12;
            assert!((told["activity"]["end_s"].as_f64().unwrap() - length).abs() < 1e-11, "{rest}");
            assert!(ended.measured_to > ended.measured_from && ended.measured_from == 0, "{rest}");
            worked_on += after["programs"].as_u64().unwrap();
            // Wear, too, is that of the last completion. A block counts an erase at its end, so at most one per plane
            // has only begun.
            let records = drive.kernel().blocks().records();
            let erases: u32 = records.iter().map(|block| block.erases).sum();
            let then = told["wear"]["mean"].as_f64().unwrap() * records.len() as f64;
            let since = f64::from(erases) - then - after["erases"].as_f64().unwrap();
            assert!((-1e-6..8.0 + 1e-6).contains(&since), "{rest}: {erases} {then} {after}");
        }
    }
    assert!(worked_on > 0, "buffers were written out: {worked_on}");
}

#[test]
fn an_interrupted_run_ends_all_its_figures_where_it_was() {
    let mut drive = drive(&text(""), 1);
    let jobs =
        json!([{"name": "w", "rw": "randwrite", "bs": "4k", "iodepth": 8, "number_ios": 200_000, "norandommap": true}]);
    let load = load(&drive, &jobs);
    let ended = run(&mut drive, load, &mut |_| false).expect("no rule is broken");
    assert!(ended.interrupted && ended.cut_off > 0);
    assert_eq!((drive.metrics.end, ended.measured_to), (drive.now(), drive.now()));
    let told = result(&text(""), &drive, true);
    assert_eq!(
        (&told["afterwards"], &told["flash"]["programs"]),
        (&Value::Null, &json!(drive.kernel().counters().programs()))
    );
    // Later completions do not count.
    drive.drain().expect("no rule is broken");
    assert_eq!(result(&text(""), &drive, true)["flash"], told["flash"]);
}

#[test]
fn a_load_that_ends_within_its_ramp_is_told_though_the_flash_works_on() {
    let mut drive = drive(TINY, 1);
    // The five writes complete after 138 us, the flash finishes after 4 ms.
    let jobs = json!([{"name": "w", "rw": "write", "bs": "16k", "number_ios": 5, "ramp_time_s": 0.001}]);
    let load = load(&drive, &jobs);
    let ran = run_measured(&mut drive, load, &mut |_| true, Watch::default(), &mut Streams::default());
    assert!(matches!(ran, Err(RunError::Unmeasured { .. })), "{ran:?}");
}
