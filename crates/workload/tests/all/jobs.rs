//! Synthetic jobs behave as fio's terms say.

use crate::common::{drain, open_job};
use std::path::Path;
use wordline_base::{Op, Request};
use wordline_workload::{JobOptions, Load, LoadFile, Pacing, RateProcess, Rw};

const MIB: u64 = 1 << 20;
const DRIVE: u64 = 64 * MIB;

fn job(rw: Rw) -> JobOptions {
    JobOptions { rw, ..JobOptions::default() }
}

fn run(job: JobOptions) -> Vec<Request> {
    let mut load = open_job(job, DRIVE).unwrap_or_else(|error| panic!("{error}"));
    drain(&mut load).unwrap_or_else(|error| panic!("{error}"))
}

fn fails(job: JobOptions, part: &str) {
    let error = open_job(job, DRIVE).err().expect("this must fail").to_string();
    assert!(error.contains(part), "`{part}` is missing in: {error}");
}

#[test]
fn sequential_jobs_go_over_their_region_once() {
    let got = run(JobOptions { bs: "128k".into(), offset: "50%".into(), size: Some("1m".into()), ..job(Rw::Write) });
    assert_eq!(got.len(), 8);
    for (n, request) in (0..).zip(&got) {
        assert_eq!((request.offset, request.bytes, request.op), (32 * MIB + n * 131_072, 131_072, Op::Write));
    }
    let twice = run(JobOptions { io_size: Some("200%".into()), size: Some("1m".into()), ..job(Rw::Read) });
    assert_eq!(twice.len(), 512);
    assert_eq!((twice[255].offset, twice[256].offset), (MIB - 4096, 0));
    assert_eq!(run(JobOptions { number_ios: Some(20_000), ..job(Rw::Trim) }).len(), 20_000);
    assert!(run(job(Rw::RandTrim)).iter().all(|r| r.op == Op::Trim));
}

#[test]
fn random_jobs_visit_each_block_once_unless_told_otherwise() {
    let blocks = |job| run(job).iter().map(|r| r.offset / 4096).collect::<Vec<_>>();
    let mut once = blocks(job(Rw::RandWrite));
    assert_ne!(once, (0..16_384).collect::<Vec<_>>());
    once.sort_unstable();
    assert!(once.into_iter().eq(0..16_384));
    let mut free = blocks(JobOptions { norandommap: true, ..job(Rw::RandWrite) });
    free.sort_unstable();
    free.dedup();
    // Of n independent draws among n, a share of 1 - 1/e is distinct.
    assert!((free.len() as f64 / 16_384.0 - 0.632).abs() < 0.02, "{}", free.len());
}

#[test]
fn mixes_have_their_share_and_sizes_of_their_own() {
    let got = run(JobOptions { rwmixread: 70, bs: "4k,16k".into(), number_ios: Some(100_000), ..job(Rw::RandRw) });
    let reads = got.iter().filter(|r| r.op == Op::Read).count();
    assert!((reads as f64 / 100_000.0 - 0.7).abs() < 0.01, "{reads}");
    for request in &got {
        let size = if request.op == Op::Read { 4096 } else { 16_384 };
        assert_eq!((request.bytes, request.offset % u64::from(size)), (size, 0));
        assert!(request.offset + u64::from(request.bytes) <= DRIVE);
    }
    let aligned = run(JobOptions { blockalign: Some("512".into()), norandommap: true, ..job(Rw::RandRead) });
    assert!(aligned.iter().any(|r| r.offset % 4096 == 512) && aligned.iter().all(|r| r.offset + 4096 <= DRIVE));
}

