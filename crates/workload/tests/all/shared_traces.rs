//! The readers against real excerpts and the figures published with them; skipped without the traces.
//!
//! The traces are in the folder `WORDLINE_TRACES`, or else in `shared/traces` beside the workspace.

use std::path::PathBuf;
use wordline_workload::{
    detect, info, Backwards, Columns, TimeUnit, TraceFormat, TraceInfo, TraceOptions, TraceReader,
};

fn folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("WORDLINE_TRACES") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
    };
    folder.is_dir().then_some(folder)
}

/// One row of the table of published figures; sizes in KiB, `nan` without such requests.
struct Row {
    file: &'static str,
    format: TraceFormat,
    requests: u64,
    duration_s: (f64, f64),
    write_percent: f64,
    write_kib: f64,
    read_kib: f64,
    random_percent: f64,
    footprint_gb: f64,
}

#[rustfmt::skip]
const ROWS: [Row; 9] = [
    Row { file: "umass-financial1_first10k.ascii.zst", format: TraceFormat::Ssdsim, requests: 10_000, duration_s: (259.6, 0.05), write_percent: 59.2, write_kib: 4.9, read_kib: 6.1, random_percent: 54.8, footprint_gb: 0.030 },
    Row { file: "umass-financial1_first50k_4kpages.trace.zst", format: TraceFormat::Disksim4k, requests: 50_000, duration_s: (852.0, 3.0), write_percent: 41.6, write_kib: 6.4, read_kib: 7.5, random_percent: 99.4, footprint_gb: 0.128 },
    Row { file: "umass-websearch1_first25k.trace.zst", format: TraceFormat::Mqsim, requests: 24_783, duration_s: (60.1, 0.05), write_percent: 0.0, write_kib: 8.0, read_kib: 15.1, random_percent: 90.4, footprint_gb: 0.381 },
    Row { file: "umass-websearch1_first50k_4kpages.trace.zst", format: TraceFormat::Disksim4k, requests: 50_000, duration_s: (128.7, 0.05), write_percent: 0.0, write_kib: 8.0, read_kib: 15.1, random_percent: 94.0, footprint_gb: 0.760 },
    Row { file: "mqsim-tpcc_7k.trace.zst", format: TraceFormat::Mqsim, requests: 6_999, duration_s: (0.136, 0.0006), write_percent: 37.4, write_kib: 8.7, read_kib: 8.1, random_percent: 98.8, footprint_gb: 0.084 },
    Row { file: "msr-hm_0_899.csv.zst", format: TraceFormat::Msr, requests: 899, duration_s: (126.9, 0.05), write_percent: 54.7, write_kib: 7.1, read_kib: 11.1, random_percent: 96.2, footprint_gb: 0.006 },
    Row { file: "msr-wdev_1_last926.txt.zst", format: TraceFormat::Msr, requests: 926, duration_s: (6.05 * 86_400.0, 432.0), write_percent: 100.0, write_kib: 5.1, read_kib: f64::NAN, random_percent: 99.0, footprint_gb: 0.001 },
    Row { file: "disksimssd-iozone_100k.trace.zst", format: TraceFormat::Disksim, requests: 100_000, duration_s: (15.6 * 60.0, 3.0), write_percent: 100.0, write_kib: 359.9, read_kib: f64::NAN, random_percent: 49.4, footprint_gb: 1.111 },
    Row { file: "pc-desktop_2h28m.trace.zst", format: TraceFormat::Disksim4k, requests: 32_527, duration_s: (148.0 * 60.0, 3.0), write_percent: 61.7, write_kib: 38.3, read_kib: 25.3, random_percent: 57.7, footprint_gb: 0.800 },
];

fn check(row: &Row, got: &TraceInfo) {
    let near = |what: &str, got: f64, published: f64, within: f64| {
        let fits = (got.is_nan() && published.is_nan()) || (got - published).abs() <= within + 1e-9;
        assert!(fits, "{}: {what} is {got}, published {published}", row.file);
    };
    assert_eq!(got.requests, row.requests, "{}", row.file);
    near("duration", got.duration_s, row.duration_s.0, row.duration_s.1);
    near("write share", got.writes as f64 * 100.0 / got.requests as f64, row.write_percent, 0.05);
    near("mean write", got.mean_write_bytes.map_or(f64::NAN, |b| b / 1024.0), row.write_kib, 0.05);
    near("mean read", got.mean_read_bytes.map_or(f64::NAN, |b| b / 1024.0), row.read_kib, 0.05);
    near("random share", got.random_share * 100.0, row.random_percent, 0.05);
    near("footprint", got.distinct_4k_pages as f64 * 4096.0 / 1e9, row.footprint_gb, 0.0005);
}

