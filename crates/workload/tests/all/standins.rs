//! A stand-in has the requested statistics, measured like any trace.

use crate::common::Scratch;
use wordline_workload::{info, synthesise, OutputFormat, StandIn, TraceInfo, TraceOptions, TraceWriter, WriteOptions};

fn made(spec: &StandIn) -> (TraceInfo, Vec<u8>) {
    let file = Scratch::new(b"");
    let options = WriteOptions { format: OutputFormat::Csv, drop: false, round: false, note: None };
    let writer = TraceWriter::create(Some(file.path()), "out.csv", options).unwrap();
    let done = synthesise(&spec.model().unwrap(), writer, &mut |_| true).unwrap().unwrap();
    let info = info(file.path(), &TraceOptions::default()).unwrap();
    assert_eq!(done.measured.requests, info.requests);
    assert_eq!(done.measured.footprint_bytes, info.distinct_4k_pages * 4096);
    (info, std::fs::read(file.path()).unwrap())
}

fn near(what: &str, got: f64, wanted: f64, within: f64) {
    assert!((got / wanted - 1.0).abs() <= within, "{what}: {got}, asked for {wanted}");
}

fn check(spec: &StandIn, write_kib: f64, read_kib: f64) -> TraceInfo {
    let (info, _) = made(spec);
    near("requests", info.requests as f64, spec.requests.unwrap() as f64, 0.0);
    let writes = info.writes as f64 / info.requests as f64 * 100.0;
    assert!((writes - spec.write_percent.unwrap()).abs() < 0.5, "{writes} % writes");
    if let Some(mean) = info.mean_write_bytes {
        near("mean write", mean, write_kib * 1024.0, 0.02);
    }
    if let Some(mean) = info.mean_read_bytes {
        near("mean read", mean, read_kib * 1024.0, 0.02);
    }
    let random = info.random_share * 100.0;
    assert!((random - spec.random_percent.unwrap()).abs() < 0.5, "{random} % random");
    let arrivals = info.arrivals.clone().unwrap();
    near("mean gap", arrivals.mean_us, spec.gap_mean_us.unwrap(), 1e-4);
    if let Some(median) = spec.gap_median_us {
        near("median gap", arrivals.p50_us, median, 0.03);
    }
    info
}

fn spec() -> StandIn {
    StandIn {
        requests: Some(60_000),
        write_percent: Some(64.5),
        read_size: Some("11.1k".into()),
        write_size: Some("7.4k".into()),
        random_percent: Some(96.2),
        footprint: Some("100m".into()),
        gap_mean_us: Some(4600.0),
        gap_median_us: Some(1500.0),
        ..StandIn::default()
    }
}

#[test]
fn published_statistics_come_back() {
    let info = check(&spec(), 7.4, 11.1);
    near("footprint", info.distinct_4k_pages as f64 * 4096.0, 100.0 * 1_048_576.0, 0.02);
    assert_eq!(info.aligned_4k_share, 1.0);
}

#[test]
fn a_long_tailed_workload_has_its_mean_and_median() {
    // DAP-PS of kim18's Table 2: a mean gap of 79.9 ms with a median of 1.7 ms.
    let heavy = StandIn {
        write_percent: Some(45.0),
        write_size: Some("96.7k".into()),
        read_size: Some("62.1k".into()),
        gap_mean_us: Some(79_900.0),
        gap_median_us: Some(1700.0),
        footprint: Some("1g".into()),
        ..spec()
    };
    let info = check(&heavy, 96.7, 62.1);
    near("footprint", info.distinct_4k_pages as f64 * 4096.0, 1_073_741_824.0, 0.02);
    assert!(info.arrivals.unwrap().variation.unwrap() > 2.0);
}

#[test]
fn bursts_make_arrivals_bursty_and_keep_mean_and_median() {
    let bursts = StandIn { burst_requests: Some(20.0), gap_median_us: Some(100.0), ..spec() };
    let info = check(&bursts, 7.4, 11.1);
    let index = |info: &TraceInfo| info.arrivals.as_ref().unwrap().dispersion[0].index.unwrap();
    let calm = check(&StandIn { gap_median_us: None, ..spec() }, 7.4, 11.1);
    assert!(index(&info) > 5.0 && (index(&calm) - 1.0).abs() < 0.05, "{} and {}", index(&info), index(&calm));
    near("variation of Poisson arrivals", calm.arrivals.unwrap().variation.unwrap(), 1.0, 0.02);
}

#[test]
fn sequential_runs_small_requests_and_listed_sizes() {
    let mut small = spec();
    small.random_percent = Some(5.0);
    small.align = "512".into();
    small.write_size = Some("512:50, 3k:25, 4k:25".into());
    small.read_size = Some("2.5k".into());
    let info = check(&small, 0.25 + 0.75 + 1.0, 2.5);
    near("footprint", info.distinct_4k_pages as f64 * 4096.0, 100.0 * 1_048_576.0, 0.03);
    let often = &info.write_sizes.unwrap().most_frequent;
    let shares: Vec<_> = often.iter().map(|size| (size.bytes, (size.share * 100.0).round())).collect();
    assert_eq!(often.len(), 3);
    assert_eq!(shares[0], (512, 50.0));
    // A given region, and a read-only trace.
    let reads = StandIn { write_percent: Some(0.0), extent: Some("1g".into()), footprint: None, ..spec() };
    let info = check(&reads, 0.0, 11.1);
    assert!(info.extent_bytes <= 1 << 30 && info.extent_bytes > 1_070_000_000 && info.writes == 0);
}

#[test]
fn a_duration_gives_the_number_and_a_seed_gives_the_bytes() {
    let timed = StandIn { requests: None, duration_s: Some(46.0), footprint: Some("20m".into()), ..spec() };
    let (info, bytes) = made(&timed);
    assert_eq!(info.requests, 10_001);
    near("duration", info.duration_s, 46.0, 1e-6);
    assert!(made(&timed).1 == bytes);
    assert!(made(&StandIn { seed: 2, ..timed }).1 != bytes);
    // Even gaps, and a single request.
    let even = StandIn { gap_median_us: Some(4600.0), ..spec() };
    assert_eq!(made(&even).0.arrivals.unwrap().variation, Some(0.0));
    let one = StandIn { requests: Some(1), footprint: None, extent: Some("1g".into()), ..spec() };
    assert_eq!(made(&one).0.requests, 1);
}