#[test]
fn rates_give_arrivals() {
    let paced = JobOptions { rate_iops: Some(1000.0), runtime_s: Some(2.0), start_delay_s: 0.5, ..job(Rw::Read) };
    let got = run(paced.clone());
    assert_eq!(got.len(), 2000);
    for (n, request) in (0..).zip(&got) {
        assert_eq!(request.arrival, 500_000_000_000 + n * 1_000_000_000);
    }
    let load = open_job(JobOptions { iodepth: 8, ..paced.clone() }, DRIVE).unwrap();
    assert_eq!(load.streams[0].pacing, Pacing::Rate { iops: 1000.0, iodepth: 8 });
    assert_eq!((load.streams[0].start, load.streams[0].end), (500_000_000_000, Some(2_500_000_000_000)));
    let poisson = JobOptions { rate_process: RateProcess::Poisson, runtime_s: Some(10.0), time_based: true, ..paced };
    let got = run(poisson).len();
    // The variance of a Poisson count is its mean: five deviations are 500.
    assert!(got.abs_diff(10_000) < 500, "{got}");
    let slow = JobOptions { rate_iops: Some(1e-5), ..job(Rw::Read) };
    let error = drain(&mut open_job(slow, DRIVE).unwrap()).unwrap_err().to_string();
    assert!(error.contains("beyond 106 days"), "{error}");
}

#[test]
fn flushes_follow_writes_and_fua_marks_them() {
    let got = run(JobOptions { fsync: 3, number_ios: Some(7), fua: true, ..job(Rw::Write) });
    let ops: Vec<_> = got.iter().map(|r| r.op.name()).collect();
    assert_eq!(ops, ["write", "write", "write", "flush", "write", "write", "write", "flush", "write"]);
    assert!(got.iter().all(|r| r.fua == (r.op == Op::Write)));
    assert!(run(JobOptions { fua: true, ..job(Rw::Read) }).iter().all(|r| !r.fua));
}

#[test]
fn clones_and_seeds_have_numbers_of_their_own() {
    let spec = |seed| LoadFile {
        job: vec![JobOptions { numjobs: 2, randseed: seed, ..job(Rw::RandRead) }, job(Rw::RandRead)],
        ..LoadFile::default()
    };
    let first = |spec: &LoadFile, run_seed| {
        let mut load = Load::open(spec, Path::new("."), DRIVE, run_seed).unwrap();
        let next = |(n, s): (usize, &mut wordline_workload::LoadStream)| {
            let request = s.next().unwrap().unwrap();
            assert_eq!(usize::from(request.stream), n);
            (s.name.clone(), request.offset)
        };
        load.streams.iter_mut().enumerate().map(next).collect::<Vec<_>>()
    };
    let got = first(&spec(None), 1);
    assert_eq!(got.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), ["job0.0", "job0.1", "job1"]);
    assert!(got[0].1 != got[1].1 && got[1].1 != got[2].1);
    assert_eq!(got, first(&spec(None), 1));
    let (other, fixed) = (first(&spec(Some(9)), 1), first(&spec(Some(9)), 2));
    assert_eq!(other[..2], fixed[..2], "randseed holds whatever the run's seed");
    assert_ne!(other[2], fixed[2]);
}

#[test]
fn a_skewed_job_is_the_same_on_every_machine() {
    let word =
        |text: &str| JobOptions { random_distribution: text.to_owned(), number_ios: Some(1000), ..job(Rw::RandRead) };
    let digest = |text: &str| {
        run(word(text)).iter().fold(0_u64, |sum, r| sum.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(r.offset))
    };
    // Recorded once; a difference means that results of earlier versions cannot be reproduced.
    let recorded = [
        ("zipf:1.1", 10_940_220_235_005_382_656),
        ("zipf:0.5", 11_224_449_361_568_931_840),
        ("zipf:1", 397_324_144_211_046_400),
        ("pareto:0.2", 13_664_410_875_682_951_168),
        ("normal:10", 1_400_728_991_025_930_240),
        ("random", 18_338_303_604_989_218_816),
    ];
    for (text, expected) in recorded {
        assert_eq!(digest(text), expected, "{text}");
        assert!(run(word(text)).iter().all(|r| r.offset % 4096 == 0 && r.offset < DRIVE));
    }
}