#[test]
fn figures_are_the_published_ones() {
    let Some(folder) = folder() else { return };
    for row in &ROWS {
        let path = folder.join(row.file);
        let format = (row.format != TraceFormat::Msr).then_some(row.format);
        let options = TraceOptions { format, ..TraceOptions::default() };
        match info(&path, &options) {
            Ok(got) => check(row, &got),
            Err(error) => panic!("{error}"),
        }
        match row.format {
            TraceFormat::Msr => assert_eq!(detect(&path).unwrap().format, TraceFormat::Msr),
            _ => assert!(detect(&path).unwrap_err().to_string().contains("give the format")),
        }
    }
}

/// Self-describing traces, read with no further options than these.
#[rustfmt::skip]
const RECOGNISED: [(Row, Option<&str>); 8] = [
    (Row { file: "cloudphysics-sample_2h.csv.zst", format: TraceFormat::Cloudphysics, requests: 113_872, duration_s: (7200.0, 3.0), write_percent: 58.7, write_kib: 35.2, read_kib: 37.4, random_percent: 74.0, footprint_gb: 1.103 }, None),
    (Row { file: "fiu-cheetah_10k.blkparse.zst", format: TraceFormat::Fiu, requests: 9_997, duration_s: (23.6, 0.05), write_percent: 11.0, write_kib: 4.0, read_kib: 4.0, random_percent: 14.8, footprint_gb: 0.038 }, None),
    (Row { file: "hplabs-hplajw_1992week.decoded.txt.zst", format: TraceFormat::Hp, requests: 44_519, duration_s: (6.98 * 86_400.0, 432.0), write_percent: 70.7, write_kib: 6.3, read_kib: 4.6, random_percent: 98.6, footprint_gb: 0.030 }, None),
    (Row { file: "hplabs-hplajw_1992week.srt.zst", format: TraceFormat::HpSrt, requests: 44_519, duration_s: (6.98 * 86_400.0, 432.0), write_percent: 70.7, write_kib: 6.3, read_kib: 4.6, random_percent: 98.6, footprint_gb: 0.030 }, None),
    (Row { file: "emmc-phone_movie.txt.zst", format: TraceFormat::Emmc, requests: 4_781, duration_s: (996.0, 3.0), write_percent: 5.4, write_kib: 17.1, read_kib: 27.9, random_percent: 82.7, footprint_gb: 0.133 }, None),
    (Row { file: "ycsb-javadb_btrfs.blkparse.zst", format: TraceFormat::Blkparse, requests: 1_824, duration_s: (1074.0, 4.0), write_percent: 28.7, write_kib: 478.8, read_kib: 788.8, random_percent: 40.6, footprint_gb: 1.283 }, None),
    // The published 5,007 omit one discard.
    (Row { file: "wiscsee-sqlitewal_update.ftlsim.zst", format: TraceFormat::Wiscsee, requests: 5_008, duration_s: (1.4, 0.05), write_percent: 99.9, write_kib: 13.5, read_kib: 4.0, random_percent: 93.3, footprint_gb: 0.009 }, None),
    (Row { file: "apress-flush_50klines.blkparse.zst", format: TraceFormat::Blkparse, requests: 15_524, duration_s: (9.4, 0.05), write_percent: 99.5, write_kib: 4.0, read_kib: 121.8, random_percent: 11.0, footprint_gb: 0.073 }, Some("Q")),
];

#[test]
fn formats_that_are_unmistakable_are_found_and_read() {
    let Some(folder) = folder() else { return };
    for (row, action) in &RECOGNISED {
        let path = folder.join(row.file);
        let read = |options: &TraceOptions| info(&path, options).unwrap_or_else(|error| panic!("{error}"));
        let action = action.map(str::to_owned);
        // The published figures are in file order, in which processors alternate and a phone logged its requests at
        // completion.
        let file_order = TraceOptions {
            action: action.clone(),
            backwards: Backwards::Clamp,
            sort_window: Some(0),
            ..TraceOptions::default()
        };
        let got = read(&file_order);
        if row.format != TraceFormat::Emmc {
            let sorted = read(&TraceOptions { action, ..TraceOptions::default() });
            assert_eq!((sorted.requests, sorted.writes, sorted.clamped), (got.requests, got.writes, 0), "{}", row.file);
            assert_eq!(sorted.distinct_4k_pages, got.distinct_4k_pages);
        }
        assert_eq!(got.detected.format, row.format, "{}", row.file);
        check(row, &got);
    }
}

#[test]
fn both_forms_of_a_trace_say_the_same() {
    let Some(folder) = folder() else { return };
    let open = |name: &str| TraceReader::open(&folder.join(name), &TraceOptions::default()).unwrap();
    let mut text = open("hplabs-hplajw_1992week.decoded.txt.zst");
    let mut binary = open("hplabs-hplajw_1992week.srt.zst");
    loop {
        let records = (text.next_record().unwrap(), binary.next_record().unwrap());
        assert_eq!(records.0, records.1, "record {}", binary.line());
        if records.0.is_none() {
            break;
        }
    }
    assert_eq!(text.devices(), binary.devices());
}

#[test]
fn a_stamp_that_wrapped_is_left_out_and_counted() {
    let Some(folder) = folder() else { return };
    let got = info(&folder.join("ycsb-javadb_ext4.blkparse.zst"), &TraceOptions::default()).unwrap();
    // The published 9,886 omit the one wrapped event; 13.5 minutes.
    assert_eq!((got.requests, got.left_out.wrapped), (9_886, 1));
    assert!((got.duration_s - 810.0).abs() < 4.0, "{}", got.duration_s);
    assert!((got.writes as f64 / 98.86 - 8.6).abs() < 0.05);
    assert!((got.mean_write_bytes.unwrap() / 1024.0 - 290.1).abs() < 0.05);
    assert!((got.mean_read_bytes.unwrap() / 1024.0 - 113.2).abs() < 0.05);
    assert!(got.left_out.ignored > 15_000, "other events and the summary: {:?}", got.left_out);
}

#[test]
fn a_clock_that_jumps_leaves_the_order() {
    let Some(folder) = folder() else { return };
    let path = folder.join("emmc-phone_booting.txt.zst");
    let error = info(&path, &TraceOptions::default()).unwrap_err().to_string();
    assert!(error.contains("runs backwards"), "{error}");
    let clamp = TraceOptions { backwards: Backwards::Clamp, ..TraceOptions::default() };
    let got = info(&path, &clamp).unwrap();
    assert_eq!(got.requests, 18_417);
    assert!((got.writes as f64 / 184.17 - 33.1).abs() < 0.05 && got.clamped > 0);
}

#[test]
fn lists_without_stamps_have_an_order() {
    let Some(folder) = folder() else { return };
    let path = folder.join("arc-P3.lis.zst");
    let error = detect(&path).unwrap_err().to_string();
    assert!(error.contains("it might be arc") && error.contains("by --format"), "{error}");
    let arc = TraceOptions { format: Some(TraceFormat::Arc), ..TraceOptions::default() };
    let got = info(&path, &arc).unwrap();
    assert_eq!((got.requests, got.reads, got.read_bytes), (238_578, 238_578, 3_912_296 * 512));
    assert!((got.random_share * 100.0 - 88.1).abs() < 0.05);
    assert!(got.detected.reason.contains("only the order counts"), "{}", got.detected.reason);
}

#[test]
fn a_csv_with_other_names_and_scsi_codes_is_read_by_options() {
    let Some(folder) = folder() else { return };
    let path = folder.join("cloudphysics-sample_2h.csv.zst");
    let word = |text: &str| Some(text.to_owned());
    let columns = Columns { time: word("time"), size_bytes: word("size"), lba: word("lbn"), ..Columns::default() };
    let options = TraceOptions {
        columns,
        time_unit: Some(TimeUnit::Us),
        read_is: word("28"),
        write_is: word("2a"),
        ..TraceOptions::default()
    };
    let got = info(&path, &options).unwrap_or_else(|error| panic!("{error}"));
    let row = Row {
        file: "cloudphysics-sample_2h.csv.zst",
        format: TraceFormat::Csv,
        requests: 113_872,
        duration_s: (7200.0, 3.0),
        write_percent: 58.7,
        write_kib: 35.2,
        read_kib: 37.4,
        random_percent: 74.0,
        footprint_gb: 1.103,
    };
    check(&row, &got);
}