#[test]
fn wrong_words_are_explained() {
    let read = || job(Rw::Read);
    fails(JobOptions { bs: "4x".into(), ..read() }, "job.job0.bs = \"4x\": must be a multiple of 512 bytes");
    fails(JobOptions { bs: "1000".into(), ..read() }, "must be a multiple of 512 bytes");
    fails(JobOptions { bs: "2g".into(), ..read() }, "up to 1073741824");
    fails(JobOptions { size: Some("65m".into()), ..read() }, "reach beyond the drive, which has 67108864 bytes");
    fails(JobOptions { offset: "64m".into(), ..read() }, "lies beyond the drive");
    fails(JobOptions { size: Some("64k".into()), bs: "128k".into(), ..read() }, "cannot hold one such block");
    fails(JobOptions { rwmixread: 101, ..read() }, "must be a percentage, 0 to 100");
    fails(JobOptions { iodepth: 0, ..read() }, "job.job0.iodepth = 0: must be 1 to 65536");
    fails(JobOptions { number_ios: Some(0), ..read() }, "job.job0.number_ios = 0: must be 1 or more");
    fails(JobOptions { io_size: Some("0".into()), ..read() }, "job.job0.io_size = 0");
    fails(JobOptions { rate_iops: Some(f64::NAN), ..read() }, "job.job0.rate_iops = NaN");
    fails(JobOptions { time_based: true, ..read() }, "needs `runtime_s`");
    fails(JobOptions { runtime_s: Some(-1.0), ..read() }, "must be 0 to 9223372 seconds");
    fails(JobOptions { random_distribution: "zipf".into(), ..read() }, "\"zipf:theta\" with theta above 0");
    fails(JobOptions { random_distribution: "zipf:-1".into(), ..read() }, "\"zipf:theta\" with theta above 0");
    let twin = || JobOptions { name: Some("a".into()), ..read() };
    let spec = LoadFile { job: vec![twin(), twin()], ..LoadFile::default() };
    let error = Load::open(&spec, Path::new("."), DRIVE, 1).err().unwrap().to_string();
    assert!(error.contains("job.name = \"a\": two jobs have this name"), "{error}");
}

#[test]
fn workload_files_are_checked_key_by_key() {
    let parse = |text: &str| serde_json::from_str::<LoadFile>(text).map_err(|error| error.to_string());
    let text = r#"{"job": [{"rw": "readwrite", "bs": 8192, "size": "1m"}, {"bs": "4k,8k"}], "runtime_s": 1.5}"#;
    let spec = parse(text).unwrap();
    assert_eq!((spec.job[0].rw, &spec.job[0].bs.0[..], spec.runtime_s), (Rw::Rw, "8192", Some(1.5)));
    let again = parse(&serde_json::to_string(&spec).unwrap()).unwrap();
    assert_eq!(again, spec);
    assert!(parse(r#"{"job": [{"blocksize": "4k"}]}"#).unwrap_err().contains("unknown field `blocksize`"));
    assert!(parse(r#"{"job": [{"bs": -1}]}"#).unwrap_err().contains("cannot be negative"));
    assert!(parse(r#"{"job": [{"bs": true}]}"#).unwrap_err().contains("a number of bytes, such as 4096 or \"4k\""));
    assert!(parse(r#"{"trace": {"time_unit": "h"}}"#).unwrap_err().contains("expected one of `s`, `ms`"));
    let trace = parse(r#"{"trace": {"format": "disksim-4k", "columns": {"op": "x"}, "past_end": "wrap"}}"#).unwrap();
    assert_eq!(trace.trace.unwrap().format.unwrap().name(), "disksim-4k");
    let schema = serde_json::to_string(&schemars::schema_for!(LoadFile)).unwrap();
    assert!(schema.contains("rwmixread") && schema.contains("past_end"));
}

#[test]
fn streams_can_move_between_threads() {
    fn movable<T: Send>() {}
    movable::<Load>();
}
